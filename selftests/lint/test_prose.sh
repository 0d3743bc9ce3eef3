#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# test_prose.sh - does prose.pl find names that are wrong? (TAP)
#
# Each is in a small tree that is in order otherwise.

. "$(dirname "$0")/../vm/common.sh"
. "$(dirname "$0")/../tap.sh"

# tell_prose [HEADERS] - what prose.pl says of the tree in $tmp/prose
tell_prose() {
	(cd "$tmp/prose" && perl "$top/selftests/lint/prose.pl" "$@") 2>&1
}

# prose FILE TEXT FINDING - a tree that is in order, but that the file ends with the text
prose() {
	rm -rf "$tmp/prose"
	cp -r "$tmp/order" "$tmp/prose"
	mkdir -p "$(dirname "$tmp/prose/$1")"
	printf '%s\n' "$2" >>"$tmp/prose/$1"
	tell_prose "$tmp/headers" >"$tmp/out"
	[ "$(cat "$tmp/out")" = "$3" ] && return
	echo "expected: $3" >>"$tmp/out"
	return 1
}

set +e
status=0
mkdir -p "$tmp/order/module/core" "$tmp/order/Documentation" "$tmp/headers"
cat >"$tmp/order/module/core/base.c" <<-'END'
	/* thing_lock, then twheel_thing.gate and twheel_thing.door */
	static DEFINE_SPINLOCK(thing_lock);
	int thing_init(void); // see thing_exit(), thing->gate and outside_here()
	module_param_named(name, thing, "thing_name"); // the parameter thing_name
END
cat >"$tmp/order/module/thing.c" <<-'END'
	struct twheel_thing {
		struct mutex gate;
		spinlock_t door;
		spinlock_t *other;
	};
	int thing_exit(void);
END
cat >"$tmp/order/Documentation/design.md" <<-'END'
	## Lock order
	`thing_lock`, `twheel_thing.gate` and `twheel_thing.door`
	## `base.c` `thing_init()`
	thing_exit(), thing->gate, outside_here(), thing_ and _lock; see module/thing.c
END
echo 'int outside_here(void);' >"$tmp/headers/outside.h"

prose README.md '[design.md](Documentation/design.md), outside.h' ''
result $? "a tree in which all is there that is named"
while IFS='|' read -r file text finding; do
	if ! prose "$file" "$text" "$file:$finding"; then
		cat "$tmp/out" >&3
		status=1
	fi
done 3>"$tmp/missed" <<-'END'
	README.md|See `gone()`.|1: there is no gone()
	userspace/man/thing.3|.BR gone ()|1: there is no gone()
	README.md|It is `gone_too`.|1: there is no gone_too
	module/thing.c|/* gone_too does it */|7: there is no gone_too
	module/thing.c|char s[] = "no gone_too"; // gone_too|7: there is no gone_too
	selftests/thing.sh|# gone_too does it|1: there is no gone_too
	README.md|`twheel_thing.gone` is a lock.|1: struct twheel_thing has no member gone
	module/thing.c|/* thing->gone is NULL. */|7: no struct has a member gone
	README.md|[this](gone.md)|1: there is no file gone.md
	module/thing.c|/* See module/gone.c. */|7: there is no file module/gone.c
	README.md|`base.c` `thing_init()`, `thing_exit()`|1: thing_exit() is not in module/core/base.c
END
result $status "a function, a word, a member or a file that is not there" "$tmp/missed"

prose module/thing.c 'static DEFINE_MUTEX(late);' \
'module/thing.c:7: late is not in the lock order of Documentation/design.md'
result $? "a lock that has no place in the order"
prose module/thing.h 'struct twheel_box { /* */
	raw_spinlock_t	gate;
};' \
'module/thing.h:2: twheel_box.gate is not in the lock order of Documentation/design.md'
result $? "and one that is called as another is"

prose selftests/lint/prose.pl '' ''
grep -q "^selftests/lint/prose.pl:1: nobody names kevent$" "$tmp/out"
result $? "an exception that nothing needs"

if ! command -v git >/dev/null; then
	skip "a subject that is too long" "there is no git"
	finish
fi
(cd "$tmp/prose" && git init -q . && git add .
	for subject in "$(printf '%0100d' 0)" "$(printf '%073d' 0)" "$(printf 'ü%.0s' {1..72})"; do
		git -c user.name=a -c user.email=a@b -c commit.gpgsign=false \
			commit -q --allow-empty -m "$subject"
	done)
tell_prose >"$tmp/out"
[ "$(grep -c 'the subject has' "$tmp/out")" = 1 ] &&
	grep -q "^[0-9a-f]*:1: the subject has 73 characters: 0*$" "$tmp/out"
result $? "a subject that is too long, but for those before the rule"
finish
