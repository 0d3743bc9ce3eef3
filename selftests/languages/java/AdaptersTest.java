// SPDX-License-Identifier: GPL-2.0-only
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.File;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

import org.junit.Test;

import twheel.adapters.DeadlineTimerWheel;
import twheel.adapters.SystemTimer;

/** Shapes of other projects. */
public class AdaptersTest {
    private static final TimeUnit MS = TimeUnit.MILLISECONDS;

    private static List<Long> poll(DeadlineTimerWheel wheel, long now, int max) {
        List<Long> ids = new ArrayList<>();
        assertEquals(wheel.poll(now, (unit, time, id) -> {
            assertEquals(now, time);
            assertEquals(wheel.timeUnit(), unit);
            return ids.add(id);
        }, max), ids.size());
        return ids;
    }

    @Test
    public void clockThatTheCallerMoves() {
        try (DeadlineTimerWheel wheel = new DeadlineTimerWheel(MS, 100, 1)) {
            long late = wheel.scheduleTimer(110), soon = wheel.scheduleTimer(105);
            long past = wheel.scheduleTimer(-5);
            assertEquals(3, wheel.timerCount());
            assertEquals(105, wheel.deadline(soon));
            assertEquals(Arrays.asList(past), poll(wheel, 100, 10));
            assertEquals(DeadlineTimerWheel.NULL_DEADLINE, wheel.deadline(past));
            assertEquals(Collections.emptyList(), poll(wheel, 104, 10));
            assertEquals(Arrays.asList(soon), poll(wheel, 105, 10));
            assertEquals(Collections.emptyList(), poll(wheel, 50, 10));
            assertEquals(105, wheel.currentTickTime());
            assertTrue(wheel.cancelTimer(late));
            assertFalse(wheel.cancelTimer(late));
            assertEquals(Collections.emptyList(), poll(wheel, 1 << 20, 10));
            long never = wheel.scheduleTimer(Long.MAX_VALUE);
            assertEquals(Collections.emptyList(), poll(wheel, Long.MAX_VALUE / 2, 10));
            assertTrue(wheel.cancelTimer(never));
            wheel.scheduleTimer(0);
            wheel.clear();
            assertEquals(0, wheel.timerCount());
        }
    }

    /** A wheel has four descriptors. */
    @Test
    public void whatIsRefusedOpensNoWheel() {
        String[] before = new File("/proc/self/fd").list();
        for (int i = 0; i < 10; i++)
            assertThrows(IllegalArgumentException.class, () -> new DeadlineTimerWheel(MS, 0, 0));
        assertTrue(new File("/proc/self/fd").list().length < before.length + 20);
    }

    /** Ticks of a nanosecond, of which a day has more than the wheel's time has room for. */
    @Test
    public void timersOfDaysInNanoseconds() {
        long day = TimeUnit.DAYS.toNanos(1);
        try (DeadlineTimerWheel wheel = new DeadlineTimerWheel(TimeUnit.NANOSECONDS, 0, 1)) {
            long year = wheel.scheduleTimer(365 * day), late = wheel.scheduleTimer(2 * day);
            long day1 = wheel.scheduleTimer(day), again = wheel.scheduleTimer(day);
            long never = wheel.scheduleTimer(Long.MAX_VALUE - 1);
            assertEquals(Collections.emptyList(), poll(wheel, day - 1, 10));
            long last = wheel.scheduleTimer(day);
            assertEquals(6, wheel.timerCount());
            assertEquals(Arrays.asList(day1, again, last), poll(wheel, day, 10));
            assertEquals(2 * day, wheel.deadline(late));
            assertEquals(0, wheel.poll(3 * day, (unit, now, id) -> false, 10));
            assertEquals(Arrays.asList(late), poll(wheel, 364 * day, 10));
            assertEquals(364 * day, wheel.currentTickTime());
            long hour = wheel.scheduleTimer(364 * day + day / 24);
            assertEquals(Collections.emptyList(), poll(wheel, 364 * day + day / 24 - 1, 10));
            assertEquals(Arrays.asList(hour, year), poll(wheel, 36500 * day, 10));
            assertTrue(wheel.cancelTimer(never));
            assertEquals(0, wheel.timerCount());
        }
    }

