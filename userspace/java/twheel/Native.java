// SPDX-License-Identifier: GPL-2.0-only OR MIT
package twheel;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/**
 * The calls of libtwheel as they are. A negative result is an errno.
 *
 * <p>The numbers here are those of twheel.h: twheel_jni.c compares them when it is compiled.
 */
final class Native {
    static final int ENOENT = 2;
    static final int EAGAIN = 11;
    static final int EBADF = 9;
    static final int EINVAL = 22;
    /** A result that is less than 0 and not less than this is an error; no handle is. */
    static final int ERRORS = -4095;

    static final int OPEN_THREADS = 1 << 25;
    static final int OPEN_EMBEDDED = 1 << 30;
    static final int CONFIG_KEYED = 1;
    static final int CONFIG_LEASE = 2;
    static final int CONFIG_CANCEL_ON_SET = 4;
    static final int CLOCK_MONOTONIC = 1;
    static final int CLOCK_BOOTTIME = 7;
    static final int CLOCK_REALTIME = 0x10000;
    static final int FEATURE_EMBEDDED_BIT = 63;

    static final int ARM_ABS = 1;

    static final int STATE_READY = 2;

    static final int ARM_SIZE = 64;
    static final int ARM_HANDLE = 0;
    static final int ARM_USER_DATA = 8;
    static final int ARM_EXPIRES = 16;
    static final int ARM_INTERVAL = 24;
    static final int ARM_SLACK = 32;
    static final int ARM_COUNT = 40;
    static final int ARM_FLAGS = 48;
    static final int ARM_RESULT = 52;
    static final int ARM_OLD_STATE = 54;
    static final int ARM_OLD_REMAINING = 56;

    static final int EVENT_SIZE = 48;
    static final int EVENT_USER_DATA = 0;
    static final int EVENT_HANDLE = 8;
    static final int EVENT_DEADLINE = 16;
    static final int EVENT_EXPIRED = 24;
    static final int EVENT_EXPIRATIONS = 32;

    /** How many counters and buckets struct twheel_counters has. */
    static final int COUNTERS = 8;
    static final int BUCKETS = 64;

    private Native() { }

    /** The name of the library in this package's jar. */
    private static final String LIBRARY = "libtwheel_jni.so";

    static {
        load();
    }

    /** -Dtwheel.library=FILE names another; otherwise it is the one in the jar. */
    private static void load() {
        String file = System.getProperty("twheel.library");
        if (file != null) {
            System.load(file);
            return;
        }
        try (InputStream in = Native.class.getResourceAsStream(LIBRARY)) {
            if (in == null)
                throw new UnsatisfiedLinkError("the jar of twheel has no " + LIBRARY
                        + ", and -Dtwheel.library=FILE names none");
            Path copy = Files.createTempFile("twheel", ".so");
            try {
                Files.copy(in, copy, StandardCopyOption.REPLACE_EXISTING);
                System.load(copy.toString());
            } finally {
                Files.delete(copy);
            }
        } catch (IOException e) {
            throw new UnsatisfiedLinkError("the library of twheel cannot be unpacked: " + e);
        }
    }

    static native int version();

    static native String strerror(int errno);

    /** Returns the context in result[0], its descriptor in result[1]. */
    static native int open(String path, int flags, int clock, int config, long limit, long[] result);

    static native void close(long tw);

    static native long now(long tw);

    static native int setNow(long tw, long ns);

    /** Returns features, pending, ready, limit, tick_ns. */
    static native int info(long tw, long[] info);

    static native int stats(long tw, long[] counters);

    /** Returns a handle, or -errno. */
    static native long armAfter(long tw, long delay, long userData);

    static native long armAt(long tw, long expires, long userData);

    /** As twheel_set_after(). Returns the handle, or -errno. */
    static native long setAfter(long tw, long handle, long delay, long userData);

    static native int putAfter(long tw, long key, long delay, long userData);

    static native int putAt(long tw, long key, long expires, long userData);

    static native int push(long tw, long handle, long expires);

    /** As push(), from now. */
    static native int pushAfter(long tw, long handle, long delay);

    /** Returns how many were pushed, up to the first that is not pending, or -errno. */
    static native int pushBatch(long tw, long[] handles, long[] expires, int from, int n);

    static native int cancel(long tw, long handle);

    static native int cancelBatch(long tw, long[] handles, int n);

    static native int cancelAll(long tw);

    static native int armBatch(long tw, long arms, int n);

    /** Returns deadline, remaining, interval, slack, user_data, count, state. */
    static native int get(long tw, long handle, long[] info);

    static native int read(long tw, long events, int n);

    /** Returns handle, address of the word, tag. */
    static native int lease(long tw, long key, long expires, boolean absolute, long userData,
            long[] lease);

    /**
     * As setAfter(), of a lease: lease[0] is its handle before and after, the rest is stored as by
     * lease().
     */
    static native int setLease(long tw, long delay, long userData, long[] lease);

    /** As leaseExtend(), from now; 0 also if the lease lasts longer already. */
    static native int leasePush(long tw, long word, int tag, long delay);

    static native int leaseExtend(long word, int tag, long deadline);

    static native long leaseDeadline(long word, int tag);

    static native int leaseExpired(long word, int tag);

    static native long address(ByteBuffer direct);

    /** A descriptor that ends each await() after wake(). */
    static native int wakeOpen();

    static native void wake(int fd);

    static native void wakeClose(int fd);

    /** Waits until one of them is readable, or so many ns. */
    static native void await(int fd, int wake, long timeout);
}
