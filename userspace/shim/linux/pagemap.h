/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* As uaccess.h. */
#ifndef SHIM_LINUX_PAGEMAP_H
#define SHIM_LINUX_PAGEMAP_H

/* Memory that is not there ends the program: what is left is a null pointer. */
#define fault_in_safe_writeable(p, size)	((p) ? 0 : (size))

#endif /* SHIM_LINUX_PAGEMAP_H */
