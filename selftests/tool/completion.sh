#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# completion.sh - do bash and zsh complete what the twheel tool takes?
#
# Needs bash, which guests do not have, but no device.

. "$(dirname "$0")/programs.sh"

# What is sorted here is compared with what sort does.
export LC_ALL=C

# Beside this script where it was built, or in the source.
folder=$here
[ -e "$folder/twheel.bash" ] || folder=$here/../../userspace/tools/completion
command -v bash >/dev/null || skip_all "there is no bash"
[ -e "$folder/twheel.bash" ] || skip_all "the completions are not here"

# completes WORD... - what bash offers for the last word, which may be empty, and how, sorted
completes() {
	bash -c '. "$1"; shift
		compopt() { echo "$@"; }
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
		_twheel
		[ ${#COMPREPLY[@]} = 0 ] || printf "%s\n" "${COMPREPLY[@]}"' \
		bash "$folder/twheel.bash" "$@" 2>&1 | sort >"$tmp/out"
}

# offers NAME EXPECTED WORD... - a test that passes if bash offers this for the last word
offers() {
	name=$1 expected=$2
	shift 2
	completes "$@"
	check "$name" test "$(tr '\n' ' ' <"$tmp/out")" = "$expected"
}

verbs=$(twheel --help | sed -n 's/^  \([a-z][a-z]*\)  *[a-z].*/\1/p' | sort | tr '\n' ' ')
check "the tool has verbs" test "$(echo "$verbs" | wc -w)" -ge 7
offers "all verbs, and the options" "--help --version $verbs" twheel ""
offers "a verb" "doctor " twheel "do"
offers "of two" "save stat " twheel s
offers "an option" "--version " twheel --v
offers "no verb" "" twheel nonsense

# What each verb's help names has to be offered, by both.
for verb in $verbs; do
	options=$(twheel "$verb" --help | grep -o '^  -[A-Za-z], --[a-z-]*' | sed 's/.* //' | sort | tr '\n' ' ')
	offers "options of $verb" "$options" twheel "$verb" --
	twheel "$verb" --help | grep -o '^  -[A-Za-z], --[a-z-]*' | tr -d ' ' >"$tmp/options"
	while read -r option; do
		grep -q -- "{$option}" "$folder/_twheel" || echo "$option"
	done <"$tmp/options" >"$tmp/out"
	check "options of $verb in zsh" test -s "$tmp/options" -a ! -s "$tmp/out"
	check "$verb is a verb in zsh" grep -q "^[^a-z]*[\"']$verb:" "$folder/_twheel"
done

offers "clocks" "boottime monotonic realtime " twheel arm --clock ""
offers "a clock" "realtime " twheel arm 5s -C r
offers "any duration" "" twheel arm --every ""
offers "an option behind a duration" "--slack " twheel arm --every 5s --sl
mkdir "$tmp/files" && touch "$tmp/files/one" "$tmp/files/other"
# As file names they are quoted.
for words in "top --svg" "save --fd 3" load; do
	# shellcheck disable=SC2086 # words
	offers "files of $words" "-o filenames $tmp/files/one $tmp/files/other " \
		twheel $words "$tmp/files/o"
done
offers "a device" "-o filenames $tmp/files/one " twheel info --device "$tmp/files/on"

# Processes that have timers: two are made up.
root=$tmp/root
mkdir -p "$root/sys/class/misc/twheel"
echo 1:3 >"$root/sys/class/misc/twheel/dev"
for pid in 99999901 99999912; do
	mkdir -p "$root/proc/$pid/fd" "$root/proc/$pid/fdinfo"
	ln -s /dev/null "$root/proc/$pid/fd/3"
	printf 'clock:\t1\nconfig:\t0\npending:\t1\nready:\t0\nlimit:\t9\n' \
		>"$root/proc/$pid/fdinfo/3"
done
export TWHEEL_TEST_ROOT="$root"
offers "processes" "99999901 99999912 " twheel list --pid ""
offers "a process" "99999912 " twheel list -p 9999991
unset TWHEEL_TEST_ROOT

run bash -c ". '$folder/twheel.bash' && complete -p twheel"
check "bash knows the function" said '^complete -F _twheel twheel$'
if command -v zsh >/dev/null; then
	try "zsh reads its one" zsh -n "$folder/_twheel"
	# What compinit says of it: the first line is how it is found.
	run zsh -fc "fpath=('$folder' \$fpath); autoload -Uz compinit && compinit -D -u && echo \"\$_comps[twheel]\""
	check "and finds it" said '^_twheel$'
else
	skip "zsh reads its one" "there is no zsh"
	skip "and finds it" "there is no zsh"
fi

finish
