// SPDX-License-Identifier: GPL-2.0-only OR MIT
package twheel.netty;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;

import io.netty.util.Timeout;
import io.netty.util.Timer;
import io.netty.util.TimerTask;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;

import twheel.Timers;
import twheel.WheelTimer;

/**
 * A Timer of Netty's on twheel, in place of its HashedWheelTimer.
 *
 * <p>It opens its wheel when it starts: until then it takes no descriptors.
 *
 * <p>Its thread sleeps until something is due. A timeout that is cancelled is gone at once; one can be
 * pushed back, by {@link WheelTimer#push}. Tasks run one after another in the thread, or in an
 * executor. What they throw is logged, as Netty does it.
 *
 * <p>{@code TimerTask.cancelled(timeout)}, which newer versions of Netty have, is called by the thread
 * that cancels the timeout.
 */
public final class TwheelTimer implements Timer {
    private static final InternalLogger LOGGER = InternalLoggerFactory.getInstance(TwheelTimer.class);

    private static final MethodHandle CANCELLED = findCancelled();

    private final ThreadFactory factory;
    private final Executor executor;
    private final long limit;
    /** Null until it is started. */
    private volatile Timers timers;
    private volatile boolean started;
    private boolean stopped;

    /** The method of TimerTask, or null where Netty has none. */
    private static MethodHandle findCancelled() {
        try {
            return MethodHandles.publicLookup().findVirtual(TimerTask.class, "cancelled",
                    MethodType.methodType(void.class, Timeout.class));
        } catch (ReflectiveOperationException e) {
            return null;
        }
    }

    public TwheelTimer() {
        this(Executors.defaultThreadFactory());
    }

    public TwheelTimer(ThreadFactory factory) {
        this(factory, -1);
    }

    /**
     * @param factory makes the thread, as for {@link Timers#start}: no virtual one
     * @param maxPendingTimeouts beyond so many newTimeout() throws RejectedExecutionException; 0 or
     *     less is no limit
     */
    public TwheelTimer(ThreadFactory factory, long maxPendingTimeouts) {
        this(factory, maxPendingTimeouts, Runnable::run);
    }

    /**
     * @param executor runs the tasks
     */
    public TwheelTimer(ThreadFactory factory, long maxPendingTimeouts, Executor executor) {
        if (factory == null || executor == null)
            throw new NullPointerException(factory == null ? "factory" : "executor");
        this.factory = factory;
        this.executor = executor;
        limit = maxPendingTimeouts > 0 ? maxPendingTimeouts : Long.MAX_VALUE;
    }

    /** A timeout that can be pushed back, too. */
    public final class TwheelTimeout extends WheelTimer implements Timeout {
        private final TimerTask task;

        private TwheelTimeout(TimerTask task) {
            super(timers);
            this.task = task;
        }

        @Override
        public Timer timer() {
            return TwheelTimer.this;
        }

        @Override
        public TimerTask task() {
            return task;
        }

        @Override
        protected void expired() {
            executor.execute(this::runTask);
        }

        @Override
        protected void cancelled() throws Throwable {
            if (CANCELLED != null)
                CANCELLED.invokeExact(task, (Timeout) this);
        }

        @Override
        public String toString() {
            return super.toString() + " of " + task;
        }

        private void runTask() {
            try {
                task.run(this);
            } catch (Throwable error) {
                failed(error);
            }
        }

        @Override
        protected void failed(Throwable error) {
            LOGGER.warn("An exception was thrown by " + task.getClass().getName(), error);
        }
    }

    /**
     * Opens the wheel and starts the thread; the first timeout does so, too.
     *
     * @throws twheel.TwheelException if there is no wheel, for want of descriptors or memory
     */
    public void start() {
        if (!started)
            startOnce();
    }

    private void startOnce() {
        synchronized (this) {
            if (stopped)
                throw new IllegalStateException("the timer was stopped");
            if (timers == null)
                timers = new Timers(Timers.openWheel(), limit);
        }
        timers.start(factory);
        /* Another thread may be asking the factory, in vain. */
        started = timers.hasWorker();
    }

    @Override
    public TwheelTimeout newTimeout(TimerTask task, long delay, TimeUnit unit) {
        if (task == null || unit == null)
            throw new NullPointerException(task == null ? "task" : "unit");
        start();
        TwheelTimeout timeout = new TwheelTimeout(task);
        timeout.start(delay, unit);
        return timeout;
    }

    /** How many timeouts have neither expired nor were cancelled. */
    public long pendingTimeouts() {
        return timers == null ? 0 : timers.pending();
    }

    /**
     * Ends the thread, when the task that runs has ended, which is interrupted as by HashedWheelTimer.
     *
     * @return the timeouts that have neither expired nor were cancelled; none the second time
     */
    @Override
    public Set<Timeout> stop() {
        Set<Timeout> left = new HashSet<>();
        synchronized (this) {
            if (timers != null && timers.isWorker())
                throw new IllegalStateException("TwheelTimer.stop() by a task");
            stopped = true;
            if (timers == null)
                return left;
        }
        for (WheelTimer timer : timers.stopNow())
            left.add((TwheelTimeout) timer);
        return left;
    }
}
