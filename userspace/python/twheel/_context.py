# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The calls of libtwheel."""

from __future__ import annotations

import array
import ctypes
import errno
import functools
import operator
import os
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from ctypes import byref, c_uint64, c_void_p, sizeof
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, NoReturn

from . import _abi

# The latest time, which is for ever: the module takes none that is later.
LATEST = (1 << 63) - 1
# How many timers a call of the library looks at in a walk
_BATCH = 256


def _load() -> ctypes.CDLL:
    inside = Path(__file__).with_name("libtwheel.so")
    name = os.environ.get("TWHEEL_LIBRARY") or (str(inside) if inside.exists() else _abi.LIBRARY)
    try:
        library = ctypes.CDLL(name)
    except OSError as error:
        raise ImportError(f"{error} (is libtwheel installed? TWHEEL_LIBRARY names another "
                          "file)") from None
    for function, (result, parameters) in _abi.FUNCTIONS.items():
        entry = getattr(library, function)
        entry.restype, entry.argtypes = result, parameters
    return library


_lib = _load()


def _check(result: int, what: str | None = None) -> int:
    """The result of a call, if that is no error."""
    if result < 0:
        raise OSError(-result, os.strerror(-result), what)
    return result


def _closed() -> OSError:
    return OSError(errno.EBADF, "the context is closed")


def _u64(value: int) -> int:
    """ctypes would only cut off what does not fit."""
    value = operator.index(value)
    if not 0 <= value < 1 << 64:
        raise OverflowError(f"{value} does not fit into 64 bits without a sign")
    return value


def _u32(value: int) -> int:
    value = operator.index(value)
    if not 0 <= value < 1 << 32:
        raise OverflowError(f"{value} does not fit into 32 bits without a sign")
    return value


def _ns(value: int) -> int:
    """A time that the library takes. What is later than the latest is that."""
    value = operator.index(value)
    if value < 0:
        raise OverflowError(f"a time of {value} ns is negative")
    return min(value, LATEST)


class Event(NamedTuple):
    """A record of the expirations of a timer; see struct twheel_event in <linux/twheel.h>."""

    user_data: int
    handle: int
    #: when the first expiration in this record was due
    deadline: int
    #: when that expiration was noticed; never before the deadline
    expired: int
    #: how many there were since the last record
    expirations: int
    flags: int

    @property
    def last(self) -> bool:
        """Has the timer ended?"""
        return bool(self.flags & _abi.TWHEEL_EVENT_LAST)


@dataclass(frozen=True, slots=True)
class Arm:
    """A request to arm a timer; see struct twheel_arm in <linux/twheel.h>.

    `expires` is a time from now or, with `absolute`, a point in time. Without keys no `handle`, or
    0, makes a new timer; with keys `handle` is the key, and has to be there. `if_pending` and
    `if_none` are conditions: the timer has to be pending, or there must be none.
    """

    expires: int
    user_data: int = 0
    handle: int | None = None
    absolute: bool = False
    interval: int = 0
    slack: int = 0
    count: int = 0
    fixed_delay: bool = False
    if_pending: bool = False
    if_none: bool = False

    def _fill(self, arm: _abi.twheel_arm, context: Context) -> None:
        arm.handle = context._handle(self.handle)
        arm.user_data = _u64(self.user_data)
        arm.expires = _ns(self.expires)
        arm.interval = _ns(self.interval)
        arm.slack = _ns(self.slack)
        arm.count = _u32(self.count)
        arm.flags = (
            (_abi.TWHEEL_ARM_ABS if self.absolute else 0) |
            (_abi.TWHEEL_ARM_FIXED_DELAY if self.fixed_delay else 0) |
            (_abi.TWHEEL_ARM_IF_PENDING if self.if_pending else 0) |
            (_abi.TWHEEL_ARM_IF_NONE if self.if_none else 0))


class Result(NamedTuple):
    """How a request went."""

    #: an errno, or 0; a single call raises OSError instead
    error: int
    handle: int
    #: what was replaced or cancelled: STATE_NONE, STATE_PENDING or STATE_READY
    old_state: int
    #: for STATE_PENDING the time that was left until the deadline
    old_remaining: int


