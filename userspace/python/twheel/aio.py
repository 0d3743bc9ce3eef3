# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Timers for asyncio, all of them in one context of twheel.

    async with Wheel() as wheel:
        await wheel.sleep(0.5)

Times are seconds. Nothing is ever early; what is too long, as math.inf, is for ever.

A call of the library costs more than all the rest. So the wheel is told in batches what was armed,
pushed back and cancelled: after 20 ms, or in the next turn of the event loop if something is due
before long. Most timeouts are cancelled before that, and the wheel never hears of them.
"""

from __future__ import annotations

import array
import asyncio
import collections
import contextlib
import contextvars
import errno
import functools
import inspect
import itertools
import logging
import math
import os
import time
import weakref
from collections.abc import AsyncGenerator, Callable, Generator, Hashable
from math import ceil
from threading import get_ident
from types import TracebackType
from typing import Any, NoReturn, TypeVar

from ._context import LATEST, Context, Event, _stored

__all__ = ["Group", "Timeout", "Timer", "Wheel"]

_T = TypeVar("_T")
# mypy 1.0 knows no eventfd there.
_os: Any = os
_NO_KEY = object()
# Nanoseconds of less seconds than these are exact in a float.
_EXACT = (1 << 53) // 1_000_000_000
_NEVER = LATEST + 1
# For so long the wheel need not be told of a timer, in ns, if it is due after twice that time.
_LAG = 20_000_000
# So many events are read at a time.
_BATCH = 256

_wheels: weakref.WeakSet[Wheel] = weakref.WeakSet()


class _NotRunning:
    """In place of the loop of a wheel that cannot be used"""

    _thread_id = None


def _forked() -> None:
    """In a child: the wheels are those of the parent. os.getpid() is a system call."""
    for wheel in list(_wheels):
        wheel._runner = _NotRunning
        wheel._parents = True


os.register_at_fork(after_in_child=_forked)


def _ns(seconds: float) -> int:
    """In nanoseconds, rounded up so that it is not early; what has passed is now."""
    # As it was written: 0.1 is a bit more than a tenth, and 1 ns more would add up in rounds.
    if 0 < seconds < _EXACT:
        ns = ceil(seconds * 1_000_000_000)
        if ns / 1_000_000_000 == seconds:
            return ns
    if seconds != seconds:
        raise ValueError("a time is no number (NaN)")
    if seconds <= 0:
        return 0
    if seconds > LATEST // 1_000_000_000:
        return LATEST
    # The product of floats would be rounded, perhaps down.
    numerator, denominator = seconds.as_integer_ratio()
    return -(-numerator * 1_000_000_000 // denominator)


def _seconds(ns: int) -> float:
    # Both are integers: the quotient is rounded once.
    return math.inf if ns == LATEST else ns / 1_000_000_000


class Timer:
    """A timer of a wheel, as `Wheel.call_later()` and others return it.

    It has the methods of asyncio's handles, too.
    """

    __slots__ = ("_wheel", "_id", "_order", "_callback", "_args", "_context", "_key",
                 "_deadline", "_when", "_delay", "_cancelled", "__weakref__")

    def __init__(self, wheel: Wheel, callback: Callable[..., object],
                 args: tuple[Any, ...] | None, delay: float | None = None,
                 key: Hashable = _NO_KEY, context: contextvars.Context | None = None) -> None:
        """Without `args` the callback is given the number of expirations."""
        if wheel._debug() and (inspect.iscoroutinefunction(callback) or not callable(callback)):
            raise TypeError(f"a timer calls a function, and no coroutine: {callback!r}")
        self._wheel = wheel
        self._callback = callback
        self._args = args
        self._context = contextvars.copy_context() if context is None else context
        self._delay = delay
        self._key = key
        # Its key in the wheel as long as it is armed
        self._id = 0

    def _set(self, number: int, order: int, deadline: int) -> None:
        self._id = number
        # Who was armed later has the higher number.
        self._order = order
        self._deadline = deadline
        # What call_at() was given; None stands for the deadline.
        self._when: float | None = None
        self._cancelled = False

    def __repr__(self) -> str:
        state = "armed" if self.armed else "cancelled" if self._cancelled else "over"
        key = "" if self._key is _NO_KEY else f" key={self._key!r}"
        return f"<Timer {state} when={self.when()}{key} callback={self._callback!r}>"

    @property
    def armed(self) -> bool:
        """Will the callback be called?"""
        return self._wheel._timers.get(self._id) is self

    def cancel(self) -> bool:
        """Cancel the timer: its callback is not called any more. False if it is not armed."""
        self._cancelled = True
        return self._wheel._cancel(self)

    def cancelled(self) -> bool:
        """Was it cancelled since it was armed, or replaced, or its wheel closed?

        As with asyncio's handles, to cancel one that was called counts, too.
        """
        return self._cancelled

    def when(self) -> float:
        """When the callback is due, or was, on the wheel's clock; see `Wheel.time()`."""
        return _seconds(self._deadline) if self._when is None else self._when

    def push(self, delay: float) -> None:
        """Have the callback called once, `delay` seconds from now, and not before that.

        This works for a timer that was called or cancelled, too. If another timer has its key
        by now, that one is replaced.
        """
        self._wheel._arm(self, self._wheel._after(delay))

    def again(self) -> None:
        """Have the callback called once more, after the delay with which the timer was made.

        As push(), this works for a timer that was called or cancelled, too. ValueError if it was
        made for a point in time.
        """
        if self._delay is None:
            raise ValueError("the timer was made for a point in time")
        self.push(self._delay)

    def remaining(self) -> float:
        """How many seconds are left until the callback is due; 0 if it is due or not armed."""
        return max(self.when() - self._wheel.time(), 0.0) if self.armed else 0.0

    def _refuse(self, error: OSError) -> None:
        """The wheel has not taken it, in the turn after it was armed.

        The handler is a program's, and this may be within a call of the program.
        """
        self._cancelled = True
        loop = self._wheel._loop
        loop.call_soon(loop.call_exception_handler, {
            "message": f"A timer could not be armed: {self._callback!r}",
            "exception": error,
        })

    def _run(self, expirations: int) -> None:
        loop = self._wheel._loop
        begun = loop.time() if self._wheel._debug() else math.inf
        try:
            args = (expirations,) if self._args is None else self._args
            self._context.run(self._callback, *args)
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:
            loop.call_exception_handler({
                "message": f"Exception in the callback of a timer: {self._callback!r}",
                "exception": error,
            })
        # asyncio itself names the reader of the wheel.
        if begun < math.inf and (took := loop.time() - begun) >= loop.slow_callback_duration:
            logging.getLogger("asyncio").warning("Executing %r took %.3f seconds", self, took)


