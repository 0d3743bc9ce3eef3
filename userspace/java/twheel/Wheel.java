// SPDX-License-Identifier: GPL-2.0-only OR MIT
package twheel;

import java.lang.ref.Cleaner;
import java.util.Objects;
import java.util.concurrent.TimeUnit;

/**
 * A context of twheel: timers of the device or, where there is none, of a wheel in the process.
 *
 * <p>A timer is known by the handle that arming it returns or, in a wheel with keys, by a number that
 * the program has chosen. What has expired is read as events, by as many threads as like.
 *
 * <p>Times are nanoseconds on the wheel's clock. {@link Long#MAX_VALUE} is for ever, and so is each
 * sum that would be later. A negative delay is none, as in java.util.concurrent. No timer is early.
 *
 * <p>Any number of threads may use a wheel. {@link #close} may come at any time: calls after it, and
 * reads that wait, end with a {@link TwheelException} whose errno is EBADF. A wheel that nothing refers
 * to any more is closed when the garbage collector finds that out.
 */
public final class Wheel implements AutoCloseable {
    /** How a wheel is to be opened. */
    public static final class Options {
        private String path;
        private int open;
        private int config;
        private int clock = Native.CLOCK_MONOTONIC;
        private long limit;

        /** Handles are keys: numbers that the program chooses. */
        public Options keyed() {
            config |= Native.CONFIG_KEYED;
            return this;
        }

        /** There can be leases. */
        public Options leases() {
            config |= Native.CONFIG_LEASE;
            return this;
        }

        /** The clock goes on while the machine sleeps. */
        public Options bootTime() {
            clock = Native.CLOCK_BOOTTIME;
            return this;
        }

        /** Deadlines are points in wall time, since 1970. There are no delays then. */
        public Options wallTime() {
            clock = Native.CLOCK_REALTIME;
            return this;
        }

        /** Wall time, and a read that finds that the clock was set fails once with ECANCELED. */
        public Options tellSteps() {
            config |= Native.CONFIG_CANCEL_ON_SET;
            return wallTime();
        }

        /** The most timers that there may be at a time. */
        public Options limit(long timers) {
            if (timers < 1)
                throw new IllegalArgumentException("limit " + timers);
            limit = timers;
            return this;
        }

        /** A wheel in the process, also where the device is there. */
        public Options embedded() {
            open |= Native.OPEN_EMBEDDED;
            return this;
        }

        /**
         * Threads use a wheel in the process at once: it is several, one for each CPU, and events are in
         * order for each of them.
         */
        public Options threads() {
            open |= Native.OPEN_THREADS;
            return this;
        }

        /** That of this device, or an error. */
        public Options device(String path) {
            this.path = path;
            return this;
        }
    }

    private static final Cleaner CLEANER = Cleaner.create();

    private long tw;
    /** Closes what is open; not twice. */
    private final Cleaner.Cleanable open;
    private final int fd;
    private final int wake;
    private final int config;
    private final int clock;
    /** How many threads wait for events. */
    private int waiting;

    /** Opens a wheel whose timers have handles. */
    public Wheel() {
        this(new Options());
    }

    public Wheel(Options options) {
        long[] made = new long[2];
        config = options.config;
        clock = options.clock;
        wake = TwheelException.check("eventfd", Native.wakeOpen());
        int result = Native.open(options.path, options.open, options.clock, options.config,
                options.limit, made);
        if (result < 0)
            Native.wakeClose(wake);
        TwheelException.check("open " + opened(options.path, result), result);
        tw = made[0];
        fd = (int) made[1];
        open = CLEANER.register(this, closing(tw, wake));
    }

    /** What could not be opened. */
    private static String opened(String path, int result) {
        String name = path == null ? "/dev/twheel" : path;
        if (path == null && result == -Native.EINVAL && System.getenv("TWHEEL_BACKEND") != null)
            name += " or TWHEEL_BACKEND (auto, device, embedded)";
        return name;
    }

    /** What closes a wheel. It does not refer to that, which would never be garbage otherwise. */
    private static Runnable closing(long tw, int wake) {
        return () -> {
            Native.close(tw);
            Native.wakeClose(wake);
        };
    }

    /** The version of the library: 400 is 0.4.0. */
    public static int version() {
        return Native.version();
    }

    /** A unit's time in ns: what is too long is for ever, what is negative is none. */
    static long delay(long time, TimeUnit unit) {
        return Math.max(unit.toNanos(time), 0);
    }

