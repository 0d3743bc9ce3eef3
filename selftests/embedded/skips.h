/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which tests do not run on an embedded wheel, and why. Every test program includes this,
 * after the harness, when it is built for that.
 */
#ifndef EMBEDDED_SKIPS_H
#define EMBEDDED_SKIPS_H

#include <string.h>

/**
 * struct skip - a test that is skipped
 * @fixture: its fixture
 * @test: its name
 * @why: the reason
 */
struct skip {
	const char *fixture;
	const char *test;
	const char *why;
};

#define FAULT	"a bad address is the program's own fault, and no EFAULT"
#define SHARED	"only descriptors of the device are shared, kept and passed on"
#define NODE	"only the device has a node, parameters, counters and an entry in /proc"
#define CALL	"twheel_read() is the only call that reads"
#define MAPPED	"words are memory of the process, and not mapped from a descriptor"
#define EACH_SLOT	"each wheel has a slot of its own"
#define FIRST	"words are where those of the first wheel are"

static const struct skip skips[] = {
	/* uapi/abi.c */
	{ "tw", "device_node", NODE },
	{ "tw", "info_agrees_with_the_parameters", NODE },
	{ "tw", "pointers_that_lead_nowhere", FAULT },
	{ "tw", "entries_at_kernel_addresses", FAULT },
	{ "tw", "arguments_that_end_in_the_void", FAULT },
	{ "tw", "arguments_in_read_only_memory", FAULT },
	{ "tw", "half_an_entry_changes_nothing", FAULT },
	/* uapi/batch.c */
	{ "tw", "arm_array_that_ends_early", FAULT },
	{ "tw", "cancel_array_that_ends_early", FAULT },
	{ "tw", "no_first_entry", FAULT },
	{ "tw", "read_only_arrays", FAULT },
	/* uapi/cancel_on_set.c */
	{ "told", "a_read_that_does_not_wait", CALL },
	{ "told", "a_shared_context", SHARED },
	/* uapi/clocks.c */
	{ "wall", "the_cost_of_a_step_is_bounded", NODE },
	{ "wall", "a_step_back_in_a_run", NODE },
	/* uapi/close.c */
	{ "end", "close_under_a_waiting_thread", "no call may overlap twheel_close()" },
	/* uapi/lease.c */
	{ "lease", "kinds_of_mappings", MAPPED },
	{ "lease", "pages_on_demand", MAPPED },
	{ "lease", "found_by_another_process", SHARED },
	{ "tw", "mapping_outlives_close", MAPPED },
	/* uapi/list.c */
	{ "tw", "drain_into_a_buffer_that_ends_early", FAULT },
	{ "tw", "drain_into_nothing_at_all", FAULT },
	/* uapi/push.c */
	{ "tw", "memory_that_ends_early", FAULT },
	{ "tw", "vectors_and_nowait", "twheel_push_batch() is the only call that writes" },
	/* uapi/read.c */
	{ "tw", "scattered_buffers", CALL },
	{ "tw", "no_seeking", CALL },
	{ "tw", "nowait_for_one_call", CALL },
	{ "tw", "fault_at_the_first_record", FAULT },
	{ "tw", "fault_in_the_middle", FAULT },
	{ "tw", "fault_in_a_later_piece", FAULT },
	{ "tw", "epoll_exclusive_wakes_one", "what is an epoll itself takes no EPOLLEXCLUSIVE" },
	{ "tw", "fork_shares_the_context", SHARED },
	{ "tw", "passed_over_a_socket", SHARED },
	/* lib/calls.c */
	{ "calls", "adopt_and_release", SHARED },
	{ "calls", "batch_that_runs_out_of_memory_to_read", FAULT },
	/* lib/deferred.c */
	{ "words", "no_room_to_map", MAPPED },
	{ "words", "another_time_namespace", SHARED },
	{ "words", "of_a_child", SHARED },
	{ "queue", "is_flushed_at_the_end", SHARED },
	/* lib/fork.c */
	{ "fork", "plain_calls_are_shared", SHARED },
	{ "fork", "drain_without_objects", SHARED },
	/* lib/modes.c */
	{ "lease", "passed_on", SHARED },
	{ "lease", "close_unmaps", MAPPED },
#ifdef WITH_SHARDS
	{ "global", "three_descriptors_are_enough", "each wheel has two of its own" },
	{ "global", "a_step_is_not_lost", "a read that waits takes nothing while it does" },
	{ "stats", "shared", EACH_SLOT },
	{ "stats", "shared_with_a_child", EACH_SLOT },
	{ "stats", "shared_with_a_child_of_the_same_pid", EACH_SLOT },
	{ "stats", "no_memory", EACH_SLOT },
	{ "cond", "if_pending_rearms", FIRST },
	{ "cond", "if_pending_does_not_make", FIRST },
	{ "cond", "if_pending_leaves_what_has_expired", FIRST },
	{ "cond", "if_none_makes", FIRST },
	{ "cond", "if_none_leaves_what_there_is", FIRST },
	{ "fifo", "leases_by_their_words", FIRST },
	{ "lease", "segments", FIRST },
	{ "tw", "a_lease_stays_one", FIRST },
	{ "tw", "stale_lease_with_a_key_is_too_late", FIRST },
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	{ "global", "a_small_stack", "the sanitizer has more on it" },
#endif
#ifdef __SANITIZE_ADDRESS__
	{ "lease", "no_room_to_map", "the sanitizer needs room, too" },
#endif
};

static const char *skip_reason(const char *fixture, const char *test)
{
	size_t i;

	for (i = 0; i < sizeof(skips) / sizeof(skips[0]); i++)
		if (!strcmp(fixture, skips[i].fixture) && !strcmp(test, skips[i].test))
			return skips[i].why;
	return NULL;
}

/* Takes the place of a test that is skipped. */
static void skip_test(struct __test_metadata *_metadata,
		      struct __fixture_variant_metadata *variant)
{
	(void)variant;
	SKIP(return, "%s", skip_reason(_metadata->fixture->name, _metadata->name));
}

static void skip_tests(void)
{
	struct __fixture_metadata *fixture;
	struct __test_metadata *test;

	for (fixture = __fixture_list; fixture; fixture = fixture->next)
		for (test = fixture->tests; test; test = test->next)
			if (skip_reason(fixture->name, test->name))
				test->fn = skip_test;
}

static int run_all_but_skips(int argc, char **argv)
{
	skip_tests();
	return test_harness_run(argc, argv);
}

/* What main() calls, which the harness defines. */
#define test_harness_run run_all_but_skips

#endif /* EMBEDDED_SKIPS_H */
