// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * libtwheel: leases, and the mapping that their words lie in.
 *
 * A segment of words is mapped when one of them is first asked for. It stays mapped,
 * so that a program can keep pointers to its words. The kernel makes the pages behind
 * a segment one by one, as timers are armed.
 *
 * Locking rules: there is no lock. The first thread that needs a segment maps it. If
 * two threads map the same segment at once, one of them unmaps its mapping again.
 */
#include <errno.h>
#include <stdlib.h>

#include "internal.h"
#include "lease_word.h"

/**
 * struct twheel_leases - where the words of a context are mapped
 * @segments: the first word of each segment, NULL when not mapped yet
 */
struct twheel_leases {
	uint64_t *segments[TWHEEL_SEGMENTS];
};

int twheel_leases_new(struct twheel *tw)
{
	tw->leases = calloc(1, sizeof(*tw->leases));
	return tw->leases ? 0 : -ENOMEM;
}

void twheel_leases_free(struct twheel *tw)
{
	struct twheel_leases *leases = tw->leases;
	unsigned int i;

	if (!leases)
		return;
	for (i = 0; i < TWHEEL_SEGMENTS; i++) {
		if (leases->segments[i])
			tw->backend->unmap(leases->segments[i]);
	}
	free(leases);
}

TWHEEL_API int twheel_lease_at(struct twheel *tw, uint32_t word, uint16_t tag,
			       struct twheel_lease *lease)
{
	uint32_t index = word >> TWHEEL_SEGMENT_SHIFT;
	uint64_t *segment;
	uint64_t **slot;

	if (tw->emb && twheel_inherited(tw))
		return -ECHILD;
	if (!tw->leases)
		return -ENODEV;
	/* That of a timer which is no lease */
	if (!word || tag > TWHEEL_LEASE_TAG_MASK)
		return -EINVAL;

	slot = &tw->leases->segments[index];
	segment = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
	if (!segment) {
		uint64_t *mapped;
		int ret = tw->backend->map(tw, index, &mapped);

		if (ret)
			return ret;
		if (__atomic_compare_exchange_n(slot, &segment, mapped, false,
						__ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE))
			segment = mapped;
		else
			tw->backend->unmap(mapped);
	}
	lease->word = &segment[word % TWHEEL_SEGMENT_WORDS];
	lease->tag = tag;
	return 0;
}

TWHEEL_API int twheel_lease_new(struct twheel *tw, uint64_t expires,
				unsigned int flags, uint64_t user_data,
				uint64_t *handle, struct twheel_lease *lease,
				struct twheel_old *old)
{
	bool keyed = tw->config & TWHEEL_CONFIG_KEYED;
	struct twheel_arm arm = {
		.expires = expires,
		.user_data = user_data,
		.flags = (uint16_t)(flags | TWHEEL_ARM_LEASE),
	};
	int ret;

	if (flags & ~TWHEEL_ARM_ABS || (keyed && !handle))
		return -EINVAL;
	if (keyed)
		arm.handle = *handle;
	ret = twheel_arm(tw, &arm);
	if (ret)
		return ret;

	ret = twheel_lease_at(tw, arm.word, arm.tag, lease);
	if (ret) {
		/* Without its word the lease could never be extended. */
		twheel_cancel(tw, arm.handle, NULL);
		return ret;
	}
	if (handle)
		*handle = arm.handle;
	twheel_store_old(old, arm.old_state, arm.old_remaining);
	return 0;
}

TWHEEL_API int twheel_lease_extend(struct twheel_lease lease, uint64_t deadline)
{
	return lease_word_extend(lease.word, lease.tag, deadline);
}

TWHEEL_API uint64_t twheel_lease_deadline(struct twheel_lease lease)
{
	return lease_word_deadline(lease.word, lease.tag);
}

TWHEEL_API int twheel_lease_expired(struct twheel_lease lease)
{
	return lease_word_expired(lease.word, lease.tag);
}
