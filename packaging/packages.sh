#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# packages.sh - make the packages of other languages in build/packages, and print their names
#
# usage: packages.sh [LANGUAGE...]
#
# userspace/LANGUAGE has a Makefile with two targets:
#
#	missing		prints what is not there of what it takes, with the Debian packages; nothing
#			if all is there
#	package		makes the package in the folder O, and prints the names of its files
#
# O is build/packages/LANGUAGE. With SYSTEM=1 the packages use the library that is installed;
# otherwise they have it inside, made by packaging/amalgamation.pl. A language whose tools are
# missing is left out, by name.

. "$(dirname "$0")/common.sh"

unset MAKEFLAGS MFLAGS
languages=(java python go rust node)
[ $# -gt 0 ] || set -- "${languages[@]}"
for language; do
	case " ${languages[*]} " in
	*" $language "*) ;;
	*)	die "there is no package for $language: ${languages[*]}" ;;
	esac
done
for language; do
	folder=$top/userspace/$language
	missing=$(make -s -C "$folder" missing)
	if [ "$missing" ]; then
		say "$language is left out: $missing"
		continue
	fi
	out=$build/packages/$language
	rm -rf "$out"
	mkdir -p "$out"
	step "$language" "$build/log/packages.$language" \
		make -s -C "$folder" O="$out" SYSTEM="${SYSTEM-}" package
	cat "$build/log/packages.$language"
done
