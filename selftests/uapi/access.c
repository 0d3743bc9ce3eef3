// SPDX-License-Identifier: GPL-2.0-only
/*
 * Descriptors that are open for reading only, or for writing only: what tells of timers wants
 * the one, what changes them the other, and what drains both. All else is EBADF.
 */
#include "twheel_test.h"

/* A request, and what it needs the descriptor to be open for. */
static const struct {
	const char *name;
	unsigned long cmd;
	bool reads;
	bool writes;
} requests[] = {
	{ "get info", TWHEEL_IOC_GET_INFO, .reads = true },
	{ "config", TWHEEL_IOC_CONFIG, .writes = true },
	{ "arm", TWHEEL_IOC_ARM, .writes = true },
	{ "arm batch", TWHEEL_IOC_ARM_BATCH, .writes = true },
	{ "cancel", TWHEEL_IOC_CANCEL, .writes = true },
	{ "cancel batch", TWHEEL_IOC_CANCEL_BATCH, .writes = true },
	{ "get", TWHEEL_IOC_GET, .reads = true },
	{ "list", TWHEEL_IOC_LIST, .reads = true },
};

FIXTURE(mode)
{
	int fd;
};

FIXTURE_VARIANT(mode)
{
	int flags;
	bool reads;
	bool writes;
};

VARIANT(mode, read_only) { .flags = O_RDONLY, .reads = true };
VARIANT(mode, write_only) { .flags = O_WRONLY, .writes = true };
VARIANT(mode, both) { .flags = O_RDWR, .reads = true, .writes = true };

/* The mode 3 of open(): for ioctl() only. */
VARIANT(mode, none) { .flags = O_WRONLY | O_RDWR };

FIXTURE_SETUP(mode)
{
	self->fd = open(TW_DEVICE, variant->flags | O_NONBLOCK | O_CLOEXEC);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(mode)
{
	close(self->fd);
}

/* It comes before all other errors, and takes nothing away from ENOTTY. */
TEST_F(mode, of_requests)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(requests); i++) {
		bool may = (!requests[i].reads || variant->reads) &&
			   (!requests[i].writes || variant->writes);

		EXPECT_EQ(may ? -EFAULT : -EBADF, tw_call(self->fd, requests[i].cmd, NULL)) {
			TH_LOG("%s", requests[i].name);
		}
	}
	EXPECT_EQ(-ENOTTY, tw_call(self->fd, _IO(TWHEEL_IOC_MAGIC, 0x7f), NULL));
}

TEST_F(mode, of_changes)
{
	struct twheel_arm arm = tw_request(TW_FAR, 0, 0);
	struct twheel_push push = { .expires = tw_now(CLOCK_BOOTTIME) + 2 * TW_FAR };
	struct twheel_cancel cancel = { .flags = 0 };
	int done = variant->writes ? 0 : -EBADF, n = variant->writes ? 1 : -EBADF;

	EXPECT_EQ(done, tw_config(self->fd, CLOCK_BOOTTIME, 5));
	EXPECT_EQ(done, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	EXPECT_EQ(done, tw_call(self->fd, TWHEEL_IOC_ARM, &arm));
	EXPECT_EQ(n, tw_arm_batch(self->fd, &arm, 1));
	push.handle = arm.handle;
	EXPECT_EQ(variant->writes ? (int)sizeof(push) : -1, write(self->fd, &push, sizeof(push)));
	EXPECT_TRUE(variant->writes || errno == EBADF);
	cancel.handle = arm.handle;
	EXPECT_EQ(n, tw_batch(self->fd, TWHEEL_IOC_CANCEL_BATCH, &cancel, 1));
	cancel.handle = variant->writes ? tw_arm(self->fd, TW_FAR, 0, 0) : 0;
	EXPECT_EQ(done, tw_call(self->fd, TWHEEL_IOC_CANCEL, &cancel));
	if (variant->reads) {
		EXPECT_EQ(0, tw_info(self->fd).pending);
		EXPECT_EQ(variant->writes ? CLOCK_BOOTTIME : CLOCK_MONOTONIC,
			  tw_info(self->fd).clock);
	}
}

/* To drain is to look and to change. */
TEST_F(mode, of_lists)
{
	struct twheel_timer_info info;
	struct twheel_list list = { .entries = (unsigned long)&info, .count = 1 };
	int n = variant->writes;

	if (variant->writes)
		ASSERT_NE(0, tw_arm(self->fd, TW_FAR, 0, 0));
	EXPECT_EQ(variant->reads ? n : -EBADF, tw_call(self->fd, TWHEEL_IOC_LIST, &list));
	list.cursor = 0;
	list.flags = TWHEEL_LIST_DRAIN;
	EXPECT_EQ(variant->reads && variant->writes ? n : -EBADF,
		  tw_call(self->fd, TWHEEL_IOC_LIST, &list));
}

TEST_F(mode, of_records)
{
	bool both = variant->reads && variant->writes;
	struct twheel_cancel cancel = { .flags = 0 };
	struct twheel_event event;

	if (variant->writes)
		ASSERT_ARMED(cancel.handle, self->fd, 0, 0, 7);
	EXPECT_EQ(both ? TW_READABLE : 0, tw_poll(self->fd, 0));
	EXPECT_EQ(both ? (int)sizeof(event) : variant->reads ? -EAGAIN : -EBADF,
		  tw_read(self->fd, &event, sizeof(event)));
	/* A record that nobody may read can be withdrawn. */
	if (variant->writes && !both) {
		EXPECT_EQ(0, tw_call(self->fd, TWHEEL_IOC_CANCEL, &cancel));
		EXPECT_EQ(TWHEEL_STATE_READY, cancel.old_state);
	}
}

TEST_F(mode, of_mappings)
{
	int done = variant->writes ? 0 : -EBADF;
	size_t page = sysconf(_SC_PAGESIZE);
	void *words;

	ASSERT_EQ(done, tw_configure(self->fd, CLOCK_MONOTONIC, TWHEEL_CONFIG_LEASE));
	words = mmap(NULL, page, PROT_READ, MAP_SHARED, self->fd, 0);
	if (variant->reads && variant->writes) {
		EXPECT_NE(MAP_FAILED, words);
	} else {
		EXPECT_EQ(MAP_FAILED, words);
		EXPECT_EQ(variant->reads ? ENODEV : EACCES, errno);
	}
	words = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd, 0);
	if (variant->reads && variant->writes) {
		EXPECT_NE(MAP_FAILED, words);
	} else {
		EXPECT_EQ(MAP_FAILED, words);
		EXPECT_EQ(EACCES, errno);
	}
}

TEST_HARNESS_MAIN
