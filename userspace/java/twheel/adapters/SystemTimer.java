// SPDX-License-Identifier: GPL-2.0-only OR MIT
package twheel.adapters;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

import twheel.Timers;
import twheel.Wheel;
import twheel.WheelTimer;

/**
 * Timers in the shape of Kafka's SystemTimer: a thread of the program calls {@link #advanceClock} in a
 * loop, and an executor runs the tasks.
 */
public final class SystemTimer implements AutoCloseable {
    /** What is to be run after a delay. */
    public abstract static class TimerTask implements Runnable {
        public final long delayMs;
        private volatile boolean cancelled;
        /** That which was armed last; it changes under the monitor of the task. */
        private WheelTimer timer;

        protected TimerTask(long delayMs) {
            this.delayMs = delayMs;
        }

        /** Cancels it, until it is added again, unless it was given to the executor already. */
        public synchronized void cancel() {
            cancelled = true;
            if (timer != null)
                timer.cancel();
        }

        /** Was it cancelled since it was last added? */
        public boolean isCancelled() {
            return cancelled;
        }
    }

    private final Timers timers = new Timers(new Wheel(), Long.MAX_VALUE);
    private final ExecutorService executor;

    /** Tasks run one after another, in a thread that this names. */
    public SystemTimer(String executorName) {
        this(Executors.newSingleThreadExecutor(task -> new Thread(task, "executor-" + executorName)));
    }

    /** Tasks run in this executor, which is shut down with the timers. */
    public SystemTimer(ExecutorService executor) {
        this.executor = executor;
    }

    /**
     * Arms a task, or arms it anew if it waits, also in another timer, or was cancelled. One whose
     * delay is not above 0 goes to the executor at once.
     */
    public void add(TimerTask task) {
        if (task.delayMs <= 0) {
            task.cancelled = false;
            executor.execute(task);
            return;
        }
        synchronized (task) {
            WheelTimer before = task.timer;
            task.cancelled = false;
            task.timer = timers.schedule(() -> executor.execute(task), task.delayMs,
                    TimeUnit.MILLISECONDS);
            if (before != null)
                before.cancel();
        }
    }

    /**
     * Gives the executor what is due, and waits for the first of it for so long at most. Threads that
     * call it take turns; one that gets none in time returns, too.
     *
     * @return whether there was anything for this thread
     */
    public boolean advanceClock(long timeoutMs) {
        return timers.run(timeoutMs, TimeUnit.MILLISECONDS) > 0;
    }

    /** How many tasks wait. */
    public int size() {
        return timers.pending();
    }

    /**
     * What waits will not run. advanceClock() ends with a TwheelException, also in a thread that is in
     * it.
     */
    @Override
    public void close() {
        timers.stop();
        executor.shutdown();
    }
}
