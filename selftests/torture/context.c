// SPDX-License-Identifier: GPL-2.0-only
/*
 * Contexts: opening them, passing them on, and bringing them to an end.
 */
#include <stdio.h>

#include "../faults/inject.h"
#include "context.h"

/* Timers armed for later than that are cancelled at the end; the others are waited for. */
#define SOON_NS		(60 * TW_SEC)
/* How long they are waited for. What is pending then is late, and the oracle says so. */
#define SETTLE_NS	(60 * TW_SEC)
/* Reads at a time. */
#define READS_MAX	64

/* Of all clocks, with all that can be configured, and some of it at once. */
static const struct {
	clockid_t clock;
	__u32 config;
} kinds[] = {
	{ CLOCK_MONOTONIC,	0 },
	{ CLOCK_BOOTTIME,	0 },
	{ CLOCK_REALTIME,	0 },
	{ CLOCK_MONOTONIC,	TWHEEL_CONFIG_KEYED },
	{ CLOCK_MONOTONIC,	TWHEEL_CONFIG_LEASE },
	{ CLOCK_REALTIME,	TWHEEL_CONFIG_CANCEL_ON_SET },
	{ CLOCK_BOOTTIME,	TWHEEL_CONFIG_KEYED | TWHEEL_CONFIG_LEASE },
	{ CLOCK_REALTIME,	TWHEEL_CONFIG_CANCEL_ON_SET | TWHEEL_CONFIG_KEYED },
};

int context_open(struct ctx *ctx, int kind, bool blocking)
{
	int fd, ret;

	kind %= sizeof(kinds) / sizeof(kinds[0]);
	fd = open(TW_DEVICE, O_RDWR | O_CLOEXEC | (blocking ? 0 : O_NONBLOCK));
	if (fd < 0)
		return -errno;
	ret = tw_configure(fd, kinds[kind].clock, kinds[kind].config);
	if (ret) {
		close(fd);
		return ret;
	}
	ctx->fd = fd;
	ctx->clock = kinds[kind].clock;
	ctx->config = kinds[kind].config;
	ctx->blocking = blocking;
	ctx->words = NULL;
	/* A context that all processes share is mapped once, before they are forked. */
	if (ctx < shared->ctx + NR_SHARED_CTX && ctx->config & TWHEEL_CONFIG_LEASE) {
		ctx->words = mmap(NULL, WORDS_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (ctx->words == MAP_FAILED)
			return -errno;
	}
	memset(ctx->slots, 0, sizeof(ctx->slots));
	ctx->serial = __atomic_add_fetch(&shared->serial, 1, __ATOMIC_RELAXED);
	return 0;
}

int context_send(const struct ctx *ctx)
{
	return tw_send_fd(shared->sockets[0], ctx->fd, ctx - shared->ctx, MSG_DONTWAIT);
}

int context_receive(int *place)
{
	char byte = 0;
	int fd = tw_receive_fd(shared->sockets[1], &byte, MSG_DONTWAIT);

	*place = byte;
	return fd;
}

static void read_all(struct log *log, struct ctx *ctx)
{
	struct call *call;
	ssize_t ret;
	int n = 0;

	/* Rounds of a tick may come as fast as they are read. */
	do {
		call = call_new(log, CALL_READ, ctx);
		ret = call_read(log, call, ctx->fd, CALL_EVENTS, ctx->blocking, false);
		if (++n == READS_MAX)
			break;
	} while (ret > 0 || ret == -ECANCELED || ret == -EINTR || ret == -EFAULT);
}

/* Walk once. Returns how many timers are due soon, and cancels those without an end. */
static int walk(struct log *log, struct ctx *ctx, bool drain)
{
	struct twheel_timer_info entries[CALL_ENTRIES];
	int ret, i, soon = 0;
	__u64 cursor = 0;
	struct call *call;

	for (;;) {
		call = call_new(log, drain ? CALL_DRAIN : CALL_LIST, ctx);
		call->n = CALL_ENTRIES;
		ret = call_list(log, call, ctx->fd, &cursor);
		if (ret == -EINTR || ret == -EFAULT)
			continue;
		if (ret <= 0)
			return soon;
		memcpy(entries, call->entries, sizeof(entries));
		for (i = 0; i < ret && !drain; i++) {
			if (!entries[i].interval || entries[i].count) {
				soon += entries[i].remaining < SOON_NS;
				continue;
			}
			call = call_new(log, CALL_CANCEL, ctx);
			call->n = 1;
			call->cancels[0] = (struct twheel_cancel) {
				.handle = entries[i].handle
			};
			call_cancel(log, call, ctx->fd);
		}
	}
}

void context_settle(struct log *log, struct ctx *ctx)
{
	__u64 limit = tw_now(CLOCK_MONOTONIC) + SETTLE_NS;
	struct twheel_info info;
	struct call *call;
	char text[160];

	do {
		tw_poll(ctx->fd, 20);
		read_all(log, ctx);
	} while (walk(log, ctx, false) && tw_now(CLOCK_MONOTONIC) < limit);
	/* A timer without an end that was ready goes on only when its record is read. */
	do {
		walk(log, ctx, true);
		read_all(log, ctx);
		do {
			info = tw_info(ctx->fd);
		} while (info.pending == ~0ULL);
	} while ((info.pending || info.ready) && tw_now(CLOCK_MONOTONIC) < limit + SETTLE_NS);
	if (info.pending || info.ready) {
		snprintf(text, sizeof(text), "%llu timers pending and %llu ready at the end",
			 info.pending, info.ready);
		violation(text);
	}
	call = call_new(log, CALL_SETTLED, ctx);
	call_begin(log, call);
	call_end(log, call, 0);
}

void faults_begin(void)
{
	if (shared->faults_wanted)
		inject_mark(0, true);
}
