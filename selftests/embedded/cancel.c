// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads that are cancelled in calls of the library. A call is a point of cancellation only where
 * it waits for a record. Wherever its thread ends, the context works on for other threads, and no
 * descriptor is lost. Crowds of readers that are cancelled are in selftests/sim.
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <regex.h>
#include <stdio.h>

#include "internal.h"
#include "lib_util.h"

/* The Makefile has its whole path. */
#ifndef HEADER
#define HEADER	"userspace/include/twheel.h"
#endif

/* Seconds after which a call hangs, as somebody has kept the mutex */
#define HANGS	120

/* Timers that are pending before a call is made, and those that are ready if it is to find some */
#define PENDING	3
#define READY	3
/* What the latest record has for its user_data */
#define MARK	77

/* What is being called */
static const char *calling = "nothing";

static void timed_out(int sig)
{
	static const char text[] = "# this call, or one after it, hangs: ";

	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0 ||
	    write(STDERR_FILENO, calling, strlen(calling)) < 0 ||
	    write(STDERR_FILENO, "\n", 1) < 0)
		_exit(2);
	_exit(1);
}

/* Ends the program when a call, first @name, takes too long. */
static void set_alarm(const char *name)
{
	calling = name;
	signal(SIGALRM, timed_out);
	alarm(HANGS);
}

/* How many descriptors this process has, and one more. */
static int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	if (!dir)
		return -1;
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

struct subject;

/**
 * struct call - a function of the library
 * @name: its name, with a blank and more if it is called in several ways
 * @make: calls it
 * @others: functions that @make calls, too
 * @config: of the context
 * @ready: there is something to read
 * @waits: there is nothing to read, so it is where the thread ends
 * @next: another call
 */
struct call {
	const char		*name;
	void			(*make)(struct subject *s);
	const char		*others[2];
	uint32_t		config;
	bool			ready;
	bool			waits;
	const struct call	*next;
};

static const struct call *calls;

/**
 * struct subject - a context, and what a thread did to it
 * @tw: the context
 * @call: what the thread calls
 * @pending: handles of timers that are pending; or their keys
 * @timer: a timer object that is armed; NULL in a context with keys
 * @walk: a walk
 * @buffer: an empty buffer
 * @out: where the call writes what nobody looks at
 * @armed: handles of timers that the call has armed, or armed again
 * @nr_armed: how many there are
 * @nr_new: how many of these were no timers before
 * @nr_ended: timers that the call has cancelled
 * @nr_read: records that it has read
 * @ret: what it has returned
 * @returned: whether it has returned
 * @flags: with which the context is opened
 * @stack: where the stack of the thread is that calls
 */
struct subject {
	struct twheel			*tw;
	const struct call		*call;
	uint64_t			pending[PENDING];
	struct twheel_timer		*timer;
	struct twheel_walk		*walk;
	struct twheel_event_buffer	*buffer;
	union {
		struct twheel_counters		counters;
		struct twheel_info		info;
		struct twheel_timer_info	timer;
		struct twheel_timer		*object;
		struct twheel_lease		lease;
		struct twheel_event		events[READY - 1];
	} out;
	uint64_t			armed[PENDING];
	unsigned int			nr_armed;
	unsigned int			nr_new;
	ssize_t				nr_ended;
	ssize_t				nr_read;
	ssize_t				ret;
	bool				returned;
	unsigned int			flags;
	char				*stack;
};

/* The call has armed a new timer, if @ret is 0: its handle is the next in armed[]. */
static ssize_t armed(struct subject *s, ssize_t ret)
{
	if (!ret) {
		s->nr_armed++;
		s->nr_new++;
	}
	return ret;
}

/* The call has armed a timer that was pending. */
static int armed_again(struct subject *s, int ret)
{
	if (!ret)
		s->armed[s->nr_armed++] = s->pending[0];
	return ret;
}

/* The call has cancelled @n timers. */
static int ended(struct subject *s, int ret, ssize_t n)
{
	if (!ret)
		s->nr_ended = n;
	return ret;
}

static ssize_t has_read(struct subject *s, ssize_t n)
{
	if (n > 0)
		s->nr_read = n;
	return n < 0 ? n : 0;
}

static void do_nothing(struct twheel_timer *timer, const struct twheel_event *event, void *arg)
{
}

#define KEYS	TWHEEL_CONFIG_KEYED
#define KEYED	.config = KEYS
#define LEASED	.config = TWHEEL_CONFIG_LEASE

