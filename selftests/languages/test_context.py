# SPDX-License-Identifier: GPL-2.0-only
"""Tests of twheel.Context, on the device or on a wheel in the process."""

import contextlib
import copy
import errno
import gc
import math
import os
import pickle
import select
import signal
import threading
import time
import unittest
from unittest import mock

import twheel
from twheel import Arm, Context
from twheel._context import _lib

MSEC = 1_000_000


class ContextTest(unittest.TestCase):
    """Each test has a context of its own, `self.ctx`, made with `options`."""

    options: dict = {}

    def setUp(self) -> None:
        self.ctx = Context(nonblock=True, **self.options)
        self.addCleanup(self.ctx.close)

    def wait(self, count: int, seconds: float = 20) -> list:
        """The next `count` events, or fewer if they do not come."""
        poll, events = select.poll(), []
        poll.register(self.ctx.fileno(), select.POLLIN)
        end = time.monotonic() + seconds
        while True:
            over = time.monotonic() >= end
            poll.poll(0 if over else 1000 * seconds)
            try:
                events += self.ctx.read()
            except BlockingIOError:
                pass
            if over or len(events) >= count:
                return events

    @contextlib.contextmanager
    def refused(self, number: int):
        """For `with`: what is in it has to fail with this errno."""
        with self.assertRaises(OSError) as caught:
            yield
        self.assertEqual(caught.exception.errno, number, caught.exception)


