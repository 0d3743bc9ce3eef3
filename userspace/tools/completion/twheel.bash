# SPDX-License-Identifier: GPL-2.0-only OR MIT
# shellcheck shell=bash
#
# Completion of the twheel tool's command line in bash. It needs nothing of the package
# bash-completion, which finds and loads it.

# The options of a verb
_twheel_options() {
	case $1 in
	doctor|ps) echo --json --help ;;
	info)	echo --json --fd --device --help ;;
	arm)	echo --every --count --fixed-delay --slack --clock --data --for --json --device --help ;;
	list)	echo --fd --pid --json --device --help ;;
	save)	echo --fd --pid --drain --help ;;
	load)	echo --fd --pid --map --help ;;
	stat)	echo --every --count --pid --reset --json --help ;;
	top)	echo --every --count --pid --svg --help ;;
	*)	echo --help --version ;;
	esac
}

# What may follow an option of a verb; fails if it takes no value
_twheel_values() {
	case $1/$2 in
	arm/--clock|arm/-C)
		compgen -W "monotonic boottime realtime" -- "$3" ;;
	*/--pid|*/-p)
		compgen -W "$(twheel ps --json 2>/dev/null | grep -o '"pid":[0-9]*' |
			sed 's/.*://' | sort -un)" -- "$3" ;;
	*/--fd|*/-F|*/--every|*/-e|*/--count|*/-c|arm/--slack|arm/-s|arm/--data|arm/-d|arm/--for|arm/-f)
		;;
	*)	return 1 ;;
	esac
	return 0
}

# Offer files. What is no letter in a name is quoted, and a folder gets a slash.
_twheel_files() {
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen -f -- "$1")
}

_twheel() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
	local verb='' words

	[ "$COMP_CWORD" = 1 ] || verb=${COMP_WORDS[1]}
	case $verb/$before,$word in
	*/--device,*|*/-D,*|top/--svg,*|top/-s,*)
		_twheel_files "$word"
		return ;;
	esac
	if [ -n "$verb" ] && words=$(_twheel_values "$verb" "$before" "$word"); then
		mapfile -t COMPREPLY < <(printf '%s' "${words:+$words$'\n'}")
		return
	fi
	case $verb,$word in
	save,-*|load,-*) ;;
	save,*|load,*)
		_twheel_files "$word"
		return ;;
	esac
	words=$(_twheel_options "$verb")
	[ -n "$verb" ] || words+=' doctor info arm ps list save load stat top'
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}

complete -F _twheel twheel
