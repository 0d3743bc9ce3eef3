// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * reminder: a node claims what is due soon, keeps it in a wheel, and gives it when it is due.
 *
 * There are two threads, so that what is due does not wait for the database. The keeper talks to
 * the database: it claims reminders, arms a timer for each, and marks as done what was taken. The
 * giver reads from the wheel what has come due and hands it to the outlet. The wheel is all that
 * leads from one to the other: a timer's key is the id of its reminder, its user data are the
 * address.
 *
 *	database --claim--> wheel --due--> outlet --taken--> done --mark--> database
 *
 * A node cannot give if no receiver is there, or as many commands run as may. Then it claims
 * nothing, and in time it gives back what it has claimed before: others can have it.
 *
 * What takes its time keeps its claim: the giver sends copies of what is under way to the keeper,
 * which renews their claims.
 *
 * Locking and lifetime rules: A reminder belongs to whoever has it: the keeper until it is armed,
 * the wheel, the giver and its outlet, and the keeper again when it is in @done or @left. That a
 * cancel is final makes that true also where the keeper takes one back. @lock guards @done, @left
 * and @renewals and nothing else; no call is made with it held.
 *
 * The wheel is on CLOCK_REALTIME, so it follows when the clock is set. What is near is another
 * matter then, and the wheel tells of it (TWHEEL_CONFIG_CANCEL_ON_SET): the keeper looks again. If
 * the clock was set back, what is in the wheel comes due later than its claims end here, so the
 * keeper gives it back first.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <twheel.h>

#include "inherited.h"
#include "node.h"
#include "options.h"

/* How long to wait for a database that is not there, and for others that are done, in ns. */
#define RETRY_NS	500000000ULL
#define GATHER_NS	100000000ULL

/* How long a second signal leaves the database to answer, in seconds. */
#define PATIENCE_SEC	5

/* One in so many of those that it may hold are for what is near: see room(). */
#define RESERVE		8

/* How many timers are armed, and how many expirations read, at once. */
#define ARMS		256
#define EVENTS		256

/**
 * enum phase - how far a node has come
 * @RUNNING: it claims and gives
 * @STOPPING: it gives nothing more, and waits for what is under way
 * @STOPPED: it does not wait any more either
 * @PHASES: how many phases there are
 */
enum phase { RUNNING, STOPPING, STOPPED, PHASES };

/**
 * struct node - the state of the program
 * @settings: how it works
 * @outlet: where reminders go
 * @tw: the wheel
 * @owner: the name that its claims have
 * @lock: guards @done, @left and @renewals
 * @done: those that are to be marked as done
 * @left: those that are to be given back
 * @renewals: copies of those whose claims are to be renewed
 * @kept: copies of those that were under way when a phase began, or had been given in vain, written
 *	before that
 * @wake: wakes the keeper
 * @ended: tells that the keeper has ended
 * @ready: the outlet can give
 * @doubtful: as that of the outlet
 * @look: the keeper is to claim at once
 * @clock_set: the keeper is to see how the clock was set
 * @offset: by how much CLOCK_REALTIME was ahead of CLOCK_BOOTTIME when the claims were made, in ns
 * @phase: what the keeper is to do, of enum phase; what came before it, is in @done
 * @held: how many reminders there are here
 * @marked: how many were marked as done
 * @fenced: how many could not be, as their claims had ended
 * @claims: how many claims were made that brought something
 * @statements: how many statements connections that were closed have sent
 */
struct node {
	const struct settings	*settings;
	struct outlet		*outlet;
	struct twheel		*tw;
	char			owner[128];
	pthread_mutex_t		lock;
	struct queue		done;
	struct queue		left;
	struct queue		renewals;
	struct queue		kept[PHASES];
	int			wake;
	int			ended;
	atomic_bool		ready;
	atomic_bool		doubtful;
	atomic_bool		look;
	atomic_bool		clock_set;
	int64_t			offset;
	atomic_int		phase;
	atomic_size_t		held;
	uint64_t		marked;
	uint64_t		fenced;
	uint64_t		claims;
	uint64_t		statements;
};

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	(void)sig;
	interrupted++;
}

