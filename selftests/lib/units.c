// SPDX-License-Identifier: GPL-2.0-only
/*
 * Durations, numbers, percentiles and hints: the code that the programs share. Needs no
 * device.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <twheel.h>

#include "device.h"
#include "duration.h"
#include "lateness.h"
#include "number.h"

#include "kselftest_harness.h"

/* The contents of an output before a call that must not change it. */
#define POISON	0xccccccccccccccccULL

TEST(durations)
{
	static const struct {
		const char	*text;
		uint64_t	ns;
	} good[] = {
		{ "0",				0 },
		{ "90",				90 * NSEC_PER_SEC },
		{ "1.5",			1500000000 },
		{ "0.000000001",		1 },
		{ "250ms",			250000000 },
		{ "10m",			600 * NSEC_PER_SEC },
		{ "1h30m",			5400 * NSEC_PER_SEC },
		{ "1.5s",			1500000000 },
		{ "1d2h3m4s5ms6us7ns",		93784005006007 },
		{ "1s1ms",			1001000000 },
		{ "1.5h0.5m",			5430 * NSEC_PER_SEC },
		{ "0.25ms",			250000 },
		{ "7ns",			7 },
		{ "7.000ns",			7 },
		{ "0.5d",			43200 * NSEC_PER_SEC },
		{ "000001s",			NSEC_PER_SEC },
		{ "1.0000000000000000000s",	NSEC_PER_SEC },
		{ "9223372036854775807ns",	INT64_MAX },
		{ "9223372036.854775807",	INT64_MAX },
		{ "106751d",			9223286400000000000 },
		{ "5min",			300 * NSEC_PER_SEC },
		{ "5sec",			5 * NSEC_PER_SEC },
		{ "1h0.5min2sec3ms",		3632003000000 },
	};
	size_t i;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		uint64_t ns = POISON;

		EXPECT_EQ(0, duration_parse(good[i].text, &ns)) {
			TH_LOG("'%s' was refused", good[i].text);
		}
		EXPECT_EQ(good[i].ns, ns) {
			TH_LOG("of '%s'", good[i].text);
		}
	}
}

TEST(durations_refused)
{
	static const char * const bad[] = {
		"", " ", "s", "ms", "5x", "5 s", " 5s", "5s ", "+5s", "-5s", "-1",
		"1h30", "90 ", "1m1h", "1s1s", "1ms1s", "1..5s", ".5s", "5.s", "5.",
		"1.5.5s", "1e3s", "0x10s", "1,5s", "5S", "5secs", "5mins", "5mss",
		"5mi", "5se", "5Min", "5minsec", "1sec1min", "1min1m", "1s1sec", "5msec",
		"1.5ns", "0.0000000001s", "0.00000000001s", "1.01ns", "0.1ns", "inf", "nan",
		"1h-5m", "1h 5m", "5s\n", "99999999999999999999x",
	};
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint64_t ns = POISON;

		EXPECT_EQ(-EINVAL, duration_parse(bad[i], &ns)) {
			TH_LOG("of '%s'", bad[i]);
		}
		EXPECT_EQ(POISON, ns);
	}
	EXPECT_NE(NULL, strstr(duration_error(-EINVAL), "250ms, 10m, 1h30m"));
	EXPECT_NE(NULL, strstr(duration_error(-EINVAL),
			       "d, h, m or min, s or sec, ms, us, ns"));
}

TEST(durations_too_long)
{
	static const char * const bad[] = {
		"9223372036854775808ns", "9223372036.854775808", "106752d",
		"18446744073709551615ns", "18446744073709551616ns", "213504d",
		"99999999999999999999s", "99999999999999999999999999999999999d",
		"9223372036s1000ms", "106751d24h", "1s9223372036854775807ns",
		"1s18446744073709551615ns",
	};
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint64_t ns = POISON;

		EXPECT_EQ(-ERANGE, duration_parse(bad[i], &ns)) {
			TH_LOG("of '%s'", bad[i]);
		}
		EXPECT_EQ(POISON, ns);
	}
	EXPECT_NE(NULL, strstr(duration_error(-ERANGE), "106751d"));
}

TEST(durations_written)
{
	static const struct {
		uint64_t	ns;
		const char	*text;
	} known[] = {
		{ 0,				"0 ns" },
		{ 999,				"999 ns" },
		{ 1000,				"1 us" },
		{ 1048576,			"1.049 ms" },
		{ 999999999,			"1000 ms" },
		{ 1500000000,			"1.5 s" },
		{ 600 * NSEC_PER_SEC,		"600 s" },
		{ UINT64_MAX,			"18446744073 s" },
	};
	char buf[DURATION_SIZE];
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		EXPECT_STREQ(known[i].text, duration_format(buf, known[i].ns));
}