/* Adds a call that MAKE() has made, in a context as the rest says; @id_ and @how_ end its names. */
#define AGAIN(name_, id_, how_, ...)					\
static void __attribute__((__constructor__)) add_##name_##id_(void)	\
{									\
	static struct call call = {					\
		.name = "twheel_" #name_ how_,				\
		.make = make_##name_, __VA_ARGS__			\
	};								\
									\
	call.next = calls;						\
	calls = &call;							\
}

/* Has twheel_@name_() called, on @s: @result_ is 0 if that does what it should. */
#define MAKE(name_, result_, ...)					\
static void make_##name_(struct subject *s)				\
{									\
	s->ret = (result_);						\
}									\
AGAIN(name_, _, "", __VA_ARGS__)

static uint64_t far_from_now(const struct subject *s)
{
	return twheel_now(s->tw) + FAR;
}

static ssize_t wait_to_read(struct subject *s)
{
	return twheel_read_timeout(s->tw, s->out.events, READY - 1, FAR);
}

static int set_arg(struct subject *s)
{
	twheel_timer_set_arg(s->timer, s);
	return twheel_timer_arg(s->timer) != s;
}

MAKE(fd, twheel_fd(s->tw) < 0)
MAKE(clock, twheel_clock(s->tw) != CLOCK_MONOTONIC)
MAKE(config_flags, twheel_config_flags(s->tw) != s->call->config)
MAKE(now, !twheel_now(s->tw))
MAKE(set_now, twheel_set_now(s->tw, twheel_now(s->tw) + MSEC))
MAKE(update_now, twheel_update_now(s->tw))
MAKE(version, twheel_version() != TWHEEL_VERSION_NUMBER)
MAKE(stats, twheel_stats(s->tw, &s->out.counters, sizeof(s->out.counters)))
MAKE(get_info, twheel_get_info(s->tw, TWHEEL_INFO_NEXT, &s->out.info))
MAKE(take_over, (twheel_take_over(s->tw), 0))
MAKE(release, twheel_release(s->tw) != -EOPNOTSUPP)

MAKE(arm_after, armed(s, twheel_arm_after(s->tw, FAR, 0, s->armed)))
MAKE(arm_at, armed(s, twheel_arm_at(s->tw, far_from_now(s), 0, s->armed)))
MAKE(rearm_after, armed_again(s, twheel_rearm_after(s->tw, s->pending[0], FAR, 0, NULL)))
MAKE(rearm_at, armed_again(s, twheel_rearm_at(s->tw, s->pending[0], far_from_now(s), 0, NULL)))
MAKE(set_after, armed(s, twheel_set_after(s->tw, s->armed, FAR, 0, NULL)))
MAKE(set_at, armed_again(s, twheel_set_at(s->tw, &s->pending[0], far_from_now(s), 0, NULL)))
MAKE(put_after, armed(s, twheel_put_after(s->tw, s->armed[0] = MARK + 1, FAR, 0, NULL)), KEYED)
MAKE(put_at, armed_again(s, twheel_put_at(s->tw, s->pending[0], far_from_now(s), 0, NULL)), KEYED)
MAKE(lease_new, armed(s, twheel_lease_new(s->tw, FAR, 0, 0, s->armed, &s->out.lease, NULL)), LEASED)
MAKE(lease_at, twheel_lease_at(s->tw, 1, 0, &s->out.lease), LEASED)
MAKE(push, armed_again(s, twheel_push(s->tw, s->pending[0], far_from_now(s))))
AGAIN(push, _of_a_key, " of a key", KEYED)
MAKE(get, twheel_get(s->tw, s->pending[0], &s->out.timer))
MAKE(cancel, ended(s, twheel_cancel(s->tw, s->pending[0], NULL), 1))
AGAIN(cancel, _of_a_key, " of a key", KEYED)

