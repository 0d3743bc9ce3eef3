#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""Write what Python and Rust need of the headers: constants, layouts, prototypes.

usage: generate.py [--check]

Reads uapi/linux/twheel.h and userspace/include/twheel.h. The names are found in their text.
What they stand for is what the C compiler says: numbers, and the offset and size of each field.
With --check nothing is written; the exit status is 1 if a file is not what it should be.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
import tempfile
from pathlib import Path

USER = Path(__file__).resolve().parent.parent
TOP = USER.parent
HEADERS = [TOP / "uapi/linux/twheel.h", USER / "include/twheel.h"]
PYTHON = USER / "python/twheel/_abi.py"
RUST = USER / "rust/twheel-sys/src/lib.rs"

# By the name in C: Python's, Rust's
SCALARS = {
    "__u64": ("c_uint64", "u64"),
    "__u32": ("c_uint32", "u32"),
    "__u16": ("c_uint16", "u16"),
    "__s32": ("c_int32", "i32"),
    "__s16": ("c_int16", "i16"),
    "uint64_t": ("c_uint64", "u64"),
    "uint32_t": ("c_uint32", "u32"),
    "uint16_t": ("c_uint16", "u16"),
    "int": ("c_int", "c_int"),
    "unsigned int": ("c_uint", "c_uint"),
    "size_t": ("c_size_t", "usize"),
    "ssize_t": ("c_ssize_t", "isize"),
}


class Field:
    """A field of a structure."""

    def __init__(self, declaration: str) -> None:
        match = re.fullmatch(r"(\w+)\s+(\*?)(\w+)(?:\[(\d+)\])?", declaration.strip())
        if not match:
            raise SystemExit(f"generate.py: not understood: {declaration}")
        self.type, self.pointer, self.name = match[1], bool(match[2]), match[3]
        self.length = int(match[4] or 0)

    def python(self) -> str:
        kind = SCALARS[self.type][0]
        if self.pointer:
            return f"POINTER({kind})"
        return f"{kind} * {self.length}" if self.length else kind

    def rust(self) -> str:
        kind = SCALARS[self.type][1]
        if self.pointer:
            return f"*mut {kind}"
        return f"[{kind}; {self.length}]" if self.length else kind


def fields_of(body: str) -> list[Field]:
    return [Field(part) for part in body.split(";") if part.strip()]


class Headers:
    """What the text of the headers declares, and the compiler's numbers."""

    def __init__(self) -> None:
        text = "\n".join(path.read_text() for path in HEADERS)
        text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
        # How long an array is may have a name.
        values = dict(re.findall(r"^#define\s+(TWHEEL_\w+)\s+(\d+)$", text, flags=re.M))
        text = re.sub(r"\[(TWHEEL_\w+)\]", lambda match: f"[{values[match[1]]}]", text)
        self.structs = {
            name: fields_of(body)
            for name, body in re.findall(
                r"struct (\w+)\s*\{([^{}]*)\}\s*;", text)
        }
        # What has a value that is not a text; the guard of a file has none.
        names = re.findall(r"^#define[ \t]+(TWHEEL_\w+)[ \t]+[^\s\"]", text, flags=re.M)
        for body in re.findall(r"enum \w+\s*\{([^}]*)\}", text):
            names += re.findall(r"\b(TWHEEL_\w+)\s*=", body)
        self.device = re.findall(r'#define\s+TWHEEL_DEVICE\s+("[^"]*")', text)[0]
        self.functions = [
            (name, " ".join(kind.split()), [" ".join(arg.split()) for arg in args.split(",")])
            for kind, name, args in re.findall(
                r"^((?:const )?(?:struct |unsigned )?\w+[\s*]+)(twheel_\w+)\(([^;{}]*)\);", text,
                flags=re.M)
            if "typedef" not in kind and not name.endswith("_fn")
        ]
        self.ask_compiler(names)

    def ask_compiler(self, names: list[str]) -> None:
        lines = [f'printf("{n} %llu\\n", (unsigned long long){n});' for n in names]
        for struct, fields in self.structs.items():
            lines.append(f'printf("{struct} %zu\\n", sizeof(struct {struct}));')
            for field in fields:
                at = f"struct {struct}, {field.name}"
                size = f"sizeof(((struct {struct} *)0)->{field.name})"
                lines.append(f'printf("{struct}.{field.name} %zu\\n", offsetof({at}));')
                lines.append(f'printf("{struct}.{field.name}:size %zu\\n", {size});')
        program = "#include <stdio.h>\n#include <twheel.h>\nint main(void)\n{\n" + \
            "\n".join(lines) + "\nreturn 0;\n}\n"
        with tempfile.TemporaryDirectory() as folder:
            source, binary = Path(folder, "numbers.c"), Path(folder, "numbers")
            source.write_text(program)
            subprocess.run(["cc", f"-I{TOP}/uapi", f"-I{USER}/include", "-o", binary, source],
                           check=True)
            said = subprocess.run([binary], check=True, capture_output=True, text=True).stdout
        self.numbers = {name: int(value) for name, value in map(str.split, said.splitlines())}
        self.constants = {name: self.numbers[name] for name in names}


def number(value: int) -> str:
    return str(value) if value < 10 else hex(value)


def split_type(declaration: str, named: bool) -> tuple[str, int]:
    """The type without const, struct and the parameter's name, and how many stars it has."""
    stars = declaration.count("*")
    words = declaration.replace("*", " ").split()
    if named:
        words.pop()
    return " ".join(w for w in words if w not in ("const", "struct")), stars


