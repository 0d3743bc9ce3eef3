// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operations on the file that the device is: read, wait, map, share, close.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "thread.h"

static size_t read_size(const struct call *call)
{
	static const size_t odd[] = { 0, 1, 47, 49, 95, 97, 33 * 48, 4096, 20000 };

	return call->mode < 160 ? 48 * (1UL + call->count % 40) : odd[call->count % 9];
}

static void check_read(const char *name, struct context *ctx, const struct buffer *buffer,
		       ssize_t ret)
{
	struct twheel_event event;
	ssize_t at;

	expect_of(buffer, name, ret, buffer->size, "iafrc");
	if (ret == -ECANCELED && !ctx->unsure && !(ctx->config & TWHEEL_CONFIG_CANCEL_ON_SET))
		violation("%s: ECANCELED", name);
	if (!memory_sure(buffer))
		return;
	if (buffer->size < sizeof(event) ? ret != -EINVAL : ret == -EINVAL || !ret)
		violation("%s: %zd from %zu bytes", name, ret, buffer->size);
	if (ret > 0 && ret % sizeof(event))
		violation("%s: %zd bytes", name, ret);

	for (at = 0; at + (ssize_t)sizeof(event) <= ret; at += sizeof(event)) {
		if (memory_copy(&event, buffer->at + at, sizeof(event)) != sizeof(event)) {
			violation("%s: %zd bytes, no memory at %zd", name, ret, at);
			return;
		}
		oracle_read(ctx, &event);
	}
	if (buffer->kind == MEMORY_GOOD || buffer->kind == MEMORY_ODD)
		check_clean(name, buffer, ret > 0 ? ret : 0);
}

long op_read(struct thread *self, const struct call *call, struct slot *slot)
{
	struct buffer buffer = buffer_of(self, call, read_size(call));
	long ret;

	if (!memory_sure(&buffer))
		lose_track(slot->ctx);
	ret = tw_read(slot->fd, buffer.at, buffer.size);
	check_read("read", slot->ctx, &buffer, ret);
	return ret;
}

/* Read into one buffer in pieces. At times one more piece is no memory. */
long op_readv(struct thread *self, const struct call *call, struct slot *slot)
{
	struct buffer buffer = buffer_of(self, call, read_size(call));
	size_t piece = 1 + (call->mag ? call->mag : 48), at = 0;
	bool bad = call->flags & 4;
	struct iovec iov[6];
	int n = 0;
	long ret;

	for (; n < 4 && at < buffer.size; n++) {
		iov[n].iov_base = buffer.at + at;
		iov[n].iov_len = n == 3 || buffer.size - at < piece ? buffer.size - at : piece;
		at += iov[n].iov_len;
		piece = piece * 2 + call->time % 8;
	}
	if (call->flags & 2)
		iov[n++] = (struct iovec) { buffer.at, 0 };
	if (bad)
		iov[n++] = (struct iovec) { NULL, 48 };
	/* Other tests check what becomes of a record that was not stored whole. */
	if (bad || !memory_sure(&buffer))
		lose_track(slot->ctx);

	ret = preadv2(slot->fd, iov, n, -1, call->flags & 1 ? RWF_NOWAIT : 0);
	if (ret < 0)
		ret = -errno;
	if (bad)
		expect("readv", ret, buffer.size + 48, "iafrc");
	else if (buffer.size)
		check_read("readv", slot->ctx, &buffer, ret);
	return ret;
}

/* What came of @pushes, which were made, of a call that carried out @done and returned @ret. */
static void check_pushes(struct context *ctx, const struct twheel_push *pushes, __u32 made,
			 const struct buffer *buffer, __u32 done, long ret)
{
	struct twheel_push push;
	__u32 i;

	for (i = 0; i < made; i++) {
		if (memory_copy(&push, buffer->at + i * sizeof(push), sizeof(push)) ==
		    sizeof(push) && memcmp(&push, &pushes[i], sizeof(push)))
			violation("push: what is only read has changed");
		if (i < done)
			oracle_pushed(ctx, &pushes[i]);
		else if (i == done && ret < 0)
			oracle_not_pushed(ctx, &pushes[i], ret);
	}
}

/*
 * The kernel cuts a longer write() to this, which is whole entries; or it is EFAULT at once, if it
 * would reach beyond all addresses, as it does if the program is high up.
 */
