// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The part of the package for Node that is in C, by its N-API. Only index.js calls it:
 *
 *	open(expire, path, embedded, limit)
 *		a wheel. expire(0) is called if timers have expired, and says how many are to be
 *		called; expire(1), expire(2) and so on is called for each of these. expire(error)
 *		is called if the wheel cannot be watched. A path of undefined is the device or,
 *		where there is none, a wheel in the process
 *	now(wheel)
 *		the time
 *	read(wheel, array, n)
 *		read up to n timers that have expired: the array gets a key and a deadline for each.
 *		How many that were; or an error
 *	push(wheel, array, n)
 *		have n timers expire at other times, or make them: the array has a key and a time
 *		for each. How many that were; or if the first has failed its error, as error()
 *		takes it
 *	cancel(wheel, array, n)
 *		cancel those with the keys in the array, where they are there. How many of the n
 *		that were; or if the first has failed its error
 *	ref(wheel, yes)
 *		is the wheel to keep the loop running?
 *	info(wheel)
 *		an object: how many timers there are, and whether it is embedded
 *	stats(wheel)
 *		what was counted, of a wheel in the process: an object as struct twheel_counters
 *	close(wheel)
 *		end it, and all its timers
 *	error(number)
 *		an Error
 *
 * Times are whole microseconds since the wheel was opened: a number in Node holds them exactly.
 * Keys are small integers, and arrays are Float64Arrays.
 *
 * Node's own event loop watches the wheel's descriptor. A wheel that is garbage is closed: its
 * function is not to have it. When a worker or the process ends, its wheels are closed, too. If a
 * wheel cannot be watched or read its function has to close it, as it would be called again at
 * once.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NAPI_VERSION 8
#include <node_api.h>
#ifdef TWHEEL_INSTALLED
#include <twheel.h>
#else
#include "twheel.h"
#endif
#include <uv.h>

/* Number.MAX_SAFE_INTEGER: this many microseconds, and more, are for ever. */
#define US_MAX		9007199254740991.0

struct wheel {
	napi_env	env;
	napi_ref	expire;
	struct twheel	*tw;
	/* When it was opened, in ns */
	uint64_t	opened;
	uv_poll_t	poll;
	/* Node waits until it is removed before it ends the loop. */
	napi_async_cleanup_hook_handle hook;
	/* Node's object and the loop; the last of them frees this. */
	int		users;
};

/* An Error with the name and the number of an errno. */
static napi_value error_of(napi_env env, int err)
{
	napi_value code, text, number, error;

	napi_create_string_utf8(env, uv_err_name(err), NAPI_AUTO_LENGTH, &code);
	napi_create_string_utf8(env, strerror(-err), NAPI_AUTO_LENGTH, &text);
	napi_create_error(env, code, text, &error);
	napi_create_int32(env, err, &number);
	napi_set_named_property(env, error, "errno", number);
	return error;
}

static napi_value fail(napi_env env, int err)
{
	napi_throw(env, error_of(env, err));
	return NULL;
}

static void put_wheel(struct wheel *wheel)
{
	if (!--wheel->users)
		free(wheel);
}

/* The time @us microseconds after @wheel was opened, in ns. */
static uint64_t to_ns(const struct wheel *wheel, double us)
{
	uint64_t ns;

	if (us >= US_MAX)
		return INT64_MAX;
	/* Both are less than 2^63. */
	ns = wheel->opened + (uint64_t)us * 1000;
	return ns < INT64_MAX ? ns : INT64_MAX;
}

/* The whole microseconds from when @wheel was opened to the time @ns. */
static double to_us(const struct wheel *wheel, uint64_t ns)
{
	return (double)((ns - wheel->opened) / 1000);
}

/* The arguments of a call: the wheel, and one more if @arg is not NULL. */
static struct wheel *arguments(napi_env env, napi_callback_info info, napi_value *arg)
{
	napi_value args[2];
	struct wheel *wheel;
	size_t n = 2;

	if (napi_get_cb_info(env, info, &n, args, NULL, NULL) ||
	    napi_get_value_external(env, args[0], (void **)&wheel)) {
		napi_throw_type_error(env, NULL, "a wheel is expected");
		return NULL;
	}
	if (!wheel->tw) {
		fail(env, -EBADF);
		return NULL;
	}
	if (arg)
		*arg = args[1];
	return wheel;
}

/* The arguments of a call: the wheel, an array, and how many entries of @width numbers it has. */
static struct wheel *array_arguments(napi_env env, napi_callback_info info, size_t width,
				     double **numbers, size_t *entries)
{
	napi_typedarray_type type;
	struct wheel *wheel;
	napi_value args[3];
	size_t n = 3, length;
	uint32_t count;

	if (napi_get_cb_info(env, info, &n, args, NULL, NULL) ||
	    napi_get_value_external(env, args[0], (void **)&wheel) ||
	    napi_get_typedarray_info(env, args[1], &type, &length, (void **)numbers, NULL, NULL) ||
	    type != napi_float64_array || napi_get_value_uint32(env, args[2], &count) ||
	    count > length / width) {
		napi_throw_type_error(env, NULL, "a wheel, an array and a number are expected");
		return NULL;
	}
	if (!wheel->tw) {
		fail(env, -EBADF);
		return NULL;
	}
	*entries = count;
	return wheel;
}

