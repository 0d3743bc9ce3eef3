// SPDX-License-Identifier: GPL-2.0-only
/*
 * client - clients of an echo server that talk, fall silent, and wait to be hung up on
 *
 * usage: client PORT CLIENTS ROUNDS PAUSE
 *
 * In each round every client says something and waits for the echo. A pause of so many
 * milliseconds follows. After the last round all are silent. The time of silence is measured
 * so that it is never too short: it begins before send() is called for what the server has
 * echoed last, and ends when the end of the connection is seen.
 *
 * With HOOK in the environment "$HOOK NAME" is run when the clients have connected, when they
 * have talked, and when all connections have ended.
 */
#include <arpa/inet.h>
#include <err.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MOST	1000
/* Whoever was not hung up on by then never will be. */
#define WAIT_MS	60000

static struct pollfd clients[MOST];
static uint64_t since[MOST];
static uint64_t shortest = UINT64_MAX, latest;

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static void hook(const char *name)
{
	char command[256];

	if (!getenv("HOOK"))
		return;
	snprintf(command, sizeof(command), "%s %s", getenv("HOOK"), name);
	if (system(command))
		errx(1, "%s has failed", command);
}

static void open_all(int port, int n)
{
	struct sockaddr_in at = { AF_INET, .sin_port = htons((uint16_t)port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int i;

	for (i = 0; i < n; i++) {
		clients[i].fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		clients[i].events = POLLIN;
		since[i] = now_us();
		if (connect(clients[i].fd, (struct sockaddr *)&at, sizeof(at)))
			err(1, "connect");
	}
}

/* Client @i has seen the end of its connection, at @now. */
static void hung_up(int i, uint64_t now)
{
	uint64_t silent = now - since[i];

	close(clients[i].fd);
	clients[i].fd = -1;
	if (silent < shortest)
		shortest = silent;
	if (silent > latest)
		latest = silent;
}

/* Returns for how long a client has said nothing at most, in us; *lost counts those cut off. */
static uint64_t talk(int n, int rounds, int pause, int *lost)
{
	uint64_t now, longest = 0;
	int round, i;
	char c = 'x';

	for (round = 0; round < rounds; round++) {
		for (i = 0; i < n; i++) {
			if (clients[i].fd < 0)
				continue;
			now = now_us();
			if (now - since[i] > longest)
				longest = now - since[i];
			if (send(clients[i].fd, &c, 1, MSG_NOSIGNAL) == 1 &&
			    recv(clients[i].fd, &c, 1, 0) == 1) {
				since[i] = now;
			} else {
				hung_up(i, now_us());
				++*lost;
			}
		}
		poll(NULL, 0, pause);
	}
	return longest;
}

int main(int argc, char **argv)
{
	uint64_t longest, now;
	int n, left, lost = 0, i;
	char c;

	n = argc == 5 ? atoi(argv[2]) : 0;
	if (n < 1 || n > MOST)
		errx(2, "usage: client PORT CLIENTS ROUNDS PAUSE");
	open_all(atoi(argv[1]), n);
	hook("connected");
	longest = talk(n, atoi(argv[3]), atoi(argv[4]), &lost);
	hook("talked");

	for (left = n - lost; left && poll(clients, (nfds_t)n, WAIT_MS) > 0; ) {
		for (i = 0; i < n; i++) {
			if (clients[i].fd < 0 || !clients[i].revents)
				continue;
			now = now_us();
			if (recv(clients[i].fd, &c, 1, MSG_DONTWAIT) > 0)
				continue;
			hung_up(i, now);
			left--;
		}
	}
	hook("ended");
	printf("lost %d\npause %llu\nleft %d\nshortest %llu\nlongest %llu\n", lost,
	       (unsigned long long)longest, left, (unsigned long long)shortest,
	       (unsigned long long)latest);
	return 0;
}