class _Sleep(Timer):
    """Wakes the task that waits for a future."""

    __slots__ = ("_future",)

    def __init__(self, wheel: Wheel, future: asyncio.Future[None]) -> None:
        super().__init__(wheel, _wake, (future,))
        self._future = future

    def _refuse(self, error: OSError) -> None:
        if not self._future.done():
            self._future.set_exception(error)


class _Deadline(Timer):
    """Ends the block of a timeout."""

    __slots__ = ("_timeout",)

    def __init__(self, wheel: Wheel, timeout: Timeout) -> None:
        super().__init__(wheel, timeout._expire, ())
        self._timeout = timeout

    def _refuse(self, error: OSError) -> None:
        self._timeout._fail(error)


class _EventFd(int):
    """A descriptor that is closed when nobody has this any more: a call has it until it ends."""

    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        close(self)


def _check_key(key: Hashable) -> None:
    """Who passes a timer means that, and not one that has it as its key."""
    if isinstance(key, Timer):
        raise TypeError("a timer is no key: it has cancel(), push() and armed itself")


class Group:
    """Timers that are cancelled together; a context manager, which cancels them at its end.

    It does not keep timers that nobody else has and that are over.
    """

    def __init__(self) -> None:
        self._timers: weakref.WeakSet[Timer] = weakref.WeakSet()

    def add(self, timer: Timer) -> Timer:
        """Put a timer into the group, and return it."""
        self._timers.add(timer)
        return timer

    def discard(self, timer: Timer) -> None:
        """Take a timer out, if it is in the group."""
        self._timers.discard(timer)

    def cancel(self) -> None:
        """Cancel all its timers. They stay in the group."""
        for timer in list(self._timers):
            if timer.armed:
                timer.cancel()

    def __enter__(self) -> Group:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.cancel()


