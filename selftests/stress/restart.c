// SPDX-License-Identifier: GPL-2.0-only
/*
 * Timers that outlive their process: the application fdstore is killed again and again
 * in the middle of its work.
 *
 * This program plays three parts. The keeper does the few things that systemd does for a
 * service with a file descriptor store. The client never sends a request twice. In the end
 * the results are counted. The keeper has copies of the timers' descriptors, and can look
 * at the timers while the service is dead.
 */
#include <err.h>
#include <libgen.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "twheel_test.h"

#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT	900

/* The first NEAR keys come due while the service is being killed. */
#define NEAR		100000
#define FAR		2000
#define CANCELLED	1000
#define KEYS		(NEAR + FAR + CANCELLED)

#define SPREAD_NS	(20 * TW_SEC)
#define DATAGRAM_LINES	100
#define KILLS_LEAST	5

/* The size of the example's journal: see there. */
#define JOURNAL_EVENTS	4096

#define STORE_FIRST	10
#define STORE_MAX	4

struct kept {
	char name[32];
	int fd;
};

struct keeper {
	char dir[32];
	int notify;
	struct kept store[STORE_MAX];
	int nr_kept;
	int nr_sent;		/* descriptors that came, stored or not */
	pid_t pid;
	bool ready;
	int starts;
};

static __u64 deadlines[KEYS];

static const char *in_dir(const struct keeper *k, const char *name)
{
	static char path[64];

	snprintf(path, sizeof(path), "%s/%s", k->dir, name);
	return path;
}

static socklen_t address_of(struct sockaddr_un *address, const char *path)
{
	address->sun_family = AF_UNIX;
	strcpy(address->sun_path, path);
	return sizeof(*address);
}

static bool keeper_open(struct keeper *k)
{
	struct sockaddr_un address;

	strcpy(k->dir, "/tmp/restart.XXXXXX");
	k->notify = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	return mkdtemp(k->dir) && k->notify >= 0 &&
	       !bind(k->notify, (struct sockaddr *)&address,
		     address_of(&address, in_dir(k, "notify")));
}

static void keeper_close(struct keeper *k)
{
	static const char * const names[] = { "notify", "requests", "journal", "out" };
	size_t i;

	while (k->nr_kept)
		close(k->store[--k->nr_kept].fd);
	close(k->notify);
	for (i = 0; i < ARRAY_SIZE(names); i++)
		unlink(in_dir(k, names[i]));
	rmdir(k->dir);
}

/* Receives all messages that the service has sent so far. */
static void keeper_listen(struct keeper *k)
{
	for (;;) {
		char text[256] = "", control[CMSG_SPACE(sizeof(int))];
		struct iovec iov = { text, sizeof(text) - 1 };
		struct msghdr msg = {
			.msg_iov = &iov, .msg_iovlen = 1,
			.msg_control = control, .msg_controllen = sizeof(control),
		};
		struct kept *kept = &k->store[k->nr_kept];
		struct cmsghdr *cmsg;
		int fd;

		if (recvmsg(k->notify, &msg, MSG_CMSG_CLOEXEC) <= 0)
			return;
		k->ready |= !strcmp(text, "READY=1");
		cmsg = CMSG_FIRSTHDR(&msg);
		if (!cmsg || cmsg->cmsg_type != SCM_RIGHTS)
			continue;
		memcpy(&fd, CMSG_DATA(cmsg), sizeof(fd));
		k->nr_sent++;
		if (k->nr_kept < STORE_MAX &&
		    sscanf(text, "FDSTORE=1\nFDNAME=%31s", kept->name) == 1) {
			kept->fd = fcntl(fd, F_DUPFD_CLOEXEC, STORE_FIRST);
			k->nr_kept++;
		}
		close(fd);
	}
}

static int keeper_fd(const struct keeper *k, const char *name)
{
	int i;

	for (i = 0; i < k->nr_kept; i++)
		if (!strcmp(k->store[i].name, name))
			return k->store[i].fd;
	return -1;
}

