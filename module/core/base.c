// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * A wheel and its lock.
 *
 * Locking rules: the order of all locks is in Documentation/design.md.
 *
 * Silence: the host turns a wheel only when its next bucket that is not empty has its turn. It is
 * told when an earlier turn comes up, and sees to the next one whenever it has turned the wheel.
 * When a timer is removed nothing changes, and the host may find nothing to do.
 */
#include <linux/minmax.h>

#include "base.h"
#include "debug.h"
#include "host.h"

struct twheel_geometry twheel_geometry __read_mostly;

void twheel_base_init(struct twheel_base *base, enum twheel_clock clock, u16 cpu,
		      void *memory)
{
	spin_lock_init(&base->lock);
	base->clock = clock;
	base->cpu = cpu;
	base->programmed = TWHEEL_NEVER;
	twheel_wheel_init(&base->wheel, twheel_geometry.slots, twheel_geometry.levels,
			  twheel_now_to_tick(twheel_clock_now(clock)), memory);
}

void twheel_bases_lock(struct twheel_base *a, struct twheel_base *b)
	__acquires(&a->lock)
{
	if (b && b->cpu < a->cpu)
		swap(a, b);

	twheel_assert(!b || b == a || (a->cpu < b->cpu && a->clock == b->clock));
	spin_lock(&a->lock);
	if (b && b != a) {
		spin_lock_nested(&b->lock, SINGLE_DEPTH_NESTING);
		/* For sparse, which cannot follow a lock that depends on a condition. */
		__release(&b->lock);
	}
}

void twheel_bases_unlock(struct twheel_base *a, struct twheel_base *b)
	__releases(&a->lock)
{
	if (b && b != a) {
		__acquire(&b->lock);
		spin_unlock(&b->lock);
	}
	spin_unlock(&a->lock);
}

void twheel_base_forward(struct twheel_base *base, u64 now)
{
	u64 tick = twheel_now_to_tick(now);

	lockdep_assert_held(&base->lock);

	if (tick < base->wheel.clk)
		twheel_wheel_rewind(&base->wheel, tick);
	else
		twheel_wheel_forward(&base->wheel, tick);
}
