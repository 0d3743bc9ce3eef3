// SPDX-License-Identifier: GPL-2.0-only
/* Programs that mean harm: one stores anything into words of leases, one makes wrong calls. */
#include <string.h>

#include <linux/errno.h>
#include <linux/ktime.h>
#include <linux/limits.h>
#include <linux/mm.h>

#include "oracle.h"

static void spoil(const struct context *c, u64 *word)
{
	switch (sim_below(8)) {
	case 0:
		*word = sim_random();
		break;
	case 1:
		*word = 0;
		break;
	case 2:
		*word |= TWHEEL_LEASE_EXPIRED;
		break;
	case 3:
		*word &= ~TWHEEL_LEASE_EXPIRED;
		break;
	case 4:
		*word = ~0ULL;
		break;
	default:
		*word = (time_of(c) + some_delay()) / UNIT;
	}
}

void hostile_main(void *arg)
{
	struct context *c = arg;

	while (world.owners_left) {
		struct page *page = call_map(c, sim_below(8) ? 0 : sim_below(4));
		u32 n = 1 + sim_below(30);

		while (page && n--) {
			u64 *words = page_address(page);

			spoil(c, &words[sim_below(8) ? sim_below(64) : sim_below(512)]);
			if (sim_below(4))
				sim_point();
			else
				sim_sleep_until(sim_now() + sim_below(3 * TICK));
		}
		if (page)
			call_unmap(c, page);
		sim_sleep_until(sim_now() + sim_below(4 * TICK));
	}
	world.others_left--;
}

/* A call that is wrong has to fail with @wanted. */
static void want(const char *what, long ret, long wanted)
{
	expect(ret == wanted || ((ret == -EFAULT || ret == -EINTR) && oracle_may_lack(ret)),
	       STABLE_INTERFACE, "%s: %ld, not %ld", what, ret, wanted);
}

static void wrong_arm(struct context *c)
{
	struct twheel_arm arm = { .handle = 77, .flags = TWHEEL_ARM_ABS };
	struct twheel_arm arms[2] = { { .slack = ~0ULL }, { .flags = 0x8000 } };
	struct twheel_batch batch = { .entries = (uintptr_t)arms, .count = 2 };

	if (call_ioctl(c, TWHEEL_IOC_ARM_BATCH, &batch) == 2)
		expect(arms[0].result == -EINVAL && arms[1].result == -EINVAL, STABLE_INTERFACE,
		       "wrong armings in a batch: %d and %d", arms[0].result, arms[1].result);
	switch (sim_below(9)) {
	case 0:
		arm.flags |= 0x8000;
		break;
	case 1:
		arm.expires = 1ULL << 63;
		break;
	case 2:
		arm.interval = ~0ULL;
		break;
	case 3:
		arm.slack = 1ULL << 63;
		break;
	case 4:
		arm.count = 2;
		break;
	case 5:
		arm.flags |= TWHEEL_ARM_FIXED_DELAY;
		break;
	case 6:
		arm.flags |= TWHEEL_ARM_IF_PENDING | TWHEEL_ARM_IF_NONE;
		break;
	case 7:
		arm.interval = 1000;
		arm.flags |= TWHEEL_ARM_LEASE;
		break;
	default:
		if (c->clock != CLOCK_REALTIME)
			return;
		arm.flags = 0;
	}
	want("a wrong arming", call_ioctl(c, TWHEEL_IOC_ARM, &arm), -EINVAL);
}

/* Nobody has promised that an entry is aligned. */
static void odd_cancel(struct context *c)
{
	struct twheel_cancel cancel = { .flags = 1 };
	char bytes[sizeof(cancel) + 1];

	memcpy(bytes + 1, &cancel, sizeof(cancel));
	want("a cancel at an odd address", call_ioctl(c, TWHEEL_IOC_CANCEL, bytes + 1), -EINVAL);
	memcpy(&cancel, bytes + 1, sizeof(cancel));
	expect(cancel.result != 0 || oracle_may_lack(-EFAULT), STABLE_INTERFACE,
	       "a cancel at an odd address tells nothing");
}

