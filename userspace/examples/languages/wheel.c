// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * wheel: a module for Node, by its N-API.
 *
 *	open(function)		a wheel, whose function gets the key of each timer that expires
 *	put(wheel, key, ms)	arm or re-arm the timer with this key; Infinity ms are for ever
 *	push(wheel, key, ms)	let it expire after ms, and keep its settings; makes one if there is
 *				none
 *	cancel(wheel, key)	cancel it; false if there is none
 *	cancelAll(wheel)	cancel all
 *	remaining(wheel, key)	how many ms it is until the timer is due; undefined if there is none
 *	stats(wheel)		what was counted, of a wheel in the process: an object as struct
 *				twheel_counters
 *	close(wheel)		end it, and all its timers
 *
 * A key is an integer from 0 to Number.MAX_SAFE_INTEGER: any other is a RangeError, and so is NaN
 * as a time.
 *
 * Node's own event loop watches the wheel's descriptor. A wheel that is open keeps it running. When
 * a worker or the process ends, its wheels are closed. A wheel that cannot be read is closed, too,
 * and its error is uncaught.
 */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NAPI_VERSION 8
#include <node_api.h>
#include <twheel.h>
#include <uv.h>

/* Number.MAX_SAFE_INTEGER */
#define KEY_MAX		9007199254740991.0
/* More milliseconds than these are the latest time, 2^63 - 1 ns. */
#define MS_MAX		9223372036854.0

struct wheel {
	napi_env	env;
	napi_ref	function;
	struct twheel	*tw;
	uv_poll_t	poll;
	/* Node waits until it is removed before it ends the loop. */
	napi_async_cleanup_hook_handle hook;
	/* Node's object and the loop; the last of them frees this. */
	int		users;
};

static napi_value fail(napi_env env, int err)
{
	napi_throw_error(env, NULL, strerror(-err));
	return NULL;
}

static void put_wheel(struct wheel *wheel)
{
	if (!--wheel->users)
		free(wheel);
}

/* Stores @number in @key if it is an integer that a number in Node holds exactly. */
static bool to_key(double number, uint64_t *key)
{
	/* False for NaN, too */
	if (!(number >= 0 && number <= KEY_MAX))
		return false;
	*key = (uint64_t)number;
	return (double)*key == number;
}

/* Stores @ms in nanoseconds, rounded up so that it is not early, in @ns; not if it is NaN. */
static bool to_ns(double ms, uint64_t *ns)
{
	uint64_t whole;
	double part;

	if (isnan(ms))
		return false;
	if (ms <= 0) {
		*ns = 0;
	} else if (ms >= MS_MAX) {
		*ns = INT64_MAX;
	} else {
		/* Both are exact; the product in one piece would not be. */
		whole = (uint64_t)ms;
		part = ms - (double)whole;
		*ns = whole * 1000000 + (part > 0 ? (uint64_t)(part * 1e6) + 1 : 0);
	}
	return true;
}

/* The arguments of a call: the wheel, then up to two numbers, the key and a time. */
static struct wheel *arguments(napi_env env, napi_callback_info info, uint64_t *key, uint64_t *ns)
{
	struct wheel *wheel;
	napi_value args[3];
	double number, ms;
	size_t n = 3;

	if (napi_get_cb_info(env, info, &n, args, NULL, NULL) ||
	    napi_get_value_external(env, args[0], (void **)&wheel) ||
	    (key && napi_get_value_double(env, args[1], &number)) ||
	    (ns && napi_get_value_double(env, args[2], &ms))) {
		napi_throw_type_error(env, NULL, "a wheel and numbers are expected");
		return NULL;
	}
	if (key && !to_key(number, key)) {
		napi_throw_range_error(env, NULL, "a key is an integer from 0 to 2^53 - 1");
		return NULL;
	}
	if (ns && !to_ns(ms, ns)) {
		napi_throw_range_error(env, NULL, "a time in milliseconds is no NaN");
		return NULL;
	}
	if (!wheel->tw) {
		fail(env, -EBADF);
		return NULL;
	}
	return wheel;
}

