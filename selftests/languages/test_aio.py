# SPDX-License-Identifier: GPL-2.0-only
"""Tests of twheel.aio, on the device or on a wheel in the process."""

import asyncio
import collections
import contextlib
import contextvars
import copy
import errno
import functools
import gc
import itertools
import math
import os
import random
import signal
import sys
import threading
import time
import unittest
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any
from unittest import mock

from twheel import aio
from twheel._context import _lib
from twheel.aio import Group, Timer, Wheel

# In ns: the module takes none that is later.
LATEST = (1 << 63) - 1
# In seconds: too long, or nearly
LONG = (math.inf, sys.float_info.max, sys.maxsize, 10**400, 1e10, 2**64 / 1e9, 2**63 / 1e9,
        9_223_372_037, 9e9, 2**32)


class AioTest(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.wheel = await self.enterAsyncContext(Wheel())
        self.complaints: list = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda loop, complaint: self.complaints.append(complaint))
        # Some tests block it on purpose.
        loop.slow_callback_duration = 100

    def on_one_cpu(self) -> None:
        """Until the test ends: each CPU has an order of its own."""
        cpus = os.sched_getaffinity(0)
        self.addCleanup(os.sched_setaffinity, 0, cpus)
        os.sched_setaffinity(0, {min(cpus)})

    @contextlib.contextmanager
    def refused(self, number: int):
        with self.assertRaises(OSError) as caught:
            yield
        self.assertEqual(caught.exception.errno, number)


class Sleeping(AioTest):
    async def test_never_early(self) -> None:
        async def one(seconds: float) -> None:
            start = time.monotonic()
            await self.wheel.sleep(seconds)
            self.assertGreaterEqual(time.monotonic() - start, seconds)

        await asyncio.gather(*(one(n / 1000) for n in range(-1, 200)))
        self.assertEqual(len(self.wheel), 0)

    async def test_as_asyncio(self) -> None:
        for sleep in (self.wheel.sleep, asyncio.sleep):
            self.assertEqual(await sleep(0.001, "result"), "result")
            self.assertIsNone(await sleep(0.001))
            order: list = []
            asyncio.get_running_loop().call_soon(order.append, 1)
            self.assertEqual(await sleep(-1, order), [1])
            self.assertEqual(len(self.wheel), 0)

    async def test_cancelled_task(self) -> None:
        task = asyncio.create_task(self.wheel.sleep(100))
        await asyncio.sleep(0)
        self.assertEqual((len(self.wheel), self.wheel._context.info().pending), (1, 1))
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        self.assertEqual((len(self.wheel), self.wheel._context.info().pending), (0, 0))

    async def test_timeout(self) -> None:
        with self.assertRaises(TimeoutError):
            async with asyncio.timeout(0.02):
                await self.wheel.sleep(100)
        self.assertEqual(len(self.wheel), 0)

    async def test_closed_within_a_round(self) -> None:
        with self.refused(errno.EBADF):
            async for _ in self.wheel.every(0.01):
                self.wheel.close()

    async def test_closed_while_tasks_sleep(self) -> None:
        async def rounds() -> None:
            async for _ in self.wheel.every(100):
                pass

        tasks = [asyncio.create_task(self.wheel.sleep(100)) for _ in range(3)]
        tasks.append(asyncio.create_task(rounds()))
        called: list = []
        self.wheel.call_later(0.01, called.append, 1)
        await asyncio.sleep(0)
        self.wheel.close()
        self.wheel.close()
        await asyncio.wait(tasks, timeout=20)
        for task in tasks:
            self.assertTrue(task.done())
            result = task.exception()
            self.assertIsInstance(result, OSError)
            self.assertEqual(result.errno, errno.EBADF)
        await asyncio.sleep(0.05)
        self.assertEqual((called, len(self.wheel)), ([], 0))
        with self.refused(errno.EBADF):
            await self.wheel.sleep(0)
        with self.refused(errno.EBADF):
            self.wheel.call_later(1, print)

    async def test_for_ever(self) -> None:
        tasks = [asyncio.create_task(self.wheel.sleep(delay)) for delay in LONG]
        done, waiting = await asyncio.wait(tasks, timeout=0.1)
        self.assertEqual([task.exception() for task in done], [])
        self.assertEqual(len(self.wheel), len(LONG))
        for task in waiting:
            task.cancel()
        await asyncio.wait(tasks)
        self.assertEqual(len(self.wheel), 0)

    async def test_many(self) -> None:
        await asyncio.gather(*(self.wheel.sleep(0.05) for _ in range(3000)))
        self.assertEqual(len(self.wheel), 0)


