// SPDX-License-Identifier: GPL-2.0-only
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Delayed;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

import org.junit.After;
import org.junit.Test;

import twheel.TwheelException;
import twheel.Wheel;
import twheel.WheelExecutor;

/** What a ScheduledExecutorService promises. */
public class WheelExecutorTest {
    private static final TimeUnit MS = TimeUnit.MILLISECONDS;
    private final WheelExecutor executor = new WheelExecutor();
    /** One on a wheel in the process, whose clock a test can set */
    private final Wheel wheel = new Wheel(new Wheel.Options().embedded());
    private final WheelExecutor still = new WheelExecutor(wheel, Executors.defaultThreadFactory());

    @After
    public void end() {
        executor.shutdownNow();
        still.shutdownNow();
    }

    @Test
    public void resultsAndExceptions() throws Exception {
        long begun = System.nanoTime();
        ScheduledFuture<String> future = executor.schedule(() -> "done", 20, MS);
        assertTrue(future.getDelay(TimeUnit.MICROSECONDS) <= 20000);
        assertEquals("done", future.get());
        assertTrue(System.nanoTime() - begun >= MS.toNanos(20));
        assertTrue(future.getDelay(MS) <= 0);
        RuntimeException error = new RuntimeException("on purpose");
        ScheduledFuture<?> fails = executor.schedule((Runnable) () -> {
            throw error;
        }, -1, MS);
        assertSame(error, assertThrows(ExecutionException.class, fails::get).getCause());
        assertEquals("after", executor.submit(() -> "after").get());
        List<String> all = new ArrayList<>();
        List<Callable<String>> tasks = Arrays.asList(() -> "a", () -> "b");
        for (Future<String> each : executor.invokeAll(tasks))
            all.add(each.get());
        assertEquals(Arrays.asList("a", "b"), all);
    }

    @Test
    public void inTheOrderOfTheirTimes() throws Exception {
        List<Integer> ran = Collections.synchronizedList(new ArrayList<>());
        wheel.setNow(MS.toNanos(1));
        Future<?> last = still.schedule(() -> ran.add(3), 30, MS);
        still.schedule(() -> ran.add(2), 20, MS);
        still.schedule(() -> ran.add(1), 10, MS);
        wheel.setNow(MS.toNanos(40));
        last.get();
        still.shutdownNow();
        assertEquals(Arrays.asList(1, 2, 3), ran);
        ran.clear();
        /* Of the device's only those that one CPU has armed are in order. */
        WheelExecutor inProcess = new WheelExecutor(new Wheel(new Wheel.Options().embedded()),
                                                    Executors.defaultThreadFactory());
        for (int i = 0; i < 1000; i++) {
            int number = i;
            inProcess.execute(() -> ran.add(number));
        }
        inProcess.submit(() -> { }).get();
        inProcess.shutdownNow();
        assertEquals(1000, ran.size());
        for (int i = 0; i < 1000; i++)
            assertEquals(i, (int) ran.get(i));
    }

    @Test
    public void fixedRateKeepsToItsGrid() throws Exception {
        List<Long> times = Collections.synchronizedList(new ArrayList<>());
        CountDownLatch rounds = new CountDownLatch(5);
        long begun = System.nanoTime();
        ScheduledFuture<?> future = executor.scheduleAtFixedRate(() -> {
            times.add(System.nanoTime());
            rounds.countDown();
        }, 5, 10, MS);
        rounds.await();
        assertTrue(future.cancel(false));
        assertFalse(future.cancel(false));
        assertThrows(CancellationException.class, future::get);
        for (int i = 0; i < 5; i++)
            assertTrue("round " + i, times.get(i) - begun >= MS.toNanos(5 + 10 * i));
        int seen = times.size();
        executor.submit(() -> { }).get();
        executor.schedule(() -> { }, 25, MS).get();
        assertTrue(times.size() <= seen + 1);
    }

    /** It comes after what is due already, and misses no run. */
    @Test
    public void fixedRateThatIsBehind() throws Exception {
        List<String> ran = Collections.synchronizedList(new ArrayList<>());
        CountDownLatch rounds = new CountDownLatch(4);
        wheel.setNow(MS.toNanos(1));
        still.scheduleAtFixedRate(() -> {
            ran.add("rate");
            rounds.countDown();
        }, 10, 10, MS);
        still.schedule(() -> ran.add("25"), 25, MS);
        still.schedule(() -> ran.add("35"), 35, MS);
        wheel.setNow(MS.toNanos(45));
        rounds.await();
        still.submit(() -> { }).get();
        assertEquals(1, still.shutdownNow().size());
        assertEquals(Arrays.asList("rate", "25", "35", "rate", "rate", "rate"), ran);
    }