@dataclass(frozen=True, slots=True)
class TimerInfo:
    """The settings and the state of a timer; see struct twheel_timer_info."""

    handle: int
    user_data: int
    deadline: int
    remaining: int
    interval: int
    slack: int
    count: int
    state: int
    flags: int
    #: of a lease, for Context.lease_at()
    word: int
    tag: int


class Counters(NamedTuple):
    """What was counted in an embedded context; see struct twheel_counters."""

    armed: int
    rearmed: int
    cancelled: int
    expired: int
    read: int
    cascaded: int
    migrated: int
    turns: int
    #: how many timers were so late, in ns: element 0 for 0, element k for 2**(k-1) to 2**k - 1
    lateness: tuple[int, ...]
    #: likewise, how many turns had so many timers expire
    expired_a_turn: tuple[int, ...]
    #: likewise, how many calls returned so many events
    read_a_call: tuple[int, ...]


class Info(NamedTuple):
    """The module, and the present state of a context; see struct twheel_info."""

    abi_version: int
    features: int
    tick_ns: int
    slots: int
    levels: int
    now: int
    limit: int
    user_limit: int
    user_timers: int
    pending: int
    ready: int
    #: the earliest deadline; None if that was not asked for, or if nothing is pending
    next_expiry: int | None


def _timer_info(info: _abi.twheel_timer_info) -> TimerInfo:
    return TimerInfo(info.handle, info.user_data, info.deadline, info.remaining, info.interval,
                     info.slack, info.count, info.state, info.flags, info.word, info.tag)


def _stored(room: Any) -> list[Event]:
    """The events that reads have stored in what was zero. In each there is an expiration."""
    events = []
    for e in room:
        if not e.expirations:
            break
        events.append(Event(e.user_data, e.handle, e.deadline, e.expired, e.expirations, e.flags))
    return events


class _Owned(int):
    """The address of a context of the library, which is closed when nobody has this any more.

    A call has it until it ends: the context may be closed meanwhile, by a finalizer that the
    garbage collector runs just then, or by another thread.
    """

    # Did twheel_release() free it?
    released = False

    def __del__(self, close: Callable[[int], None] = _lib.twheel_close) -> None:
        if not self.released:
            close(self)


# Those of contexts that are open, by id(). So the garbage collector sees that they are in use, and
# finalizes none before its context.
_owned: dict[int, _Owned] = {}


class _Word(c_uint64):
    """The word of a lease, where it is. Views of it keep the context."""

    context: Context
    # Finalizers may look at what is in a view when that of the context has run.
    owned: _Owned

    def __hash__(self) -> int:
        return id(self)


class Lease:
    """A timer that is pushed back without a system call; made by `Context.lease()`.

    `word` is a view of one item, the lease's word, which <linux/twheel.h> describes, and `tag`
    is the tag that it has as long as the word is that of this lease. To read it takes no call.
    Extend the lease with `extend()`, not by storing into the view: a store could undo that the
    lease has just expired, or extend another one.

    Its deadline is rounded up to a multiple of 1,024 ns. A lease that is over is not to be kept
    for ever: see struct twheel_lease.
    """

    def __init__(self, context: Context, handle: int, lease: _abi.twheel_lease) -> None:
        self.context = context
        self.handle = handle
        self.tag: int = lease.tag
        self._lease = lease
        self._view: memoryview | None = None

    def __reduce__(self) -> NoReturn:
        raise TypeError("a lease cannot be copied")

    def __repr__(self) -> str:
        state = ("closed" if self.context.closed else "expired" if self.expired else
                 f"deadline={self.deadline}")
        return f"<Lease {state} handle={self.handle}>"

    @property
    def word(self) -> memoryview:
        """A view of the word, which is released when the context is closed."""
        _ = self.context._pointer
        if self._view is None:
            word = _Word.from_address(ctypes.addressof(self._lease.word.contents))
            word.context, word.owned = self.context, self.context._pointer
            self._view = memoryview(word).cast("B").cast("Q")
            self.context._words.add(word)
            self.context._leases.add(self)
        return self._view

    def _release(self) -> None:
        if self._view is not None:
            self._view.release()
            self._view = None

    def _call(self, function: Callable[..., int], *arguments: int) -> int:
        """Call the library. EBADF if the context, and with it the word, is gone."""
        # This keeps it until the call ends.
        _ = self.context._pointer
        return function(self._lease, *arguments)

    def extend(self, deadline: int) -> bool:
        """Push the lease back to a point in time, by a compare-and-swap.

        False if it is over already, so that it was not pushed back.
        """
        return bool(_check(self._call(_lib.twheel_lease_extend, _ns(deadline))))

    def cancel(self) -> Result:
        """End the lease without an event."""
        return self.context.cancel(self.handle)

    @property
    def deadline(self) -> int | None:
        """The deadline; that of a lease which is over, its last one.

        None if another timer has its word by now.
        """
        return self._call(_lib.twheel_lease_deadline) or None

    @property
    def expired(self) -> bool:
        """Is the lease over?"""
        return bool(self._call(_lib.twheel_lease_expired))


