// SPDX-License-Identifier: GPL-2.0-only
/*
 * Batches: every entry gets a result, and arrays may end before their count says so. Signals cut
 * them short in selftests/sim, selftests/torture and lib/calls.c.
 */
#include <stdio.h>

#include "twheel_test.h"

static int cancel_batch(int fd, struct twheel_cancel *cancels, __u32 count)
{
	return tw_batch(fd, TWHEEL_IOC_CANCEL_BATCH, cancels, count);
}

TEST_F(tw, of_none)
{
	struct twheel_arm arm = tw_request(0, 0, 0), copy = arm;

	EXPECT_EQ(0, tw_arm_batch(self->fd, &arm, 0));
	EXPECT_EQ(0, tw_arm_batch(self->fd, NULL, 0));
	EXPECT_EQ(0, cancel_batch(self->fd, NULL, 0));
	EXPECT_EQ(0, memcmp(&arm, &copy, sizeof(arm)));
	EXPECT_EQ(0, tw_info(self->fd).pending);
}

TEST_F(tw, of_every_size)
{
	static const int sizes[] = { 1, 2, 63, 64, 65, 256, 1000, 100000 };
	static struct twheel_cancel cancels[100000];
	static struct twheel_arm arms[100000];
	size_t i;
	int j, n;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		n = sizes[i];
		for (j = 0; j < n; j++)
			arms[j] = tw_request(TW_FAR + j, 0, j);
		ASSERT_EQ(n, tw_arm_batch(self->fd, arms, n));
		EXPECT_EQ(n, tw_info(self->fd).pending);
		for (j = 0; j < n; j++) {
			ASSERT_EQ(0, arms[j].result);
			ASSERT_NE(0, arms[j].handle);
			ASSERT_EQ(TWHEEL_STATE_NONE, arms[j].old_state);
			ASSERT_EQ(0, arms[j].old_remaining);
			cancels[j] = tw_cancel_request(arms[j].handle);
		}
		/* Re-arm all of them in place. */
		ASSERT_EQ(n, tw_arm_batch(self->fd, arms, n));
		EXPECT_EQ(n, tw_info(self->fd).pending);
		for (j = 0; j < n; j++) {
			ASSERT_EQ(0, arms[j].result);
			ASSERT_EQ(cancels[j].handle, arms[j].handle);
			ASSERT_EQ(TWHEEL_STATE_PENDING, arms[j].old_state);
			ASSERT_LT(TW_FAR / 2, arms[j].old_remaining);
		}
		ASSERT_EQ(n, cancel_batch(self->fd, cancels, n));
		for (j = 0; j < n; j++) {
			ASSERT_EQ(0, cancels[j].result);
			ASSERT_EQ(TWHEEL_STATE_PENDING, cancels[j].old_state);
			ASSERT_LT(TW_FAR / 2, cancels[j].old_remaining);
		}
		EXPECT_EQ(0, tw_info(self->fd).pending);
		/* The timers are gone. Each entry gets its own -ENOENT, and the call succeeds. */
		ASSERT_EQ(n, cancel_batch(self->fd, cancels, n));
		for (j = 0; j < n; j++) {
			ASSERT_EQ(-ENOENT, cancels[j].result);
			ASSERT_EQ(0, cancels[j].old_state);
			ASSERT_EQ(0, cancels[j].old_remaining);
		}
	}
}

