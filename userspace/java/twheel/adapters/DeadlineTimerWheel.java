// SPDX-License-Identifier: GPL-2.0-only OR MIT
package twheel.adapters;

import java.util.concurrent.TimeUnit;

import twheel.Events;
import twheel.TimerInfo;
import twheel.Wheel;

/**
 * Timers in the shape of Agrona's DeadlineTimerWheel: the clock is what the caller says in {@link
 * #poll}, and stands still meanwhile. For one thread.
 *
 * <p>Times are the caller's, in any unit and from any start. A timer expires at the first tick that is
 * not before its deadline.
 */
public final class DeadlineTimerWheel implements AutoCloseable {
    /** What {@link #deadline} returns of a timer that is not there. */
    public static final long NULL_DEADLINE = Long.MAX_VALUE;

    /** What is called when a timer has expired. */
    @FunctionalInterface
    public interface TimerHandler {
        /** Returns false to keep the timer, and to end the poll. */
        boolean onTimerExpiry(TimeUnit timeUnit, long now, long timerId);
    }

    private final Wheel wheel = new Wheel(new Wheel.Options().keyed().embedded());
    private final Events event = new Events(1);
    private final TimeUnit timeUnit;
    private final long startTime;
    private final long tickResolution;
    /** A tick of the caller's is one of the wheel's, which has no tick 0. */
    private final long tickNs = wheel.tick();
    private long tick;
    private long lastId;

    /**
     * @param timeUnit of all times; it is only passed on
     * @param startTime what time it is now
     * @param tickResolution how long a tick is in that unit
     */
    public DeadlineTimerWheel(TimeUnit timeUnit, long startTime, long tickResolution) {
        if (tickResolution < 1)
            throw new IllegalArgumentException("a tick of " + tickResolution);
        this.timeUnit = timeUnit;
        this.startTime = startTime;
        this.tickResolution = tickResolution;
        wheel.setNow(ns(0));
    }

    public TimeUnit timeUnit() {
        return timeUnit;
    }

    public long startTime() {
        return startTime;
    }

    public long tickResolution() {
        return tickResolution;
    }

    /** The time of the present tick. */
    public long currentTickTime() {
        return startTime + tick * tickResolution;
    }

    /** How many timers there are. */
    public long timerCount() {
        return wheel.pending() + wheel.ready();
    }

    private long ns(long tick) {
        return tick < Long.MAX_VALUE / tickNs - 1 ? (tick + 1) * tickNs : Long.MAX_VALUE;
    }

    /** How many ticks have passed since the start at a time, rounded up if there is a part of one. */
    private long ticks(long time, boolean up) {
        long since = time - startTime;
        if (time <= startTime)
            return 0;
        if (since < 0)
            return Long.MAX_VALUE;
        return since / tickResolution + (up && since % tickResolution != 0 ? 1 : 0);
    }

    /** Arms a timer. Returns its number. */
    public long scheduleTimer(long deadline) {
        wheel.putAt(++lastId, ns(ticks(deadline, true)), deadline);
        return lastId;
    }

    /** Cancels a timer. Returns false if there is none. */
    public boolean cancelTimer(long timerId) {
        return wheel.cancel(timerId);
    }

    /** When a timer is due. */
    public long deadline(long timerId) {
        TimerInfo info = wheel.get(timerId);
        return info == null ? NULL_DEADLINE : info.userData;
    }

    /** Cancels all timers. */
    public void clear() {
        wheel.cancelAll();
    }

    /**
     * Moves the clock to {@code now}, if that is later, and calls the handler for what is due.
     *
     * @param maxTimersToExpire how many at most
     * @return how many have expired
     */
    public int poll(long now, TimerHandler handler, int maxTimersToExpire) {
        int expired = 0;
        long to = ticks(now, false);
        if (to > tick) {
            tick = to;
            wheel.setNow(ns(tick));
        }
        while (expired < maxTimersToExpire && wheel.poll(event) > 0) {
            long id = event.handle(0);
            long deadline = event.userData(0);
            boolean consumed = false;
            try {
                consumed = handler.onTimerExpiry(timeUnit, now, id);
            } finally {
                if (!consumed)
                    wheel.putAt(id, ns(ticks(deadline, true)), deadline);
            }
            if (!consumed)
                break;
            expired++;
        }
        return expired;
    }

    @Override
    public void close() {
        wheel.close();
    }
}
