// SPDX-License-Identifier: GPL-2.0-only OR MIT
package twheel;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.AbstractExecutorService;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Delayed;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.RunnableScheduledFuture;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A ScheduledExecutorService of one thread on a wheel. The thread begins with the first task.
 *
 * <p>As a ScheduledThreadPoolExecutor of one thread: after {@link #shutdown} what was scheduled once
 * still runs, and what repeats does not; an exception ends a task that repeats. A task that is
 * cancelled is gone at once. Times are never early; what is too long is for ever. Tasks for one time
 * run as they were submitted; on the device as far as one CPU has armed them, or they are due together.
 *
 * <p>One difference: a task at a fixed rate that is behind runs again after all that is due by the end of
 * its run, where a ScheduledThreadPoolExecutor runs it in between, by the times that it has missed. It
 * catches up as there, with each run that it has missed.
 */
public final class WheelExecutor extends AbstractExecutorService implements ScheduledExecutorService {
    /** How many tasks there have been, of all executors. */
    private static final AtomicLong TASKS = new AtomicLong();

    private final Timers timers;
    private final ThreadFactory factory;
    private final CountDownLatch terminated = new CountDownLatch(1);
    /** These change under the monitor of the wheel. */
    private volatile boolean shutdown;
    private boolean ending;

    public WheelExecutor() {
        this(new Wheel(), Executors.defaultThreadFactory());
    }

    /**
     * On this wheel, which it takes over: one with the clock that a wheel has by default. What the
     * factory throws is thrown by the call that needs the thread, and the next one asks it again.
     */
    public WheelExecutor(Wheel wheel, ThreadFactory factory) {
        this.factory = Objects.requireNonNull(factory, "factory");
        timers = new Timers(wheel, Long.MAX_VALUE);
    }

    private final class TaskTimer extends WheelTimer {
        final Task<?> task;

        TaskTimer(Task<?> task) {
            super(timers);
            this.task = task;
        }

        @Override
        protected void expired() {
            try {
                task.run();
            } finally {
                terminate();
            }
        }
    }

    private final class Task<V> extends FutureTask<V> implements RunnableScheduledFuture<V> {
        /** In ns: 0 if it runs once; negative if it counts from the end of a run. */
        private final long period;
        /** When it is due. */
        private volatile long time;
        private final long number = TASKS.getAndIncrement();
        private final TaskTimer timer = new TaskTimer(this);

        Task(Runnable task, V result, long period) {
            super(task, result);
            this.period = period;
        }

        Task(Callable<V> task) {
            super(task);
            period = 0;
        }

        Task<V> schedule(long delay) {
            if (!shutdown)
                timers.begin(factory);
            synchronized (timers.wheel()) {
                if (shutdown)
                    throw new RejectedExecutionException("the executor is shut down");
                time = Wheel.sum(timers.wheel().now(), delay);
                timer.start(delay, TimeUnit.NANOSECONDS);
            }
            return this;
        }

        @Override
        public void run() {
            if (!isPeriodic()) {
                super.run();
            } else if (runAndReset()) {
                try {
                    again();
                } catch (Throwable error) {
                    /* It ends as by an exception of its own. */
                    setException(error);
                }
            }
        }

        private void again() {
            synchronized (timers.wheel()) {
                if (shutdown) {
                    super.cancel(false);
                } else if (!isCancelled()) {
                    long now = timers.wheel().now();
                    time = period > 0 ? Wheel.sum(time, period) : Wheel.sum(now, -period);
                    timer.start(Math.max(time - now, 0), TimeUnit.NANOSECONDS);
                }
            }
        }

        @Override
        public boolean cancel(boolean interrupt) {
            boolean cancelled = super.cancel(interrupt);
            if (cancelled && timer.cancel())
                terminate();
            return cancelled;
        }

        @Override
        public boolean isPeriodic() {
            return period != 0;
        }

        @Override
        public long getDelay(TimeUnit unit) {
            return unit.convert(time - System.nanoTime(), TimeUnit.NANOSECONDS);
        }

        @Override
        public int compareTo(Delayed other) {
            if (other instanceof Task) {
                Task<?> task = (Task<?>) other;
                int order = Long.compare(time, task.time);
                return order != 0 ? order : Long.compare(number, task.number);
            }
            return Long.compare(getDelay(TimeUnit.NANOSECONDS), other.getDelay(TimeUnit.NANOSECONDS));
        }
    }

    /** Ends the thread if there is one, by itself, when there is nothing left to run. */
    private void terminate() {
        synchronized (timers.wheel()) {
            if (!shutdown || ending || timers.pending() > 0)
                return;
            ending = true;
            if (timers.hasWorker()) {
                timers.schedule(this::end, 0, TimeUnit.NANOSECONDS);
                return;
            }
        }
        end();
    }

    private void end() {
        timers.stop();
        terminated.countDown();
    }

    @Override
    public ScheduledFuture<?> schedule(Runnable command, long delay, TimeUnit unit) {
        return new Task<Object>(command, null, 0).schedule(Wheel.delay(delay, unit));
    }

    @Override
    public <V> ScheduledFuture<V> schedule(Callable<V> callable, long delay, TimeUnit unit) {
        return new Task<>(callable).schedule(Wheel.delay(delay, unit));
    }

    /* What these return is what waits, so that to cancel it takes it out. */

    @Override
    public Future<?> submit(Runnable task) {
        return schedule(task, 0, TimeUnit.NANOSECONDS);
    }

    @Override
    public <T> Future<T> submit(Runnable task, T result) {
        return submit(Executors.callable(task, result));
    }

    @Override
    public <T> Future<T> submit(Callable<T> task) {
        return schedule(task, 0, TimeUnit.NANOSECONDS);
    }

    private ScheduledFuture<?> repeat(Runnable command, long initial, long period, TimeUnit unit,
            int sign) {
        Objects.requireNonNull(command, "command");
        Objects.requireNonNull(unit, "unit");
        if (period <= 0)
            throw new IllegalArgumentException("period " + period);
        return new Task<Object>(command, null, sign * unit.toNanos(period))
                .schedule(Wheel.delay(initial, unit));
    }

    @Override
    public ScheduledFuture<?> scheduleAtFixedRate(Runnable command, long initialDelay, long period,
            TimeUnit unit) {
        return repeat(command, initialDelay, period, unit, 1);
    }

    @Override
    public ScheduledFuture<?> scheduleWithFixedDelay(Runnable command, long initialDelay, long delay,
            TimeUnit unit) {
        return repeat(command, initialDelay, delay, unit, -1);
    }

    @Override
    public void execute(Runnable command) {
        schedule(command, 0, TimeUnit.NANOSECONDS);
    }

    /** The tasks that wait. The timer that ends the thread is none. */
    private List<Task<?>> waiting() {
        List<Task<?>> tasks = new ArrayList<>();
        for (WheelTimer timer : timers.armed())
            if (timer instanceof TaskTimer)
                tasks.add(((TaskTimer) timer).task);
        return tasks;
    }

    @Override
    public void shutdown() {
        List<Task<?>> tasks;
        synchronized (timers.wheel()) {
            shutdown = true;
            tasks = waiting();
        }
        for (Task<?> task : tasks)
            if (task.isPeriodic())
                task.cancel(false);
        terminate();
    }

    /** As shutdown(), but nothing runs any more. Interrupts what runs. Returns what has not run. */
    @Override
    public List<Runnable> shutdownNow() {
        List<Task<?>> left;
        synchronized (timers.wheel()) {
            shutdown = true;
            left = waiting();
            for (Task<?> task : left)
                task.timer.cancel();
        }
        timers.interrupt();
        terminate();
        return new ArrayList<>(left);
    }

    /** Tells what ThreadPoolExecutor does: its state, and how many tasks wait. */
    @Override
    public String toString() {
        String state = isTerminated() ? "Terminated" : isShutdown() ? "Shutting down" : "Running";
        return super.toString() + "[" + state + ", queued tasks = " + waiting().size() + "]";
    }

    @Override
    public boolean isShutdown() {
        return shutdown;
    }

    @Override
    public boolean isTerminated() {
        return terminated.getCount() == 0;
    }

    @Override
    public boolean awaitTermination(long timeout, TimeUnit unit) throws InterruptedException {
        return terminated.await(timeout, unit);
    }
}
