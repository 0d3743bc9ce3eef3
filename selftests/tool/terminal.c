// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of the twheel tool that a script cannot do: does top fit a terminal, follow its size
 * and leave it as it was? Are there colours and progress on terminals only? Does list show keys
 * and leases? Is a message one write, here and in the applications?
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include <linux/twheel.h>

#include "lib_util.h"

#define LIMIT_MS		60000

/* The start of each frame, and what the program writes first and last. */
#define HOME	"\033[H"
#define ENTER	"\033[?1049h"
#define LEAVE	"\033[?1049l"

/**
 * struct terminal - a terminal, and a program in it
 * @pid: the program; 0 when it has ended
 * @fd: the side on which a user would sit
 * @before: the settings of the terminal before the program began
 * @text: all that the program has written
 * @len: the length of @text
 * @seen: how much of @text await() has looked at
 */
struct terminal {
	pid_t		pid;
	int		fd;
	struct termios	before;
	char		*text;
	size_t		len;
	size_t		seen;
};

FIXTURE(top)
{
	struct terminal	terminal;
};

/* Adds the folders of the tool to PATH, both in a guest and in a build folder. */
static void __attribute__((constructor)) find_tool(void)
{
	char exe[PATH_MAX] = "", path[3 * PATH_MAX], *folder;

	if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) < 0)
		return;
	folder = dirname(exe);
	snprintf(path, sizeof(path), "%s/../bin:%s/../../guest/bin:%s", folder,
		 folder, getenv("PATH"));
	setenv("PATH", path, 1);
}

FIXTURE_SETUP(top)
{
	struct terminal *t = &self->terminal;
	struct winsize size = { .ws_row = 24, .ws_col = 80 };

	if (access("/sys/kernel/debug/twheel/counters", R_OK))
		SETUP_SKIP("takes root and debugfs");

	t->pid = forkpty(&t->fd, NULL, NULL, &size);
	ASSERT_LE(0, t->pid);
	if (!t->pid) {
		setenv("TERM", "linux", 1);
		/* Stop until the parent has saved the settings of the terminal. */
		raise(SIGSTOP);
		execlp("twheel", "twheel", "top", "--every", "200ms", NULL);
		_exit(127);
	}
	ASSERT_EQ(t->pid, waitpid(t->pid, NULL, WUNTRACED));
	ASSERT_EQ(0, tcgetattr(t->fd, &t->before));
	kill(t->pid, SIGCONT);
}

FIXTURE_TEARDOWN(top)
{
	struct terminal *t = &self->terminal;

	free(t->text);
	if (!t->pid)
		return;
	kill(t->pid, SIGKILL);
	waitpid(t->pid, NULL, 0);
	close(t->fd);
}

/*
 * Waits until the program has written @want, behind the text of the last call. Returns the
 * text since then up to @want, or NULL.
 */
static char *await(struct terminal *t, const char *want)
{
	struct pollfd pollfd = { .fd = t->fd, .events = POLLIN };
	char *start, *found;

	for (;;) {
		ssize_t n;

		t->text = realloc(t->text, t->len + 4097);
		t->text[t->len] = 0;
		start = t->text + t->seen;
		found = strstr(start, want);
		if (found)
			break;
		if (poll(&pollfd, 1, LIMIT_MS) <= 0)
			return NULL;
		n = read(t->fd, t->text + t->len, 4096);
		if (n <= 0)
			return NULL;
		t->len += (size_t)n;
	}
	t->seen = (size_t)(found - t->text) + strlen(want);
	return strndup(start, (size_t)(found - start));
}

/* Counts the lines of a frame, and the columns of the longest. */
static void measure(const char *frame, int *rows, int *cols)
{
	int col = 0;

	*rows = 1;
	*cols = 0;
	for (; *frame; frame++) {
		if (*frame == '\033') {
			/* An escape sequence ends with a letter, and takes no room. */
			frame += strcspn(frame, "ABCDEFGHIJKLMNOPQRSTUVWXYZhlm");
			if (!*frame)
				break;
		} else if (*frame == '\n') {
			++*rows;
			col = 0;
		} else if (*frame != '\r' && ++col > *cols) {
			*cols = col;
		}
	}
}