    @Test
    public void fixedDelayCountsFromTheEnd() throws Exception {
        List<Long> begins = Collections.synchronizedList(new ArrayList<>());
        List<Long> ends = Collections.synchronizedList(new ArrayList<>());
        CountDownLatch rounds = new CountDownLatch(4);
        executor.scheduleWithFixedDelay(() -> {
            begins.add(System.nanoTime());
            ends.add(System.nanoTime());
            rounds.countDown();
        }, 0, 7, MS);
        rounds.await();
        for (int i = 1; i < 4; i++)
            assertTrue(begins.get(i) - ends.get(i - 1) >= MS.toNanos(7));
        assertThrows(IllegalArgumentException.class,
                () -> executor.scheduleWithFixedDelay(() -> { }, 0, 0, MS));
        assertThrows(IllegalArgumentException.class,
                () -> executor.scheduleAtFixedRate(() -> { }, 0, -1, MS));
        assertThrows(NullPointerException.class, () -> executor.schedule((Runnable) null, 0, MS));
        /* What is missing is told before what is wrong, as by other executors. */
        for (long period : new long[] { 0, 1 }) {
            assertThrows(NullPointerException.class,
                    () -> executor.scheduleAtFixedRate(null, 1, period, MS));
            assertThrows(NullPointerException.class,
                    () -> executor.scheduleWithFixedDelay(null, 1, period, MS));
            assertThrows(NullPointerException.class,
                    () -> executor.scheduleAtFixedRate(() -> { }, 1, period, null));
        }
    }

    @Test
    public void anExceptionEndsWhatRepeats() throws Exception {
        AtomicInteger runs = new AtomicInteger();
        ScheduledFuture<?> future = executor.scheduleAtFixedRate(() -> {
            if (runs.incrementAndGet() == 3)
                throw new IllegalStateException("on purpose");
        }, 0, 1, MS);
        assertThrows(ExecutionException.class, future::get);
        executor.schedule(() -> { }, 5, MS).get();
        assertEquals(3, runs.get());
    }

    /** The wheel has no room for what is to run again. */
    @Test
    public void whatRepeatsMayFindNoRoom() throws Exception {
        WheelExecutor small = new WheelExecutor(new Wheel(new Wheel.Options().limit(1)),
                Executors.defaultThreadFactory());
        AtomicInteger runs = new AtomicInteger();
        ScheduledFuture<?> future = small.scheduleAtFixedRate(() -> {
            if (runs.incrementAndGet() == 2)
                small.schedule(() -> { }, 1, TimeUnit.HOURS);
        }, 0, 1, MS);
        Throwable why = assertThrows(ExecutionException.class,
                () -> future.get(10, TimeUnit.SECONDS)).getCause();
        assertTrue(why.toString(), why instanceof TwheelException);
        assertEquals(2, runs.get());
        small.shutdownNow();
        assertTrue(small.awaitTermination(1, TimeUnit.HOURS));
    }

    @Test
    public void aFactoryThatUsesTheExecutor() throws Exception {
        AtomicReference<WheelExecutor> self = new AtomicReference<>();
        self.set(new WheelExecutor(new Wheel(),
                Threads.after(() -> self.get().execute(() -> { }))));
        self.get().submit(() -> { }).get(10, TimeUnit.SECONDS);
        self.get().shutdownNow();
        assertTrue(self.get().awaitTermination(1, TimeUnit.HOURS));
    }

    @Test
    public void cancelledTasksAreGone() throws Exception {
        AtomicInteger runs = new AtomicInteger();
        wheel.setNow(MS.toNanos(1));
        ScheduledFuture<?> soon = still.schedule(runs::incrementAndGet, 5, MS);
        ScheduledFuture<?> never = still.schedule(runs::incrementAndGet, Long.MAX_VALUE, TimeUnit.DAYS);
        Future<?> last = still.schedule(() -> { }, 6, MS);
        assertTrue(never.getDelay(TimeUnit.DAYS) > 365 * 200);
        assertTrue(soon.compareTo(never) < 0);
        assertTrue(soon.cancel(true));
        assertTrue(soon.isCancelled());
        wheel.setNow(MS.toNanos(10));
        last.get();
        assertEquals(0, runs.get());
        assertEquals(Arrays.asList(never), still.shutdownNow());
    }