static void tell(int fd)
{
	uint64_t one = 1;

	if (write(fd, &one, sizeof(one)) < 0)
		complain("eventfd: %s", strerror(errno));
}

static void wake_keeper(struct node *node)
{
	tell(node->wake);
}

static int event_new(void)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (fd < 0)
		die(EXIT_FAILED, "eventfd: %s", strerror(errno));
	return fd;
}

/*
 * The keeper
 */

/*
 * A timer with that key is there: an earlier claim on the same reminder, which has ended. Take that
 * one back, unless it has come due meanwhile, and then the outlet drops it.
 */
static int replace(struct node *node, struct twheel_arm *arm)
{
	struct twheel_timer_info info;
	int ret;

	ret = twheel_get(node->tw, arm->handle, &info);
	if (!ret)
		ret = twheel_cancel(node->tw, arm->handle, NULL);
	if (!ret) {
		free((void *)(uintptr_t)info.user_data);
		node->held--;
	}
	return ret && ret != -ENOENT ? ret : twheel_arm(node->tw, arm);
}

/* Arm a timer for each of the @n in @list. From then on each may be the giver's. */
static void hold(struct node *node, struct reminder *list, size_t n)
{
	struct twheel_arm arms[ARMS];
	size_t len, i;
	ssize_t done;
	int err = 0;
	int ret;

	node->held += n;
	for (; list; n -= len) {
		for (len = 0; list && len < ARMS; list = list->next)
			arms[len++] = (struct twheel_arm){
				.handle = (uint64_t)list->id,
				.user_data = (uintptr_t)list,
				.expires = list->due,
				.flags = TWHEEL_ARM_ABS | TWHEEL_ARM_IF_NONE,
			};
		done = twheel_arm_batch(node->tw, arms, len);
		for (i = 0; i < len; i++) {
			ret = (ssize_t)i < done ? arms[i].result : twheel_arm(node->tw, &arms[i]);
			if (ret == -EEXIST)
				ret = replace(node, &arms[i]);
			if (!ret)
				continue;
			/* Nobody has it: it comes again when the claim has ended. */
			err = -ret;
			free((void *)(uintptr_t)arms[i].user_data);
			node->held--;
		}
	}
	if (err)
		complain("some reminders have to wait until their claims end: %s", strerror(err));
}

static void free_all(struct queue *list)
{
	struct reminder *r;

	while ((r = queue_pop(list)))
		free(r);
}

/*
 * Have a batch of those in @queue changed, as @how does. They are held no more then. Sets @all to
 * how many these were, and returns for how many it counts, or -1.
 */
static ssize_t change(struct node *node, struct store *store, struct queue *queue,
		      ssize_t (*how)(struct store *store, const struct reminder *list), size_t *all)
{
	struct queue list;
	struct reminder *r;
	ssize_t n = 0;

	queue_init(&list);
	pthread_mutex_lock(&node->lock);
	while (list.n < node->settings->batch && (r = queue_pop(queue)))
		queue_push(&list, r);
	pthread_mutex_unlock(&node->lock);
	*all = list.n;
	if (list.n)
		n = how(store, list.first);
	if (n < 0) {
		/* It may have been carried out, and then it does not count the next time. */
		pthread_mutex_lock(&node->lock);
		queue_prepend(queue, &list);
		pthread_mutex_unlock(&node->lock);
		return -1;
	}
	node->held -= list.n;
	free_all(&list);
	return n;
}

/* Mark what is done. Returns how many there were, or -1. */
static ssize_t mark(struct node *node, struct store *store)
{
	size_t all;
	ssize_t n = change(node, store, &node->done, store->kind->done, &all);

	if (n < 0)
		return -1;
	node->marked += (uint64_t)n;
	node->fenced += all - (size_t)n;
	return (ssize_t)all;
}

/* Give back what the outlet has left. Returns how many there were, or -1. */
static ssize_t give_back_left(struct node *node, struct store *store)
{
	size_t all;

	return change(node, store, &node->left, store->kind->give_back, &all) < 0 ? -1 :
		(ssize_t)all;
}

