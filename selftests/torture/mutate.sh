#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# mutate.sh - break the module in scratch copies, one way at a time, and see that
# torture finds each (TAP)
#
# usage: [KERNEL=...] [SECONDS_EACH=60] mutate.sh [text]
#
# A mutation is a file and a sed expression, and the part of the world that it
# takes. One that no longer applies, or that is not found, is a failure. An argument
# picks the mutations that contain it. It takes a guest for each.

. "$(dirname "$0")/../vm/common.sh"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

mutations() {
	sed 's/^\t*//' <<-'END'
	a cancel leaves the record		timer.c	/^static int cancel_timer/,/^}/{/withdraw(ctx, timer);/d;/^\t\ttwheel_ctx_free(ctx, timer);/d}
	a re-arm leaves the record		timer.c	s/^\t\tarm->old_state = TWHEEL_STATE_READY;/&\n\t\tif (arm->user_data % 8 == 0) { twheel_count(TWHEEL_COUNT_REARMED); tell(timer, arm); *ready = false; return 0; }/
	early by a tick				base.h	s/return tick + ((tick << .*/return tick;/
	expires, and never was ready		timer.c	/^u32 twheel_timer_expire/,/^}/s/^\t\t\tmake_ready(ctx, timer, now);/\t\t\tif (timer->user_data % 64)\n\t&/
	the last to expire is told first	timer.c	s/list_add_tail(&timer->ready, &ctx->ready)/list_add(\&timer->ready, \&ctx->ready)/
	a last record that is not		timer.c	s/expirations >= timer->count) {/expirations > timer->count) {/
	a stale handle is as good		timer.c	/^static bool is_live/,/^}/s/twheel_ctx_handle(timer) == handle/(u32)twheel_ctx_handle(timer) == (u32)handle/
	a push-back of what has expired		timer.c	s/arm->flags \& TWHEEL_ARM_IF_PENDING \&\& state != TWHEEL_STATE_PENDING/& \&\& arm->user_data % 8/
	a push-back makes a timer		timer.c	/^void twheel_timer_arm/,/^}/s/ret = rearm(ctx, arm);/&\n\t\tif (ret == -ENOENT) ret = arm_new(ctx, arm);/
	what there is is re-armed		timer.c	s/if (arm->flags \& TWHEEL_ARM_IF_NONE)/if (arm->flags \& TWHEEL_ARM_IF_NONE \&\& arm->user_data % 8)/
	a round is missed			timer.c	s/(event->expirations - 1) \* timer->interval/event->expirations * timer->interval/
	a lease is not looked at		timer.c	s/if (!is_lease(timer->where) || claim(base, timer, now))/if (timer->user_data % 16 == 0 || !is_lease(timer->where) || claim(base, timer, now))/
	a drain forgets to cancel		timer.c	s/if (ret == 1 \&\& drain) {/if (ret == 1 \&\& drain \&\& info.user_data % 8) {/
	a list leaves one out			timer.c	/^int twheel_timer_list/,/^}/s/== TWHEEL_STATE_PENDING) {/& if (timer->user_data % 64 == 0) { drop_timer(\&lock); return 0; }/
	a list goes back			chardev.c	/^static long list_timers/,/^}/s/^\t\t(\*index)++;/\t\tif (ret != 1 || n != count || ktime_get_ns() \& 7)\n\t&/
	a step is not told			ctx.c	/^bool twheel_ctx_take_step/,/^}/s/stepped = ctx->steps != steps;/stepped = ctx->steps != steps \&\& steps % 4;/
	a wheel sleeps by an old time		clock.c	s/-ktime_to_ns(ktime_mono_to_real(0))/({ static s64 o; o = o ?: ktime_to_ns(ktime_mono_to_real(0)); -o; })/
	a late bucket				base.c	/^void twheel_base_enqueue/,/^}/s/if (base->wheel.next_expiry < base->programmed)/if (base->wheel.next_expiry + 4096 < base->programmed)/
	a CPU that goes takes its timers	base.c	/^static int twheel_cpu_offline/,/^}/s/^\t\t\treprogram(base);/\t\t\tWRITE_ONCE(base->programmed, 0);/
	END
}

# Build the module in $scratch/ko, with FILE changed by EXPRESSION
build() {
	local release
	rm -rf "$scratch/tree"
	mkdir -p "$scratch/tree"
	cp -r "$top"/{Makefile,Kbuild,module,uapi} "$scratch/tree"
	sed -i "$2" "$scratch/tree/module/$1"
	! cmp -s "$top/module/$1" "$scratch/tree/module/$1" || return
	make -s -C "$scratch/tree" modules KDIR="$kernel/headers" >"$scratch/log" 2>&1 || {
		tail -n 20 "$scratch/log" >&2
		return 1
	}
	release=$(cat "$kernel/release")
	cp "$scratch/tree/build/module/$release/twheel.ko" "$scratch/twheel.ko"
}

torture() {
	"$vm/run.sh" -c 4 -m 2048 -t $((${SECONDS_EACH:-60} + 300)) -M "$1" -- \
		/twheel/torture/torture --seconds "${SECONDS_EACH:-60}" 2>&1
}

kernel=$("$vm/kernel.sh")
mutations | grep -F -- "${1:-}" | sed 's/\t\t*/\t/g' >"$scratch/mutations"
echo "TAP version 13"
echo "1..$(wc -l <"$scratch/mutations")"
n=0 status=0
while IFS=$'\t' read -r name file expression; do
	n=$((n + 1)) found=
	if build "$file" "$expression" </dev/null; then
		# Whatever it does else, the oracle has to say so.
		found=$(torture "$scratch/twheel.ko" </dev/null | tee "$scratch/out" |
			sed -n '/VIOLATION: /{s/.*VIOLATION: //p;q}') || :
		echo "# found by: ${found:-none}"
		[ -n "$found" ] || tail -n 5 "$scratch/out" | sed 's/^/# /'
	else
		echo "# does not apply, or does not build"
	fi
	[ -n "$found" ] || status=1
	[ -z "$found" ] && printf 'not '
	echo "ok $n $name"
done <"$scratch/mutations"
exit $status
