// SPDX-License-Identifier: GPL-2.0-only
import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;
import static org.junit.Assume.assumeTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

import org.junit.Test;

import twheel.Batch;
import twheel.Counters;
import twheel.Events;
import twheel.Lease;
import twheel.TimerInfo;
import twheel.TwheelException;
import twheel.Wheel;

/** The calls of a context. */
public class WheelTest {
    private static final long MS = 1_000_000;
    private static final long HOUR = 3600 * 1000 * MS;
    private static final int EBADF = 9, EINVAL = 22, ENOSPC = 28, EEXIST = 17, EOPNOTSUPP = 95;

    private static Wheel.Options options() {
        return new Wheel.Options();
    }

    private static void fails(int errno, Runnable call) {
        TwheelException error = assertThrows(TwheelException.class, call::run);
        assertEquals(error.getMessage(), errno, error.errno());
    }

    /** Reads so many events, and checks that none is early. */
    private static List<Long> read(Wheel wheel, int n) {
        List<Long> data = new ArrayList<>();
        Events events = new Events(3);
        while (data.size() < n) {
            int got = wheel.read(events);
            assertTrue(got > 0);
            for (int i = 0; i < got; i++) {
                assertTrue(events.deadline(i) <= events.expired(i));
                assertTrue(events.expired(i) <= wheel.now());
                data.add(events.userData(i));
            }
        }
        assertEquals(n, data.size());
        return data;
    }

    @Test
    public void versionIsThatOfTheJar() {
        String[] parts = System.getProperty("twheel.version").split("\\.");
        int number = 0;
        for (String part : parts)
            number = number * 100 + Integer.parseInt(part);
        assertEquals(number, Wheel.version());
        assertEquals(System.getProperty("twheel.version"),
                Wheel.class.getPackage().getImplementationVersion());
    }

    @Test
    public void neverEarly() {
        try (Wheel wheel = new Wheel()) {
            long begun = System.nanoTime();
            long now = wheel.now();
            wheel.armAt(now + 30 * MS, 3);
            wheel.armAt(now + 10 * MS, 1);
            wheel.arm(10 * MS, 4);
            wheel.armAt(now + 20 * MS, 2);
            List<Long> data = read(wheel, 4);
            assertTrue(System.nanoTime() - begun >= 30 * MS);
            // Each CPU has an order of its own, and this thread may have been on several.
            Collections.sort(data);
            assertEquals(Arrays.asList(1L, 2L, 3L, 4L), data);
        }
    }

    @Test
    public void readWaitsForSoLongAtLeast() {
        try (Wheel wheel = new Wheel()) {
            Events events = new Events(1);
            long begun = System.nanoTime();
            assertEquals(0, wheel.read(events, 15 * MS));
            assertTrue(System.nanoTime() - begun >= 15 * MS);
            assertEquals(0, wheel.poll(events));
            wheel.arm(HOUR, 0);
            assertEquals(0, wheel.read(events, MS));
            assertEquals(0, events.count());
            assertThrows(IndexOutOfBoundsException.class, () -> events.handle(0));
        }
    }

    @Test
    public void cancelIsFinal() {
        try (Wheel wheel = new Wheel()) {
            long handle = wheel.arm(0, 1);
            assertTrue(wheel.cancel(handle));
            assertFalse(wheel.cancel(handle));
            long[] handles = new long[300];
            for (int i = 0; i < handles.length; i++)
                handles[i] = wheel.arm(HOUR, i);
            assertEquals(300, wheel.pending());
            assertTrue(wheel.cancel(handles[7]));
            assertEquals(299, wheel.cancel(handles, 300));
            assertEquals(0, wheel.pending() + wheel.ready());
            assertThrows(IndexOutOfBoundsException.class, () -> wheel.cancel(handles, 301));
        }
    }