class Calling(AioTest):
    async def test_equal_deadlines(self) -> None:
        """As last armed, even where a timer that is pushed back stays in its place."""
        done: list = []
        self.on_one_cpu()
        when = int((self.wheel.time() + 0.05) * 1e9)
        timers = [self.wheel.call_later(0.02, done.append, n) for n in range(20)]
        for timer in reversed(timers):
            self.wheel._arm(timer, when)
        await self.wheel.sleep(0.2)
        self.assertEqual(done, list(reversed(range(20))))

    async def test_by_deadline_within_a_tick(self) -> None:
        done: list = []
        self.on_one_cpu()
        when = self.wheel.time() + 0.05
        for n in ((n * 7) % 20 for n in range(20)):
            self.wheel.call_at(when + n * 0.0001, done.append, n)
        # Late enough for all to be in one read
        time.sleep(0.1)
        await self.wheel.sleep(0.02)
        self.assertEqual(done, list(range(20)))

    async def test_cancel_and_push(self) -> None:
        done: list = []
        first = self.wheel.call_later(0.01, done.append, 1)
        second = self.wheel.call_later(0.01, done.append, 2)
        third = self.wheel.call_later(100, done.append, 3)
        self.assertTrue(first.cancel())
        self.assertFalse(first.cancel())
        second.push(100)
        third.push(0.01)
        await self.wheel.sleep(0.1)
        self.assertEqual(done, [3])
        self.assertEqual((second.armed, third.armed), (True, False))
        second.push(0.01)
        await self.wheel.sleep(0.03)
        self.assertEqual(done, [3, 2])
        third.push(0.01)
        await self.wheel.sleep(0.03)
        self.assertEqual(done, [3, 2, 3])

    async def test_again_and_remaining(self) -> None:
        done: list = []
        timer = self.wheel.call_later(100, done.append, 1)
        self.assertTrue(90 < timer.remaining() <= 100)
        timer.push(1000)
        self.assertTrue(900 < timer.remaining() <= 1000)
        timer.again()
        self.assertTrue(90 < timer.remaining() <= 100)
        timer.cancel()
        self.assertEqual(timer.remaining(), 0)
        short = self.wheel.put("key", 0.01, done.append, 2)
        while short.armed:
            await self.wheel.sleep(0.01)
        short.again()
        self.assertIn("key", self.wheel)
        while short.armed:
            await self.wheel.sleep(0.01)
        self.assertEqual(done, [2, 2])
        with self.assertRaisesRegex(ValueError, "point in time"):
            self.wheel.call_at(self.wheel.time() + 1, print).again()

    async def test_group(self) -> None:
        done: list = []
        with Group() as group:
            timers = [group.add(self.wheel.call_later(100, done.append, n)) for n in range(5)]
            group.discard(timers[1])
            # One that nobody has: it is in the group as long as it is armed.
            group.add(self.wheel.call_later(100, done.append, 5))
            self.assertEqual(len(self.wheel), 6)
            group.cancel()
            self.assertEqual([t.armed for t in timers], [False, True, False, False, False])
            self.assertEqual(len(self.wheel), 1)
            timers[2].again()
        self.assertFalse(timers[2].armed)

        # In a callback, and all of them are due.
        def end() -> None:
            done.append(6)
            group.cancel()

        for _ in range(5):
            group.add(self.wheel.call_later(0, end))
        while len(self.wheel) > 1:
            await self.wheel.sleep(0.01)
        self.assertEqual(done, [6])

    async def test_cancelled_after_its_event_was_read(self) -> None:
        """One read takes the events of all; then a callback cancels or pushes back others."""
        done: list = []
        first: list = []

        def call(n: int) -> None:
            done.append(n)
            if not first:
                first.append(n)
                for k, other in enumerate(timers):
                    if k != n:
                        other.push(2) if k % 2 else other.cancel()

        timers = [self.wheel.call_later(0.005 + 0.003 * n, call, n) for n in range(18)]
        time.sleep(0.1)
        while not done:
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        self.assertEqual(done, first)
        while len(self.wheel):
            await asyncio.sleep(0.05)
        self.assertEqual(sorted(done[1:]), [k for k in range(18) if k % 2 and k not in first])

    async def test_keys(self) -> None:
        done: list = []
        self.wheel.put("a", 0.01, done.append, "early")
        timer = self.wheel.put("a", 100, done.append, "late")
        self.wheel.put(("b", 1), 0.01, done.append, "b")
        self.wheel.put(3, 0.01, done.append, "never")
        self.assertEqual(len(self.wheel), 3)
        self.assertTrue(self.wheel.cancel(3))
        self.assertFalse(self.wheel.cancel(3))
        self.assertIn("a", self.wheel)
        self.assertNotIn(3, self.wheel)
        while ("b", 1) in self.wheel:
            await asyncio.sleep(0.01)
        self.assertEqual(done, ["b"])
        timer.push(0.01)
        while timer.armed:
            await asyncio.sleep(0.01)
        self.assertEqual(done, ["b", "late"])
        self.assertNotIn("a", self.wheel)
        # A timer that is over takes its key again, from a newer one if need be.
        newer = self.wheel.put("a", 100, done.append, "newer")
        timer.push(0.01)
        self.assertEqual((newer.armed, len(self.wheel)), (False, 1))
        await self.wheel.sleep(0.05)
        self.assertEqual(done, ["b", "late", "late"])

    async def test_a_timer_is_no_key(self) -> None:
        # It would be a key that there is not, and the timer would go on.
        timer = self.wheel.put("key", 100, print)
        for call in (lambda: self.wheel.cancel(timer), lambda: timer in self.wheel,
                     lambda: self.wheel.put(timer, 1, print)):
            with self.assertRaisesRegex(TypeError, r"it has cancel\(\)"):
                call()
        self.assertTrue(timer.armed)
        self.assertEqual(len(self.wheel), 1)

    async def test_periodic(self) -> None:
        taken, start = [], time.monotonic()
        async for rounds in self.wheel.every(0.02, count=6):
            taken.append(rounds)
            self.assertGreaterEqual(time.monotonic() - start, 0.02 * sum(taken))
            if len(taken) == 1:
                time.sleep(0.05)
        self.assertEqual(sum(taken), 6)
        self.assertGreater(max(taken), 1)
        self.assertEqual(len(self.wheel), 0)

    async def test_periodic_left_early(self) -> None:
        with self.assertRaises(ValueError):
            async for _ in self.wheel.every(0):
                pass
        async with contextlib.aclosing(self.wheel.every(0.01)) as rounds:
            async for _ in rounds:
                break
            self.assertEqual(len(self.wheel), 1)
        self.assertEqual((len(self.wheel), self.wheel._context.info().pending), (0, 0))

    async def test_exception_in_a_callback(self) -> None:
        done: list = []
        self.wheel.call_later(0.01, lambda: 1 / 0)
        self.wheel.call_later(0.02, done.append, 1)
        await self.wheel.sleep(0.1)
        self.assertEqual(done, [1])
        (complaint,) = self.complaints
        self.assertIsInstance(complaint["exception"], ZeroDivisionError)

    async def test_no_coroutines(self) -> None:
        """As asyncio's, in its debug mode, in which the loop of a test is"""
        async def coroutine() -> None:
            pass

        loop = asyncio.get_running_loop()
        calls = [lambda wrong: self.wheel.call_later(1, wrong),
                 lambda wrong: self.wheel.call_at(self.wheel.time(), wrong),
                 lambda wrong: self.wheel.put("key", 1, wrong)]
        # uvloop's does not look at what it is to call.
        if isinstance(loop, asyncio.BaseEventLoop):
            calls.append(lambda wrong: loop.call_later(1, wrong))
        for wrong in (coroutine, None, 7):
            for call in calls:
                with self.assertRaises(TypeError):
                    call(wrong)
        self.assertEqual(len(self.wheel), 0)
        loop.set_debug(False)
        self.assertTrue(self.wheel.call_later(100, coroutine).armed)

    async def test_slow_callback(self) -> None:
        asyncio.get_running_loop().slow_callback_duration = 0.05
        with self.assertLogs("asyncio", "WARNING") as logs:
            timer = self.wheel.call_later(0, time.sleep, 0.1)
            while timer.armed:
                await asyncio.sleep(0.01)
        self.assertRegex("\n".join(logs.output), "Executing <Timer .*built-in function sleep")

    async def test_context_of_the_caller(self) -> None:
        variable = contextvars.ContextVar("variable", default="outer")
        done: list = []

        def call() -> None:
            done.append(variable.get())

        async def inner() -> None:
            variable.set("inner")
            self.wheel.call_later(0.01, call)

        await asyncio.create_task(inner())
        given = contextvars.copy_context()
        given.run(variable.set, "given")
        self.wheel.call_later(0.02, call, context=given)
        self.wheel.call_at(self.wheel.time() + 0.02, call, context=given)
        self.wheel.put("key", 0.02, call, context=given)
        await self.wheel.sleep(0.05)
        self.assertEqual(done, ["inner", *["given"] * 3])


