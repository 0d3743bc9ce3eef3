// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each call with each fault: the first thing in it that can fail does, then the
 * second, and so on, until none is left.
 */
#include <stdio.h>

#include "each.h"
#include "faults.h"
#include "kselftest.h"

/* Far more than any of the calls has. */
#define MAX_FAULTS	2000

static void begin(const struct fault_case *c, struct world *w)
{
	int i;

	world_begin(w);
	if (!c->bare)
		world_open(w, c->real ? CLOCK_REALTIME : c->clock ?: CLOCK_MONOTONIC, c->config);
	for (i = 0; i < c->pending; i++)
		world_add(w, TW_FAR, i % 8 ? 0 : TW_SEC, 0);
	for (i = 0; i < c->ready; i++)
		world_add(w, 0, i ? 0 : TW_FAR, 0);
	if (c->begin)
		c->begin(w);
}

static void after(const struct fault_case *c, struct world *w, long ret)
{
	if (c->after)
		c->after(w, ret);
	if (w->fd >= 0)
		world_check(w);
}

static bool expected(const struct fault_case *c, long ret, bool fired)
{
	unsigned int i;

	if (c->want ? ret == c->want : ret >= 0)
		return true;
	for (i = 0; i < ARRAY_SIZE(c->errors) && c->errors[i]; i++)
		if (fired && ret == -c->errors[i])
			return true;
	return false;
}

/* Make the call while the @n-th thing in it that can fail does. Was there one? */
static bool one_fault(const struct fault_case *c, unsigned int n)
{
	static struct world w;
	char what[80];
	bool fired;
	long ret;

	snprintf(what, sizeof(what), "%s, fault %u", c->name, n);
	faults_at = what;
	begin(c, &w);
	if (c->rest)
		faults_arm_rest(n);
	else
		faults_arm(n);
	ret = c->call(&w);
	fired = !(c->rest ? faults_disarm_rest() : faults_disarm());
	w.fired = fired;
	faults_note(ret);

	if (!expected(c, ret, fired))
		violation("%ld (%s)%s", ret, strerror(-ret), fired ? "" : ", and none fired");
	after(c, &w, ret);

	if (ret < 0 && ret != c->want) {
		ret = c->call(&w);
		w.fired = false;
		if (c->want ? ret != c->want : ret < 0)
			violation("fails again without a fault: %ld", ret);
		after(c, &w, ret);
	}

	if (c->end)
		c->end(&w);
	if (w.fd >= 0)
		world_finish(&w);
	faults_at = NULL;
	return fired;
}

static void all_faults(const struct fault_case *c)
{
	unsigned long before = fault_figures.violations;
	unsigned int n = 1;

	while (n < MAX_FAULTS && one_fault(c, n))
		n++;
	if (n == MAX_FAULTS)
		violation("%s: no end of it", c->name);
	ksft_test_result(fault_figures.violations == before, "%s: %u faults\n", c->name, n - 1);
}

static bool picked(const struct fault_case *c, const char *only)
{
	return !only || !strncmp(c->name, only, strlen(only));
}

void each_fault(const struct fault_case *cases, int n, const char *only)
{
	int i, plan = 0;

	setlinebuf(stdout);
	ksft_print_header();
	faults_init();
	for (i = 0; i < n; i++)
		plan += picked(&cases[i], only);
	ksft_set_plan(plan);
	for (i = 0; i < n; i++)
		if (picked(&cases[i], only))
			all_faults(&cases[i]);
	faults_report();
	ksft_finished();
}
