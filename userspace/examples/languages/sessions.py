# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""sessions: time sessions out by their own numbers, in Python with asyncio."""

import asyncio

from twheel.aio import Wheel


async def main() -> None:
    done = asyncio.Event()
    left = {1, 2}

    def expire(session: int) -> None:
        print(f"session {session} has timed out")
        left.discard(session)
        if not left:
            done.set()

    async with Wheel() as wheel:
        wheel.put(1, 1, expire, 1)
        wheel.put(2, 2, expire, 2)
        wheel.put(3, 3, expire, 3)

        await wheel.sleep(0.05)
        # A sign of life; and a log-out.
        wheel.put(2, 2, expire, 2)
        wheel.cancel(3)
        await done.wait()


asyncio.run(main())
