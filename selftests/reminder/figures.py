#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""How late are reminders, and what does the database see of them? For Documentation/durable.md.

usage: figures.py [--count N] [--rate N] [--seconds N] [SQLite|PostgreSQL]

Prints a row of a table for each way: on one node and on three, with a wheel, and by polling alone:
that is the same program with a horizon of nothing, so that it claims each second what is due by
then. In the last one a node is killed half way, and claims end 5 s after reminders are due, not 30 s.
The table holds all reminders, of which those that
are due within the time are measured, the first second left out: nodes are still starting then.
"""

import argparse
import os
import re
import shutil
import tempfile
import time

from world import Node, Postgres, Receiver, Sqlite, await_true, reminder

SEC = 10**9
WHEEL = ("--horizon", "20s", "--most", "400000")
POLLING = ("--horizon", "1ns", "--most", "400000")
QUICK = (*WHEEL, "--lease", "5s")
WAYS = (("wheel", 1, WHEEL, False), ("polling", 1, POLLING, False), ("wheel", 3, WHEEL, False),
        ("polling", 3, POLLING, False), ("wheel, one of three killed", 3, QUICK, True))


def percentile(times, share):
    """In milliseconds."""
    return times[min(len(times) - 1, int(len(times) * share))] / 1e6


def measure(base, folder, way, arguments):
    """Print one row."""
    name, count, options, kill = way
    base.sql("DELETE FROM reminders" if isinstance(base, Sqlite) else "TRUNCATE reminders")
    # Filling takes time, and claims are made before.
    lead = 20 + arguments.count // 25000
    first = time.time_ns() + lead * SEC
    base.fill(arguments.count, first, SEC // arguments.rate)
    receiver = Receiver(folder)
    if time.time_ns() > first - 10 * SEC:
        print("# filling took too long")
    nodes = [Node(base, "--address", receiver.address, *options) for _ in range(count)]
    killed = None
    if kill:
        time.sleep(max(0, (first - time.time_ns()) / SEC + arguments.seconds / 2))
        killed = nodes.pop()
        killed.kill()
    time.sleep(max(0, (first - time.time_ns()) / SEC + arguments.seconds))
    # What nodes give while one after another is stopped does not count.
    with receiver.lock:
        end = time.time_ns()
        late = sorted(times[0] - receiver.due[number] for number, times in receiver.came.items()
                      if first + SEC <= receiver.due[number] < end - 7 * SEC)
        repeats = sum(len(times) - 1 for times in receiver.came.values())
        after = sum(times[0] - receiver.due[number] > SEC
                    for number, times in receiver.came.items())
    text = [node.stop()[1] for node in nodes]
    statements = sum(int(number) for line in text
                     for number in re.findall(r"statements (\d+)", line))
    due = (end - 7 * SEC - first - SEC) * arguments.rate // SEC
    row = [base.name, name, count, f"{due:,}", f"{len(late) / max(1, due) * 100:.1f} %",
           f"{percentile(late, .5):.1f}", f"{percentile(late, .99):.1f}", f"{late[-1] / 1e6:.0f}",
           repeats, f"{statements * SEC / (end - first):.0f}"]
    print("|", " | ".join(map(str, row)), "|", flush=True)
    if killed:
        print(f"# {after} came more than a second late", flush=True)


def main():
    """All rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000000)
    parser.add_argument("--rate", type=int, default=10000)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("database", nargs="*", default=["SQLite", "PostgreSQL"])
    arguments = parser.parse_args()
    print("| database | way | nodes | due | given | p50 ms | p99 ms | max ms | repeats | "
          "statements/s |\n|---|---|---|---|---|---|---|---|---|---|")
    for kind in (Sqlite, Postgres):
        if kind.name not in arguments.database:
            continue
        folder = tempfile.mkdtemp(prefix="figures.")
        os.chmod(folder, 0o755)
        base = kind(folder)
        try:
            reminder(base.where, "list")
            for way in WAYS:
                measure(base, folder, way, arguments)
        finally:
            base.close()
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
