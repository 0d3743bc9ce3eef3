// SPDX-License-Identifier: GPL-2.0-only
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;

import org.junit.Test;
import org.junit.runner.RunWith;
import org.junit.runners.Parameterized;

import twheel.Timers;
import twheel.Wheel;
import twheel.WheelTimer;

/** Timers with functions; once more as leases. */
@RunWith(Parameterized.class)
public class TimersTest {
    @Parameterized.Parameters(name = "{0}")
    public static List<String> kinds() {
        return Arrays.asList("plain", "leases");
    }

    @Parameterized.Parameter
    public String kind;

    private Timers open(Wheel.Options options, long limit) {
        return new Timers(new Wheel(kind.equals("leases") ? options.leases() : options), limit);
    }

    private Timers open() {
        return open(new Wheel.Options(), Long.MAX_VALUE);
    }

    /** The clock stands still here, at a whole number of ticks. */
    private static final long START = 1L << 42;

    private Timers still() {
        Timers timers = open(new Wheel.Options().embedded(), Long.MAX_VALUE);
        timers.wheel().setNow(START);
        return timers;
    }

    private static int runTo(Timers timers, long sinceStart, TimeUnit unit) {
        int called = 0;
        timers.wheel().setNow(START + unit.toNanos(sinceStart) + timers.wheel().tick());
        for (int n; (n = timers.run(0, unit)) > 0;)
            called += n;
        return called;
    }

    @Test
    public void byDeadlineAndEqualOnesAsArmed() {
        try (Timers timers = still()) {
            List<Integer> called = new ArrayList<>();
            List<WheelTimer> all = new ArrayList<>();
            for (int i = 0; i < 600; i++) {
                int number = i;
                all.add(timers.schedule(() -> called.add(number), 10 + (i * 7) % 3, TimeUnit.SECONDS));
            }
            /* Pushed back to the deadline of others, and so armed last. */
            assertTrue(all.get(0).push(12, TimeUnit.SECONDS));
            assertEquals(600, timers.pending());
            assertEquals(600, runTo(timers, 12, TimeUnit.SECONDS));
            List<Integer> expected = new ArrayList<>();
            for (int seconds = 0; seconds < 3; seconds++)
                for (int i = 1; i < 600; i++)
                    if (i * 7 % 3 == seconds)
                        expected.add(i);
            expected.add(0);
            assertEquals(expected, called);
            assertEquals(0, timers.pending());
        }
    }

    /** What is due in one tick comes from the wheel as it was armed. */
    @Test
    public void byDeadlineInOneTick() {
        try (Timers timers = still()) {
            List<Long> called = new ArrayList<>(), expected = new ArrayList<>();
            /* Further apart than a lease can tell, and more than a read takes */
            for (long micros = 1000; micros > 0; micros -= 2) {
                long number = micros;
                timers.schedule(() -> called.add(number), micros, TimeUnit.MICROSECONDS);
                expected.add(0, micros);
            }
            assertEquals(500, runTo(timers, 1, TimeUnit.SECONDS));
            assertEquals(expected, called);
        }
    }

    @Test
    public void statesOfATimer() {
        try (Timers timers = still()) {
            AtomicInteger calls = new AtomicInteger();
            WheelTimer timer = timers.schedule(calls::incrementAndGet, 5, TimeUnit.SECONDS);
            assertTrue(timer.isArmed());
            assertTrue(timer.toString(), timer.toString().contains("[ARMED, due in 5000000"));
            assertEquals(5000, timer.remaining(TimeUnit.MILLISECONDS));
            assertTrue(timer.push(8, TimeUnit.SECONDS));
            assertEquals(0, runTo(timers, 7, TimeUnit.SECONDS));
            assertEquals(1, runTo(timers, 9, TimeUnit.SECONDS));
            assertTrue(timer.isExpired());
            assertTrue(timer.toString(), timer.toString().endsWith("[EXPIRED]"));
            assertFalse(timer.cancel());
            assertFalse(timer.push(1, TimeUnit.SECONDS));
            assertEquals(0, timer.remaining(TimeUnit.SECONDS));
            timer.start(1, TimeUnit.SECONDS);
            assertEquals(1, timers.wheel().pending());
            assertTrue(timer.cancel());
            assertEquals(0, timers.wheel().pending());
            assertTrue(timer.isCancelled());
            assertFalse(timer.cancel());
            assertEquals(0, runTo(timers, 20, TimeUnit.SECONDS));
            assertEquals(1, calls.get());
            timer.start(1, TimeUnit.SECONDS);
            timers.wheel().close();
            assertTrue(timer.toString(), timer.toString().endsWith("[ARMED, due in 0 ns]"));
        }
    }