/* Runs between fork() and exec(): gives the child its descriptors, arguments and environment. */
static void be_the_service(struct keeper *k, bool list)
{
	char number[16], names[128] = "", socket[64], journal[64];
	int out, i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	out = open(in_dir(k, "out"), O_WRONLY | O_CREAT | O_APPEND, 0600);
	if (out < 0 || dup2(out, 1) != 1)
		_exit(126);
	setenv("NOTIFY_SOCKET", in_dir(k, "notify"), 1);
	for (i = 0; i < k->nr_kept; i++) {
		if (dup2(k->store[i].fd, 3 + i) != 3 + i)
			_exit(126);
		strcat(names, i ? ":" : "");
		strcat(names, k->store[i].name);
	}
	if (k->nr_kept) {
		snprintf(number, sizeof(number), "%d", k->nr_kept);
		setenv("LISTEN_FDS", number, 1);
		setenv("LISTEN_FDNAMES", names, 1);
		snprintf(number, sizeof(number), "%d", getpid());
		setenv("LISTEN_PID", number, 1);
	}
	strcpy(socket, in_dir(k, "requests"));
	strcpy(journal, in_dir(k, "journal"));
	execlp("fdstore", "fdstore", "--socket", socket, "--journal", journal,
	       list ? "--list" : NULL, NULL);
	_exit(127);
}

static void keeper_start(struct keeper *k, bool list)
{
	k->ready = false;
	k->starts++;
	k->pid = fork();
	if (k->pid < 0)
		err(1, "fork");
	if (k->pid == 0)
		be_the_service(k, list);
}

/* Ends the service with @sig and receives its last messages. Returns its wait status. */
static int keeper_stop(struct keeper *k, int sig)
{
	int status = -1;

	kill(k->pid, sig);
	waitpid(k->pid, &status, 0);
	keeper_listen(k);
	return status;
}

/* Lets @ns pass, or less if @ready is set and the service gets ready before. */
static void keeper_wait(struct keeper *k, __u64 ns, bool ready)
{
	struct pollfd pfd = { .fd = k->notify, .events = POLLIN };
	__u64 now, end = tw_now(CLOCK_MONOTONIC) + ns;

	for (;;) {
		keeper_listen(k);
		now = tw_now(CLOCK_MONOTONIC);
		if (now >= end || (ready && k->ready))
			return;
		poll(&pfd, 1, (end - now) / TW_MSEC + 1);
	}
}

/* Returns how many records the journal has now, given that it had @known. */
static __u64 journal_count(const struct keeper *k, __u64 known)
{
	struct twheel_event event;
	int fd = open(in_dir(k, "journal"), O_RDONLY | O_CLOEXEC);

	while (pread(fd, &event, sizeof(event), JOURNAL_EVENTS + known * sizeof(event)) ==
	       (ssize_t)sizeof(event) && event.expirations)
		known++;
	close(fd);
	return known;
}

/*
 * Appends the record of a timer that still exists, as a kill in the middle of a read may
 * do. Returns whether it did.
 */
static bool tear_journal(const struct keeper *k, __u64 count)
{
	int fd = open(in_dir(k, "journal"), O_WRONLY | O_CLOEXEC);
	struct twheel_event event = { .handle = NEAR, .expirations = 1 };
	struct twheel_timer_info info;
	bool torn;

	torn = !tw_get(keeper_fd(k, "timers"), NEAR, &info) &&
	       pwrite(fd, &event, sizeof(event), JOURNAL_EVENTS + count * sizeof(event)) ==
	       (ssize_t)sizeof(event);
	close(fd);
	return torn;
}

struct client {
	pthread_t thread;
	int sock;
	int error;
	bool done;
};

static void *send_requests(void *arg)
{
	struct client *client = arg;
	char text[DATAGRAM_LINES * 64];
	int len = 0, lines = 0, i;

	/* The keys that stay are sent first. */
	for (i = KEYS; i-- > 0;) {
		/* Each tenth timer is moved later, by another line or datagram. */
		if (i % 10 == 3)
			len += sprintf(text + len, "%d 1d\n", i);
		len += sprintf(text + len, "%d @%llu\n", i, deadlines[i]);
		if (i >= NEAR + FAR)
			len += sprintf(text + len, "%d cancel\n", i);
		if (++lines < DATAGRAM_LINES - 2 && i)
			continue;
		/*
		 * This waits while the socket is full, whether the service is alive or not.
		 */
		if (send(client->sock, text, len, 0) != len) {
			client->error = errno;
			break;
		}
		len = 0;
		lines = 0;
	}
	__atomic_store_n(&client->done, true, __ATOMIC_SEQ_CST);
	return NULL;
}