MAKE(walk_next, twheel_walk_next(s->walk, &s->out.timer) != 1)
MAKE(read, has_read(s, twheel_read(s->tw, s->out.events, READY - 1)), .ready = true)
AGAIN(read, _of_keys, " of keys", KEYED, .ready = true)
AGAIN(read, _that_waits, " that waits", .waits = true)
MAKE(read_timeout, has_read(s, wait_to_read(s)), .ready = true)
AGAIN(read_timeout, _that_waits, " that waits", .waits = true)
MAKE(event_buffer_fill, has_read(s, twheel_event_buffer_fill(s->buffer, s->tw)), .ready = true)
AGAIN(event_buffer_fill, _that_waits, " that waits", .waits = true)
MAKE(dispatch, has_read(s, twheel_dispatch(s->tw)), .ready = true)
AGAIN(dispatch, _that_waits, " that waits", .waits = true)
MAKE(dispatch_timeout, has_read(s, twheel_dispatch_timeout(s->tw, FAR)), .ready = true)
AGAIN(dispatch_timeout, _that_waits, " that waits", .waits = true)

MAKE(timer_new, twheel_timer_new(&s->out.object, s->tw, do_nothing, NULL))
MAKE(timer_arm, twheel_timer_arm(s->timer, &(struct twheel_arm){ .expires = FAR }, NULL))
AGAIN(timer_arm, _of_a_lease, " of a lease", LEASED)
MAKE(timer_start, twheel_timer_start(s->timer, FAR, FAR))
MAKE(timer_again, twheel_timer_again(s->timer))
MAKE(timer_push, twheel_timer_push(s->timer, 2 * FAR, 0))
MAKE(timer_remaining, !twheel_timer_remaining(s->timer))
MAKE(timer_arg, set_arg(s), .others = { "twheel_timer_set_arg" })
MAKE(timer_cancel, ended(s, twheel_timer_cancel(s->timer, NULL), 1))
MAKE(timer_cancel_all, ended(s, twheel_timer_cancel_all(s->tw), 1))
MAKE(timer_get, twheel_timer_get(s->timer, &s->out.timer))
MAKE(timer_armed, twheel_timer_armed(s->timer) != 1)
MAKE(timer_defer, twheel_timer_defer(s->tw, 1))

static ssize_t arm_one(struct subject *s)
{
	struct twheel_arm arm = { .expires = FAR };
	int ret = twheel_arm(s->tw, &arm);

	s->armed[0] = arm.handle;
	return armed(s, ret);
}

MAKE(arm, arm_one(s))

static ssize_t arm_some(struct subject *s)
{
	struct twheel_arm arms[PENDING] = { };
	ssize_t n, ret = -1;
	int i;

	for (i = 0; i < PENDING; i++)
		arms[i].expires = FAR;
	n = twheel_arm_batch(s->tw, arms, PENDING);
	for (i = 0; i < n; i++) {
		s->armed[s->nr_armed] = arms[i].handle;
		ret = armed(s, arms[i].result);
	}
	return ret;
}

MAKE(arm_batch, arm_some(s))

static int cancel_some(struct subject *s)
{
	struct twheel_cancel cancels[PENDING] = { };
	int i;

	for (i = 0; i < PENDING; i++)
		cancels[i].handle = s->pending[i];
	return ended(s, twheel_cancel_batch(s->tw, cancels, PENDING) != PENDING, PENDING);
}

MAKE(cancel_batch, cancel_some(s))

static int push_some(struct subject *s)
{
	struct twheel_push push = { s->pending[0], twheel_now(s->tw) + FAR };

	return armed_again(s, twheel_push_batch(s->tw, &push, 1) != 1);
}

MAKE(push_batch, push_some(s))

static int drain_some(struct subject *s)
{
	struct twheel_timer_info infos[2];
	uint64_t cursor = 0;

	return ended(s, twheel_drain(s->tw, &cursor, infos, 2) != 2, 2);
}

MAKE(drain, drain_some(s))

static int new_walk(struct subject *s)
{
	struct twheel_walk *walk;
	int ret = twheel_walk_new(&walk, s->tw);

	if (!ret)
		twheel_walk_free(walk);
	return ret;
}

MAKE(walk_new, new_walk(s))
MAKE(walk_free, (twheel_walk_free(s->walk), s->walk = NULL, 0))

static int cancel_all(struct subject *s)
{
	s->nr_read = READY;
	return ended(s, twheel_cancel_all(s->tw), PENDING + 1);
}

MAKE(cancel_all, cancel_all(s), .ready = true)
MAKE(timer_free, (twheel_timer_free(s->timer), s->timer = NULL, ended(s, 0, 1)))