TEST_F(tw, failures_do_not_stop_the_rest)
{
	enum { N = 300 };
	static struct twheel_arm arms[N];
	static struct twheel_cancel cancels[N];
	static int want[N];
	int i, good = 0;

	for (i = 0; i < N; i++) {
		arms[i] = tw_request(TW_FAR, 0, i);
		want[i] = 0;
		switch (i % 5) {
		case 0:
			arms[i].flags = 1U << (5 + i % 11);
			want[i] = -EINVAL;
			break;
		case 2:
			arms[i].handle = 0x7ffffff000000001ULL + i;
			want[i] = -ENOENT;
			break;
		case 3:
			arms[i].count = 2;
			want[i] = -EINVAL;
			break;
		default:
			good++;
		}
	}
	ASSERT_EQ(N, tw_arm_batch(self->fd, arms, N));
	EXPECT_EQ(good, tw_info(self->fd).pending);
	for (i = 0; i < N; i++) {
		EXPECT_EQ(want[i], arms[i].result);
		EXPECT_EQ(0, arms[i].old_state);
		EXPECT_EQ(0, arms[i].old_remaining);
		EXPECT_EQ(want[i] != -EINVAL, arms[i].handle != 0);
		EXPECT_EQ(want[i] == -ENOENT,
			  arms[i].handle == 0x7ffffff000000001ULL + i);
	}

	for (i = 0; i < N; i++) {
		cancels[i] = tw_cancel_request(arms[i].handle);
		if (want[i] == -EINVAL)
			want[i] = -ENOENT;
		if (i % 10 == 1) {
			cancels[i].flags = 1;
			want[i] = -EINVAL;
		} else if (i % 10 == 4) {
			cancels[i].reserved = 1U << 31;
			want[i] = -EINVAL;
		}
		good -= want[i] == 0;
	}
	ASSERT_EQ(N, cancel_batch(self->fd, cancels, N));
	for (i = 0; i < N; i++)
		EXPECT_EQ(want[i], cancels[i].result);
	EXPECT_EQ(good, tw_info(self->fd).pending);
	EXPECT_LT(0, good);
}

TEST_F(tw, limit_in_the_middle)
{
	struct twheel_arm arms[20];
	__u64 live;
	int i;

	ASSERT_EQ(0, tw_config(self->fd, CLOCK_MONOTONIC, 10));
	ASSERT_ARMED(live, self->fd, TW_FAR, 0, 0);
	for (i = 0; i < 20; i++) {
		arms[i] = tw_request(TW_FAR, 0, i);
		/* Re-arming needs no room. */
		if (i % 2)
			arms[i].handle = live;
	}
	ASSERT_EQ(20, tw_arm_batch(self->fd, arms, 20));
	for (i = 0; i < 20; i++) {
		EXPECT_EQ(i == 18 ? -ENOSPC : 0, arms[i].result);
		EXPECT_EQ(i % 2, arms[i].handle == live);
		EXPECT_EQ(i == 18, arms[i].handle == 0);
	}
	EXPECT_EQ(10, tw_info(self->fd).pending);
}

TEST_F(tw, the_same_handle_twice)
{
	__u64 handle = tw_arm(self->fd, TW_FAR, 0, 0);
	struct twheel_cancel cancels[3];
	struct twheel_arm arms[3];
	struct twheel_timer_info info;
	int i;

	ASSERT_NE(0, handle);
	for (i = 0; i < 3; i++) {
		arms[i] = tw_request_for(handle, (i + 2) * TW_FAR, 0, i);
		cancels[i] = tw_cancel_request(handle);
	}
	ASSERT_EQ(3, tw_arm_batch(self->fd, arms, 3));
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(0, arms[i].result);
		EXPECT_EQ(TWHEEL_STATE_PENDING, arms[i].old_state);
		EXPECT_GE((i + 1) * TW_FAR, arms[i].old_remaining);
		EXPECT_LT((i + 1) * TW_FAR - TW_FAR / 2, arms[i].old_remaining);
	}
	ASSERT_EQ(0, tw_get(self->fd, handle, &info));
	EXPECT_EQ(2, info.user_data);
	EXPECT_EQ(1, tw_info(self->fd).pending);

	ASSERT_EQ(3, cancel_batch(self->fd, cancels, 3));
	EXPECT_EQ(0, cancels[0].result);
	EXPECT_EQ(TWHEEL_STATE_PENDING, cancels[0].old_state);
	EXPECT_EQ(-ENOENT, cancels[1].result);
	EXPECT_EQ(-ENOENT, cancels[2].result);
	EXPECT_EQ(0, tw_info(self->fd).pending);
}

