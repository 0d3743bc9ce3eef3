// SPDX-License-Identifier: GPL-2.0-only
import java.io.BufferedReader;
import java.io.FileReader;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

import io.netty.util.HashedWheelTimer;
import io.netty.util.Timeout;
import io.netty.util.Timer;
import io.netty.util.TimerTask;

import twheel.netty.TwheelTimer;

/**
 * What timers cost in Java: Netty's HashedWheelTimer, java.util.concurrent and twheel, in turns.
 *
 * <p>With the jar that make packages makes, and Netty's:
 *
 * <pre>
 * javac -cp $jar:/usr/share/java/netty-common.jar -d $folder JavaTimers.java
 * java -Xms3g -Xmx3g -cp $jar:/usr/share/java/netty-common.jar:$folder JavaTimers 5 10000 100000 1000000
 * </pre>
 *
 * <p>Arguments: rounds, then how many are pending. Prints, tab-separated, the operation, how many are
 * pending, and for each of the three the median of the rounds: ns of CPU time an operation, of the
 * thread that calls and that of the timers together; for "late", ns; and how often the timer's thread
 * woke up.
 */
public final class JavaTimers {
    private static final TimerTask NOTHING = timeout -> { };

    /** A kind of timers. */
    private interface Peer {
        Object arm(long delayMs);

        /** Pushes a timer back. Returns the one that takes its place. */
        default Object push(Object timer, long delayMs) {
            cancel(timer);
            return arm(delayMs);
        }

        void cancel(Object timer);

        Object armLate(Runnable task, long delayUs);

        /** Lets go of all that is pending. */
        void stop();
    }

    private static class Netty implements Peer {
        final Timer timer;

        Netty(Timer timer) {
            this.timer = timer;
        }

        @Override
        public Object arm(long delayMs) {
            return timer.newTimeout(NOTHING, delayMs, TimeUnit.MILLISECONDS);
        }

        @Override
        public void cancel(Object timer) {
            ((Timeout) timer).cancel();
        }

        @Override
        public Object armLate(Runnable task, long delayUs) {
            return timer.newTimeout(timeout -> task.run(), delayUs, TimeUnit.MICROSECONDS);
        }

        @Override
        public void stop() {
            timer.stop();
        }
    }

    private static final class Twheel extends Netty {
        Twheel() {
            super(new TwheelTimer());
        }

        @Override
        public Object push(Object timer, long delayMs) {
            ((TwheelTimer.TwheelTimeout) timer).push(delayMs, TimeUnit.MILLISECONDS);
            return timer;
        }
    }

    private static final class Pool implements Peer {
        private final ScheduledThreadPoolExecutor pool = new ScheduledThreadPoolExecutor(1);

        Pool() {
            pool.setRemoveOnCancelPolicy(true);
        }

        @Override
        public Object arm(long delayMs) {
            return pool.schedule(() -> { }, delayMs, TimeUnit.MILLISECONDS);
        }

        @Override
        public void cancel(Object timer) {
            ((ScheduledFuture<?>) timer).cancel(false);
        }

        @Override
        public Object armLate(Runnable task, long delayUs) {
            return pool.schedule(task, delayUs, TimeUnit.MICROSECONDS);
        }

        @Override
        public void stop() {
            pool.shutdownNow();
        }
    }

    private static final String[] NAMES = { "HashedWheelTimer", "ScheduledThreadPoolExecutor", "twheel" };

    private static Peer make(int which) {
        switch (which) {
        case 0:
            return new Netty(new HashedWheelTimer());
        case 1:
            return new Pool();
        default:
            return new Twheel();
        }
    }

    /** Of all threads of Java; what the compiler and the garbage collector take is not in it. */
    private static long cpu() {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        long sum = 0;
        for (long id : threads.getAllThreadIds())
            sum += Math.max(threads.getThreadCpuTime(id), 0);
        return sum;
    }

    private final Map<String, long[][]> figures = new LinkedHashMap<>();
    private final int rounds;

    private JavaTimers(int rounds) {
        this.rounds = rounds;
    }

    private void note(String what, int which, int round, long figure) {
        figures.computeIfAbsent(what, key -> new long[NAMES.length][rounds])[which][round] = figure;
    }

    private interface Operation {
        void run(int i);
    }

