# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154 # see selftests/mutate.sh
#
# mutations.sh - of the module, for the simulator to find: those of torture and of the fuzzer, and
# others that are aimed at what runs at the same time
#
# EPISODES (8000) has the plain build, half as many are about limits, and in a fortieth of them each
# allocation and copy fails in turn; a tenth of them has the build with the address sanitizer, and then
# a fortieth of them the one with the thread sanitizer, always from the same seed on. Which of them
# has found it is said, and after how much CPU time.
#
# Not found in so many episodes, and why:
#
#	an isolated CPU goes on: no promise is broken. The run that comes next there sets the hrtimer
#		elsewhere, since twheel_program() looks for isolation, too
#	settings are settled without a release, a chunk is stored without a release: stores leave a
#		CPU in their order here, so only the thread sanitizer could see it, and needs more
#		episodes than it gets
#	a kick does not look again, a lease is claimed without a compare, reclaim takes the lock of
#		another clock: the window is narrow, and they are found from some seeds, and not from
#		others
#	a reader finds records and not their base: the same, and it is open once for each wheel
#	the next round stays where the reader may not run: no promise is broken, as it comes in time
#		there, too

files=(module/*/*.[ch])

# look BUILD SANITIZER EPISODES [OPTION]
look() {
	local what time
	make -s -C "$top/selftests/sim" MODULE="$tree/module" O="$scratch/sim" SANITIZER="$2" \
		ARGS="--seed 1 --episodes $3 ${4-}" sim >"$scratch/out" 2>&1 && return
	# A mutant that does not build tells nothing.
	if grep -m 3 -E ': error: |: undefined reference' "$scratch/out" >&2; then
		return 1
	fi
	what=$(grep -m 1 -oE 'WARNING: .*|ERROR: .*|runtime error: .*' "$scratch/out" || :)
	what=${what:-$(sed -n '/^FAILED: promise/{s/FAILED: //;N;s/\n/: /p;q}' "$scratch/out")}
	time=$(sed -n 's/.* and \([0-9.]* CPU s\)$/\1/p' "$scratch/out")
	[ -n "$what" ] || { tail -n 5 "$scratch/out" >&2; return 1; }
	echo "$1 after ${time:-some time}: $what" >"$scratch/found"
}

found_by() {
	local n=${EPISODES:-8000}
	rm -f "$scratch/found"
	look plain '' "$n" || return
	[ -e "$scratch/found" ] || look tenants '' $((n / 2)) --tenants || return
	[ -e "$scratch/found" ] || look "each fault" '' $((n / 40)) "--each-fault 40 --each 20" ||
		return
	[ -e "$scratch/found" ] || look address address $((n / 10)) || return
	[ -e "$scratch/found" ] || look thread thread $((n / 40)) || return
	[ ! -e "$scratch/found" ] || head -c 150 "$scratch/found" | head -n 1
}

of_suite() (
	# shellcheck source=/dev/null # one of several
	. "$top/selftests/$1/mutations.sh"
	mutations
)

mutations() {
	of_suite torture
	of_suite fuzz
	cat <<-'END'
	a timer is not looked at again once locked	/^static bool lock_timer/,/^}/s/^\t*twheel_cpu_of(where)), second);/&\n\t\treturn true;/
	bases are locked in any order	s/if (b && b->cpu < a->cpu)/if (0)/
	a timer is the same after its locks were released	/^bool twheel_hold_both/,/^}/s/return lock_timer(hold, timer, hold->local) &&/return lock_timer(hold, timer, hold->local) || 1 ||/
	a key names what it named before	/^static struct twheel_timer \*find_key/,/^}/s/twheel_pool_is_named(pool, timer, key))/1)/
	a hint is as good as a handle	/^static noinline struct twheel_timer \*find_and_lock/,/^}/s/twheel_pool_is_named(&hold->ctx->pool, timer, handle))/1)/
	one timer is not looked at again once locked	/^static struct twheel_timer \*lock_one/,/^}/s/if (likely(is_pending_here(hold, READ_ONCE(timer->where)) &&/if (likely(hold \&\&/
	any base guards a timer	/^static bool is_guarded/,/^}/s/ && hold->base->cpu == twheel_cpu_of(where)//
	waiters are woken with locks held	/^void twheel_hold_end/,/^}/s/^\tunlock_all(hold);/\tif (hold->wake)\n\t\ttwheel_ctx_wake(hold->ctx);\n&/
	arming for the past wakes nobody	/^static void make_ready/,/^}/s/hold->wake = true;/;/
	a timer moves to a base that is not locked	/^static int rearm_anew/,/^}/s/if (!ready && hold->base != local && hold->second != local)/if (0)/
	a lease is pushed back as any timer	/^bool twheel_timer_postpone/,/^}/s/unlikely(twheel_is_lease(timer->where)) || //
	a record is pushed back	/^static bool may_push/,/^}/s/return .*/return true;/
	half an entry is lost	/^static u32 copy_in/,/^}/s/iov_iter_revert(from, bytes % sizeof(\*pushes));/;/
	a push ends an interval	/^static struct twheel_arm arming_of/,/^}/s/= timer->interval,/= 0,/
	a push ends before it has made a timer	/^static u32 push_all/,/^}/s/^\t\t\tdone++;/\t\t\treturn done;/
	a close does not wait for the last expiry	/^static void discard/,/^}/s/if (twheel_timer_state(timer) == TWHEEL_STATE_NONE)/if (twheel_timer_state(timer) != TWHEEL_STATE_PENDING)/
	a timer that ends keeps its key	/^static inline void twheel_pool_end_timer/,/^}/s/twheel_keys_remove(&pool->keys, timer);/;/
	a bucket is split under another lock	/^static bool split/,/^}/s/twheel_keys_lock_of(keys, nr)/twheel_keys_lock_of(keys, nr + 1)/
	nobody learns that a CPU has records	/^void twheel_ctx_make_ready/,/^}/s/^\tif (ready->nr == 1) {/\tif (0) {/
	a reader finds records, and not their base	/^void twheel_ctx_make_ready/,/^}/s/smp_mb__before_atomic();/;/
	a CPU has records for ever	/^static void sub_ready/,/^}/s/^\tif (!ready->nr)/\tif (0)/
	readers never begin anew	/^ssize_t twheel_expire_deliver/,/^}/s/^\t\t\tcpu = twheel_ctx_next_ready(ctx, 0);/\t\t\tbreak;/
	the next round stays where the reader may not run	/^static ssize_t deliver(/,/^}/s/next_base = twheel_base_local(quota, ctx->clock);/next_base = base;/
	expiry wakes nobody	s/^\t\ttwheel_ctx_wake(run->wake\[i\]);/\t\t;/
	expiry wakes the last context only	s/run->wake\[run->nr_wake++\] = ctx;/run->wake[0] = ctx, run->nr_wake = 1;/
	a run notes contexts without end	s/ run\.nr_wake <= ARRAY_SIZE(run\.wake) - TWHEEL_EXPIRE_BATCH);/ true);/
	a run wakes 40 contexts	/^void twheel_expire_wake/,/^}/s/i < run->nr_wake;/i < min(run->nr_wake, 40U);/
	a part of a record counts	/^static size_t store/,/^}/s/iov_iter_revert(to, copied % sizeof(\*events));/;/
	a lease is claimed without a compare	s/if (atomic64_try_cmpxchg(word, &seen, old | TWHEEL_LEASE_EXPIRED))/if (atomic64_xchg(word, old | TWHEEL_LEASE_EXPIRED), 1)/
	the word of a lease that ended goes on	/^static inline u64 twheel_lease_end/,/^}/s/atomic64_or(TWHEEL_LEASE_EXPIRED, word);/;/
	a word keeps its tag	s/atomic64_read(word) + (1ULL << TWHEEL_LEASE_TAG_SHIFT);/atomic64_read(word);/
	a context is freed without a grace period	/^void twheel_ctx_destroy/,/^}/s/call_rcu(&ctx->rcu, free_ctx);/free_ctx(\&ctx->rcu);/
	the number of records is stored plainly	/^static void add_ready/,/^}/s/WRITE_ONCE(ready->nr, ready->nr + 1);/ready->nr++;/
	two steps are told as one, or as none	/^bool twheel_ctx_take_step/,/^}/s/WRITE_ONCE(ctx->steps, steps);/WRITE_ONCE(ctx->steps, 0);/
	a chunk is freed without a grace period	s/call_rcu(&chunk->rcu, free_chunk);/free_chunk(\&chunk->rcu);/
	a chunk stays in the table	/^static void drop_empty/,/^}/s/set_slot(.*/;/
	rmmod does not wait for what waits	/^void twheel_quota_exit/,/^}/s/^\trcu_barrier();/\t;/
	settings are settled without a release	s/smp_store_release(&pool->settled, true);/WRITE_ONCE(pool->settled, true);/
	settings are settled without an acquire	s/return smp_load_acquire(&pool->settled);/return READ_ONCE(pool->settled);/
	a chunk is stored without a release	/^static void set_slot/,/^}/s/rcu_assign_pointer(\(.*\), (void \*)entry);/WRITE_ONCE(\1, (void *)entry);/
	what is free is stored plainly	/^int twheel_pool_alloc/,/^}/s/WRITE_ONCE(chunk->free, free);/chunk->free = free;/
	where a timer is is stored plainly	/^static inline void twheel_timer_set_where/,/^}/s/smp_store_release(&timer->where, state/(timer->where = state/
	memory that has left still counts	/^static void free_chunk/,/^}/s/twheel_quota_memory_left(quota, TWHEEL_CHUNK_SIZE);/;/
	a batch goes over the limit	/^int twheel_pool_alloc/,/^}/s/n = min(n, stock->reserved - stock->used);/n = stock->reserved > stock->used ? n : 0;/
	a context goes over its limit	/^static bool reserve_of_pool/,/^}/s/got = .*/got = true;/
	a context goes over its limit by what it does not need yet	/^static u32 reserve_more/,/^}/s/^\t\t  twheel_share(.*/n);/
	what others look for is kept	/^static int grow/,/^}/s/sought = twheel_account_is_sought(&pool->account);/sought = false;/
	what is in hand stays reserved	/^static int grow/,/^}/s/release(pool, hand);/;/
	reclaim takes the lock of another clock	/^int twheel_pool_configure/,/^}/s/WRITE_ONCE(stock_of(pool, cpu)->base, NULL);/;/
	a closed context keeps its timers	/^void twheel_pool_destroy/,/^}/s/give_back(pool, stock, 0);/;/
	what is reclaimed stays reserved	/^static void give_back/,/^}/s/release(pool, unused - keep);/;/
	a limit that has its old value again is not seen	/^static int set_limit/,/^}/s/twheel_limit_changes + 1);/*(unsigned long *)limit->arg);/
	a lower limit is not seen	/^static bool limits_changed/,/^}/s/return READ_ONCE/return 0 \&\& READ_ONCE/
	a timer is freed under any lock	/^void twheel_pool_free_slow/,/^}/s/if (READ_ONCE(.*== base)/if (1)/
	a timer is freed under the lock of another stock	/^static inline void twheel_pool_free/,/^}/s/READ_ONCE(stock->base) == base \&\& //
	a chunk moves without its timers	/^static void move_chunk/,/^}/s/WRITE_ONCE(to->used, to->used + used);/;/
	an empty chunk moves, and counts still	/^static void move_chunk/,/^}/s/from->nr_empty--/(void)from/
	times are of the namespace of who called first	s/offsets = &nsproxy->time_ns->offsets;/static typeof(offsets) first; offsets = first = first ?: \&nsproxy->time_ns->offsets;/
	a chunk is made anew, and its handles come again	/^static struct twheel_chunk \*new_chunk/,/^}/s/^\tchunk->generation = .*/\t;/
	an array is freed without a grace period	s/kvfree_rcu(old, rcu);/kvfree(old);/
	a block is not copied	/^static int add_block/,/^}/s/memcpy(array->blocks, old->blocks, nr \* sizeof(block));/;/
	a user goes over the limit	/^static bool add_unless_above/,/^}/s/if (old + n > max)/if (0)/
	memory that leaves keeps no user	/^void twheel_quota_memory_leaves/,/^}/s/refcount_inc(&quota->refs);/;/
	it may sleep with a lock held	/^void twheel_pool_reclaim/,/^}/s/^\t\tgive_back(pool, stock, 0);/&\n\t\tcond_resched();/
	the table of users has no lock	/^static struct twheel_quota \*find_or_add/,/^}/s/^\tspin_lock_bh(&twheel_quota_lock);/\tlocal_bh_disable();/
	a kick does not look again	s/} while (READ_ONCE(cbase->base.programmed) != tick ||.*/} while (0);/
	a kick has no barrier	/^static void kick/,/^}/s/^\t\tsmp_mb();/\t\tbarrier();/
	whoever kicks has no barrier	/^static bool start_remote/,/^}/s/^\tsmp_mb();/\tbarrier();/
	an end does not wait for kicks	/^void twheel_program_wait/,/^}/s/wait_for_kicks(cbase);/;/
	an end leaves its hrtimer	/^void twheel_program_wait/,/^}/s/hrtimer_cancel(&cbase->hrtimer);/;/
	a CPU that goes is not away	/^static int twheel_cpu_offline/,/^}/s/set_away(cpu, true);/;/
	what is programmed is not noted	/^void twheel_program(/,/^}/s/^\tWRITE_ONCE(base->programmed, tick);/\t;/
	what was programmed stays noted	/^static noinline bool expire_batch/,/^}/s/WRITE_ONCE(base->programmed, TWHEEL_NEVER);/;/
	an earlier timer is not programmed	/^void twheel_base_enqueue/,/^}/s/if (base->wheel.next_expiry < base->programmed)/if (base->programmed == TWHEEL_NEVER)/
	a wheel that leaves is freed at once	/^void twheel_wheels_destroy/,/^}/s/synchronize_rcu();/;/
	a wheel is forgotten by those who walk	/^void twheel_program_begin/,/^}/s/list_add_tail_rcu(&cbase->entry, &cpu->bases);/INIT_LIST_HEAD(\&cbase->entry);/
	a new wheel does not learn that its CPU went	/^void twheel_program_begin/,/^}/s/cbase->away = cpu->away;/;/
	a wheel is found, and the first one is not	/^static bool publish/,/^}/s/smp_store_release(&wheels->first\[clock\], cbase);/;/
	the first wheel is stored without a release	/^static bool publish/,/^}/s/smp_store_release(&wheels->first\[clock\], cbase);/WRITE_ONCE(wheels->first[clock], cbase);/
	two tasks make one wheel	/^static bool publish/,/^}/s/missing = !\*slot;/missing = true;/
	a run ends without the next one	/^enum hrtimer_restart twheel_turn/,/^}/s/^\tif (more)$/\tif (0)/
	wheels are not looked at after a step	/^static void look_at_wheels/,/^}/s/twheel_look();/;/
	an isolated CPU goes on	s/if (unlikely(twheel_cpu_isolated(smp_processor_id())) &&/if (0 \&\&/
	nobody is woken by a step	/^static void queue_step_works/,/^}/s/queue_work(twheel_step_wq, &twheel_notify_work);/;/
	the clocks of a namespace are mixed up	s/&offsets->boottime : &offsets->monotonic/\&offsets->monotonic : \&offsets->boottime/
	a watch is left	/^void twheel_clock_unwatch/,/^}/s/list_del(&watch->entry);/;/
	rmmod leaves its work items	/^void twheel_clock_exit/,/^}/s/destroy_workqueue(twheel_step_wq);/;/
	a reader leaves what others wait for	/^static ssize_t twheel_read_iter/,/^}/s/^\twake_next_reader(ctx);/\t;/
	poll() looks before it waits	/^static __poll_t twheel_poll/,/^}/s/^\t\(poll_wait(file, &ctx->waiters.pollers, wait);\)/\tif (!is_readable(ctx)) {\n\t\t\1\n\t\treturn 0;\n\t}/
	no poll() is woken	s/wake_up_interruptible_poll(&waiters->pollers, EPOLLIN | EPOLLRDNORM);/;/
	no reader is woken	s/^\twake_up_interruptible(&waiters->readers);/\t;/
	a read-only descriptor arms	s/return writable ? ioctl_one(ctx, &twheel_op_arm, arg) : -EBADF;/return ioctl_one(ctx, \&twheel_op_arm, arg);/
	flags of a batch are not looked at	s/if (batch.flags || batch.count > INT_MAX)/if (batch.count > INT_MAX)/
	what cannot be told stays armed	s/^\t\top->undo(ctx, buf + i \* op->size);/\t\t;/
	a list faults with locks held	s/copy_to_user_nofault(to, &info, sizeof(info))/copy_to_user(to, \&info, sizeof(info))/
	a list has no leases	/^static int list_one/,/^}/s/twheel_timer_state(timer) == TWHEEL_STATE_PENDING/& \&\& !twheel_is_lease(timer->where)/
	a list that faults forgets what it has told	/^long twheel_list_pending/,/^}/s/^\t\t\t\treturn n ?: -EFAULT;/\t\t\t\treturn -EFAULT;/
	a read that faults forgets what it has told	/^static ssize_t read_ready/,/^}/s/return total ?: -EFAULT;/return -EFAULT;/
	words are not charged	/^static struct page \*new_page/,/^}/s/ret = twheel_quota_add_memory(words->quota, PAGE_SIZE);/ret = 0;/
	a page of words is left	/^void twheel_words_destroy/,/^}/s/put_page(page);/;/
	END
}