TEST_F(tw, arrays_need_no_alignment)
{
	struct twheel_arm arms[10];
	char buf[sizeof(arms) + 8];
	size_t shift;
	int i;

	for (shift = 1; shift < 8; shift++) {
		for (i = 0; i < 10; i++)
			arms[i] = tw_request(TW_FAR, 0, i);
		memcpy(buf + shift, arms, sizeof(arms));
		ASSERT_EQ(10, tw_batch(self->fd, TWHEEL_IOC_ARM_BATCH, buf + shift, 10));
		memcpy(arms, buf + shift, sizeof(arms));
		for (i = 0; i < 10; i++) {
			EXPECT_EQ(0, arms[i].result);
			EXPECT_NE(0, arms[i].handle);
		}
		EXPECT_EQ(10 * shift, tw_info(self->fd).pending);
	}
}

/* The memory after the array: none, or memory that cannot be read or cannot be written. */
enum behind { UNMAPPED, NO_ACCESS, READ_ONLY, BEHINDS };

/*
 * Returns two pages, of which the second is of kind @behind, with @entries (each of @size)
 * placed so that @whole entries and @bytes of the next one lie in the first page.
 */
static char *across(enum behind behind, const void *entries, size_t size, int count,
		    int whole, size_t bytes)
{
	size_t page = sysconf(_SC_PAGESIZE);
	char *map = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *array;

	if (map == MAP_FAILED)
		return NULL;
	array = map + page - whole * size - bytes;
	memcpy(array, entries, size * count);
	if (behind == UNMAPPED)
		munmap(map + page, page);
	else
		mprotect(map + page, page, behind == NO_ACCESS ? PROT_NONE : PROT_READ);
	return array;
}

static void give_back(char *array)
{
	size_t page = sysconf(_SC_PAGESIZE);

	munmap((void *)((unsigned long)array & ~(page - 1)), 2 * page);
}

TEST_F(tw, arm_array_that_ends_early)
{
	static const size_t part[] = { 0, 1, 8, 32, 48, 52, 63 };
	enum { N = 40, WHOLE = 17 };
	struct twheel_arm arms[N], copy[N], done[N];
	__u64 live[N], pending = 0;
	struct twheel_timer_info info;
	int behind, i, j;
	size_t k;
	char *array;

	for (i = 0; i < N; i++)
		ASSERT_ARMED(live[i], self->fd, TW_FAR, 0, 1000 + i);
	for (behind = 0; behind < BEHINDS; behind++) {
		for (k = 0; k < ARRAY_SIZE(part); k++) {
			for (i = 0; i < N; i++) {
				arms[i] = tw_request(TW_FAR, 0, i);
				if (i % 3 == 1)
					arms[i].handle = live[i];
				copy[i] = arms[i];
			}
			array = across(behind, arms, sizeof(arms[0]), N, WHOLE, part[k]);
			ASSERT_NE(NULL, array);
			pending = tw_info(self->fd).pending;
			ASSERT_EQ(WHOLE, tw_arm_batch(self->fd, (void *)array, N));
			memcpy(done, array, WHOLE * sizeof(done[0]));
			for (i = 0; i < WHOLE; i++) {
				ASSERT_EQ(0, done[i].result);
				pending += done[i].old_state == TWHEEL_STATE_NONE;
			}
			/* The entry that crosses the end of the page is untouched. */
			EXPECT_EQ(0, memcmp(array + WHOLE * sizeof(done[0]),
					    &copy[WHOLE], part[k]));
			EXPECT_EQ(pending, tw_info(self->fd).pending);
			for (j = WHOLE; j < N; j++) {
				ASSERT_EQ(0, tw_get(self->fd, live[j], &info));
				EXPECT_EQ(1000 + j, info.user_data);
			}
			give_back(array);
		}
	}
}

