/* SPDX-License-Identifier: GPL-2.0-only */
/* Users. */
#ifndef SIM_LINUX_UIDGID_H
#define SIM_LINUX_UIDGID_H

typedef struct { unsigned int val; } kuid_t;

#define GLOBAL_ROOT_UID	((kuid_t){ 0 })
#define uid_eq(a, b)	((a).val == (b).val)
#define __kuid_val(uid)	((uid).val)

#endif /* SIM_LINUX_UIDGID_H */
