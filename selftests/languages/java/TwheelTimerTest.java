// SPDX-License-Identifier: GPL-2.0-only
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;
import static org.junit.Assume.assumeTrue;

import java.io.File;
import java.util.Collections;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

import io.netty.util.Timeout;
import io.netty.util.Timer;
import io.netty.util.TimerTask;
import org.junit.Test;

import twheel.netty.TwheelTimer;

/** What Netty says of its Timer, and its HashedWheelTimer of itself. */
public class TwheelTimerTest {
    private static final TimerTask NOTHING = timeout -> { };

    @Test
    public void tasksRunInTimeAndInOrder() throws InterruptedException {
        TwheelTimer timer = new TwheelTimer();
        CountDownLatch left = new CountDownLatch(3);
        StringBuffer ran = new StringBuffer();
        long begun = System.nanoTime();
        AtomicReference<Timeout> given = new AtomicReference<>();
        Timeout late = timer.newTimeout(timeout -> {
            given.set(timeout);
            ran.append("late");
            left.countDown();
        }, 1, TimeUnit.HOURS);
        timer.newTimeout(timeout -> {
            ran.append("now ");
            left.countDown();
        }, -1, TimeUnit.MILLISECONDS);
        timer.newTimeout(timeout -> {
            ran.append("soon ");
            left.countDown();
        }, 10, TimeUnit.MILLISECONDS);
        assertTrue(((TwheelTimer.TwheelTimeout) late).push(600, TimeUnit.MILLISECONDS));
        left.await();
        assertTrue(System.nanoTime() - begun >= TimeUnit.MILLISECONDS.toNanos(600));
        assertEquals("now soon late", ran.toString());
        assertSame(late, given.get());
        assertSame(timer, late.timer());
        assertTrue(late.isExpired());
        assertFalse(late.cancel());
        assertFalse(late.isCancelled());
        assertEquals(Collections.emptySet(), timer.stop());
    }

    @Test
    public void stopReturnsWhatIsLeft() throws InterruptedException {
        TwheelTimer timer = new TwheelTimer();
        Set<Timeout> expected = new HashSet<>();
        CountDownLatch ran = new CountDownLatch(100);
        for (int i = 0; i < 100; i++) {
            expected.add(timer.newTimeout(NOTHING, 1 + i, TimeUnit.HOURS));
            timer.newTimeout(timeout -> ran.countDown(), i, TimeUnit.MICROSECONDS);
        }
        Timeout cancelled = timer.newTimeout(NOTHING, 1, TimeUnit.HOURS);
        assertSame(NOTHING, cancelled.task());
        assertTrue(cancelled.cancel());
        assertTrue(cancelled.toString().endsWith("[CANCELLED] of " + NOTHING));
        assertFalse(cancelled.cancel());
        ran.await();
        assertEquals(100, timer.pendingTimeouts());
        assertEquals(expected, timer.stop());
        for (Timeout timeout : expected)
            assertFalse(timeout.isExpired() || timeout.isCancelled());
        assertTrue(expected.iterator().next().cancel());
        assertEquals(Collections.emptySet(), timer.stop());
        assertThrows(IllegalStateException.class, () -> timer.newTimeout(NOTHING, 0, TimeUnit.SECONDS));
        assertEquals(Collections.emptySet(), new TwheelTimer().stop());
    }

    @Test
    public void stopByATaskIsRefused() throws InterruptedException {
        Timer timer = new TwheelTimer();
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        CountDownLatch ran = new CountDownLatch(1);
        timer.newTimeout(timeout -> {
            try {
                timeout.timer().stop();
            } catch (IllegalStateException e) {
                thrown.set(e);
            }
            ran.countDown();
        }, 0, TimeUnit.SECONDS);
        ran.await();
        assertTrue(thrown.get() instanceof IllegalStateException);
        timer.stop();
    }

    @Test
    public void stopInterruptsATask() throws InterruptedException {
        Timer timer = new TwheelTimer();
        CountDownLatch runs = new CountDownLatch(1);
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        timer.newTimeout(timeout -> {
            runs.countDown();
            try {
                Thread.sleep(10_000);
            } catch (InterruptedException e) {
                thrown.set(e);
            }
        }, 0, TimeUnit.SECONDS);
        runs.await();
        timer.stop();
        assertTrue(thrown.get() instanceof InterruptedException);
    }

    @Test
    public void exceptionsDoNotStopIt() throws InterruptedException {
        Timer timer = new TwheelTimer();
        CountDownLatch ran = new CountDownLatch(1);
        timer.newTimeout(timeout -> {
            throw new Exception("on purpose");
        }, 0, TimeUnit.SECONDS);
        timer.newTimeout(timeout -> {
            throw new NoClassDefFoundError("on purpose");
        }, 0, TimeUnit.SECONDS);
        timer.newTimeout(timeout -> ran.countDown(), 5, TimeUnit.MILLISECONDS);
        ran.await();
        timer.stop();
    }

