# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Timers for asyncio, all of them in one context of twheel.

    async with Wheel() as wheel:
        await wheel.sleep(0.5)

Times are seconds. Nothing is ever early; what is too long, as math.inf, is for ever.
"""

from __future__ import annotations

import asyncio
import collections
import contextvars
import errno
import itertools
import math
import os
import time
import weakref
from collections.abc import AsyncGenerator, Callable, Hashable
from types import TracebackType
from typing import Any

from . import _context

__all__ = ["Group", "Timeout", "Timer", "Wheel"]

_NO_KEY = object()


def _ns(seconds: float) -> int:
    """In nanoseconds, rounded up so that it is not early; what has passed is now."""
    if seconds != seconds:
        raise ValueError("a time is no number (NaN)")
    if seconds <= 0:
        return 0
    if seconds > _context.LATEST // 1_000_000_000:
        return _context.LATEST
    # As it was written: 0.1 is a bit more than a tenth, and 1 ns more would add up in rounds.
    ns = math.ceil(seconds * 1_000_000_000)
    if ns < 1 << 53 and ns / 1_000_000_000 == seconds:
        return ns
    # That product was rounded to a float, perhaps down.
    numerator, denominator = seconds.as_integer_ratio()
    return -(-numerator * 1_000_000_000 // denominator)


def _seconds(ns: int) -> float:
    # Both are integers: the quotient is rounded once.
    return math.inf if ns == _context.LATEST else ns / 1_000_000_000


class Timer:
    """A timer of a wheel, as `Wheel.call_later()` and others return it.

    It has the methods of asyncio's handles, too.
    """

    __slots__ = ("_wheel", "_id", "_serial", "_callback", "_args", "_context", "_key", "_when",
                 "_delay", "_cancelled", "__weakref__")

    def __init__(self, wheel: Wheel, callback: Callable[..., object],
                 args: tuple[Any, ...] | None, key: Hashable = _NO_KEY) -> None:
        """Without `args` the callback is given the number of expirations."""
        self._wheel = wheel
        self._id = next(wheel._numbers)
        self._serial = 0
        self._callback = callback
        self._args = args
        self._context = contextvars.copy_context()
        self._key = key
        self._when = math.inf
        self._delay: float | None = None
        self._cancelled = False

    def __repr__(self) -> str:
        state = "armed" if self.armed else "cancelled" if self._cancelled else "over"
        key = "" if self._key is _NO_KEY else f" key={self._key!r}"
        return f"<Timer {state} when={self._when}{key} callback={self._callback!r}>"

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
        return self._when

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
        return max(self._when - self._wheel.time(), 0.0) if self.armed else 0.0

    def _run(self, expirations: int) -> None:
        try:
            args = (expirations,) if self._args is None else self._args
            self._context.run(self._callback, *args)
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:
            self._wheel._loop.call_exception_handler({
                "message": f"Exception in the callback of a timer: {self._callback!r}",
                "exception": error,
            })


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

    __slots__ = ("_wheel", "_deadline", "_when", "_timer", "_inner", "_entered", "_closed")

    def __init__(self, wheel: Wheel, deadline: int | None, when: float | None) -> None:
        self._wheel = wheel
        self._deadline = deadline
        self._when = when
        self._timer: Timer | None = None
        self._entered = False
        self._closed = False
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
        return self._inner.expired() and not self._closed

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
            if not self._closed:
                raise
            raise OSError(errno.EBADF, "the wheel was closed") from None

    def _set(self, deadline: int | None, when: float | None) -> None:
        now = self._wheel._use().now()
        # It refuses that once it has expired.
        self._inner.reschedule(None)
        if deadline is not None and deadline > now:
            timer = self._timer or Timer(self._wheel, self._expire, ())
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

    def _close(self) -> None:
        # Not if it has expired already
        if not self._inner.expired():
            self._closed = True
            self._expire()


class Wheel:
    """Timers of one event loop: an asynchronous context manager.

    `clock` is as for `Context`; on CLOCK_REALTIME there are only `call_at()` and `timeout_at()`,
    and delays are OSError with EINVAL. With `slack`,
    one-shot and periodic timers may be that many seconds late, and share wake-ups. `limit`,
    `path` and `embedded` are as for `Context`, too.

    All methods are called in the event loop in which the wheel was entered. Callbacks run
    there, each in the context (`contextvars`) in which its timer was made, and by deadline; with
    equal deadlines in the order in which their timers were armed. Errors are OSError; for NaN as
    a time, ValueError. When the wheel is closed, its callbacks are not called any more, and tasks
    that wait in it, or are in a block with its timeout, get OSError with EBADF. If it cannot be
    read, the loop's exception handler is told and the wheel is closed; in a child that goes on with
    the loop of its parent, that loop is stopped instead.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, *,
                 clock: int = time.CLOCK_MONOTONIC, slack: float = 0.0, limit: int = 0,
                 embedded: bool = False) -> None:
        self._settings: dict[str, Any] = {
            "path": path, "clock": clock, "limit": limit, "embedded": embedded}
        self._slack = _ns(slack)
        self._numbers = itertools.count(1)
        self._timers: dict[int, Timer] = {}
        self._keys: dict[Hashable, Timer] = {}
        self._waiters: set[asyncio.Future[Any]] = set()
        self._timeouts: set[Timeout] = set()
        self._events: collections.deque[_context.Event] = collections.deque()
        self._context: _context.Context | None = None
        self._loop: asyncio.AbstractEventLoop
        self._can_be_set = False
        self._pid = 0

    def __repr__(self) -> str:
        state = "closed" if self._context is None else "open"
        return f"<Wheel {state} timers={len(self)}>"

    async def __aenter__(self) -> Wheel:
        if self._context is not None:
            raise RuntimeError("the wheel is in use already")
        self._loop = asyncio.get_running_loop()
        self._pid = os.getpid()
        # The keys are numbers of the timers here: arming needs no look-up of handles.
        context = _context.Context(keyed=True, nonblock=True, **self._settings)
        self._loop.add_reader(context.fileno(), self._readable)
        self._context = context
        self._can_be_set = context.clock == time.CLOCK_REALTIME
        return self

    async def __aexit__(self, kind: type[BaseException] | None, value: BaseException | None,
                        trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the wheel; leaving `async with` does that. Closing twice is harmless."""
        context, self._context = self._context, None
        if context is None:
            return
        if os.getpid() == self._pid:
            # A child has the parent's epoll, which goes on.
            self._loop.remove_reader(context.fileno())
        context.close()
        for timer in self._timers.values():
            timer._cancelled = True
        self._timers.clear()
        self._keys.clear()
        self._events.clear()
        if self._loop.is_closed():
            return
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_exception(OSError(errno.EBADF, "the wheel was closed"))
        for timeout in self._timeouts:
            timeout._close()

    def __len__(self) -> int:
        """How many timers are armed."""
        return len(self._timers)

    def __contains__(self, key: Hashable) -> bool:
        """Is a timer with this key armed?"""
        return key in self._keys

    def time(self) -> float:
        """The time on the wheel's clock."""
        return _seconds(self._use().now())

    async def sleep(self, delay: float) -> None:
        """Wait for `delay` seconds. If the task is cancelled, so is the timer."""
        future = self._loop_of_caller().create_future()
        timer = self.call_later(delay, _wake, future)
        try:
            await self._wait(future)
        finally:
            timer.cancel()

    def call_later(self, delay: float, callback: Callable[..., object], *args: Any) -> Timer:
        """Have `callback(*args)` called in `delay` seconds."""
        timer = Timer(self, callback, args)
        self._arm(timer, self._after(delay))
        timer._delay = delay
        return timer

    def call_at(self, when: float, callback: Callable[..., object], *args: Any) -> Timer:
        """Have `callback(*args)` called at a point in time on the wheel's clock."""
        timer = Timer(self, callback, args)
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
            *args: Any) -> Timer:
        """As call_later(), for the one timer with this key: it is armed anew if there is one.

        The earlier callback is not called any more.
        """
        timer = Timer(self, callback, args, key)
        self._arm(timer, self._after(delay))
        timer._delay = delay
        return timer

    def cancel(self, key: Hashable) -> bool:
        """Cancel the timer with this key. False if there is none."""
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
        self._arm(timer, self._after(interval), interval=_ns(interval), count=count)
        try:
            while timer.armed or rounds.due:
                yield await rounds.take()
                self._use()
        finally:
            timer.cancel()

    def _use(self) -> _context.Context:
        if self._context is None:
            raise OSError(errno.EBADF, "the wheel is not open")
        if os.getpid() != self._pid:
            raise OSError(errno.ECHILD, "the wheel belongs to the parent")
        return self._context

    def _loop_of_caller(self) -> asyncio.AbstractEventLoop:
        self._use()
        if asyncio.get_running_loop() is not self._loop:
            raise RuntimeError("the wheel belongs to another event loop")
        return self._loop

    async def _wait(self, future: asyncio.Future[None]) -> None:
        if self._context is None:
            raise OSError(errno.EBADF, "the wheel was closed")
        self._waiters.add(future)
        try:
            await future
        finally:
            self._waiters.discard(future)

    def _after(self, delay: float) -> int:
        """The point in time `delay` seconds from now, in ns."""
        context, ns = self._use(), _ns(delay)
        if self._can_be_set:
            raise OSError(errno.EINVAL, "CLOCK_REALTIME can be set: there are no delays on it")
        return min(context.now() + ns, _context.LATEST)

    def _arm(self, timer: Timer, deadline: int, interval: int = 0, count: int = 0) -> None:
        self._loop_of_caller()
        holder = self._keys.get(timer._key)
        if holder is not None:
            # The same timer of the wheel, re-armed. If that fails the holder keeps the key.
            timer._id = holder._id
        # Events that were read before this are told from those after it by their user_data.
        serial = next(self._numbers)
        self._use().arm(deadline, serial, handle=timer._id, absolute=True, interval=interval,
                        slack=self._slack, count=count)
        if holder is not None:
            holder._cancelled = True
        timer._serial, timer._when, timer._cancelled = serial, _seconds(deadline), False
        self._timers[timer._id] = timer
        if timer._key is not _NO_KEY:
            self._keys[timer._key] = timer

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
        try:
            self._use().cancel(timer._id)
        except FileNotFoundError:
            # Its event was read, and will be dropped.
            pass
        return True

    def _readable(self) -> None:
        try:
            events = self._use().read()
        except BlockingIOError:
            return
        except OSError:
            # It would come again at once, for ever.
            if os.getpid() == self._pid:
                self.close()
            else:
                # The parent has the same epoll, where nothing must be taken out.
                self._loop.stop()
            raise
        # By deadline as asyncio's own; equal deadlines as armed, which the serial numbers tell.
        events.sort(key=lambda event: (event.deadline, event.user_data))
        self._events.extend(events)
        self._handle()

    def _handle(self) -> None:
        try:
            while self._events:
                event = self._events.popleft()
                timer = self._timers.get(event.handle)
                if timer is None or timer._serial != event.user_data:
                    continue
                if event.last:
                    self._forget(timer)
                timer._run(event.expirations)
        finally:
            # A callback has raised SystemExit: what was read is not lost.
            if self._events:
                self._loop.call_soon(self._handle)


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
