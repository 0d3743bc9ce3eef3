// SPDX-License-Identifier: GPL-2.0-only
/*
 * A worker process: its threads do at random what can be done with contexts and
 * timers, their own and those of others. The oracle judges what comes of it: they
 * look at results only to choose what to try next.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "context.h"
#include "shared.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id	_sigev_un._tid
#endif

/* How long a reader waits in poll() at most; what it is in a read that blocks. */
#define POLL_MS		3000
#define READ_NS		(20 * TW_MSEC)
/* The latest point in time, and the longest time. */
#define LAST_NS		(~0ULL >> 1)

/**
 * struct worker - a thread
 * @thread: the thread
 * @log: what it does
 * @own: the context of its process
 * @random: state of its random numbers
 * @index: number of its log
 */
struct worker {
	pthread_t thread;
	struct log *log;
	struct ctx *own;
	__u64 random;
	int index;
};

/* Held by threads that use the process's own context, so that it stays. */
static pthread_rwlock_t own_lock = PTHREAD_RWLOCK_INITIALIZER;

static __u64 dice(struct worker *w, __u64 n)
{
	return tw_random(&w->random) % n;
}

/* Note how a timer was armed. Returns what refers to the note. */
static __u64 write_note(struct worker *w, const struct note *note)
{
	__u64 ref = (__u64)(w->index + 1) << 48 | ++w->log->armings;
	struct note *to = &w->log->notes[ref % NR_NOTES];

	__atomic_store_n(&to->ref, 0, __ATOMIC_SEQ_CST);
	*to = *note;
	to->ref = 0;
	__atomic_store_n(&to->ref, ref, __ATOMIC_SEQ_CST);
	return ref;
}

/* Copy the note that @ref refers to. False if it was overwritten since. */
static bool read_note(__u64 ref, struct note *note)
{
	const struct note *from;

	if (!ref)
		return false;
	from = &shared->logs[(ref >> 48) - 1].notes[ref % NR_NOTES];
	if (__atomic_load_n(&from->ref, __ATOMIC_SEQ_CST) != ref)
		return false;
	*note = *from;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return __atomic_load_n(&from->ref, __ATOMIC_SEQ_CST) == ref;
}

static __u64 slot_ref(const struct ctx *ctx, int slot)
{
	return __atomic_load_n(&ctx->slots[slot], __ATOMIC_SEQ_CST);
}

