/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoints: with V=1 they are lines of the trace. The module's trace.h says what is in them.
 * They are always on, since to evaluate their arguments passes points: a trace must not change what
 * is traced.
 */
#ifndef SIM_LINUX_TRACEPOINT_H
#define SIM_LINUX_TRACEPOINT_H

#include <linux/types.h>

/* report.c: a line, if there is to be a trace */
void sim_trace_event(const char *event, const char *format, ...)
	__attribute__((__format__(__printf__, 2, 3)));

#define TP_PROTO(...)		__VA_ARGS__
#define TP_ARGS(...)		__VA_ARGS__
#define TP_STRUCT__entry(...)	__VA_ARGS__
#define TP_fast_assign(...)	__VA_ARGS__
#define TP_printk(...)		__VA_ARGS__
#define __field(type, name)	type name;

#define DECLARE_EVENT_CLASS(class, proto, args, fields, assign, print)		\
	static inline void sim_class_##class(const char *event, proto)		\
	{									\
		struct { fields } entry, *__entry = &entry;			\
										\
		assign								\
		sim_trace_event(event, print);					\
	}
#define DEFINE_EVENT(class, name, proto, args)					\
	static inline bool trace_##name##_enabled(void)				\
	{									\
		return true;							\
	}									\
	static inline void trace_##name(proto)					\
	{									\
		sim_class_##class(#name, args);					\
	}
#define TRACE_EVENT(name, proto, args, fields, assign, print)			\
	DECLARE_EVENT_CLASS(name, TP_PROTO(proto), TP_ARGS(args),		\
			    TP_STRUCT__entry(fields), TP_fast_assign(assign),	\
			    TP_printk(print))					\
	DEFINE_EVENT(name, name, TP_PROTO(proto), TP_ARGS(args))

#endif /* SIM_LINUX_TRACEPOINT_H */
