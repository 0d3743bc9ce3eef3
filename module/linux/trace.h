/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoints, below events/twheel in tracefs.
 *
 * All fields are numbers. @ctx tells one open of the device from another. @handle is the key
 * in a context with keys. @clock is a CLOCK_* number. All times are in ns on that clock, in
 * no time namespace.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM twheel

#if !defined(TWHEEL_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define TWHEEL_TRACE_H

#include <linux/tracepoint.h>

#include "clock.h"

DECLARE_EVENT_CLASS(twheel_setting,
	TP_PROTO(const void *ctx, u64 handle, enum twheel_clock clock, u64 deadline,
		 u64 interval, u64 slack),
	TP_ARGS(ctx, handle, clock, deadline, interval, slack),
	TP_STRUCT__entry(
		__field(const void *, ctx)
		__field(u64, handle)
		__field(u64, deadline)
		__field(u64, interval)
		__field(u64, slack)
		__field(s32, clock)
	),
	TP_fast_assign(
		__entry->ctx = ctx;
		__entry->handle = handle;
		__entry->deadline = deadline;
		__entry->interval = interval;
		__entry->slack = slack;
		__entry->clock = twheel_clockids[clock];
	),
	TP_printk("ctx=%p handle=%llu clock=%d deadline=%llu interval=%llu slack=%llu",
		  __entry->ctx, __entry->handle, __entry->clock,
		  __entry->deadline, __entry->interval, __entry->slack)
);

/* A new timer was armed. */
DEFINE_EVENT(twheel_setting, twheel_arm,
	TP_PROTO(const void *ctx, u64 handle, enum twheel_clock clock, u64 deadline,
		 u64 interval, u64 slack),
	TP_ARGS(ctx, handle, clock, deadline, interval, slack)
);

/* A live timer was armed anew. */
DEFINE_EVENT(twheel_setting, twheel_rearm,
	TP_PROTO(const void *ctx, u64 handle, enum twheel_clock clock, u64 deadline,
		 u64 interval, u64 slack),
	TP_ARGS(ctx, handle, clock, deadline, interval, slack)
);

/* A timer was cancelled or drained; @state is the &enum twheel_state it had. */
TRACE_EVENT(twheel_cancel,
	TP_PROTO(const void *ctx, u64 handle, u32 state),
	TP_ARGS(ctx, handle, state),
	TP_STRUCT__entry(
		__field(const void *, ctx)
		__field(u64, handle)
		__field(u32, state)
	),
	TP_fast_assign(
		__entry->ctx = ctx;
		__entry->handle = handle;
		__entry->state = state;
	),
	TP_printk("ctx=%p handle=%llu state=%u",
		  __entry->ctx, __entry->handle, __entry->state)
);

/* A timer became ready at @now. */
TRACE_EVENT(twheel_expire,
	TP_PROTO(const void *ctx, u64 handle, enum twheel_clock clock, u64 deadline,
		 u64 now),
	TP_ARGS(ctx, handle, clock, deadline, now),
	TP_STRUCT__entry(
		__field(const void *, ctx)
		__field(u64, handle)
		__field(u64, deadline)
		__field(u64, now)
		__field(s32, clock)
	),
	TP_fast_assign(
		__entry->ctx = ctx;
		__entry->handle = handle;
		__entry->deadline = deadline;
		__entry->now = now;
		__entry->clock = twheel_clockids[clock];
	),
	TP_printk("ctx=%p handle=%llu clock=%d deadline=%llu now=%llu late=%llu",
		  __entry->ctx, __entry->handle, __entry->clock,
		  __entry->deadline, __entry->now,
		  __entry->now - __entry->deadline)
);

/* In the wheel of @cpu timers came up and were moved to another bucket. */
TRACE_EVENT(twheel_cascade,
	TP_PROTO(u32 cpu, enum twheel_clock clock, u32 timers),
	TP_ARGS(cpu, clock, timers),
	TP_STRUCT__entry(
		__field(u32, cpu)
		__field(s32, clock)
		__field(u32, timers)
	),
	TP_fast_assign(
		__entry->cpu = cpu;
		__entry->clock = twheel_clockids[clock];
		__entry->timers = timers;
	),
	TP_printk("cpu=%u clock=%d timers=%u",
		  __entry->cpu, __entry->clock, __entry->timers)
);

/* A re-arm moved a pending timer to another CPU's wheel. */
TRACE_EVENT(twheel_migrate,
	TP_PROTO(const void *ctx, u64 handle, u32 from_cpu, u32 to_cpu),
	TP_ARGS(ctx, handle, from_cpu, to_cpu),
	TP_STRUCT__entry(
		__field(const void *, ctx)
		__field(u64, handle)
		__field(u32, from_cpu)
		__field(u32, to_cpu)
	),
	TP_fast_assign(
		__entry->ctx = ctx;
		__entry->handle = handle;
		__entry->from_cpu = from_cpu;
		__entry->to_cpu = to_cpu;
	),
	TP_printk("ctx=%p handle=%llu from_cpu=%u to_cpu=%u",
		  __entry->ctx, __entry->handle, __entry->from_cpu,
		  __entry->to_cpu)
);

/* A read() returned records. */
TRACE_EVENT(twheel_read,
	TP_PROTO(const void *ctx, u64 records),
	TP_ARGS(ctx, records),
	TP_STRUCT__entry(
		__field(const void *, ctx)
		__field(u64, records)
	),
	TP_fast_assign(
		__entry->ctx = ctx;
		__entry->records = records;
	),
	TP_printk("ctx=%p records=%llu", __entry->ctx, __entry->records)
);

#endif /* TWHEEL_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
