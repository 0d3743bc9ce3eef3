/* SPDX-License-Identifier: GPL-2.0-only */
/* What system calls of the tests in selftests/uapi are renamed to: see calls.c. */
#ifndef EMBEDDED_CALLS_H
#define EMBEDDED_CALLS_H

#include <sys/types.h>

int emb_test_open(const char *path, int flags, ...);
int emb_test_close(int fd);
int emb_test_access(const char *path, int mode);
int emb_test_ioctl(int fd, unsigned long request, ...);
ssize_t emb_test_read(int fd, void *buf, size_t size);
ssize_t emb_test_write(int fd, const void *buf, size_t size);
void *emb_test_mmap(void *addr, size_t size, int prot, int flags, int fd, off_t offset);
void *emb_test_mmap64(void *addr, size_t size, int prot, int flags, int fd, off_t offset);
int emb_test_munmap(void *addr, size_t size);

#endif /* EMBEDDED_CALLS_H */