/* Have @list renewed, in the place of what has not been yet. */
static void set_renewals(struct node *node, struct queue *list)
{
	struct queue old;

	queue_init(&old);
	pthread_mutex_lock(&node->lock);
	queue_prepend(&old, &node->renewals);
	queue_prepend(&node->renewals, list);
	pthread_mutex_unlock(&node->lock);
	free_all(&old);
}

/* Renew what is under way. Returns 0, or -1 after an error. */
static int renew(struct node *node, struct store *store)
{
	struct queue list;
	ssize_t n = 0;

	queue_init(&list);
	pthread_mutex_lock(&node->lock);
	queue_prepend(&list, &node->renewals);
	pthread_mutex_unlock(&node->lock);
	if (list.n)
		n = store->kind->renew(store, list.first, node->settings->lease);
	/* If that was in vain: the next ones come soon, but at once is better. */
	if (n < 0)
		set_renewals(node, &list);
	free_all(&list);
	return n < 0 ? -1 : 0;
}

static int64_t clock_offset(void)
{
	return (int64_t)(clock_now(CLOCK_REALTIME) - clock_now(CLOCK_BOOTTIME));
}

/*
 * The clock was set. If that was back by much of a lease, give back what has not come due. Returns
 * 0, or -1 after an error: then some was, and what is lost here comes when its claim has ended.
 */
static int give_back(struct node *node, struct store *store)
{
	struct twheel_timer_info infos[ARMS];
	int64_t offset = clock_offset();
	uint64_t cursor = 0;
	struct queue list;
	ssize_t n, i;
	ssize_t ret = 0;

	if (offset >= node->offset - (int64_t)(node->settings->lease / 4)) {
		node->offset = offset > node->offset ? offset : node->offset;
		return 0;
	}
	queue_init(&list);
	do {
		n = twheel_drain(node->tw, &cursor, infos, ARMS);
		for (i = 0; i < n; i++)
			queue_push(&list, (struct reminder *)(uintptr_t)infos[i].user_data);
		node->held -= list.n;
		if (list.n)
			ret = store->kind->give_back(store, list.first);
		free_all(&list);
	} while (ret >= 0 && (n > 0 || n == -EINTR));
	if (n < 0)
		complain("cannot take timers back: %s", strerror((int)-n));
	if (ret >= 0)
		node->offset = offset;
	return ret < 0 ? -1 : 0;
}

/*
 * How many more may it hold, up to a batch? A node that is full of what is due later has some room
 * for what is due before that, which is @urgent. For what is not there is room for a whole batch,
 * or for none. If it is in doubt whether they are taken, there is room for one that is urgent.
 */
static size_t room(const struct node *node, bool urgent)
{
	const struct settings *settings = node->settings;
	size_t most = settings->most - (urgent ? 0 : settings->most / RESERVE);
	size_t batch = settings->batch < most ? settings->batch : most;
	size_t held = node->held;
	size_t left = held < most ? most - held : 0;

	if (node->doubtful)
		return urgent && left;
	if (left >= batch)
		return batch;
	return urgent ? left : 0;
}

/*
 * Claim so many that are due within @horizon, with @ended of those whose claims have ended. Returns
 * 1 if there may be more, 0 if not, -1 after an error.
 */
static int claim(struct node *node, struct store *store, size_t most, uint64_t horizon, bool ended)
{
	const struct settings *settings = node->settings;
	struct claim request = {
		.owner = node->owner,
		.near = clock_now(CLOCK_REALTIME) + horizon,
		.lease = settings->lease,
		.most = most,
		.ended = ended,
		/* It may have lost them as it cannot do them: each other node is to look first. */
		.grace = 2 * settings->poll,
	};
	struct reminder *list;
	ssize_t n;

	n = store->kind->claim(store, &request, &list);
	if (n <= 0)
		return (int)n;
	node->claims++;
	hold(node, list, (size_t)n);
	/* In doubt the next one comes with the next poll, if the receiver waits for one by then. */
	return (size_t)n == most && !node->doubtful;
}