TEST(numbers)
{
	uint64_t number = POISON;

	EXPECT_EQ(-EINVAL, number_parse("", 10, &number));
	EXPECT_EQ(-EINVAL, number_parse("-1", 10, &number));
	EXPECT_EQ(-EINVAL, number_parse("+1", 10, &number));
	EXPECT_EQ(-EINVAL, number_parse(" 1", 10, &number));
	EXPECT_EQ(-EINVAL, number_parse("1 ", 10, &number));
	EXPECT_EQ(-EINVAL, number_parse("1x", 10, &number));
	EXPECT_EQ(-EINVAL, number_parse("0x", 10, &number));
	EXPECT_EQ(-EINVAL, number_parse("99999999999999999999x", 10, &number));
	EXPECT_EQ(-ERANGE, number_parse("11", 10, &number));
	EXPECT_EQ(-ERANGE, number_parse("18446744073709551616", UINT64_MAX, &number));
	EXPECT_EQ(POISON, number);

	EXPECT_EQ(0, number_parse("10", 10, &number));
	EXPECT_EQ(10, number);
	EXPECT_EQ(0, number_parse("010", 10, &number));
	EXPECT_EQ(10, number);
	EXPECT_EQ(0, number_parse("0x1f", 100, &number));
	EXPECT_EQ(31, number);
	EXPECT_EQ(0, number_parse("18446744073709551615", UINT64_MAX, &number));
	EXPECT_EQ(UINT64_MAX, number);
}

TEST(percentiles)
{
	static struct lateness late;
	unsigned int i;

	EXPECT_EQ(0, lateness_percentile(&late, 500));
	/* There is one value for each duration from 1 to 100000 us, so the answers are known. */
	for (i = 100000; i; i--)
		lateness_add(&late, i * NSEC_PER_USEC);
	EXPECT_EQ(100000, late.count);
	for (i = 1; i <= 1000; i++) {
		uint64_t exact = i * 100 * NSEC_PER_USEC;
		uint64_t said = lateness_percentile(&late, i);

		EXPECT_GE(said, exact);
		EXPECT_LE(said, exact + exact / 32);
	}
	EXPECT_EQ(100000 * NSEC_PER_USEC, lateness_percentile(&late, 1000));
}

TEST(percentiles_of_extremes)
{
	static struct lateness late;

	lateness_add(&late, 0);
	EXPECT_EQ(0, lateness_percentile(&late, 999));
	lateness_add(&late, UINT64_MAX);
	EXPECT_EQ(0, lateness_percentile(&late, 500));
	EXPECT_EQ(UINT64_MAX, lateness_percentile(&late, 501));
	EXPECT_EQ(UINT64_MAX, late.max);
}

/* Returns whether a hint for an error mentions @of. */
static int hints(const char *path, int err, const char *of)
{
	const char *hint = device_hint(path, err);
	size_t len = strlen(hint);

	return !strncmp(hint, " (", 2) && hint[len - 1] == ')' && strstr(hint, of);
}

TEST(device_hints)
{
	const char *node = device_registered("") ? "no node" : "module loaded? see 'twheel doctor'";

	EXPECT_TRUE(hints(TWHEEL_DEVICE, -ENOENT, node));
	EXPECT_TRUE(hints(TWHEEL_DEVICE, -ENXIO, "module loaded? see 'twheel doctor'"));
	EXPECT_TRUE(hints(TWHEEL_DEVICE, -ENODEV, "module loaded? see 'twheel doctor'"));
	EXPECT_TRUE(hints(TWHEEL_DEVICE, -EACCES, "permissions"));
	EXPECT_TRUE(hints(TWHEEL_DEVICE, -EPERM, "device cgroup"));
	EXPECT_TRUE(hints("/dev/other", -EACCES, "permissions"));
	EXPECT_TRUE(hints("/dev/other", -EPERM, "device cgroup"));
	EXPECT_TRUE(hints("/dev/other", -EPERM, "seccomp"));
	EXPECT_TRUE(hints("/dev/other", -ENOTTY, "not a twheel device"));
	EXPECT_TRUE(hints("/dev/other", -EPROTONOSUPPORT, "older"));

	/* There are no hints for a device that the user has chosen, or for other errors. */
	EXPECT_STREQ("", device_hint("/dev/other", -ENOENT));
	EXPECT_STREQ("", device_hint("/dev/other", -ENXIO));
	EXPECT_STREQ("", device_hint(TWHEEL_DEVICE, -ENOMEM));
	EXPECT_STREQ("", device_hint(TWHEEL_DEVICE, -EMFILE));
}

TEST(device_hint_permissions)
{
	char path[] = "/tmp/node.XXXXXX";
	int fd = mkstemp(path);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, fchmod(fd, 0640));
	EXPECT_TRUE(hints(path, -EACCES, "permissions of the node and of its folders"));
	ASSERT_EQ(0, fchmod(fd, 0040));
	/* Root may open any file, and this test is a process of its own. */
	if (!geteuid()) {
		ASSERT_EQ(0, seteuid(65534));
		EXPECT_TRUE(hints(path, -EACCES, "permissions: user 0, group 0, mode 0040"));
		ASSERT_EQ(0, seteuid(0));
	} else {
		EXPECT_TRUE(hints(path, -EACCES, "mode 0040"));
	}
	close(fd);
	unlink(path);
}

TEST_HARNESS_MAIN
