#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Break the protocol in scratch copies of its two sides, one way at a time, and
# see that test_interleave finds each. TAP on stdout.
#
# A mutation is a sed expression. One that no longer applies, or that is not
# found, is a failure. An argument picks the mutations that contain it.
set -u
cd "$(dirname "$0")" || exit 1

module=../../module/lease.h
library=../../userspace/lib/lease_word.h
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
export UBSAN_OPTIONS=exitcode=99

mutations()
{
	sed 's/^\t*//' <<-'EOT'
	module s/if (atomic64_try_cmpxchg(word, &seen, \(.*\)))$/atomic64_set(word, \1); if (1)/
	module s/if (atomic64_try_cmpxchg(word, &seen, .*))$/if (1)/
	module s/&seen, old | TWHEEL_LEASE_EXPIRED/\&seen, old/
	module s/tries < TWHEEL_LEASE_TRIES/tries < 100 * TWHEEL_LEASE_TRIES/
	module s/\*deadline = min_t.*/if (!tries) &/
	module s/min_t(u64, \(.*\), now)/\1/
	module s/if (old & TWHEEL_LEASE_EXPIRED)/if (0)/
	module s/if (old > now)/if (old >= now)/
	module s/if (old > now)/if (0)/
	module s/\*deadline = old;/*deadline = now;/
	module s/\*deadline = old;/*deadline = old + 1;/
	module s/\*deadline = now + 1;/*deadline = now;/
	module s/\*deadline = now + 1;/return true;/
	module s/return atomic64_xchg(word, value);/u64 old = atomic64_read(word); atomic64_set(word, value); return old;/
	module s/return atomic64_xchg(word, value);/atomic64_xchg(word, value); return value;/
	library s/while (!lease_word_cas(word, &old, deadline));/while (lease_word_store(word, deadline), 0);/
	library s/while (!lease_word_cas(word, &old, deadline));/while (lease_word_cas(word, \&old, deadline), 0);/
	library s/} while (!lease_word_cas(word, &old, deadline));/if (!lease_word_cas(word, \&old, deadline)) return 0; } while (0);/
	library s/if (old & TWHEEL_LEASE_EXPIRED)/if (0)/
	library s/if (old >= deadline)/if (0)/
	library s/if (old >= deadline)/if (old > deadline + 1)/
	library s/if (deadline & TWHEEL_LEASE_EXPIRED)/if (0)/
	library s/return !!(lease_word_load(word) & TWHEEL_LEASE_EXPIRED);/return !lease_word_load(word);/
	EOT
}

# Print the first test that fails. The rest end by SIGPIPE.
failing()
{
	if make -s O="$scratch" MODULE="$scratch" LIBRARY="$scratch" >"$scratch/log" 2>&1; then
		timeout 120 "$scratch/test_interleave" | sed -n '/^not ok/{s/^not ok [0-9]* //p;q}'
	else
		sed 's/^/# /' "$scratch/log" >&2
	fi
}

mutations | grep -F -- "${1:-}" >"$scratch/mutations"
echo "TAP version 13"
echo "1..$(wc -l <"$scratch/mutations")"
n=0
status=0
while read -r side mutation; do
	n=$((n + 1))
	cp "$module" "$library" "$scratch"
	case $side in
	module)		original=$module ;;
	library)	original=$library ;;
	esac
	sed "$mutation" "$original" >"$scratch/${original##*/}"
	found=
	if cmp -s "$original" "$scratch/${original##*/}"; then
		echo "# does not apply"
	else
		found=$(failing)
		echo "# found by: ${found:-none}"
	fi
	[ -n "$found" ] || status=1
	printf '%s %d %s %s\n' "${found:+ok}" "$n" "$side" "$mutation" | sed 's/^ /not ok /'
done <"$scratch/mutations"
exit $status
