// SPDX-License-Identifier: GPL-2.0-only
/*
 * insn: count the instructions of an operation on the device.
 *
 *	insn [-o operation]... [-b batch] PENDING...
 *
 * It runs in a guest whose time stamp counter counts instructions (run.sh -I), and first
 * makes sure that it does. For each operation and each number of pending timers, in batches of
 * 256, and of the first number one at a time, too, it prints a line, separated by tabs:
 *
 *	operation	batch	pending	instructions
 *
 * A figure is the mean of the middle half of PASSES passes, of PASS operations each: so
 * interrupts, which fall into few passes, do not show. It includes what the program itself executes
 * for a call, which is the system call and two or three dozen instructions around it:
 * nothing is taken off. The line "floor" tells what a call costs that does nothing.
 *
 * An expiry is what a burst of timers adds to the interrupts that a spinning program has
 * anyway, divided by their number. A figure "fill" is the whole of arming all timers, with
 * the memory they need and with interrupts.
 *
 * A measured part lies between two marks: instructions that do nothing, which where.c
 * recognizes.
 */
#include <stdio.h>
#include <x86intrin.h>

#include "twheel_util.h"

/* Operations in a pass: whole batches, and fewer than the fewest pending timers. */
#define PASS		768
#define PASSES		32
#define BATCH		256

/* Deadlines of pending timers, from now: near and far ones do not overlap. */
#define MINUTE		(60 * TW_SEC)
#define NEAR		(5 * MINUTE)
#define MIDDLE		(60 * MINUTE)
#define FAR		(120 * MINUTE)

/*
 * How many timers expire in a burst, how long after they were requested, and how long the
 * program spins from shortly before that. A spin is two instructions.
 */
#define BURST		10000
#define BURST_PASSES	8
#define BURST_NS	(60 * TW_MSEC)
#define BURST_MARGIN_NS	(2 * TW_MSEC)
#define SPINS		10000000ULL

/*
 * struct world - a context and its pending timers
 * @fd: the device
 * @keyed: whether handles are keys that the program chooses
 * @n: how many timers are pending
 * @handles: their handles
 * @next: which timer is picked next
 */
struct world {
	int fd;
	bool keyed;
	size_t n;
	__u64 *handles;
	size_t next;
};

static __u64 seed = 88172645463325252ULL;
/* What the command line asks for: none of them means all. */
static const char *only_ops[32];
static unsigned int nr_only_ops;
static unsigned int only_batch;
/* Whether what is done now is measured, and not only prepares for that. */
static bool measured;

static struct twheel_arm arms[BURST];
static struct twheel_cancel cancels[BURST];
static struct twheel_push pushes[PASS];
static struct twheel_event events[BURST];

static void fail(const char *what, long error)
{
	fprintf(stderr, "insn: %s: %s\n", what, strerror(error));
	exit(1);
}

/* These are nopl NUMBER(%rax), with numbers that no compiler would come up with. */
static __u64 begin(void)
{
	if (measured)
		asm volatile(".byte 0x0f, 0x1f, 0x80, 0x54, 0x57, 0x42, 0x67" ::: "memory");
	return __rdtsc();
}

static __u64 end(__u64 begun)
{
	__u64 took = __rdtsc() - begun;

	if (measured)
		asm volatile(".byte 0x0f, 0x1f, 0x80, 0x54, 0x57, 0x45, 0x67" ::: "memory");
	measured = false;
	return took;
}

/* Executes 2 * @n instructions. */
static void spin(__u64 n)
{
	asm volatile("1: dec %0; jnz 1b" : "+r" (n) :: "cc");
}

/* A figure is none if the counter counts something else. */
static void verify_counter(void)
{
	__u64 least = ~0ULL, most = 0, begun, took;
	int i;

	for (i = 0; i < 9; i++) {
		begun = __rdtsc();
		spin(100000);
		took = __rdtsc() - begun;
		least = took < least ? took : least;
		most = took > most ? took : most;
	}
	/* An interrupt may fall into some of them, but not into all. */
	if (least < 200000 || least > 200020) {
		fprintf(stderr, "insn: the counter counts no instructions (see run.sh -I):\n");
		fprintf(stderr, "insn: for 200000 of them %llu to %llu\n", least, most);
		exit(1);
	}
}

