#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# html.sh - make the site in build/html: `make html`
#
# It gathers in build/site what the pages are made of, at the places where it is in the sources,
# so that links among the Markdown pages lead to the same files: README.md and its like,
# Documentation, the manual pages by mandoc, what the headers say by the kernel's kernel-doc, and the
# examples. Then Sphinx makes a site of that, in the order of index.md. Any warning is a failure, and
# so is a broken link. selftests/readme/browser.py looks at the site.

. "$(dirname "$0")/../../selftests/vm/common.sh"

own=$top/Documentation/site
site=$build/site
out=$build/html
normalize=/usr/share/javascript/normalize.css/normalize.css
kernel_doc=$("$vm/kernel.sh" --source)/scripts/kernel-doc

# manual PAGE - as HTML, with links to the others
#
# In code mandoc drops empty lines, so they are a space for it, and ends indented lines twice.
manual() {
	perl -pe '$code = /^\.(EX|nf)/ if /^\.(EX|EE|nf|fi)\b/; s/^$/\\ / if $code' "$1" |
		mandoc -Thtml -O fragment | perl -pe '
		s/^<br\/>\n//; s/^&#x00A0;$//;
		s/<(\/?)h2\b/<$1h3/g; s/<(\/?)h1\b/<$1h2/g;
		s{<b>((?:lib)?twheel\w*(?:\.\w+)?)</b>\((\d)\)}{<a href="$1.$2.html"><b>$1</b>($2)</a>}g'
}

# A function's name leads to the page that describes it.
declare -A page_of
manuals() {
	local page name title names link sed=()

	mkdir -p "$site/man"
	printf '%s\n' '# Manual pages' '' '| page | what |' '|---|---|' >"$site/man/index.md"
	for page in "$top"/userspace/man/*.[134]; do
		name=${page##*/}
		names=$(sed -n '/^\.SH NAME/,/^\.SH [^N]/{ /^\.SH/d; p }' "$page" | tr '\n' ' ')
		for link in ${names%%\\-*}; do
			page_of[${link%,}]=$name
		done
		echo "| [${name%.*}(${name##*.})]($name.rst) | ${names#*\\- } |" >>"$site/man/index.md"
	done
	# To the page itself where it has the name of a function, too.
	for link in "${!page_of[@]}"; do
		case ${page_of[$link]} in
		*.3)	sed+=(-e "s|href=\"$link\.3\.html\"|href=\"${page_of[$link]}.html\"|g") ;;
		esac
	done
	for page in "$top"/userspace/man/*.[134]; do
		name=${page##*/}
		title="${name%.*}(${name##*.})"
		manual "$page" | sed "${sed[@]}" >"$site/man/$name.inc"
		printf '%s\n' "$title" "${title//?/=}" '' '.. raw:: html' "   :file: $name.inc" \
			>"$site/man/$name.rst"
	done
	printf '%s\n' '' '```{toctree}' ':hidden:' ':glob:' '' '*' '```' >>"$site/man/index.md"
}

# header TITLE FILE - what a header says: the comment at its head, a list of what is in it, and what
# kernel-doc makes of the rest
#
# The interface's structures are in a namespace of Sphinx's: C keeps their names apart from
# those of functions, and Sphinx does not. This kernel-doc skips comments of one line, and takes
# a macro for a function without arguments.
header() {
	local version

	printf '%s\n' "$1" "${1//?/=}" ''
	awk '/^\/\*$/ && !n++ { on = 1; next } /^ \*\/$/ { on = 0 } on { print substr($0, 4) }' "$2" |
		perl -pe 's/&(?:struct |enum )?(\w+(?:\.\w+)?)/``$1``/g; s/%(\w+)/``$1``/g;
			s/(?<!\w)(\w+_\*(?:\(\))?|twheel_\w+\(\))/``$1``/g'
	echo
	perl -pe 's{^/\*\* (define .*) \*/$}{/**\n * $1\n */}' "$2" >"$build/site.h"
	version=$(sphinx-build --version)
	perl "$kernel_doc" -rst -Werror -sphinx-version "${version##* }" "$build/site.h" | perl -0pe '
		s/^``\w+ \(\)``\n//mg;
		s/^(\*\*Definition\*\*\n\n)::$/$1.. code-block:: c/mg;
		s/:c:type:`(\w+\.\w+) <\w+>`/``$1``/g;
		s/^\*\*Parameters\*\*\n\n(?=\n|\*\*Description)//mg;
		s/^(?!\.\.)(.*)$/my $l = $1;
			$l =~ s|(?<![\w`:<])(twheel_\w+)\(\)(?![\w`])|:c:func:`$1()`|g; $l/gem;
		my $rows = ".. list-table::\n   :widths: auto\n\n";
		while (/^\.\. c:(\w+):: (?:.* \**)?(\w+)(?: \(.*)?\n\n+   (.*)/mg) {
			$rows .= "   * - ``$2" . ($1 eq "function" && "()") . "``\n     - $3\n";
		}
		$_ = "$rows\n$_"'
	rm "$build/site.h"
}

headers() {
	local names

	mkdir -p "$site/api"
	header "The interface: linux/twheel.h" "$top/uapi/linux/twheel.h" |
		sed '3i .. c:namespace:: uapi\n' >"$site/api/uapi.rst"
	names=$(sed -n 's/^\.\. c:[a-z]*:: \(twheel_[a-z_]*\)$/\1/p' "$site/api/uapi.rst" | paste -sd '|')
	header "The library: twheel.h" "$top/userspace/include/twheel.h" |
		sed -E "s/(:c:type:\`[^\`<]*<)($names)>/\1uapi.\2>/g" >"$site/api/libtwheel.rst"
}

rm -rf "$site" "$out"
mkdir -p "$site"
cd "$top"
cp --parents ./*.md VERSION Documentation/plots/* "$site"
find . -path ./build -prune -o -path ./debian -prune -o -path ./userspace -prune -o \
	\( -path './Documentation/*.md' -o -name README.md \) ! -path '*/site/*' \
	-exec cp --parents -t "$site" {} +
mkdir "$site/_static"
cp "$own/site.css" "$site/_static"
cp "$own/conf.py" "$site"
sed -n '2,/^## / { /^## /!p }' README.md >"$build/site.start"
sed "/^<!-- README/r $build/site.start" "$own/index.md" >"$site/index.md"
mkdir "$site/userspace"
ln -s "$top/userspace/examples" "$top/userspace/apps" "$site/userspace"
manuals
headers
"$own/examples.py" "$top/userspace" "$site/examples"

TWHEEL_TOP=$top sphinx-build -q -E -W --keep-going -b html -d "$build/site.doctrees" "$site" "$out"
# Debian 12's furo looks for this file where only Debian's web servers have it.
if [ -e "$normalize" ]; then
	cp "$normalize" "$out/_static"
	sed -i 's|url(/javascript/normalize.css/|url(../|' "$out/_static/styles/furo.css"
fi
python3 "$own/links.py" "$out"