    /** Over 2^63 ticks after the start, too. */
    @Test
    public void timersOfAllTimes() {
        for (int resolution : new int[] { 1, 1024 }) {
            try (DeadlineTimerWheel wheel = new DeadlineTimerWheel(MS, Long.MIN_VALUE, resolution)) {
                long last = Long.MAX_VALUE - (resolution - 1), far = 1L << 50;
                long end = wheel.scheduleTimer(last), late = wheel.scheduleTimer(far);
                long before = wheel.scheduleTimer(-far);
                long never = wheel.scheduleTimer(last + resolution - 1);
                assertEquals(Collections.emptyList(), poll(wheel, -far - 1, 10));
                assertEquals(Arrays.asList(before), poll(wheel, 0, 10));
                assertEquals(0, wheel.currentTickTime());
                assertEquals(Collections.emptyList(), poll(wheel, far - 1, 10));
                assertEquals(Arrays.asList(late), poll(wheel, far, 10));
                assertEquals(Collections.emptyList(), poll(wheel, last - 1, 10));
                assertEquals(resolution == 1 ? Arrays.asList(end, never) : Arrays.asList(end),
                        poll(wheel, Long.MAX_VALUE, 10));
                assertEquals(resolution != 1, wheel.cancelTimer(never));
            }
        }
    }

    @Test
    public void aHandlerMayKeepATimer() {
        try (DeadlineTimerWheel wheel = new DeadlineTimerWheel(MS, 0, 1)) {
            long[] ids = { wheel.scheduleTimer(3), wheel.scheduleTimer(3), wheel.scheduleTimer(4) };
            assertEquals(0, wheel.poll(10, (unit, now, id) -> false, 10));
            assertEquals(3, wheel.timerCount());
            assertEquals(3, wheel.deadline(ids[0]));
            assertThrows(ArithmeticException.class, () -> wheel.poll(10, (unit, now, id) -> {
                throw new ArithmeticException("on purpose");
            }, 10));
            assertEquals(3, wheel.timerCount());
            assertEquals(2, poll(wheel, 10, 2).size());
            assertEquals(1, poll(wheel, 10, 2).size());
        }
    }

    /** Ticks of 8 units from an odd start, against a sorted map. */
    @Test
    public void againstAModel() {
        againstAModel(13, 8, 0);
    }

    /** Hours and years of ticks that are nanoseconds: more than the wheel's time has room for. */
    @Test
    public void againstAModelForYears() {
        againstAModel(-13, 1, 36);
        againstAModel(-(1L << 62), 1, 41);
        againstAModel(Long.MIN_VALUE, 1024, 46);
    }

    private void againstAModel(long start, int resolution, int shift) {
        Random random = new Random(30);
        try (DeadlineTimerWheel wheel =
                new DeadlineTimerWheel(TimeUnit.NANOSECONDS, start, resolution)) {
            Map<Long, Long> model = new TreeMap<>();
            long now = start, low = (1L << shift) - 1;
            for (int round = 0; round < 2000; round++) {
                for (int k = 0; k < 5; k++) {
                    long deadline = now + ((long) random.nextInt(1 << random.nextInt(16)) << shift)
                            + (random.nextLong() & low);
                    model.put(wheel.scheduleTimer(deadline), deadline);
                }
                if (random.nextInt(2) == 0) {
                    Long victim = new ArrayList<>(model.keySet()).get(random.nextInt(model.size()));
                    assertTrue(wheel.cancelTimer(victim));
                    model.remove(victim);
                }
                now += ((long) random.nextInt(100) << shift) + (random.nextLong() & low);
                long tick = now - Long.remainderUnsigned(now - start, resolution);
                Map<Long, Long> due = new HashMap<>(model);
                due.values().removeIf(deadline -> deadline > tick);
                List<Long> got = poll(wheel, now, Integer.MAX_VALUE);
                Collections.sort(got);
                assertEquals(new ArrayList<>(new TreeMap<>(due).keySet()), got);
                model.keySet().removeAll(due.keySet());
                assertEquals(model.size(), wheel.timerCount());
            }
        }
    }

    @Test
    public void kafkasShape() throws InterruptedException {
        List<String> ran = Collections.synchronizedList(new ArrayList<>());
        CountDownLatch left = new CountDownLatch(3);
        try (SystemTimer timer = new SystemTimer("test")) {
            class Task extends SystemTimer.TimerTask {
                private final String name;

                Task(String name, long delayMs) {
                    super(delayMs);
                    this.name = name;
                }

                @Override
                public void run() {
                    ran.add(name + " in " + Thread.currentThread().getName());
                    left.countDown();
                }
            }
            long begun = System.nanoTime();
            timer.add(new Task("b", 1500));
            timer.add(new Task("a", 10));
            timer.add(new Task("at once", 0));
            Task cancelled = new Task("cancelled", 15);
            timer.add(cancelled);
            assertEquals(3, timer.size());
            cancelled.cancel();
            assertTrue(cancelled.isCancelled());
            assertEquals(2, timer.size());
            while (timer.size() > 0)
                timer.advanceClock(1000);
            left.await();
            assertTrue(System.nanoTime() - begun >= MS.toNanos(1500));
            assertEquals(Arrays.asList("at once in executor-test", "a in executor-test",
                    "b in executor-test"), ran);
            begun = System.nanoTime();
            assertFalse(timer.advanceClock(5));
            assertTrue(System.nanoTime() - begun >= MS.toNanos(5));
        }
    }

