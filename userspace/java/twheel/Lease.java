// SPDX-License-Identifier: GPL-2.0-only OR MIT
package twheel;

/**
 * A timer that is pushed back without a system call, and tells whether that was in time.
 *
 * <p>Its event is read like any other. A lease should be forgotten some time after its end: see
 * struct twheel_lease in twheel.h.
 */
public final class Lease {
    private final Wheel wheel;
    private final long handle;
    private final long word;
    private final int tag;

    Lease(Wheel wheel, long handle, long word, int tag) {
        this.wheel = wheel;
        this.handle = handle;
        this.word = word;
        this.tag = tag;
    }

    /** For {@link Wheel#cancel}, and in its event. */
    public long handle() {
        return handle;
    }

    /**
     * Lets it last until a point in time on the wheel's clock, in ns, or longer if it does already.
     *
     * @return false if it is over
     */
    public boolean extend(long deadline) {
        synchronized (wheel) {
            wheel.use();
            return TwheelException.check("lease_extend", Native.leaseExtend(word, tag, deadline)) != 0;
        }
    }

    /** Its deadline or, if it is over, its last one; 0 if that is not known any more. */
    public long deadline() {
        synchronized (wheel) {
            wheel.use();
            return Native.leaseDeadline(word, tag);
        }
    }

    public boolean isOver() {
        synchronized (wheel) {
            wheel.use();
            return Native.leaseExpired(word, tag) != 0;
        }
    }
}
