// SPDX-License-Identifier: GPL-2.0-only
import java.util.concurrent.CountDownLatch;

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
