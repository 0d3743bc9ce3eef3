// SPDX-License-Identifier: GPL-2.0-only
/*
 * Timeouts of io_uring, with liburing: submitted in batches, by the one thread that has the
 * ring. Calls that succeed post no completion (IOSQE_CQE_SKIP_SUCCESS), except that a removed
 * timeout completes with ECANCELED.
 */
#include <liburing.h>
#include <string.h>

#include "twheel_util.h"
#include "speed.h"

#define ENTRIES		1024
#define COMPLETIONS	65536
/* The user_data of an update or a removal; a timeout has its number. */
#define COMMAND		(1ULL << 32)

/*
 * struct state - a ring
 * @times: of what is submitted together
 * @fired: timeouts that have expired
 */
struct state {
	struct io_uring			ring;
	struct __kernel_timespec	*times;
	struct fired			fired;
};

static int new_ring(struct io_uring *ring, uint32_t batch)
{
	/* The last one is what Linux before 5.19 knows. */
	static const unsigned int flags[] = {
		IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
		IORING_SETUP_COOP_TASKRUN,
		0,
	};
	int i, ret = -EINVAL;

	for (i = 0; i < 3 && ret == -EINVAL; i++) {
		struct io_uring_params params = {
			.flags		= flags[i] | IORING_SETUP_CQSIZE,
			.cq_entries	= COMPLETIONS,
		};

		memset(ring, 0, sizeof(*ring));
		ret = io_uring_queue_init_params(batch > ENTRIES ? batch : ENTRIES, ring,
						 &params);
	}
	return ret;
}

static const char *absent(void)
{
	struct io_uring ring;
	int ret = new_ring(&ring, 1);

	if (ret)
		return strerror(-ret);
	io_uring_queue_exit(&ring);
	return NULL;
}

static int open_ring(struct job *job)
{
	struct state *s = job_table(job, 1, sizeof(*s));

	job->state = s;
	s->times = job_table(job, job->plan->batch, sizeof(*s->times));
	/* Beside it those that are late, and fired before they could be removed. */
	s->fired.which = job_table(job, 2ULL * job->nr, sizeof(*s->fired.which));
	return new_ring(&s->ring, job->plan->batch);
}

static void close_state(struct job *job)
{
	struct state *s = job->state;

	io_uring_queue_exit(&s->ring);
}

/*
 * Takes completions. Those of timeouts that have expired are noted, and @removed counts those
 * of timeouts that were removed. Whatever else there is has failed.
 */
static int complete(struct state *s, uint32_t *removed)
{
	struct io_uring_cqe *cqe;
	uint32_t head, n = 0;
	int ret = 0;

	io_uring_for_each_cqe(&s->ring, head, cqe) {
		n++;
		if (cqe->res == -ETIME && cqe->user_data < COMMAND)
			fired_note(&s->fired, cqe->user_data);
		else if (cqe->res == -ECANCELED && cqe->user_data < COMMAND && removed)
			++*removed;
		else
			ret = cqe->res < 0 ? cqe->res : -EBADE;
	}
	io_uring_cq_advance(&s->ring, n);
	return ret;
}

static int submit(struct state *s, uint32_t n)
{
	int ret = io_uring_submit(&s->ring);

	if (ret < 0)
		return ret;
	return ret == n ? 0 : -EIO;
}

static struct __kernel_timespec kernel_time(uint64_t ns)
{
	return (struct __kernel_timespec) { ns / TW_SEC, ns % TW_SEC };
}

static int arm_all(struct job *job, const uint32_t *which, uint32_t n, const struct aim *aim,
		   bool pending)
{
	struct state *s = job->state;
	uint32_t i, part;
	int ret = 0;

	for (; n && !ret; n -= part, which += part) {
		part = n < job->plan->batch ? n : job->plan->batch;
		for (i = 0; i < part; i++) {
			struct io_uring_sqe *sqe = io_uring_get_sqe(&s->ring);

			s->times[i] = kernel_time(aim_at(aim, which[i]));
			if (pending) {
				io_uring_prep_timeout_update(sqe, &s->times[i], which[i],
							     IORING_TIMEOUT_ABS);
				sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
			} else {
				io_uring_prep_timeout(sqe, &s->times[i], 0, IORING_TIMEOUT_ABS);
			}
			sqe->user_data = pending ? COMMAND : which[i];
		}
		ret = submit(s, part);
		if (!ret)
			ret = complete(s, NULL);
	}
	return ret;
}

static int arm(struct job *job, const uint32_t *which, uint32_t n, const struct aim *aim)
{
	return arm_all(job, which, n, aim, false);
}

static int move(struct job *job, const uint32_t *which, uint32_t n, const struct aim *aim)
{
	return arm_all(job, which, n, aim, true);
}

/* A batch is done when its timeouts have completed: until then they are not free. */
static int cancel(struct job *job, const uint32_t *which, uint32_t n)
{
	struct state *s = job->state;
	uint32_t i, part, removed;
	int ret = 0;

	for (; n && !ret; n -= part, which += part) {
		part = n < job->plan->batch ? n : job->plan->batch;
		for (i = 0; i < part; i++) {
			struct io_uring_sqe *sqe = io_uring_get_sqe(&s->ring);

			io_uring_prep_timeout_remove(sqe, which[i], 0);
			sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
			sqe->user_data = COMMAND;
		}
		ret = io_uring_submit_and_wait(&s->ring, part);
		if (ret >= 0)
			ret = ret == part ? 0 : -EIO;
		for (removed = 0; !ret && removed < part;) {
			ret = complete(s, &removed);
			if (!ret && removed < part)
				ret = io_uring_submit_and_wait(&s->ring, 1) < 0 ? -EIO : 0;
		}
	}
	return ret;
}

/* Takes what there is; enters the kernel if that is nothing. */
static int reap(struct job *job, uint32_t *which, uint32_t max)
{
	struct state *s = job->state;
	int ret;

	if (s->fired.from == s->fired.to) {
		if (!io_uring_cq_ready(&s->ring)) {
			ret = io_uring_get_events(&s->ring);
			if (ret < 0)
				return ret;
		}
		ret = complete(s, NULL);
		if (ret)
			return ret;
	}
	return fired_take(&s->fired, which, max);
}

static void wait_for(struct job *job)
{
	struct __kernel_timespec limit = { .tv_nsec = 100 * TW_MSEC };
	struct state *s = job->state;
	struct io_uring_cqe *cqe;

	io_uring_wait_cqe_timeout(&s->ring, &cqe, &limit);
}

const struct facility io_uring_timeout = {
	.name = "io_uring", .ops = OPS_KERNEL, .batches = true, .absent = absent,
	.open = open_ring, .close = close_state, .arm = arm, .move = move, .cancel = cancel,
	.reap = reap, .wait = wait_for,
};