static void expired(struct wheel *wheel, uint64_t key)
{
	napi_value function, self, arg, error;

	napi_get_reference_value(wheel->env, wheel->function, &function);
	napi_get_global(wheel->env, &self);
	napi_create_int64(wheel->env, (int64_t)key, &arg);
	if (napi_make_callback(wheel->env, NULL, self, function, 1, &arg, NULL) ==
	    napi_pending_exception) {
		napi_get_and_clear_last_exception(wheel->env, &error);
		napi_fatal_exception(wheel->env, error);
	}
}

static void closed(uv_handle_t *poll)
{
	struct wheel *wheel = poll->data;

	napi_remove_async_cleanup_hook(wheel->hook);
	put_wheel(wheel);
}

static void end(struct wheel *wheel)
{
	uv_close((uv_handle_t *)&wheel->poll, closed);
	napi_delete_reference(wheel->env, wheel->function);
	twheel_close(wheel->tw);
	wheel->tw = NULL;
}

/* The worker or the process ends. Node runs the loop until closed() has removed the hook. */
static void end_with_loop(napi_async_cleanup_hook_handle hook, void *arg)
{
	struct wheel *wheel = arg;

	(void)hook;
	if (wheel->tw)
		end(wheel);
}

static void readable(uv_poll_t *poll, int status, int what)
{
	struct wheel *wheel = poll->data;
	struct twheel_event events[64];
	napi_handle_scope scope;
	napi_value text, error;
	ssize_t i, n;

	(void)what;
	napi_open_handle_scope(wheel->env, &scope);
	n = status < 0 ? status : twheel_read(wheel->tw, events, 64);
	/* The function may close the wheel. */
	for (i = 0; i < n && wheel->tw; i++)
		expired(wheel, events[i].handle);
	/* It would come again at once. */
	if (n < 0 && n != -EAGAIN && n != -EINTR) {
		end(wheel);
		napi_create_string_utf8(wheel->env, strerror((int)-n), NAPI_AUTO_LENGTH, &text);
		napi_create_error(wheel->env, NULL, text, &error);
		napi_fatal_exception(wheel->env, error);
	}
	napi_close_handle_scope(wheel->env, scope);
}

static void forgotten(napi_env env, void *wheel, void *hint)
{
	(void)env;
	(void)hint;
	put_wheel(wheel);
}

static napi_value wheel_open(napi_env env, napi_callback_info info)
{
	const struct twheel_config config = { .flags = TWHEEL_CONFIG_KEYED };
	struct wheel *wheel = calloc(1, sizeof(*wheel));
	napi_value function, made;
	uv_loop_t *loop;
	size_t n = 1;
	int err;

	if (!wheel)
		return fail(env, -ENOMEM);
	wheel->env = env;
	err = twheel_open(&wheel->tw, NULL, TWHEEL_OPEN_CLOEXEC | TWHEEL_OPEN_NONBLOCK, &config);
	if (!err && (napi_get_cb_info(env, info, &n, &function, NULL, NULL) ||
		     napi_create_reference(env, function, 1, &wheel->function) ||
		     napi_get_uv_event_loop(env, &loop)))
		err = -EINVAL;
	if (!err)
		err = uv_poll_init(loop, &wheel->poll, twheel_fd(wheel->tw));
	if (err) {
		if (wheel->function)
			napi_delete_reference(env, wheel->function);
		twheel_close(wheel->tw);
		free(wheel);
		return fail(env, err);
	}
	napi_create_external(env, wheel, forgotten, NULL, &made);
	napi_add_async_cleanup_hook(env, end_with_loop, wheel, &wheel->hook);
	wheel->users = 2;
	wheel->poll.data = wheel;
	uv_poll_start(&wheel->poll, UV_READABLE, readable);
	return made;
}

static napi_value wheel_put(napi_env env, napi_callback_info info)
{
	struct wheel *wheel;
	uint64_t key, delay;
	int err;

	wheel = arguments(env, info, &key, &delay);
	if (!wheel)
		return NULL;
	err = twheel_put_after(wheel->tw, key, delay, 0, NULL);
	return err ? fail(env, err) : NULL;
}

static napi_value wheel_push(napi_env env, napi_callback_info info)
{
	uint64_t key, delay, expires;
	struct wheel *wheel;
	int err;

	wheel = arguments(env, info, &key, &delay);
	if (!wheel)
		return NULL;
	expires = twheel_now(wheel->tw) + delay;
	err = twheel_push(wheel->tw, key, expires < INT64_MAX ? expires : INT64_MAX);
	return err ? fail(env, err) : NULL;
}