static void wrong_config(struct context *c)
{
	struct twheel_config config = { .clock = 77 };

	switch (sim_below(5)) {
	case 0:
		config = (struct twheel_config){ .flags = 0x80 };
		break;
	case 1:
		config = (struct twheel_config){ .reserved = { 0, 1 } };
		break;
	case 2:
		config = (struct twheel_config){ .reserved = { 1 } };
		break;
	case 3:
		config = (struct twheel_config){ .flags = TWHEEL_CONFIG_CANCEL_ON_SET };
		break;
	}
	want("wrong settings", call_ioctl(c, TWHEEL_IOC_CONFIG, &config), -EINVAL);
}

static void wrong_push(struct context *c)
{
	struct twheel_push push = { .expires = 1ULL << 63 };
	char bytes[sizeof(push) + 1];

	memcpy(bytes + 1, &push, sizeof(push));
	want("a push at an odd address", call_write(c, bytes + 1, sizeof(push)), -EINVAL);
	want("a push to before 1970", call_write(c, &push, sizeof(push)), -EINVAL);
	want("a push of half an entry", call_write(c, &push, sizeof(push) + 1), -EINVAL);
	want("a push of nothing", call_write(c, &push, 0), 0);
	/* No context of an episode makes so many timers. */
	push = (struct twheel_push){ .handle = 0xF0000000ULL << 32 | sim_below(512) };
	if (!keyed(c))
		want("a push of no timer", call_write(c, &push, sizeof(push)), -ENOENT);
}

static void wrong_others(struct context *c)
{
	struct twheel_cancel cancel = { .flags = 1 };
	struct twheel_batch batch = { .flags = 1, .count = 1 };
	struct twheel_list list = { .count = 0 };
	struct twheel_info info = { .flags = 2 };
	struct twheel_timer_info timer = { };

	want("an unknown request", call_ioctl(c, 0xF755, &info), -ENOTTY);
	want("a cancel with flags", call_ioctl(c, TWHEEL_IOC_CANCEL, &cancel), -EINVAL);
	cancel = (struct twheel_cancel){ .reserved = 1 };
	want("a cancel at no address", call_ioctl(c, TWHEEL_IOC_CANCEL, NULL), -EFAULT);
	want("a cancel with more", call_ioctl(c, TWHEEL_IOC_CANCEL, &cancel), -EINVAL);
	want("a batch with flags", call_ioctl(c, TWHEEL_IOC_ARM_BATCH, &batch), -EINVAL);
	batch = (struct twheel_batch){ .count = 1U << 31 };
	want("a batch of 2^31", call_ioctl(c, TWHEEL_IOC_CANCEL_BATCH, &batch), -EINVAL);
	want("a list of nothing", call_ioctl(c, TWHEEL_IOC_LIST, &list), -EINVAL);
	list.count = 1U << 31;
	want("a list of 2^31", call_ioctl(c, TWHEEL_IOC_LIST, &list), -EINVAL);
	list = (struct twheel_list){ .count = 1, .flags = 0x80 };
	want("a list with unknown flags", call_ioctl(c, TWHEEL_IOC_LIST, &list), -EINVAL);
	want("GET_INFO with flags", call_ioctl(c, TWHEEL_IOC_GET_INFO, &info), -EINVAL);
	timer.handle = keyed(c) ? 0x9999000000 + sim_below(300) :
		       0xF0000000ULL << 32 | sim_below(512);
	cancel = (struct twheel_cancel){ .handle = timer.handle };
	want("a cancel of no timer", call_ioctl(c, TWHEEL_IOC_CANCEL, &cancel), -ENOENT);
	want("GET of no timer", call_ioctl(c, TWHEEL_IOC_GET, &timer), -ENOENT);
	expect(call_read(c, NULL, 0, false) == -EINVAL, STABLE_INTERFACE,
	       "a read without room for a record does not fail with EINVAL");
}

