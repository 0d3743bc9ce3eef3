/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The same as in a 64-bit kernel: SipHash-1-3, of which 32 bits are taken (J.-P. Aumasson and
 * D. J. Bernstein: SipHash: a fast short-input PRF, Indocrypt 2012).
 */
#ifndef SHIM_LINUX_SIPHASH_H
#define SHIM_LINUX_SIPHASH_H

#include <linux/types.h>

typedef struct {
	u64 key[2];
} hsiphash_key_t;

static inline u64 shim_rotate(u64 x, unsigned int bits)
{
	return x << bits | x >> (64 - bits);
}

static inline void shim_sipround(u64 *v)
{
	v[0] += v[1];
	v[1] = shim_rotate(v[1], 13) ^ v[0];
	v[0] = shim_rotate(v[0], 32);
	v[2] += v[3];
	v[3] = shim_rotate(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = shim_rotate(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = shim_rotate(v[1], 17) ^ v[2];
	v[2] = shim_rotate(v[2], 32);
}

static inline u32 hsiphash_2u32(u32 first, u32 second, const hsiphash_key_t *key)
{
	u64 words[2] = { (u64)second << 32 | first, (u64)8 << 56 };
	u64 v[4] = {
		key->key[0] ^ 0x736f6d6570736575ULL, key->key[1] ^ 0x646f72616e646f6dULL,
		key->key[0] ^ 0x6c7967656e657261ULL, key->key[1] ^ 0x7465646279746573ULL,
	};
	unsigned int i;

	for (i = 0; i < 2; i++) {
		v[3] ^= words[i];
		shim_sipround(v);
		v[0] ^= words[i];
	}
	v[2] ^= 0xff;
	for (i = 0; i < 3; i++)
		shim_sipround(v);
	return (u32)(v[0] ^ v[1] ^ v[2] ^ v[3]);
}

#endif /* SHIM_LINUX_SIPHASH_H */