    /** What submit() returns is what waits: to cancel it takes it out, and shutdownNow() returns it. */
    @Test
    public void whatIsSubmittedCanBeTakenBack() throws Exception {
        CountDownLatch runs = new CountDownLatch(1), go = new CountDownLatch(1);
        still.execute(() -> Threads.hold(runs, go));
        runs.await();
        List<Future<?>> all = Arrays.asList(still.submit(() -> { }), still.submit(() -> { }, "done"),
                                            still.submit(() -> "done"));
        assertEquals(3, wheel.pending() + wheel.ready());
        assertTrue(all.get(1).cancel(false));
        assertEquals(2, wheel.pending() + wheel.ready());
        List<Runnable> left = still.shutdownNow();
        assertEquals(2, left.size());
        for (Runnable task : left)
            assertTrue(((Future<?>) task).cancel(true));
        for (Future<?> each : all)
            assertThrows(CancellationException.class, () -> each.get(10, TimeUnit.SECONDS));
        assertTrue(still.awaitTermination(1, TimeUnit.HOURS));
        assertEquals("done", executor.submit(() -> { }, "done").get());
        assertThrows(NullPointerException.class, () -> executor.submit((Runnable) null));
        assertThrows(NullPointerException.class, () -> executor.submit((Callable<String>) null));
    }

    /** By their times, and with equal times as they were made. */
    @Test
    public void tasksHaveAnOrder() {
        wheel.setNow(System.nanoTime());
        List<Delayed> tasks = new ArrayList<>();
        for (int i = 0; i < 100; i++)
            tasks.add(still.schedule(() -> { }, 1 + i / 10, TimeUnit.HOURS));
        for (int i = 0; i < 100; i++)
            for (int j = 0; j < 100; j++)
                assertEquals(Integer.compare(i, j),
                             Integer.signum(tasks.get(i).compareTo(tasks.get(j))));
        Set<Delayed> set = new TreeSet<>(tasks);
        assertEquals(100, set.size());
        for (Delayed task : tasks)
            assertTrue(set.remove(task));
        /* Of another kind */
        ScheduledExecutorService other = Executors.newSingleThreadScheduledExecutor();
        assertTrue(tasks.get(0).compareTo(other.schedule(() -> { }, 0, MS)) > 0);
        other.shutdownNow();
    }

    /** What interrupts a task, or itself, is not for the next one. */
    @Test
    public void interruptsAreForOneTask() throws Exception {
        CountDownLatch runs = new CountDownLatch(1), go = new CountDownLatch(1);
        Future<?> first = executor.submit(() -> Threads.hold(runs, go));
        runs.await();
        Future<Boolean> second = executor.submit(() -> {
            boolean interrupted = Thread.currentThread().isInterrupted();
            Thread.currentThread().interrupt();
            return interrupted;
        });
        assertTrue(first.cancel(true));
        assertFalse(second.get());
        assertFalse(executor.submit(() -> Thread.currentThread().isInterrupted()).get());
    }

    @Test
    public void shutdownRunsWhatWasScheduledOnce() throws Exception {
        AtomicInteger runs = new AtomicInteger();
        wheel.setNow(MS.toNanos(1));
        ScheduledFuture<?> once = still.schedule(runs::incrementAndGet, 20, MS);
        ScheduledFuture<?> repeats = still.scheduleAtFixedRate(() -> { }, 1, 1, TimeUnit.HOURS);
        assertTrue(still.toString().endsWith("[Running, queued tasks = 2]"));
        still.shutdown();
        still.shutdown();
        assertTrue(still.isShutdown());
        assertTrue(repeats.isCancelled());
        assertThrows(RejectedExecutionException.class, () -> still.execute(() -> { }));
        wheel.setNow(MS.toNanos(30));
        once.get();
        assertTrue(still.awaitTermination(1, TimeUnit.HOURS));
        assertTrue(still.isTerminated());
        assertTrue(still.toString().endsWith("[Terminated, queued tasks = 0]"));
        assertEquals(1, runs.get());
        assertEquals(Collections.emptyList(), still.shutdownNow());
    }

