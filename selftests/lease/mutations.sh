# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034,SC2154 # see selftests/mutate.sh
#
# mutations.sh - mutations of the protocol of leases, on both of its sides

files=(module/lease.h userspace/lib/lease_word.h)

# Prints the first test that fails. The rest of the output ends by SIGPIPE.
found_by() {
	local -x UBSAN_OPTIONS=exitcode=99
	make -s -C selftests/lease O="$scratch/out" MODULE="$tree/module" \
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
	s/if (old > now)/if (old >= now)/
	s/if (old > now)/if (0)/
	s/\*deadline = old;/*deadline = now;/
	s/\*deadline = old;/*deadline = old + 1;/
	s/\*deadline = now + 1;/*deadline = now;/
	s/\*deadline = now + 1;/return true;/
	s/return atomic64_xchg(word, value);/u64 old = atomic64_read(word); atomic64_set(word, value); return old;/
	s/return atomic64_xchg(word, value);/atomic64_xchg(word, value); return value;/
	s/!lease_word_cas(word, &old, deadline))/(lease_word_store(word, deadline), 0))/
	s/while (old < deadline && !lease_word_cas(word, &old, deadline))/if (old < deadline \&\& !lease_word_cas(word, \&old, deadline))/
	s/while (old < deadline && !lease_word_cas(word, &old, deadline))/if (old < deadline \&\& !lease_word_cas(word, \&old, deadline)) return TWHEEL_LEASE_EXPIRED/
	s/while (old < deadline &&/while ((old \& ~TWHEEL_LEASE_EXPIRED) < deadline \&\&/
	s/return !(lease_word_push(word, deadline) & TWHEEL_LEASE_EXPIRED);/return !!lease_word_push(word, deadline);/
	s/while (old < deadline &&/while (/
	s/while (old < deadline &&/while (old + 1 < deadline \&\&/
	s/if (deadline & TWHEEL_LEASE_EXPIRED)/if (0)/
	s/return !!(lease_word_load(word) & TWHEEL_LEASE_EXPIRED);/return !lease_word_load(word);/
	END
}
