# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""lease: push a deadline back without a system call, and learn whether it was in time."""

from twheel import Context

SECOND = 1_000_000_000

with Context(lease=True) as wheel:
    lease = wheel.lease(SECOND // 5, user_data=7)

    extended = 0
    while extended < 1000 and lease.extend(wheel.now() + SECOND // 5):
        extended += 1
    print(f"extended {extended} times")

    # It is not extended any more, so this waits.
    (event,) = wheel.read(1)
    by = "by" if event.deadline == lease.deadline else "not by"
    print(f"lease {event.user_data} is over, {by} its last deadline")
    if not lease.extend(wheel.now() + SECOND):
        print("too late to extend it")
