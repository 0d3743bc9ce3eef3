// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * An embedded wheel, core and host, as one unit.
 *
 * A call goes through small functions of a dozen files. The compiler makes a seventh fewer
 * instructions of them when it sees all at once.
 */
#include "../../../module/core/arm.c"
#include "../../../module/core/base.c"
#include "../../../module/core/cancel.c"
#include "../../../module/core/ctx.c"
#include "../../../module/core/expire.c"
#include "../../../module/core/hold.c"
#include "../../../module/core/ioctl.c"
#include "../../../module/core/keys.c"
#include "../../../module/core/list.c"
#include "../../../module/core/pool.c"
#include "../../../module/core/push.c"
#include "../../../module/core/table.c"

#include "calls.c"
#include "fd.c"
#include "first.c"
#include "host.c"
#include "share.c"
#include "turn.c"