    /** Of timers that are due together, the function of one cancels, pushes and starts others. */
    @Test
    public void functionsChangeWhatIsDueWithThem() {
        try (Timers timers = still()) {
            List<String> called = new ArrayList<>();
            WheelTimer[] others = new WheelTimer[4];
            timers.schedule(() -> {
                called.add("first");
                assertTrue(others[0].cancel());
                assertTrue(others[1].push(5, TimeUnit.SECONDS));
                others[2].start(6, TimeUnit.SECONDS);
                others[3] = timers.schedule(() -> called.add("new"), 4, TimeUnit.SECONDS);
                assertThrows(IllegalStateException.class, () -> timers.run(0, TimeUnit.SECONDS));
            }, 1, TimeUnit.SECONDS);
            for (int i = 0; i < 3; i++) {
                int number = i;
                others[i] = timers.schedule(() -> called.add("other " + number), 1, TimeUnit.SECONDS);
            }
            timers.schedule(() -> called.add("last"), 1, TimeUnit.SECONDS);
            assertEquals(2, runTo(timers, 1, TimeUnit.SECONDS));
            assertEquals(3, runTo(timers, 20, TimeUnit.SECONDS));
            assertEquals(Arrays.asList("first", "last", "new", "other 1", "other 2"), called);
        }
    }

    /** Random starts, pushes and cancels, and how often each was called. */
    @Test
    public void againstAModel() {
        Random random = new Random(30);
        try (Timers timers = still()) {
            int n = 300;
            long tick = timers.wheel().tick();
            long[] due = new long[n];
            int[] expected = new int[n], calls = new int[n];
            WheelTimer[] all = new WheelTimer[n];
            Arrays.fill(due, Long.MAX_VALUE);
            for (int i = 0; i < n; i++) {
                int number = i;
                all[i] = timers.schedule(() -> calls[number]++, 365000, TimeUnit.DAYS);
            }
            for (int now = 0; now < 400; now++) {
                for (int k = 0; k < 50; k++) {
                    int i = random.nextInt(n);
                    int delay = random.nextInt(100);
                    boolean armed = all[i].isArmed();
                    switch (random.nextInt(3)) {
                    case 0:
                        all[i].start(delay * tick, TimeUnit.NANOSECONDS);
                        due[i] = now + delay;
                        break;
                    case 1:
                        assertEquals(armed, all[i].push(delay * tick, TimeUnit.NANOSECONDS));
                        due[i] = armed ? now + delay : due[i];
                        break;
                    default:
                        assertEquals(armed, all[i].cancel());
                        due[i] = Long.MAX_VALUE;
                    }
                }
                for (int i = 0; i < n; i++) {
                    if (due[i] <= now) {
                        expected[i]++;
                        due[i] = Long.MAX_VALUE;
                    }
                }
                while (timers.run(0, TimeUnit.SECONDS) > 0)
                    continue;
                assertEquals(Arrays.toString(expected), Arrays.toString(calls));
                timers.wheel().setNow(START + (now + 1) * tick);
            }
        }
    }

    /** The word of a lease that was read may be another's, with the same tag each 1,024 timers. */
    @Test
    public void pushOfWhatWasRead() {
        try (Timers timers = still()) {
            List<WheelTimer> read = new ArrayList<>();
            timers.schedule(() -> {
                /* One word after another, until its tag is the same again */
                for (int i = 1; i <= 9 * 1024; i++) {
                    WheelTimer timer = timers.schedule(() -> { }, 1, TimeUnit.HOURS);
                    if (i % 1024 != 0)
                        timer.cancel();
                }
                for (WheelTimer timer : read)
                    assertTrue(timer.push(2, TimeUnit.HOURS));
            }, 1, TimeUnit.SECONDS);
            for (int i = 0; i < 8; i++)
                read.add(timers.schedule(() -> { }, 1, TimeUnit.SECONDS));
            assertEquals(1, runTo(timers, 2, TimeUnit.SECONDS));
            assertEquals(17, timers.pending());
        }
    }

    @Test
    public void exceptionsAreHandedOn() throws InterruptedException {
        List<Throwable> seen = Collections.synchronizedList(new ArrayList<>());
        CountDownLatch both = new CountDownLatch(2), after = new CountDownLatch(1);
        try (Timers timers = open()) {
            timers.start(task -> {
                Thread thread = new Thread(task);
                thread.setUncaughtExceptionHandler((where, error) -> {
                    seen.add(error);
                    both.countDown();
                    throw new IllegalStateException("nobody hears of this");
                });
                return thread;
            });
            RuntimeException first = new RuntimeException("on purpose");
            Error second = new AssertionError("on purpose, too");
            timers.schedule(() -> {
                throw first;
            }, 1, TimeUnit.MILLISECONDS);
            timers.schedule(() -> {
                throw second;
            }, 5, TimeUnit.MILLISECONDS);
            both.await();
            timers.schedule(after::countDown, 1, TimeUnit.MILLISECONDS);
            after.await();
            // In any order, as two CPUs of the device may have had them
            assertEquals(2, seen.size());
            assertTrue(seen.containsAll(Arrays.asList(first, second)));
        }
    }

