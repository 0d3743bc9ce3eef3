#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# files.sh - does twheel(4) name the files that the module has, and the names in them?

. "$(dirname "$0")/tap.sh"
cd "$(dirname "$0")" || exit 1
need_device

# paths - the files that the page names
paths() {
	sed -n '/^\.SH FILES/,/^\.SH EXAMPLES/s/^\.I \(\/[^ ]*\)$/\1/p' twheel.4
}

# below FOLDER - the names that the page has in a folder
below() {
	paths | sed -n "s|^$1/\([^/]*\)$|\1|p" | sort
}

# listed PATH - the list that follows a file's entry
listed() {
	awk -v path="$1" '
		/^\.SH/ { files = $2 == "FILES" }
		!files { next }
		/^\.RS/ { inside = here; next }
		/^\.RE/ { inside = here = 0 }
		inside && tag { gsub(/\\/, ""); print $2 }
		{ tag = /^\.TP/ }
		/^\.IR? \// { here = index($0, path) > 0 }' twheel.4 | sort
}

# same NAME PAGE MODULE - a test that passes if both lists are the same, and not empty
same() {
	diff "$2" "$3" >"$tmp/out"
	check "$1" test -s "$2" -a ! -s "$tmp/out"
}

for folder in /sys/module/twheel/parameters /sys/kernel/debug/twheel; do
	if [ ! -e "$folder" ]; then
		skip "the page has what is in $folder" "it is not there, or takes root"
		continue
	fi
	below "$folder" >"$tmp/page"
	# Not those of ls, which puts names into an order of its own.
	find "$folder" -mindepth 1 | sed 's|.*/||' | sort >"$tmp/module"
	same "the page has what is in $folder" "$tmp/page" "$tmp/module"
done
sed -n '/^\.SH MODULE/,/^\.SH FILES/s/^\.B \([a-z_]*\)$/\1/p' twheel.4 | sort >"$tmp/page"
find /sys/module/twheel/parameters -mindepth 1 | sed 's|.*/||' | sort >"$tmp/module"
same "it describes each parameter" "$tmp/page" "$tmp/module"

tracing=/sys/kernel/tracing/events/twheel
if [ -e "$tracing/enable" ]; then
	listed $tracing >"$tmp/page"
	find $tracing -mindepth 1 -maxdepth 1 -type d | sed 's|.*/||' | sort >"$tmp/module"
	same "it has the tracepoints" "$tmp/page" "$tmp/module"
else
	skip "it has the tracepoints" "no tracefs, or takes root"
fi

# What all descriptors have is not the module's.
exec 7<>/dev/twheel 8</dev/null
sed 's/:.*//' /proc/self/fdinfo/8 >"$tmp/all"
sed 's/:.*//' /proc/self/fdinfo/7 | grep -vxF -f "$tmp/all" | sort >"$tmp/module"
listed fdinfo >"$tmp/page"
same "it has the lines of fdinfo" "$tmp/page" "$tmp/module"

debug=/sys/kernel/debug/twheel
if [ -r "$debug/counters" ]; then
	listed $debug/counters >"$tmp/page"
	head -n 1 $debug/counters | tr ' ' '\n' | grep -v '^cpu$' | sort >"$tmp/module"
	same "it has the counters" "$tmp/page" "$tmp/module"
	listed $debug/histograms >"$tmp/page"
	cut -d ' ' -f 1 $debug/histograms | sort -u >"$tmp/module"
	same "it has the histograms" "$tmp/page" "$tmp/module"
else
	skip "it has the counters" "no debugfs, or takes root"
	skip "it has the histograms" "no debugfs, or takes root"
fi

# Of the files elsewhere that it names.
paths | while read -r path; do
	[ -e "$path" ] || echo "$path"
done >"$tmp/out"
check "each file that it names is there" test ! -s "$tmp/out"
finish