TEST_F(tw, cancel_array_that_ends_early)
{
	static const size_t part[] = { 0, 1, 8, 16, 20, 31 };
	enum { N = 40, WHOLE = 17 };
	struct twheel_cancel cancels[N], copy[N], done[N];
	struct twheel_timer_info info;
	int behind, i;
	size_t k;
	char *array;

	for (behind = 0; behind < BEHINDS; behind++) {
		for (k = 0; k < ARRAY_SIZE(part); k++) {
			for (i = 0; i < N; i++) {
				cancels[i] = tw_cancel_request(tw_arm(self->fd, TW_FAR, 0, i));
				ASSERT_NE(0, cancels[i].handle);
				copy[i] = cancels[i];
			}
			array = across(behind, cancels, sizeof(cancels[0]), N, WHOLE, part[k]);
			ASSERT_NE(NULL, array);
			ASSERT_EQ(WHOLE, cancel_batch(self->fd, (void *)array, N));
			memcpy(done, array, WHOLE * sizeof(done[0]));
			for (i = 0; i < WHOLE; i++) {
				EXPECT_EQ(0, done[i].result);
				EXPECT_EQ(TWHEEL_STATE_PENDING, done[i].old_state);
				EXPECT_EQ(-ENOENT, tw_get(self->fd, done[i].handle, &info));
			}
			EXPECT_EQ(0, memcmp(array + WHOLE * sizeof(done[0]),
					    &copy[WHOLE], part[k]));
			EXPECT_EQ(N - WHOLE, tw_info(self->fd).pending);
			for (i = WHOLE; i < N; i++)
				ASSERT_EQ(0, tw_cancel(self->fd, cancels[i].handle));
			give_back(array);
		}
	}
}

TEST_F(tw, no_first_entry)
{
	struct twheel_cancel cancel;
	struct twheel_arm arm = tw_request(0, 0, 0);
	int behind;
	size_t part;
	char *array;

	cancel = tw_cancel_request(tw_arm(self->fd, TW_FAR, 0, 0));
	ASSERT_NE(0, cancel.handle);
	for (behind = 0; behind < BEHINDS; behind++) {
		for (part = 0; part < sizeof(arm); part += 7) {
			array = across(behind, &arm, sizeof(arm), 1, 0, part);
			ASSERT_NE(NULL, array);
			EXPECT_EQ(-EFAULT, tw_arm_batch(self->fd, (void *)array, 1));
			EXPECT_EQ(-EFAULT, tw_arm_batch(self->fd, (void *)array, 100));
			EXPECT_EQ(0, memcmp(array, &arm, part));
			give_back(array);
		}
		for (part = 0; part < sizeof(cancel); part += 7) {
			array = across(behind, &cancel, sizeof(cancel), 1, 0, part);
			ASSERT_NE(NULL, array);
			EXPECT_EQ(-EFAULT, cancel_batch(self->fd, (void *)array, 1));
			give_back(array);
		}
	}
	EXPECT_EQ(1, tw_info(self->fd).pending);
	EXPECT_EQ(0, tw_info(self->fd).ready);
	EXPECT_EQ(0, tw_cancel(self->fd, cancel.handle));
}

/* The whole array may be read but not written, so nothing may happen. */
TEST_F(tw, read_only_arrays)
{
	size_t page = sysconf(_SC_PAGESIZE);
	struct twheel_cancel *cancels;
	struct twheel_arm *arms;
	void *mem;
	int i;

	mem = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, mem);
	arms = mem;
	cancels = mem;
	for (i = 0; i < 10; i++)
		arms[i] = tw_request(0, 0, i);
	ASSERT_EQ(0, mprotect(mem, page, PROT_READ));
	EXPECT_EQ(-EFAULT, tw_arm_batch(self->fd, arms, 10));
	EXPECT_EQ(0, tw_info(self->fd).pending);
	EXPECT_EQ(0, tw_info(self->fd).ready);

	ASSERT_EQ(0, mprotect(mem, page, PROT_READ | PROT_WRITE));
	for (i = 0; i < 10; i++) {
		cancels[i] = tw_cancel_request(tw_arm(self->fd, TW_FAR, 0, i));
		ASSERT_NE(0, cancels[i].handle);
	}
	ASSERT_EQ(0, mprotect(mem, page, PROT_READ));
	EXPECT_EQ(-EFAULT, cancel_batch(self->fd, cancels, 10));
	EXPECT_EQ(10, tw_info(self->fd).pending);
}

/* Pages that are mapped but not yet present have to be faulted in, not refused. */
TEST_F(tw, arrays_not_yet_in_memory)
{
	enum { N = 5000 };
	size_t size = N * sizeof(struct twheel_cancel);
	struct twheel_cancel *cancels;
	int i;

	cancels = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, cancels);
	ASSERT_EQ(N, cancel_batch(self->fd, cancels, N));
	for (i = 0; i < N; i++)
		ASSERT_EQ(-ENOENT, cancels[i].result);
}

TEST_HARNESS_MAIN
