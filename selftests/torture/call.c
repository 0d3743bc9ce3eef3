// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls to the device that leave a trace: intent before, outcome after.
 */
#include <sys/uio.h>

#include "shared.h"

/* Before all calls: no stamp is 0. */
static __u64 next_stamp(void)
{
	return __atomic_add_fetch(&shared->stamp, 1, __ATOMIC_SEQ_CST);
}

struct call *call_new(struct log *log, enum call_type type, const struct ctx *ctx)
{
	const struct timespec pause = { .tv_nsec = TW_MSEC };
	struct call *call = &log->calls[log->head % LOG_CALLS];

	/* One place stays free: @busy tells whether a call in it was cut off. */
	while (log->head - __atomic_load_n(&log->tail, __ATOMIC_ACQUIRE) >= LOG_CALLS - 1)
		nanosleep(&pause, NULL);

	memset(call, 0, sizeof(*call));
	call->type = type;
	call->ret = CALL_POISON;
	if (ctx) {
		call->ctx = ctx->serial;
		call->place = ctx - shared->ctx;
		call->clock = ctx->clock;
		call->config = ctx->config;
	}
	return call;
}

void call_begin(struct log *log, struct call *call)
{
	__atomic_store_n(&log->busy, __atomic_load_n(&shared->stamp, __ATOMIC_SEQ_CST) + 1,
			 __ATOMIC_SEQ_CST);
	call->begin = next_stamp();
	call->steps0 = __atomic_load_n(&shared->step_seq, __ATOMIC_SEQ_CST);
	call->t0 = tw_now(call->clock);
	__atomic_store_n(&call->state, CALL_OPEN, __ATOMIC_RELEASE);
}

void call_end(struct log *log, struct call *call, long ret)
{
	call->ret = ret;
	call->t1 = tw_now(call->clock);
	call->steps1 = __atomic_load_n(&shared->step_seq, __ATOMIC_SEQ_CST);
	call->mono = tw_now(CLOCK_MONOTONIC);
	call->end = next_stamp();
	__atomic_store_n(&call->state, CALL_DONE, __ATOMIC_RELEASE);
	__atomic_store_n(&log->head, log->head + 1, __ATOMIC_RELEASE);
	__atomic_store_n(&log->busy, 0, __ATOMIC_SEQ_CST);
	log->operations += call->type == CALL_ARM || call->type == CALL_CANCEL ? call->n : 1;
}

void call_abandoned(struct log *log)
{
	struct call *call = &log->calls[log->head % LOG_CALLS];

	if (!log->busy)
		return;
	switch (call->state) {
	case CALL_OPEN:
		count(&shared->resolved, 1);
		/* What it returned is lost: nobody was told of it yet. */
		call_end(log, call, CALL_POISON);
		break;
	case CALL_DONE:
		__atomic_store_n(&log->head, log->head + 1, __ATOMIC_RELEASE);
		break;
	}
	__atomic_store_n(&log->busy, 0, __ATOMIC_SEQ_CST);
}

int call_arm(struct log *log, struct call *call, int fd)
{
	int i, ret;

	for (i = 0; i < call->n; i++) {
		call->arms[i].result = CALL_POISON;
		call->arms[i].old_state = 0xcccc;
		call->arms[i].old_remaining = ~0ULL;
		call->rearms[i] = call->arms[i].handle &&
				  !(call->config & TWHEEL_CONFIG_KEYED);
	}
	call->batch.entries = (unsigned long)call->arms;
	call->batch.count = call->n;
	call_begin(log, call);
	ret = call->n == 1 ? tw_call(fd, TWHEEL_IOC_ARM, call->arms) :
			     tw_call(fd, TWHEEL_IOC_ARM_BATCH, &call->batch);
	call_end(log, call, ret);
	/* Not by the oracle, as that may be far behind. */
	for (i = 0; i < call->n; i++)
		count(&shared->refusals, is_refusal(call->arms[i].result));
	return ret;
}

int call_cancel(struct log *log, struct call *call, int fd)
{
	int i, ret;

	for (i = 0; i < call->n; i++) {
		call->cancels[i].result = CALL_POISON;
		call->cancels[i].old_state = 0xcccccccc;
		call->cancels[i].old_remaining = ~0ULL;
	}
	call->batch.entries = (unsigned long)call->cancels;
	call->batch.count = call->n;
	call_begin(log, call);
	ret = call->n == 1 ? tw_call(fd, TWHEEL_IOC_CANCEL, call->cancels) :
			     tw_call(fd, TWHEEL_IOC_CANCEL_BATCH, &call->batch);
	call_end(log, call, ret);
	return ret;
}

int call_get(struct log *log, struct call *call, int fd)
{
	int ret;

	call->n = 1;
	call_begin(log, call);
	ret = tw_call(fd, TWHEEL_IOC_GET, call->entries);
	call_end(log, call, ret);
	return ret;
}

int call_list(struct log *log, struct call *call, int fd, __u64 *cursor)
{
	int ret;

	call->cursor = *cursor;
	call->list = (struct twheel_list) {
		.cursor = *cursor,
		.entries = (unsigned long)call->entries,
		.count = call->n,
		.flags = call->type == CALL_DRAIN ? TWHEEL_LIST_DRAIN : 0,
	};
	call_begin(log, call);
	ret = tw_call(fd, TWHEEL_IOC_LIST, &call->list);
	call_end(log, call, ret);
	*cursor = call->list.cursor;
	return ret;
}

int call_extend(struct log *log, struct call *call, __u64 *word)
{
	bool ok;

	call->n = 1;
	call_begin(log, call);
	call->found = call->old;
	ok = __atomic_compare_exchange_n(word, &call->found, call->new, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
	call_end(log, call, ok);
	return ok;
}

ssize_t call_read(struct log *log, struct call *call, int fd, int n, bool nowait, bool pieces)
{
	size_t size = n * sizeof(call->events[0]), first = size;
	struct iovec iov[2];
	ssize_t ret;

	if (pieces)
		first = n / 2 * sizeof(call->events[0]) + sizeof(__u32);
	iov[0] = (struct iovec) { call->events, first };
	iov[1] = (struct iovec) { (char *)call->events + first, size - first };
	call->n = n;
	call_begin(log, call);
	if (nowait)
		ret = preadv2(fd, iov, 1 + pieces, -1, RWF_NOWAIT);
	else
		ret = readv(fd, iov, 1 + pieces);
	if (ret < 0)
		ret = -errno;
	call_end(log, call, ret);
	return ret;
}
