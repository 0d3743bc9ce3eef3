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
 *
 * <p>When 2^42 ticks have passed, 73 minutes of nanoseconds, {@link #poll} arms all timers anew.
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

    /**
     * A tick of the caller's is one of the wheel's, whose time has room for so many and a few more.
     * What is due later waits at the end of that.
     */
    private static final long SPAN = 1L << 42;

    private final Events event = new Events(1);
    private final TimeUnit timeUnit;
    private final long startTime;
    private final long tickResolution;
    private Wheel wheel;
    private final long tickNs;
    /** Ticks since the start are unsigned: there may be more than Long.MAX_VALUE. */
    private long tick;
    /** The tick at which the wheel has begun. */
    private long base;
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
        wheel = open();
        tickNs = wheel.tick();
        wheel.setNow(tickNs);
    }

    private static Wheel open() {
        return new Wheel(new Wheel.Options().keyed().embedded());
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

    /** The time of a tick in the wheel, which has no tick 0. */
    private long ns(long tick) {
        long since = Long.compareUnsigned(tick, base) > 0 ? tick - base : 0;
        return ((Long.compareUnsigned(since, SPAN) < 0 ? since : SPAN) + 1) * tickNs;
    }

    private void arm(long id, long deadline) {
        wheel.putAt(id, ns(ticks(deadline, true)), deadline);
    }

    /** Goes on in a new wheel, which begins at this tick, with all timers of the old one. */
    private void restart(long to) {
        Wheel next = open();
        try (Wheel before = wheel) {
            wheel = next;
            base = tick = to;
            wheel.setNow(ns(tick));
            before.setNow((SPAN + 2) * tickNs);
            while (before.poll(event) > 0)
                arm(event.handle(0), event.userData(0));
        }
    }

    /** How many ticks have passed since the start at a time, rounded up if there is a part of one. */
    private long ticks(long time, boolean up) {
        long since = time - startTime;
        if (time <= startTime)
            return 0;
        long ticks = Long.divideUnsigned(since, tickResolution);
        if (up && Long.remainderUnsigned(since, tickResolution) != 0)
            ticks++;
        return ticks;
    }

    /** Arms a timer. Returns its number. */
    public long scheduleTimer(long deadline) {
        arm(++lastId, deadline);
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
        if (Long.compareUnsigned(to, tick) > 0) {
            if (Long.compareUnsigned(to - base, SPAN) >= 0) {
                restart(to);
            } else {
                tick = to;
                wheel.setNow(ns(tick));
            }
        }
        while (expired < maxTimersToExpire && wheel.poll(event) > 0) {
            long id = event.handle(0);
            long deadline = event.userData(0);
            boolean consumed = false;
            try {
                consumed = handler.onTimerExpiry(timeUnit, now, id);
            } finally {
                if (!consumed)
                    arm(id, deadline);
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