    @Test
    public void timesAtTheEdges() {
        try (Wheel wheel = new Wheel()) {
            for (long delay : new long[] { Long.MAX_VALUE, Long.MAX_VALUE - 1, Long.MAX_VALUE / 2 + 1 }) {
                long handle = wheel.arm(delay, 1);
                assertTrue(wheel.get(handle).deadline >= delay);
                assertTrue(wheel.pushAfter(handle, delay));
                assertTrue(wheel.get(handle).deadline >= delay);
            }
            assertEquals(Long.MAX_VALUE, wheel.get(wheel.arm(Long.MAX_VALUE, 1)).deadline);
            wheel.cancelAll();
            wheel.arm(Long.MIN_VALUE, 5);
            assertEquals(Arrays.asList(5L), read(wheel, 1));
            fails(EINVAL, () -> wheel.armAt(-1, 0));
            assertEquals(0, wheel.pending());
        }
    }

    @Test
    public void pushKeepsTheRest() {
        try (Wheel wheel = new Wheel()) {
            long handle = wheel.arm(HOUR, 42);
            assertTrue(wheel.push(handle, wheel.now() + 2 * HOUR));
            TimerInfo info = wheel.get(handle);
            assertTrue(info.remaining > HOUR);
            assertEquals(42, info.userData);
            assertFalse(info.ready);
            assertEquals("TimerInfo[deadline=" + info.deadline + ", remaining=" + info.remaining
                    + ", interval=0, slack=0, userData=42, count=1, ready=false]", info.toString());
            assertTrue(wheel.push(handle, 1));
            assertEquals(Arrays.asList(42L), read(wheel, 1));
            assertFalse(wheel.push(handle, 1));
            assertNull(wheel.get(handle));
            assertNotEquals(handle, wheel.set(handle, HOUR, 1));
        }
    }

    @Test
    public void pushInBatches() {
        try (Wheel wheel = new Wheel()) {
            long[] handles = new long[500];
            long[] deadlines = new long[500];
            for (int i = 0; i < handles.length; i++) {
                handles[i] = wheel.arm(HOUR, i);
                deadlines[i] = wheel.now() + 3 * HOUR + i;
            }
            assertEquals(500, wheel.push(handles, deadlines, 0, 500));
            for (int i = 0; i < handles.length; i++)
                assertEquals(deadlines[i], wheel.get(handles[i]).deadline);
            wheel.cancel(handles[400]);
            assertEquals(400, wheel.push(handles, deadlines, 0, 500));
            assertEquals(0, wheel.push(handles, deadlines, 400, 100));
            assertEquals(99, wheel.push(handles, deadlines, 401, 99));
            assertThrows(IndexOutOfBoundsException.class, () -> wheel.push(handles, deadlines, 401, 100));
        }
    }

    /** What is wrong with one of many, wherever it is, is told; those before it were pushed. */
    @Test
    public void pushInBatchesTellsWhy() {
        try (Wheel wheel = new Wheel(options().keyed().limit(200))) {
            long[] keys = new long[200], deadlines = new long[200];
            long now = wheel.now();
            for (int wrong : new int[] { 0, 1, 127, 128, 150, 199 }) {
                wheel.cancelAll();
                for (int i = 0; i < keys.length; i++) {
                    wheel.put(i, HOUR, 0);
                    keys[i] = i;
                    deadlines[i] = now + 3 * HOUR;
                }
                assertEquals(200, wheel.push(keys, deadlines, 0, 200));
                for (int i = 0; i < keys.length; i++)
                    deadlines[i] = now + 5 * HOUR;
                /* There is no room for another key. */
                keys[wrong] = 1000;
                fails(ENOSPC, () -> wheel.push(keys, deadlines, 0, 200));
                keys[wrong] = wrong;
                deadlines[wrong] = -1;
                fails(EINVAL, () -> wheel.push(keys, deadlines, 0, 200));
                for (int i = 0; i < keys.length; i++)
                    assertEquals(now + (i < wrong ? 5 : 3) * HOUR, wheel.get(i).deadline);
            }
        }
    }