    @Test
    public void aThreadThatCannotBeStarted() throws InterruptedException {
        try (Timers timers = open()) {
            assertThrows(OutOfMemoryError.class, () -> timers.start(task -> new Thread(task) {
                @Override
                public void start() {
                    throw new OutOfMemoryError("on purpose");
                }
            }));
            timers.start(Executors.defaultThreadFactory());
            CountDownLatch called = new CountDownLatch(1);
            timers.schedule(called::countDown, 1, TimeUnit.MILLISECONDS);
            assertTrue(called.await(10, TimeUnit.SECONDS));
        }
    }

    @Test
    public void aFactoryThatUsesTheTimers() throws InterruptedException {
        try (Timers timers = open()) {
            CountDownLatch called = new CountDownLatch(1);
            timers.start(Threads.after(
                    () -> timers.schedule(called::countDown, 1, TimeUnit.MILLISECONDS)));
            assertTrue(called.await(10, TimeUnit.SECONDS));
        }
    }

    @Test
    public void limitIsExact() {
        Timers timers = open(new Wheel.Options(), 2);
        WheelTimer one = timers.schedule(() -> { }, 1, TimeUnit.HOURS);
        timers.schedule(() -> { }, 1, TimeUnit.HOURS);
        assertThrows(RejectedExecutionException.class,
                () -> timers.schedule(() -> { }, 1, TimeUnit.HOURS));
        one.start(2, TimeUnit.HOURS);
        assertEquals(2, timers.pending());
        one.cancel();
        timers.schedule(() -> { }, 1, TimeUnit.HOURS);
        assertThrows(NullPointerException.class, () -> timers.schedule(null, 1, TimeUnit.HOURS));
        assertEquals(2, timers.stop().size());
        assertThrows(IllegalStateException.class, () -> one.start(1, TimeUnit.HOURS));
        assertThrows(IllegalArgumentException.class,
                () -> new Timers(new Wheel(new Wheel.Options().keyed()), 1));
        assertThrows(IllegalArgumentException.class, () -> new Timers(new Wheel(), -1));
    }