    /** shutdown() does not wait for what runs, and what runs may schedule nothing any more. */
    @Test
    public void shutdownWhileATaskRuns() throws Exception {
        CountDownLatch runs = new CountDownLatch(1), go = new CountDownLatch(1);
        AtomicInteger rounds = new AtomicInteger();
        ScheduledFuture<?> future = executor.scheduleAtFixedRate(() -> {
            rounds.incrementAndGet();
            runs.countDown();
            try {
                go.await();
            } catch (InterruptedException e) {
                rounds.addAndGet(1000);
            }
        }, 0, 1, MS);
        runs.await();
        executor.shutdown();
        assertFalse(executor.isTerminated());
        go.countDown();
        assertTrue(executor.awaitTermination(1, TimeUnit.HOURS));
        assertTrue(future.isCancelled());
        assertEquals(1, rounds.get());
    }

    /** An executor that is not used keeps no program alive, and ends without a thread. */
    @Test
    public void theFirstTaskStartsTheThread() throws Exception {
        AtomicInteger threads = new AtomicInteger();
        for (boolean now : new boolean[] { false, true }) {
            Wheel wheel = new Wheel();
            WheelExecutor unused = new WheelExecutor(wheel, task -> {
                threads.incrementAndGet();
                return new Thread(task);
            });
            assertFalse(unused.awaitTermination(0, MS));
            if (now)
                assertEquals(Collections.emptyList(), unused.shutdownNow());
            else
                unused.shutdown();
            assertTrue(unused.isTerminated());
            assertTrue(unused.awaitTermination(0, MS));
            assertTrue(wheel.isClosed());
            assertThrows(RejectedExecutionException.class, () -> unused.execute(() -> { }));
            unused.shutdown();
            assertEquals(0, threads.get());
        }
        WheelExecutor used = new WheelExecutor(new Wheel(), task -> {
            threads.incrementAndGet();
            return new Thread(task);
        });
        used.schedule(() -> { }, 1, TimeUnit.HOURS);
        assertEquals(1, threads.get());
        for (int i = 0; i < 3; i++)
            used.submit(() -> { }).get();
        assertEquals(1, threads.get());
        assertEquals(1, used.shutdownNow().size());
        assertTrue(used.awaitTermination(1, TimeUnit.HOURS));
    }

    @Test
    public void aFactoryThatFails() throws Exception {
        AtomicInteger asked = new AtomicInteger();
        for (int fails = 1; fails < 3; fails++) {
            int failures = fails;
            Wheel wheel = new Wheel();
            asked.set(0);
            WheelExecutor late = new WheelExecutor(wheel, task -> {
                if (asked.getAndIncrement() < failures)
                    throw new ArithmeticException("on purpose");
                return new Thread(task);
            });
            for (int i = 0; i < fails; i++)
                assertThrows(ArithmeticException.class, () -> late.execute(() -> { }));
            assertEquals(0, wheel.pending() + wheel.ready());
            if (fails == 2)
                assertEquals("done", late.submit(() -> "done").get());
            late.shutdown();
            assertTrue(late.awaitTermination(10, TimeUnit.SECONDS));
            assertTrue(wheel.isClosed());
        }
        Wheel wheel = new Wheel();
        assertThrows(NullPointerException.class, () -> new WheelExecutor(wheel, null));
        wheel.close();
    }

    /** Runs a task that sleeps, and tells when it is interrupted. */
    private CountDownLatch sleeper() throws InterruptedException {
        CountDownLatch runs = new CountDownLatch(1), interrupted = new CountDownLatch(1);
        executor.execute(() -> {
            runs.countDown();
            try {
                Thread.sleep(Long.MAX_VALUE);
            } catch (InterruptedException e) {
                interrupted.countDown();
            }
        });
        runs.await();
        return interrupted;
    }

    /** As one is told to end an executor: the thread's end waits behind the task already. */
    @Test
    public void shutdownNowAfterShutdown() throws Exception {
        CountDownLatch interrupted = sleeper();
        executor.shutdown();
        executor.shutdown();
        assertFalse(executor.awaitTermination(10, MS));
        assertEquals(Collections.emptyList(), executor.shutdownNow());
        assertEquals(Collections.emptyList(), executor.shutdownNow());
        interrupted.await();
        assertTrue(executor.awaitTermination(1, TimeUnit.HOURS));
    }

    @Test
    public void shutdownNowInterrupts() throws Exception {
        CountDownLatch interrupted = sleeper();
        Future<?> left = executor.schedule(() -> { }, 1, TimeUnit.HOURS);
        assertEquals(Arrays.asList(left), executor.shutdownNow());
        interrupted.await();
        assertTrue(executor.awaitTermination(1, TimeUnit.HOURS));
        assertFalse(left.isDone());
    }
}