class Context:
    """A set of timers: an open of /dev/twheel, or a timer wheel in the process.

    Without a `path` it is the device or, where there is none, a wheel in the process. With
    `embedded` it is always that; TWHEEL_BACKEND in the environment decides otherwise.
    `clock` is time.CLOCK_MONOTONIC, CLOCK_BOOTTIME or CLOCK_REALTIME. With `keyed`, handles are
    numbers that the program chooses: to arm a timer without one is EINVAL. An event may have
    been read before its key was armed anew: while `get()` finds a timer with the key, an event
    that is the `last` one is of an earlier arming, and another will come. With `lease` there can
    be leases.

    All times are nanoseconds on that clock, and integers; what is later than 2^63 - 1 is that,
    which is for ever. Negative times, and handles and keys that do not fit, are OverflowError; a
    path with a zero byte is ValueError. Other errors are OSError with the errno of libtwheel; a
    closed context is EBADF. Calls may be made from several threads. One that is under way during
    close() goes on, also a read that waits; the library closes the context after that. None may
    be under way during detach().
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, *,
                 clock: int = time.CLOCK_MONOTONIC, keyed: bool = False, lease: bool = False,
                 cancel_on_set: bool = False, limit: int = 0, nonblock: bool = False,
                 embedded: bool = False) -> None:
        self._tw: _Owned | None = None
        self._words: weakref.WeakSet[_Word] = weakref.WeakSet()
        self._leases: weakref.WeakSet[Lease] = weakref.WeakSet()
        config = _abi.twheel_config()
        config.clock = (_abi.TWHEEL_CLOCK_REALTIME if clock == time.CLOCK_REALTIME else
                        _u32(clock))
        config.flags = (
            (_abi.TWHEEL_CONFIG_KEYED if keyed else 0) |
            (_abi.TWHEEL_CONFIG_LEASE if lease else 0) |
            (_abi.TWHEEL_CONFIG_CANCEL_ON_SET if cancel_on_set else 0))
        config.limit = _u64(limit)
        flags = (
            _abi.TWHEEL_OPEN_CLOEXEC | (_abi.TWHEEL_OPEN_NONBLOCK if nonblock else 0) |
            (_abi.TWHEEL_OPEN_EMBEDDED if embedded else 0))
        tw, name = c_void_p(), None if path is None else os.fsencode(path)
        if name and b"\0" in name:
            # It would be cut off there.
            raise ValueError("a path has no zero byte")
        result = _lib.twheel_open(byref(tw), name, flags, byref(config))
        what = os.fspath(path) if path is not None else _abi.TWHEEL_DEVICE
        if result == -errno.EINVAL and path is None:
            what = "the options"
            if "TWHEEL_BACKEND" in os.environ:
                what += " or TWHEEL_BACKEND (auto, device, embedded)"
        _check(result, what)
        self._goes(tw)

    def __repr__(self) -> str:
        return "<Context closed>" if self.closed else f"<Context open fd={self.fileno()}>"

    @classmethod
    def adopt(cls, fd: int) -> Context:
        """Make a context from an open descriptor of the device, which it then owns."""
        context = cls.__new__(cls)
        tw = c_void_p()
        _check(_lib.twheel_adopt(byref(tw), fd))
        context._words, context._leases = weakref.WeakSet(), weakref.WeakSet()
        context._goes(tw)
        return context

    def detach(self) -> int:
        """Close the context and return its descriptor, whose timers go on.

        EOPNOTSUPP for a wheel in the process.
        """
        if self.embedded:
            _check(-errno.EOPNOTSUPP)
        self._release_words()
        tw = self._pointer
        fd = _check(_lib.twheel_release(tw))
        tw.released = True
        self._drop()
        return fd

    def close(self) -> None:
        """Cancel all timers and close the context. Closing twice is harmless.

        The words of leases are gone then, and their views are released. While the program has
        other views of them, made from those, this raises BufferError: the context stays open, and
        `Lease.word` is a new view.
        """
        if self._tw is not None:
            self._release_words()
            self._drop()

    def _drop(self) -> None:
        tw, self._tw = getattr(self, "_tw", None), None
        if tw is not None:
            _owned.pop(id(tw), None)

    def _release_words(self) -> None:
        for lease in list(self._leases):
            lease._release()
        if len(self._words):
            raise BufferError("there are views of the words of leases")

    def __reduce__(self) -> NoReturn:
        # Either of the two would close the library's context of both.
        raise TypeError("a context cannot be copied")

    def __del__(self) -> None:
        # Views of words would have kept the context. Other finalizers may use it after this one.
        self._drop()

    def __enter__(self) -> Context:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    @property
    def _pointer(self) -> _Owned:
        tw = self._tw
        if tw is None:
            raise _closed()
        return tw

    def _goes(self, tw: c_void_p) -> None:
        self._tw = _Owned(tw.value or 0)
        _owned[id(self._tw)] = self._tw
        # What twheel_now() does, in a third of the time
        self._time: Callable[[], int] = functools.partial(time.clock_gettime_ns, self.clock)
        if self.clock == time.CLOCK_MONOTONIC:
            # It has no argument to look at.
            self._time = time.monotonic_ns
        self._keyed = bool(_lib.twheel_config_flags(self._pointer) & _abi.TWHEEL_CONFIG_KEYED)

    def _handle(self, handle: int | None) -> int:
        """What a request to arm has as its handle. 0 is no timer, but one of the keys."""
        if handle is not None:
            return _u64(handle)
        if self._keyed:
            raise OSError(errno.EINVAL, "a timer has to have a key")
        return 0

    @property
    def closed(self) -> bool:
        """Was close() or detach() called?"""
        return self._tw is None

    def fileno(self) -> int:
        """The descriptor, for poll, epoll and selectors: readable when there are events."""
        return int(_lib.twheel_fd(self._pointer))

    @property
    def clock(self) -> int:
        """The clock, as time.clock_gettime() takes it."""
        return int(_lib.twheel_clock(self._pointer))

    def now(self) -> int:
        """The time on the context's clock."""
        if self._tw is None:
            raise _closed()
        return self._time()

    def set_now(self, ns: int) -> None:
        """Let the clock of an embedded context stand still at a time, for tests of programs."""
        _check(_lib.twheel_set_now(self._pointer, _u64(ns)))
        self._time = functools.partial(_lib.twheel_now, int(self._pointer))

    def info(self, find_next: bool = False) -> Info:
        """Describe the module and the context; with `find_next` the next deadline, too."""
        info = _abi.twheel_info()
        _check(_lib.twheel_get_info(self._pointer, _abi.TWHEEL_INFO_NEXT if find_next else 0,
                                    byref(info)))
        known = find_next and info.next_expiry != _abi.TWHEEL_NO_EXPIRY
        return Info(info.abi_version, info.features, info.tick_ns, info.slots, info.levels,
                    info.now, info.limit, info.user_limit, info.user_timers, info.pending,
                    info.ready, info.next_expiry if known else None)

    def stats(self) -> Counters:
        """What was counted in an embedded context."""
        counters = _abi.twheel_counters()
        _check(_lib.twheel_stats(self._pointer, byref(counters), sizeof(counters)))
        values = (getattr(counters, name) for name in Counters._fields)
        return Counters._make(n if isinstance(n, int) else tuple(n) for n in values)

    @property
    def embedded(self) -> bool:
        """Is this a wheel in the process?"""
        return bool(self.info().features & _abi.TWHEEL_FEATURE_EMBEDDED)

    def arm(self, expires: int, user_data: int = 0, *, handle: int | None = None,
            absolute: bool = False, interval: int = 0, slack: int = 0, count: int = 0,
            fixed_delay: bool = False, if_pending: bool = False, if_none: bool = False) -> Result:
        """Arm a new timer or, with a `handle`, re-arm one with all its settings; see `Arm`."""
        arm = _abi.twheel_arm()
        Arm(expires, user_data, handle, absolute, interval, slack, count, fixed_delay,
            if_pending, if_none)._fill(arm, self)
        _check(_lib.twheel_arm(self._pointer, byref(arm)))
        return Result(0, arm.handle, arm.old_state, arm.old_remaining)

    def arm_batch(self, requests: Iterable[Arm]) -> list[Result]:
        """Arm many timers with one system call."""
        listed = list(requests)
        arms: Any = (_abi.twheel_arm * len(listed))()
        for arm, request in zip(arms, listed):
            request._fill(arm, self)
        done = _check(_lib.twheel_arm_batch(self._pointer, arms, len(listed))) if listed else 0
        return [Result(-a.result, a.handle, a.old_state, a.old_remaining) for a in arms[:done]]

    def push(self, handle: int, expires: int) -> None:
        """Push a pending timer back to a point in time, and leave its settings as they are.

        ENOENT if there is no such timer or, without keys, if it has expired.
        """
        _check(_lib.twheel_push(self._pointer, _u64(handle), _ns(expires)))

    def push_batch(self, pushes: Iterable[tuple[int, int]]) -> int:
        """Push many timers back with one system call: pairs of a handle and a point in time.

        Returns how many were pushed back, up to the first for which that failed.
        """
        return _check(self._push_all(array.array("Q", (number for handle, expires in pushes
                                                       for number in (_u64(handle),
                                                                      _ns(expires))))))

    def _push_all(self, numbers: array.array[int], done: int = 0) -> int:
        """What twheel_push_batch() returns of handles and points in time, one after the other.

        `done` pairs are left out.
        """
        left = len(numbers) // 2 - done
        if left <= 0:
            return 0
        # An object for each entry would take longer than all the rest.
        first = _abi.twheel_push.from_buffer(numbers, done * sizeof(_abi.twheel_push))
        return int(_lib.twheel_push_batch(self._pointer, byref(first), left))

    def cancel(self, handle: int) -> Result:
        """Cancel a timer: no event of it will be read any more. ENOENT if it is not live."""
        old = _abi.twheel_old()
        _check(_lib.twheel_cancel(self._pointer, _u64(handle), byref(old)))
        return Result(0, handle, old.state, old.remaining)

    def cancel_batch(self, handles: Iterable[int]) -> list[Result]:
        """Cancel many timers with one system call."""
        listed = [_u64(handle) for handle in handles]
        cancels: Any = (_abi.twheel_cancel * len(listed))()
        for cancel, handle in zip(cancels, listed):
            cancel.handle = handle
        done = _check(_lib.twheel_cancel_batch(self._pointer, cancels, len(listed))) \
            if listed else 0
        return [Result(-c.result, c.handle, c.old_state, c.old_remaining)
                for c in cancels[:done]]

    def _cancel_all(self, handles: list[int]) -> None:
        """Cancel these timers, where they are live."""
        size, done = sizeof(_abi.twheel_cancel), 0
        words = array.array("Q", bytes(size * len(handles)))
        words[::size // 8] = array.array("Q", handles)
        while done < len(handles):
            first = _abi.twheel_cancel.from_buffer(words, done * size)
            done += _check(_lib.twheel_cancel_batch(self._pointer, byref(first),
                                                    len(handles) - done))

    def get(self, handle: int) -> TimerInfo:
        """Look at one timer. ENOENT if it is not live."""
        info = _abi.twheel_timer_info()
        _check(_lib.twheel_get(self._pointer, _u64(handle), byref(info)))
        return _timer_info(info)

    def timers(self) -> Iterator[TimerInfo]:
        """Walk the pending timers. One that is pending during the whole walk comes once."""
        walk, info = c_void_p(), _abi.twheel_timer_info()
        _check(_lib.twheel_walk_new(byref(walk), self._pointer))
        try:
            while True:
                # A closed context has no timers to look at. This call has it, and no longer.
                tw = self._pointer
                result = _lib.twheel_walk_next(walk, byref(info))
                del tw
                if result == 0:
                    return
                if result != -errno.EINTR:
                    _check(result)
                    yield _timer_info(info)
        finally:
            _lib.twheel_walk_free(walk)

    def drain(self) -> Iterator[TimerInfo]:
        """Cancel the pending timers and hand back their settings, as they are iterated.

        They are cancelled up to 256 at a time.
        """
        cursor, infos = c_uint64(), (_abi.twheel_timer_info * _BATCH)()
        while True:
            count = _lib.twheel_drain(self._pointer, byref(cursor), infos, _BATCH)
            if count == 0:
                return
            if count != -errno.EINTR:
                yield from [_timer_info(info) for info in infos[:_check(count)]]

    def cancel_all(self) -> None:
        """Cancel all timers, and drop the events that were not read."""
        _check(_lib.twheel_cancel_all(self._pointer))

    def read(self, limit: int = 256, *, timeout: int | None = None) -> list[Event]:
        """Read up to `limit` events, and wait for the first unless `nonblock` was given.

        Without events a `nonblock` context raises BlockingIOError. With a `timeout`, in
        nanoseconds, the call waits for so long at most, whatever `nonblock` is, and returns an
        empty list if there was no event. What it has just read is lost if a handler of a signal
        raises.
        """
        room = self._room(limit)
        _check(self._read_into(room, timeout))
        return _stored(room)

    @staticmethod
    def _room(limit: int) -> Any:
        """What `_read_into()` takes"""
        return (_abi.twheel_event * _u64(limit))()

    def _read_into(self, room: Any, timeout: int | None = None) -> int:
        """What read() does; returns how many events it has stored, or a negative errno.

        If this is left by an exception of a handler of a signal, some may be stored all the same.
        """
        end = 0 if timeout is None else time.monotonic_ns() + _ns(timeout)
        while True:
            if timeout is None:
                count = _lib.twheel_read(self._pointer, room, len(room))
            else:
                rest = min(max(end - time.monotonic_ns(), 0), LATEST)
                count = _lib.twheel_read_timeout(self._pointer, room, len(room), rest)
            # Python has run its handler of the signal by now, which may have raised.
            if count != -errno.EINTR:
                return int(count)

    def lease(self, expires: int, user_data: int = 0, *, absolute: bool = False,
              key: int | None = None) -> Lease:
        """Arm a lease; in a context with keys, and only there, that with this key."""
        handle, old = c_uint64(self._handle(key)), _abi.twheel_old()
        if key is not None and not self._keyed:
            raise OSError(errno.EINVAL, "a key in a context without keys")
        lease = _abi.twheel_lease()
        _check(_lib.twheel_lease_new(
            self._pointer, _ns(expires), _abi.TWHEEL_ARM_ABS if absolute else 0,
            _u64(user_data), byref(handle), byref(lease), byref(old)))
        return Lease(self, handle.value, lease)

    def lease_at(self, info: TimerInfo) -> Lease:
        """The lease that `get()` or a walk describes, which another process may have armed.

        EINVAL if it describes another timer.
        """
        lease = _abi.twheel_lease()
        _check(_lib.twheel_lease_at(self._pointer, info.word, info.tag, byref(lease)))
        return Lease(self, info.handle, lease)

    def take_over(self) -> None:
        """Go on, in a child, with a context that the parent will not use any more."""
        _lib.twheel_take_over(self._pointer)
