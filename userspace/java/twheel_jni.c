// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The calls of libtwheel for Java: see twheel/Native.java, from which javac makes the header.
 *
 * Nothing here keeps state, and no array of Java's is pinned while a call waits for a lock.
 */
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <twheel.h>

#include "twheel_Native.h"

#define SAME(java, c)	_Static_assert((java) == (c), #java)
#define COUNTED		(twheel_Native_COUNTERS + 3 * twheel_Native_BUCKETS)
#define OFFSET(java, type, field) SAME(twheel_Native_##java, offsetof(struct type, field))

SAME(twheel_Native_ENOENT, ENOENT);
SAME(twheel_Native_EAGAIN, EAGAIN);
SAME(twheel_Native_EBADF, EBADF);
SAME(twheel_Native_EINVAL, EINVAL);
SAME(twheel_Native_OPEN_THREADS, TWHEEL_OPEN_THREADS);
SAME(twheel_Native_OPEN_EMBEDDED, TWHEEL_OPEN_EMBEDDED);
SAME(twheel_Native_CONFIG_KEYED, TWHEEL_CONFIG_KEYED);
SAME(twheel_Native_CONFIG_LEASE, TWHEEL_CONFIG_LEASE);
SAME(twheel_Native_CONFIG_CANCEL_ON_SET, TWHEEL_CONFIG_CANCEL_ON_SET);
SAME(twheel_Native_CLOCK_MONOTONIC, CLOCK_MONOTONIC);
SAME(twheel_Native_CLOCK_BOOTTIME, CLOCK_BOOTTIME);
SAME(twheel_Native_CLOCK_REALTIME, TWHEEL_CLOCK_REALTIME);
SAME(1ULL << twheel_Native_FEATURE_EMBEDDED_BIT, TWHEEL_FEATURE_EMBEDDED);
SAME(twheel_Native_ARM_ABS, TWHEEL_ARM_ABS);
SAME(twheel_Native_STATE_READY, TWHEEL_STATE_READY);
SAME(twheel_Native_ARM_SIZE, sizeof(struct twheel_arm));
OFFSET(ARM_HANDLE, twheel_arm, handle);
OFFSET(ARM_USER_DATA, twheel_arm, user_data);
OFFSET(ARM_EXPIRES, twheel_arm, expires);
OFFSET(ARM_INTERVAL, twheel_arm, interval);
OFFSET(ARM_SLACK, twheel_arm, slack);
OFFSET(ARM_COUNT, twheel_arm, count);
OFFSET(ARM_FLAGS, twheel_arm, flags);
OFFSET(ARM_RESULT, twheel_arm, result);
OFFSET(ARM_OLD_STATE, twheel_arm, old_state);
OFFSET(ARM_OLD_REMAINING, twheel_arm, old_remaining);
SAME(twheel_Native_EVENT_SIZE, sizeof(struct twheel_event));
OFFSET(EVENT_USER_DATA, twheel_event, user_data);
OFFSET(EVENT_HANDLE, twheel_event, handle);
OFFSET(EVENT_DEADLINE, twheel_event, deadline);
OFFSET(EVENT_EXPIRED, twheel_event, expired);
OFFSET(EVENT_EXPIRATIONS, twheel_event, expirations);
SAME(twheel_Native_BUCKETS, TWHEEL_BUCKETS);
SAME(COUNTED * sizeof(uint64_t), sizeof(struct twheel_counters));

/* How many entries of an array are copied at a time. */
#define COPIED	128

/* The address of what Java keeps as a number */
#define PTR(number)	((void *)(uintptr_t)(number))

/* Store the first values of an array of Java's. */
static void store(JNIEnv *env, jlongArray array, const jlong *values, jsize n)
{
	(*env)->SetLongArrayRegion(env, array, 0, n, values);
}

JNIEXPORT void JNICALL Java_twheel_Native_close(JNIEnv *env, jclass cl, jlong tw)
{
	twheel_close(PTR(tw));
}