static bool swap_slot(struct ctx *ctx, int slot, __u64 old, __u64 new)
{
	return __atomic_compare_exchange_n(&ctx->slots[slot], &old, new, false,
					   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/* Any number is a key; 0 is one, too. */
static __u64 key_of(int slot)
{
	return slot * 0x9e3779b97f4a7c15ULL;
}

static __u64 distance(struct worker *w, bool *far)
{
	switch (dice(w, 20)) {
	case 0:
		*far = true;
		return dice(w, 2) ? 3600 * TW_SEC + dice(w, TW_FAR) : LAST_NS >> dice(w, 3);
	case 1:
		return 0;
	case 2:
		return dice(w, 5 * TW_SEC);
	case 3 ... 5:
		return dice(w, 500 * TW_MSEC);
	default:
		return dice(w, 20 * TW_MSEC);
	}
}

static struct twheel_arm make_arm(struct worker *w, const struct ctx *ctx, struct note *note)
{
	__u64 id = (__u64)(w->index + 1) << 48 | ++w->log->armings;
	struct twheel_arm arm = { .user_data = id };
	__u64 ahead;

	memset(note, 0, sizeof(*note));
	ahead = distance(w, &note->far);
	note->lease = ctx->config & TWHEEL_CONFIG_LEASE && dice(w, 4);
	arm.expires = ahead;
	if (ctx->clock == CLOCK_REALTIME || note->lease || dice(w, 2)) {
		arm.flags = TWHEEL_ARM_ABS;
		arm.expires += tw_now(ctx->clock);
		if (arm.expires > LAST_NS)
			arm.expires = LAST_NS;
		/* Now and then in the past. */
		if (!ahead)
			arm.expires -= dice(w, TW_SEC);
	}
	if (note->lease) {
		arm.flags |= TWHEEL_ARM_LEASE;
		/*
		 * Of whole units, so that it is known exactly. Many leases have the same one, and
		 * only the tag tells whose word it is.
		 */
		arm.expires &= ~0x3ffffULL;
		note->deadline = arm.expires;
	} else if (!dice(w, 6)) {
		arm.interval = 1 + dice(w, dice(w, 2) ? 50 * TW_MSEC : 1 + dice(w, TW_MSEC));
		arm.count = dice(w, 2) * dice(w, 6);
		arm.flags |= dice(w, 3) ? 0 : TWHEEL_ARM_FIXED_DELAY;
	}
	if (!dice(w, 4))
		arm.slack = dice(w, 50 * TW_MSEC);
	if (!dice(w, 4))
		arm.flags |= dice(w, 2) ? TWHEEL_ARM_IF_PENDING : TWHEEL_ARM_IF_NONE;
	note->interval = arm.interval;
	note->count = arm.count;
	return arm;
}

static void cancel(struct worker *w, struct ctx *ctx, int fd, __u64 handle)
{
	struct call *call = call_new(w->log, CALL_CANCEL, ctx);

	call->n = 1;
	call->cancels[0] = (struct twheel_cancel) { .handle = handle };
	call_cancel(w->log, call, fd);
}

/* Does it end without being cancelled, and soon? */
static bool ends(const struct note *note)
{
	return !note->far && (!note->interval || note->count);
}

/* Arms, or re-arms, the timers of @n slots from @first on. */
static void arm(struct worker *w, struct ctx *ctx, int fd, int first, int n)
{
	struct note notes[CALL_ARMS], old;
	struct twheel_arm arms[CALL_ARMS];
	__u64 refs[CALL_ARMS], ref;
	struct call *call;
	int i, slot;

	for (i = 0; i < n; i++) {
		slot = (first + i) % NR_SLOTS;
		refs[i] = slot_ref(ctx, slot);
		arms[i] = make_arm(w, ctx, &notes[i]);
		if (ctx->config & TWHEEL_CONFIG_KEYED) {
			arms[i].handle = key_of(slot);
		} else if (refs[i]) {
			if (read_note(refs[i], &old))
				arms[i].handle = old.handle;
			else
				swap_slot(ctx, slot, refs[i], 0);
		}
	}

	call = call_new(w->log, CALL_ARM, ctx);
	call->n = n;
	memcpy(call->arms, arms, n * sizeof(arms[0]));
	call_arm(w->log, call, fd);
	/* The entries stay in the log until this thread's next call. */
	memcpy(arms, call->arms, n * sizeof(arms[0]));

	for (i = 0; i < n; i++) {
		slot = (first + i) % NR_SLOTS;
		if (arms[i].result) {
			/* With that flag it may be there, and have expired. */
			if (arms[i].result == -ENOENT &&
			    !(arms[i].flags & TWHEEL_ARM_IF_PENDING))
				swap_slot(ctx, slot, refs[i], 0);
			continue;
		}
		notes[i].handle = arms[i].handle;
		notes[i].word = arms[i].word;
		notes[i].tag = arms[i].tag;
		ref = write_note(w, &notes[i]);
		if (!swap_slot(ctx, slot, refs[i], ref) && !ends(&notes[i]) &&
		    !(ctx->config & TWHEEL_CONFIG_KEYED))
			cancel(w, ctx, fd, arms[i].handle);
	}
}

/* The handle in @slot, or one that names no live timer, if not by chance. */
static __u64 some_handle(struct worker *w, struct ctx *ctx, int slot, bool forge)
{
	bool keyed = ctx->config & TWHEEL_CONFIG_KEYED;
	struct note note = { .handle = keyed ? key_of(slot) : 0 };

	read_note(slot_ref(ctx, slot), &note);
	if (!forge)
		return note.handle;
	switch (dice(w, 4)) {
	case 0:
		return tw_random(&w->random);
	case 1:
		return note.handle + (1ULL << (32 + dice(w, 3)));
	case 2:
		return note.handle - (1ULL << 32) * (1 + dice(w, 4));
	default:
		return note.handle ^ 1ULL << dice(w, 64);
	}
}

static void cancel_some(struct worker *w, struct ctx *ctx, int fd, int first, int n, bool forge)
{
	struct twheel_cancel cancels[CALL_ARMS] = { };
	__u64 refs[CALL_ARMS];
	struct call *call;
	int i;

	for (i = 0; i < n; i++) {
		refs[i] = slot_ref(ctx, (first + i) % NR_SLOTS);
		cancels[i].handle = some_handle(w, ctx, (first + i) % NR_SLOTS, forge);
	}
	call = call_new(w->log, CALL_CANCEL, ctx);
	call->n = n;
	memcpy(call->cancels, cancels, n * sizeof(cancels[0]));
	call_cancel(w->log, call, fd);
	for (i = 0; i < n && !forge; i++)
		swap_slot(ctx, (first + i) % NR_SLOTS, refs[i], 0);
}

static void get(struct worker *w, struct ctx *ctx, int fd, int slot, bool forge)
{
	struct call *call = call_new(w->log, CALL_GET, ctx);

	call->entries[0].handle = some_handle(w, ctx, slot, forge);
	call_get(w->log, call, fd);
}

/* A stale handle must not be re-armed either. */
static void arm_forged(struct worker *w, struct ctx *ctx, int fd, int slot)
{
	struct twheel_arm request;
	struct note note;
	struct call *call;

	request = make_arm(w, ctx, &note);
	request.handle = some_handle(w, ctx, slot, true);
	/* A key is whatever one likes, and handle 0 is a new timer. */
	if (!request.handle || ctx->config & TWHEEL_CONFIG_KEYED)
		return;
	call = call_new(w->log, CALL_ARM, ctx);
	call->n = 1;
	call->arms[0] = request;
	call_arm(w->log, call, fd);
}

static void extend(struct worker *w, struct ctx *ctx, int slot)
{
	__u64 ref = slot_ref(ctx, slot), deadline;
	struct call *call;
	struct note note;

	if (!ctx->words || !read_note(ref, &note) || !note.lease ||
	    note.word >= WORDS_SIZE / sizeof(__u64))
		return;
	deadline = note.deadline + (1 + dice(w, 250)) * 0x40000;
	/* An earlier one is for the kernel to notice, or not. */
	if (deadline & TWHEEL_LEASE_EXPIRED)
		return;
	call = call_new(w->log, CALL_EXTEND, ctx);
	call->old = tw_lease_value(note.tag, note.deadline);
	call->new = tw_lease_value(note.tag, deadline);
	call->word = note.word;
	call->handle = note.handle;
	note.deadline = deadline;
	if (call_extend(w->log, call, &ctx->words[note.word]))
		swap_slot(ctx, slot, ref, write_note(w, &note));
}

static int read_some(struct worker *w, struct ctx *ctx, int fd, int n, __u64 waited, __u64 woken)
{
	struct call *call = call_new(w->log, CALL_READ, ctx);

	call->waited = waited;
	call->woken = woken;
	return call_read(w->log, call, fd, n, ctx->blocking, dice(w, 2));
}

/* A walk, a few entries at a time. */
static void list(struct worker *w, struct ctx *ctx, int fd, bool drain)
{
	struct call *call;
	__u64 cursor = 0;
	int ret;

	do {
		call = call_new(w->log, drain ? CALL_DRAIN : CALL_LIST, ctx);
		call->n = 1 + dice(w, CALL_ENTRIES);
		ret = call_list(w->log, call, fd, &cursor);
		/* Some drains are given up half way. */
	} while ((ret > 0 || ret == -EINTR) && !stopped() && (!drain || dice(w, 4)));
}

/* Forget a timer that will end: its record is for whoever reads. */
static void leave(struct ctx *ctx, int slot)
{
	__u64 ref = slot_ref(ctx, slot);
	struct note note;

	if (read_note(ref, &note) && ends(&note))
		swap_slot(ctx, slot, ref, 0);
}

static void look_at_fdinfo(int fd)
{
	char path[64], text[512];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	while (read(fd, text, sizeof(text)) > 0)
		;
	close(fd);
}

/* A call that leaves no trace has returned @ret: is that legal? */
static bool carried_out(const char *what, long ret)
{
	char text[80];

	if (ret >= 0)
		return true;
	if (!error_allowed(ret)) {
		snprintf(text, sizeof(text), "%s: %s", what, strerror(-ret));
		violation(text);
	}
	count(&shared->faults, 1);
	return false;
}

/* The words of a context's leases: map them, look at one, unmap them. */
static void look_at_words(int fd)
{
	struct twheel_info info = { };
	volatile __u64 *words;

	words = mmap(NULL, WORDS_SIZE, PROT_READ, MAP_SHARED, fd, 0);
	if (!carried_out("mmap", words == MAP_FAILED ? -errno : 0))
		return;
	/* There is no page unless a lease was made. */
	if (carried_out("GET_INFO", tw_call(fd, TWHEEL_IOC_GET_INFO, &info)) && info.pending)
		(void)words[1];
	/* While it is mapped the context is not closed. */
	while (munmap((void *)words, WORDS_SIZE))
		;
}

/* A context for the moment, with all that can be configured at once, and its leases. */
static void use_everything(struct worker *w)
{
	struct twheel_info info = { .flags = TWHEEL_INFO_NEXT };
	struct twheel_arm arm;
	int fd = tw_open(), i;

	if (!carried_out("open", fd))
		return;
	if (carried_out("CONFIG", tw_configure(fd, CLOCK_REALTIME, TWHEEL_CONFIG_KEYED |
					       TWHEEL_CONFIG_LEASE |
					       TWHEEL_CONFIG_CANCEL_ON_SET))) {
		for (i = 0; i < 20; i++) {
			arm = tw_request(tw_now(CLOCK_REALTIME) + TW_FAR * (i % 2),
					 TWHEEL_ARM_ABS | TWHEEL_ARM_LEASE, i);
			arm.handle = tw_random(&w->random);
			carried_out("ARM", tw_call(fd, TWHEEL_IOC_ARM, &arm));
		}
		carried_out("GET_INFO", tw_call(fd, TWHEEL_IOC_GET_INFO, &info));
		look_at_words(fd);
	}
	close(fd);
}

/* Mostly small: what takes the kernel several turns is one in eight. */
static int batch_size(struct worker *w)
{
	return 2 + dice(w, dice(w, 8) ? 13 : CALL_ARMS - 1);
}

/* Something, at random, with a context. */
static void use(struct worker *w, struct ctx *ctx, int fd)
{
	int slot = dice(w, NR_SLOTS);

	switch (dice(w, 100)) {
	case 0 ... 34:
		arm(w, ctx, fd, slot, 1);
		break;
	case 35 ... 39:
		arm(w, ctx, fd, slot, batch_size(w));
		break;
	case 40 ... 51:
		cancel_some(w, ctx, fd, slot, 1, false);
		break;
	case 52 ... 53:
		cancel_some(w, ctx, fd, slot, batch_size(w), false);
		break;
	case 54 ... 60:
		get(w, ctx, fd, slot, false);
		break;
	case 61:
		get(w, ctx, fd, slot, true);
		break;
	case 62:
		cancel_some(w, ctx, fd, slot, 1 + dice(w, 3), true);
		break;
	case 63:
		arm_forged(w, ctx, fd, slot);
		break;
	case 64 ... 77:
		extend(w, ctx, slot);
		break;
	case 78 ... 89:
		read_some(w, ctx, fd, 1 + dice(w, CALL_EVENTS), 0, 0);
		break;
	case 90 ... 96:
		leave(ctx, slot);
		break;
	case 97:
		use_everything(w);
		break;
	case 98:
		if (!dice(w, 4))
			list(w, ctx, fd, !dice(w, 8));
		break;
	case 99:
		if (!dice(w, 8))
			look_at_fdinfo(fd);
		break;
	}
}

/* Use a context by a copy of its descriptor, or by one that was passed on. */
static void use_other(struct worker *w, struct ctx *ctx)
{
	int fd, place;

	switch (dice(w, 3)) {
	case 0:
		fd = dup(ctx->fd);
		place = ctx - shared->ctx;
		break;
	case 1:
		context_send(ctx);
		return;
	default:
		fd = context_receive(&place);
	}
	if (fd < 0)
		return;
	use(w, &shared->ctx[place], fd);
	close(fd);
}

/* Exchange the process's own context for a new one. */
static void renew(struct worker *w)
{
	struct ctx *ctx = w->own;
	struct call *call;

	pthread_rwlock_wrlock(&own_lock);
	if (ctx->serial && dice(w, 4) == 0)
		context_settle(w->log, ctx);
	if (ctx->serial) {
		close(ctx->fd);
		call = call_new(w->log, CALL_CLOSED, ctx);
		call_begin(w->log, call);
		/* A process that is killed before this has closed it, too. */
		ctx->serial = 0;
		call_end(w->log, call, 0);
	}
	context_open(ctx, 1 + dice(w, 8), dice(w, 2));
	pthread_rwlock_unlock(&own_lock);
}

static void *work_at_random(void *arg)
{
	struct worker *w = arg;
	struct ctx *ctx;

	faults_begin();
	while (!stopped()) {
		if (!dice(w, w->index % NR_WORKERS ? 1 << 20 : 2000)) {
			renew(w);
		} else if (!dice(w, 6)) {
			if (pthread_rwlock_tryrdlock(&own_lock))
				continue;
			if (w->own->serial)
				use(w, w->own, w->own->fd);
			pthread_rwlock_unlock(&own_lock);
		} else {
			ctx = &shared->ctx[dice(w, NR_SHARED_CTX)];
			if (dice(w, 64))
				use(w, ctx, ctx->fd);
			else
				use_other(w, ctx);
		}
	}
	return NULL;
}

/*
 * Wait for one of the shared contexts, and read. The wait is so long that a wake-up that
 * does not come is seen to be late.
 */
static void poll_and_read(struct worker *w)
{
	struct ctx *ctx = &shared->ctx[dice(w, NR_SHARED_CTX)];
	struct pollfd fd = { .fd = ctx->fd, .events = POLLIN };
	__u64 since = tw_now(ctx->clock);
	struct call *call;
	int ret;

	ret = poll(&fd, 1, POLL_MS);
	if (ret > 0) {
		/* Before anything else, which may take long. */
		__u64 woken = tw_now(ctx->clock);

		read_some(w, ctx, ctx->fd, CALL_EVENTS, since, woken);
	} else if (!ret && ctx->clock != CLOCK_REALTIME) {
		call = call_new(w->log, CALL_EMPTY, ctx);
		call_begin(w->log, call);
		call->t0 = since;
		call_end(w->log, call, 0);
	}
}

static void nothing(int sig)
{
	(void)sig;
}

/* Have this thread's system calls interrupted again and again. */
static void interrupt_me(void)
{
	struct itimerspec every = { { 0, READ_NS }, { 0, READ_NS } };
	struct sigevent event = {
		.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1,
	};
	struct sigaction action = { .sa_handler = nothing };
	timer_t timer;

	event.sigev_notify_thread_id = syscall(SYS_gettid);
	sigaction(SIGUSR1, &action, NULL);
	if (!timer_create(CLOCK_MONOTONIC, &event, &timer))
		timer_settime(timer, 0, &every, NULL);
}

static void *read_all(void *arg)
{
	struct worker *w = arg;
	struct ctx *ctx = &shared->ctx[w->index / NR_WORKERS * 2 % NR_SHARED_CTX];
	struct call *call;

	/* A thread for whose signal the kernel cannot store a frame is killed. */
	if (ctx->blocking)
		interrupt_me();
	else
		faults_begin();
	while (!stopped()) {
		if (!ctx->blocking) {
			poll_and_read(w);
			continue;
		}
		call = call_new(w->log, CALL_READ, ctx);
		call_read(w->log, call, ctx->fd, CALL_EVENTS, false, dice(w, 2));
	}
	return NULL;
}

void work(__u32 process)
{
	struct worker workers[NR_WORKERS];
	int i;

	if (process == ONE_CPU_PROCESS && !tw_pin(0))
		violation("a worker cannot stay on CPU 0");
	for (i = 0; i < NR_WORKERS; i++) {
		struct worker *w = &workers[i];

		w->index = process * NR_WORKERS + i;
		w->log = &shared->logs[w->index];
		w->own = &shared->ctx[NR_SHARED_CTX + process];
		w->random = random_begin(w->index + (w->log->armings << 8));
		pthread_create(&w->thread, NULL, i == NR_WORKERS - 1 ? read_all : work_at_random,
			       w);
	}
	for (i = 0; i < NR_WORKERS; i++)
		pthread_join(workers[i].thread, NULL);
	_exit(0);
}
