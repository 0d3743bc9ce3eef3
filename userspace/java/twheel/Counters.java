// SPDX-License-Identifier: GPL-2.0-only OR MIT
package twheel;

import java.util.Arrays;

/**
 * What was counted in a wheel in the process since it was opened: see struct twheel_counters in
 * twheel.h.
 *
 * <p>In a distribution element 0 counts the value 0, element k the values from 2^(k-1) to 2^k - 1.
 */
public final class Counters {
    public final long armed;
    public final long rearmed;
    public final long cancelled;
    public final long expired;
    public final long read;
    public final long cascaded;
    public final long migrated;
    public final long turns;
    /** How many timers became ready so many ns after their deadlines. */
    public final long[] lateness;
    /** How many turns had so many timers expire. */
    public final long[] expiredATurn;
    /** How many reads returned so many events. */
    public final long[] readACall;

    Counters(long[] all) {
        armed = all[0];
        rearmed = all[1];
        cancelled = all[2];
        expired = all[3];
        read = all[4];
        cascaded = all[5];
        migrated = all[6];
        turns = all[7];
        lateness = distribution(all, 0);
        expiredATurn = distribution(all, 1);
        readACall = distribution(all, 2);
    }

    @Override
    public String toString() {
        return "Counters[armed=" + armed + ", rearmed=" + rearmed + ", cancelled=" + cancelled
                + ", expired=" + expired + ", read=" + read + ", cascaded=" + cascaded
                + ", migrated=" + migrated + ", turns=" + turns
                + ", lateness=" + Arrays.toString(lateness)
                + ", expiredATurn=" + Arrays.toString(expiredATurn) + ", readACall="
                + Arrays.toString(readACall) + "]";
    }

    private static long[] distribution(long[] all, int n) {
        int from = Native.COUNTERS + n * Native.BUCKETS;
        return Arrays.copyOfRange(all, from, from + Native.BUCKETS);
    }
}
