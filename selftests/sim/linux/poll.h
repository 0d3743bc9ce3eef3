/* SPDX-License-Identifier: GPL-2.0-only */
/* poll() and the files that it asks: wait.c. */
#ifndef SIM_LINUX_POLL_H
#define SIM_LINUX_POLL_H

#include <sys/epoll.h>

#include <linux/types.h>
#include <linux/wait.h>

struct file;

/**
 * struct poll_table_struct - what a poll is to do
 * @registers:	the caller will wait
 */
typedef struct poll_table_struct {
	bool registers;
} poll_table;

void poll_wait(struct file *file, wait_queue_head_t *queue, poll_table *table);

#endif /* SIM_LINUX_POLL_H */
