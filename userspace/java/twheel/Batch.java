// SPDX-License-Identifier: GPL-2.0-only OR MIT
package twheel;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Timers to be armed by one {@link Wheel#arm(Batch)}, with all settings that a timer has.
 *
 * <p>Entries are numbered from 0 as they are added. It belongs to one thread at a time.
 */
public final class Batch {
    private final ByteBuffer memory;
    private final int capacity;
    final long address;
    private int count;

    /** Makes room for so many timers, 1 or more. */
    public Batch(int capacity) {
        if (capacity < 1)
            throw new IllegalArgumentException("capacity " + capacity);
        this.capacity = capacity;
        memory = ByteBuffer.allocateDirect(Math.multiplyExact(capacity, Native.ARM_SIZE))
                .order(ByteOrder.nativeOrder());
        address = Native.address(memory);
    }

    public int capacity() {
        return capacity;
    }

    public int count() {
        return count;
    }

    /** Forgets all entries. */
    public Batch clear() {
        count = 0;
        return this;
    }

    /**
     * Adds a timer that expires once, so many ns from now. A negative delay is none.
     *
     * @param handle 0 for a new timer, or that of one which is armed again; with keys the key
     * @return its number
     */
    public int after(long handle, long delay, long userData) {
        return add(handle, Math.max(delay, 0), userData, 0);
    }

    /** The same for a point in time on the wheel's clock. */
    public int at(long handle, long deadline, long userData) {
        return add(handle, deadline, userData, Native.ARM_ABS);
    }

    private int add(long handle, long expires, long userData, int flags) {
        if (count == capacity)
            throw new IllegalStateException("the batch is full");
        int entry = count * Native.ARM_SIZE;
        memory.putLong(entry + Native.ARM_HANDLE, handle)
                .putLong(entry + Native.ARM_USER_DATA, userData)
                .putLong(entry + Native.ARM_EXPIRES, expires)
                .putLong(entry + Native.ARM_INTERVAL, 0)
                .putLong(entry + Native.ARM_SLACK, 0)
                .putLong(entry + Native.ARM_COUNT, 0)
                .putShort(entry + Native.ARM_FLAGS, (short) flags);
        return count++;
    }

    private int entry(int i, int field) {
        if (i < 0 || i >= count)
            throw new IndexOutOfBoundsException("entry " + i + " of " + count);
        return i * Native.ARM_SIZE + field;
    }

    /** Has it repeat every so many ns, {@code count} times in all; 0 times is without end. */
    public Batch repeat(int i, long interval, int count) {
        memory.putLong(entry(i, Native.ARM_INTERVAL), interval);
        memory.putInt(entry(i, Native.ARM_COUNT), count);
        return this;
    }

    /** Lets it expire so many ns after its deadline, to share wake-ups. */
    public Batch slack(int i, long slack) {
        memory.putLong(entry(i, Native.ARM_SLACK), slack);
        return this;
    }

    /** After the call: its handle. */
    public long handle(int i) {
        return memory.getLong(entry(i, Native.ARM_HANDLE));
    }

    /** After the call: 0, or the number of the error. */
    public int error(int i) {
        return -memory.getShort(entry(i, Native.ARM_RESULT));
    }
}
