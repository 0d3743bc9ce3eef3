# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Put the library into the package, as twheel/libtwheel.so: pyproject.toml has all the rest.

It is made of twheel.c, which is beside this file or made by packaging/amalgamation.pl, by the
compiler that CC names, with CFLAGS. With TWHEEL_SYSTEM=1 in the environment it is left out, and the
package uses the one that is installed.
"""

import os
import shlex
import subprocess
import tempfile
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:
    from wheel.bdist_wheel import bdist_wheel

HERE = Path(__file__).resolve().parent
AMALGAMATION = HERE.parent.parent / "packaging/amalgamation.pl"
INSIDE = not os.environ.get("TWHEEL_SYSTEM")


def compile_library(file: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source = HERE / "twheel.c"
        if not source.exists():
            subprocess.run([AMALGAMATION, folder], check=True)
            source = Path(folder) / "twheel.c"
        words = [*shlex.split(os.environ.get("CC", "cc")),
                 *shlex.split(os.environ.get("CFLAGS", "-O2 -g")),
                 *shlex.split(os.environ.get("LDFLAGS", ""))]
        subprocess.run([*words, "-fPIC", "-shared", "-pthread", "-fno-strict-aliasing",
                        "-fvisibility=hidden", "-Wl,-Bsymbolic-functions", "-o", file, source],
                       check=True)


class Build(build_py):
    def run(self) -> None:
        super().run()
        if INSIDE and not self.editable_mode:
            compile_library(Path(self.build_lib) / "twheel/libtwheel.so")


class Machine(Distribution):
    def has_ext_modules(self) -> bool:
        return INSIDE


class Wheel(bdist_wheel):
    def get_tag(self) -> tuple[str, str, str]:
        """For any Python on machines of this kind."""
        return ("py3", "none", super().get_tag()[2])


setup(cmdclass={"build_py": Build, "bdist_wheel": Wheel}, distclass=Machine)