/* The mean of the middle half of @n counts, which are sorted. */
static double middle(__u64 *counts, int n)
{
	double sum = 0;
	int i;

	qsort(counts, n, sizeof(*counts), tw_compare);
	for (i = n / 4; i < n - n / 4; i++)
		sum += counts[i];
	return sum / (n - n / 4 * 2);
}

static void tell(const char *op, unsigned int batch, size_t pending, double insns)
{
	printf("%s\t%u\t%zu\t%.1f\n", op, batch, pending, insns);
	fflush(stdout);
}

/*
 * Does @n entries of @size in batches of @batch by @many, or if that is 1 each by @one, and
 * returns the instructions that took.
 */
static __u64 submit(int fd, unsigned long one, unsigned long many, void *entries, size_t size,
		    size_t n, unsigned int batch)
{
	char *entry = entries;
	__u64 begun, took;
	long ret = 0;
	size_t i;

	begun = begin();
	for (i = 0; i < n; i += batch, entry += size * batch) {
		struct twheel_batch call = {
			.entries = (unsigned long)entry,
			.count = n - i < batch ? n - i : batch,
		};

		if (batch == 1)
			ret |= ioctl(fd, one, entry);
		else
			ret |= ioctl(fd, many, &call) - (long)call.count;
	}
	took = end(begun);
	if (ret)
		fail("a call did not do all of its entries", errno);
	return took;
}

static __u64 submit_arms(struct world *w, size_t n, unsigned int batch)
{
	__u64 took = submit(w->fd, TWHEEL_IOC_ARM, TWHEEL_IOC_ARM_BATCH, arms,
			    sizeof(arms[0]), n, batch);
	size_t i;

	for (i = 0; i < n; i++)
		if (arms[i].result)
			fail("arm", -arms[i].result);
	return took;
}

/* Cancels the timers in @arms. */
static __u64 submit_cancels(struct world *w, size_t n, unsigned int batch)
{
	__u64 took;
	size_t i;

	for (i = 0; i < n; i++)
		cancels[i] = (struct twheel_cancel) { .handle = arms[i].handle };
	took = submit(w->fd, TWHEEL_IOC_CANCEL, TWHEEL_IOC_CANCEL_BATCH, cancels,
		      sizeof(cancels[0]), n, batch);
	for (i = 0; i < n; i++)
		if (cancels[i].result)
			fail("cancel", -cancels[i].result);
	return took;
}

/* Pushes the timers in @arms back. */
static __u64 submit_pushes(struct world *w, size_t n, unsigned int batch)
{
	ssize_t want = batch * sizeof(pushes[0]);
	__u64 now = tw_now(CLOCK_MONOTONIC), begun, took;
	bool ok = true;
	size_t i;

	for (i = 0; i < n; i++)
		pushes[i] = (struct twheel_push) {
			.handle = arms[i].handle,
			.expires = now + arms[i].expires,
		};
	begun = begin();
	for (i = 0; i < n; i += batch)
		ok &= write(w->fd, pushes + i, want) == want;
	took = end(begun);
	if (!ok)
		fail("write", errno);
	return took;
}

/* Reads @n records that are ready. */
static __u64 submit_reads(struct world *w, size_t n, unsigned int batch)
{
	ssize_t want = batch * sizeof(events[0]);
	__u64 begun, took;
	bool ok = true;
	size_t i;

	begun = begin();
	for (i = 0; i < n; i += batch)
		ok &= read(w->fd, events + i, want) == want;
	took = end(begun);
	if (!ok)
		fail("read", errno);
	return took;
}

static __u64 between(__u64 low, __u64 high)
{
	return low + tw_random(&seed) % (high - low);
}

/* Keys are numbers without an order, and 0 is none of them. */
static __u64 key(size_t i)
{
	return (i + 1) * 0x9e3779b97f4a7c15ULL;
}

/* Requests for @n new timers with deadlines from @low to @high; @first numbers their keys. */
static void request_new(struct world *w, size_t first, size_t n, __u64 low, __u64 high)
{
	size_t i;

	for (i = 0; i < n; i++) {
		arms[i] = tw_request(low == high ? low : between(low, high), 0, first + i);
		arms[i].handle = w->keyed ? key(first + i) : 0;
	}
}

/* Requests for @PASS pending timers, all of them different. */
static void request_pending(struct world *w, __u64 low, __u64 high)
{
	size_t i;

	for (i = 0; i < PASS; i++) {
		/* A prime that divides none of the sizes: all timers come round. */
		w->next = (w->next + 1000003) % w->n;
		arms[i] = tw_request(between(low, high), 0, w->next);
		arms[i].handle = w->handles[w->next];
	}
}

