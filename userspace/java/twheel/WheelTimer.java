// SPDX-License-Identifier: GPL-2.0-only OR MIT
package twheel;

import java.util.concurrent.TimeUnit;

/**
 * A timer of {@link Timers}: an object with a function, which is called each time that the timer was
 * armed and has expired.
 *
 * <p>Its methods may be called by any thread, and by its own function.
 */
public abstract class WheelTimer {
    /** What a timer is. */
    enum State { NEW, ARMED, EXPIRED, CANCELLED }

    private final Timers timers;
    /** These change under the monitor of the wheel. */
    volatile State state = State.NEW;
    long handle;
    /** The word and the tag of its lease, if it is one. */
    long word;
    int tag;
    /** When it was armed: who was armed later has the higher number. */
    long order;
    /** Its place among the timers that are armed. */
    int slot;

    /** Makes a timer that is not armed yet. */
    protected WheelTimer(Timers timers) {
        this.timers = timers;
    }

    /** What to do when it has expired. An exception ends neither the thread nor the wheel. */
    protected abstract void expired() throws Exception;

    /** Called when {@link #cancel} has cancelled it, by the thread that did so. */
    protected void cancelled() throws Throwable {
    }

    /** Takes what these have thrown: by default as the thread's uncaught exceptions. */
    protected void failed(Throwable error) {
        Thread thread = Thread.currentThread();
        thread.getUncaughtExceptionHandler().uncaughtException(thread, error);
    }

    /**
     * Has it expire after a delay, whether it is armed or not: so it is pushed back, too.
     *
     * @throws java.util.concurrent.RejectedExecutionException if there are too many timers; it is as
     *     it was
     * @throws IllegalStateException if the timers were stopped
     */
    public final void start(long delay, TimeUnit unit) {
        timers.arm(this, Wheel.delay(delay, unit));
    }

    /** The same, only if it is armed. Returns false, and does nothing, if it is not. */
    public final boolean push(long delay, TimeUnit unit) {
        return timers.push(this, Wheel.delay(delay, unit));
    }

    /** Cancels it. Returns false if it is not armed, as after its function was called. */
    public final boolean cancel() {
        if (!timers.cancel(this))
            return false;
        try {
            cancelled();
        } catch (Throwable error) {
            handOn(error);
        }
        return true;
    }

    public final boolean isArmed() {
        return state == State.ARMED;
    }

    public final boolean isExpired() {
        return state == State.EXPIRED;
    }

    public final boolean isCancelled() {
        return state == State.CANCELLED;
    }

    /** How long until it is due; 0 if it is due or not armed. */
    public final long remaining(TimeUnit unit) {
        return unit.convert(timers.remaining(this), TimeUnit.NANOSECONDS);
    }

    /** Tells its state and, of one that is armed, when it is due. */
    @Override
    public String toString() {
        return super.toString() + "[" + state
                + (isArmed() ? ", due in " + remaining(TimeUnit.NANOSECONDS) + " ns]" : "]");
    }

    final void fire() {
        try {
            expired();
        } catch (Throwable error) {
            handOn(error);
        }
    }

    /** What a handler of exceptions throws is ignored, as that of a thread's is. */
    private void handOn(Throwable error) {
        try {
            failed(error);
        } catch (Throwable ignored) {
            return;
        }
    }
}