/* With its timer in it, it is cancelled or freed. */
static int end_group(struct subject *s, bool cancel)
{
	struct twheel_group *group;
	int ret = twheel_group_new(&group, s->tw);

	if (!ret)
		ret = twheel_timer_set_group(s->timer, group);
	if (ret)
		return ret;
	ret = ended(s, cancel ? twheel_group_cancel(group) : 0, 1);
	if (!cancel)
		twheel_group_free(group);
	return ret;
}

MAKE(group_cancel, end_group(s, true), .others = { "twheel_group_new", "twheel_timer_set_group" })
MAKE(group_free, end_group(s, false))

/* What is queued is told to the wheel by the flush. */
static int flush(struct subject *s)
{
	if (twheel_timer_defer(s->tw, 1) || twheel_timer_cancel(s->timer, NULL))
		return -1;
	return ended(s, twheel_timer_flush(s->tw), 1);
}

MAKE(timer_flush, flush(s))

/* Is @called, or what comes before a blank in it, the name of this @length? */
static bool is_name(const char *called, const char *name, size_t length)
{
	return called && !strncmp(called, name, length) &&
	       (!called[length] || called[length] == ' ');
}

static bool is_called(const char *name, size_t length)
{
	const struct call *call;

	for (call = calls; call; call = call->next)
		if (is_name(call->name, name, length) || is_name(call->others[0], name, length) ||
		    is_name(call->others[1], name, length))
			return true;
	return false;
}

/* Returns what the header @path has in it, or NULL. */
static char *read_header(const char *path)
{
	FILE *file = fopen(path, "r");
	size_t size = 1 << 20, n;
	char *text;

	if (!file)
		return NULL;
	text = malloc(size);
	n = text ? fread(text, 1, size - 1, file) : 0;
	fclose(file);
	if (text)
		text[n] = '\0';
	return text;
}

/* Each function that takes a context, or an object with one, is called below. */
TEST(no_call_is_left_out)
{
	static const char declared[] =
		"(twheel_[a-z_]+)\\([^;)]*struct twheel(_timer|_walk|_group)? \\*[a-z]";
	/* It ends the context; and that is what the program writes. */
	static const char * const others[] = { "twheel_close", "twheel_timer_fn" };
	char *header = read_header(HEADER), *at = header;
	unsigned int found = 0;
	regmatch_t match[2];
	regex_t regex;

	ASSERT_NE(NULL, header);
	ASSERT_EQ(0, regcomp(&regex, declared, REG_EXTENDED));
	for (; !regexec(&regex, at, 2, match, 0); at += match[0].rm_eo) {
		const char *name = at + match[1].rm_so;
		size_t length = (size_t)(match[1].rm_eo - match[1].rm_so);

		found++;
		if (!strncmp(name, others[0], length) || !strncmp(name, others[1], length))
			continue;
		EXPECT_TRUE(is_called(name, length))
			TH_LOG("%.*s is not called", (int)length, name);
	}
	EXPECT_LT(30, found);
	regfree(&regex);
	free(header);
}

/* Returns 0 if the subject is there, with its timers. @flags as for twheel_open(). */
static int make_subject(struct subject *s, const struct call *call, unsigned int flags)
{
	struct twheel_config config = { .flags = call->config };
	bool keyed = call->config & KEYS;
	int i, ret;

	*s = (struct subject){ .call = call, .flags = flags, .ret = -1 };
	ret = twheel_open(&s->tw, NULL, TWHEEL_OPEN_EMBEDDED | flags, &config);
	if (ret)
		return ret;
	for (i = 0; i < PENDING; i++) {
		struct twheel_arm arm = {
			.expires = FAR, .handle = keyed ? i + 1 : 0,
			.flags = call->config & TWHEEL_CONFIG_LEASE ? TWHEEL_ARM_LEASE : 0,
		};

		ret |= twheel_arm(s->tw, &arm);
		s->pending[i] = arm.handle;
	}
	for (i = 0; call->ready && i < READY; i++) {
		struct twheel_arm arm = { .handle = keyed ? 100 + i : 0, .user_data = i };

		ret |= twheel_arm(s->tw, &arm);
	}
	if (!keyed) {
		ret |= twheel_timer_new(&s->timer, s->tw, do_nothing, NULL);
		ret |= twheel_timer_start(s->timer, FAR, 0);
	}
	ret |= twheel_walk_new(&s->walk, s->tw);
	ret |= twheel_event_buffer_new(&s->buffer, READY);
	return ret || (call->ready && !wait_ready(s->tw, READY));
}