JNIEXPORT jint JNICALL Java_twheel_Native_open(JNIEnv *env, jclass cl, jstring path, jint flags,
					       jint clock, jint config, jlong limit,
					       jlongArray result)
{
	struct twheel_config settings = {
		.clock = (uint32_t)clock, .flags = (uint32_t)config, .limit = (uint64_t)limit,
	};
	unsigned int ours = (unsigned int)flags;
	const char *name = path ? (*env)->GetStringUTFChars(env, path, NULL) : NULL;
	struct twheel *tw;
	jlong made[2];
	int ret;

	if (path && !name)
		return -ENOMEM;
	ours |= TWHEEL_OPEN_NONBLOCK | TWHEEL_OPEN_CLOEXEC;
	ret = twheel_open(&tw, name, ours, &settings);
	if (name)
		(*env)->ReleaseStringUTFChars(env, path, name);
	if (ret)
		return ret;
	made[0] = (jlong)(uintptr_t)tw;
	made[1] = twheel_fd(tw);
	store(env, result, made, 2);
	return 0;
}

JNIEXPORT jlong JNICALL Java_twheel_Native_now(JNIEnv *env, jclass cl, jlong tw)
{
	return (jlong)twheel_now(PTR(tw));
}

JNIEXPORT jint JNICALL Java_twheel_Native_version(JNIEnv *env, jclass cl)
{
	return (jint)twheel_version();
}

JNIEXPORT jstring JNICALL Java_twheel_Native_strerror(JNIEnv *env, jclass cl, jint error)
{
	return (*env)->NewStringUTF(env, strerror(error));
}

JNIEXPORT jint JNICALL Java_twheel_Native_setNow(JNIEnv *env, jclass cl, jlong tw, jlong ns)
{
	return twheel_set_now(PTR(tw), (uint64_t)ns);
}

JNIEXPORT jint JNICALL Java_twheel_Native_info(JNIEnv *env, jclass cl, jlong tw, jlongArray array)
{
	struct twheel_info info;
	int ret = twheel_get_info(PTR(tw), 0, &info);

	if (!ret) {
		jlong values[5] = {
			(jlong)info.features, (jlong)info.pending, (jlong)info.ready,
			(jlong)info.limit, (jlong)info.tick_ns,
		};

		store(env, array, values, 5);
	}
	return ret;
}

JNIEXPORT jint JNICALL Java_twheel_Native_stats(JNIEnv *env, jclass cl, jlong tw, jlongArray array)
{
	struct twheel_counters counters;
	int ret = twheel_stats(PTR(tw), &counters, sizeof(counters));

	if (!ret)
		store(env, array, (const jlong *)(const void *)&counters, COUNTED);
	return ret;
}

JNIEXPORT jlong JNICALL Java_twheel_Native_armAfter(JNIEnv *env, jclass cl, jlong tw, jlong delay,
						    jlong user_data)
{
	uint64_t handle;
	int ret = twheel_arm_after(PTR(tw), (uint64_t)delay, (uint64_t)user_data, &handle);

	return ret ? ret : (jlong)handle;
}

JNIEXPORT jlong JNICALL Java_twheel_Native_armAt(JNIEnv *env, jclass cl, jlong tw, jlong expires,
						 jlong user_data)
{
	uint64_t handle;
	int ret = twheel_arm_at(PTR(tw), (uint64_t)expires, (uint64_t)user_data, &handle);

	return ret ? ret : (jlong)handle;
}

JNIEXPORT jlong JNICALL Java_twheel_Native_setAfter(JNIEnv *env, jclass cl, jlong tw, jlong old,
						    jlong delay, jlong user_data)
{
	uint64_t handle = (uint64_t)old;
	int ret = twheel_set_after(PTR(tw), &handle, (uint64_t)delay, (uint64_t)user_data, NULL);

	return ret ? ret : (jlong)handle;
}

JNIEXPORT jint JNICALL Java_twheel_Native_putAfter(JNIEnv *env, jclass cl, jlong tw, jlong key,
						   jlong delay, jlong user_data)
{
	return twheel_put_after(PTR(tw), (uint64_t)key, (uint64_t)delay, (uint64_t)user_data, NULL);
}

JNIEXPORT jint JNICALL Java_twheel_Native_putAt(JNIEnv *env, jclass cl, jlong tw, jlong key,
						jlong expires, jlong user_data)
{
	return twheel_put_at(PTR(tw), (uint64_t)key, (uint64_t)expires, (uint64_t)user_data, NULL);
}

JNIEXPORT jint JNICALL Java_twheel_Native_push(JNIEnv *env, jclass cl, jlong tw, jlong handle,
					       jlong expires)
{
	return twheel_push(PTR(tw), (uint64_t)handle, (uint64_t)expires);
}

