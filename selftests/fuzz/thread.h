/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the operations of a program work on: a thread's own memory, descriptors and
 * maps that all threads share, and checks that several operations need.
 */
#ifndef FUZZ_THREAD_H
#define FUZZ_THREAD_H

#include <pthread.h>
#include <time.h>

#include "../uapi/twheel_util.h"
#include "exec.h"
#include "memory.h"

#define SLOTS		4
#define MAPS		4
#define CHILDREN	8
/* Entries of a batch that are made up; longer ones end where memory does. */
#define ENTRIES		256

#define USEC		1000ULL
#define HOUR		(3600 * TW_SEC)

/**
 * struct slot - a descriptor of the program
 * @fd: the descriptor, -1 while it is not open
 * @ctx: its context
 */
struct slot {
	int fd;
	struct context *ctx;
};

/**
 * struct map - words of leases that are mapped
 * @at: where; NULL if there is no such map
 * @size: how many bytes
 * @ctx: the context whose words they are
 */
struct map {
	char *at;
	size_t size;
	struct context *ctx;
};

/**
 * struct thread - a thread that makes calls
 * @nr: its number
 * @id: the thread
 * @timer: interrupts it while a program runs
 * @kcov: its coverage
 * @memory: where its buffers are
 * @at: index of the call that it makes
 * @arms: entries that it has made up, and
 * @cancels: the same for cancels, and
 * @pushes: for pushes
 * @children: processes that it has forked
 * @nr_children: how many
 */
struct thread {
	int nr;
	pthread_t id;
	timer_t timer;
	struct kcov kcov;
	struct memory memory;
	int at;
	union {
		struct twheel_arm arms[ENTRIES];
		struct twheel_cancel cancels[ENTRIES];
		struct twheel_push pushes[ENTRIES];
	};
	pid_t children[CHILDREN];
	int nr_children;
};

/**
 * struct operation - what an &enum op does
 * @name: for people
 * @run: makes the call, and gives what it returned
 */
struct operation {
	const char *name;
	long (*run)(struct thread *self, const struct call *call, struct slot *slot);
};

/**
 * struct run - the run of a program
 * @exec: where it leaves what it found
 * @world: of @exec
 * @slots: the descriptors
 * @slots_lock: protects @slots while several threads run
 * @maps: the maps
 * @parallel: several threads run
 * @is_child: this process was forked by the program
 */
struct run {
	struct exec *exec;
	struct world *world;
	struct slot slots[SLOTS];
	pthread_mutex_t slots_lock;
	struct map maps[MAPS];
	bool parallel;
	bool is_child;
};

extern struct run run;

/* Is @slot not open for writing? Then what would change its context is refused, with @ret. */
bool is_read_only(const struct slot *slot);
long expect_refusal(const char *name, long ret);

/* ioctls.c */
long op_config(struct thread *self, const struct call *call, struct slot *slot);
long op_arm(struct thread *self, const struct call *call, struct slot *slot);
long op_arm_batch(struct thread *self, const struct call *call, struct slot *slot);
long op_cancel(struct thread *self, const struct call *call, struct slot *slot);
long op_cancel_batch(struct thread *self, const struct call *call, struct slot *slot);
long op_get(struct thread *self, const struct call *call, struct slot *slot);
long op_list(struct thread *self, const struct call *call, struct slot *slot);
long op_info(struct thread *self, const struct call *call, struct slot *slot);
long op_bad_ioctl(struct thread *self, const struct call *call, struct slot *slot);

/* files.c */
long op_read(struct thread *self, const struct call *call, struct slot *slot);
long op_readv(struct thread *self, const struct call *call, struct slot *slot);
long op_push(struct thread *self, const struct call *call, struct slot *slot);
long op_poll(struct thread *self, const struct call *call, struct slot *slot);
long op_epoll(struct thread *self, const struct call *call, struct slot *slot);
long op_mmap(struct thread *self, const struct call *call, struct slot *slot);
long op_store(struct thread *self, const struct call *call, struct slot *slot);
long op_munmap(struct thread *self, const struct call *call, struct slot *slot);
long op_dup(struct thread *self, const struct call *call, struct slot *slot);
long op_close(struct thread *self, const struct call *call, struct slot *slot);
long op_pass(struct thread *self, const struct call *call, struct slot *slot);
long op_fdinfo(struct thread *self, const struct call *call, struct slot *slot);
long op_other(struct thread *self, const struct call *call, struct slot *slot);

/*
 * What bytes of a call stand for (decode.c): a time from now, or a point in time if
 * @now is not 0; an interval; a number of entries; flags, most of them @known ones; a
 * handle or key, one that was given out or a made-up one.
 */
__u64 decode_time(__u8 kind, __u8 mag, __u64 now);
__u64 decode_interval(__u8 byte);
__u32 decode_count(__u8 byte);
__u32 decode_flags(__u8 byte, __u32 known);
__u64 decode_handle(struct context *ctx, __u8 ref, __u8 mode);

bool is_keyed(const struct context *ctx);

/* A map of @ctx, or of any context if that is NULL, by any number; NULL if there is none. */
struct map *map_of(const struct context *ctx, __u8 ref);

/* The buffer that @call passes, of @size as far as there is memory. */
struct buffer buffer_of(struct thread *self, const struct call *call, size_t size);

/*
 * Has call @name returned what it may: up to @max, or one of the @errors, a letter
 * each? The second is for a call that was given @buffer and no other address.
 */
void expect(const char *name, long ret, long max, const char *errors);
void expect_of(const struct buffer *buffer, const char *name, long ret, long max,
	       const char *errors);

/* Has call @name stored nothing beyond the first @used bytes of @buffer? */
void check_clean(const char *name, const struct buffer *buffer, size_t used);

/* From now on it is not known what timers @ctx has. */
void lose_track(struct context *ctx);

#endif /* FUZZ_THREAD_H */