/* Adds the pending timers of a context by key. Returns false if one is pending that cannot be. */
static bool add_pending(int fd, unsigned char *seen)
{
	static struct twheel_timer_info infos[1024];
	struct twheel_list list = {
		.entries = (unsigned long)infos, .count = ARRAY_SIZE(infos),
	};
	int ret, i;

	while ((ret = tw_call(fd, TWHEEL_IOC_LIST, &list)) > 0)
		for (i = 0; i < ret; i++) {
			if (infos[i].handle >= KEYS || infos[i].state != TWHEEL_STATE_PENDING)
				return false;
			seen[infos[i].handle]++;
		}
	return ret == 0;
}

/* Counts the pending timers of both contexts likewise. */
static bool list_pending(const struct keeper *k, unsigned char *seen)
{
	memset(seen, 0, KEYS);
	return add_pending(keeper_fd(k, "delays"), seen) &&
	       add_pending(keeper_fd(k, "timers"), seen);
}

/* Counts by key the timers that the service has listed, from @offset of its output on. */
static bool service_listed(const struct keeper *k, long offset, unsigned char *seen)
{
	FILE *out = fopen(in_dir(k, "out"), "r");
	unsigned int key;
	char line[128];

	memset(seen, 0, KEYS);
	if (!out || fseek(out, offset, SEEK_SET))
		return false;
	while (fgets(line, sizeof(line), out))
		if (sscanf(line, "pending %u", &key) == 1 && key < KEYS)
			seen[key]++;
	fclose(out);
	return true;
}

static long size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : st.st_size;
}

/*
 * Starts the service with --list, which lists its timers before it takes a request. It must
 * list only timers that were pending before, and all of those that are still pending
 * afterwards. Returns how many keys it has listed, or -1.
 */
static int start_and_list(struct keeper *k)
{
	static unsigned char before[KEYS], listed[KEYS], after[KEYS];
	long offset = size_of(in_dir(k, "out"));
	int n = 0, i;

	if (!list_pending(k, before))
		return -1;
	keeper_start(k, true);
	keeper_wait(k, TW_LIMIT_MS * TW_MSEC, true);
	if (!k->ready || !list_pending(k, after) || !service_listed(k, offset, listed))
		return -1;
	/* A key is in both contexts if a kill came while it was moved. */
	for (i = 0; i < KEYS; i++) {
		if (before[i] > 2 || listed[i] > before[i] ||
		    (before[i] && after[i] && !listed[i])) {
			ksft_print_msg("key %d: pending %d, listed %d, pending %d\n", i,
				       before[i], listed[i], after[i]);
			return -1;
		}
		n += listed[i];
	}
	return n;
}

/*
 * Checks the timers that the output names. Stores in *@repeats how many lines are too many.
 */
static bool check_output(const struct keeper *k, int *repeats)
{
	static unsigned char sure[KEYS], perhaps[KEYS];
	FILE *out = fopen(in_dir(k, "out"), "r");
	unsigned int key;
	char line[128];
	int i;

	*repeats = 0;
	if (!out)
		return false;
	while (fgets(line, sizeof(line), out)) {
		if (sscanf(line, "reminder %u,", &key) != 1)
			continue;
		if (key >= NEAR)
			return false;
		if (strstr(line, "perhaps given before"))
			perhaps[key]++;
		else
			sure[key]++;
	}
	fclose(out);
	for (i = 0; i < NEAR; i++) {
		if (sure[i] > 1 || !(sure[i] + perhaps[i])) {
			ksft_print_msg("key %d was given %d times, perhaps %d more\n", i,
				       sure[i], perhaps[i]);
			return false;
		}
		*repeats += sure[i] + perhaps[i] - 1;
	}
	return true;
}

/* Returns whether the journal has every near key once, on time, and nothing else. */
static bool check_journal(const struct keeper *k)
{
	int fd = open(in_dir(k, "journal"), O_RDONLY | O_CLOEXEC), wrong = 0, i;
	static unsigned char seen[KEYS];
	struct twheel_event event;
	__u64 n = 0;

	while (pread(fd, &event, sizeof(event), JOURNAL_EVENTS + n * sizeof(event)) ==
	       (ssize_t)sizeof(event) && event.expirations) {
		n++;
		if (event.handle >= NEAR || event.deadline != deadlines[event.handle] ||
		    event.expired < event.deadline || event.expirations != 1)
			wrong++;
		else
			seen[event.handle]++;
	}
	close(fd);
	for (i = 0; i < NEAR; i++) {
		if (seen[i] != 1)
			ksft_print_msg("key %d is in the journal %d times\n", i, seen[i]);
		wrong += seen[i] != 1;
	}
	return !wrong && n == NEAR;
}

