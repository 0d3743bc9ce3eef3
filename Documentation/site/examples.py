#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Make a page for each example and application, which may have several files, and one that lists
them below what the README of the examples says.

usage: examples.py USERSPACE FOLDER

The pages include the files from /userspace of the site. A file says in the comment at its head what
it is, and begins with "NAME: " if it is part of the program NAME. In the folder of event loops an
adapter and its server are on one page; in that of languages each file has its own.
"""

import pathlib
import re
import sys

LANGUAGES = {".c": "c", ".h": "c", ".cc": "cpp", ".hpp": "cpp", ".go": "go",
             ".java": "java",
             ".js": "javascript", ".py": "python", ".rs": "rust"}
GROUPS = {
    "": "Examples",
    "apps": "Applications",
    "loops": "In the loop of a library",
    "languages": "In other languages",
    "shared": "What the applications share",
}
COMMENT = re.compile(r'^(/\*|//!?|"""| \*(?!/))\s*(.*?)\s*(\*/|""")?$')


def head(text):
    """The first paragraph of the comment at the head of a file."""
    words = []
    for line in text.splitlines():
        match = COMMENT.match(line)
        if "SPDX" in line or not (match or words):
            continue
        if not match or words and not match[2]:
            break
        words += match[2].split()
        if words and match[3]:
            break
    return " ".join(words)


def place(file, folder, what):
    """Which group a file belongs to, and which page of it."""
    if folder == "languages":
        return folder, file.name
    if folder == "loops":
        return folder, file.stem.removeprefix("twheel-").removesuffix("-server")
    program = re.match(r"([a-z-]+): ", what)
    return (folder, program[1]) if program else ("shared", file.stem)


def main(userspace, out):
    """Gather the files of each page, and write all pages."""
    pages = {group: {} for group in GROUPS}
    for file in sorted((*userspace.glob("examples/**/*.*"), *userspace.glob("apps/**/*.*"))):
        if file.suffix in LANGUAGES:
            folder = file.parent.relative_to(userspace).parts
            folder = "apps" if folder[0] == "apps" else "/".join(folder[1:])
            text = file.read_text("utf-8")
            group, name = place(file, folder, head(text))
            pages[group].setdefault(name, []).append((file, text))
    readme = (userspace / "examples/README.md").read_text("utf-8")
    index = [re.sub(r"\]\((?=\w|\.\.)", "](../userspace/examples/", readme).rstrip()]
    names = []
    for group, title in GROUPS.items():
        index += ["", f"## {title}", "", "| example | what | lines |", "|---|---|---:|"]
        sizes = {name: sum(text.count("\n") for _, text in files)
                 for name, files in pages[group].items()}
        for name in sorted(sizes, key=sizes.get):
            files = sorted(pages[group][name], key=lambda entry: (
                entry[0].name != f"{name}.c", entry[0].suffix != ".h", entry[0].name))
            what = re.sub(r"^[\w-]+: (.)", lambda match: match[1].upper(), head(files[0][1]))
            path = f"{group}/{name}".lstrip("/")
            page = [f"# {path.removeprefix('shared/')}", "", what]
            for file, _ in files:
                page += ["", f"## {file.name}", "", "```{literalinclude} /userspace/"
                         f"{file.relative_to(userspace)}", f":language: {LANGUAGES[file.suffix]}",
                         "```"]
            names.append(path)
            target = out / f"{path}.md"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text("\n".join(page) + "\n", "utf-8")
            sentence = re.match(r".*?[.?](?= |$)", what)
            index.append(f"| [{name}]({path}.md) | {sentence[0] if sentence else what} | "
                         f"{sizes[name]} |")
    index += ["", "```{toctree}", ":hidden:", "", *names, "```"]
    (out / "index.md").write_text("\n".join(index) + "\n", "utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