/* Reads the output until the program ends. Returns its exit status, or -1. */
static int finish(struct terminal *t)
{
	pid_t pid = t->pid;
	int status;

	free(await(t, LEAVE));
	t->pid = 0;
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

/* Returns whether the terminal is as it was before. */
static bool restored(struct terminal *t)
{
	struct termios now;

	return tcgetattr(t->fd, &now) == 0 &&
	       now.c_lflag == t->before.c_lflag &&
	       now.c_iflag == t->before.c_iflag &&
	       now.c_oflag == t->before.c_oflag &&
	       !memcmp(now.c_cc, t->before.c_cc, sizeof(now.c_cc));
}

TEST_F(top, fits_80_columns_and_24_rows)
{
	struct terminal *t = &self->terminal;
	int rows, cols, i;
	char *frame;

	free(await(t, ENTER));
	free(await(t, HOME));
	for (i = 0; i < 3; i++) {
		frame = await(t, HOME);
		ASSERT_NE(NULL, frame);
		measure(frame, &rows, &cols);
		EXPECT_GE(24, rows);
		EXPECT_GE(80, cols);
		/* Lines are not cut, as the longest ends at the last column. */
		EXPECT_EQ(80, cols);
		EXPECT_NE(NULL, strstr(frame, "1us  1ms  1s"));
		EXPECT_NE(NULL, strstr(frame, "\033[2Kall "));
		EXPECT_NE(NULL, strstr(frame, "\033[2Klate by at most, of "));
		EXPECT_NE(NULL, strstr(frame, "1us   4.1us 16us "));
		free(frame);
	}
	ASSERT_EQ(1, write(t->fd, "q", 1));
	EXPECT_EQ(0, finish(t));
	EXPECT_TRUE(restored(t));
}

TEST_F(top, follows_the_size_of_the_terminal)
{
	struct terminal *t = &self->terminal;
	struct winsize size = { .ws_row = 9, .ws_col = 41 };
	int rows, cols, tries;
	char *frame;

	free(await(t, HOME));
	ASSERT_EQ(0, ioctl(t->fd, TIOCSWINSZ, &size));
	for (tries = 0; tries < 10; tries++) {
		frame = await(t, HOME);
		ASSERT_NE(NULL, frame);
		measure(frame, &rows, &cols);
		free(frame);
		if (cols <= size.ws_col)
			break;
	}
	EXPECT_EQ(size.ws_col, cols);
	EXPECT_GE(size.ws_row, rows);
	frame = await(t, HOME);
	ASSERT_NE(NULL, frame);
	EXPECT_EQ(NULL, strstr(frame, "late by at most, of "));
	free(frame);

	size = (struct winsize){ .ws_row = 40, .ws_col = 100 };
	ASSERT_EQ(0, ioctl(t->fd, TIOCSWINSZ, &size));
	for (tries = 0; tries < 10 && cols < 90; tries++) {
		frame = await(t, HOME);
		ASSERT_NE(NULL, frame);
		measure(frame, &rows, &cols);
		free(frame);
	}
	EXPECT_EQ(90, cols);
	ASSERT_EQ(1, write(t->fd, "Q", 1));
	EXPECT_EQ(0, finish(t));
}

TEST_F(top, an_interrupt_ends_it_in_order)
{
	struct terminal *t = &self->terminal;

	free(await(t, HOME));
	/* ^C, which the terminal turns into a signal. */
	ASSERT_EQ(1, write(t->fd, "\003", 1));
	EXPECT_EQ(0, finish(t));
	EXPECT_TRUE(restored(t));
}

TEST_F(top, can_be_stopped_and_continued)
{
	struct terminal *t = &self->terminal;
	char *text;
	int status;

	free(await(t, HOME));
	EXPECT_FALSE(restored(t));
	/* ^Z */
	ASSERT_EQ(1, write(t->fd, "\032", 1));
	text = await(t, LEAVE);
	ASSERT_NE(NULL, text);
	free(text);
	ASSERT_EQ(t->pid, waitpid(t->pid, &status, WUNTRACED));
	ASSERT_TRUE(WIFSTOPPED(status));
	EXPECT_TRUE(restored(t));

	kill(t->pid, SIGCONT);
	free(await(t, ENTER));
	text = await(t, HOME);
	EXPECT_NE(NULL, text);
	free(text);
	ASSERT_EQ(1, write(t->fd, "q", 1));
	EXPECT_EQ(0, finish(t));
	EXPECT_TRUE(restored(t));
}

/* How many timers are listed for the progress of that to be seen. */
#define MANY	5000

/*
 * Runs a command of the shell in a terminal, which is looked at only after @delay seconds.
 * Returns all that it writes there.
 */
static char *in_terminal(const char *command, unsigned int delay)
{
	struct winsize size = { .ws_row = 24, .ws_col = 80 };
	char *text = NULL;
	size_t len = 0;
	ssize_t n;
	pid_t pid;
	int fd;

	pid = forkpty(&fd, NULL, NULL, &size);
	if (pid < 0)
		return NULL;
	if (!pid) {
		setenv("TERM", "linux", 1);
		unsetenv("NO_COLOR");
		execl("/bin/sh", "sh", "-c", command, NULL);
		_exit(127);
	}
	sleep(delay);
	do {
		text = realloc(text, len + 4097);
		/* It fails with EIO when all processes in the terminal have ended. */
		n = read(fd, text + len, 4096);
		if (n > 0)
			len += (size_t)n;
	} while (n > 0);
	text[len] = 0;
	waitpid(pid, NULL, 0);
	close(fd);
	return text;
}

TEST(colours_are_for_terminals)
{
	static const struct {
		const char	*command;
		bool		coloured;
	} known[] = {
		{ "twheel ps", true },
		{ "twheel doctor", true },
		{ "TERM=dumb twheel ps", false },
		{ "NO_COLOR=1 twheel ps", false },
		{ "NO_COLOR=1 twheel doctor", false },
		{ "NO_COLOR= twheel ps", true },
		{ "twheel ps | cat", false },
		{ "twheel doctor | cat", false },
		{ "twheel ps --json", false },
	};
	int fd = open(TWHEEL_DEVICE, O_RDWR);
	char *text;
	size_t i;

	ASSERT_LE(0, fd);
	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		text = in_terminal(known[i].command, 0);
		ASSERT_NE(NULL, text);
		/* It did show something. */
		EXPECT_NE(NULL, strstr(text, "twheel")) {
			TH_LOG("%s: %s", known[i].command, text);
		}
		EXPECT_EQ(known[i].coloured, !!strchr(text, '\033')) {
			TH_LOG("%s: %s", known[i].command, text);
		}
		free(text);
	}
	close(fd);
}

