# SPDX-License-Identifier: GPL-2.0-only
"""How Sphinx makes the site of what html.sh has gathered in build/site."""

import os
import pathlib
import re
import shutil

import furo
from docutils import nodes
from sphinx import addnodes

project = "twheel"
author = "The twheel developers"
with open("VERSION", encoding="ascii") as file:
    release = file.read().strip()
extensions = ["myst_parser"]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
exclude_patterns = ["_build", "userspace"]
highlight_language = "none"
primary_domain = "c"
myst_heading_anchors = 4
html_theme = "furo"
html_title = f"twheel {release}"
# What is readable on their backgrounds, in comments too
pygments_style = "default"
pygments_dark_style = "github-dark"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_use_index = False
html_show_copyright = False

# Debian's furo is dark for those who ask for it by a click. Its colours, given here as our own, are
# also used where the browser asks.
CSS = pathlib.Path(furo.__file__).parent / "theme/furo/static/styles/furo.css"
DARK = re.search(r'body\[data-theme="?dark"?\]\s*\{(.*?)\}', CSS.read_text("utf-8"), re.S)[1]
html_theme_options = {"dark_css_variables": dict(re.findall(r"--([\w-]+):\s*([^;]+)", DARK))}

# What Markdown pages link to that is a page of another kind here.
OTHERS = {
    "uapi/linux/twheel.h": "api/uapi.rst",
    "userspace/include/twheel.h": "api/libtwheel.rst",
    "userspace/man": "man/index.md",
    "userspace/apps": "examples/index.md#applications",
    "userspace/apps/reminder": "examples/apps/reminder.md",
    "userspace/examples": "examples/index.md",
    "userspace/examples/languages": "examples/index.md#in-other-languages",
    "userspace/examples/loops": "examples/index.md#in-the-loop-of-a-library",
}
for page in pathlib.Path("examples").rglob("*.md"):
    for included in re.findall(r"^```\{literalinclude\} /(.*)$", page.read_text("utf-8"), re.M):
        OTHERS[included] = str(page)
LINK = re.compile(r"\[([^]]*)\]\(([^):#\s]+)(?=[)#])")
# Where the sources are; html.sh says so.
TOP = os.environ["TWHEEL_TOP"]


def retarget(app, docname, source):
    """Have the links of a Markdown page name what there is of it on the site.

    Other files of the sources come along, to be downloaded. Of a folder the name is left.
    """
    folder = os.path.dirname(docname)

    def replace(match):
        target = os.path.normpath(os.path.join(folder, match[2]))
        if target in OTHERS:
            return f"[{match[1]}]({os.path.relpath(OTHERS[target], folder or '.')}"
        here = os.path.join(app.srcdir, target)
        there = os.path.join(TOP, target)
        if not os.path.exists(here) and os.path.isfile(there):
            os.makedirs(os.path.dirname(here), exist_ok=True)
            shutil.copy(there, here)
        elif not os.path.exists(here) and os.path.isdir(there):
            return f"{match[1]} (`{target}`"
        return match[0]

    source[0] = LINK.sub(replace, source[0])


def describe(app, doctree):
    """Make the members and constants of a header places that a link can lead to."""
    owner = kind = None
    for node in doctree.findall(lambda n: isinstance(n, (addnodes.desc, nodes.term))):
        if isinstance(node, addnodes.desc):
            owner, kind = node[0]["ids"][-1], node["objtype"]
        elif kind in ("struct", "enum") and isinstance(node[0], nodes.literal):
            name = node.astext()
            if kind == "struct":
                name = f"{owner.rpartition('.')[2]}.{name}"
            node["ids"].append(f"c.{name}")
            PLACES[name] = (app.env.docname, f"c.{name}")


def collect(app, env):
    """Find the place of each other name of a header; a function's has () after it."""
    for name, _, kind, docname, anchor, _ in env.get_domain("c").get_objects():
        if kind in ("function", "struct", "enum", "macro"):
            PLACES[name.removeprefix("uapi.") + "()" * (kind == "function")] = (docname, anchor)
    # An ioctl is described with its argument.
    header = pathlib.Path(TOP, "uapi/linux/twheel.h").read_text("utf-8")
    for name, argument in re.findall(r"^#define (\w+)\s+_IO\w+\(.*struct (\w+)\)", header, re.M):
        PLACES[name] = PLACES[argument]


# Of each name of a header: the page and the place on it
PLACES = {}
WORD = re.compile(r"<(/?)(\w+)([^>]*)>|\b(?:twheel|TWHEEL)_\w+(?:\.\w+)?")
TAG = re.compile(r"<[^>]*>")


def link_names(app, pagename, _, context, __):
    """Have the names of a header, wherever they are in code, lead to their places."""
    body = context.get("body", "")
    code = closed = 0

    def replace(match):
        nonlocal code, closed
        if match[2]:
            step = -1 if match[1] else 1
            if match[2] in ("pre", "code", "b", "i"):
                code += step
            elif match[2] in ("a", "dt", "h1", "h2", "h3", "h4"):
                closed += step
            return match[0]
        call = TAG.sub("", body[match.end():match.end() + 60]).startswith("(")
        names = [match[0] + "()", match[0]]
        place = next((PLACES[n] for n in (names if call else names[::-1]) if n in PLACES), None)
        if not place or not code or closed:
            return match[0]
        page = app.builder.get_relative_uri(pagename, place[0])
        return f'<a class="name" href="{page}#{place[1]}">{match[0]}</a>'

    context["body"] = WORD.sub(replace, body)


def setup(app):
    """Called by Sphinx."""
    app.connect("source-read", retarget)
    app.connect("doctree-read", describe)
    app.connect("env-updated", collect)
    app.connect("html-page-context", link_names)
