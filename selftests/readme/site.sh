#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# site.sh - can the site be made, without a warning, and is everything on it?
#
# Runs on the machine that builds; no device is needed. It takes what setup.sh installs as html.

. "$(dirname "$0")/../tap.sh"
top=$(cd "$(dirname "$0")/../.." && pwd)
site=$top/Documentation/site
html=$top/build/html

try "make html" "$site/html.sh"
tail -n 1 "$tmp/out" | sed 's/^/# /'

for page in "$top"/*.md "$top"/Documentation/*.md; do
	page=${page#"$top"/}
	[ -s "$html/${page%.md}.html" ] || echo "$page"
done >"$tmp/out"
check "each Markdown page is on it" test ! -s "$tmp/out"
for page in "$top"/userspace/man/*.[134]; do
	grep -q '<h2 class="Sh" id="NAME">' "$html/man/${page##*/}.html" || echo "$page"
done >"$tmp/out" 2>&1
check "each manual page is on it" test ! -s "$tmp/out"
awk '/^<br\/>$/ || /^int main/ && last != "" { print FILENAME ": " $0 } { last = $0 }' \
	"$html"/man/*.html >"$tmp/out"
check "and its code has the lines that it should" test ! -s "$tmp/out"
find "$top"/userspace/{apps,examples} -name '*.*' ! -name '*.md' | while read -r file; do
	grep -rqF ">${file##*/}<a class=\"headerlink\"" "$html/examples" || echo "$file"
done >"$tmp/out"
check "each example and application is on it" test ! -s "$tmp/out"
for file in "$top"/userspace/examples/*.*; do
	grep -qF "(${file##*/})" "$top/userspace/examples/README.md" || echo "$file"
done | grep -v '/README\.md$' >"$tmp/out"
check "each example is in the README of its folder" test ! -s "$tmp/out"
for plot in "$top"/Documentation/plots/*.svg; do
	grep -rqF "/${plot##*/}\"" "$html" --include='*.html' || echo "$plot"
done >"$tmp/out"
check "each plot is on it" test ! -s "$tmp/out"
sed -n 's/^\t\(twheel_[a-z_]*\);$/\1/p' "$top/userspace/lib/libtwheel.map" | while read -r name; do
	grep -q "id=\"c.$name\"" "$html/api/libtwheel.html" || echo "$name"
done >"$tmp/out"
check "each function of the library is on it" test ! -s "$tmp/out"
grep -o '^\(struct\|#define\) \(twheel\|TWHEEL_IOC\)_[A-Za-z_]*' "$top/uapi/linux/twheel.h" |
	sed -n 's/^struct //p' | while read -r name; do
	grep -q "id=\"c.uapi.$name\"" "$html/api/uapi.html" || echo "$name"
done >"$tmp/out"
check "each structure of the interface is on it" test ! -s "$tmp/out"
grep -oh '^[[:space:]]TWHEEL_[A-Z_]*[[:space:]]*=\|^#define TWHEEL_[A-Z_]*[[:space:]]' \
	"$top/uapi/linux/twheel.h" "$top/userspace/include/twheel.h" |
	grep -o 'TWHEEL_[A-Z_]*' | grep -v '_H$\|_MAGIC$' | while read -r name; do
	grep -rqE " id=\"c\.(uapi\.)?$name\"|<a class=\"name\"[^>]*>$name</a>" "$html/api" || echo "$name"
done >"$tmp/out"
check "each constant has a place on it, or leads to one" test ! -s "$tmp/out"
for link in 'man/twheel.4.html ../api/uapi.html#c.uapi.twheel_arm">TWHEEL_IOC_ARM' \
	'man/libtwheel.3.html twheel.hpp.3.html"><b>twheel.hpp</b>(3)' \
	'examples/keyed.html ../api/libtwheel.html#c.twheel_put_after">twheel_put_after' \
	'api/uapi.html #c.twheel_arm.slack">twheel_arm.slack' \
	'README.html api/libtwheel.html#c.twheel_dispatch">twheel_dispatch'; do
	grep -qF "href=\"${link#* }</a>" "$html/${link%% *}" || echo "$link"
done >"$tmp/out"
check "names lead to where they are described, on pages of each kind" test ! -s "$tmp/out"
command=$(sed -n '/^    /{ s/^ *//; s/ *#.*//; p; q }' "$top/README.md")
run grep -F "$command" "$html/index.html"
check "the README's first command is on its first page" test "$status" = 0

# Would it be noticed?
cp -r "$top/build/site" "$tmp/site"
echo '[nowhere](nowhere.md)' >>"$tmp/site/README.md"
run env TWHEEL_TOP="$top" sphinx-build -q -W --keep-going -b html "$tmp/site" "$tmp/html"
check "a link to no page is a failure" grep -q 'README.md.*nowhere.md' "$tmp/out"
check "and the only one" test "$status:$(grep -c WARNING "$tmp/out")" = 1:1
mkdir "$tmp/links"
echo '<a href="b.html#here">b</a>' >"$tmp/links/a.html"
echo '<a id="there" href="a.html">a</a>' >"$tmp/links/b.html"
run "$site/links.py" "$tmp/links"
check "a link to no place on a page is a failure" test "$status" = 1
echo '<a id="here" href="a.html">a</a>' >"$tmp/links/b.html"
try "a good one is none" "$site/links.py" "$tmp/links"
finish