class Conversions(AioTest):
    def deadline(self, timer: Timer) -> int:
        return self.wheel._context.get(timer._id).deadline

    async def test_points_in_time(self) -> None:
        """Rounded up: by less than 1 ns, and never down where floats are coarser than that."""
        numbers = random.Random(1)
        for _ in range(3000):
            when = 10 ** numbers.uniform(6, 9.9)
            timer = self.wheel.call_at(when, print)
            deadline, exact = self.deadline(timer), Fraction(when) * 10**9
            timer.cancel()
            self.assertGreaterEqual(deadline / 10**9, when)
            self.assertLess(deadline - exact, 1)
            if deadline >= 1 << 53:
                self.assertGreaterEqual(deadline, exact)

    async def test_time(self) -> None:
        """Rounded once, also where a float does not hold all nanoseconds."""
        numbers = random.Random(1)
        async with Wheel(embedded=True) as wheel:
            for ns in sorted(numbers.randrange(1 << 50, 1 << 62) for _ in range(300)):
                wheel._context.set_now(ns)
                self.assertEqual(wheel.time(), ns / 10**9)

    async def test_delays(self) -> None:
        """As they were written: no nanosecond more, which would add up in rounds."""
        for delay, ns in ((0.1, 10**8), (0.001, 10**6), (1e-6, 10**3), (1e-12, 1), (1e-9, 1),
                          (1.1e-9, 2), (1 / 3, 333_333_334), (5_000_000.3, 5_000_000_300_000_000),
                          (-1, 0), (-math.inf, 0), (-0.0, 0), (Fraction(1, 3), 333_333_334),
                          (Decimal("0.1"), 10**8)):
            before = self.wheel._context.now()
            timer = self.wheel.call_later(delay, print)
            after = self.wheel._context.now()
            self.assertTrue(before + ns <= self.deadline(timer) <= after + ns, delay)
            timer.cancel()
        rounds = self.wheel.every(0.001)
        await anext(rounds)
        (timer,) = self.wheel._timers.values()
        self.assertEqual(self.wheel._context.get(timer._id).interval, 10**6)
        await rounds.aclose()

    async def test_latest(self) -> None:
        for long in LONG[:-2]:
            for timer in (self.wheel.call_later(long, print), self.wheel.call_at(long, print),
                          self.wheel.put("key", long, print)):
                self.assertEqual(self.deadline(timer), LATEST)
                timer.push(long)
                self.assertEqual((self.deadline(timer), timer.when()), (LATEST, math.inf))
            async with self.wheel.timeout(long), self.wheel.timeout_at(long):
                pass
        async with Wheel(slack=math.inf) as wheel:
            wheel.call_later(1, print)
        rounds = asyncio.create_task(anext(self.wheel.every(math.inf)))
        done, _ = await asyncio.wait([rounds], timeout=0.05)
        self.assertFalse(done)
        rounds.cancel()

    async def test_not_a_number(self) -> None:
        nan = math.nan
        timer = self.wheel.call_later(100, print)
        for call in (lambda: self.wheel.call_later(nan, print), lambda: Wheel(slack=nan),
                     lambda: self.wheel.call_at(nan, print), lambda: timer.push(nan),
                     lambda: self.wheel.put("key", nan, print), lambda: self.wheel.timeout(nan),
                     lambda: self.wheel.timeout_at(nan)):
            with self.assertRaisesRegex(ValueError, "^a time is no number"):
                call()
        with self.assertRaisesRegex(ValueError, "^a time is no number"):
            await self.wheel.sleep(nan)
        with self.assertRaisesRegex(ValueError, "^a time is no number"):
            await anext(self.wheel.every(nan))
        for wrong in (None, "1"):
            with self.assertRaises(TypeError):
                self.wheel.call_later(wrong, print)
        self.assertEqual((len(self.wheel), self.wheel._context.info().pending), (1, 1))


class Handles(AioTest):
    """What asyncio's handles have, compared with those."""

    async def test_when(self) -> None:
        before = self.wheel.time()
        timer = self.wheel.call_later(0.02, lambda: called.append(self.wheel.time()))
        called: list = []
        when = timer.when()
        self.assertTrue(before + 0.02 <= when <= self.wheel.time() + 0.02)
        self.assertEqual(when, self.wheel._context.get(timer._id).deadline / 10**9)
        await self.wheel.sleep(0.1)
        self.assertGreaterEqual(called[0], when)
        self.assertEqual(timer.when(), when)
        timer.push(100)
        self.assertGreater(timer.when(), when + 50)
        exact = self.wheel.time() + 1 / 3
        self.assertEqual(self.wheel.call_at(exact, print).when(), exact)

    async def test_cancelled(self) -> None:
        for call_later in (self.wheel.call_later, asyncio.get_running_loop().call_later):
            first, second = call_later(100, print), call_later(0, int)
            self.assertFalse(first.cancelled() or second.cancelled())
            first.cancel()
            await asyncio.sleep(0.05)
            self.assertEqual((first.cancelled(), second.cancelled()), (True, False))
            second.cancel()
            self.assertTrue(second.cancelled())
        timer = self.wheel.call_later(100, print)
        timer.cancel()
        timer.push(100)
        self.assertFalse(timer.cancelled())
        old = self.wheel.put("key", 100, print)
        old.push(200)
        self.assertFalse(old.cancelled())
        new = self.wheel.put("key", 100, print)
        self.assertEqual((old.cancelled(), new.cancelled()), (True, False))
        self.wheel.close()
        self.assertTrue(new.cancelled() and timer.cancelled())

    async def test_repr(self) -> None:
        timer = self.wheel.put("name", 100, print)
        self.assertEqual(repr(timer), f"<Timer armed when={timer.when()} key='name' "
                                      "callback=<built-in function print>>")
        self.assertEqual(repr(self.wheel), "<Wheel open timers=1>")
        timer.cancel()
        self.assertIn("<Timer cancelled when=", repr(timer))
        over = self.wheel.call_later(0, int)
        await self.wheel.sleep(0.02)
        self.assertIn("<Timer over when=", repr(over))
        self.wheel.close()
        self.assertEqual(repr(self.wheel), "<Wheel closed timers=0>")