/* Each of these is a pass: it measures one kind of operation, and leaves @w as it was. */

static __u64 pass_arm(struct world *w, unsigned int batch)
{
	__u64 took;

	request_new(w, w->n, PASS, NEAR, FAR);
	measured = true;
	took = submit_arms(w, PASS, batch);
	submit_cancels(w, PASS, BATCH);
	return took;
}

/* Timers that are due from @from to @until are moved to other deadlines by @call. */
static __u64 pass_moved(struct world *w, unsigned int batch, __u64 from, __u64 until, __u64 low,
			__u64 high, __u64 (*call)(struct world *w, size_t n, unsigned int batch))
{
	size_t i;

	request_pending(w, from, until);
	submit_arms(w, PASS, BATCH);
	for (i = 0; i < PASS; i++)
		arms[i].expires = between(low, high);
	measured = true;
	return call(w, PASS, batch);
}

static __u64 pass_later(struct world *w, unsigned int batch)
{
	return pass_moved(w, batch, NEAR, MIDDLE, MIDDLE, FAR, submit_arms);
}

static __u64 pass_push(struct world *w, unsigned int batch)
{
	return pass_moved(w, batch, NEAR, MIDDLE, MIDDLE, FAR, submit_pushes);
}

static __u64 pass_sooner(struct world *w, unsigned int batch)
{
	return pass_moved(w, batch, MIDDLE, FAR, NEAR, MIDDLE, submit_arms);
}

static __u64 pass_random(struct world *w, unsigned int batch)
{
	request_pending(w, NEAR, FAR);
	measured = true;
	return submit_arms(w, PASS, batch);
}

static __u64 pass_cancel(struct world *w, unsigned int batch)
{
	request_new(w, w->n, PASS, NEAR, FAR);
	submit_arms(w, PASS, BATCH);
	measured = true;
	return submit_cancels(w, PASS, batch);
}

static __u64 pass_deliver(struct world *w, unsigned int batch)
{
	/* A deadline that has come makes a record at once. */
	request_new(w, w->n, PASS, 0, 0);
	submit_arms(w, PASS, BATCH);
	measured = true;
	return submit_reads(w, PASS, batch);
}

static __u64 pass_floor(struct world *w, unsigned int batch)
{
	__u64 begun, took;
	bool ok = true;
	int i;

	(void)batch;
	measured = true;
	begun = begin();
	for (i = 0; i < PASS; i++)
		ok &= ioctl(w->fd, _IO(TWHEEL_IOC_MAGIC, 0xff), NULL) == -1;
	took = end(begun);
	if (!ok)
		fail("an unknown ioctl", EPROTO);
	return took;
}

static const struct op {
	const char *name;
	const char *keyed_name;
	__u64 (*pass)(struct world *w, unsigned int batch);
} ops[] = {
	{ "arm",	"keyed-arm",		pass_arm },
	{ "later",	"keyed-later",		pass_later },
	{ "push",	"keyed-push",		pass_push },
	{ "sooner",	"keyed-sooner",		pass_sooner },
	{ "random",	"keyed-random",		pass_random },
	{ "cancel",	"keyed-cancel",		pass_cancel },
	{ "deliver",	"keyed-deliver",	pass_deliver },
	/* There is no batch of these. */
	{ "floor",	NULL,			pass_floor },
};

static bool wanted(const char *op, unsigned int batch)
{
	bool found = !nr_only_ops;
	unsigned int i;

	if (!op || (only_batch && batch != only_batch))
		return false;
	for (i = 0; i < nr_only_ops; i++)
		found |= !strcmp(op, only_ops[i]);
	return found;
}

static void measure(struct world *w, const struct op *op, unsigned int batch)
{
	const char *name = w->keyed ? op->keyed_name : op->name;
	__u64 counts[PASSES];
	int i;

	if (!wanted(name, batch) || (op->pass == pass_floor && batch != 1))
		return;
	for (i = 0; i < PASSES; i++)
		counts[i] = op->pass(w, batch);
	tell(name, batch, w->n, middle(counts, PASSES) / PASS);
}

/*
 * What the kernel executes beside a spinning program during SPINS spins, while @n timers
 * come due.
 */
