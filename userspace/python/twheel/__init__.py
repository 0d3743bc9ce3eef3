# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Timers of /dev/twheel; where there is no such device, of a timer wheel in the process.

`Context` has the calls of libtwheel, with times in nanoseconds. `twheel.aio` has timers for
asyncio, with times in seconds.

The library is the one in the package, if that was made with it; otherwise libtwheel.so, where the
loader finds it. TWHEEL_LIBRARY in the environment names another file.
"""

from ._abi import (TWHEEL_STATE_NONE as STATE_NONE, TWHEEL_STATE_PENDING as STATE_PENDING,
                   TWHEEL_STATE_READY as STATE_READY, VERSION as __version__)
from ._context import Arm, Context, Counters, Event, Info, Lease, Result, TimerInfo

__all__ = [
    "Arm", "Context", "Counters", "Event", "Info", "Lease", "Result", "STATE_NONE", "STATE_PENDING",
    "STATE_READY", "TimerInfo", "__version__",
]
