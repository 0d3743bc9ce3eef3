# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154 # see selftests/mutate.sh
#
# mutations.sh - mutations of the protocol of leases, on both of its sides

files=(module/core/lease.h userspace/lib/lease_word.h)

# Prints the first test that fails. The rest of the output ends by SIGPIPE.
found_by() {
	local -x UBSAN_OPTIONS=exitcode=99
	make -s -C selftests/lease O="$scratch/out" MODULE="$tree/module/core" \
		LIBRARY="$tree/userspace/lib" >"$scratch/log" 2>&1 || {
		tail -n 20 "$scratch/log" >&2
		return 1
	}
	timeout 120 "$scratch/out/test_interleave" | sed -n '/^not ok/{s/^not ok [0-9]* //p;q}' || :
}

mutations() {
	cat <<-'END'
	s/if (atomic64_try_cmpxchg(word, &seen, \(.*\)))$/atomic64_set(word, \1); if (1)/
	s/if (atomic64_try_cmpxchg(word, &seen, .*))$/if (1)/
	s/&seen, old | TWHEEL_LEASE_EXPIRED/\&seen, old/
	s/tries < TWHEEL_LEASE_TRIES/tries < 100 * TWHEEL_LEASE_TRIES/
	s/\*deadline = min_t.*/if (!tries) &/
	s/min_t(u64, \(.*\), now)/\1/
	/^static inline bool twheel_lease_claim/,/^}/s/if (old & TWHEEL_LEASE_EXPIRED)/if (0)/
	s/if (twheel_lease_deadline(old) > now)/if (twheel_lease_deadline(old) >= now)/
	s/if (twheel_lease_deadline(old) > now)/if (0)/
	s/\*deadline = twheel_lease_deadline(old);/*deadline = now;/
	s/\*deadline = twheel_lease_deadline(old);/*deadline = twheel_lease_deadline(old) + 1;/
	s/\*deadline = now + 1;/*deadline = now;/
	s/\*deadline = now + 1;/return true;/
	/^static inline u64 twheel_lease_deadline/,/^}/s/return (word & TWHEEL_LEASE_UNITS_MASK)/return word/
	/^static inline uint64_t lease_word_ns/,/^}/s/return (word & TWHEEL_LEASE_UNITS_MASK)/return word/
	s/u64 units = (deadline + .*/u64 units = deadline >> TWHEEL_LEASE_UNIT_SHIFT;/
	s/return min_t(u64, units, TWHEEL_LEASE_UNITS_MASK);/return units;/
	s/u64 next = atomic64_read(word) + .*/u64 next = atomic64_read(word);/
	s/value |= next & TWHEEL_LEASE_TAG_BITS;/value |= next;/
	s/value |= atomic64_read(word) & TWHEEL_LEASE_TAG_BITS;//
	s/value |= atomic64_read(word) & TWHEEL_LEASE_TAG_BITS;/value |= atomic64_read(word);/
	s/\*old = atomic64_xchg(word, value);/*old = atomic64_read(word); atomic64_set(word, value);/
	s/\*old = atomic64_xchg(word, value);/atomic64_xchg(word, value); *old = value;/
	/^static inline u64 twheel_lease_end/,/^}/s/if (old & TWHEEL_LEASE_EXPIRED)/if (0)/
	s/atomic64_or(TWHEEL_LEASE_EXPIRED, word);/atomic64_set(word, old | TWHEEL_LEASE_EXPIRED);/
	s/atomic64_or(TWHEEL_LEASE_EXPIRED, word);/atomic64_set(word, TWHEEL_LEASE_EXPIRED);/
	s/return atomic64_read(word) & ~TWHEEL_LEASE_EXPIRED;/return old;/
	s/return word >> TWHEEL_LEASE_TAG_SHIFT == tag;/return !(word \& TWHEEL_LEASE_EXPIRED);/
	s/return word >> TWHEEL_LEASE_TAG_SHIFT == tag;/return (word >> TWHEEL_LEASE_TAG_SHIFT \& TWHEEL_LEASE_TAG_MASK) == tag;/
	s/uint64_t units = (ns + .*/uint64_t units = ns >> TWHEEL_LEASE_UNIT_SHIFT;/
	s/return units < TWHEEL_LEASE_UNITS_MASK ? units : TWHEEL_LEASE_UNITS_MASK;/return units;/
	s/!lease_word_cas(word, &old, new))/(lease_word_store(word, new), 0))/
	s/while (lease_word_runs(old, tag) && old < new && !lease_word_cas(word, &old, new))/if (lease_word_runs(old, tag) \&\& old < new \&\& !lease_word_cas(word, \&old, new))/
	s/while (lease_word_runs(old, tag) && old < new && !lease_word_cas(word, &old, new))/if (lease_word_runs(old, tag) \&\& old < new \&\& !lease_word_cas(word, \&old, new)) return TWHEEL_LEASE_EXPIRED/
	s/while (lease_word_runs(old, tag) && old < new/while (old < new/
	s/while (lease_word_runs(old, tag) && old < new/while (lease_word_runs(old, tag)/
	s/ && old < new && / \&\& old + 1 < new \&\& /
	s/return lease_word_runs(lease_word_push(word, tag, deadline), tag);/return !!lease_word_push(word, tag, deadline);/
	s/if (deadline & TWHEEL_LEASE_EXPIRED)/if (0)/
	s/return lease_word_runs(seen & ~TWHEEL_LEASE_EXPIRED, tag) ? lease_word_ns(seen) : 0;/return lease_word_ns(seen);/
	s/return lease_word_runs(seen & ~TWHEEL_LEASE_EXPIRED, tag) ?/return lease_word_runs(seen, tag) ?/
	s/return !lease_word_runs(lease_word_load(word), tag);/return lease_word_load(word) >> 63;/
	END
}