JNIEXPORT jint JNICALL Java_twheel_Native_pushAfter(JNIEnv *env, jclass cl, jlong tw, jlong handle,
						    jlong delay)
{
	/* Neither is above INT64_MAX, so the sum fits. */
	uint64_t expires = twheel_now(PTR(tw)) + (uint64_t)delay;

	return twheel_push(PTR(tw), (uint64_t)handle, expires < INT64_MAX ? expires : INT64_MAX);
}

JNIEXPORT jint JNICALL Java_twheel_Native_pushBatch(JNIEnv *env, jclass cl, jlong tw,
						    jlongArray handles, jlongArray expires,
						    jint from, jint n)
{
	struct twheel_push pushes[COPIED];
	jlong keys[COPIED], times[COPIED];
	jint done, i, chunk;
	ssize_t ret;

	for (done = 0; done < n; done += (jint)ret) {
		chunk = n - done < COPIED ? n - done : COPIED;
		(*env)->GetLongArrayRegion(env, handles, from + done, chunk, keys);
		(*env)->GetLongArrayRegion(env, expires, from + done, chunk, times);
		if ((*env)->ExceptionCheck(env))
			return 0;
		for (i = 0; i < chunk; i++)
			pushes[i] = (struct twheel_push){
				.handle = (uint64_t)keys[i], .expires = (uint64_t)times[i],
			};
		/* The next call begins with the one that failed, and says why. */
		ret = twheel_push_batch(PTR(tw), pushes, (size_t)chunk);
		if (ret == -ENOENT)
			return done;
		if (ret < 0)
			return (jint)ret;
	}
	return done;
}

JNIEXPORT jint JNICALL Java_twheel_Native_cancel(JNIEnv *env, jclass cl, jlong tw, jlong handle)
{
	return twheel_cancel(PTR(tw), (uint64_t)handle, NULL);
}

JNIEXPORT jint JNICALL Java_twheel_Native_cancelBatch(JNIEnv *env, jclass cl, jlong tw,
						      jlongArray handles, jint n)
{
	struct twheel_cancel cancels[COPIED];
	jlong keys[COPIED];
	jint done, i, chunk, cancelled = 0;
	ssize_t ret;

	for (done = 0; done < n; done += (jint)ret) {
		chunk = n - done < COPIED ? n - done : COPIED;
		(*env)->GetLongArrayRegion(env, handles, done, chunk, keys);
		if ((*env)->ExceptionCheck(env))
			return 0;
		for (i = 0; i < chunk; i++)
			cancels[i] = (struct twheel_cancel){ .handle = (uint64_t)keys[i] };
		ret = twheel_cancel_batch(PTR(tw), cancels, (size_t)chunk);
		if (ret <= 0)
			return (jint)ret;
		for (i = 0; i < (jint)ret; i++)
			cancelled += !cancels[i].result;
	}
	return cancelled;
}

JNIEXPORT jint JNICALL Java_twheel_Native_cancelAll(JNIEnv *env, jclass cl, jlong tw)
{
	return twheel_cancel_all(PTR(tw));
}

JNIEXPORT jint JNICALL Java_twheel_Native_armBatch(JNIEnv *env, jclass cl, jlong tw, jlong arms,
						   jint n)
{
	return (jint)twheel_arm_batch(PTR(tw), PTR(arms), (size_t)n);
}

JNIEXPORT jint JNICALL Java_twheel_Native_get(JNIEnv *env, jclass cl, jlong tw, jlong handle,
					      jlongArray array)
{
	struct twheel_timer_info info;
	int ret = twheel_get(PTR(tw), (uint64_t)handle, &info);

	if (!ret) {
		jlong values[7] = {
			(jlong)info.deadline, (jlong)info.remaining, (jlong)info.interval,
			(jlong)info.slack, (jlong)info.user_data, info.count, info.state,
		};

		store(env, array, values, 7);
	}
	return ret;
}

JNIEXPORT jint JNICALL Java_twheel_Native_read(JNIEnv *env, jclass cl, jlong tw, jlong events,
					       jint n)
{
	return (jint)twheel_read(PTR(tw), PTR(events), (size_t)n);
}