TEST(progress_is_for_terminals)
{
	struct twheel_arm arm = { .expires = 3600000000000 };
	int fd = open(TWHEEL_DEVICE, O_RDWR);
	char command[128], *text;
	int i;

	ASSERT_LE(0, fd);
	for (i = 0; i < MANY; i++) {
		arm.handle = 0;
		ASSERT_EQ(0, ioctl(fd, TWHEEL_IOC_ARM, &arm));
	}

	/* The list goes into a pipe that is slow: how far it has come is shown, and removed. */
	snprintf(command, sizeof(command), "twheel list --fd %d | { sleep 3; cat >/dev/null; }",
		 fd);
	text = in_terminal(command, 0);
	ASSERT_NE(NULL, text);
	EXPECT_NE(NULL, strstr(text, " of 5000 timers, ")) {
		TH_LOG("%s", text);
	}
	EXPECT_NE(NULL, strstr(text, " a second, "));
	EXPECT_NE(NULL, strstr(text, " s left"));
	EXPECT_STREQ("\r\033[K", text + strlen(text) - 4);
	free(text);

	/* In a terminal the list itself is how far it has come. */
	snprintf(command, sizeof(command), "twheel list --fd %d", fd);
	text = in_terminal(command, 3);
	ASSERT_NE(NULL, text);
	EXPECT_NE(NULL, strstr(text, "5000 pending"));
	EXPECT_EQ(NULL, strstr(text, " a second"));
	free(text);

	/* What is done at once has no progress. */
	snprintf(command, sizeof(command), "twheel list --fd %d >/dev/full", fd);
	text = in_terminal(command, 0);
	ASSERT_NE(NULL, text);
	EXPECT_EQ(NULL, strstr(text, " a second"));
	free(text);
	close(fd);
}