    /** The sum of two times, of which none is negative. */
    static long sum(long a, long b) {
        long sum = a + b;
        return sum < 0 ? Long.MAX_VALUE : sum;
    }

    /** What Native takes. The caller has the monitor, and so nobody closes it meanwhile. */
    long use() {
        if (tw == 0)
            throw new TwheelException("the wheel is closed", Native.EBADF);
        return tw;
    }

    /** Closes it, with all its timers. Returns when no thread waits in it any more. */
    @Override
    public void close() {
        boolean interrupted = false;
        synchronized (this) {
            if (tw == 0)
                return;
            tw = 0;
            Native.wake(wake);
            while (waiting > 0) {
                try {
                    wait();
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
            open.clean();
        }
        if (interrupted)
            Thread.currentThread().interrupt();
    }

    public synchronized boolean isClosed() {
        return tw == 0;
    }

    /** The time on its clock. */
    public synchronized long now() {
        return Native.now(use());
    }

    /** Sets its clock, which stands still from now on. For tests, of a wheel in the process. */
    public synchronized void setNow(long ns) {
        TwheelException.check("set_now", Native.setNow(use(), ns));
    }

    /** Arms a timer that expires once, after a delay. Returns its handle. Not for keys. */
    public synchronized long arm(long delay, long userData) {
        return TwheelException.check("arm_after", Native.armAfter(use(), Math.max(delay, 0), userData));
    }

    /** The same for a point in time. */
    public synchronized long armAt(long deadline, long userData) {
        return TwheelException.check("arm_at", Native.armAt(use(), deadline, userData));
    }

    /**
     * Arms the timer with this handle again, or a new one if it is over. Returns the handle from now
     * on. Not for keys.
     */
    public synchronized long set(long handle, long delay, long userData) {
        return TwheelException.check("set_after",
                Native.setAfter(use(), handle, Math.max(delay, 0), userData));
    }

    /**
     * Arms, or arms again, the timer with this key. Its event may have been read before this, or before
     * {@link #push}, and be handled only after it: while {@link #get} finds a timer that does not
     * repeat, the event is of an earlier arming, and another will come.
     */
    public synchronized void put(long key, long delay, long userData) {
        TwheelException.check("put_after", Native.putAfter(use(), key, Math.max(delay, 0), userData));
    }

    /** The same for a point in time. */
    public synchronized void putAt(long key, long deadline, long userData) {
        TwheelException.check("put_at", Native.putAt(use(), key, deadline, userData));
    }

    /**
     * Arms all timers of a batch by one call. {@link Batch#error} and {@link Batch#handle} tell of
     * each what has come of it.
     *
     * @return how many were armed
     */
    public synchronized int arm(Batch batch) {
        long open = use();
        int armed = 0;
        int done = batch.count() == 0 ? 0
                : TwheelException.check("arm_batch", Native.armBatch(open, batch.address, batch.count()));
        for (int i = 0; i < done; i++)
            if (batch.error(i) == 0)
                armed++;
        return armed;
    }

    /**
     * Lets a timer expire at another point in time, and leaves its other settings as they are. A
     * timer with a key is made if there is none.
     *
     * @return false if it is not pending any more
     */
    public synchronized boolean push(long handle, long deadline) {
        return found("push", Native.push(use(), handle, deadline));
    }

    /** The same, so many ns from now. */
    public synchronized boolean pushAfter(long handle, long delay) {
        long open = use();
        if (clock == Native.CLOCK_REALTIME)
            throw new TwheelException("push", Native.EINVAL);
        return found("push", Native.pushAfter(open, handle, Math.max(delay, 0)));
    }

    /**
     * Pushes many timers back by one call, up to the first that is not pending any more.
     *
     * @return how many were pushed. If that is fewer than {@code n}, the one after these is not
     *     pending any more
     * @throws TwheelException if one cannot be pushed for another reason; those before it were pushed
     */
    public synchronized int push(long[] handles, long[] deadlines, int from, int n) {
        Objects.checkFromIndexSize(from, n, Math.min(handles.length, deadlines.length));
        return TwheelException.check("push_batch",
                Native.pushBatch(use(), handles, deadlines, from, n));
    }

    /** Cancels a timer: no event of it will be read. Returns false if there is none. */
    public synchronized boolean cancel(long handle) {
        return found("cancel", Native.cancel(use(), handle));
    }

    /** Cancels the first {@code n} of many timers by one call. Returns how many there were. */
    public synchronized int cancel(long[] handles, int n) {
        Objects.checkFromIndexSize(0, n, handles.length);
        return TwheelException.check("cancel_batch", Native.cancelBatch(use(), handles, n));
    }

    /** Cancels all timers. */
    public synchronized void cancelAll() {
        TwheelException.check("cancel_all", Native.cancelAll(use()));
    }

    private static boolean found(String call, int result) {
        if (result == -Native.ENOENT)
            return false;
        TwheelException.check(call, result);
        return true;
    }

    /** Looks at a timer. Returns null if there is none. */
    public synchronized TimerInfo get(long handle) {
        long[] info = new long[7];
        return found("get", Native.get(use(), handle, info)) ? new TimerInfo(info) : null;
    }

    /** Arms a lease. Not for keys. */
    public Lease lease(long delay, long userData) {
        return lease(false, 0, Math.max(delay, 0), false, userData);
    }

    /** Arms, or arms again, the lease with this key. */
    public Lease lease(long key, long delay, long userData) {
        return lease(true, key, Math.max(delay, 0), false, userData);
    }

    /** As {@link #lease(long, long)}, until a point in time on the wheel's clock. */
    public Lease leaseAt(long deadline, long userData) {
        return lease(false, 0, deadline, true, userData);
    }

    /** As {@link #lease(long, long, long)}, until a point in time on the wheel's clock. */
    public Lease leaseAt(long key, long deadline, long userData) {
        return lease(true, key, deadline, true, userData);
    }

    private synchronized Lease lease(boolean keyed, long key, long expires, boolean absolute,
            long userData) {
        long[] lease = new long[3];
        use();
        if (keyed != isKeyed())
            throw new TwheelException("lease_new", Native.EINVAL);
        TwheelException.check("lease_new",
                Native.lease(use(), key, expires, absolute, userData, lease));
        return new Lease(this, lease[0], lease[1], (int) lease[2]);
    }

    /** Reads what has expired. Returns how many events; 0 if there is none. */
    public int poll(Events events) {
        return read(events, 0);
    }

    /** Reads what has expired, and waits for the first event. Returns how many events there are. */
    public int read(Events events) {
        return read(events, Long.MAX_VALUE);
    }

    /**
     * Reads what has expired, and waits for the first event for so many ns at most. To interrupt the
     * thread does not end this; to close the wheel does. A virtual thread keeps its carrier meanwhile.
     *
     * @return how many events there are; 0 if there was none in time
     */
    public int read(Events events, long timeout) {
        long end = sum(System.nanoTime(), Math.max(timeout, 0));

        for (;;) {
            synchronized (this) {
                int n = Native.read(use(), events.address, events.capacity());
                if (n != -Native.EAGAIN) {
                    events.count(TwheelException.check("read", n));
                    return n;
                }
                events.count(0);
                if (timeout <= 0)
                    return 0;
                waiting++;
            }
            long left = end == Long.MAX_VALUE ? end : Math.max(end - System.nanoTime(), 0);
            try {
                Native.await(fd, wake, left);
            } finally {
                synchronized (this) {
                    if (--waiting == 0 && tw == 0)
                        notifyAll();
                }
            }
            if (left == 0)
                return 0;
        }
    }

    private synchronized long info(int which) {
        long[] info = new long[5];
        TwheelException.check("get_info", Native.info(use(), info));
        return info[which];
    }

    /** How many timers have not expired. */
    public long pending() {
        return info(1);
    }

    /** How many have expired, and were not read. */
    public long ready() {
        return info(2);
    }

    /** How many timers there may be. */
    public long limit() {
        return info(3);
    }

    /** By how much a timer may be late, apart from what else the machine does. */
    public long tick() {
        return info(4);
    }

    /** Is the wheel in the process? */
    public boolean isEmbedded() {
        return info(0) >>> Native.FEATURE_EMBEDDED_BIT != 0;
    }

    /** Are its handles keys? */
    public boolean isKeyed() {
        return (config & Native.CONFIG_KEYED) != 0;
    }

    /** Can there be leases? */
    public boolean hasLeases() {
        return (config & Native.CONFIG_LEASE) != 0;
    }

    /** What was counted, of a wheel in the process. */
    public synchronized Counters stats() {
        long[] counters = new long[Native.COUNTERS + 3 * Native.BUCKETS];
        TwheelException.check("stats", Native.stats(use(), counters));
        return new Counters(counters);
    }
}