/* The requests that change something, and those that only look */
static const unsigned int writes[] = {
	TWHEEL_IOC_CONFIG, TWHEEL_IOC_ARM, TWHEEL_IOC_ARM_BATCH, TWHEEL_IOC_CANCEL,
	TWHEEL_IOC_CANCEL_BATCH,
};

static const unsigned int reads[] = {
	TWHEEL_IOC_GET_INFO, TWHEEL_IOC_GET, TWHEEL_IOC_LIST,
};

/* A descriptor that is open for one of reading and writing allows only that. */
static void wrong_mode(struct context *c)
{
	struct twheel_list list = { .count = 1, .flags = TWHEEL_LIST_DRAIN };
	bool readable = sim_below(2);
	u64 bytes[16] = { };
	u32 i;

	if (call_open(c, readable ? FMODE_READ : FMODE_WRITE))
		return;
	for (i = 0; readable && i < ARRAY_SIZE(writes); i++)
		want("a change of a read-only one", call_ioctl(c, writes[i], bytes), -EBADF);
	if (readable)
		want("draining a read-only one", call_ioctl(c, TWHEEL_IOC_LIST, &list), -EBADF);
	for (i = 0; !readable && i < ARRAY_SIZE(reads); i++)
		want("a look at a write-only one", call_ioctl(c, reads[i], bytes), -EBADF);
	expect(!call_poll(c, false), STABLE_INTERFACE, "one without timers is readable");
	call_close(c);
}

/* A time that is far enough to be no time any more somewhere else */
static void arm_for_ever(struct context *c)
{
	struct twheel_arm arm = { .expires = KTIME_MAX, .flags = TWHEEL_ARM_ABS };
	struct twheel_cancel cancel = { };

	c->timens = sim_below(SIM_NAMESPACES);
	if (call_ioctl(c, TWHEEL_IOC_ARM, &arm))
		return;
	cancel.handle = arm.handle;
	want("a cancel of a timer for ever", call_ioctl(c, TWHEEL_IOC_CANCEL, &cancel), 0);
}

/* Settings and maps that a new context refuses */
static void wrong_new(struct context *c)
{
	struct vm_area_struct vma = { .vm_file = &c->file, .vm_flags = VM_SHARED };
	struct twheel_config config = { .limit = *sim_param_max_fd_timers + 1 };
	long ret;

	if (call_open(c, FMODE_READ | FMODE_WRITE))
		return;
	want("a limit above all", call_ioctl(c, TWHEEL_IOC_CONFIG, &config), -EINVAL);
	expect(sim_device->mmap(&c->file, &vma) == -ENODEV, STABLE_INTERFACE,
	       "words are mapped without leases");
	config.limit = 0;
	config.clock = TWHEEL_CLOCK_REALTIME;
	config.flags = TWHEEL_CONFIG_CANCEL_ON_SET;
	call_ioctl(c, TWHEEL_IOC_CONFIG, &config);
	config = (struct twheel_config){ .flags = TWHEEL_CONFIG_LEASE };
	ret = call_ioctl(c, TWHEEL_IOC_CONFIG, &config);
	vma.vm_flags = 0;
	expect(ret || sim_device->mmap(&c->file, &vma) == -EINVAL, STABLE_INTERFACE,
	       "words are mapped privately");
	arm_for_ever(c);
	call_close(c);
}

void malformed_main(void *arg)
{
	struct context *c = arg, other = { .nr = 9, .cred = world.cred, .clock = CLOCK_MONOTONIC };

	while (world.owners_left) {
		wrong_arm(c);
		odd_cancel(c);
		wrong_config(c);
		wrong_push(c);
		wrong_others(c);
		wrong_mode(&other);
		wrong_new(&other);
		sim_sleep_until(sim_now() + sim_below(200 * TICK));
	}
	world.others_left--;
}
