/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * A stand-in: a hash with a secret, that is not SipHash but a multiplication. Whoever chooses keys
 * without knowing the secret has two of them in one of m buckets with a probability of at most 2/m,
 * whichever they are (M. Dietzfelbinger: Universal hashing and k-wise independent random variables
 * via integer arithmetic without primes, STACS 1996). Keys at equal distances would all go to few
 * buckets with one secret in a hundred: so they are scattered first, each to a number of its own.
 * That is all that a table of keys needs, and here nobody sees the hash.
 */
#ifndef SHIM_LINUX_SIPHASH_H
#define SHIM_LINUX_SIPHASH_H

#include <linux/types.h>

typedef struct {
	u64 key[2];
} hsiphash_key_t;

/* The upper half of the product of two numbers */
static inline u64 shim_mul_high(u64 a, u64 b)
{
#ifdef __SIZEOF_INT128__
	return (u64)((__uint128_t)a * b >> 64);
#else
	u64 low = (u64)(u32)a * (u32)b, mid = (a >> 32) * (u32)b + (low >> 32);
	u64 other = (u32)a * (b >> 32) + (u32)mid;

	return (a >> 32) * (b >> 32) + (mid >> 32) + (other >> 32);
#endif
}

/* Another number for each, in an order that no multiplication keeps */
static inline u64 shim_scatter(u64 number)
{
	number ^= number >> 32;
	number *= 0x9e3779b97f4a7c15;	/* 2^64 by the golden ratio */
	return number ^ number >> 32;
}

/* Bits 64 to 95 of the product of the number and the secret, which has 128 bits. */
static inline u32 hsiphash_2u32(u32 first, u32 second, const hsiphash_key_t *key)
{
	u64 number = shim_scatter((u64)second << 32 | first);

	return (u32)(key->key[1] * number + shim_mul_high(key->key[0], number));
}

#endif /* SHIM_LINUX_SIPHASH_H */
