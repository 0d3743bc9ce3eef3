/* SPDX-License-Identifier: GPL-2.0-only */
/* Empty: linux/tracepoint.h has made the functions. */