static void free_subject(struct subject *s)
{
	twheel_event_buffer_free(s->buffer);
	twheel_walk_free(s->walk);
	twheel_close(s->tw);
}

/* Makes its call with a cancellation pending. */
static void *be_cancelled(void *arg)
{
	struct subject *s = arg;

	pthread_cancel(pthread_self());
	s->call->make(s);
	s->returned = true;
	pthread_testcancel();
	return NULL;
}

/* Runs a thread to its end. Returns whether that was its cancellation. */
static bool is_cancelled(void *(*function)(void *arg), void *arg)
{
	pthread_t thread;
	void *result;

	return !pthread_create(&thread, NULL, function, arg) && !pthread_join(thread, &result) &&
	       result == PTHREAD_CANCELED;
}

/* How many timers a walk finds, or -1 */
static int count_walked(struct twheel *tw)
{
	struct twheel_timer_info info;
	struct twheel_walk *walk;
	int n = 0, ret;

	if (twheel_walk_new(&walk, tw))
		return -1;
	while ((ret = twheel_walk_next(walk, &info)) == 1)
		n++;
	twheel_walk_free(walk);
	return ret ? -1 : n;
}

/* Arms a timer, and reads its record. Returns how many records came before it, or -errno. */
static ssize_t read_mark(struct subject *s)
{
	struct twheel_arm arm = {
		.handle = s->call->config & KEYS ? MARK : 0, .user_data = MARK,
	};
	struct twheel_event event;
	ssize_t ret, n = 0;

	ret = twheel_arm(s->tw, &arm);
	while (!ret) {
		ret = twheel_read(s->tw, &event, 1);
		if (ret < 0)
			break;
		if (event.user_data == MARK)
			return n;
		n++;
		ret = 0;
	}
	return ret;
}

TEST(a_context_outlives_its_threads)
{
	const struct call *call;

	set_alarm(calls->name);
	for (call = calls; call; call = call->next) {
		int fds = count_fds(), inner;
		struct twheel_timer_info timer;
		struct twheel_info info;
		struct subject s;
		uint64_t pending;
		unsigned int i;

		calling = call->name;
		ASSERT_EQ(0, make_subject(&s, call, 0))
			TH_LOG("before %s", call->name);
		inner = count_fds();
		EXPECT_TRUE(is_cancelled(be_cancelled, &s));
		EXPECT_EQ(!call->waits, s.returned);
		if (s.returned)
			EXPECT_EQ(0, s.ret);

		pending = PENDING + (call->config & KEYS ? 0 : 1) + s.nr_new - s.nr_ended;
		ASSERT_EQ(0, twheel_get_info(s.tw, 0, &info));
		EXPECT_EQ(pending, info.pending);
		EXPECT_EQ((call->ready ? READY : 0) - s.nr_read, info.ready);
		EXPECT_EQ(pending, count_walked(s.tw));
		for (i = 0; i < s.nr_armed; i++)
			EXPECT_EQ(0, twheel_get(s.tw, s.armed[i], &timer));
		EXPECT_EQ((call->ready ? READY : 0) - s.nr_read, read_mark(&s));
		EXPECT_EQ(inner, count_fds());
		free_subject(&s);
		EXPECT_EQ(fds, count_fds());
		if (!tw_passed()) {
			TH_LOG("by %s", call->name);
			break;
		}
	}
}

/* Bytes of stack that a call takes at most, as libtwheel(3) says; and that a thread has here */
#define STACK		12288
#define STACK_ROOM	(256 << 10)
#define NEVER_TOUCHED	0x5a

/* Opens the context, makes the call, and closes the context. */
static void *call_once(void *arg)
{
	struct subject *s = arg;

	if (make_subject(s, s->call, s->flags))
		return NULL;
	s->call->make(s);
	free_subject(s);
	s->stack = __builtin_frame_address(0);
	return NULL;
}