class _Rounds:
    """The expirations of a periodic timer that nobody has taken yet."""

    def __init__(self, wheel: Wheel) -> None:
        self.wheel = wheel
        self.due = 0
        self.waiter: asyncio.Future[None] | None = None

    def add(self, expirations: int) -> None:
        self.due += expirations
        if self.waiter and not self.waiter.done():
            self.waiter.set_result(None)

    async def take(self) -> int:
        if not self.due:
            self.waiter = self.wheel._loop.create_future()
            await self.wheel._wait(self.waiter)
        taken, self.due = self.due, 0
        return taken


class Timeout:
    """A timeout for a block, as `Wheel.timeout()` and `timeout_at()` return it.

    It is used as that of asyncio.timeout(), and has its methods.
    """

    __slots__ = ("_wheel", "_deadline", "_when", "_timer", "_inner", "_entered", "_error")

    def __init__(self, wheel: Wheel, deadline: int | None, when: float | None) -> None:
        self._wheel = wheel
        self._deadline = deadline
        self._when = when
        self._timer: Timer | None = None
        self._entered = False
        # What has ended the block, other than the deadline
        self._error: OSError | None = None
        # This cancels the task and makes a TimeoutError of that. It has no time of its own.
        self._inner = asyncio.timeout(None)

    def __repr__(self) -> str:
        state = "expired" if self.expired() else "set" if self._timer else "not set"
        return f"<Timeout {state} when={self._when}>"

    def when(self) -> float | None:
        """The deadline on the wheel's clock; None if there is none."""
        return self._when

    def expired(self) -> bool:
        """Was the block ended by its deadline?"""
        return self._inner.expired() and self._error is None

    def reschedule(self, when: float | None) -> None:
        """Set another deadline, or with None no deadline. RuntimeError outside of the block."""
        if self not in self._wheel._timeouts:
            raise RuntimeError("the timeout is not in its block")
        self._set(None if when is None else _ns(when), when)

    async def __aenter__(self) -> Timeout:
        self._wheel._loop_of_caller()
        if self._entered:
            raise RuntimeError("the timeout was used already")
        await self._inner.__aenter__()
        self._entered = True
        self._set(self._deadline, self._when)
        self._wheel._timeouts.add(self)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, value: BaseException | None,
                        trace: TracebackType | None) -> None:
        self._wheel._timeouts.discard(self)
        self._stop()
        try:
            await self._inner.__aexit__(kind, value, trace)
        except TimeoutError:
            if self._error is None:
                raise
            raise self._error from None

    def _set(self, deadline: int | None, when: float | None) -> None:
        now = self._wheel._use().now()
        # It refuses that once it has expired.
        self._inner.reschedule(None)
        if deadline is not None and deadline > now:
            timer = self._timer or _Deadline(self._wheel, self)
            self._wheel._arm(timer, deadline)
            self._timer = timer
        else:
            self._stop()
            if deadline is not None:
                self._expire()
        self._when = when

    def _stop(self) -> None:
        timer, self._timer = self._timer, None
        if timer:
            timer.cancel()

    def _expire(self) -> None:
        self._inner.reschedule(self._wheel._loop.time())

    def _fail(self, error: OSError) -> None:
        # Not if it has expired already
        if not self._inner.expired():
            self._error = error
            self._expire()