    /** A thread may do the work later: HashedWheelTimer takes up to 100,000 of a tick of 100 ms. */
    private static long cost(int n, Operation operation) throws InterruptedException {
        long begun = cpu();
        for (int i = 0; i < n; i++)
            operation.run(i);
        Thread.sleep(300 + n / 800);
        return (cpu() - begun) / n;
    }

    private void measure(int which, int round, int pending) throws InterruptedException {
        Peer peer = make(which);
        Object[] timers = new Object[pending];
        Random random = new Random(round);
        int[] any = random.ints(pending, 0, pending).toArray();
        /* A minute to an hour, as timeouts of connections */
        int[] delays = random.ints(pending, 60_000, 3_600_000).toArray();
        int some = Math.min(pending, 100_000);

        note("arm\t" + pending, which, round, cost(pending, i -> timers[i] = peer.arm(delays[i])));
        note("push back\t" + pending, which, round,
                cost(pending, i -> timers[any[i]] = peer.push(timers[any[i]], delays[i])));
        note("arm and cancel at once\t" + pending, which, round,
                cost(some, i -> peer.cancel(peer.arm(delays[i]))));
        note("cancel\t" + pending, which, round, cost(pending, i -> peer.cancel(timers[i])));
        note("arm, in memory that was used before\t" + pending, which, round, cost(pending, i -> timers[i] = peer.arm(delays[i])));
        peer.stop();
        System.gc();
    }

    /** How late are timers with this many pending beside them? */
    private void late(int which, int round, int pending) throws InterruptedException {
        Peer peer = make(which);
        for (int i = 0; i < pending; i++)
            peer.arm(3_600_000);
        int n = 500;
        long[] lateness = new long[n];
        AtomicInteger at = new AtomicInteger();
        CountDownLatch left = new CountDownLatch(n);
        for (int i = 0; i < n; i++) {
            long delay = 2000 + 4000L * i;
            long due = System.nanoTime() + delay * 1000;
            peer.armLate(() -> {
                lateness[at.getAndIncrement()] = System.nanoTime() - due;
                left.countDown();
            }, delay);
        }
        left.await();
        Arrays.sort(lateness);
        note("late, median\t" + pending, which, round, lateness[n / 2]);
        note("late, 99 of 100\t" + pending, which, round, lateness[n * 99 / 100]);
        peer.stop();
    }

    private static long switches() throws IOException {
        long sum = 0;
        for (java.io.File task : new java.io.File("/proc/self/task").listFiles()) {
            boolean timers = false;
            long voluntary = 0;
            try (BufferedReader in = new BufferedReader(new FileReader(new java.io.File(task, "status")))) {
                for (String line; (line = in.readLine()) != null;) {
                    if (line.startsWith("Name:"))
                        timers = line.contains("pool-");
                    if (line.startsWith("voluntary"))
                        voluntary = Long.parseLong(line.split("\\s+")[1]);
                }
            }
            sum += timers ? voluntary : 0;
        }
        return sum;
    }

    private void idle(int which, int round, int pending) throws Exception {
        Peer peer = make(which);
        for (int i = 0; i < pending; i++)
            peer.arm(3_600_000);
        Thread.sleep(1000);
        long before = switches();
        Thread.sleep(5000);
        note("wake-ups in 5 s while nothing is due\t" + pending, which, round, switches() - before);
        peer.stop();
        Thread.sleep(300);
    }

    private void print() {
        figures.forEach((what, all) -> {
            StringBuilder line = new StringBuilder(what);
            for (long[] figure : all) {
                Arrays.sort(figure);
                line.append('\t').append(figure[figure.length / 2]);
            }
            System.out.println(line);
        });
    }

    public static void main(String[] args) throws Exception {
        int rounds = Integer.parseInt(args[0]);
        JavaTimers all = new JavaTimers(rounds);
        System.out.println("#\tpending\t" + String.join("\t", NAMES));
        for (int k = 1; k < args.length; k++) {
            int pending = Integer.parseInt(args[k]);
            /* A round for the compiler first, which a later one overwrites. */
            for (int which = 0; which < NAMES.length; which++)
                all.measure(which, 0, pending);
            for (int round = 0; round < rounds; round++)
                for (int i = 0; i < NAMES.length; i++)
                    all.measure((i + round) % NAMES.length, round, pending);
        }
        int pending = Integer.parseInt(args[1]);
        for (int round = 0; round < rounds; round++) {
            for (int which = 0; which < NAMES.length; which++) {
                all.late(which, round, pending);
                all.idle(which, round, pending);
            }
        }
        all.print();
        System.exit(0);
    }
}