/*
 * Wait until something is to be done, for @ns at most. With @gather what is done may gather for a
 * while: nobody waits for that. Returns 0, or -1 after an error of the database.
 */
static int wait_for_news(struct node *node, struct store *store, uint64_t ns, bool gather)
{
	struct timespec timeout = { .tv_sec = (time_t)(ns / 1000000000),
				    .tv_nsec = (long)(ns % 1000000000) };
	struct pollfd fds[] = {
		{ .fd = gather ? -1 : node->wake, .events = POLLIN },
		{ .fd = store ? store->kind->fd(store) : -1, .events = POLLIN },
	};
	uint64_t count;
	int news;

	/* It may have come with the answer to a statement: then there is nothing to be read. */
	news = store ? store->kind->news(store) : 0;
	if (!news) {
		ppoll(fds, 2, &timeout, NULL);
		if (fds[1].revents)
			news = store->kind->news(store);
		if (fds[0].revents && read(node->wake, &count, sizeof(count)) < 0)
			complain("eventfd: %s", strerror(errno));
	}
	if (news > 0)
		node->look = true;
	return news < 0 ? -1 : 0;
}

/* Use @store until it fails, or the node has stopped. Returns whether it was the latter. */
static bool keep_with(struct node *node, struct store *store)
{
	const struct settings *settings = node->settings;
	/* What is due before it looks again cannot wait for room. */
	uint64_t near = settings->horizon < 2 * settings->poll ? settings->horizon :
			2 * settings->poll;
	bool more = true, more_ended = true, more_near = true;
	enum phase released = RUNNING;
	uint64_t next = 0;

	for (;;) {
		/* First, so that what was done before it is marked. */
		enum phase phase = node->phase;
		ssize_t marked = mark(node, store);
		ssize_t left = marked < 0 ? -1 : give_back_left(node, store);
		size_t all = 0, urgent = 0;
		uint64_t now;
		int ret = 0;

		if (left < 0 || renew(node, store))
			return false;
		if ((uint64_t)marked == settings->batch || (uint64_t)left == settings->batch)
			continue;
		/* Others are to have what it will not give, and not what is under way. */
		if (phase != released) {
			if (store->kind->release(store, node->owner, node->kept[phase].first))
				return false;
			released = phase;
		}
		if (phase == STOPPED)
			return true;
		if (phase == STOPPING) {
			if (wait_for_news(node, store, settings->poll, false))
				return false;
			continue;
		}

		if (atomic_exchange(&node->clock_set, false) && give_back(node, store)) {
			node->clock_set = true;
			return false;
		}
		now = clock_now(CLOCK_BOOTTIME);
		if (now >= next)
			more_ended = true;
		if (atomic_exchange(&node->look, false) || now >= next) {
			more = true;
			more_near = true;
		}
		if (now >= next)
			next = now + settings->poll;
		if (node->ready) {
			all = room(node, false);
			urgent = room(node, true);
		}
		/* What others have left is late already. */
		if (more_ended && urgent) {
			ret = claim(node, store, urgent, settings->horizon, true);
			more_ended = ret > 0;
		} else if (more && all) {
			ret = claim(node, store, all, settings->horizon, false);
			more = ret > 0;
			more_near = more;
		} else if (more_near && urgent) {
			ret = claim(node, store, urgent, near, false);
			more_near = ret > 0;
		} else {
			uint64_t ns = marked ? GATHER_NS : settings->poll;

			ret = wait_for_news(node, store, next - now < ns ? next - now : ns, marked);
		}
		if (ret < 0)
			return false;
	}
}

/* How many were taken and are not marked? */
static size_t unmarked(struct node *node)
{
	size_t n;

	pthread_mutex_lock(&node->lock);
	n = node->done.n;
	pthread_mutex_unlock(&node->lock);
	return n;
}

