// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * What an embedded context counts, and where other processes can read it: see share.h.
 *
 * Whoever has no room for a slot, or may not make the memfd, counts all the same, unseen.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "emb.h"

/* Not all headers have them. */
#ifndef MFD_CLOEXEC
#define MFD_CLOEXEC		0x0001U
#define MFD_ALLOW_SEALING	0x0002U
#endif
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL		0x0008U
#endif
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE	0x0010
#endif

static_assert(TWHEEL_SHARE_COUNTERS == TWHEEL_NR_COUNTERS);
static_assert(TWHEEL_SHARE_HISTOGRAMS == TWHEEL_NR_HISTOGRAMS);

__thread struct twheel_share_slot *twheel_counted EMB_TLS;

/**
 * struct area - the memory that a process shares
 * @pid: of the process. A child, which has a copy of this, makes an area of its own
 * @process: its number, of fork.c. A child may have the pid of its parent, in another namespace;
 *	but where the kernel tells nobody of a fork it has that number, too
 * @share: what others read
 * @taken: which slots are
 */
struct area {
	pid_t			pid;
	unsigned int		process;
	struct twheel_share	*share;
	bool			taken[TWHEEL_SHARE_SLOTS];
};

/* The area of this process, or of one that it is a child of; or NULL */
static struct area *area;

/*
 * Is there memory for what begins at @words, two of them? If there is none, as may be under strict
 * overcommit, a store by the program would end it by SIGBUS. One by the kernel fails.
 */
static bool has_memory(uint64_t *words)
{
	return !syscall(SYS_prlimit64, 0, RLIMIT_CORE, NULL, words);
}

/*
 * Make the memory, which takes a page for every two contexts, and *@fdp, its descriptor. NULL if
 * there is none.
 */
static struct twheel_share *make_share(int *fdp)
{
	int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	struct flock lock = { .l_type = F_WRLCK };
	struct twheel_share *share = MAP_FAILED;
	struct rlimit limit;
	int fd;

	/* The kernel would kill the program. */
	if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur < sizeof(*share))
		return NULL;
	fd = (int)syscall(SYS_memfd_create, TWHEEL_SHARE_NAME, MFD_CLOEXEC | MFD_NOEXEC_SEAL);
	if (fd < 0 && errno == EINVAL)
		fd = (int)syscall(SYS_memfd_create, TWHEEL_SHARE_NAME,
				  MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return NULL;
	if (!fcntl(fd, F_SETLK, &lock) && !ftruncate(fd, sizeof(*share)))
		share = mmap(NULL, sizeof(*share), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (share == MAP_FAILED)
		goto err_close;
	if (!has_memory(share->gone))
		goto err_unmap;
	memset(share->gone, 0, sizeof(share->gone));
	/* The descriptor stays open, to be found. It is never used again. */
	if (fcntl(fd, F_ADD_SEALS, seals | F_SEAL_FUTURE_WRITE))
		fcntl(fd, F_ADD_SEALS, seals);
	*fdp = fd;
	return share;

err_unmap:
	munmap(share, sizeof(*share));
err_close:
	syscall(SYS_close, fd);
	return NULL;
}

/* Is @a of this process, which has that number? */
static bool is_mine(const struct area *a, unsigned int process)
{
	return a->process == process && a->pid == getpid();
}

/* Find the area of this process, or make it. NULL if that cannot be. */
static struct area *get_area(void)
{
	struct area *old = __atomic_load_n(&area, __ATOMIC_ACQUIRE), *new;
	unsigned int process;
	int fd;

	if (twheel_which_process(&process))
		return NULL;
	if (old && is_mine(old, process))
		return old;
	new = calloc(1, sizeof(*new));
	if (!new)
		return NULL;
	new->pid = getpid();
	new->process = process;
	new->share = make_share(&fd);
	if (!new->share) {
		free(new);
		return NULL;
	}
	/* Contexts that a child has inherited may have slots in the old one, so that it is kept. */
	if (__atomic_compare_exchange_n(&area, &old, new, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return new;
	/* Another thread was faster. */
	munmap(new->share, sizeof(*new->share));
	syscall(SYS_close, fd);
	free(new);
	return old;
}

/* Take a slot. NULL if there is none. */
static struct twheel_share_slot *take_slot(struct area *mine)
{
	struct twheel_share_slot *slot = mine->share->slots;
	size_t i;

	for (i = 0; i < TWHEEL_SHARE_SLOTS; i++, slot++) {
		if (__atomic_exchange_n(&mine->taken[i], true, __ATOMIC_ACQUIRE))
			continue;
		/* It may be in two pages. Nobody reads its words before it is used. */
		if (has_memory(&slot->limit) && has_memory(&slot->counts[TWHEEL_SHARE_COUNTS - 2]))
			return slot;
		__atomic_store_n(&mine->taken[i], false, __ATOMIC_RELEASE);
		break;
	}
	__atomic_fetch_add(&mine->share->unseen, 1, __ATOMIC_RELAXED);
	return NULL;
}

void twheel_emb_share(struct twheel_emb *emb)
{
	const char *asked = secure_getenv("TWHEEL_STATS");
	struct twheel_share_slot *slot;
	struct area *mine;

	if (!asked || !*asked || !strcmp(asked, "0"))
		return;
	mine = get_area();
	slot = mine ? take_slot(mine) : NULL;
	if (!slot)
		return;
	*slot = emb->own;
	__atomic_store_n(&slot->used, 1, __ATOMIC_RELEASE);
	emb->slot = slot;
}

void twheel_emb_unshare(struct twheel_emb *emb)
{
	struct twheel_share_slot *slot = emb->slot;
	struct area *mine = __atomic_load_n(&area, __ATOMIC_ACQUIRE);
	unsigned int process;
	size_t i;

	emb->slot = &emb->own;
	if (slot == &emb->own)
		return;
	emb->own = *slot;
	emb->own.used = 0;
	/* The slot of a context that a child has inherited is its parent's. */
	if (twheel_which_process(&process) || !is_mine(mine, process) ||
	    slot < mine->share->slots || slot >= mine->share->slots + TWHEEL_SHARE_SLOTS)
		return;
	__atomic_store_n(&slot->used, 0, __ATOMIC_RELEASE);
	for (i = 0; i < TWHEEL_SHARE_COUNTS; i++)
		if (emb->own.counts[i])
			__atomic_fetch_add(&mine->share->gone[i], emb->own.counts[i],
					   __ATOMIC_RELAXED);
	__atomic_store_n(&mine->taken[slot - mine->share->slots], false, __ATOMIC_RELEASE);
}

void twheel_emb_describe(struct twheel_emb *emb)
{
	emb->slot->fd = (uint32_t)emb->fd;
	emb->slot->clock = (uint32_t)twheel_emb_clock(emb);
	emb->slot->config = emb->ctx->config;
	emb->slot->limit = twheel_pool_limit(&emb->ctx->pool);
}

void twheel_emb_stats(const struct twheel_emb *emb, uint64_t counts[TWHEEL_SHARE_COUNTS])
{
	const uint64_t *from = emb->slot->counts;
	size_t i;

	for (i = 0; i < TWHEEL_SHARE_COUNTS; i++)
		counts[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
}
