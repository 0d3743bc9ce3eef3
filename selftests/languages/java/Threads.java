// SPDX-License-Identifier: GPL-2.0-only
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadFactory;

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

    /** A factory that has another thread do something, and waits for that. */
    static ThreadFactory after(Runnable first) {
        return task -> {
            Thread other = begin(first);
            try {
                other.join(10000);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            if (other.isAlive())
                throw new IllegalStateException("the other thread cannot go on");
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