#define WRITE_MAX	0x7ffff000UL

long op_push(struct thread *self, const struct call *call, struct slot *slot)
{
	__u32 n = decode_count(call->count), half = call->slack < 250 ? 0 : call->slack - 249;
	size_t size = n * sizeof(struct twheel_push) + half;
	struct buffer buffer = buffer_of(self, call, size);
	struct context *ctx = slot->ctx;
	__u32 staged = n, made, i;
	long ret;

	if (staged > ENTRIES)
		staged = ENTRIES;
	if (staged > buffer.size / sizeof(struct twheel_push))
		staged = buffer.size / sizeof(struct twheel_push);
	for (i = 0; i < staged; i++)
		self->pushes[i] = (struct twheel_push) {
			.handle		= decode_handle(ctx, call->ref + i, call->mode),
			.expires	= decode_time(call->time, call->mag + i * 3,
						      tw_now(ctx->clock)),
		};
	made = memory_copy(buffer.at, self->pushes, staged * sizeof(struct twheel_push)) /
	       sizeof(struct twheel_push);
	/* Entries that cannot be seen before the call are not counted. */
	if (!memory_sure(&buffer) || made < n)
		lose_track(ctx);

	ret = write(slot->fd, buffer.at, size);
	if (ret < 0)
		ret = -errno;
	if (is_read_only(slot))
		return expect_refusal("push", ret);
	if (size > WRITE_MAX) {
		half = 0;
		expect("push", ret, size, "ifesqm");
	} else {
		expect_of(&buffer, "push", ret, half ? -1 : size, "ifesqm");
	}
	if (ret > 0 && ret % sizeof(struct twheel_push))
		violation("push: %ld bytes", ret);
	if (!half && memory_sure(&buffer))
		check_pushes(ctx, self->pushes, made, &buffer,
			     ret < 0 ? 0 : ret / sizeof(struct twheel_push), ret);
	return ret;
}

long op_poll(struct thread *self, const struct call *call, struct slot *slot)
{
	struct pollfd pfd = {
		.fd = slot->fd,
		.events = call->flags & 1 ? POLLIN : POLLRDNORM | POLLOUT,
	};
	int ret = poll(&pfd, 1, call->mag % 4);

	if (ret > 0 && pfd.revents & ~(POLLIN | POLLRDNORM))
		violation("poll: events %#x", pfd.revents);
	return ret < 0 ? -errno : ret;
}

long op_epoll(struct thread *self, const struct call *call, struct slot *slot)
{
	struct epoll_event event = { .events = EPOLLIN }, got[2];
	int ep = epoll_create1(EPOLL_CLOEXEC), ret;

	if (ep < 0)
		return -errno;
	if (call->flags & 1)
		event.events |= EPOLLET;
	if (call->flags & 2)
		event.events |= EPOLLEXCLUSIVE;
	else if (call->flags & 4)
		event.events |= EPOLLONESHOT;
	ret = epoll_ctl(ep, EPOLL_CTL_ADD, slot->fd, &event);
	if (!ret)
		ret = epoll_wait(ep, got, 2, call->mag % 4);
	if (call->mode & 1)
		epoll_ctl(ep, EPOLL_CTL_DEL, slot->fd, NULL);
	close(ep);
	return ret;
}

long op_mmap(struct thread *self, const struct call *call, struct slot *slot)
{
	static const off_t offsets[] = { 0, 0, 0, 4096, 0, 1L << 30, 1L << 44, 0 };
	struct map map = { .size = (1 + call->count % 3) * MEMORY_PAGE, .ctx = slot->ctx };
	struct map *to = &run.maps[call->ref % MAPS];
	__u64 word;

	if (to->at)
		return 0;
	map.at = mmap(NULL, map.size, call->mode >= 240 ? PROT_READ : PROT_READ | PROT_WRITE,
		      call->mode % 16 ? MAP_SHARED : MAP_PRIVATE, slot->fd,
		      offsets[call->mag % 8]);
	if (map.at == MAP_FAILED) {
		expect("mmap", -errno, 0, "dimox");
		return -errno;
	}
	if (call->mode % 16 == 0)
		violation("mmap: private");
	*to = map;
	memory_copy(&word, map.at + 8, sizeof(word));
	return map.size;
}

