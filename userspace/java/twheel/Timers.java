// SPDX-License-Identifier: GPL-2.0-only OR MIT
package twheel;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A wheel whose timers are objects with functions.
 *
 * <p>The functions are called by {@link #run}, or by a thread of its own after {@link #start}, one
 * after another and by deadline. That thread sleeps until something is due.
 *
 * <p>If the wheel can have leases its timers are leases: to push one back to a later time takes no system
 * call then, and the wheel looks at it again when it was due before.
 *
 * <p>All that is here changes under the monitor of the wheel, which the wheel's own calls take, too.
 */
public final class Timers implements AutoCloseable {
    /** How many events are read at a time. */
    private static final int EVENTS = 256;

    /** A timer whose event was read, and what that and the timer said then. */
    private static final class Due {
        /** Equal deadlines come as armed. */
        static final Comparator<Due> ORDER =
                Comparator.<Due>comparingLong(due -> due.deadline).thenComparingLong(due -> due.order);

        final WheelTimer timer;
        final long handle, deadline, order;

        Due(WheelTimer timer, long deadline) {
            this.timer = timer;
            this.deadline = deadline;
            handle = timer.handle;
            order = timer.order;
        }
    }

    private final Wheel wheel;
    private final long limit;
    private final boolean leases;
    /** What setLease() takes and gives. */
    private final long[] lease = new long[3];
    private final Events events = new Events(EVENTS);
    /** What was read and has not been handled. */
    private List<Due> due = new ArrayList<>();
    /** Whoever reads events, and calls functions, has this. */
    private final ReentrantLock turn = new ReentrantLock();
    private Thread worker;
    /** Is a factory being asked for it? */
    private boolean asking;
    private boolean stopped;
    /** The thread was told by {@link #interrupt}, which is for good. */
    private boolean interrupted;

    /** The timers that are armed, by slot, which is their user data in the wheel. */
    private WheelTimer[] armed = new WheelTimer[16];
    /** Slots that are free. */
    private int[] free = new int[16];
    private int nrFree;
    private int used;
    /** How often timers were armed. */
    private long armings;

    /**
     * Opens a wheel for timers with functions: with leases if it is the device's, where they save system
     * calls. In the process a lease costs more to arm than it saves when it is pushed back once or twice.
     */
    public static Wheel openWheel() {
        Wheel wheel = new Wheel(new Wheel.Options().leases());
        if (!wheel.isEmbedded())
            return wheel;
        wheel.close();
        return new Wheel();
    }

    /** As many timers as like, of a wheel by {@link #openWheel}. */
    public Timers() {
        this(openWheel(), Long.MAX_VALUE);
    }

    /**
     * Timers of this wheel, which it takes over: nobody else arms timers in it.
     *
     * @param limit how many may be armed at a time
     * @throws IllegalArgumentException if the wheel has keys, or for a limit below 0
     */
    public Timers(Wheel wheel, long limit) {
        if (wheel.isKeyed())
            throw new IllegalArgumentException("a wheel with keys has no timers with functions");
        if (limit < 0)
            throw new IllegalArgumentException("a limit is 0 or more timers, not " + limit);
        this.wheel = wheel;
        this.limit = limit;
        leases = wheel.hasLeases();
    }

    /** Makes a timer that calls {@code function} after a delay. */
    public WheelTimer schedule(Runnable function, long delay, TimeUnit unit) {
        Objects.requireNonNull(function, "function");
        WheelTimer timer = new WheelTimer(this) {
            @Override
            protected void expired() {
                function.run();
            }
        };
        timer.start(delay, unit);
        return timer;
    }

    /** How many timers are armed. */
    public int pending() {
        synchronized (wheel) {
            return used - nrFree;
        }
    }

    public Wheel wheel() {
        return wheel;
    }

    private int takeSlot() {
        if (nrFree > 0)
            return free[--nrFree];
        if (used == armed.length) {
            armed = Arrays.copyOf(armed, 2 * used);
            free = Arrays.copyOf(free, 2 * used);
        }
        return used++;
    }

    private void giveSlot(int slot) {
        armed[slot] = null;
        free[nrFree++] = slot;
    }

    void arm(WheelTimer timer, long delay) {
        synchronized (wheel) {
            if (stopped)
                throw new IllegalStateException("the timers were stopped");
            long tw = wheel.use();
            boolean again = timer.state == WheelTimer.State.ARMED;
            if (again && timer.word != 0 && Native.leasePush(tw, timer.word, timer.tag, delay) > 0) {
                timer.order = ++armings;
                return;
            }
            if (!again && used - nrFree >= limit)
                throw new RejectedExecutionException("there are " + limit + " timers, which is the limit");
            int slot = again ? timer.slot : takeSlot();
            try {
                set(tw, timer, again ? timer.handle : 0, delay, slot);
            } catch (TwheelException e) {
                if (!again)
                    giveSlot(slot);
                throw e;
            }
            timer.order = ++armings;
            if (!again) {
                timer.slot = slot;
                timer.state = WheelTimer.State.ARMED;
                armed[slot] = timer;
            }
        }
    }

    /**
     * Arms it in the wheel, by the handle that it has or by another one. If its event was read already
     * that is of the handle before, and is dropped.
     */
    private void set(long tw, WheelTimer timer, long handle, long delay, int slot) {
        if (leases) {
            lease[0] = handle;
            TwheelException.check("arm", Native.setLease(tw, delay, slot, lease));
            timer.handle = lease[0];
            timer.word = lease[1];
            timer.tag = (int) lease[2];
        } else {
            timer.handle = TwheelException.check("set_after", Native.setAfter(tw, handle, delay, slot));
        }
    }

    boolean push(WheelTimer timer, long delay) {
        synchronized (wheel) {
            if (timer.state != WheelTimer.State.ARMED)
                return false;
            arm(timer, delay);
            return true;
        }
    }

    boolean cancel(WheelTimer timer) {
        synchronized (wheel) {
            if (timer.state != WheelTimer.State.ARMED)
                return false;
            timer.state = WheelTimer.State.CANCELLED;
            if (!stopped) {
                /* It is gone already if its event was read. */
                Native.cancel(wheel.use(), timer.handle);
                giveSlot(timer.slot);
            }
            return true;
        }
    }

    long remaining(WheelTimer timer) {
        synchronized (wheel) {
            if (timer.state != WheelTimer.State.ARMED || wheel.isClosed())
                return 0;
            TimerInfo info = wheel.get(timer.handle);
            return info == null ? 0 : info.remaining;
        }
    }

    /** The timer is over, unless it was cancelled or armed again since its event was read. */
    private boolean take(Due read) {
        WheelTimer timer = read.timer;
        synchronized (wheel) {
            if (stopped || timer.state != WheelTimer.State.ARMED || timer.handle != read.handle)
                return false;
            timer.state = WheelTimer.State.EXPIRED;
            giveSlot(timer.slot);
            /* What has interrupted the function before was not for this one. */
            if (Thread.currentThread() == worker && !interrupted)
                Thread.interrupted();
            return true;
        }
    }

    /** Notes the timers of the events that were read. Returns whether one was due at this time. */
    private boolean note(long time) {
        boolean was = false;
        synchronized (wheel) {
            for (int i = 0; i < events.count(); i++) {
                WheelTimer timer = armed[(int) events.userData(i)];
                if (timer != null && timer.handle == events.handle(i)) {
                    /* It may be that of another lease from now on. */
                    timer.word = 0;
                    due.add(new Due(timer, events.deadline(i)));
                }
                was |= events.deadline(i) <= time;
            }
        }
        return was;
    }

    /**
     * Reads all that is due, and sorts it: on the device it comes from several CPUs, and what was pushed
     * back comes as it was armed before. Others may arm timers all the time, so this ends when it finds
     * only what was not due as it began.
     */
    private void gather(long timeout) {
        int n = wheel.read(events, timeout);
        try {
            long begin = n < EVENTS ? 0 : wheel.now();
            while (note(begin) && n == EVENTS)
                n = wheel.poll(events);
        } catch (TwheelException e) {
            /* The next read says so, too. */
        }
        due.sort(Due.ORDER);
    }

    /**
     * Calls the functions of what is due, in this thread, and waits for the first for so long at most.
     * That includes the time for which it waits for another thread's run() to end.
     *
     * @return how many were called; 0 also if the other run() has not ended in time
     * @throws IllegalStateException if a function calls it, or if the thread of {@link #start} runs
     */
    public int run(long timeout, TimeUnit unit) {
        long begun = System.nanoTime();
        long wait = Wheel.delay(timeout, unit);
        if (turn.isHeldByCurrentThread())
            throw new IllegalStateException("run() by a timer's function");
        if (hasWorker())
            throw new IllegalStateException("run() beside the thread of start()");
        if (!awaitTurn(begun, wait))
            return 0;
        try {
            return callDue(left(begun, wait));
        } finally {
            turn.unlock();
        }
    }

    /** What is left of a time to wait. */
    private static long left(long begun, long wait) {
        return Math.max(wait - (System.nanoTime() - begun), 0);
    }

    /** Takes the turn; to interrupt the thread does not end this. Returns false if there was no time. */
    private boolean awaitTurn(long begun, long wait) {
        boolean interrupted = false;
        try {
            for (;;) {
                try {
                    return turn.tryLock(left(begun, wait), TimeUnit.NANOSECONDS);
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted)
                Thread.currentThread().interrupt();
        }
    }

    /** Calls what is due. The caller has the turn. */
    private int callDue(long timeout) {
        int called = 0;
        /* What an Error has left comes first. take() refuses what was called. */
        gather(due.isEmpty() ? timeout : 0);
        for (Due read : due) {
            if (take(read)) {
                read.timer.fire();
                called++;
            }
        }
        due = new ArrayList<>();
        return called;
    }

    private void work() {
        turn.lock();
        try {
            for (;;)
                callDue(Long.MAX_VALUE);
        } catch (TwheelException e) {
            /* It was stopped; or cannot be read, and would not the next time either. */
            if (!wheel.isClosed())
                throw e;
        } finally {
            turn.unlock();
        }
    }

    /**
     * Starts a thread that calls the functions, unless it is there already. It waits in C, so a virtual
     * thread would keep its carrier for good. The factory may use the timers. While it is asked another
     * call returns at once.
     */
    public void start(ThreadFactory factory) {
        if (!begin(factory))
            throw new IllegalStateException("the timers were stopped");
    }

    /** Returns false if the timers were stopped. */
    boolean begin(ThreadFactory factory) {
        synchronized (wheel) {
            if (stopped || worker != null || asking)
                return !stopped;
            asking = true;
        }
        Thread thread = null;
        try {
            /* It may wait for another thread that wants the monitor. */
            thread = Objects.requireNonNull(factory.newThread(this::work));
        } finally {
            synchronized (wheel) {
                asking = false;
                if (thread != null && !stopped) {
                    thread.start();
                    worker = thread;
                }
            }
        }
        synchronized (wheel) {
            return !stopped;
        }
    }

    /** Interrupts the thread, and so the function that waits, and what runs after it. */
    void interrupt() {
        synchronized (wheel) {
            interrupted = true;
            if (worker != null)
                worker.interrupt();
        }
    }

    /** The timers that are armed, by no order. */
    public List<WheelTimer> armed() {
        synchronized (wheel) {
            if (stopped)
                return Collections.emptyList();
            List<WheelTimer> all = new ArrayList<>(used - nrFree);
            for (int slot = 0; slot < used; slot++)
                if (armed[slot] != null)
                    all.add(armed[slot]);
            return all;
        }
    }

    /**
     * Stops for good. When it returns no function is running, and none will be called, unless a
     * function has called it.
     *
     * @return the timers that have neither expired nor were cancelled; none if it was stopped already
     */
    public List<WheelTimer> stop() {
        return stop(false);
    }

    /** The same, and interrupts the function that runs in the thread of {@link #start}. */
    public List<WheelTimer> stopNow() {
        return stop(true);
    }

    private List<WheelTimer> stop(boolean interrupt) {
        List<WheelTimer> left;
        Thread thread;
        synchronized (wheel) {
            left = armed();
            stopped = true;
            thread = worker;
            if (interrupt)
                interrupt();
        }
        wheel.close();
        if (!turn.isHeldByCurrentThread()) {
            /* When this has the turn the function that was running has ended. */
            turn.lock();
            turn.unlock();
            join(thread);
        }
        return left;
    }

    private static void join(Thread thread) {
        boolean interrupted = false;
        if (thread == null)
            return;
        for (;;) {
            try {
                thread.join();
                break;
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted)
            Thread.currentThread().interrupt();
    }

    /** Is there a thread that {@link #start} has started? */
    public boolean hasWorker() {
        synchronized (wheel) {
            return worker != null && worker.isAlive();
        }
    }

    /** Is this the thread that {@link #start} has started? */
    public boolean isWorker() {
        synchronized (wheel) {
            return Thread.currentThread() == worker;
        }
    }

    @Override
    public void close() {
        stop();
    }
}