    @Test
    public void batchHasAllSettings() {
        try (Wheel wheel = new Wheel(options().limit(3))) {
            Batch batch = new Batch(5);
            Events events = new Events(8);
            int once = batch.after(0, -5, 1);
            batch.slack(batch.at(0, wheel.now() + HOUR, 2), MS);
            int rounds = batch.repeat(batch.after(0, MS, 3), MS, 3).count() - 1;
            int refused = batch.after(0, HOUR, 4);
            int wrong = batch.after(12345, HOUR, 5);
            assertThrows(IllegalStateException.class, () -> batch.after(0, 0, 0));
            assertEquals(3, wheel.arm(batch));
            assertEquals(0, batch.error(once));
            assertEquals(ENOSPC, batch.error(refused));
            assertEquals(2, batch.error(wrong));
            assertEquals(MS, wheel.get(batch.handle(rounds)).interval);
            long total = 0;
            boolean first = false;
            while (total < 3 || !first) {
                wheel.read(events);
                for (int i = 0; i < events.count(); i++) {
                    first |= events.handle(i) == batch.handle(once);
                    if (events.handle(i) == batch.handle(rounds))
                        total += events.expirations(i);
                }
            }
            assertEquals(3, total);
            assertEquals(1, wheel.pending());
            assertEquals(0, wheel.arm(batch.clear()));
        }
    }

    @Test
    public void keysAreTheHandles() {
        try (Wheel wheel = new Wheel(options().keyed())) {
            for (long key : new long[] { 0, -1, Long.MIN_VALUE, 7 })
                wheel.put(key, HOUR, key);
            wheel.put(7, 0, 70);
            wheel.push(8, 1);
            assertEquals(4, wheel.pending() + wheel.ready() - 1);
            assertEquals(Arrays.asList(0L, 70L), sorted(read(wheel, 2)));
            assertTrue(wheel.cancel(-1));
            assertFalse(wheel.cancel(7));
            fails(EINVAL, () -> wheel.arm(0, 0));
            wheel.putAt(9, wheel.now(), 9);
            assertEquals(Arrays.asList(9L), read(wheel, 1));
        }
        try (Wheel wheel = new Wheel()) {
            fails(EINVAL, () -> wheel.put(1, 0, 0));
        }
    }

    private static List<Long> sorted(List<Long> list) {
        list.sort(null);
        return list;
    }

    @Test
    public void leases() {
        Wheel wheel = new Wheel(options().leases());
        Lease lease = wheel.lease(HOUR, 1), soon = wheel.lease(MS, 7);
        long until = wheel.now() + 2 * HOUR;
        assertTrue(lease.extend(until));
        assertTrue(lease.extend(1));
        assertTrue(lease.deadline() >= until);
        assertFalse(lease.isOver());
        assertEquals(Arrays.asList(7L), read(wheel, 1));
        assertTrue(soon.isOver());
        assertFalse(soon.extend(wheel.now() + HOUR));
        assertTrue(wheel.cancel(lease.handle()));
        assertFalse(lease.extend(wheel.now() + 3 * HOUR));
        fails(EINVAL, () -> lease.extend(-1));
        fails(EINVAL, () -> wheel.lease(7, HOUR, 1));
        assertEquals(0, wheel.pending());
        wheel.close();
        fails(EBADF, () -> lease.extend(HOUR));
        fails(EBADF, () -> wheel.lease(HOUR, 1));
    }

