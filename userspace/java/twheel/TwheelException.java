// SPDX-License-Identifier: GPL-2.0-only OR MIT
package twheel;

/** A call of the library has failed, and has changed nothing unless its description says so. */
public final class TwheelException extends RuntimeException {
    private static final long serialVersionUID = 1;
    private final int errno;

    TwheelException(String call, int errno) {
        super(call + ": " + Native.strerror(errno));
        this.errno = errno;
    }

    /** The number of the error, as in errno.h: 9, EBADF, if the wheel is closed. */
    public int errno() {
        return errno;
    }

    /** Returns a result that is no error. */
    static int check(String call, int result) {
        if (result < 0)
            throw new TwheelException(call, -result);
        return result;
    }

    /** Returns a handle that is no error. */
    static long check(String call, long result) {
        if (result < 0 && result >= Native.ERRORS)
            throw new TwheelException(call, (int) -result);
        return result;
    }
}
