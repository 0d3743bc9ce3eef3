# SPDX-License-Identifier: GPL-2.0-only
"""Run the tests of Python here, and print TAP.

usage: taprunner.py [--modules FILE | --uvloop]

With --modules the files of all modules that were used are written to FILE: what a guest needs. With
--uvloop the tests of asyncio run, and no others, in the loop of uvloop.
"""

from __future__ import annotations

import sys
import unittest
from pathlib import Path


class TapResult(unittest.TestResult):
    """Prints each test as it ends; what is wrong with it before that, as comments."""

    def __init__(self) -> None:
        super().__init__()
        self.number = 0
        self.bad = 0

    def _say(self, good: bool, test: unittest.TestCase, comment: str = "") -> None:
        self.number += 1
        self.bad += not good
        print("ok" if good else "not ok", self.number, test.id() + comment, flush=True)

    def _fail(self, test: unittest.TestCase, error: object) -> None:
        print(*("# " + line for line in self._exc_info_to_string(error, test).splitlines()),
              sep="\n")
        self._say(False, test)

    def addSuccess(self, test: unittest.TestCase) -> None:
        self._say(True, test)

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        self._say(True, test, " # SKIP " + reason)

    def addError(self, test: unittest.TestCase, err: object) -> None:
        self._fail(test, err)

    def addFailure(self, test: unittest.TestCase, err: object) -> None:
        self._fail(test, err)

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase,
                   err: object) -> None:
        if err is not None:
            self._fail(subtest, err)


def main() -> int:
    folder, pattern = Path(__file__).parent, "test_*.py"
    if sys.argv[1:] == ["--uvloop"]:
        import uvloop
        uvloop.install()
        pattern = "test_aio.py"
    suite = unittest.defaultTestLoader.discover(str(folder), pattern)
    print("TAP version 13")
    result = TapResult()
    suite.run(result)
    print(f"1..{result.number}")
    if sys.argv[1:2] == ["--modules"]:
        files = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
        Path(sys.argv[2]).write_text("".join(f"{file}\n" for file in sorted(filter(None, files))))
    return 1 if result.bad or not result.number else 0


if __name__ == "__main__":
    sys.exit(main())
