# SPDX-License-Identifier: GPL-2.0-only
"""How Sphinx makes the site of what html.sh has gathered in build/site."""

import os
import pathlib
import re
import shutil

import furo

project = "twheel"
author = "The twheel developers"
with open("VERSION", encoding="ascii") as file:
    release = file.read().strip()
extensions = ["myst_parser"]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
exclude_patterns = ["_build"]
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


def setup(app):
    """Called by Sphinx."""
    app.connect("source-read", retarget)
