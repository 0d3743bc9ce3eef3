// SPDX-License-Identifier: GPL-2.0-only
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicBoolean;

/** Threads of tests. */
final class Threads {
    private Threads() {
    }

    /** Starts a thread, which keeps no program alive. */
    static Thread begin(Runnable task) {
        Thread thread = new Thread(task);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    /** A factory that, the first time, has another thread do something, and waits for that. */
    static ThreadFactory after(Runnable first) {
        AtomicBoolean asked = new AtomicBoolean();
        return task -> {
            if (!asked.getAndSet(true)) {
                Thread other = begin(first);
                try {
                    other.join(10000);
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
                if (other.isAlive())
                    throw new IllegalStateException("the other thread cannot go on");
            }
            return new Thread(task);
        };
    }

    /** Tells that it runs, and does so until it is let go. */
    static void hold(CountDownLatch runs, CountDownLatch go) {
        runs.countDown();
        try {
            go.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
