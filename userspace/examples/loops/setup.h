/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * What the echo servers of these examples ask of the system before they serve, timers apart.
 */
#ifndef SETUP_H
#define SETUP_H

#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>

/** check() - end the program if a call has failed, with -errno */
static inline void check(int ret, const char *what)
{
	errno = -ret;
	if (ret < 0)
		err(1, "%s", what);
}

/** setup_idle() - a time in milliseconds, as an argument has it, in ns */
static inline uint64_t setup_idle(const char *text)
{
	const unsigned long long most = INT64_MAX / 1000000;
	char *end;
	unsigned long long ms = strtoull(text, &end, 10);

	/* A longer time would wrap around, and be a short one. */
	if (*text < '0' || *text > '9' || *end || !ms || ms > most)
		errx(2, "'%s' is not a number of milliseconds from 1 to %llu", text, most);
	return ms * 1000000;
}

/**
 * setup_accept() - accept a client of a listener that does not block
 *
 * Return: its socket; -EMFILE without room for another one; or -EAGAIN if there is none, or it has
 * left again.
 */
static inline int setup_accept(int listener)
{
	int fd = accept(listener, NULL, NULL);

	if (fd < 0 && errno != EMFILE && errno != ENFILE && errno != ENOMEM && errno != ENOBUFS)
		return -EAGAIN;
	return fd < 0 ? -EMFILE : fd;
}

/**
 * setup_listener() - a socket that listens at a path or, if that is NULL, on a TCP port
 * @path: the path, or NULL
 * @flags: flags of the socket, as SOCK_NONBLOCK
 *
 * The system chooses the port. The path or the port is printed. Standard output is written by lines
 * from then on.
 */
static inline int setup_listener(const char *path, int flags)
{
	struct sockaddr_in in = { AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	socklen_t len = path ? sizeof(un) : sizeof(in);
	struct sockaddr *at = path ? (struct sockaddr *)&un : (struct sockaddr *)&in;
	int fd = socket(at->sa_family, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);

	if (path && snprintf(un.sun_path, sizeof(un.sun_path), "%s", path) >=
	    (int)sizeof(un.sun_path))
		errx(2, "%s: too long for a socket", path);
	if (bind(fd, at, len) || listen(fd, SOMAXCONN) || getsockname(fd, at, &len))
		err(1, "listen");
	setlinebuf(stdout);
	if (path)
		printf("at %s\n", path);
	else
		printf("port %u\n", ntohs(in.sin_port));
	return fd;
}

/** setup_limit() - allow as many descriptors as this user may have, or @most */
static inline void setup_limit(rlim_t most)
{
	struct rlimit files;

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max < most ? files.rlim_max : most;
	setrlimit(RLIMIT_NOFILE, &files);
}

/** setup_signals() - a descriptor that is readable when the program is told to end */
static inline int setup_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

#endif /* SETUP_H */