class Timeouts(AioTest):
    """Each is done with asyncio's timeouts, too, which say what is right."""

    def makers(self):
        loop = asyncio.get_running_loop()
        return ((asyncio.timeout, asyncio.timeout_at, loop.time),
                (self.wheel.timeout, self.wheel.timeout_at, self.wheel.time))

    async def test_expired(self) -> None:
        for timeout, timeout_at, now in self.makers():
            for made in (lambda: timeout(0.02), lambda: timeout_at(now() + 0.02)):
                start = now()
                with self.assertRaises(TimeoutError):
                    async with made() as scope:
                        self.assertFalse(scope.expired())
                        await asyncio.sleep(100)
                # uvloop counts milliseconds: the sum may be a bit more than one of these.
                self.assertGreater(now(), start + 0.02 - 1e-9)
                self.assertTrue(scope.expired())
            self.assertEqual(asyncio.current_task().cancelling(), 0)
        self.assertEqual((len(self.wheel), self.wheel._timeouts), (0, set()))

    async def test_in_time(self) -> None:
        for timeout, timeout_at, _ in self.makers():
            for made in (timeout(100), timeout(None), timeout_at(None), timeout(math.inf)):
                async with made as scope:
                    await asyncio.sleep(0)
                self.assertFalse(scope.expired())
            async with timeout(None) as scope:
                self.assertIsNone(scope.when())
            with self.assertRaises(ZeroDivisionError):
                async with timeout(100):
                    print(1 / 0)
        self.assertEqual((len(self.wheel), self.wheel._timeouts), (0, set()))

    async def test_passed_already(self) -> None:
        for timeout, timeout_at, now in self.makers():
            for made in (timeout(0), timeout(-1), timeout_at(now()), timeout_at(-math.inf)):
                steps = 0
                with self.assertRaises(TimeoutError):
                    async with made:
                        while True:
                            await asyncio.sleep(0)
                            steps += 1
                self.assertEqual(steps, 0)
            # It ends before there was a wait.
            async with timeout(0) as scope:
                pass
            self.assertFalse(scope.expired())

    async def test_reschedule(self) -> None:
        for timeout, _, now in self.makers():
            async with timeout(0.02) as scope:
                scope.reschedule(None)
                await asyncio.sleep(0.05)
                scope.reschedule(now() + 100)
                when = now() + 200
                scope.reschedule(when)
                self.assertEqual(scope.when(), when)
            for when in (0, now() + 0.02):
                with self.assertRaises(TimeoutError):
                    async with timeout(100) as scope:
                        scope.reschedule(when)
                        await asyncio.sleep(100)
        self.assertEqual((len(self.wheel), self.wheel._timeouts), (0, set()))

    async def test_out_of_its_block(self) -> None:
        scope = self.wheel.timeout(100)
        with self.assertRaises(RuntimeError):
            scope.reschedule(1)
        async with scope:
            pass
        with self.assertRaises(RuntimeError):
            scope.reschedule(None)
        with self.assertRaises(RuntimeError):
            async with scope:
                pass
        with self.assertRaises(TimeoutError):
            async with self.wheel.timeout(0) as scope:
                try:
                    await asyncio.sleep(100)
                finally:
                    with self.assertRaises(RuntimeError):
                        scope.reschedule(None)
        self.assertEqual((len(self.wheel), self.wheel._timeouts), (0, set()))

    async def test_cancelled_by_another(self) -> None:
        async def block(timeout) -> None:
            async with timeout(0.5 if late else 100):
                await asyncio.sleep(0)
                if late:
                    time.sleep(0.6)
                asyncio.current_task().cancel()
                await asyncio.sleep(100)

        for late in (False, True):
            for timeout, _, _ in self.makers():
                task = asyncio.create_task(block(timeout))
                await asyncio.wait([task])
                self.assertTrue(task.cancelled())

    async def test_nested(self) -> None:
        for outer, _, _ in self.makers():
            for inner, _, _ in self.makers():
                with self.assertRaises(TimeoutError):
                    async with outer(0.02) as first:
                        async with inner(100) as second:
                            await asyncio.sleep(100)
                self.assertEqual((first.expired(), second.expired()), (True, False))
                async with outer(100) as first:
                    with self.assertRaises(TimeoutError):
                        async with inner(0.02) as second:
                            await asyncio.sleep(100)
                self.assertEqual((first.expired(), second.expired()), (False, True))

    async def test_closed(self) -> None:
        with self.refused(errno.EBADF):
            async with self.wheel.timeout(100) as scope:
                asyncio.get_running_loop().call_later(0.01, self.wheel.close)
                await asyncio.sleep(100)
        self.assertFalse(scope.expired())
        self.assertEqual(asyncio.current_task().cancelling(), 0)
        with self.refused(errno.EBADF):
            self.wheel.timeout(1)

    async def test_limit(self) -> None:
        """One that is pushed back needs no second timer."""
        async with Wheel(limit=1) as wheel, wheel.timeout(100) as scope:
            scope.reschedule(wheel.time() + 50)
            with self.refused(errno.ENOSPC):
                async with wheel.timeout(1):
                    pass
            self.assertEqual(len(wheel), 1)

    async def test_repr(self) -> None:
        scope = self.wheel.timeout(100)
        self.assertEqual(repr(scope), f"<Timeout not set when={scope.when()}>")
        async with scope:
            self.assertEqual(repr(scope), f"<Timeout set when={scope.when()}>")