TEST(a_small_stack)
{
	static char room[STACK_ROOM] __attribute__((__aligned__(64)));
	pthread_attr_t attr;
	pthread_t thread;
	const struct call *call;
	bool threads = false;
	size_t unused;

	set_alarm(calls->name);
	ASSERT_EQ(0, pthread_attr_init(&attr));
	ASSERT_EQ(0, pthread_attr_setstack(&attr, room, sizeof(room)));
	for (call = calls; call; call = threads ? call : call->next) {
		struct subject s = {
			.call = call,
			.flags = threads ? TWHEEL_OPEN_THREADS : 0,
		};

		threads = !threads;
		calling = call->name;
		if (call->waits)
			continue;
		memset(room, NEVER_TOUCHED, sizeof(room));
		ASSERT_EQ(0, pthread_create(&thread, &attr, call_once, &s));
		ASSERT_EQ(0, pthread_join(thread, NULL));
		ASSERT_EQ(0, s.ret);
		for (unused = 0; room[unused] == NEVER_TOUCHED; unused++)
			;
		EXPECT_GE(STACK, s.stack - (room + unused))
			TH_LOG("in %s", calling);
	}
	pthread_attr_destroy(&attr);
}

/**
 * struct opening - a context that a thread is to open
 * @path: as twheel_open() has it
 * @flags: as well
 * @config: as well
 * @expected: what that should return
 * @tw: the context
 * @ret: what twheel_open() has returned
 * @opened: it has returned
 * @closed: twheel_close() has
 */
struct opening {
	const char		*path;
	unsigned int		flags;
	struct twheel_config	config;
	int			expected;
	struct twheel		*tw;
	int			ret;
	bool			opened;
	bool			closed;
};

/* Makes thread function @name, in which @call, with @o, is made with a cancellation pending. */
#define CANCELLED(name, call)			\
static void *name##_cancelled(void *arg)	\
{						\
	struct opening *o = arg;		\
						\
	pthread_cancel(pthread_self());		\
	call;					\
	pthread_testcancel();			\
	return NULL;				\
}

CANCELLED(open, o->ret = twheel_open(&o->tw, o->path, o->flags, &o->config); o->opened = true)
CANCELLED(adopt, o->ret = twheel_adopt(&o->tw, STDIN_FILENO); o->opened = true)
CANCELLED(close, twheel_close(o->tw); o->closed = true)

#define EMBEDDED	TWHEEL_OPEN_EMBEDDED

/* Some fail after they have opened something. */
static struct opening openings[] = {
	{ .flags = EMBEDDED, .config = { .clock = CLOCK_MONOTONIC } },
	{ .flags = EMBEDDED | TWHEEL_OPEN_NONBLOCK | TWHEEL_OPEN_CLOEXEC,
	  .config = { .clock = CLOCK_BOOTTIME } },
	{ .flags = EMBEDDED, .config = { .clock = TWHEEL_CLOCK_REALTIME } },
	{ .flags = EMBEDDED, .config = { .clock = CLOCK_MONOTONIC, .flags = TWHEEL_CONFIG_LEASE } },
	{ .flags = EMBEDDED, .config = { .clock = CLOCK_MONOTONIC, .flags = KEYS } },
	{ .flags = EMBEDDED, .config = { .clock = CLOCK_MONOTONIC, .flags = UINT32_MAX },
	  .expected = -EINVAL },
	{ .flags = ~0U, .expected = -EINVAL },
	{ .path = "/dev/null", .expected = -ENOTTY },
	{ .path = "/dev/no-such-wheel", .expected = -ENOENT },
};

/* Nothing that a context consists of is lost when the thread that opens or closes it ends. */
TEST(open_and_close)
{
	size_t i;

	set_alarm("twheel_open or twheel_close");
	for (i = 0; i < sizeof(openings) / sizeof(openings[0]); i++) {
		struct opening *o = &openings[i];
		int fds = count_fds();

		EXPECT_TRUE(is_cancelled(open_cancelled, o));
		/* If it has not, what it has allocated is lost. */
		ASSERT_TRUE(o->opened)
			TH_LOG("opening %d", (int)i);
		ASSERT_EQ(o->expected, o->ret);
		if (!o->ret) {
			EXPECT_EQ(0, twheel_config_flags(o->tw) ^ o->config.flags);
			EXPECT_TRUE(is_cancelled(close_cancelled, o));
			EXPECT_TRUE(o->closed);
		}
		EXPECT_EQ(fds, count_fds());
	}
}

TEST(adopt)
{
	struct opening o = { };
	int fds;

	set_alarm("twheel_adopt");
	ASSERT_EQ(STDIN_FILENO, dup2(open("/dev/null", O_RDWR), STDIN_FILENO));
	fds = count_fds();
	EXPECT_TRUE(is_cancelled(adopt_cancelled, &o));
	ASSERT_TRUE(o.opened);
	EXPECT_EQ(-ENOTTY, o.ret);
	EXPECT_EQ(fds, count_fds());
}