/* What was taken is worth a wait for the database: a lease later others may be giving it anyway. */
static void *keep(void *arg)
{
	struct node *node = arg;
	struct store *store = NULL;
	bool stopped = false;
	uint64_t end = 0;

	while (!stopped) {
		if (node->phase == STOPPED && !end)
			end = clock_now(CLOCK_BOOTTIME) + node->settings->lease;
		store = store_open(node->settings->where);
		if (store) {
			stopped = keep_with(node, store);
			node->statements += store->statements;
			store->kind->close(store);
		}
		if (!stopped && node->phase == STOPPED &&
		    (!unmarked(node) || (end && clock_now(CLOCK_BOOTTIME) >= end)))
			break;
		if (!stopped)
			wait_for_news(node, NULL, RETRY_NS, false);
	}
	tell(node->ended);
	return NULL;
}

/*
 * The giver
 */

static void read_wheel(struct node *node)
{
	struct twheel_event events[EVENTS];
	ssize_t n;
	ssize_t i;

	do {
		n = twheel_read(node->tw, events, EVENTS);
		for (i = 0; i < n; i++)
			queue_push(&node->outlet->waiting,
				   (struct reminder *)(uintptr_t)events[i].user_data);
	} while (n == EVENTS || n == -EINTR);
	if (n == -ECANCELED) {
		node->clock_set = true;
		node->look = true;
		wake_keeper(node);
	} else if (n < 0 && n != -EAGAIN) {
		die(EXIT_FAILED, "cannot read timers: %s", strerror((int)-n));
	}
}

/* Put all of @from at the end of @to, which the keeper empties. Returns whether that was empty. */
static bool append(struct node *node, struct queue *to, struct queue *from)
{
	bool first;

	if (!from->n)
		return false;
	pthread_mutex_lock(&node->lock);
	first = !to->n;
	queue_prepend(from, to);
	queue_prepend(to, from);
	pthread_mutex_unlock(&node->lock);
	return first;
}

/* Let the keeper have what was taken, and what is to be given back. */
static void hand_over(struct node *node)
{
	struct outlet *outlet = node->outlet;
	bool taken = append(node, &node->done, &outlet->taken);
	bool left = append(node, &node->left, &outlet->left);

	node->held -= outlet->lost;
	outlet->lost = 0;
	if (taken || left)
		wake_keeper(node);
}

/*
 * Have claims renewed on what is under way, when a third of the lease is over. Returns in how many
 * milliseconds to do so again, or -1.
 */
static int keep_claims(struct node *node)
{
	struct outlet *outlet = node->outlet;
	uint64_t lease = node->settings->lease;
	uint64_t now = clock_now(CLOCK_BOOTTIME);
	uint64_t ends = outlet->kind->ends ? outlet->kind->ends(outlet) : UINT64_MAX;
	uint64_t left = ends > now ? ends - now : 0;
	struct queue list;

	if (ends == UINT64_MAX)
		return -1;
	if (left <= lease - lease / 3) {
		queue_init(&list);
		outlet->kind->renew(outlet, now + lease);
		outlet->kind->under_way(outlet, &list);
		set_renewals(node, &list);
		wake_keeper(node);
		left = lease;
	}
	return ms_until(left, lease - lease / 3);
}

static void begin(struct node *node, enum phase phase)
{
	struct outlet *outlet = node->outlet;

	hand_over(node);
	outlet->stopped = true;
	outlet->kind->under_way(outlet, &node->kept[phase]);
	queue_push_given(&node->kept[phase], &outlet->failed);
	queue_push_given(&node->kept[phase], &outlet->waiting);
	node->phase = phase;
	wake_keeper(node);
}

/* The shorter one of two times for poll(), of which -1 is for ever. */
static int sooner(int a, int b)
{
	return b < 0 || (a >= 0 && a < b) ? a : b;
}

