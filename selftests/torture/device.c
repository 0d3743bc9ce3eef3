// SPDX-License-Identifier: GPL-2.0-only
/* /dev/twheel as a device of the actors: each operation is a call of the kernel. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/seq_file.h>
#include <linux/uio.h>

#include "../sim/sim.h"
#include "host.h"

/* A call for one timer has fewer things that can fail. */
#define MAX_NTH		12U

static unsigned int fault_chance;
unsigned long long device_faults;

/* What this thread makes fail: /proc/thread-self/fail-nth, or -1 */
static __thread int nth_fd;
/* What it polled last; and the epoll that watches it */
static __thread int polled, watching;

void device_fail(unsigned int faults)
{
	fault_chance = faults;
}

static int fd_of(const struct file *file)
{
	return (int)(intptr_t)file->private_data;
}

/* A signal that has a handler, or what went wrong */
static long result(long ret)
{
	if (ret >= 0)
		return ret;
	return errno == EINTR ? -ERESTARTSYS : -errno;
}

/* Give up the turn for a call. Return: does something in it fail, if it has that many? */
static bool call_begins(void)
{
	bool fails = fault_chance && sim_config.efault_chance && sim_below(65536) < fault_chance;
	char text[16];
	int n = 0;

	if (fails)
		n = snprintf(text, sizeof(text), "%u", 1 + sim_below(MAX_NTH));
	turn_ends();
	if (!fails)
		return false;
	if (!nth_fd)
		nth_fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	return pwrite(nth_fd, text, (size_t)n, 0) == n;
}

static void call_ends(bool fails)
{
	char text[16] = "";
	bool failed;

	if (fails) {
		/* With one to go it is this that fails, and nothing did before. */
		failed = pread(nth_fd, text, sizeof(text) - 1, 0) > 0 && !atoi(text);
		while (!failed && pwrite(nth_fd, "0", 1, 0) != 1)
			;
	}
	turn_begins();
	if (fails && failed) {
		device_faults++;
		sim_stats.efaults++;
	}
}

static int device_open(struct inode *inode, struct file *file)
{
	static const int modes[] = {
		[FMODE_READ]			= O_RDONLY,
		[FMODE_WRITE]			= O_WRONLY,
		[FMODE_READ | FMODE_WRITE]	= O_RDWR,
	};
	long fd;

	turn_ends();
	fd = result(open("/dev/twheel", modes[file->f_mode] | O_CLOEXEC));
	turn_begins();
	if (fd < 0)
		return (int)fd;
	file->private_data = (void *)fd;
	return 0;
}

static int device_release(struct inode *inode, struct file *file)
{
	turn_ends();
	close(fd_of(file));
	turn_begins();
	return 0;
}

static long device_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	bool fails = call_begins();
	long ret = result(ioctl(fd_of(file), cmd, arg));

	call_ends(fails);
	return ret;
}

static ssize_t device_read(struct kiocb *iocb, struct iov_iter *to)
{
	struct iovec iov = { .iov_base = to->at, .iov_len = to->count };
	int fd = fd_of(iocb->ki_filp);
	bool fails = call_begins();
	ssize_t ret;

	/* preadv2() does not ask the device for nothing. */
	if (iocb->ki_flags & IOCB_NOWAIT && to->count)
		ret = result(preadv2(fd, &iov, 1, -1, RWF_NOWAIT));
	else
		ret = result(read(fd, to->at, to->count));
	call_ends(fails);
	return ret;
}

static ssize_t device_write(struct file *file, const char *buf, size_t size, loff_t *pos)
{
	bool fails = call_begins();
	ssize_t ret = result(write(fd_of(file), buf, size));

	call_ends(fails);
	return ret;
}

static ssize_t device_write_iter(struct kiocb *iocb, struct iov_iter *from)
{
	struct iovec iov = { .iov_base = from->at, .iov_len = from->count };
	bool fails = call_begins();
	ssize_t ret = result(writev(fd_of(iocb->ki_filp), &iov, 1));

	call_ends(fails);
	return ret;
}

static __poll_t device_poll(struct file *file, poll_table *table)
{
	struct pollfd pollfd = { .fd = fd_of(file), .events = POLLIN };

	turn_ends();
	poll(&pollfd, 1, 0);
	turn_begins();
	polled = pollfd.fd;
	return (__poll_t)pollfd.revents;
}

int sim_wait_as_poller(void)
{
	struct pollfd pollfd = { .fd = polled, .events = POLLIN };
	int ret;

	turn_ends();
	ret = poll(&pollfd, 1, -1);
	turn_begins();
	return ret < 0 ? -EINTR : 0;
}

/* Nobody waits between two calls here. */
void sim_wait_end(void)
{
}

void sim_watch(void)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };

	watching = epoll_create1(EPOLL_CLOEXEC);
	expect(!epoll_ctl(watching, EPOLL_CTL_ADD, polled, &event), CONTAINED,
	       "the device cannot be watched by epoll");
}

void sim_wait_for_edge(void)
{
	struct epoll_event event;

	turn_ends();
	epoll_wait(watching, &event, 1, -1);
	turn_begins();
}

void sim_unwatch(void)
{
	close(watching);
}

static vm_fault_t device_fault(struct vm_fault *vmf)
{
	struct page *page = calloc(1, sizeof(*page));

	page->address = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
			     fd_of(vmf->vma->vm_file), (off_t)(vmf->pgoff * PAGE_SIZE));
	page->refs = 1;
	/* Without this it would be an access that finds that there is no such page. */
	if (page->address != MAP_FAILED &&
	    !madvise(page->address, PAGE_SIZE, MADV_POPULATE_WRITE)) {
		vmf->page = page;
		return 0;
	}
	sim_trace("page %lu of the words of descriptor %d: %m", vmf->pgoff,
		  fd_of(vmf->vma->vm_file));
	if (page->address != MAP_FAILED)
		munmap(page->address, PAGE_SIZE);
	free(page);
	return VM_FAULT_SIGBUS;
}

void put_page(struct page *page)
{
	munmap(page->address, PAGE_SIZE);
	free(page);
}

static const struct vm_operations_struct device_vm_operations = {
	.fault	= device_fault,
};

static int device_mmap(struct file *file, struct vm_area_struct *vma)
{
	void *p = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE,
		       vma->vm_flags & VM_SHARED ? MAP_SHARED : MAP_PRIVATE, fd_of(file), 0);

	vma->vm_ops = &device_vm_operations;
	if (p == MAP_FAILED)
		return -errno;
	munmap(p, PAGE_SIZE);
	return 0;
}

static void device_show(struct seq_file *m, struct file *file)
{
	char path[40];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd_of(file));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = read(fd, m->text, m->size);
	m->used = n > 0 ? (size_t)n : 0;
	close(fd);
}

const struct file_operations device = {
	.open		= device_open,
	.release	= device_release,
	.read_iter	= device_read,
	.write		= device_write,
	.write_iter	= device_write_iter,
	.poll		= device_poll,
	.mmap		= device_mmap,
	.unlocked_ioctl	= device_ioctl,
	.show_fdinfo	= device_show,
};