class Timers(ContextTest):
    def test_never_early(self) -> None:
        delays = [n * MSEC // 4 for n in range(1, 200)]
        before = []
        for n, delay in enumerate(delays):
            before.append(self.ctx.now() + delay)
            self.ctx.arm(delay, n)
        events = self.wait(len(delays))
        self.assertEqual(sorted(e.user_data for e in events), list(range(len(delays))))
        for event in events:
            self.assertGreaterEqual(event.expired, event.deadline)
            self.assertGreaterEqual(event.deadline, before[event.user_data])
        self.assertGreaterEqual(self.ctx.now(), max(e.deadline for e in events))

    def test_latest(self) -> None:
        """What is too long is the latest time; what is negative is refused."""
        latest = (1 << 63) - 1
        with Context(keyed=True, lease=True, nonblock=True) as ctx:
            for long in (latest, 1 << 63, (1 << 64) - 1, 1 << 64, (1 << 64) + 5, 10**400):
                for absolute in (False, True):
                    ctx.arm(long, handle=1, absolute=absolute)
                    self.assertEqual(ctx.get(1).deadline, latest)
                    (result,) = ctx.arm_batch([Arm(long, handle=1, absolute=absolute,
                                                   interval=long, slack=long)])
                    self.assertEqual(result.error, 0)
                    info = ctx.get(1)
                    self.assertEqual((info.deadline, info.interval), (latest, latest))
                    lease = ctx.lease(long, key=2, absolute=absolute)
                    self.assertGreaterEqual(lease.deadline, latest & -1024)
                lease = ctx.lease(100_000 * MSEC, key=3)
                self.assertTrue(lease.extend(long))
                self.assertGreaterEqual(lease.deadline, latest & -1024)
            self.assertEqual(ctx.info().pending, 3)
            for call in (lambda n: ctx.arm(n, handle=1), lambda n: ctx.lease(n, key=1),
                         lease.extend, lambda n: ctx.arm(1, handle=1, interval=n),
                         lambda n: ctx.arm(1, handle=1, slack=n)):
                with self.assertRaisesRegex(OverflowError, "^a time of -1 ns is negative"):
                    call(-1)
            with self.assertRaises(BlockingIOError):
                ctx.read()

    def test_set_now(self) -> None:
        hour = 3600 * 1000 * MSEC
        with Context(nonblock=True, embedded=True) as ctx:
            ctx.set_now(1000 * hour)
            ctx.arm(hour + 1, 8)
            ctx.arm(hour, 7)
            self.assertEqual(ctx.now(), 1000 * hour)
            with self.assertRaises(BlockingIOError):
                ctx.read()
            ctx.set_now(1002 * hour)
            self.assertEqual([e.user_data for e in ctx.read()], [7, 8])
            with self.refused(errno.EINVAL):
                ctx.set_now(0)
            with self.assertRaises(OverflowError):
                ctx.set_now(-1)

    def test_stats(self) -> None:
        hour = 3600 * 1000 * MSEC
        with Context(nonblock=True, embedded=True) as ctx:
            ctx.set_now(1000 * hour)
            handle = ctx.arm(hour, 7).handle
            ctx.arm(hour, 8)
            ctx.cancel(handle)
            ctx.set_now(1002 * hour)
            ctx.read()
            stats = ctx.stats()
            self.assertEqual((stats.armed, stats.cancelled, stats.expired, stats.read),
                             (2, 1, 1, 1))
            self.assertEqual(stats.lateness[hour.bit_length()], 1)
            self.assertEqual(sum(stats.lateness), 1)
        if not self.ctx.embedded:
            with self.refused(errno.EOPNOTSUPP):
                self.ctx.stats()

    def test_rearm_and_cancel(self) -> None:
        handle = self.ctx.arm(10_000 * MSEC, 1).handle
        old = self.ctx.arm(20 * MSEC, 2, handle=handle)
        self.assertEqual((old.handle, old.old_state), (handle, twheel.STATE_PENDING))
        self.assertLessEqual(old.old_remaining, 10_000 * MSEC)
        other = self.ctx.arm(1 * MSEC, 3).handle
        cancelled = self.ctx.cancel(other)
        self.assertIn(cancelled.old_state, (twheel.STATE_PENDING, twheel.STATE_READY))
        self.assertEqual([e.user_data for e in self.wait(2, 0.2)], [2])
        with self.refused(errno.ENOENT):
            self.ctx.cancel(handle)
        with self.refused(errno.ENOENT):
            self.ctx.arm(1, handle=handle)

    def test_push(self) -> None:
        handle = self.ctx.arm(10_000 * MSEC, 7, interval=3 * MSEC, count=2).handle
        at = self.ctx.now() + 20 * MSEC
        self.ctx.push(handle, at)
        event = self.wait(1)[0]
        self.assertEqual((event.deadline, event.user_data), (at, 7))
        other = self.ctx.arm(10_000 * MSEC).handle
        pushes = [(other, at + 20_000 * MSEC), (other + 1, at), (other, 2**64)]
        self.assertEqual(self.ctx.push_batch(pushes), 1)
        self.assertEqual(self.ctx.get(other).deadline, at + 20_000 * MSEC)
        with self.refused(errno.ENOENT):
            self.ctx.push_batch(pushes[1:])
        with self.refused(errno.ENOENT):
            self.ctx.push(other + 1, at)
        with self.assertRaises(OverflowError):
            self.ctx.push(other, -1)

    def test_conditions(self) -> None:
        handle = self.ctx.arm(10_000 * MSEC).handle
        with self.refused(errno.EEXIST):
            self.ctx.arm(1, handle=handle, if_none=True)
        self.ctx.arm(1 * MSEC, handle=handle, if_pending=True)
        select.select([self.ctx], [], [], 20)
        with self.refused(errno.ENOENT):
            self.ctx.arm(1, handle=handle, if_pending=True)
        self.assertEqual(len(self.wait(1)), 1)

    def test_periodic(self) -> None:
        start = self.ctx.now()
        handle = self.ctx.arm(5 * MSEC, interval=5 * MSEC, count=6, user_data=9).handle
        time.sleep(0.022)
        events = self.wait(1)
        while not events[-1].last:
            events += self.wait(1)
        self.assertGreaterEqual(events[0].expirations, 4)
        self.assertEqual(sum(e.expirations for e in events), 6)
        self.assertGreaterEqual(self.ctx.now(), start + 30 * MSEC)
        self.assertGreaterEqual(events[-1].expired, events[-1].deadline)
        self.assertEqual({(e.handle, e.user_data) for e in events}, {(handle, 9)})

    def test_batches(self) -> None:
        results = self.ctx.arm_batch(
            [Arm(10_000 * MSEC, n) for n in range(300)] + [Arm(1, count=2), Arm(1 * MSEC, 7)])
        self.assertEqual([r.error for r in results], 300 * [0] + [errno.EINVAL, 0])
        self.assertEqual(len({r.handle for r in results}), 302)
        cancelled = self.ctx.cancel_batch([r.handle for r in results[:300]] + [12345])
        self.assertEqual([r.error for r in cancelled], 300 * [0] + [errno.ENOENT])
        self.assertEqual({r.old_state for r in cancelled[:300]}, {twheel.STATE_PENDING})
        self.assertEqual([e.user_data for e in self.wait(1)], [7])
        self.assertEqual(self.ctx.arm_batch([]), [])
        self.assertEqual(self.ctx.cancel_batch([]), [])

    def test_cancel_all(self) -> None:
        handle = self.ctx.arm(10_000 * MSEC).handle
        self.ctx.arm_batch([Arm(n, interval=1000) for n in range(10)])
        select.select([self.ctx], [], [], 20)
        self.ctx.cancel_all()
        info = self.ctx.info()
        self.assertEqual((info.pending, info.ready), (0, 0))
        with self.refused(errno.ENOENT):
            self.ctx.cancel(handle)
        with self.assertRaises(BlockingIOError):
            self.ctx.read()

    def test_walk_and_drain(self) -> None:
        handles = {self.ctx.arm(10_000 * MSEC + n, n, slack=0).handle for n in range(600)}
        self.assertEqual({t.handle for t in self.ctx.timers()}, handles)
        info = self.ctx.info(find_next=True)
        self.assertEqual((info.pending, info.ready), (600, 0))
        first = min(self.ctx.timers(), key=lambda t: t.deadline)
        self.assertEqual(info.next_expiry, first.deadline)
        self.assertEqual(self.ctx.get(first.handle).user_data, first.user_data)
        self.assertEqual(sorted(t.user_data for t in self.ctx.drain()), list(range(600)))
        info = self.ctx.info(find_next=True)
        self.assertEqual((info.pending, info.next_expiry), (0, None))

    def test_read_timeout(self) -> None:
        """It is never early, nor longer for a signal, and the same for both kinds of contexts."""
        old = signal.signal(signal.SIGALRM, lambda *_: None)
        self.addCleanup(signal.signal, signal.SIGALRM, old)
        for nonblock in (False, True):
            with Context(nonblock=nonblock) as ctx:
                start = ctx.now()
                signal.setitimer(signal.ITIMER_REAL, 0.005, 0.005)
                self.assertEqual(ctx.read(timeout=50 * MSEC), [])
                signal.setitimer(signal.ITIMER_REAL, 0)
                self.assertGreaterEqual(ctx.now(), start + 50 * MSEC)
                self.assertEqual(ctx.read(timeout=0), [])
                ctx.arm(1 * MSEC, 7)
                (event,) = ctx.read(timeout=1 << 80)
                self.assertEqual(event.user_data, 7)
                with self.assertRaises(OverflowError):
                    ctx.read(timeout=-1)

    def test_blocking_read(self) -> None:
        """It waits, lets other threads run, and a signal's handler too."""
        with Context() as ctx:
            handled = threading.Event()

            def arm() -> None:
                # Without this there is nothing to read.
                ctx.arm(1 * MSEC, int(handled.wait(20)))

            thread = threading.Thread(target=arm)
            old = signal.signal(signal.SIGALRM, lambda *_: handled.set())
            self.addCleanup(signal.signal, signal.SIGALRM, old)
            self.addCleanup(signal.setitimer, signal.ITIMER_REAL, 0)
            thread.start()
            # One may come before the read.
            signal.setitimer(signal.ITIMER_REAL, 0.03, 0.03)
            (event,) = ctx.read()
            self.assertEqual(event.user_data, True)
            thread.join()

    def test_signal_that_raises(self) -> None:
        def stop(*_) -> None:
            signal.setitimer(signal.ITIMER_REAL, 0)
            raise KeyboardInterrupt

        with Context() as ctx:
            ctx.arm(10_000 * MSEC)
            old = signal.signal(signal.SIGALRM, stop)
            self.addCleanup(signal.signal, signal.SIGALRM, old)
            start = time.monotonic()
            with self.assertRaises(KeyboardInterrupt):
                # One may come before the read.
                signal.setitimer(signal.ITIMER_REAL, 0.03, 0.03)
                ctx.read()
            self.assertLess(time.monotonic() - start, 10)


class Keys(ContextTest):
    options = {"keyed": True}

    def test_upsert(self) -> None:
        for key in (0, 1, (1 << 64) - 1):
            self.assertEqual(self.ctx.arm(10_000 * MSEC, 1, handle=key).old_state,
                             twheel.STATE_NONE)
            self.assertEqual(self.ctx.arm(5 * MSEC, 2, handle=key).old_state,
                             twheel.STATE_PENDING)
        self.assertEqual({(e.handle, e.user_data) for e in self.wait(3)},
                         {(0, 2), (1, 2), ((1 << 64) - 1, 2)})
        with self.refused(errno.ENOENT):
            self.ctx.cancel(1)


    def test_forgotten(self) -> None:
        """One without a key is not that with key 0."""
        with Context(keyed=True, lease=True, nonblock=True) as ctx:
            ctx.arm(10_000 * MSEC, 7, handle=0)
            for call in (lambda: ctx.arm(1), lambda: ctx.arm_batch([Arm(1, handle=1), Arm(1)]),
                         lambda: ctx.lease(1)):
                with self.refused(errno.EINVAL):
                    call()
            (info,) = ctx.timers()
            self.assertEqual((info.handle, info.user_data), (0, 7))
            ctx.lease(10_000 * MSEC, 8, key=0)
            self.assertEqual(ctx.get(0).user_data, 8)


class Leases(ContextTest):
    options = {"lease": True}

    def test_key_without_keys(self) -> None:
        with self.refused(errno.EINVAL):
            self.ctx.lease(10_000 * MSEC, key=7)
        self.assertEqual(self.ctx.info().pending, 0)

    def test_push(self) -> None:
        lease = self.ctx.lease(100_000 * MSEC, 7)
        first = lease.deadline
        assert first
        self.assertIsInstance(lease.word, memoryview)
        self.assertEqual((lease.word.nbytes, lease.word[0]), (8, lease.tag << 53 | first >> 10))
        time.sleep(0.01)
        later = (self.ctx.now() + 200_000 * MSEC) & -1024
        self.assertTrue(lease.extend(later - 5))
        self.assertEqual((lease.word[0], lease.deadline, lease.expired),
                         (lease.tag << 53 | later >> 10, later, False))
        self.assertEqual(self.ctx.get(lease.handle).deadline, later)
        # An earlier deadline is nothing to store.
        self.assertTrue(lease.extend(first))
        self.assertEqual(lease.deadline, later)

    def test_end(self) -> None:
        lease = self.ctx.lease(50 * MSEC, 7)
        end = lease.deadline
        assert end
        # If that is not too late
        if lease.extend(end + 50 * MSEC):
            end = (end + 50 * MSEC + 1023) & -1024
        (event,) = self.wait(1)
        self.assertEqual((event.user_data, event.deadline), (7, end))
        self.assertGreaterEqual(event.expired, end)
        self.assertEqual((lease.expired, lease.deadline), (True, end))
        self.assertFalse(lease.extend(self.ctx.now() + 1000 * MSEC))

    def test_cancel(self) -> None:
        lease = self.ctx.lease(10_000 * MSEC)
        self.assertEqual(lease.cancel().old_state, twheel.STATE_PENDING)
        self.assertTrue(lease.expired)
        self.assertFalse(lease.extend(self.ctx.now() + 1000 * MSEC))

    def test_repr(self) -> None:
        with Context(lease=True) as ctx:
            lease = ctx.lease(10_000 * MSEC)
            end = f"handle={lease.handle}>"
            self.assertEqual(repr(ctx), f"<Context open fd={ctx.fileno()}>")
            self.assertEqual(repr(lease), f"<Lease deadline={lease.deadline} {end}")
            lease.cancel()
            self.assertEqual(repr(lease), f"<Lease expired {end}")
        self.assertEqual((repr(ctx), repr(lease)), ("<Context closed>", f"<Lease closed {end}"))

    def test_word_of_another_lease(self) -> None:
        lease = self.ctx.lease(10_000 * MSEC)
        lease.cancel()
        other = self.ctx.lease(10_000 * MSEC)
        self.assertNotEqual(lease.tag, other.tag)
        self.assertFalse(lease.extend(self.ctx.now() + 20_000 * MSEC))
        self.assertEqual((lease.expired, lease.deadline), (True, None))
        self.assertFalse(other.expired)

    def test_found_by_its_handle(self) -> None:
        lease = self.ctx.lease(10_000 * MSEC)
        info = self.ctx.get(lease.handle)
        again = self.ctx.lease_at(info)
        self.assertEqual((again.handle, again.tag), (lease.handle, lease.tag))
        self.assertTrue(again.extend(info.deadline + 1024))
        self.assertEqual(lease.deadline, info.deadline + 1024)
        plain = self.ctx.get(self.ctx.arm(1000 * MSEC).handle)
        self.assertEqual((plain.word, plain.tag), (0, 0))
        with self.refused(errno.EINVAL):
            self.ctx.lease_at(plain)

    def test_views_after_close(self) -> None:
        lease, other = self.ctx.lease(10_000 * MSEC), self.ctx.lease(10_000 * MSEC)
        view = other.word[:]
        for close in (self.ctx.close, self.ctx.detach):
            if close == self.ctx.detach and self.ctx.embedded:
                continue
            with self.assertRaises(BufferError):
                close()
            # It has changed nothing.
            self.assertFalse(self.ctx.closed)
            self.assertGreater(view[0], 0)
            for each in (lease, other):
                deadline = (each.deadline or 0) + 1024
                self.assertEqual((each.extend(deadline), each.deadline, each.expired),
                                 (True, deadline, False))
                self.assertEqual(each.word[0], each.tag << 53 | deadline >> 10)
        view.release()
        word = lease.word
        self.ctx.close()
        with self.assertRaises(ValueError):
            print(word[0])
        for call in (lambda: lease.extend(1), lambda: lease.deadline, lambda: lease.expired,
                     lambda: lease.word, lease.cancel):
            with self.refused(errno.EBADF):
                call()

    def test_a_view_keeps_the_context(self) -> None:
        word = Context(lease=True).lease(10_000 * MSEC).word
        self.assertEqual(word[0] >> 53, 1)

    def test_a_lease_keeps_the_context(self) -> None:
        lease = Context(lease=True).lease(10_000 * MSEC)
        self.assertTrue(lease.extend((lease.deadline or 0) + 1))

    def test_no_words(self) -> None:
        with Context() as ctx, self.refused(errno.EINVAL):
            ctx.lease(1)


class Errors(ContextTest):
    def test_errno(self) -> None:
        with self.refused(errno.EAGAIN):
            self.ctx.read()
        with self.assertRaises(FileNotFoundError):
            self.ctx.cancel(12345)
        with self.assertRaises(FileNotFoundError) as caught:
            Context("/dev/no-such-wheel")
        self.assertEqual(caught.exception.filename, "/dev/no-such-wheel")
        with self.refused(errno.ENOTTY):
            Context("/dev/null")
        with self.refused(errno.EBADF):
            Context.adopt(-1)
        with self.assertRaisesRegex(OSError, rf"Errno {errno.EINVAL}\].*'the options"):
            Context(clock=99)
        for path in ("/dev/null\0/dev/twheel", b"/dev/null\0"):
            with self.assertRaisesRegex(ValueError, "zero byte"):
                Context(path)
        with mock.patch.dict(os.environ, TWHEEL_BACKEND="embeded"):
            with self.assertRaisesRegex(OSError, r"TWHEEL_BACKEND \(auto, device, embedded\)"):
                Context()

    def test_limit(self) -> None:
        with Context(limit=2) as ctx:
            self.assertEqual(ctx.info().limit, 2)
            ctx.arm(10_000 * MSEC)
            ctx.arm(10_000 * MSEC)
            with self.refused(errno.ENOSPC):
                ctx.arm(10_000 * MSEC)

    def test_numbers_that_do_not_fit(self) -> None:
        for number in (-1, -(1 << 64), 1 << 64):
            for call in (self.ctx.cancel, self.ctx.get, lambda n: self.ctx.arm(1, handle=n),
                         lambda n: self.ctx.arm(1, n), lambda n: self.ctx.cancel_batch([n]),
                         lambda n: self.ctx.lease(1, key=n), self.ctx.read):
                with self.assertRaises(OverflowError):
                    call(number)
        with self.assertRaises(OverflowError):
            self.ctx.arm(1, interval=1, count=1 << 32)
        for number in (0.0, 0.5, math.inf, math.nan, "", "1"):
            for call in (self.ctx.arm, self.ctx.cancel, lambda n: self.ctx.arm(1, handle=n),
                         lambda n: self.ctx.lease(1, key=n), lambda n: self.ctx.arm(1, slack=n)):
                with self.assertRaises(TypeError):
                    call(number)
        self.assertEqual(self.ctx.info().pending, 0)

    def test_closed(self) -> None:
        walk = self.ctx.timers()
        self.ctx.arm(10_000 * MSEC)
        self.ctx.arm(10_000 * MSEC)
        next(walk)
        self.ctx.close()
        self.ctx.close()
        self.assertTrue(self.ctx.closed)
        for call in (self.ctx.read, self.ctx.now, self.ctx.fileno, self.ctx.info,
                     lambda: self.ctx.arm(1), lambda: next(walk)):
            with self.refused(errno.EBADF):
                call()

    def test_used_when_collected(self) -> None:
        """The context is finalized first, with all that refers to it."""
        class Last:
            def __init__(self, ctx: Context) -> None:
                self.ctx, ctx.last = ctx, self

            def __del__(self) -> None:
                try:
                    self.ctx.info()
                except OSError as error:
                    errors.append(error.errno)

        errors: list = []
        Last(Context())
        gc.collect()
        self.assertEqual(errors, [errno.EBADF])

    def test_closed_in_a_call(self) -> None:
        """By a finalizer, or another thread: the library closes it when the call has ended."""
        def close(*arguments: object) -> int:
            ctx.close()
            # This is still open.
            os.fstat(fd)
            return -errno.EAGAIN

        for name, call in (("twheel_read", lambda: ctx.read()),
                           ("twheel_push", lambda: ctx.push(1, 1)),
                           ("twheel_walk_next", lambda: list(ctx.timers())),
                           ("twheel_lease_extend", lambda: lease.extend(1))):
            with Context(lease=True) as ctx:
                fd, lease = ctx.fileno(), ctx.lease(10_000 * MSEC)
                with mock.patch.object(_lib, name, close), self.refused(errno.EAGAIN):
                    call()
            with self.refused(errno.EBADF):
                os.fstat(fd)

    def test_view_that_is_looked_at_last(self) -> None:
        """That is, by a finalizer that runs after the one of the context."""
        class Last:
            def __init__(self, ctx: Context) -> None:
                self.fd, self.view, ctx.last = ctx.fileno(), ctx.lease(10_000 * MSEC).word, self

            def __del__(self) -> None:
                os.fstat(self.fd)
                words.append(self.view[0])

        words: list = []
        fd = Last(Context(lease=True)).fd
        gc.collect()
        self.assertEqual(len(words), 1)
        with self.refused(errno.EBADF):
            os.fstat(fd)

    def test_not_copied(self) -> None:
        with Context(lease=True) as ctx:
            for one in (ctx, ctx.lease(10_000 * MSEC)):
                for copied in (copy.copy, copy.deepcopy, pickle.dumps):
                    with self.assertRaisesRegex(TypeError, "cannot be copied"):
                        copied(one)

    def test_clocks(self) -> None:
        for clock in (time.CLOCK_MONOTONIC, time.CLOCK_BOOTTIME, time.CLOCK_REALTIME):
            with Context(clock=clock) as ctx:
                self.assertEqual(ctx.clock, clock)
                self.assertLess(abs(ctx.now() - time.clock_gettime_ns(clock)), 10_000 * MSEC)
                ctx.arm(ctx.now() + 3 * MSEC, absolute=True)
                self.assertEqual(len(ctx.read()), 1)
        with Context(clock=time.CLOCK_REALTIME) as ctx, self.refused(errno.EINVAL):
            ctx.arm(1)


class Processes(ContextTest):
    options = {"lease": True}

    def child(self, function) -> None:
        """Run the function in a child, which has to return True."""
        pid = os.fork()
        if not pid:
            try:
                os._exit(0 if function() else 1)
            finally:
                os._exit(2)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)

    def test_fork(self) -> None:
        embedded = self.ctx.embedded
        handle = self.ctx.arm(100 * MSEC, 5).handle

        def child() -> bool:
            if embedded:
                try:
                    self.ctx.cancel(handle)
                except ChildProcessError as error:
                    self.ctx.close()
                    return error.errno == errno.ECHILD
                return False
            self.ctx.arm(1 * MSEC, 6)
            self.ctx.close()
            return True

        self.child(child)
        events = self.wait(1 if embedded else 2)
        self.assertEqual(sorted(e.user_data for e in events), [5] if embedded else [5, 6])

    def test_take_over(self) -> None:
        self.ctx.arm(30 * MSEC, 5)

        def child() -> bool:
            self.ctx.take_over()
            return [e.user_data for e in self.wait(1)] == [5]

        self.child(child)

    def test_detach(self) -> None:
        handle = self.ctx.arm(10_000 * MSEC, 5).handle
        if self.ctx.embedded:
            with self.refused(errno.EOPNOTSUPP):
                self.ctx.detach()
            self.ctx.cancel(handle)
            return
        with Context.adopt(self.ctx.detach()) as again:
            self.assertTrue(self.ctx.closed)
            self.assertEqual(again.get(handle).user_data, 5)


if __name__ == "__main__":
    unittest.main()
