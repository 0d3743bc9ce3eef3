/* SPDX-License-Identifier: GPL-2.0-only */
/* The read() of the library in cancel.c: the linker makes it the second of these. */
#ifndef EMBEDDED_WRAPPED_H
#define EMBEDDED_WRAPPED_H

#include <sys/types.h>

ssize_t __real_read(int fd, void *buf, size_t size);
ssize_t __wrap_read(int fd, void *buf, size_t size);

#endif /* EMBEDDED_WRAPPED_H */