    @Test
    public void leasesOnWallTime() {
        try (Wheel wheel = new Wheel(options().leases().wallTime())) {
            long until = wheel.now() + HOUR;
            Lease lease = wheel.leaseAt(until, 1), over = wheel.leaseAt(1, 7);
            assertTrue(lease.deadline() >= until && lease.deadline() < until + MS);
            assertTrue(lease.extend(until + HOUR));
            assertTrue(lease.deadline() >= until + HOUR);
            assertEquals(Arrays.asList(7L), read(wheel, 1));
            assertTrue(over.isOver());
            fails(EINVAL, () -> wheel.lease(HOUR, 1));
            fails(EINVAL, () -> wheel.leaseAt(-1, 1));
            fails(EINVAL, () -> wheel.leaseAt(7, until, 1));
            assertEquals(1, wheel.pending());
        }
        try (Wheel wheel = new Wheel(options().leases().keyed().wallTime())) {
            long until = wheel.now() + HOUR;
            assertEquals(7, wheel.leaseAt(7, until + HOUR, 1).handle());
            assertTrue(wheel.leaseAt(7, until, 1).deadline() < until + MS);
            assertEquals(1, wheel.pending());
        }
    }

    /** One without a key is not that with key 0. */
    @Test
    public void leasesWithKeys() {
        try (Wheel wheel = new Wheel(options().leases().keyed())) {
            wheel.put(0, HOUR, 3);
            fails(EINVAL, () -> wheel.lease(HOUR, 1));
            assertEquals(1, wheel.pending());
            assertEquals(3, wheel.get(0).userData);
            assertEquals(0, wheel.lease(0, HOUR, 4).handle());
            assertEquals(4, wheel.get(0).userData);
            assertEquals(7, wheel.lease(7, HOUR, 5).handle());
            assertEquals(2, wheel.pending());
        }
    }

    @Test
    public void errorsChangeNothing() {
        try (Wheel wheel = new Wheel(options().limit(1))) {
            long handle = wheel.arm(HOUR, 0);
            fails(ENOSPC, () -> wheel.arm(HOUR, 0));
            assertEquals(1, wheel.pending());
            assertEquals(1, wheel.limit());
            wheel.cancel(handle);
            wheel.arm(HOUR, 0);
        }
        assertThrows(IllegalArgumentException.class, () -> options().limit(0));
        assertThrows(IllegalArgumentException.class, () -> new Events(0));
        assertThrows(IllegalArgumentException.class, () -> new Batch(0));
        TwheelException none = assertThrows(TwheelException.class,
                () -> new Wheel(options().device("/no/such/device")));
        assertEquals(2, none.errno());
        assertEquals("open /no/such/device: No such file or directory", none.getMessage());
        try (Wheel wheel = new Wheel(options().wallTime())) {
            fails(EINVAL, () -> wheel.arm(0, 0));
            long handle = wheel.armAt(Long.MAX_VALUE, 3);
            fails(EINVAL, () -> wheel.pushAfter(handle, 0));
            assertTrue(wheel.push(handle, 1));
            assertEquals(Arrays.asList(3L), read(wheel, 1));
        }
    }

    @Test
    public void clockThatTheTestSets() {
        try (Wheel wheel = new Wheel(options().embedded())) {
            assertTrue(wheel.isEmbedded());
            wheel.setNow(HOUR);
            wheel.arm(HOUR, 1);
            wheel.setNow(2 * HOUR - 1);
            assertEquals(0, wheel.ready());
            wheel.setNow(2 * HOUR + wheel.tick());
            assertEquals(1, wheel.ready());
            assertEquals(2 * HOUR + wheel.tick(), wheel.now());
            fails(EINVAL, () -> wheel.setNow(0));
            Counters counters = wheel.stats();
            assertEquals(1, counters.armed);
            assertEquals(1, counters.expired);
            assertEquals(64, counters.lateness.length);
            assertEquals(1, Arrays.stream(counters.lateness).sum());
            String text = "Counters[armed=1, rearmed=0, cancelled=0, expired=1, read=0, ";
            assertTrue(counters.toString(), counters.toString().startsWith(text));
        }
        try (Wheel wheel = new Wheel()) {
            if (!wheel.isEmbedded()) {
                fails(EOPNOTSUPP, () -> wheel.setNow(HOUR));
                fails(EOPNOTSUPP, wheel::stats);
            }
        }
    }