static napi_value wheel_cancel(napi_env env, napi_callback_info info)
{
	struct wheel *wheel;
	napi_value done;
	uint64_t key;
	int err;

	wheel = arguments(env, info, &key, NULL);
	if (!wheel)
		return NULL;
	err = twheel_cancel(wheel->tw, key, NULL);
	if (err && err != -ENOENT)
		return fail(env, err);
	napi_get_boolean(env, !err, &done);
	return done;
}

static napi_value wheel_cancel_all(napi_env env, napi_callback_info info)
{
	struct wheel *wheel;
	int err;

	wheel = arguments(env, info, NULL, NULL);
	if (!wheel)
		return NULL;
	err = twheel_cancel_all(wheel->tw);
	return err ? fail(env, err) : NULL;
}

static napi_value wheel_remaining(napi_env env, napi_callback_info info)
{
	struct twheel_timer_info timer;
	struct wheel *wheel;
	napi_value ms;
	uint64_t key;
	int err;

	wheel = arguments(env, info, &key, NULL);
	if (!wheel)
		return NULL;
	err = twheel_get(wheel->tw, key, &timer);
	if (err)
		return err == -ENOENT ? NULL : fail(env, err);
	napi_create_double(env, (double)timer.remaining / 1e6, &ms);
	return ms;
}

/* Sets a property of @object to @n counters: a number, or an array of them. */
static void set_counters(napi_env env, napi_value object, const char *name,
			 const uint64_t *counters, uint32_t n)
{
	napi_value number, array;
	uint32_t i;

	napi_create_array_with_length(env, n, &array);
	for (i = 0; i < n; i++) {
		napi_create_double(env, (double)counters[i], &number);
		napi_set_element(env, array, i, number);
	}
	napi_set_named_property(env, object, name, n > 1 ? array : number);
}

static napi_value wheel_stats(napi_env env, napi_callback_info info)
{
	struct twheel_counters counters;
	struct wheel *wheel;
	napi_value stats;
	int err;

	wheel = arguments(env, info, NULL, NULL);
	if (!wheel)
		return NULL;
	err = twheel_stats(wheel->tw, &counters, sizeof(counters));
	if (err)
		return fail(env, err);
	napi_create_object(env, &stats);
	set_counters(env, stats, "armed", &counters.armed, 1);
	set_counters(env, stats, "rearmed", &counters.rearmed, 1);
	set_counters(env, stats, "cancelled", &counters.cancelled, 1);
	set_counters(env, stats, "expired", &counters.expired, 1);
	set_counters(env, stats, "read", &counters.read, 1);
	set_counters(env, stats, "cascaded", &counters.cascaded, 1);
	set_counters(env, stats, "migrated", &counters.migrated, 1);
	set_counters(env, stats, "turns", &counters.turns, 1);
	set_counters(env, stats, "lateness", counters.lateness, TWHEEL_BUCKETS);
	set_counters(env, stats, "expired_a_turn", counters.expired_a_turn, TWHEEL_BUCKETS);
	set_counters(env, stats, "read_a_call", counters.read_a_call, TWHEEL_BUCKETS);
	return stats;
}

static napi_value wheel_close(napi_env env, napi_callback_info info)
{
	struct wheel *wheel;

	wheel = arguments(env, info, NULL, NULL);
	if (wheel)
		end(wheel);
	return NULL;
}

NAPI_MODULE_INIT()
{
	static const napi_property_descriptor functions[] = {
		{ .utf8name = "open", .method = wheel_open, .attributes = napi_enumerable },
		{ .utf8name = "put", .method = wheel_put, .attributes = napi_enumerable },
		{ .utf8name = "push", .method = wheel_push, .attributes = napi_enumerable },
		{ .utf8name = "cancel", .method = wheel_cancel, .attributes = napi_enumerable },
		{ .utf8name = "cancelAll", .method = wheel_cancel_all,
		  .attributes = napi_enumerable },
		{ .utf8name = "remaining", .method = wheel_remaining,
		  .attributes = napi_enumerable },
		{ .utf8name = "stats", .method = wheel_stats, .attributes = napi_enumerable },
		{ .utf8name = "close", .method = wheel_close, .attributes = napi_enumerable },
	};

	napi_define_properties(env, exports, sizeof(functions) / sizeof(functions[0]), functions);
	return exports;
}