    /** One waits for an hour, and the other not for that. */
    @Test
    public void kafkasClockByTwoThreads() throws InterruptedException {
        Semaphore runs = new Semaphore(0);
        AtomicReference<Boolean> advanced = new AtomicReference<>();
        try (SystemTimer timer = new SystemTimer("test")) {
            Thread first = Threads.begin(() -> advanced.set(timer.advanceClock(3_600_000)));
            while (!inAwait(first))
                Thread.sleep(1);
            Threads.begin(() -> {
                if (!timer.advanceClock(20))
                    runs.release();
            });
            assertTrue(runs.tryAcquire(10, TimeUnit.SECONDS));
            timer.add(new Counter(runs, 1));
            assertTrue(runs.tryAcquire(10, TimeUnit.SECONDS));
            first.join();
            assertTrue(advanced.get());
        }
    }

    /** Does the thread wait for events of a wheel? */
    private static boolean inAwait(Thread thread) {
        return Arrays.stream(thread.getStackTrace()).anyMatch(at -> at.getMethodName().equals("await"));
    }

    private static final class Counter extends SystemTimer.TimerTask {
        private final Semaphore runs;

        Counter(Semaphore runs, long delayMs) {
            super(delayMs);
            this.runs = runs;
        }

        @Override
        public void run() {
            runs.release();
        }
    }

    @Test
    public void kafkasAddMovesATask() throws InterruptedException {
        Semaphore runs = new Semaphore(0);
        try (SystemTimer timer = new SystemTimer("test");
                SystemTimer other = new SystemTimer("test")) {
            Counter task = new Counter(runs, 30);
            timer.add(task);
            timer.add(task);
            assertEquals(1, timer.size());
            other.add(task);
            assertEquals(0, timer.size());
            assertEquals(1, other.size());
            assertTrue(other.advanceClock(10_000));
            assertTrue(runs.tryAcquire(10, TimeUnit.SECONDS));
            other.add(task);
            task.cancel();
            assertEquals(0, other.size());
            assertFalse(timer.advanceClock(50));
            assertEquals(0, runs.availablePermits());
        }
    }

    @Test
    public void kafkasAddAfterCancel() throws InterruptedException {
        Semaphore runs = new Semaphore(0);
        try (SystemTimer timer = new SystemTimer("test")) {
            Counter task = new Counter(runs, 1), atOnce = new Counter(runs, 0);
            for (int round = 0; round < 3; round++) {
                if (round > 0)
                    timer.add(task);
                task.cancel();
                assertTrue(task.isCancelled());
                assertEquals(0, timer.size());
                timer.add(task);
                assertFalse(task.isCancelled());
                assertEquals(1, timer.size());
                assertTrue(timer.advanceClock(10_000));
                assertTrue(runs.tryAcquire(10, TimeUnit.SECONDS));
                atOnce.cancel();
                timer.add(atOnce);
                assertFalse(atOnce.isCancelled());
                assertTrue(runs.tryAcquire(10, TimeUnit.SECONDS));
            }
            assertFalse(timer.advanceClock(5));
            assertEquals(0, runs.availablePermits());
        }
    }

    /** Whichever of cancel() and add() is last, a task that is cancelled does not wait, and others do. */
    @Test
    public void kafkasCancelBesideAdd() throws InterruptedException {
        AtomicReference<Counter> added = new AtomicReference<>();
        List<Counter> all = new ArrayList<>();
        int n = 150_000;
        try (SystemTimer timer = new SystemTimer("test")) {
            Thread canceller = Threads.begin(() -> {
                for (int i = 0; i < n; i++) {
                    Counter task;
                    for (int spins = 0; (task = added.getAndSet(null)) == null; spins++)
                        if (spins > 2000)
                            Thread.yield();
                    task.cancel();
                }
            });
            for (int i = 0; i < n; i++) {
                Counter task = new Counter(null, 3_600_000);
                all.add(task);
                while (added.get() != null)
                    Thread.yield();
                added.set(task);
                for (int k = i % 20; k > 0; k--)
                    Thread.onSpinWait();
                timer.add(task);
            }
            canceller.join();
            assertEquals(all.stream().filter(task -> !task.isCancelled()).count(), timer.size());
        }
    }
}
