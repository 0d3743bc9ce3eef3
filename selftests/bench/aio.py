#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""aio: what timers of twheel.aio and asyncio's own cost, side by side.

usage: aio.py [PENDING [ROUNDS [OF-A-TURN]]]

Prints for each operation the CPU time of asyncio's, that of the wheel's, both in ns, and the second
divided by the first: medians of rounds that take turns. So many operations, 10 if not told
otherwise, are in one turn of the event loop, whose cost is in the figures: so is what the wheel
does in later turns. No timer expires.
"""

import asyncio
import statistics
import sys
import time
from collections.abc import Callable

from twheel.aio import Wheel

numbers = [int(arg) for arg in sys.argv[1:]]
pending, rounds, of_a_turn = numbers + [1000, 25, 10][len(numbers):]
figures: dict[tuple[str, str], list[float]] = {}


async def timed(what: str, whose: str, operation: Callable[[int], None]) -> None:
    begun = time.process_time_ns()
    for first in range(0, pending, of_a_turn):
        for n in range(first, min(first + of_a_turn, pending)):
            operation(n)
        await asyncio.sleep(0)
    figures.setdefault((what, whose), []).append((time.process_time_ns() - begun) / pending)


async def measure(whose: str, wheel: Wheel) -> None:
    loop = asyncio.get_running_loop()
    call_later = loop.call_later if whose == "asyncio" else wheel.call_later
    timers: list = [None] * pending

    def arm(n: int) -> None:
        timers[n] = call_later(1000 + n, print)

    def push(n: int) -> None:
        timers[n].push(2000 + n)

    def push_by_two(n: int) -> None:
        timers[n].cancel()
        timers[n] = call_later(2000 + n, print)

    await timed("call_later", whose, arm)
    for _ in range(3):
        await timed("push back", whose, push_by_two if whose == "asyncio" else push)
    await timed("cancel", whose, lambda n: timers[n].cancel())
    await timed("call_later and cancel", whose, lambda n: call_later(10, print).cancel())

    timeout = asyncio.timeout if whose == "asyncio" else wheel.timeout
    begun = time.process_time_ns()
    for _ in range(1000):
        async with timeout(10):
            pass
    figures.setdefault(("timeout", whose), []).append((time.process_time_ns() - begun) / 1000)


async def main() -> None:
    async with Wheel() as wheel:
        for n in range(rounds):
            for whose in ("asyncio", "wheel") if n % 2 else ("wheel", "asyncio"):
                await measure(whose, wheel)
    for what, whose in figures:
        if whose == "asyncio":
            theirs, ours = (statistics.median(figures[what, who]) for who in ("asyncio", "wheel"))
            print(f"{what}\t{theirs:.0f}\t{ours:.0f}\t{ours / theirs:.2f}")


asyncio.run(main())
