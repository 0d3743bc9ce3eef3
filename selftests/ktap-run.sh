#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# ktap-run.sh - run commands that print KTAP each, as subtests of one KTAP
#
# usage: ktap-run.sh command...	(each argument is a line for sh)
#
# A command passes with exit status 0 and is skipped with 4, as in kselftest.
# The exit status is 1 if one failed.

# No sed here: it would buffer its output, and tests should be seen as they run.
indent() {
	while IFS= read -r line || [ -n "$line" ]; do
		printf '  %s\n' "$line"
	done
}

n=0
failed=0
status=$(mktemp)

echo "KTAP version 1"
echo "1..$#"
for command; do
	n=$((n + 1))
	echo "# Subtest: $command"
	{ sh -c "$command" 2>&1; echo $? >"$status"; } | indent
	case $(cat "$status") in
	0)	echo "ok $n $command" ;;
	4)	echo "ok $n $command # SKIP" ;;
	*)	echo "not ok $n $command # exit status $(cat "$status")"
		failed=1 ;;
	esac
done
rm -f "$status"
exit $failed