/* Calls the wheel's function, and returns its number, or 0. What that throws is uncaught. */
static double call(struct wheel *wheel, double number)
{
	napi_value expire, self, arg, result;
	napi_handle_scope scope;
	double returned = 0;
	napi_status status;

	napi_open_handle_scope(wheel->env, &scope);
	napi_get_reference_value(wheel->env, wheel->expire, &expire);
	napi_get_global(wheel->env, &self);
	napi_create_double(wheel->env, number, &arg);
	status = napi_make_callback(wheel->env, NULL, self, expire, 1, &arg, &result);
	if (status == napi_pending_exception) {
		napi_get_and_clear_last_exception(wheel->env, &result);
		napi_fatal_exception(wheel->env, result);
	} else if (status == napi_ok) {
		napi_get_value_double(wheel->env, result, &returned);
	}
	napi_close_handle_scope(wheel->env, scope);
	return returned;
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
	napi_delete_reference(wheel->env, wheel->expire);
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
	double i, n;

	(void)what;
	n = call(wheel, status);
	/* The function may close the wheel. */
	for (i = 1; i <= n && wheel->tw; i++)
		call(wheel, i);
}

static void forgotten(napi_env env, void *data, void *hint)
{
	struct wheel *wheel = data;

	(void)env;
	(void)hint;
	if (wheel->tw)
		end(wheel);
	put_wheel(wheel);
}

static napi_value wheel_open(napi_env env, napi_callback_info info)
{
	struct twheel_config config = { .flags = TWHEEL_CONFIG_KEYED };
	unsigned int flags = TWHEEL_OPEN_CLOEXEC | TWHEEL_OPEN_NONBLOCK;
	struct wheel *wheel = calloc(1, sizeof(*wheel));
	napi_value args[4], made;
	bool embedded = false;
	napi_valuetype type;
	char path[4096];
	size_t n = 4, length;
	uv_loop_t *loop;
	double limit;
	int err = 0;

	if (!wheel)
		return fail(env, -ENOMEM);
	wheel->env = env;
	if (napi_get_cb_info(env, info, &n, args, NULL, NULL) ||
	    napi_typeof(env, args[1], &type) ||
	    napi_get_value_bool(env, args[2], &embedded) ||
	    napi_get_value_double(env, args[3], &limit) ||
	    (type == napi_string &&
	     napi_get_value_string_utf8(env, args[1], path, sizeof(path), &length)))
		err = -EINVAL;
	else if (type == napi_string && (length == sizeof(path) - 1 || strlen(path) != length))
		err = length == sizeof(path) - 1 ? -ENAMETOOLONG : -EINVAL;
	if (!err) {
		config.limit = (uint64_t)limit;
		flags |= embedded ? TWHEEL_OPEN_EMBEDDED : 0;
		err = twheel_open(&wheel->tw, type == napi_string ? path : NULL, flags, &config);
	}
	if (!err && (napi_create_reference(env, args[0], 1, &wheel->expire) ||
		     napi_get_uv_event_loop(env, &loop)))
		err = -EINVAL;
	if (!err)
		err = uv_poll_init(loop, &wheel->poll, twheel_fd(wheel->tw));
	if (err) {
		if (wheel->expire)
			napi_delete_reference(env, wheel->expire);
		twheel_close(wheel->tw);
		free(wheel);
		return fail(env, err);
	}
	wheel->opened = twheel_now(wheel->tw);
	napi_create_external(env, wheel, forgotten, NULL, &made);
	napi_add_async_cleanup_hook(env, end_with_loop, wheel, &wheel->hook);
	wheel->users = 2;
	wheel->poll.data = wheel;
	uv_poll_start(&wheel->poll, UV_READABLE, readable);
	/* There is no timer. */
	uv_unref((uv_handle_t *)&wheel->poll);
	return made;
}

static napi_value wheel_now(napi_env env, napi_callback_info info)
{
	struct wheel *wheel = arguments(env, info, NULL);
	napi_value now;

	if (!wheel)
		return NULL;
	napi_create_double(env, to_us(wheel, twheel_now(wheel->tw)), &now);
	return now;
}

static napi_value wheel_read(napi_env env, napi_callback_info info)
{
	struct twheel_event events[256];
	size_t n, part, done = 0;
	struct wheel *wheel;
	napi_value result;
	ssize_t i, ret = 0;
	double *numbers;

	wheel = array_arguments(env, info, 2, &numbers, &n);
	if (!wheel)
		return NULL;
	while (done < n) {
		part = n - done < 256 ? n - done : 256;
		ret = twheel_read(wheel->tw, events, part);
		for (i = 0; i < ret; i++, done++) {
			numbers[2 * done] = (double)events[i].handle;
			numbers[2 * done + 1] = to_us(wheel, events[i].deadline);
		}
		if (ret < (ssize_t)part)
			break;
	}
	/* An error will be there again when what was read before it has been handled. */
	if (done || ret == -EAGAIN || ret == -EINTR)
		ret = (ssize_t)done;
	napi_create_double(env, (double)ret, &result);
	return result;
}

