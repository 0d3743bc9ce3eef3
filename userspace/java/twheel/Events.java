// SPDX-License-Identifier: GPL-2.0-only OR MIT
package twheel;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Room for what {@link Wheel#read} reads. It belongs to one thread at a time. */
public final class Events {
    private final ByteBuffer memory;
    private final int capacity;
    final long address;
    private int count;

    /** Makes room for so many events, 1 or more. */
    public Events(int capacity) {
        if (capacity < 1)
            throw new IllegalArgumentException("capacity " + capacity);
        this.capacity = capacity;
        memory = ByteBuffer.allocateDirect(Math.multiplyExact(capacity, Native.EVENT_SIZE))
                .order(ByteOrder.nativeOrder());
        address = Native.address(memory);
    }

    public int capacity() {
        return capacity;
    }

    /** How many events the last read has stored. */
    public int count() {
        return count;
    }

    void count(int n) {
        count = n;
    }

    private int at(int i, int field) {
        if (i < 0 || i >= count)
            throw new IndexOutOfBoundsException("event " + i + " of " + count);
        return i * Native.EVENT_SIZE + field;
    }

    /** The handle of the timer that has expired; in a wheel with keys its key. */
    public long handle(int i) {
        return memory.getLong(at(i, Native.EVENT_HANDLE));
    }

    public long userData(int i) {
        return memory.getLong(at(i, Native.EVENT_USER_DATA));
    }

    /** When the timer was due, in ns on the wheel's clock. */
    public long deadline(int i) {
        return memory.getLong(at(i, Native.EVENT_DEADLINE));
    }

    /** When it expired. */
    public long expired(int i) {
        return memory.getLong(at(i, Native.EVENT_EXPIRED));
    }

    /** How many expirations this is; 1 for a timer that does not repeat. */
    public long expirations(int i) {
        return memory.getLong(at(i, Native.EVENT_EXPIRATIONS));
    }
}
