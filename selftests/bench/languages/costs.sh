#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# costs.sh - what timers cost in other languages, beside those that the language has
#
# usage: costs.sh [quick]
#
# Makes the packages and measures them on the wheel in the process, one after the other: all
# figures go to build/languages.tsv. Prints a table of what an operation costs with 100,000
# pending, in ns of CPU time. The machine should do nothing else meanwhile. A language whose tools
# are missing is left out, by name. The exit status is 1 if one could not be measured.

set -eu -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=${here%/selftests/bench/languages}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
figures=$top/build/languages.tsv
export TWHEEL_BACKEND=embedded CARGO_NET_OFFLINE=true GOPROXY=off GOTOOLCHAIN=local GOFLAGS=-mod=mod
# The packages are for Debian's compilers, which are taken also where others come first.
PATH=/usr/bin:$PATH

rounds=5 sizes="1000 100000 1000000" failed=0
case ${1-} in
'')	;;
quick)	rounds=1 sizes=100000 ;;
*)	echo "usage: costs.sh [quick]" >&2; exit 2 ;;
esac

run_python() {
	local wheel
	wheel=$(ls "$package"/*.whl)
	python3 -m zipfile -e "$wheel" "$tmp/site"
	# shellcheck disable=SC2086 # sizes are words
	PYTHONPATH=$tmp/site python3 "$here/costs.py" $rounds $sizes
}

run_java() {
	local netty=/usr/share/java/netty-common.jar jar
	[ -e "$netty" ] || { echo "java is left out: there is no Netty (Debian: libnetty-java)" >&2; return; }
	jar=$(ls "$package"/twheel-*.jar)
	javac -cp "$jar:$netty" -d "$tmp/java" "$here/JavaTimers.java"
	# shellcheck disable=SC2086
	# Its compiler has done nothing yet after a thousand.
	java -Xms3g -Xmx3g -cp "$jar:$netty:$tmp/java" JavaTimers $rounds ${sizes/#1000 /10000 }
}

run_go() {
	cp "$top"/selftests/languages/go/*_test.go "$here/costs_test.go" "$package/twheel"
	(cd "$package/twheel" && go test -timeout 1h -tags costs -run TestCosts -rounds "$rounds" \
		-pending "$sizes") | grep -v -e '^ok' -e '^PASS'
}

run_rust() {
	mkdir -p "$package/twheel/examples"
	cp "$here/costs.rs" "$package/twheel/examples"
	# shellcheck disable=SC2086
	(cd "$package" && cargo run -q --release --example costs $rounds $sizes)
}

run_node() {
	# shellcheck disable=SC2086
	node "$here/costs.js" "$package/twheel" $rounds $sizes
}

: >"$tmp/figures"
for language in python java go rust node; do
	# It says so if it leaves one out. What measures is added to a copy.
	made=$(SYSTEM='' "$top/packaging/packages.sh" "$language")
	[ "$made" ] || continue
	package=$tmp/$language
	cp -r "$top/build/packages/$language" "$package"
	"run_$language" | sed "s/^/$language\t/" >>"$tmp/figures" ||
		{ echo "$language could not be measured" >&2; failed=1; }
done
mv "$tmp/figures" "$figures"

# Of each language what it has itself, which is its first figure, and the wheel.
echo "| language | beside | arm | twheel | push back | twheel | cancel | twheel |"
echo "|---|---|---:|---:|---:|---:|---:|---:|"
awk -F '\t' '
	$2 == "#" {
		if (!($1 in beside))
			order[++n] = $1
		beside[$1] = $4
		for (i = 4; i <= NF; i++)
			if ($i == "twheel")
				ours[$1] = i
	}
	$3 == 100000 {
		cost[$1, $2] = $4 " | " $ours[$1]
	}
	END {
		for (i = 1; i <= n; i++)
			print "| " order[i] " | " beside[order[i]] " | " cost[order[i], "arm"] " | " \
				cost[order[i], "push back"] " | " cost[order[i], "cancel"] " |"
	}
' "$figures"
exit $failed