def python_type(headers: Headers, declaration: str, named: bool = True) -> str:
    name, stars = split_type(declaration, named)
    if name == "char":
        return "c_char_p"
    if name in SCALARS:
        kind = SCALARS[name][0]
    elif name in headers.structs:
        kind = name
    elif stars:
        # The library's own
        kind, stars = "c_void_p", stars - 1
    else:
        return "None"
    return "POINTER(" * stars + kind + ")" * stars


def rust_type(headers: Headers, declaration: str, named: bool = True) -> str:
    name, stars = split_type(declaration, named)
    if name == "char":
        kind = "c_char"
    elif name in SCALARS:
        kind = SCALARS[name][1]
    elif name in headers.structs:
        kind = name
    elif stars:
        kind = "c_void"
    else:
        return "()"
    pointer = "*const " if "const" in declaration else "*mut "
    return ("*mut " * (stars - 1) + pointer if stars else "") + kind


def parameters(args: list[str]) -> list[str]:
    return [] if args == ["void"] else args


def versions() -> tuple[str, str]:
    makefile = (USER / "Makefile").read_text()
    return ((TOP / "VERSION").read_text().strip(),
            re.findall(r"^SOVERSION := (\S+)", makefile, flags=re.M)[0])


def python(headers: Headers) -> str:
    version, soversion = versions()
    out = ["# SPDX-License-Identifier: GPL-2.0-only OR MIT",
           '"""The interface of libtwheel and of the device, as generate.py found it."""',
           "", "from ctypes import (POINTER, Structure, c_char_p, c_int, c_int16, c_int32, c_size_t,",
           "                    c_ssize_t, c_uint, c_uint16, c_uint32, c_uint64, c_void_p)",
           "from typing import Any", "",
           f'VERSION = "{version}"', f'LIBRARY = "libtwheel.so.{soversion}"',
           f"TWHEEL_DEVICE = {headers.device}"]
    out += [f"{name} = {number(value)}" for name, value in headers.constants.items()]
    for struct, fields in headers.structs.items():
        out += ["", "", f"class {struct}(Structure):"]
        out += [f"    {f.name}: {'Any' if f.length or f.pointer else 'int'}" for f in fields]
        out += ["    _fields_ = [", *(f'        ("{f.name}", {f.python()}),' for f in fields),
                "    ]"]
    out += ["", "", "# By name: the type of the result, those of the parameters",
            "FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {"]
    for name, kind, args in headers.functions:
        types = ", ".join(python_type(headers, arg) for arg in parameters(args))
        out.append(f'    "{name}": ({python_type(headers, kind, False)}, [{types}]),')
    return "\n".join([*out, "}", ""])


def rust(headers: Headers) -> str:
    out = ["// SPDX-License-Identifier: GPL-2.0-only OR MIT",
           "//! The interface of libtwheel, as userspace/python/generate.py found it in twheel.h, which",
           "//! says what each function does. The crate twheel is the safe one.",
           "#![allow(non_camel_case_types)]",
           "use std::os::raw::{c_char, c_int, c_uint, c_void};", ""]
    out += [f"pub const {name}: u{64 if value >> 32 else 32} = {number(value)};"
            for name, value in headers.constants.items()]
    for struct, fields in headers.structs.items():
        # A pointer has no default in Rust, nor has an array of more than 32 numbers.
        default = "" if any(f.pointer or f.length > 32 for f in fields) else ", Default"
        out += ["", "#[repr(C)]", f"#[derive(Clone, Copy, Debug{default})]", f"pub struct {struct} {{"]
        out += [f"    pub {f.name}: {f.rust()}," for f in fields]
        # As it was found here. Pointers, and what is between numbers, may be others elsewhere.
        whole = sum(headers.numbers[f"{struct}.{f.name}:size"] for f in fields)
        same = whole == headers.numbers[struct] and not any(f.pointer for f in fields)
        out += ["}", *([] if same else ['#[cfg(target_pointer_width = "64")]']),
                f"const _: () = assert!(std::mem::size_of::<{struct}>() == "
                f"{headers.numbers[struct]});"]
    out += ["", 'extern "C" {']
    for name, kind, args in headers.functions:
        types = ", ".join(f"{re.findall(r'[a-z_]+', arg)[-1]}: {rust_type(headers, arg)}"
                          for arg in parameters(args))
        # A keyword in Rust
        types = types.replace(" fn: ", " r#fn: ")
        result = rust_type(headers, kind, False)
        out.append(f"    pub fn {name}({types}){'' if result == '()' else ' -> ' + result};")
    return "\n".join([*out, "}", ""])


def compare_layout(headers: Headers, source: str) -> None:
    """Does ctypes put each field where the compiler puts it?"""
    module: dict[str, object] = {}
    exec(source, module)
    for struct, fields in headers.structs.items():
        kind = module[struct]
        places = {struct: ctypes.sizeof(kind)}  # type: ignore[arg-type]
        for field in fields:
            place = getattr(kind, field.name)
            places[f"{struct}.{field.name}"] = place.offset
            places[f"{struct}.{field.name}:size"] = place.size
        for name, value in places.items():
            if value != headers.numbers[name]:
                raise SystemExit(f"generate.py: {name}: {value}, in C {headers.numbers[name]}")


def main() -> int:
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    headers = Headers()
    files = {PYTHON: python(headers), RUST: rust(headers)}
    compare_layout(headers, files[PYTHON])
    status = 0
    for path, text in files.items():
        if sys.argv[1:] == []:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            print(f"{path} is not what the headers say: run userspace/python/generate.py")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
