/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A stand-in: a hash with a secret that spreads keys as SipHash does (the finalizer of A. Appleby's
 * MurmurHash3), but does not keep the secret from somebody who sees hashes. Here nobody does.
 */
#ifndef SHIM_LINUX_SIPHASH_H
#define SHIM_LINUX_SIPHASH_H

#include <linux/types.h>

typedef struct {
	u64 key[2];
} hsiphash_key_t;

static inline u32 hsiphash_2u32(u32 first, u32 second, const hsiphash_key_t *key)
{
	u64 x = ((u64)second << 32 | first) ^ key->key[0];

	x = (x ^ x >> 33) * 0xff51afd7ed558ccdULL ^ key->key[1];
	x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53ULL;
	return (u32)(x ^ x >> 33);
}

#endif /* SHIM_LINUX_SIPHASH_H */