JNIEXPORT jint JNICALL Java_twheel_Native_lease(JNIEnv *env, jclass cl, jlong tw, jlong key,
						jlong expires, jboolean absolute, jlong user_data,
						jlongArray array)
{
	uint64_t handle = (uint64_t)key;
	struct twheel_lease lease;
	int ret;

	ret = twheel_lease_new(PTR(tw), (uint64_t)expires, absolute ? TWHEEL_ARM_ABS : 0,
			       (uint64_t)user_data, &handle, &lease, NULL);
	if (!ret) {
		jlong values[3] = { (jlong)handle, (jlong)(uintptr_t)lease.word, lease.tag };

		store(env, array, values, 3);
	}
	return ret;
}

static struct twheel_lease lease_of(jlong word, jint tag)
{
	return (struct twheel_lease){ .word = PTR(word), .tag = (uint16_t)tag };
}

JNIEXPORT jint JNICALL Java_twheel_Native_setLease(JNIEnv *env, jclass cl, jlong tw, jlong delay,
						   jlong user_data, jlongArray array)
{
	struct twheel_arm arm = {
		.user_data = (uint64_t)user_data, .expires = (uint64_t)delay,
		.flags = TWHEEL_ARM_LEASE,
	};
	struct twheel_lease lease;
	jlong values[3];
	int ret;

	(*env)->GetLongArrayRegion(env, array, 0, 1, values);
	arm.handle = (uint64_t)values[0];
	ret = twheel_arm(PTR(tw), &arm);
	if (ret == -ENOENT && arm.handle) {
		arm.handle = 0;
		ret = twheel_arm(PTR(tw), &arm);
	}
	if (ret)
		return ret;
	ret = twheel_lease_at(PTR(tw), arm.word, arm.tag, &lease);
	if (ret) {
		twheel_cancel(PTR(tw), arm.handle, NULL);
		return ret;
	}
	values[0] = (jlong)arm.handle;
	values[1] = (jlong)(uintptr_t)lease.word;
	values[2] = lease.tag;
	store(env, array, values, 3);
	return 0;
}

JNIEXPORT jint JNICALL Java_twheel_Native_leasePush(JNIEnv *env, jclass cl, jlong tw, jlong word,
						    jint tag, jlong delay)
{
	uint64_t expires = twheel_now(PTR(tw)) + (uint64_t)delay;

	if (expires > INT64_MAX)
		expires = INT64_MAX;
	if (twheel_lease_deadline(lease_of(word, tag)) > expires)
		return 0;
	return twheel_lease_extend(lease_of(word, tag), expires);
}

JNIEXPORT jint JNICALL Java_twheel_Native_leaseExtend(JNIEnv *env, jclass cl, jlong word, jint tag,
						      jlong deadline)
{
	return twheel_lease_extend(lease_of(word, tag), (uint64_t)deadline);
}

JNIEXPORT jlong JNICALL Java_twheel_Native_leaseDeadline(JNIEnv *env, jclass cl, jlong word,
							 jint tag)
{
	return (jlong)twheel_lease_deadline(lease_of(word, tag));
}

JNIEXPORT jint JNICALL Java_twheel_Native_leaseExpired(JNIEnv *env, jclass cl, jlong word, jint tag)
{
	return twheel_lease_expired(lease_of(word, tag));
}

JNIEXPORT jlong JNICALL Java_twheel_Native_address(JNIEnv *env, jclass cl, jobject buffer)
{
	return (jlong)(uintptr_t)(*env)->GetDirectBufferAddress(env, buffer);
}

JNIEXPORT jint JNICALL Java_twheel_Native_wakeOpen(JNIEnv *env, jclass cl)
{
	int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

JNIEXPORT void JNICALL Java_twheel_Native_wake(JNIEnv *env, jclass cl, jint fd)
{
	eventfd_write(fd, 1);
}

JNIEXPORT void JNICALL Java_twheel_Native_wakeClose(JNIEnv *env, jclass cl, jint fd)
{
	close(fd);
}

JNIEXPORT void JNICALL Java_twheel_Native_await(JNIEnv *env, jclass cl, jint fd, jint wake,
						jlong timeout)
{
	struct pollfd fds[2] = {
		{ .fd = fd, .events = POLLIN }, { .fd = wake, .events = POLLIN },
	};
	struct timespec left = {
		.tv_sec = (time_t)(timeout / 1000000000), .tv_nsec = (long)(timeout % 1000000000),
	};

	/* However it ends, the caller looks again. */
	ppoll(fds, 2, timeout == INT64_MAX ? NULL : &left, NULL);
}