static void find_programs(void)
{
	char self[PATH_MAX] = "", path[3 * PATH_MAX];
	const char *dir;

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return;
	dir = dirname(self);
	snprintf(path, sizeof(path), "%s:%s/../bin:%s/../../guest/bin", getenv("PATH"),
		 dir, dir);
	setenv("PATH", path, 1);
}

TEST(reminders_outlive_their_service)
{
	int kills = 0, early = 0, lists = 0, torn = 0, repeats, status, ret, i;
	static unsigned char pending[KEYS];
	struct sockaddr_un address;
	__u64 state = 11, now, limit, done = 0;
	struct keeper k = { };
	struct client client = { };

	find_programs();
	if (system("command -v fdstore >/dev/null"))
		SKIP(return, "no fdstore, which is one of the applications in userspace/");
	ASSERT_TRUE(keeper_open(&k));
	keeper_start(&k, false);
	keeper_wait(&k, TW_LIMIT_MS * TW_MSEC, true);
	ASSERT_TRUE(k.ready);
	ASSERT_EQ(3, k.nr_kept);

	now = tw_now(CLOCK_REALTIME);
	for (i = 0; i < KEYS; i++)
		deadlines[i] = now + (i < NEAR ? tw_random(&state) % SPREAD_NS : TW_FAR);
	client.sock = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ASSERT_LE(0, client.sock);
	ASSERT_EQ(0, connect(client.sock, (struct sockaddr *)&address,
			     address_of(&address, in_dir(&k, "requests"))));
	ASSERT_EQ(0, pthread_create(&client.thread, NULL, send_requests, &client));

	/* In some rounds the service is killed before it is ready. */
	limit = tw_now(CLOCK_MONOTONIC) + 5 * TW_LIMIT_MS * TW_MSEC;
	while (done < NEAR && tw_now(CLOCK_MONOTONIC) < limit) {
		bool sending = !__atomic_load_n(&client.done, __ATOMIC_SEQ_CST);

		early += sending;
		keeper_wait(&k, tw_random(&state) % ((sending ? 200 : 800) * TW_MSEC), false);
		status = keeper_stop(&k, SIGKILL);
		ASSERT_TRUE(WIFSIGNALED(status)) {
			TH_LOG("the service has ended with status %#x", status);
		}
		kills++;
		done = journal_count(&k, done);
		if (kills % 8 == 4) {
			torn += tear_journal(&k, done);
			ret = start_and_list(&k);
			ASSERT_LE(0, ret);
			lists += ret;
		} else {
			keeper_start(&k, false);
		}
	}
	EXPECT_EQ(NEAR, done);
	EXPECT_LE(KILLS_LEAST, kills);
	EXPECT_LT(0, early);
	EXPECT_LT(0, lists);
	EXPECT_LT(0, torn);
	pthread_join(client.thread, NULL);
	EXPECT_EQ(0, client.error);

	keeper_wait(&k, TW_LIMIT_MS * TW_MSEC, true);
	EXPECT_TRUE(k.ready);
	status = keeper_stop(&k, SIGTERM);
	EXPECT_EQ(0, status);

	/* The keeper returned the descriptors that it was given first, and was sent no others. */
	EXPECT_EQ(3, k.nr_sent);
	EXPECT_EQ(0, tw_info(keeper_fd(&k, "delays")).pending);
	EXPECT_EQ(FAR, tw_info(keeper_fd(&k, "timers")).pending);
	EXPECT_EQ(0, tw_info(keeper_fd(&k, "timers")).ready);
	ASSERT_TRUE(list_pending(&k, pending));
	for (i = 0; i < KEYS; i++)
		EXPECT_EQ(i >= NEAR && i < NEAR + FAR, pending[i]);

	EXPECT_TRUE(check_journal(&k));
	EXPECT_TRUE(check_output(&k, &repeats));
	EXPECT_GE(kills, repeats);
	TH_LOG("%d reminders, %d kills, %d while requests came in; %d repeated, and said so",
	       NEAR, kills, early, repeats);
	close(client.sock);
	keeper_close(&k);
}

TEST_HARNESS_MAIN