/* Extend a lease, as a program does; or store what no program should. */
long op_store(struct thread *self, const struct call *call, struct slot *slot)
{
	struct map *map = map_of(NULL, call->ref);
	const struct known *known;
	__u64 old, new, *word;
	size_t index;

	if (!map)
		return -1;
	known = oracle_pick(map->ctx, call->ref);
	index = known && call->mode % 8 ? known->word : call->mode * 8U + call->count;
	if (index >= map->size / sizeof(*word))
		index = 1;
	word = (__u64 *)map->at + index;
	/* Where there is no page none is made by the compare-and-swap either. */
	if (memory_copy(&old, word, sizeof(old)) != sizeof(old))
		return -2;

	new = decode_time(call->time, call->mag, old);
	if (call->mode & 64)
		new |= TWHEEL_LEASE_EXPIRED;
	else if (old & TWHEEL_LEASE_EXPIRED && call->flags < 200)
		return -3;
	return memory_copy(word, &new, sizeof(new));
}

long op_munmap(struct thread *self, const struct call *call, struct slot *slot)
{
	struct map *map = &run.maps[call->ref % MAPS];
	int ret = 0;

	if (map->at)
		ret = munmap(map->at, map->size);
	map->at = NULL;
	return ret;
}

/* Copy the descriptor to another slot, which has the same context then. */
long op_dup(struct thread *self, const struct call *call, struct slot *slot)
{
	struct slot *to = &run.slots[call->ref % SLOTS];
	int fd = -1;

	pthread_mutex_lock(&run.slots_lock);
	if (to->fd < 0) {
		fd = dup(slot->fd);
		to->fd = fd;
		to->ctx = slot->ctx;
	}
	pthread_mutex_unlock(&run.slots_lock);
	return fd;
}

/*
 * While several threads run it is a copy that is closed: a number that another thread
 * is about to use must not become that of something else.
 */
long op_close(struct thread *self, const struct call *call, struct slot *slot)
{
	int fd = slot->fd;

	if (run.parallel)
		return close(dup(fd));
	slot->fd = -1;
	return close(fd);
}

/* Pass the descriptor through a socket, to another slot or to no one. */
long op_pass(struct thread *self, const struct call *call, struct slot *slot)
{
	struct slot *to = &run.slots[call->ref % SLOTS];
	int pair[2], fd = -1;
	char byte;
	long ret;

	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair))
		return -errno;
	ret = tw_send_fd(pair[0], slot->fd, 0, 0);
	if (!ret && call->mode & 1)
		fd = tw_receive_fd(pair[1], &byte, MSG_DONTWAIT);
	if (fd >= 0) {
		pthread_mutex_lock(&run.slots_lock);
		if (to->fd < 0) {
			to->fd = fd;
			to->ctx = slot->ctx;
			fd = -1;
		}
		pthread_mutex_unlock(&run.slots_lock);
		if (fd >= 0)
			close(fd);
	}
	close(pair[0]);
	close(pair[1]);
	return ret;
}

long op_fdinfo(struct thread *self, const struct call *call, struct slot *slot)
{
	char path[48], text[512] = "";
	long ret;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", slot->fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (ret > 0 && !strstr(text, "pending:"))
		violation("fdinfo: %s", text);
	return ret;
}

/* Make a call that the device does not support, or have reads block or not. */
long op_other(struct thread *self, const struct call *call, struct slot *slot)
{
	char bytes[64] = "";
	long ret = 0;
	int flags;

	switch (call->mode % 8) {
	case 0:
		ret = pwrite(slot->fd, bytes, sizeof(bytes), call->mag);
		break;
	case 1:
		ret = pread(slot->fd, bytes, sizeof(bytes), call->mag);
		break;
	case 2:
		ret = lseek(slot->fd, call->mag, SEEK_SET);
		break;
	case 3:
		ret = fsync(slot->fd);
		break;
	case 4:
		ret = ftruncate(slot->fd, 0);
		break;
	default:
		/* Of reads that block some would wait for ever, but for the signals. */
		flags = fcntl(slot->fd, F_GETFL);
		fcntl(slot->fd, F_SETFL, flags ^ O_NONBLOCK);
		return 0;
	}
	if (ret >= 0)
		violation("other: %d returned %ld", call->mode % 8, ret);
	return -errno;
}