    /** Readers that wait, and calls that come at the same moment, all end with EBADF. */
    @Test
    public void closeUnderUse() throws InterruptedException {
        for (int round = 0; round < 50; round++) {
            Wheel wheel = new Wheel();
            CountDownLatch ready = new CountDownLatch(4);
            AtomicInteger ended = new AtomicInteger();
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                boolean reads = i < 2;
                threads.add(Threads.begin(() -> {
                    Events events = new Events(4);
                    ready.countDown();
                    try {
                        for (;;) {
                            if (reads)
                                wheel.read(events);
                            else
                                wheel.cancel(wheel.arm(HOUR, 0));
                        }
                    } catch (TwheelException e) {
                        if (e.errno() == EBADF)
                            ended.incrementAndGet();
                    }
                }));
            }
            ready.await();
            wheel.close();
            wheel.close();
            for (Thread thread : threads)
                thread.join();
            assertEquals(4, ended.get());
            assertTrue(wheel.isClosed());
            fails(EBADF, wheel::now);
        }
    }

    /** Each event goes to one of the readers. */
    private static void oneOfManyReads(Wheel wheel) throws InterruptedException {
        int timers = 20000;
        AtomicInteger[] seen = new AtomicInteger[timers];
        Arrays.setAll(seen, i -> new AtomicInteger());
        CountDownLatch left = new CountDownLatch(timers);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            threads.add(Threads.begin(() -> {
                Events events = new Events(16);
                try {
                    for (;;) {
                        int n = wheel.read(events);
                        for (int k = 0; k < n; k++) {
                            seen[(int) events.userData(k)].incrementAndGet();
                            left.countDown();
                        }
                    }
                } catch (TwheelException e) {
                    /* It was closed. */
                }
            }));
        }
        for (int i = 0; i < timers; i++)
            wheel.arm(i % 20 * MS, i);
        left.await();
        wheel.close();
        for (Thread thread : threads)
            thread.join();
        int[] counts = Arrays.stream(seen).mapToInt(AtomicInteger::get).toArray();
        int[] once = new int[timers];
        Arrays.fill(once, 1);
        assertArrayEquals(once, counts);
    }

    @Test
    public void manyReaders() throws InterruptedException {
        oneOfManyReads(new Wheel());
        oneOfManyReads(new Wheel(options().threads()));
    }

    @Test
    public void descriptorsAreGivenBack() {
        assumeTrue("there is no /proc", new java.io.File("/proc/self/fd").isDirectory());
        new Wheel().close();
        int before = new java.io.File("/proc/self/fd").list().length;
        for (int i = 0; i < 20; i++)
            new Wheel().close();
        assertThrows(TwheelException.class, () -> new Wheel(options().device("/no/such/device")));
        /* Those of another test may be gone, too. */
        assertTrue(new java.io.File("/proc/self/fd").list().length <= before);
    }

    /** Forgotten wheels are closed, and one that somebody waits in or has a lease of is not. */
    @Test
    public void garbageIsClosed() throws InterruptedException {
        assumeTrue("there is no /proc", new java.io.File("/proc/self/fd").isDirectory());
        Lease lease = new Wheel(options().leases()).lease(HOUR, 1);
        AtomicInteger got = new AtomicInteger();
        Thread reader = Threads.begin(() -> {
            Wheel wheel = new Wheel();
            wheel.arm(200 * MS, 7);
            got.addAndGet(wheel.read(new Events(1)));
        });
        int before = new java.io.File("/proc/self/fd").list().length;
        for (int i = 0; i < 50; i++) {
            Wheel wheel = new Wheel();
            wheel.arm(HOUR, i);
        }
        int n = 0;
        while (new java.io.File("/proc/self/fd").list().length > before + 20) {
            assertTrue("they are open", n++ < 1000);
            System.gc();
            Thread.sleep(10);
        }
        reader.join();
        assertEquals(1, got.get());
        assertFalse(lease.isOver());
    }
}
