// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Sessions: time sessions out by their own numbers, in Java.

import twheel.Events;
import twheel.Wheel;

public class Sessions {
    private static final long MS = 1_000_000;

    public static void main(String[] args) {
        try (Wheel wheel = new Wheel(new Wheel.Options().keyed())) {
            wheel.put(1, 200 * MS, 0);
            wheel.put(2, 100 * MS, 0);
            wheel.put(3, 300 * MS, 0);

            // A sign of life; and a log-out.
            wheel.pushAfter(2, 400 * MS);
            wheel.cancel(3);

            Events events = new Events(64);
            for (int left = 2; left > 0; left -= events.count()) {
                wheel.read(events);
                for (int i = 0; i < events.count(); i++)
                    System.out.println("session " + events.handle(i) + " has timed out");
            }
        }
    }
}
