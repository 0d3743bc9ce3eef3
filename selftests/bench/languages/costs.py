#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""costs: what timers of twheel.aio and asyncio's own cost, side by side.

usage: costs.py ROUNDS PENDING... [--of-a-turn N]

Prints, tab-separated, the operation, how many are pending, and for each of the two the median of
rounds that take turns: ns of CPU time an operation. N operations, 10 if not told otherwise, are in
one turn of the event loop, whose cost is in the figures: so is what the wheel does in later turns.
No timer expires.
"""

import argparse
import asyncio
import statistics
import time
from collections.abc import Callable

from twheel.aio import Wheel

parser = argparse.ArgumentParser()
parser.add_argument("rounds", type=int)
parser.add_argument("pending", type=int, nargs="+")
parser.add_argument("--of-a-turn", type=int, default=10)
options = parser.parse_args()

WHOSE = ("asyncio", "twheel")
figures: dict[tuple[str, int, str], list[float]] = {}


def note(what: str, pending: int, whose: str, begun: int, times: int) -> None:
    took = (time.process_time_ns() - begun) / times
    figures.setdefault((what, pending, whose), []).append(took)


async def timed(what: str, pending: int, whose: str, operation: Callable[[int], None]) -> None:
    begun = time.process_time_ns()
    for first in range(0, pending, options.of_a_turn):
        for n in range(first, min(first + options.of_a_turn, pending)):
            operation(n)
        await asyncio.sleep(0)
    note(what, pending, whose, begun, pending)


async def measure(pending: int, whose: str, wheel: Wheel) -> None:
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

    await timed("arm", pending, whose, arm)
    for _ in range(3):
        await timed("push back", pending, whose, push_by_two if whose == "asyncio" else push)
    await timed("cancel", pending, whose, lambda n: timers[n].cancel())
    await timed("arm and cancel at once", pending, whose,
                lambda n: call_later(10, print).cancel())

    timeout = asyncio.timeout if whose == "asyncio" else wheel.timeout
    begun = time.process_time_ns()
    for _ in range(1000):
        async with timeout(10):
            pass
    note("async with timeout()", pending, whose, begun, 1000)


async def main() -> None:
    async with Wheel() as wheel:
        for pending in options.pending:
            for n in range(options.rounds):
                for whose in WHOSE if n % 2 else reversed(WHOSE):
                    await measure(pending, whose, wheel)
    print("#", "pending", *WHOSE, sep="\t")
    for what, pending in dict.fromkeys(key[:2] for key in figures):
        medians = (statistics.median(figures[what, pending, whose]) for whose in WHOSE)
        print(what, pending, *(f"{median:.0f}" for median in medians), sep="\t")


asyncio.run(main())