static __u64 beside(struct world *w, size_t n)
{
	__u64 deadline = tw_now(CLOCK_MONOTONIC) + BURST_NS, begun, took;
	size_t i;

	if (n) {
		request_new(w, w->n, n, deadline, deadline);
		for (i = 0; i < n; i++)
			arms[i].flags = TWHEEL_ARM_ABS;
		submit_arms(w, n, BATCH);
	}
	while (tw_now(CLOCK_MONOTONIC) < deadline - BURST_MARGIN_NS)
		;
	if (tw_info(w->fd).ready)
		fail("arm all timers before they are due", ETIME);
	measured = n;
	begun = begin();
	spin(SPINS);
	took = end(begun) - 2 * SPINS;
	if (tw_info(w->fd).ready != n)
		fail("wait for timers to be due", ETIME);
	if (n)
		submit_reads(w, n, n);
	return took;
}

/* An expiry is what a burst of timers adds to the ticks that come anyway. */
static void measure_expiry(struct world *w)
{
	const char *name = w->keyed ? "keyed-expiry" : "expiry";
	__u64 with[BURST_PASSES], without[BURST_PASSES];
	int i;

	if (!wanted(name, BURST))
		return;
	for (i = 0; i < BURST_PASSES; i++) {
		without[i] = beside(w, 0);
		with[i] = beside(w, BURST);
	}
	tell(name, BURST, w->n,
	     (middle(with, BURST_PASSES) - middle(without, BURST_PASSES)) / BURST);
}

/* Arms all of @w's timers, and tells what each took with the memory that they need. */
static void arm_all(struct world *w)
{
	const char *name = w->keyed ? "keyed-fill" : "fill";
	__u64 took = 0;
	size_t done, n, i;

	for (done = 0; done < w->n; done += n) {
		n = w->n - done < BATCH ? w->n - done : BATCH;
		request_new(w, done, n, NEAR, FAR);
		took += submit_arms(w, n, BATCH);
		for (i = 0; i < n; i++)
			w->handles[done + i] = arms[i].handle;
	}
	if (wanted(name, BATCH))
		tell(name, BATCH, w->n, (double)took / w->n);
}

/* Whether anything is wanted for which @keyed timers have to be pending. */
static bool wanted_any(bool keyed)
{
	bool any = !nr_only_ops;
	unsigned int i;

	for (i = 0; i < nr_only_ops; i++)
		any |= !strncmp(only_ops[i], "keyed-", 6) == keyed;
	return any;
}

/* Calls for one timer are measured with the @fewest pending, unless nothing else is asked for. */
static void measure_all(size_t n, bool keyed, bool fewest)
{
	struct world w = { .keyed = keyed, .n = n };
	size_t i;
	int ret;

	if (!wanted_any(keyed))
		return;
	w.handles = calloc(n, sizeof(*w.handles));
	if (!w.handles)
		fail("memory for handles", errno);
	w.fd = tw_open();
	if (w.fd < 0)
		fail(TW_DEVICE, -w.fd);
	ret = tw_configure(w.fd, CLOCK_MONOTONIC, keyed ? TWHEEL_CONFIG_KEYED : 0);
	if (ret)
		fail("configure", -ret);

	arm_all(&w);
	for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		measure(&w, &ops[i], BATCH);
		if (fewest || only_batch == 1)
			measure(&w, &ops[i], 1);
	}
	measure_expiry(&w);
	close(w.fd);
	free(w.handles);
}

int main(int argc, char **argv)
{
	int opt, i;

	while ((opt = getopt(argc, argv, "o:b:")) != -1) {
		if (opt == 'o' && nr_only_ops < sizeof(only_ops) / sizeof(only_ops[0]))
			only_ops[nr_only_ops++] = optarg;
		else if (opt == 'b')
			only_batch = strtoul(optarg, NULL, 10);
		else
			optind = argc;
	}
	for (i = optind; i < argc && strtoul(argv[i], NULL, 10) >= PASS; i++)
		;
	if (i < argc || optind >= argc) {
		fprintf(stderr, "usage: insn [-o operation]... [-b batch] PENDING...\n");
		return 2;
	}

	verify_counter();
	for (i = optind; i < argc; i++) {
		size_t n = strtoul(argv[i], NULL, 10);

		measure_all(n, false, i == optind);
		measure_all(n, true, i == optind);
	}
	return 0;
}
