#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Print the links of HTML files that lead nowhere, and fail if there are any.

usage: links.py FOLDER

Looks at links within the folder, their fragments included, not at those to other sites.
"""

import html.parser
import pathlib
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    """What a page links to, and what of it can be linked to."""

    def __init__(self, text):
        super().__init__()
        self.links = set()
        self.names = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("href", "src"):
                self.links.add(value)
            elif name == "id" or (tag, name) == ("a", "name"):
                self.names.add(value)


def main(folder):
    """Check all pages; return how many links are broken."""
    pages = {file.resolve(): Page(file.read_text("utf-8")) for file in folder.rglob("*.html")}
    broken = 0
    for file, page in sorted(pages.items()):
        for link in sorted(page.links):
            url = urllib.parse.urlsplit(link)
            if url.scheme or url.netloc:
                continue
            path = urllib.parse.unquote(url.path)
            target = (file.parent / path).resolve() if path else file
            name = urllib.parse.unquote(url.fragment)
            if not target.is_file() or (
                    name and target in pages and name not in pages[target].names):
                print(f"{file.relative_to(folder.resolve())}: {link}")
                broken += 1
    print(f"{len(pages)} pages, {broken} broken links")
    return broken + (not pages)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(1 if main(pathlib.Path(sys.argv[1])) else 0)
