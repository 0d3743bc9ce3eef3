# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154 # see selftests/mutate.sh
#
# mutations.sh - of libtwheel's timer objects, for three programs in a guest to find

files=(userspace/lib/{arming,loop,queue,fork,list,open}.c)

# Prints the first test that fails, or how the guest ended instead.
found_by() {
	local tests=$scratch/broken
	rm -rf "$tests"
	"$vm/build.sh" module tests >&2 || return
	make -s -C selftests/lib OUTPUT="$tests" library="$(echo "$tree"/userspace/lib/*.c)" \
		KSELFTEST="$(echo "$cache"/source/*/tools/testing/selftests)" FORCE_TARGETS=1 \
		"$tests"/{model,deferred,timers} >"$scratch/log" 2>&1 || {
		tail -n 20 "$scratch/log" >&2
		return 1
	}
	"$vm/run.sh" -l -t 290 -m 2048 -d "$tests" -- 'cd /twheel/broken && ./deferred && ./model &&
		./timers' >"$scratch/out" 2>&1 && return
	sed -n '/^not ok/{s/^not ok [0-9]* //p;q}' "$scratch/out" | grep . ||
		tail -n 1 "$scratch/out"
}

mutations() {
	cat <<-'END'
	a word is kept after the last record	/^static void twheel_loop_note_ended/,/^}/s/timer->word = NULL;//
	an ended timer may be queued		/^static void twheel_loop_note_ended/,/^}/s/timer->ended = true;//
	a record of another arming		s/return timer->arming == token >> 32 ? timer : NULL;/return timer;/
	a record of another handle		/^static int dispatch/,/^}/s/|| timer->handle != event.handle//
	any slack is pushed			s/timer->slack != setting->slack ||//
	a push of what exists is new		/^static bool twheel_timer_push/,/^}/s/setting->flags & TWHEEL_ARM_IF_NONE/0/
	a push to an earlier time		/^static bool twheel_timer_push/,/^}/s/if (was > lease_word_ns(.*)))/if (0)/
	a push of what has ended		/^static bool twheel_timer_push/,/^}/s/if (!lease_word_runs(was, timer->tag))/if (0)/
	what was replaced is not what was left	s/was > now ? was - now : 0/deadline > now ? deadline - now : 0/
	times of another namespace		s/return twheel_lease_deadline(lease) == .* ?/return 1 ?/
	a child keeps the words			/^TWHEEL_API void twheel_take_over/,/^}/s/if (twheel_inherited(tw))/if (0)/
	a failed mapping is tried again		s/tw->loop->wordless = true;/;/
	the word of a cancelled timer		/^void twheel_timer_disarmed/,/^}/s/timer->word = NULL;//
	any setting is pushed: interval		/^static bool twheel_is_plain/,/^}/s/!setting->interval/1/
	any setting is pushed: count		/^static bool twheel_is_plain/,/^}/s/setting->count <= 1/1/
	any setting is pushed: times		/^static bool twheel_is_plain/,/^}/s/(setting->expires | setting->slack) <= TWHEEL_TIME_MAX/1/
	any setting is pushed: flags		/^static bool twheel_is_plain/,/^}/s/!(setting->flags & ~.*))/1/
	any setting is pushed: wall time	s/(setting->flags & TWHEEL_ARM_ABS || tw->clock != CLOCK_REALTIME)/1/
	the sum is not capped			s/if (arm.expires > TWHEEL_TIME_MAX)/if (0)/
	a relative time counts from nothing	s/arm.expires += now;//
	sooner without a call			s/if (setting->flags & TWHEEL_ARM_CONDITIONS ||/if (0) return 0; if (!tw->loop->queue \&\& timer->handle) return 0; if (setting->flags \& TWHEEL_ARM_CONDITIONS ||/
	a condition is queued			s/if (setting->flags & TWHEEL_ARM_CONDITIONS || /if (/
	a queued call says nothing of the old	/^static bool twheel_may_queue/,/^}/s/ && !old//
	a timer that ended is queued		/^static bool twheel_may_queue/,/^}/s/ && !timer->ended//
	a timer without a handle is queued	/^static bool twheel_may_queue/,/^}/s/timer->handle && //
	a word beside the queue			/^static int twheel_timer_set/,/^}/s/^\ttimer->word = NULL;//
	the arming is not counted		/^static int twheel_timer_set/,/^}/s/timer->arming = (uint32_t)(arm.user_data >> 32);//
	equal deadlines are called as read	/^static bool twheel_is_before/,/^}/s/loop->armings - (uint32_t)(a->user_data >> 32) >/0 \&\& &/
	equal deadlines are called last armed first	/^static bool twheel_is_before/,/^}/s/loop->armings - (uint32_t)(a->user_data >> 32) >/loop->armings - (uint32_t)(a->user_data >> 32) </
	an arming does not flush its own	/^static int twheel_timer_arm_now/,/^}/s/if (timer->slot)/if (0)/
	a cancel does not flush its own		/^TWHEEL_API int twheel_timer_cancel(/,/^}/s/if (timer->slot)/if (0)/
	a get does not flush			/^TWHEEL_API int twheel_timer_get/,/^}/s/if (timer->slot)/if (0)/
	a cancel forgets no re-arm		/^TWHEEL_API int twheel_timer_cancel(/,/^}/s/twheel_queue_forget(timer);//
	a child's free forgets no re-arm	/^TWHEEL_API void twheel_timer_free/,/^}/s/twheel_queue_forget(timer);//
	no room for new ones			/^static int twheel_arm_with_room/,/^}/s/!twheel_queue_has_cancels(tw->loop)/1/
	cancel_all does not flush		/^TWHEEL_API int twheel_timer_cancel_all/,/^}/s/twheel_queue_flush(tw);//
	a dispatch does not flush before it	/^static int dispatch/,/^}/s/ret = twheel_timer_flush(tw);//
	a dispatch does not flush behind it	/^static int dispatch/,/^}/s/^\ttwheel_queue_flush(tw);//
	a drain does not flush			/^TWHEEL_API ssize_t twheel_drain/,/^}/s/twheel_queue_flush(tw);//
	a release does not flush		/^static void twheel_end/,/^}/s/twheel_queue_flush(tw);/;/
	a child flushes				/^static void twheel_end/,/^}/s/if (!twheel_inherited(tw))//
	an error is told twice			/^static int twheel_loop_error/,/^}/s/loop->error = 0;//
	an error is not told			s/tw->loop->error = ret;/;/
	a lease is seen				s/info->flags &= (uint16_t)~TWHEEL_ARM_LEASE;//
	a word is seen				/^TWHEEL_API int twheel_timer_get/,/^}/s/info->word = 0;//
	a tag is seen				/^TWHEEL_API int twheel_timer_get/,/^}/s/info->tag = 0;//
	a timer keeps an old tag		s/timer->tag = arm->tag;//
	a full queue of re-arms			s/if (queue->nr_arms == TWHEEL_QUEUE_MAX)/if (queue->nr_arms > TWHEEL_QUEUE_MAX)/
	a full queue of cancels			s/if (queue->nr_cancels == TWHEEL_QUEUE_MAX)/if (queue->nr_cancels > TWHEEL_QUEUE_MAX)/
	a queue is full too soon		s/if (queue->nr_arms == TWHEEL_QUEUE_MAX)/if (queue->nr_arms == TWHEEL_QUEUE_MAX - 1)/
	a timer is queued twice			/^void twheel_queue_arm/,/^}/s/if (!timer->slot)/if (1)/
	the last one loses its place		s/queue->timers\[slot - 1\]->slot = (uint32_t)slot;//
	the last one loses its re-arm		s/queue->arms\[slot - 1\] = queue->arms\[last\];//
	only batches: cancels			/^static void flush_cancels/,/^}/s/i < n; i++/0; i++/
	only batches: re-arms			s/(ssize_t)i < done ? arm->result : twheel_arm(tw, arm)/arm->result/
	a stolen record				/^static void flush_arms/,/^}/s/if (ret == -ENOENT)/if (0)/
	a failed re-arm stays armed		/^static void flush_arms/,/^}/s/twheel_timer_disarmed(timer);//
	a slot is kept				/^static void flush_arms/,/^}/s/timer->slot = 0;//
	END
}