/* To close a context of the device it takes no device. */
TEST(close_of_a_device)
{
	struct opening o = { .tw = calloc(1, sizeof(*o.tw)) };
	int fds = count_fds();

	set_alarm("twheel_close");
	ASSERT_NE(NULL, o.tw);
	ASSERT_EQ(0, twheel_which_process(&o.tw->process));
	o.tw->backend = &twheel_device;
	o.tw->fd = open("/dev/null", O_RDWR);
	ASSERT_LE(0, o.tw->fd);
	EXPECT_TRUE(is_cancelled(close_cancelled, &o));
	EXPECT_TRUE(o.closed);
	EXPECT_EQ(fds, count_fds());
}

static void *read_one(void *arg)
{
	struct twheel_event event;

	twheel_read(arg, &event, 1);
	return NULL;
}

/* The thread may have been cancelled just when it was told of a step, so another one is told. */
TEST(a_step_is_not_lost)
{
	struct twheel_config config = {
		.clock = TWHEEL_CLOCK_REALTIME, .flags = TWHEEL_CONFIG_CANCEL_ON_SET,
	};
	struct twheel_event event;
	pthread_t thread;
	struct twheel *tw;
	void *result;

	set_alarm("twheel_read");
	ASSERT_EQ(0, twheel_open(&tw, NULL, TWHEEL_OPEN_EMBEDDED, &config));
	ASSERT_EQ(0, pthread_create(&thread, NULL, read_one, tw));
	pthread_cancel(thread);
	ASSERT_EQ(0, pthread_join(thread, &result));
	EXPECT_EQ(PTHREAD_CANCELED, result);
	EXPECT_EQ(-ECANCELED, twheel_read(tw, &event, 1));
	EXPECT_EQ(0, twheel_arm_at(tw, 1, MARK, NULL));
	EXPECT_EQ(1, twheel_read(tw, &event, 1));
	EXPECT_EQ(MARK, event.user_data);
	twheel_close(tw);
}

/**
 * struct run - functions of timers that twheel_dispatch() calls
 * @tw: the context
 * @backend: its backend
 * @lossy: the same, but for reads
 * @timers: the timers
 * @called: how many of their functions were called
 * @leave: what the first function does with its thread
 */
struct run {
	struct twheel			*tw;
	const struct twheel_backend	*backend;
	struct twheel_backend		lossy;
	struct twheel_timer		*timers[READY];
	unsigned int			called;
	void				(*leave)(void);
};

static struct run run;

static void be_called(struct twheel_timer *timer, const struct twheel_event *event, void *arg)
{
	if (!run.called++ && run.leave)
		run.leave();
}

static void exit_thread(void)
{
	pthread_exit(PTHREAD_CANCELED);
}

static void cancel_thread(void)
{
	pthread_cancel(pthread_self());
	pthread_testcancel();
}

static void close_and_exit(void)
{
	twheel_close(run.tw);
	exit_thread();
}

static void *dispatch(void *arg)
{
	twheel_dispatch(run.tw);
	return NULL;
}

/* Returns 0 if the timers are there, and ready. */
static int make_run(void (*leave)(void))
{
	int i, ret;

	run = (struct run){ .leave = leave };
	ret = twheel_open(&run.tw, NULL, TWHEEL_OPEN_EMBEDDED | TWHEEL_OPEN_NONBLOCK, NULL);
	if (ret)
		return ret;
	for (i = 0; i < READY; i++) {
		ret |= twheel_timer_new(&run.timers[i], run.tw, be_called, NULL);
		/* The last one repeats, but not soon. */
		ret |= twheel_timer_start(run.timers[i], 0, i == READY - 1 ? FAR : 0);
	}
	return ret || !wait_ready(run.tw, READY);
}

/* The function of a timer may end its thread: another one goes on with the records after it. */
TEST(a_function_is_cancelled)
{
	static void (* const leaves[])(void) = { exit_thread, cancel_thread };
	size_t i;

	set_alarm("twheel_dispatch");
	for (i = 0; i < sizeof(leaves) / sizeof(leaves[0]); i++) {
		ASSERT_EQ(0, make_run(leaves[i]));
		EXPECT_TRUE(is_cancelled(dispatch, NULL));
		EXPECT_EQ(1, run.called);
		EXPECT_EQ(0, twheel_timer_armed(run.timers[0]));
		EXPECT_EQ(1, twheel_timer_armed(run.timers[1]));
		EXPECT_EQ(READY - 1, twheel_dispatch(run.tw));
		EXPECT_EQ(READY, run.called);
		EXPECT_EQ(0, twheel_dispatch(run.tw));
		twheel_close(run.tw);
	}
}