/* Wait for something to happen, and do what is to be done then. */
static void turn(struct node *node, const sigset_t *signals)
{
	struct outlet *outlet = node->outlet;
	struct pollfd fds[] = {
		{ .fd = outlet->stopped ? -1 : twheel_fd(node->tw), .events = POLLIN },
		{ .fd = -1 },
	};
	bool ready = outlet->kind->ready(outlet);
	/* Long before the claims end: so nobody has claimed it meanwhile. */
	int leave = ready ? -1 : outlet_leave(outlet, node->settings->lease / 3);
	int timeout = sooner(sooner(outlet->kind->prepare(outlet, &fds[1]), keep_claims(node)),
			     leave);
	struct timespec ts;

	node->doubtful = outlet->doubtful;
	hand_over(node);
	if (!atomic_exchange(&node->ready, ready) && ready)
		wake_keeper(node);
	ts = (struct timespec){ .tv_sec = timeout / 1000, .tv_nsec = timeout % 1000 * 1000000L };
	if (ppoll(fds, 2, timeout < 0 ? NULL : &ts, signals) < 0) {
		if (errno == EINTR)
			return;
		die(EXIT_FAILED, "poll: %s", strerror(errno));
	}
	inherited_let_in(signals);
	if (fds[0].revents)
		read_wheel(node);
	outlet->kind->turn(outlet, fds[1].revents);
}

/* After a second signal a database that does not answer is left to itself. */
static void wait_for_keeper(struct node *node, const sigset_t *signals)
{
	const struct timespec patience = { .tv_sec = PATIENCE_SEC };
	struct pollfd fd = { .fd = node->ended, .events = POLLIN };
	int n;

	do {
		n = ppoll(&fd, 1, interrupted < 2 ? NULL : &patience, signals);
	} while (n < 0 && errno == EINTR);
	if (n > 0)
		return;
	complain("the database does not answer: what it was not told comes again");
	_exit(EXIT_FAILED);
}

/* Give what comes due until a signal comes, and wait for what is under way until another does. */
static void give(struct node *node, const sigset_t *signals)
{
	struct outlet *outlet = node->outlet;

	while (!interrupted)
		turn(node, signals);
	begin(node, STOPPING);
	while (interrupted < 2 && outlet->kind->under_way(outlet, NULL))
		turn(node, signals);
	begin(node, STOPPED);
	wait_for_keeper(node, signals);
}

static void report(const struct node *node)
{
	printf("given %" PRIu64 ", done %" PRIu64 ", done by others %" PRIu64 ", claims %" PRIu64
	       ", statements %" PRIu64 "\n", node->outlet->count, node->marked, node->fenced,
	       node->claims, node->statements);
	printf("late: ");
	lateness_print(&node->outlet->late);
	flush_output();
}

void node_run(const struct settings *settings, struct outlet *outlet)
{
	const struct twheel_config config = {
		.clock = TWHEEL_CLOCK_REALTIME,
		.flags = TWHEEL_CONFIG_KEYED | TWHEEL_CONFIG_CANCEL_ON_SET,
	};
	struct node node = { .settings = settings, .outlet = outlet,
			     .lock = PTHREAD_MUTEX_INITIALIZER, .offset = clock_offset() };
	char host[64] = "";
	uint64_t random;
	pthread_t keeper;
	sigset_t waiting;
	size_t i;
	int ret;

	queue_init(&node.done);
	queue_init(&node.left);
	queue_init(&node.renewals);
	for (i = 0; i < PHASES; i++)
		queue_init(&node.kept[i]);
	gethostname(host, sizeof(host) - 1);
	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		die(EXIT_FAILED, "getrandom: %s", strerror(errno));
	snprintf(node.owner, sizeof(node.owner), "%s:%d:%" PRIx64, host, (int)getpid(), random);
	inherited_catch_all(on_signal, &waiting, SIGINT, SIGTERM, 0);
	node.wake = event_new();
	node.ended = event_new();
	ret = twheel_open(&node.tw, NULL, TWHEEL_OPEN_NONBLOCK | TWHEEL_OPEN_CLOEXEC, &config);
	if (ret)
		die_without_device(ret);
	ret = pthread_create(&keeper, NULL, keep, &node);
	if (ret)
		die(EXIT_FAILED, "pthread_create: %s", strerror(ret));

	give(&node, &waiting);
	pthread_join(keeper, NULL);
	report(&node);
	twheel_close(node.tw);
	if (node.done.n)
		die(EXIT_FAILED, "%zu that were taken could not be marked as done: they come again",
		    node.done.n);
}