    /** Threads arm, push and cancel while others expire, and then all is stopped. */
    @Test
    public void eachTimerEndsInOneWay() throws InterruptedException {
        for (int round = 0; round < 10; round++) {
            Timers timers = open();
            AtomicInteger called = new AtomicInteger(), cancelled = new AtomicInteger();
            AtomicInteger armed = new AtomicInteger();
            AtomicReference<Throwable> wrong = new AtomicReference<>();
            timers.start(Executors.defaultThreadFactory());
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                Random random = new Random(round * 3 + i);
                threads.add(Threads.begin(() -> {
                    try {
                        for (int k = 0; k < 3000; k++) {
                            WheelTimer timer = timers.schedule(called::incrementAndGet,
                                    random.nextInt(4000), TimeUnit.MICROSECONDS);
                            armed.incrementAndGet();
                            if (random.nextInt(3) == 0)
                                timer.push(random.nextInt(8000), TimeUnit.MICROSECONDS);
                            if (random.nextInt(3) == 0 && timer.cancel())
                                cancelled.incrementAndGet();
                        }
                        for (int k = 0; k < 100; k++) {
                            timers.schedule(called::incrementAndGet, 1, TimeUnit.HOURS);
                            armed.incrementAndGet();
                        }
                    } catch (Throwable error) {
                        wrong.set(error);
                    }
                }));
            }
            for (Thread thread : threads)
                thread.join();
            int left = timers.stop().size();
            assertSame(null, wrong.get());
            assertTrue(left >= 300);
            assertEquals(armed.get(), called.get() + cancelled.get() + left);
            assertEquals(0, timers.stop().size());
        }
    }

    @Test
    public void aFunctionMayStop() throws InterruptedException {
        Timers timers = open();
        CountDownLatch stopped = new CountDownLatch(1);
        AtomicReference<List<WheelTimer>> left = new AtomicReference<>();
        WheelTimer later = timers.schedule(() -> { }, 1, TimeUnit.HOURS);
        AtomicReference<Thread> worker = new AtomicReference<>();
        timers.start(task -> {
            worker.set(new Thread(task));
            return worker.get();
        });
        timers.schedule(() -> {
            assertTrue(timers.isWorker());
            left.set(timers.stop());
            stopped.countDown();
        }, 0, TimeUnit.SECONDS);
        stopped.await();
        assertEquals(Arrays.asList(later), left.get());
        worker.get().join();
        assertTrue(later.cancel());
        assertNotNull(worker.get());
        assertThrows(IllegalStateException.class, () -> timers.start(Thread::new));
    }

    private static void awaitEnd(Thread thread) throws InterruptedException {
        thread.join(10_000);
        assertFalse(thread.isAlive());
    }

    @Test
    public void runIsRefusedBesideStart() throws InterruptedException {
        try (Timers timers = open()) {
            List<String> refused = Collections.synchronizedList(new ArrayList<>());
            Runnable runs = () -> refused.add(assertThrows(IllegalStateException.class,
                    () -> timers.run(1, TimeUnit.MILLISECONDS)).getMessage());
            timers.start(Executors.defaultThreadFactory());
            awaitEnd(Threads.begin(runs));
            CountDownLatch called = new CountDownLatch(1);
            timers.schedule(() -> {
                runs.run();
                called.countDown();
            }, 0, TimeUnit.SECONDS);
            assertTrue(called.await(10, TimeUnit.SECONDS));
            assertEquals(Arrays.asList("run() beside the thread of start()", "run() by a timer's function"),
                    refused);
        }
    }

    /** A thread that is started while another is in run() gets its turn. */
    @Test
    public void startBesideRun() throws InterruptedException {
        try (Timers timers = open()) {
            CountDownLatch runs = new CountDownLatch(1), go = new CountDownLatch(1);
            CountDownLatch called = new CountDownLatch(1);
            timers.schedule(() -> Threads.hold(runs, go), 0, TimeUnit.SECONDS);
            Thread runner = Threads.begin(() -> timers.run(1, TimeUnit.HOURS));
            runs.await();
            timers.start(Executors.defaultThreadFactory());
            timers.schedule(called::countDown, 0, TimeUnit.SECONDS);
            go.countDown();
            awaitEnd(runner);
            assertTrue(called.await(10, TimeUnit.SECONDS));
        }
    }

    /** Also if it is interrupted meanwhile, or was before */
    @Test
    public void runWaitsForAnotherRunForSoLongOnly() throws InterruptedException {
        Timers timers = open();
        CountDownLatch runs = new CountDownLatch(1), go = new CountDownLatch(1);
        AtomicInteger called = new AtomicInteger(-1);
        AtomicReference<Boolean> interrupted = new AtomicReference<>();
        timers.schedule(() -> Threads.hold(runs, go), 0, TimeUnit.SECONDS);
        Thread first = Threads.begin(() -> timers.run(1, TimeUnit.HOURS));
        runs.await();
        for (long wait : new long[] { 0, 20, -1 }) {
            awaitEnd(Threads.begin(() -> {
                long begun = System.nanoTime();
                Thread.currentThread().interrupt();
                called.set(timers.run(wait, TimeUnit.MILLISECONDS));
                interrupted.set(Thread.interrupted());
                if (System.nanoTime() - begun < TimeUnit.MILLISECONDS.toNanos(wait))
                    called.set(-2);
            }));
            assertEquals(0, called.getAndSet(-1));
            assertTrue(interrupted.get());
            assertEquals(1, go.getCount());
        }
        /* It gets the turn, and then what is due. */
        timers.schedule(() -> { }, 0, TimeUnit.SECONDS);
        Thread second = Threads.begin(() -> called.set(timers.run(Long.MAX_VALUE, TimeUnit.NANOSECONDS)));
        go.countDown();
        awaitEnd(first);
        awaitEnd(second);
        assertEquals(1, called.get());
        assertEquals(0, timers.stop().size());
    }

    /** stop() waits for a function that another thread runs. */
    @Test
    public void stopWaitsForTheFunction() throws InterruptedException {
        for (int round = 0; round < 20; round++) {
            Timers timers = open();
            CountDownLatch runs = new CountDownLatch(1);
            AtomicInteger ended = new AtomicInteger();
            timers.schedule(() -> {
                runs.countDown();
                LockSupport.parkNanos(5_000_000);
                ended.incrementAndGet();
            }, 0, TimeUnit.SECONDS);
            Thread runner = Threads.begin(() -> timers.run(1, TimeUnit.HOURS));
            runs.await();
            assertEquals(0, timers.stop().size());
            assertEquals(1, ended.get());
            runner.join();
        }
    }
}
