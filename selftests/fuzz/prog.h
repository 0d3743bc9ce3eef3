/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Programs: short sequences of calls, as bytes that all mean something.
 *
 * Whatever the bytes are they are a program, so they can be changed blindly. As
 * text, a line of hexadecimal digits, programs are kept in files and replayed.
 */
#ifndef FUZZ_PROG_H
#define FUZZ_PROG_H

#include <stdbool.h>
#include <stddef.h>

#include <linux/types.h>

#define PROG_CALLS	20
#define PROG_THREADS	3
/* A call as text takes two digits a byte, and a blank. */
#define PROG_TEXT	(4 + PROG_CALLS * (2 * sizeof(struct call) + 1))

/**
 * enum op - what a call does
 *
 * An op is stored modulo NR_OPS: new ones go to the end, or old files change
 * their meaning.
 */
enum op {
	OP_OPEN, OP_CONFIG, OP_ARM, OP_ARM_BATCH, OP_CANCEL, OP_CANCEL_BATCH,
	OP_GET, OP_LIST, OP_INFO, OP_READ, OP_READV, OP_POLL, OP_EPOLL, OP_MMAP,
	OP_STORE, OP_MUNMAP, OP_DUP, OP_FORK, OP_CLOSE, OP_SLEEP, OP_SETTIME,
	OP_BAD_IOCTL, OP_FDINFO, OP_CPU, OP_FLIP, OP_OTHER, OP_PASS,
	OP_PUSH,
	NR_OPS
};

/**
 * struct call - one call
 * @op: &enum op
 * @thread: who makes it, in a program with threads
 * @fd: slot of the descriptor
 * @ref: which of the timers, cursors or maps known so far
 * @ptr: what kind of memory is passed
 * @count: entries or bytes, by a table
 * @flags: of the request
 * @mode: what else there is to vary
 * @time: kind of the first time
 * @mag: its magnitude
 * @interval: kind and magnitude of the interval
 * @slack: kind and magnitude of the slack
 */
struct call {
	__u8 op;
	__u8 thread;
	__u8 fd;
	__u8 ref;
	__u8 ptr;
	__u8 count;
	__u8 flags;
	__u8 mode;
	__u8 time;
	__u8 mag;
	__u8 interval;
	__u8 slack;
};

/**
 * struct prog - a program
 * @threaded: its calls are made by PROG_THREADS threads, each in its own order
 * @nr: how many calls
 * @calls: the calls
 */
struct prog {
	__u8 threaded;
	__u8 nr;
	struct call calls[PROG_CALLS];
};

static inline enum op prog_op(const struct call *call)
{
	return call->op % NR_OPS;
}

/* A number below @n, from a state of the caller's, which is not 0. */
__u32 prog_below(__u64 *state, __u32 n);

/* A program by chance, one that sets up something to work on as a rule. */
void prog_generate(struct prog *prog, __u64 *state);

/* Change @prog a little. @other is one to take calls from. */
void prog_mutate(struct prog *prog, const struct prog *other, __u64 *state);

/* Leave out call @i. */
void prog_remove(struct prog *prog, int i);

/* One line without its end; returns its length. @text has room for PROG_TEXT. */
size_t prog_print(const struct prog *prog, char *text);

/* The program that @text begins with; false if it is none. */
bool prog_parse(struct prog *prog, const char *text);

#endif /* FUZZ_PROG_H */