class Batches(AioTest):
    """When the wheel is told what was armed, pushed back and cancelled."""

    async def asyncSetUp(self) -> None:
        await super().asyncSetUp()
        self.wheel = await self.enterAsyncContext(Wheel(embedded=True))

    def counted(self) -> tuple[int, int, int]:
        """What the wheel was told so far."""
        counters = self.wheel._open.stats()
        return counters.armed, counters.rearmed, counters.cancelled

    async def turn(self) -> None:
        for _ in range(2):
            await asyncio.sleep(0)

    async def until(self, counted: tuple[int, int, int]) -> None:
        end = time.monotonic() + 60
        while self.counted() != counted and time.monotonic() < end:
            await asyncio.sleep(0.001)
        self.assertEqual(self.counted(), counted)

    async def test_never_told(self) -> None:
        for _ in range(100):
            self.wheel.call_later(100, print).cancel()
        kept = self.wheel.call_later(100, print)
        for _ in range(100):
            kept.push(200)
        await self.until((1, 0, 0))
        for n in range(100):
            kept.push(300 + n)
        await self.until((1, 1, 0))
        self.assertEqual(self.wheel._open.get(kept._id).deadline / 10**9, kept.when())
        kept.push(200)
        kept.cancel()
        await self.until((1, 1, 1))
        self.assertEqual(self.wheel._open.info().pending, 0)

    async def test_in_time(self) -> None:
        """What is due before long is told in the next turn, and with it all the rest."""
        far = self.wheel.call_later(100, print)
        self.wheel.call_later(0.001, int)
        await self.turn()
        self.assertEqual(self.counted(), (2, 0, 0))
        far.push(200)
        other = self.wheel.call_later(100, int)
        other.push(0.001)
        await self.turn()
        self.assertEqual(self.counted(), (3, 1, 0))
        async with Wheel(embedded=True, clock=time.CLOCK_REALTIME) as self.wheel:
            self.wheel.call_at(self.wheel.time() + 100, print)
            await self.turn()
            self.assertEqual(self.counted()[0], 1)

    async def test_no_walk(self) -> None:
        """The wheel is told without a look at what it knows, or at what was cancelled before."""
        class Known(dict):
            def no_walk(self, *_: object) -> None:
                raise AssertionError("all timers were looked at")

            __iter__ = __reversed__ = keys = values = items = no_walk

        timers = [self.wheel.call_later(100, print) for _ in range(100)]
        self.wheel._flush()
        known = self.wheel._timers
        self.wheel._timers = Known(known)
        try:
            for kept in (self.wheel.call_later(100, print), timers[0], timers[1]):
                more = [self.wheel.call_later(200, print) for _ in range(100)]
                kept.push(200)
                for timer in more:
                    timer.cancel()
                self.wheel._flush()
                self.assertEqual(sys.getsizeof(self.wheel._new), sys.getsizeof([]))
                self.assertEqual((len(self.wheel), kept.armed, more[0].armed), (101, True, False))
            self.assertEqual(self.counted(), (101, 2, 0))
        finally:
            self.wheel._timers = known

    async def test_one_delay_at_a_time(self) -> None:
        loop, handles = self.wheel._loop, []
        call_later = loop.call_later

        def note(*args) -> asyncio.TimerHandle:
            handles.append(call_later(*args))
            return handles[-1]

        loop.call_later = note
        for _ in range(20):
            self.wheel.call_later(100, print)
            self.wheel.call_later(0.001, int)
            await self.turn()
            self.assertLessEqual(len([h for h in handles if h.when() > loop.time()]), 1)
        self.assertGreater(len(handles), 0)

    async def test_at_once(self) -> None:
        async with Wheel(embedded=True, limit=1) as self.wheel:
            self.wheel.call_later(100, print).cancel()
            kept = self.wheel.call_later(100, print)
            self.assertEqual(self.counted(), (2, 0, 1))
            kept.cancel()
            self.wheel.call_later(100, print)
        async with Wheel(embedded=True, slack=5) as self.wheel:
            timer = self.wheel.call_later(100, print)
            timer.push(200)
            self.assertEqual(self.counted()[0], 1)
            self.assertGreater(self.wheel._context.get(timer._id).slack, 4 * 10**9)

    def refuse_later(self, keys: set[int]) -> None:
        """Have the wheel refuse these timers, for want of memory."""
        push_all = self.wheel._open._push_all

        def refuse(numbers, done: int = 0) -> int:
            if numbers[2 * done] in keys:
                return -errno.ENOMEM
            rest = next((n for n in range(done, len(numbers) // 2) if numbers[2 * n] in keys), None)
            return push_all(numbers if rest is None else numbers[:2 * rest], done)

        self.wheel._open._push_all = refuse

    async def refuse(self, keys: set[int]) -> None:
        self.refuse_later(keys)
        await self.wheel._loop.create_task(self.turn())

    async def test_refused(self) -> None:
        done: list = []
        timers = [self.wheel.call_later(0.01 + n / 1000, done.append, n) for n in range(9)]
        await self.refuse({timers[n]._id for n in (0, 3, 4, 8)})
        while len(self.wheel):
            await asyncio.sleep(0.01)
        self.assertEqual(done, [1, 2, 5, 6, 7])
        self.assertEqual([timer.cancelled() for timer in timers],
                         [n in (0, 3, 4, 8) for n in range(9)])
        self.assertEqual([each["exception"].errno for each in self.complaints],
                         [errno.ENOMEM] * 4)

    async def test_refused_to_tasks(self) -> None:
        async def in_time() -> None:
            async with self.wheel.timeout(100) as scope:
                scopes.append(scope)
                await asyncio.sleep(100)

        scopes: list = []
        tasks = [asyncio.create_task(self.wheel.sleep(100)), asyncio.create_task(in_time())]
        await asyncio.sleep(0)
        await self.refuse(set(self.wheel._timers))
        for task in tasks:
            with self.refused(errno.ENOMEM):
                await asyncio.wait_for(task, 60)
        self.assertFalse(scopes[0].expired())
        self.assertEqual((len(self.wheel), self.complaints), (0, []))

    async def test_cancel_that_fails(self) -> None:
        """It is asked for again after the lag, and holds up nothing else."""
        def fail(numbers: list[int]) -> None:
            failed.append(len(numbers))
            if len(failed) < 10:
                raise OSError(errno.ENOMEM, "no memory")
            cancel_all(numbers)

        for clock in (time.CLOCK_MONOTONIC, time.CLOCK_BOOTTIME):
            done: list = []
            failed: list = []
            async with Wheel(embedded=True, clock=clock) as self.wheel:
                timers = [self.wheel.call_later(100, done.append, n) for n in range(3)]
                self.wheel._flush()
                cancel_all = self.wheel._open._cancel_all
                self.wheel._open._cancel_all = fail
                start = time.monotonic()
                timers[0].cancel()
                timers[1].cancel()
                timers[2].push(200)
                self.wheel.call_later(0.001, done.append, "new")
                self.wheel._flush()
                self.assertEqual((self.counted(), failed), ((4, 1, 0), [2]))
                while len(failed) < 10:
                    await asyncio.sleep(0.001)
                # Not in each turn of the loop
                self.assertGreater(time.monotonic() - start, 0.04)
                await self.until((4, 1, 2))
                while not done:
                    await asyncio.sleep(0.001)
                self.assertEqual((done, len(self.wheel), self.wheel._gone), (["new"], 1, []))
        self.assertEqual(self.complaints, [])

    async def test_armed_by_a_complaint(self) -> None:
        """The handler is not called within a method, and may arm timers."""
        def complain(loop: asyncio.AbstractEventLoop, complaint: dict) -> None:
            self.complaints.append(asyncio.current_task())
            self.wheel.call_later(0.01, done.append, "armed")

        async def until_armed() -> None:
            while not done:
                await asyncio.sleep(0.001)

        done: list = []
        self.wheel._loop.set_exception_handler(complain)
        timer = self.wheel.call_later(0.01, print)
        self.refuse_later({timer._id})
        async with contextlib.aclosing(self.wheel.every(0.01)) as rounds:
            # This tells the wheel.
            await anext(rounds)
            self.assertTrue(timer.cancelled())
            await asyncio.wait_for(until_armed(), 20)
        async with Wheel(embedded=True, limit=5) as self.wheel:
            done.clear()
            timer = self.wheel.call_later(100, print)
            timer.push(0.01)
            self.refuse_later({timer._id})
            self.wheel.call_later(100, print)
            self.assertTrue(timer.cancelled())
            await asyncio.wait_for(until_armed(), 20)
        self.assertEqual(self.complaints, [None, None])

    async def test_closed_by_a_complaint(self) -> None:
        def complain(loop: asyncio.AbstractEventLoop, complaint: dict) -> None:
            self.complaints.append(complaint)
            self.wheel.close()

        self.wheel._loop.set_exception_handler(complain)
        timers = [self.wheel.call_later(0.01, print) for _ in range(5)]
        await self.refuse({timers[2]._id})
        self.assertTrue(all(timer.cancelled() for timer in timers))
        self.assertEqual(len(self.complaints), 1)

    async def test_entered_again(self) -> None:
        """In another loop, after one that has not told the wheel everything."""
        def run() -> None:
            async def main() -> None:
                called = asyncio.Event()
                async with wheel:
                    # Later than what the other loop would have told by now
                    wheel.call_later(0.05, called.set)
                    await called.wait()
                    wheel.call_later(100, print)

            wheel = Wheel(embedded=True)
            for _ in range(3):
                asyncio.run(asyncio.wait_for(main(), 60))

        await asyncio.get_running_loop().run_in_executor(None, run)

    async def test_due_and_not_read(self) -> None:
        """One that is pushed back just before its event is read is not called early."""
        done: list = []
        now = self.wheel._open.now()
        self.wheel._open.set_now(now)
        timers = [self.wheel.call_later(10, done.append, n) for n in range(3)]
        self.wheel._flush()
        self.wheel._open.set_now(now + 20 * 10**9)
        # It is readable now, and read in the next turn.
        timers[0].push(100)
        timers[1].cancel()
        while not done:
            await asyncio.sleep(0)
        await self.turn()
        self.assertEqual((done, timers[0].armed), ([2], True))
        self.wheel._open.set_now(now + 200 * 10**9)
        while timers[0].armed:
            await asyncio.sleep(0)
        self.assertEqual(done, [2, 0])

    async def call_all(self, seconds: int, done: list, number: int) -> None:
        """Turn the clock on, and wait until so many were called."""
        self.wheel._open.set_now(self.wheel._open.now() + seconds * 10**9)
        while len(done) < number:
            await asyncio.sleep(0)

    async def test_more_than_are_read_at_a_time(self) -> None:
        done: list = []
        self.wheel._open.set_now(self.wheel._open.now())
        for n in range(1000):
            self.wheel.call_later(10, done.append, n)
        await self.call_all(20, done, 1000)
        self.assertTrue(done == list(range(1000)))
        done.clear()
        moved = self.wheel.call_later(5, done.append, "moved")
        for n in range(1000):
            self.wheel.call_later(10 + n / 1000, done.append, n)
        self.wheel._flush()
        moved.push(10.4995)
        await self.call_all(20, done, 1001)
        self.assertTrue(done == [*range(500), "moved", *range(500, 1000)])

    async def test_read_before_an_error(self) -> None:
        """What was read is called; then the wheel is closed."""
        done: list = []
        read, reads = self.wheel._open._read_into, []

        def fail(room) -> int:
            reads.append(room)
            return -errno.EIO if len(reads) > 1 else read(room)

        self.wheel._open.set_now(self.wheel._open.now())
        timers = [self.wheel.call_later(10, done.append, n) for n in range(1000)]
        self.wheel._open._read_into = fail
        await self.call_all(20, done, 1)
        while timers[-1].armed:
            await asyncio.sleep(0)
        self.assertTrue(done == list(range(256)))
        self.assertEqual([each["exception"].errno for each in self.complaints], [errno.EIO])

    async def test_read_and_interrupted(self) -> None:
        """A handler of a signal that raises as events are read loses none of them."""
        done: list = []
        read, hits = _lib.twheel_read, []

        def interrupted(*arguments) -> int:
            stored = read(*arguments)
            if stored > 0 and len(hits) < 2:
                hits.append(stored)
                # An OSError
                raise TimeoutError("on purpose")
            return stored

        self.wheel._open.set_now(self.wheel._open.now())
        for n in range(600):
            self.wheel.call_later(10, done.append, n)
        with mock.patch.object(_lib, "twheel_read", interrupted):
            await asyncio.wait_for(self.call_all(20, done, 600), 20)
        self.assertTrue(done == list(range(600)))
        self.assertEqual((len(hits), len(self.complaints), len(self.wheel)), (2, 2, 0))

    async def test_told_and_interrupted(self) -> None:
        """Nor does one that raises as the wheel is told."""
        done: list = []
        for name in "twheel_cancel_batch", "twheel_push_batch":
            moved, gone = (self.wheel.call_later(1000, done.append, "late") for _ in range(2))
            # Nothing else is to have the wheel told.
            while self.wheel._new or self.wheel._lag_in_time < LATEST:
                await asyncio.sleep(0.001)
            moved.push(0.01)
            for n in range(600):
                self.wheel.call_later(0.01, done.append, n)
            if name == "twheel_cancel_batch":
                gone.cancel()
            async with asyncio.timeout(20):
                with mock.patch.object(_lib, name, side_effect=TimeoutError("on purpose")):
                    while not self.complaints:
                        await asyncio.sleep(0)
                while moved.armed or len(done) <= 600:
                    await asyncio.sleep(0.001)
            gone.cancel()
            self.assertEqual((done, len(self.wheel)), (["late", *range(600)], 0))
            self.assertEqual(self.wheel._context.info().pending, 0)
            done.clear()
            self.complaints.clear()

    async def test_lost_and_interrupted(self) -> None:
        """A handler of a signal may raise in all functions of Python that are to try again."""
        fail = mock.Mock(side_effect=TimeoutError("on purpose"))

        def drop(call: Callable) -> None:
            # As if the loop had lost it
            self.wheel._lag_in_time = 0
            call(self.wheel._tell)

        def flush(call: Callable) -> None:
            with mock.patch.object(_lib, "twheel_push_batch", fail):
                self.assertRaises(TimeoutError, self.wheel._flush)

        for limit, lose in itertools.product((0, 1), (drop, flush)):
            async with Wheel(embedded=True, limit=limit) as self.wheel, asyncio.timeout(20):
                timer = self.wheel.call_later(1000, int)
                # Nothing else is to have the wheel told.
                while self.wheel._new or self.wheel._lag_in_time < LATEST:
                    await asyncio.sleep(0.001)
                self.wheel._in_time = 0
                timer.push(0.01)
                call = self.wheel._call
                # Also where there are as many timers as there may be
                with mock.patch.multiple(self.wheel, _call=fail, _schedule=fail, _readable=fail):
                    lose(call)
                    fail.reset_mock()
                    while not fail.called:
                        await asyncio.sleep(0)
                while timer.armed:
                    await asyncio.sleep(0.001)
                timer.push(0.01)
                fail.reset_mock()
                with mock.patch.multiple(self.wheel, _handle=fail, _call=fail):
                    while not fail.called:
                        await asyncio.sleep(0.001)
                while timer.armed:
                    await asyncio.sleep(0.001)
                # The loop does not spin.
                with mock.patch.object(self.wheel, "_readable") as read:
                    await asyncio.sleep(0.01)
                self.assertLessEqual(read.call_count, 1)

    async def test_leaves_no_descriptor(self) -> None:
        # Of tests before this one
        gc.collect()
        before = os.listdir("/proc/self/fd")
        async with Wheel(embedded=True) as wheel:
            self.assertLess(len(before), len(os.listdir("/proc/self/fd")))
        self.assertEqual((os.listdir("/proc/self/fd"), len(wheel)), (before, 0))

    async def test_reader_that_is_refused(self) -> None:
        gc.collect()
        before = os.listdir("/proc/self/fd")
        refused = property(mock.Mock(side_effect=OSError))
        with mock.patch.object(Wheel, "_woken", refused), self.assertRaises(OSError):
            await Wheel(embedded=True).__aenter__()
        self.assertEqual(os.listdir("/proc/self/fd"), before)

    @mock.patch.object(aio, "_LAG", 500_000)
    async def test_finalizers(self) -> None:
        """One may run wherever memory is collected, and arm, push back and cancel timers."""
        point = 1
        while await self.finalized(point):
            point += 1
        self.assertGreater(point, 20)
        self.assertEqual(self.complaints, [])

    async def finalized(self, point: int) -> bool:
        """Have it run when memory is collected for the nth time. False if it did not."""
        done: list = []
        calls = collections.Counter(armed=1, later=1)

        def collect(phase: str, info: dict) -> None:
            nonlocal point
            point -= phase == "start"
            if phase == "start" and not point:
                # If it is not armed it was called, or is just being called.
                calls.update(later=-later.armed, sooner=1, new=1)
                later.push(1000)
                sooner.push(10)
                gone.cancel()
                self.wheel.call_later(10, done.append, "new")

        async def turn_on(seconds: int, *names: str) -> None:
            """The clock, and wait until these were called."""
            self.wheel._open.set_now(now + seconds * 10**9)
            async with asyncio.timeout(20):
                while not set(names) <= set(done):
                    await asyncio.sleep(0)
            await self.turn()

        now = self.wheel._open.now()
        await turn_on(0)
        later, sooner, gone, other = (self.wheel.call_later(5000, done.append, name)
                                      for name in ("later", "sooner", "gone", "other"))
        self.wheel._flush()
        for timer, seconds in (later, 10), (sooner, 1000), (gone, 4000):
            timer.push(seconds)
        other.cancel()
        self.wheel.call_later(10, done.append, "armed")
        thresholds = gc.get_threshold()
        gc.callbacks.append(collect)
        gc.set_threshold(1, 1000)
        self.wheel._flush()
        await turn_on(30, "armed")
        gc.set_threshold(*thresholds)
        gc.callbacks.remove(collect)
        await turn_on(100, *(name for name in calls if calls[name]))
        self.assertEqual(collections.Counter(done), calls)
        await turn_on(3000)
        async with asyncio.timeout(20):
            while later.armed or sooner.armed:
                await asyncio.sleep(0)
        gone.cancel()
        self.assertEqual(self.wheel._context.info().pending, 0)
        return point <= 0

    async def test_armed_by_a_finalizer(self) -> None:
        """Just as it is armed itself, or one with its key is: it is armed once."""
        def finalized(*arguments: Any, **settings: Any) -> Any:
            self.wheel._open.arm = arm
            call()
            return arm(*arguments, **settings)

        async with Wheel(embedded=True, limit=5) as self.wheel:
            arm, timer = self.wheel._open.arm, self.wheel.call_later(10, print)
            timer.cancel()
            for call in timer.again, lambda: self.wheel.put("key", 10, print):
                self.wheel._open.arm = finalized
                call()
                self.assertEqual((len(self.wheel), self.wheel._context.info().pending), (1, 1))
                self.assertTrue(timer.cancel() or self.wheel.cancel("key"))

    async def test_read_and_not_called(self) -> None:
        """One that is pushed back after its event was read has another number from then on."""
        done: list = []
        now = self.wheel._open.now()
        self.wheel._open.set_now(now)

        def first() -> None:
            done.append(0)
            timers[1].push(100)
            timers[2].cancel()
            timers[3].cancel()
            timers[3].push(100)

        timers = [self.wheel.call_later(10 + n, done.append, n) for n in range(1, 4)]
        timers.insert(0, self.wheel.call_later(10, first))
        self.wheel._flush()
        self.wheel._open.set_now(now + 20 * 10**9)
        while not done:
            await asyncio.sleep(0)
        await self.turn()
        self.assertEqual((done, len(self.wheel), self.wheel._context.info().pending), ([0], 2, 2))
        self.wheel._open.set_now(now + 200 * 10**9)
        while len(self.wheel):
            await asyncio.sleep(0)
        self.assertEqual(done, [0, 1, 3])


class Interrupted(unittest.TestCase):
    def test_raised_anywhere(self) -> None:
        """A handler of a signal that raises, wherever that is, has one timer lost at most."""
        # The wheel is told of the timers at once, or later.
        for delay in 0, 0.002:
            with self.subTest(delay), mock.patch.object(aio, "_LAG", 500_000):
                point = 1
                while self.interrupted(point, delay):
                    point += 1
                # Those are in asyncio and in the wheel.
                self.assertGreater(point, 30)

    def interrupted(self, point: int, delay: float) -> bool:
        """Run a loop until Python has for the nth time asked for signals, or all were called.

        False if they were.
        """
        done: list = []
        loop = asyncio.SelectorEventLoop()
        loop.set_exception_handler(lambda loop, complaint: None)

        def arm(then: Callable[..., None], *arguments: object) -> None:
            for n in range(4):
                wheel.call_later(delay + 0.0005 * n, done.append, n)
            then(*arguments)

        def ask(frame: object, event: str, arg: object) -> None:
            nonlocal point
            point -= event in ("call", "c_return")
            if not point:
                sys.setprofile(None)
                raise TimeoutError("on purpose")

        with contextlib.closing(loop):
            wheel = loop.run_until_complete(Wheel().__aenter__())
            run = functools.partial(arm, sys.setprofile, ask)
            gc.disable()
            while point and len(done) < 4:
                # One of these may be lost.
                stops = [loop.call_later(seconds, loop.stop) for seconds in (0.005, 0.006)]
                loop.call_soon(run)
                try:
                    loop.run_forever()
                except TimeoutError:
                    pass
                sys.setprofile(None)
                for stop in stops:
                    stop.cancel()
                run = functools.partial(sys.setprofile, ask)
            gc.enable()
            loop.call_soon(arm, loop.stop)
            loop.run_forever()
            end = time.monotonic() + 10
            while len(wheel) and time.monotonic() < end:
                loop.run_until_complete(asyncio.sleep(0.001))
            self.assertEqual(len(wheel), 0)
            self.assertGreaterEqual(len(done), 7)
            wheel.close()
        return not point


class Places(AioTest):
    async def test_several_loops(self) -> None:
        """A wheel each in three threads, beside that of this loop."""
        late: list = []

        async def work() -> None:
            async with Wheel() as wheel:
                for _ in range(10):
                    start = time.monotonic()
                    await wheel.sleep(0.01)
                    late.append(time.monotonic() - start - 0.01)

        threads = [threading.Thread(target=asyncio.run, args=(work(),)) for _ in range(3)]
        for thread in threads:
            thread.start()
        await self.wheel.sleep(0.1)
        await asyncio.get_running_loop().run_in_executor(
            None, lambda: [thread.join() for thread in threads])
        self.assertEqual(len(late), 30)
        self.assertGreaterEqual(min(late), 0)

    async def test_another_loop(self) -> None:
        def elsewhere() -> None:
            async def call() -> None:
                self.wheel.call_later(1, print)
            asyncio.run(call())

        with self.assertRaises(RuntimeError):
            await asyncio.get_running_loop().run_in_executor(None, elsewhere)
        with self.assertRaises(RuntimeError):
            await self.wheel.__aenter__()

    async def test_loop_that_does_not_run(self) -> None:
        """What is refused has changed nothing, also while the wheel is to be told before long."""
        done: list = []

        def run() -> None:
            async def enter() -> tuple[Timer, Timer]:
                await wheel.__aenter__()
                wheel.call_later(100, done.append, "told later")
                cancelled = wheel.call_later(0.01, done.append, "cancelled")
                cancelled.cancel()
                return cancelled, wheel.put("key", 0.05, done.append, "kept")

            async def refuse() -> None:
                for delay in (0.01, 1000):
                    for call in (lambda: wheel.call_later(delay, done.append, delay),
                                 lambda: wheel.call_at(wheel.time() + delay, done.append, delay),
                                 lambda: wheel.put("key", delay, done.append, delay),
                                 lambda: wheel.put("other", delay, done.append, delay),
                                 lambda: over.push(delay), over.again, lambda: kept.push(delay)):
                        with self.assertRaises(RuntimeError):
                            call()
                        self.assertEqual((len(wheel), kept.armed, kept.when(), kept.cancelled()),
                                         (2, True, when, False))
                        self.assertEqual((over.armed, "other" in wheel), (False, False))

            async def until_called() -> None:
                while kept.armed:
                    await asyncio.sleep(0.01)

            loop, wheel = asyncio.new_event_loop(), Wheel(embedded=True)
            over, kept = loop.run_until_complete(enter())
            when = kept.when()
            # In no loop, and in another one in the same thread
            with self.assertRaises(StopIteration):
                refuse().send(None)
            asyncio.run(refuse())
            loop.run_until_complete(until_called())
            loop.close()
            wheel.close()

        await asyncio.get_running_loop().run_in_executor(None, run)
        self.assertEqual(done, ["kept"])

    async def test_fork(self) -> None:
        task = asyncio.create_task(self.wheel.sleep(0.05))
        await asyncio.sleep(0)
        pid = os.fork()
        if not pid:
            try:
                self.wheel.call_later(1, print)
            except ChildProcessError:
                self.wheel.close()
                os._exit(0)
            finally:
                os._exit(1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        await asyncio.wait_for(task, 20)

    async def test_fork_that_goes_on(self) -> None:
        loop = asyncio.get_running_loop()
        for told in (False, True):
            task = asyncio.create_task(self.wheel.sleep(0.05))
            await asyncio.sleep(0)
            if told:
                self.wheel._flush()
            pid = os.fork()
            if not pid:
                # If the loop is not stopped it calls the wheel again and again.
                signal.alarm(20)
                loop.stop = lambda: os._exit(0)
                await loop.create_future()
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
            await asyncio.wait_for(task, 20)
        self.assertEqual(self.complaints, [])

    async def test_cannot_be_read(self) -> None:
        self.wheel._context._read_into = lambda room: -errno.EIO
        with self.refused(errno.EBADF):
            await asyncio.wait_for(self.wheel.sleep(0.01), 20)
        await asyncio.sleep(0.1)
        self.assertEqual([each["exception"].errno for each in self.complaints], [errno.EIO])

    async def test_errors(self) -> None:
        with self.refused(errno.ENOENT):
            async with Wheel("/dev/no-such-wheel"):
                pass
        with self.refused(errno.EINVAL):
            async with Wheel(clock=time.CLOCK_REALTIME) as wheel:
                await wheel.sleep(1)
        with self.refused(errno.EINVAL):
            async with Wheel(clock=time.CLOCK_REALTIME) as wheel:
                wheel.timeout(1)
        async with Wheel(limit=1) as wheel:
            kept = wheel.put("a", 100, print)
            with self.refused(errno.ENOSPC):
                wheel.put("b", 100, print)
            self.assertTrue(kept.armed)
            self.assertNotIn("b", wheel)
            self.assertEqual(len(wheel), 1)

    async def test_not_copied(self) -> None:
        for copied in (copy.copy, copy.deepcopy):
            with self.assertRaisesRegex(TypeError, "a wheel cannot be copied"):
                copied(self.wheel)

    async def test_wall_time(self) -> None:
        done: list = []
        async with Wheel(clock=time.CLOCK_REALTIME) as wheel:
            start = wheel.time()
            wheel.call_at(start + 0.02, lambda: done.append(wheel.time()))
            await self.wheel.sleep(0.2)
        self.assertGreaterEqual(done[0], start + 0.02 - 1e-6)


if __name__ == "__main__":
    unittest.main()