    @Test
    public void maxPendingTimeouts() {
        TwheelTimer timer = new TwheelTimer(Executors.defaultThreadFactory(), 2);
        Timeout first = timer.newTimeout(NOTHING, 1, TimeUnit.HOURS);
        timer.newTimeout(NOTHING, 1, TimeUnit.HOURS);
        assertThrows(RejectedExecutionException.class, () -> timer.newTimeout(NOTHING, 0, TimeUnit.HOURS));
        assertEquals(2, timer.pendingTimeouts());
        first.cancel();
        timer.newTimeout(NOTHING, 1, TimeUnit.HOURS);
        assertThrows(NullPointerException.class, () -> timer.newTimeout(null, 0, TimeUnit.HOURS));
        assertThrows(NullPointerException.class, () -> timer.newTimeout(NOTHING, 0, null));
        assertThrows(NullPointerException.class, () -> new TwheelTimer(null));
        assertEquals(2, timer.stop().size());
    }

    @Test
    public void aFactoryThatUsesTheTimer() {
        AtomicReference<TwheelTimer> self = new AtomicReference<>();
        self.set(new TwheelTimer(Threads.after(
                () -> self.get().newTimeout(NOTHING, 1, TimeUnit.HOURS))));
        self.get().start();
        assertEquals(1, self.get().stop().size());
    }

    @Test
    public void tooLongIsForEver() {
        TwheelTimer timer = new TwheelTimer();
        for (long delay : new long[] { Long.MAX_VALUE, Long.MAX_VALUE / 1000, 1L << 33 })
            timer.newTimeout(timeout -> {
                throw new AssertionError("it came");
            }, delay, TimeUnit.SECONDS);
        assertEquals(3, timer.pendingTimeouts());
        assertEquals(3, timer.stop().size());
    }

    @Test
    public void pushedBackTimeoutsRunOnce() throws InterruptedException {
        TwheelTimer timer = new TwheelTimer();
        AtomicInteger runs = new AtomicInteger();
        CountDownLatch ran = new CountDownLatch(1);
        long begun = System.nanoTime();
        TwheelTimer.TwheelTimeout timeout = timer.newTimeout(t -> {
            runs.incrementAndGet();
            ran.countDown();
        }, 1, TimeUnit.HOURS);
        for (int i = 0; i < 1000; i++)
            assertTrue(timeout.push(1 + i % 7, TimeUnit.HOURS));
        assertTrue(timeout.push(20, TimeUnit.MILLISECONDS));
        ran.await();
        assertTrue(System.nanoTime() - begun >= TimeUnit.MILLISECONDS.toNanos(20));
        assertFalse(timeout.push(1, TimeUnit.HOURS));
        assertEquals(1, runs.get());
        assertEquals(Collections.emptySet(), timer.stop());
    }

    @Test
    public void tasksInAnExecutor() throws InterruptedException {
        ExecutorService executor = Executors.newSingleThreadExecutor(task -> new Thread(task, "tasks"));
        TwheelTimer timer = new TwheelTimer(Executors.defaultThreadFactory(), 0, executor);
        AtomicReference<String> where = new AtomicReference<>();
        CountDownLatch ran = new CountDownLatch(2);
        timer.newTimeout(timeout -> {
            where.set(Thread.currentThread().getName());
            ran.countDown();
            throw new Exception("on purpose");
        }, 0, TimeUnit.SECONDS);
        timer.newTimeout(timeout -> ran.countDown(), 0, TimeUnit.SECONDS);
        ran.await();
        assertEquals("tasks", where.get());
        timer.stop();
        executor.shutdown();
    }

    /** A timer takes descriptors when it starts. */
    @Test
    public void unusedTakesNothing() {
        assumeTrue("there is no /proc", new File("/proc/self/fd").isDirectory());
        TwheelTimer[] timers = new TwheelTimer[300];
        timers[0] = new TwheelTimer();
        timers[0].newTimeout(NOTHING, 1, TimeUnit.HOURS);
        int before = new File("/proc/self/fd").list().length;
        for (int i = 1; i < timers.length; i++)
            timers[i] = new TwheelTimer();
        assertTrue(new File("/proc/self/fd").list().length <= before);
        assertEquals(0, timers[1].pendingTimeouts());
        assertEquals(Collections.emptySet(), timers[1].stop());
        assertThrows(IllegalStateException.class,
                () -> timers[1].newTimeout(NOTHING, 0, TimeUnit.HOURS));
        assertEquals(1, timers[0].stop().size());
    }

    /** A task that arms itself again, which a timer that stops may not lose or run twice. */
    @Test
    public void aTaskMayArmAgain() throws InterruptedException {
        TwheelTimer timer = new TwheelTimer();
        CountDownLatch rounds = new CountDownLatch(200);
        timer.newTimeout(new TimerTask() {
            @Override
            public void run(Timeout timeout) {
                rounds.countDown();
                if (rounds.getCount() > 0)
                    timeout.timer().newTimeout(this, 50, TimeUnit.MICROSECONDS);
            }
        }, 0, TimeUnit.SECONDS);
        rounds.await();
        assertEquals(0, timer.stop().size());
    }
}