static napi_value wheel_push(napi_env env, napi_callback_info info)
{
	struct twheel_push pushes[256];
	size_t n, i, part, done = 0;
	struct wheel *wheel;
	napi_value result;
	ssize_t ret = 0;
	double *numbers;

	wheel = array_arguments(env, info, 2, &numbers, &n);
	if (!wheel)
		return NULL;
	while (done < n && ret >= 0) {
		part = n - done < 256 ? n - done : 256;
		for (i = 0; i < part; i++) {
			pushes[i].handle = (uint64_t)numbers[2 * (done + i)];
			pushes[i].expires = to_ns(wheel, numbers[2 * (done + i) + 1]);
		}
		ret = twheel_push_batch(wheel->tw, pushes, part);
		if (ret > 0)
			done += ret;
	}
	napi_create_double(env, done ? (double)done : (double)ret, &result);
	return result;
}

static napi_value wheel_cancel(napi_env env, napi_callback_info info)
{
	struct twheel_cancel cancels[256];
	size_t n, i, part, done = 0;
	struct wheel *wheel;
	napi_value result;
	ssize_t ret = 0;
	double *numbers;

	wheel = array_arguments(env, info, 1, &numbers, &n);
	if (!wheel)
		return NULL;
	while (done < n && ret >= 0) {
		part = n - done < 256 ? n - done : 256;
		memset(cancels, 0, part * sizeof(cancels[0]));
		for (i = 0; i < part; i++)
			cancels[i].handle = (uint64_t)numbers[done + i];
		/* Some have expired by now. */
		ret = twheel_cancel_batch(wheel->tw, cancels, part);
		if (ret > 0)
			done += ret;
	}
	napi_create_double(env, done ? (double)done : (double)ret, &result);
	return result;
}

static napi_value wheel_ref(napi_env env, napi_callback_info info)
{
	struct wheel *wheel;
	napi_value arg;
	bool yes;

	wheel = arguments(env, info, &arg);
	if (!wheel)
		return NULL;
	if (napi_get_value_bool(env, arg, &yes))
		return fail(env, -EINVAL);
	if (yes)
		uv_ref((uv_handle_t *)&wheel->poll);
	else
		uv_unref((uv_handle_t *)&wheel->poll);
	return NULL;
}

static napi_value wheel_info(napi_env env, napi_callback_info info)
{
	struct wheel *wheel = arguments(env, info, NULL);
	struct twheel_info context = { 0 };
	napi_value object, value;
	int err;

	if (!wheel)
		return NULL;
	err = twheel_get_info(wheel->tw, 0, &context);
	if (err)
		return fail(env, err);
	napi_create_object(env, &object);
	napi_create_double(env, (double)(context.pending + context.ready), &value);
	napi_set_named_property(env, object, "timers", value);
	napi_get_boolean(env, context.features & TWHEEL_FEATURE_EMBEDDED, &value);
	napi_set_named_property(env, object, "embedded", value);
	return object;
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
	struct wheel *wheel = arguments(env, info, NULL);
	struct twheel_counters counters;
	napi_value stats;
	int err;

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
	struct wheel *wheel = arguments(env, info, NULL);

	if (wheel)
		end(wheel);
	return NULL;
}

static napi_value error_function(napi_env env, napi_callback_info info)
{
	napi_value number;
	int32_t err = 0;
	size_t n = 1;

	if (napi_get_cb_info(env, info, &n, &number, NULL, NULL) ||
	    napi_get_value_int32(env, number, &err) || err >= 0)
		return fail(env, -EINVAL);
	return error_of(env, err);
}

#define FUNCTION(name, function) \
	{ .utf8name = name, .method = function, .attributes = napi_enumerable }

NAPI_MODULE_INIT()
{
	static const napi_property_descriptor functions[] = {
		FUNCTION("open", wheel_open),
		FUNCTION("now", wheel_now),
		FUNCTION("read", wheel_read),
		FUNCTION("push", wheel_push),
		FUNCTION("cancel", wheel_cancel),
		FUNCTION("ref", wheel_ref),
		FUNCTION("info", wheel_info),
		FUNCTION("stats", wheel_stats),
		FUNCTION("close", wheel_close),
		FUNCTION("error", error_function),
	};
	napi_value version;

	napi_define_properties(env, exports, sizeof(functions) / sizeof(functions[0]), functions);
	napi_create_string_utf8(env, TWHEEL_VERSION, NAPI_AUTO_LENGTH, &version);
	napi_set_named_property(env, exports, "version", version);
	return exports;
}