/* And so may one that has closed its context. */
TEST(a_function_closes_its_context)
{
	int fds = count_fds();

	set_alarm("twheel_dispatch");
	ASSERT_EQ(0, make_run(close_and_exit));
	EXPECT_TRUE(is_cancelled(dispatch, NULL));
	EXPECT_EQ(1, run.called);
	EXPECT_EQ(fds, count_fds());
}

/* Reads as the device does where the thread is cancelled after that. */
static ssize_t read_and_cancel(const struct twheel *tw, void *buf, size_t size, bool wait)
{
	ssize_t n = run.backend->read(tw, buf, size, wait);

	cancel_thread();
	return n;
}

/* Has @function, which reads, called by a thread that is cancelled there. */
static bool is_cancelled_after_its_read(void *(*function)(void *arg), void *arg)
{
	bool cancelled;

	run.backend = run.tw->backend;
	run.lossy = *run.backend;
	run.lossy.read = read_and_cancel;
	run.tw->backend = &run.lossy;
	cancelled = is_cancelled(function, arg);
	run.tw->backend = run.backend;
	return cancelled;
}

/* What was read for a thread that is cancelled there is for the next one. */
TEST(dispatch_is_cancelled_after_its_read)
{
	int i;

	set_alarm("twheel_dispatch");
	ASSERT_EQ(0, make_run(NULL));
	/* Records that were handled must not come again. */
	EXPECT_EQ(READY, twheel_dispatch(run.tw));
	EXPECT_EQ(READY, run.called);
	EXPECT_EQ(0, twheel_timer_start(run.timers[0], 0, 0));
	EXPECT_EQ(0, twheel_timer_start(run.timers[1], 0, 0));
	ASSERT_TRUE(wait_ready(run.tw, 2));

	EXPECT_TRUE(is_cancelled_after_its_read(dispatch, NULL));
	EXPECT_EQ(READY, run.called);
	EXPECT_EQ(2, twheel_dispatch(run.tw));
	EXPECT_EQ(READY + 2, run.called);
	for (i = 0; i < READY; i++)
		EXPECT_EQ(i == READY - 1, twheel_timer_armed(run.timers[i]));

	/* And where it has read nothing there is nothing. */
	EXPECT_TRUE(is_cancelled_after_its_read(dispatch, NULL));
	EXPECT_EQ(0, twheel_dispatch(run.tw));
	EXPECT_EQ(READY + 2, run.called);
	twheel_close(run.tw);
}

static void *fill(void *arg)
{
	twheel_event_buffer_fill(arg, run.tw);
	return NULL;
}

static int take_out(struct twheel_event_buffer *buffer)
{
	int n = 0;

	while (twheel_event_buffer_next(buffer))
		n++;
	return n;
}

/* And it is in the buffer that the thread has filled: all of it, and nothing else. */
TEST(a_fill_is_cancelled_after_its_read)
{
	struct twheel_event_buffer *buffer;

	set_alarm("twheel_event_buffer_fill");
	ASSERT_EQ(0, make_run(NULL));
	ASSERT_EQ(0, twheel_event_buffer_new(&buffer, READY + 1));
	EXPECT_TRUE(is_cancelled_after_its_read(fill, buffer));
	EXPECT_EQ(READY, twheel_event_buffer_fill(buffer, run.tw));
	EXPECT_EQ(READY, take_out(buffer));

	EXPECT_EQ(0, twheel_arm_after(run.tw, 0, 0, NULL));
	ASSERT_TRUE(wait_ready(run.tw, 1));
	EXPECT_TRUE(is_cancelled_after_its_read(fill, buffer));
	EXPECT_EQ(1, take_out(buffer));
	EXPECT_TRUE(is_cancelled_after_its_read(fill, buffer));
	EXPECT_EQ(0, take_out(buffer));
	EXPECT_EQ(-EAGAIN, twheel_event_buffer_fill(buffer, run.tw));
	twheel_event_buffer_free(buffer);
	twheel_close(run.tw);
}

TEST_HARNESS_MAIN
