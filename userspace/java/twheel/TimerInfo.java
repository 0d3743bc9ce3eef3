// SPDX-License-Identifier: GPL-2.0-only OR MIT
package twheel;

/** A timer as {@link Wheel#get} finds it; times are ns. */
public final class TimerInfo {
    public final long deadline;
    /** How long until then; 0 if it has passed. */
    public final long remaining;
    /** 0 if it does not repeat. */
    public final long interval;
    public final long slack;
    public final long userData;
    /** How many expirations are left; 0 if there is no end to them. */
    public final long count;
    /** It has expired, and that was not read. */
    public final boolean ready;

    TimerInfo(long[] info) {
        deadline = info[0];
        remaining = info[1];
        interval = info[2];
        slack = info[3];
        userData = info[4];
        count = info[5];
        ready = info[6] == Native.STATE_READY;
    }

    @Override
    public String toString() {
        return "TimerInfo[deadline=" + deadline + ", remaining=" + remaining
                + ", interval=" + interval + ", slack=" + slack + ", userData=" + userData
                + ", count=" + count + ", ready=" + ready + "]";
    }
}