class Wheel:
    """Timers of one event loop: an asynchronous context manager.

    `clock` is as for `Context`; on CLOCK_REALTIME there are only `call_at()` and `timeout_at()`,
    and delays are OSError with EINVAL. With `slack`,
    one-shot and periodic timers may be that many seconds late, and share wake-ups. `limit`,
    `path` and `embedded` are as for `Context`, too.

    All methods are called in the event loop in which the wheel was entered: to arm a timer in
    another one, or when that loop does not run, is RuntimeError, and arms nothing. Callbacks run
    there, each in the `context` (`contextvars`) that was given, or in which its timer was made, and
    by deadline; with equal deadlines in the order in which their timers were armed. Errors are
    OSError; for NaN as a time, ValueError. When the wheel is closed, its callbacks are not called
    any more, and tasks that wait in it, or are in a block with its timeout, get OSError with EBADF.
    If it cannot be read, the loop's exception handler is told and the wheel is closed; in a
    child that goes on with the loop of its parent, that loop is stopped instead.

    A wheel with a `limit` refuses at once what is beyond that. That the system has no memory for a
    timer, or that the user has too many, is known up to 20 ms later: the exception handler of the
    loop is told, and the callback is not called; a task that waits, or is in a block with a
    timeout, gets the OSError.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, *,
                 clock: int = time.CLOCK_MONOTONIC, slack: float = 0.0, limit: int = 0,
                 embedded: bool = False) -> None:
        self._settings: dict[str, Any] = {
            "path": path, "clock": clock, "limit": limit, "embedded": embedded}
        self._slack = _ns(slack)
        self._numbers = itertools.count(1)
        self._timers: dict[int, Timer] = {}
        # Those of them that the wheel does not know yet
        self._new: list[int] = []
        self._keys: dict[Hashable, Timer] = {}
        self._waiters: set[asyncio.Future[Any]] = set()
        self._timeouts: set[Timeout] = set()
        # What was read, as the library stores it
        self._rooms: list[Any] = []
        # Events that were read and not handled yet, and which timers are over with them
        self._events: collections.deque[Event] = collections.deque()
        self._over: set[int] = set()
        # What the wheel does not know yet of timers that it knows: their new deadlines, and which
        # of them were cancelled
        self._moved: dict[int, int] = {}
        self._gone: list[int] = []
        # It knows all timers up to this number, or is being told of them, and none over it.
        self._told = 0
        # It will be told in time of deadlines from this one on; and this is what is left of that
        # when it was told in between.
        self._in_time = self._lag_in_time = _NEVER
        # New timers are armed at once: there is a limit to them, or they have more than a deadline.
        self._at_once = limit != 0 or self._slack != 0
        self._open: Context | None = None
        # Has _woken() called, and cannot fail: it makes the other readable. This is one call of C:
        # if it is the first that is made after an exception, no handler of a signal has raised in
        # between.
        self._wake: Callable[[], None]
        self._event: _EventFd
        self._loop: asyncio.AbstractEventLoop
        # Is that in its debug mode?
        self._debug: Callable[[], bool] = lambda: False
        self._can_be_set = False
        # The others may jump.
        self._lags = clock == time.CLOCK_MONOTONIC
        # In a child it is its parent's.
        self._parents = False
        # Its _thread_id is that of the thread in which the loop runs, if it does and the wheel can
        # be used. Loops that are not asyncio's own have none.
        self._runner: Any = _NotRunning

    def __repr__(self) -> str:
        state = "closed" if self._open is None else "open"
        return f"<Wheel {state} timers={len(self)}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a wheel cannot be copied")

    async def __aenter__(self) -> Wheel:
        if self._open is not None:
            raise RuntimeError("the wheel is in use already")
        self._loop = asyncio.get_running_loop()
        self._debug = self._loop.get_debug
        # The keys are numbers of the timers here: arming needs no look-up of handles.
        context = Context(keyed=True, nonblock=True, **self._settings)
        self._can_be_set = context.clock == time.CLOCK_REALTIME
        self._event = _EventFd(_os.eventfd(0, _os.EFD_CLOEXEC | _os.EFD_NONBLOCK))
        self._wake = functools.partial(_os.eventfd_write, self._event, 1)
        self._open, self._parents = context, False
        try:
            self._loop.add_reader(context.fileno(), self._readable)
            self._loop.add_reader(self._event, self._woken)
        except BaseException:
            # A descriptor that is closed while the loop knows it would hide the next one.
            self.close()
            raise
        self._runner = self._loop if hasattr(self._loop, "_thread_id") else _NotRunning
        _wheels.add(self)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, value: BaseException | None,
                        trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the wheel; leaving `async with` does that. Closing twice is harmless."""
        context, self._open = self._open, None
        self._runner = _NotRunning
        if context is None:
            return
        _wheels.discard(self)
        if not self._parents:
            # A child has the parent's epoll, which goes on.
            self._loop.remove_reader(context.fileno())
            self._loop.remove_reader(self._event)
        del self._wake, self._event
        context.close()
        for timer in self._timers.values():
            timer._cancelled = True
        self._timers.clear()
        self._new.clear()
        self._keys.clear()
        self._rooms.clear()
        self._events.clear()
        self._over.clear()
        self._moved.clear()
        self._gone.clear()
        self._in_time = self._lag_in_time = _NEVER
        if self._loop.is_closed():
            return
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_exception(OSError(errno.EBADF, "the wheel was closed"))
        for timeout in self._timeouts:
            timeout._fail(OSError(errno.EBADF, "the wheel was closed"))

    def __len__(self) -> int:
        """How many timers are armed."""
        return len(self._timers)

    def __contains__(self, key: Hashable) -> bool:
        """Is a timer with this key armed?"""
        _check_key(key)
        return key in self._keys

    def time(self) -> float:
        """The time on the wheel's clock."""
        return _seconds(self._use().now())

    async def sleep(self, delay: float, result: _T | None = None) -> _T | None:
        """Wait for `delay` seconds, and return `result`. If the task is cancelled, so is the timer.

        As asyncio.sleep(), it only lets other tasks run if the delay is not more than 0.
        """
        loop, deadline = self._loop_of_caller(), self._after(delay)
        if delay <= 0:
            await asyncio.sleep(0)
            return result
        future: asyncio.Future[None] = loop.create_future()
        timer = _Sleep(self, future)
        self._arm(timer, deadline)
        try:
            await self._wait(future)
        finally:
            timer.cancel()
        return result

    def call_later(self, delay: float, callback: Callable[..., object], *args: Any,
                   context: contextvars.Context | None = None) -> Timer:
        """Have `callback(*args)` called in `delay` seconds."""
        timer = Timer(self, callback, args, delay, _NO_KEY, context)
        self._arm(timer, self._after(delay))
        return timer

    def call_at(self, when: float, callback: Callable[..., object], *args: Any,
                context: contextvars.Context | None = None) -> Timer:
        """Have `callback(*args)` called at a point in time on the wheel's clock."""
        timer = Timer(self, callback, args, None, _NO_KEY, context)
        self._arm(timer, _ns(when))
        timer._when = when
        return timer

    def timeout(self, delay: float | None) -> Timeout:
        """A timeout for an `async with` block, `delay` seconds from now; see asyncio.timeout().

        With None there is none, unless `reschedule()` sets one.
        """
        deadline = None if delay is None else self._after(delay)
        return Timeout(self, deadline, None if deadline is None else _seconds(deadline))

    def timeout_at(self, when: float | None) -> Timeout:
        """As timeout(), with a point in time on the wheel's clock."""
        return Timeout(self, None if when is None else _ns(when), when)

    def put(self, key: Hashable, delay: float, callback: Callable[..., object],
            *args: Any, context: contextvars.Context | None = None) -> Timer:
        """As call_later(), for the one timer with this key: it is armed anew if there is one.

        The earlier callback is not called any more. TypeError if the key is a `Timer`, here and
        below: that has methods of its own.
        """
        _check_key(key)
        timer = Timer(self, callback, args, delay, key, context)
        self._arm(timer, self._after(delay))
        return timer

    def cancel(self, key: Hashable) -> bool:
        """Cancel the timer with this key. False if there is none."""
        _check_key(key)
        timer = self._keys.get(key)
        return timer is not None and timer.cancel()

    async def every(self, interval: float, *, count: int = 0) -> AsyncGenerator[int, None]:
        """Iterate over rounds of `interval` seconds, on a grid that begins now.

        Each item is how many rounds have passed since the last: more than 1 if the loop over
        them took that long. With `count` it ends after that many rounds. A loop that is left
        early leaves the timer until the iterator is finalized; contextlib.aclosing() does that
        at once.
        """
        if _ns(interval) <= 0:
            raise ValueError("an interval is longer than nothing")
        rounds = _Rounds(self)
        self._loop_of_caller()
        timer = Timer(self, rounds.add, None)
        deadline = self._after(interval)
        number = self._arm_now(deadline, interval=_ns(interval), count=count)
        timer._set(number, number, deadline)
        self._timers[number] = timer
        try:
            while timer.armed or rounds.due:
                yield await rounds.take()
                self._use()
        finally:
            timer.cancel()

    def _use(self) -> Context:
        if self._open is None:
            raise OSError(errno.EBADF, "the wheel is not open")
        if self._parents:
            raise OSError(errno.ECHILD, "the wheel belongs to the parent")
        return self._open

    @property
    def _context(self) -> Context:
        """The context, after it was told everything."""
        context = self._use()
        self._flush()
        return context

    def _loop_of_caller(self) -> asyncio.AbstractEventLoop:
        self._use()
        if asyncio.get_running_loop() is not self._loop:
            raise RuntimeError("the wheel belongs to another event loop")
        return self._loop

    async def _wait(self, future: asyncio.Future[None]) -> None:
        if self._open is None:
            raise OSError(errno.EBADF, "the wheel was closed")
        self._waiters.add(future)
        try:
            await future
        finally:
            self._waiters.discard(future)

    def _after(self, delay: float) -> int:
        """The point in time `delay` seconds from now, in ns."""
        context = self._open or self._use()
        if self._can_be_set:
            raise OSError(errno.EINVAL, "CLOCK_REALTIME can be set: there are no delays on it")
        # As _ns() does it
        if 0 < delay < _EXACT:
            ns = ceil(delay * 1_000_000_000)
            if ns / 1_000_000_000 == delay:
                return context._time() + ns
        return min(context.now() + _ns(delay), LATEST)

    def _arm(self, timer: Timer, deadline: int) -> None:
        # Up to Python 3.11 get_running_loop() is a system call.
        if get_ident() != self._runner._thread_id:
            self._loop_of_caller()
        number = next(self._numbers)
        if timer._key is _NO_KEY and not self._at_once and not self._over:
            key = timer._id
            if not key or self._timers.get(key) is not timer:
                key = number
                self._new.append(number)
            elif key <= self._told:
                self._moved[key] = deadline
        else:
            key = self._place(timer, number, deadline)
        timer._id, timer._order, timer._deadline = key, number, deadline
        timer._when, timer._cancelled = None, False
        self._timers[key] = timer
        if deadline < self._in_time:
            self._schedule(deadline)

    def _holder(self, timer: Timer) -> Timer | None:
        """The one that is armed and whose place it takes: itself, or that with its key."""
        holder = timer if timer._key is _NO_KEY else self._keys.get(timer._key, timer)
        return holder if holder.armed else None

    def _place(self, timer: Timer, number: int, deadline: int) -> int:
        """The key of a timer in the wheel: that of one whose place it takes, or else `number`."""
        holder = self._holder(timer)
        if holder is not None and holder._id not in self._over:
            number = holder._id
            if number <= self._told:
                self._moved[number] = deadline
        else:
            # No event has that number which was read before this.
            if self._at_once:
                number = self._arm_now(deadline)
                # A finalizer may have armed one just then.
                holder = self._holder(timer)
            else:
                self._new.append(number)
            if holder is not None:
                del self._timers[holder._id]
                self._gone.append(holder._id)
        if holder is not None:
            holder._cancelled = True
        if timer._key is not _NO_KEY:
            self._keys[timer._key] = timer
        return number

    def _arm_now(self, deadline: int, **settings: Any) -> int:
        """Arm a new timer in the wheel, which is told of all others first. Returns its key."""
        context = self._context
        self._told = number = next(self._numbers)
        context.arm(deadline, handle=number, absolute=True, slack=self._slack, **settings)
        return number

    def _schedule(self, deadline: int) -> None:
        """Have the wheel told, in time for a timer with this deadline."""
        context = self._use()
        if self._loop.is_closed():
            # Nothing is called any more.
            return
        # Where the clock may jump only what is never due can wait, as cancels can.
        soon = context.now() + 2 * _LAG if self._lags else LATEST
        if deadline < soon:
            self._loop.call_soon(self._call(self._tell))
            self._in_time = 0
        else:
            self._loop.call_later(_LAG / 1_000_000_000, self._call(self._tell_after_lag))
            self._in_time = self._lag_in_time = soon

    def _call(self, method: Callable[[], None]) -> Callable[[], object]:
        """What calls a method; and has the loop call the reader if that does not come to its end.

        A handler of a signal that raises may end it, or may have the loop lose what it has just
        taken out to call. A generator goes on within its block, and leaves that also if it is lost.
        """
        def generate() -> Generator[None, None, None]:
            called = False
            try:
                yield
                method()
                called = True
            finally:
                if not called:
                    self._lag_in_time = _NEVER
                    if self._open is not None and not self._parents:
                        self._wake()

        generator = generate()
        next(generator)
        return functools.partial(next, generator, None)

    def _tell_after_lag(self) -> None:
        self._lag_in_time = _NEVER
        self._tell()

    def _flush(self) -> None:
        """Tell the wheel what it does not know yet."""
        try:
            self._tell()
        except BaseException:
            # Of a handler of a signal, say: all is told again, which does no harm.
            if self._open is not None and not self._parents:
                self._wake()
            raise

    def _tell(self) -> None:
        self._in_time = self._lag_in_time
        # The garbage collector may run a finalizer at any time, which may arm, push back or cancel
        # timers: of that the wheel is told the next time. So new ones are copied first.
        new = self._new.copy()
        self._told = next(self._numbers)
        moved, gone = self._moved.copy(), self._gone.copy()
        numbers: list[int] = []
        for number in new:
            timer = self._timers.get(number)
            if timer is not None:
                numbers += (number, timer._deadline)
        numbers += itertools.chain.from_iterable(moved.items())
        if not gone and not numbers:
            del self._new[:len(new)]
            return
        if self._parents:
            # In the loop of a parent, which will tell the wheel itself
            self._loop.stop()
        context = self._use()
        try:
            # What was cancelled makes room. Some have ended, and their events will be dropped.
            if gone:
                context._cancel_all(gone)
                del self._gone[:len(gone)]
        except OSError as error:
            if error.errno != errno.ENOMEM:
                raise
            # All are asked for again, also those that are gone by then.
            if self._in_time == _NEVER:
                self._schedule(LATEST)
        pushes, done = array.array("Q", numbers), 0
        while 2 * done < len(pushes):
            # Of a timer that there is not it makes one.
            result = context._push_all(pushes, done)
            if result < 0:
                self._refuse(pushes[2 * done], -result)
            done += max(result, 1)
        # If not all are told again, which does no harm.
        if self._moved == moved:
            self._moved.clear()
        del self._new[:len(new)]

    def _refuse(self, number: int, error: int) -> None:
        timer = self._timers.get(number)
        if timer is not None:
            self._forget(timer)
            timer._refuse(OSError(error, os.strerror(error)))

    def _forget(self, timer: Timer) -> bool:
        if not timer.armed:
            return False
        del self._timers[timer._id]
        if self._keys.get(timer._key) is timer:
            del self._keys[timer._key]
        return True

    def _cancel(self, timer: Timer) -> bool:
        if not self._forget(timer):
            return False
        self._use()
        if timer._id <= self._told:
            self._moved.pop(timer._id, None)
            self._gone.append(timer._id)
            if self._in_time == _NEVER:
                self._schedule(LATEST)
        return True

    def _readable(self) -> None:
        if self._parents:
            # The parent has the same epoll, where nothing must be taken out.
            self._loop.stop()
        try:
            stored = self._read_all()
            self._gather()
            if self._events:
                # What was read is handled first: an error will be there again.
                stored = 0
                self._handle()
        except BaseException:
            # A callback has raised SystemExit, say, or a handler of a signal has raised: what was
            # read is not lost.
            if self._open is not None and not self._parents:
                self._wake()
            raise
        if stored < 0 and stored != -errno.EAGAIN:
            # It would come again at once, for ever.
            self.close()
            raise OSError(-stored, os.strerror(-stored))

    def _woken(self) -> None:
        try:
            # It may have been called twice for one event.
            with contextlib.suppress(BlockingIOError):
                if not self._parents:
                    _os.eventfd_read(self._event)
            self._readable()
        except BaseException:
            # Of a handler of a signal, perhaps before the wheel was read.
            if self._open is not None and not self._parents:
                self._wake()
            raise

    def _read_all(self) -> int:
        """Read all that is due, as the order is that of all. Returns what the last read did."""
        # Of what was moved or cancelled there will be no event.
        self._flush()
        context, stored = self._use(), _BATCH
        # Periodic timers may be due anew by then.
        while stored == _BATCH and len(self._rooms) * _BATCH <= len(self._timers):
            self._rooms.append(context._room(_BATCH))
            stored = context._read_into(self._rooms[-1])
        return stored

    def _gather(self) -> None:
        """Put what was read behind the events that are not handled yet."""
        timers = self._timers
        events = [event for room in self._rooms for event in _stored(room)]
        # By deadline as asyncio's own; equal deadlines as armed
        events.sort(key=lambda event: (event.deadline, timers[event.handle]._order
                                       if event.handle in timers else 0))
        self._over.update(event.handle for event in events if event.last)
        # No handler of a signal is run between the two.
        self._events, self._rooms = self._events + collections.deque(events), []

    def _handle(self) -> None:
        self._gather()
        while self._events:
            event = self._events[0]
            timer = self._timers.get(event.handle)
            if timer is not None and timer._deadline > event.deadline:
                # A finalizer has pushed it back since then, and it is to come again.
                self._moved[event.handle] = timer._deadline
                self._schedule(timer._deadline)
                timer = None
            # Before its event is gone: otherwise it might stay armed for ever.
            if timer is not None and event.last:
                self._forget(timer)
            self._events.popleft()
            self._over.discard(event.handle)
            # If not it was cancelled, or armed anew.
            if timer is not None:
                timer._run(event.expirations)


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