/* Another process that shares standard error writes before or behind a message. */
TEST(a_message_is_one_write)
{
	static const char *const commands[] = {
		"twheel fly", "twheel arm 5x", "twheel info --device /dev/null",
		"cron", "cron /dev/null", "heartbeat --drivers none", "idle-server --port none",
		"fdstore",
	};
	char text[PIPE_BUF + 1];
	int ends[2], lines;
	size_t i, name;
	ssize_t n;
	pid_t pid;

	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		name = strcspn(commands[i], " ");
		/* Of such a pipe read() returns what one write() has put there. */
		ASSERT_EQ(0, pipe2(ends, O_DIRECT | O_CLOEXEC));
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid) {
			dup2(ends[1], STDERR_FILENO);
			execl("/bin/sh", "sh", "-c", commands[i], NULL);
			_exit(127);
		}
		close(ends[1]);
		for (lines = 0; (n = read(ends[0], text, PIPE_BUF)) > 0; lines++) {
			text[n] = 0;
			EXPECT_EQ('\n', text[n - 1]) {
				TH_LOG("%s: %s", commands[i], text);
			}
			/* More lines may follow, without the name. */
			EXPECT_TRUE(lines || !strncmp(text, commands[i], name)) {
				TH_LOG("%s: %s", commands[i], text);
			}
		}
		EXPECT_LT(0, lines);
		close(ends[0]);
		waitpid(pid, NULL, 0);
	}
}

/* Stores the first @size bytes that a command prints. */
static void output(const char *command, char *text, size_t size)
{
	FILE *pipe = popen(command, "r");

	memset(text, 0, size);
	if (!pipe)
		return;
	if (!fread(text, 1, size - 1, pipe))
		*text = 0;
	pclose(pipe);
}

TEST(list_shows_keys_and_leases)
{
	struct twheel_config config = {
		.clock = CLOCK_BOOTTIME,
		.flags = TWHEEL_CONFIG_KEYED | TWHEEL_CONFIG_LEASE,
	};
	/* The keys are given by the program, and include 0 and the largest. */
	struct twheel_arm lease = {
		.user_data = 7, .expires = 3600000000000, .flags = TWHEEL_ARM_LEASE,
	};
	struct twheel_arm plain = {
		.handle = UINT64_MAX, .user_data = 8, .expires = 7200000000000,
	};
	char command[64], text[4096], want[256], *line;
	int fd = open(TWHEEL_DEVICE, O_RDWR);

	ASSERT_LE(0, fd);
	if (ioctl(fd, TWHEEL_IOC_CONFIG, &config))
		SKIP(return, "no keys or no leases");
	ASSERT_EQ(0, ioctl(fd, TWHEEL_IOC_ARM, &lease));
	ASSERT_EQ(0, ioctl(fd, TWHEEL_IOC_ARM, &plain));

	snprintf(command, sizeof(command), "twheel list --fd %d", fd);
	output(command, text, sizeof(text));
	snprintf(want, sizeof(want),
		 "descriptor %d: 2 pending, 0 ready, clock boottime, keyed, lease\n        KEY ",
		 fd);
	EXPECT_EQ(0, strncmp(text, want, strlen(want)));
	snprintf(want, sizeof(want), "  lease word %" PRIu32 " tag 1\n", lease.word);
	line = strstr(text, "\n          0          7 ");
	ASSERT_NE(NULL, line);
	EXPECT_NE(NULL, strstr(line + 1, want));
	EXPECT_NE(NULL, strstr(text, "\n18446744073709551615          8 "));

	snprintf(command, sizeof(command), "twheel list --json --fd %d", fd);
	output(command, text, sizeof(text));
	EXPECT_NE(NULL, strstr(text, "\"key\":0,\"data\":7,"));
	snprintf(want, sizeof(want),
		 "\"flags\":[\"lease\"],\"word\":%" PRIu32 ",\"tag\":1}\n", lease.word);
	EXPECT_NE(NULL, strstr(text, want));
	EXPECT_NE(NULL, strstr(text, "\"key\":18446744073709551615,\"data\":8,"));

	snprintf(command, sizeof(command), "twheel info --fd %d", fd);
	output(command, text, sizeof(text));
	EXPECT_NE(NULL, strstr(text, "\nclock              boottime\n"));
	EXPECT_NE(NULL, strstr(text, "\nsettings           keyed lease\n"));
	EXPECT_NE(NULL, strstr(text, "\ntimers             2 pending, 0 ready\n"));
	close(fd);
}

TEST_HARNESS_MAIN
