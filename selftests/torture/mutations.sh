# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154 # see selftests/mutate.sh
#
# mutations.sh - of the module, for torture to find: SECONDS_EACH (60) in a guest

files=(module/*/*.[ch])

# Whatever else goes wrong, the oracle has to say so.
found_by() {
	local module seconds=${SECONDS_EACH:-60}
	module=$(built_module) || return
	"$vm/run.sh" -c 4 -m 2048 -t $((seconds + 300)) -M "$module" -- \
		/twheel/torture/torture --seconds "$seconds" >"$scratch/out" 2>&1 || :
	sed -n '/VIOLATION: /{s/.*VIOLATION: //p;q}' "$scratch/out"
	grep -q 'VIOLATION: ' "$scratch/out" || tail -n 5 "$scratch/out" >&2
}

mutations() {
	cat <<-'END'
	a cancel leaves the record	s/^\t\tcancels\[i\].result = cancel_entry.*/\t\t{ struct twheel_timer *r = twheel_hold_handle(\&hold, cancels[i].handle, timers[i]); if (r \&\& twheel_timer_state(r) == TWHEEL_STATE_READY) { cancels[i].old_state = TWHEEL_STATE_READY; cancels[i].result = 0; continue; } }\n&/
	a re-arm leaves the record	s/^\t\tarm->old_state = TWHEEL_STATE_READY;/&\n\t\tif (arm->user_data % 8 == 0)\n\t\t\treturn 0;/
	early by a tick			s/+ !!(ns & last);/+ !last;/
	expires, and never was ready	s/^\t\ttwheel_ctx_make_ready(ctx, base, timer, run->time);/\t\tif (timer->user_data % 64)\n\t&/
	the last to expire is told first	s/list_add(&timer->ready, prev)/list_add(\&timer->ready, \&ready->timers)/
	a last record that is not	s/expirations >= timer->count) {/expirations > timer->count) {/
	a stale handle is as good	/^static inline bool twheel_pool_is_named/,/^}/s/return timer->generation == upper_32_bits(handle);/return true;/
	a push-back of what has expired	/^int twheel_timer_rearm/,/^}/s/if (!pending)$/if (!pending \&\& arm->user_data % 8)/
	a push-back makes a timer	/^static int arm_or_lock/,/^}/s/ret = rearm(hold, arm, hint);/&\n\t\tif (ret == -ENOENT \&\& arm->flags \& TWHEEL_ARM_IF_PENDING \&\& is_keyed(ctx)) return full ?: min(arm_new(hold, arm, 1, \&timer), 0);/
	what there is is re-armed	s/if (arm->flags & TWHEEL_ARM_CONDITIONS) {/if (arm->flags \& TWHEEL_ARM_CONDITIONS \&\& !(arm->flags \& TWHEEL_ARM_IF_NONE \&\& arm->user_data % 8 == 0)) {/
	a round is missed		s/(event->expirations - 1) \* timer->interval/event->expirations * timer->interval/
	a lease is not looked at	/^static bool is_over/,/^}/s/if (twheel_is_lease(timer->where))/if (twheel_is_lease(timer->where) \&\& timer->user_data % 16)/
	a drain forgets to cancel	s/if (ret == 1 \&\& drain)$/if (ret == 1 \&\& drain \&\& info.user_data % 8)/
	a list leaves one out		/^static int list_one/,/^}/s/if (timer && /if (timer \&\& timer->user_data % 64 \&\& /
	a list goes back		/^long twheel_list_pending/,/^}/s/^\t\t(\*index)++;/\t\tif (ret != 1 || n != count || ktime_get_ns() \& 7)\n\t&/
	a step is not told		/^bool twheel_ctx_take_step/,/^}/s/stepped = ctx->steps != steps;/stepped = ctx->steps != steps \&\& steps % 4;/
	a wheel sleeps by an old time	s/-ktime_to_ns(ktime_mono_to_real(0))/({ static s64 o; o = o ?: ktime_to_ns(ktime_mono_to_real(0)); -o; })/
	a late bucket			/^void twheel_base_enqueue/,/^}/s/if (base->wheel.next_expiry < base->programmed)/if (base->wheel.next_expiry + 4096 < base->programmed)/
	a CPU that goes takes its timers	/^static int twheel_cpu_offline/,/^}/s/^\t\t\ttwheel_reprogram(cbase);/\t\t\tWRITE_ONCE(cbase->base.programmed, 0);/
	END
}
