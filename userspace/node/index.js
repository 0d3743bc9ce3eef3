// SPDX-License-Identifier: GPL-2.0-only OR MIT
// twheel: timers for programs that hold very many. index.d.ts says what each method does.
//
// A call of C costs more than all the rest. So the wheel is told in batches what was armed, made to
// be due earlier, and cancelled: after 20 ms, or in this turn of the event loop if a timer is due
// within 40 ms. Of a timer that is cancelled before that it never hears, nor that one is pushed
// back: when it comes up there it is armed for what is left.
//
// Inside, times are whole microseconds since the wheel was opened; 0 stands for none.
'use strict';

const { AsyncResource } = require('async_hooks');
const { performance } = require('perf_hooks');
const { inspect } = require('util');
// Taken now: what a test puts in their place later is not for the wheel.
const { setTimeout, clearTimeout, setImmediate, clearImmediate } = require('timers');
const addon = require('./build/Release/twheel.node');

const clock = performance.now.bind(performance);

// For so long the wheel need not be told of a timer that is due after twice that time, in ms.
const LAG = 20;
const SOON = 2 * LAG * 1000;
const NEVER = Number.MAX_SAFE_INTEGER;
// So many share the price of a call.
const BATCH = 1024;

// Errors as Node's own functions have them
function wrongType(what, value) {
	const error = new TypeError(`${what}, not ${value === null ? 'null' : typeof value}`);

	return Object.assign(error, { code: 'ERR_INVALID_ARG_TYPE' });
}

function outOfRange(what, value) {
	return Object.assign(new RangeError(`${what}, not ${value}`), { code: 'ERR_OUT_OF_RANGE' });
}

// Microseconds, rounded up so that it is not early; what is too long is for ever.
function microseconds(ms) {
	if (typeof ms !== 'number')
		throw wrongType('a time in milliseconds is a number', ms);
	if (ms !== ms)
		throw outOfRange('a time in milliseconds is a number', ms);
	return ms > 0 ? ms * 1000 : 0;
}

function checkFunction(callback) {
	if (typeof callback !== 'function')
		throw wrongType('a callback is a function', callback);
}

function checkObject(options) {
	if (typeof options !== 'object' || options === null)
		throw wrongType('options are an object', options);
}

// Says what could not be opened.
function notOpened(path, error) {
	error.path = path === undefined ? '/dev/twheel' : path;
	error.message += `, open '${error.path}'`;
	if (path === undefined && error.code === 'EINVAL' && 'TWHEEL_BACKEND' in process.env)
		error.message += ' or TWHEEL_BACKEND (auto, device, embedded)';
	return error;
}

// It may be any other value. Who passes one means that timer, of which no key is known here.
function checkKey(key) {
	if (key instanceof Timer)
		throw new TypeError('a timer is no key: call its own cancel() or push()');
}

// The time on our clock at which that of a wheel began, or a little earlier. Ours is read first, and
// the wheel's tells whole microseconds that have passed: so no pair of them makes a timer early. Other
// processes may run in between, which would make all timers late: so the best of some pairs is taken.
function startOf(open) {
	let start = -Infinity;

	for (let i = 0; i < 5; i++) {
		const now = clock();
		start = Math.max(start, now - (addon.now(open) + 1) / 1000);
	}
	return start;
}

class Timer extends AsyncResource {
	constructor(wheel, callback, args, delay, period, key) {
		super('TwheelTimer');
		this._wheel = wheel;
		this._callback = callback;
		this._args = args;
		// As given, for refresh()
		this._delay = delay;
		// Of an interval, in microseconds; otherwise 0
		this._period = period;
		this._key = key;
		this._ref = true;
		// When it is due
		this._deadline = 0;
		// What the wheel knows: a deadline that is not later
		this._told = 0;
		// With which deadline it has come up there
		this._came = 0;
		// Its key in the wheel
		this._slot = 0;
		// The wheel is to be told of it: its place among those, counted from 1; or 0
		this._place = 0;
		// The wheel has refused it: its place in the heap of those; or 0
		this._rank = 0;
		this.expirations = 0;
		wheel._arm(this, delay);
	}

	get armed() {
		return this._deadline !== 0;
	}

	get remaining() {
		if (this._deadline === 0)
			return 0;
		if (this._deadline === NEVER)
			return Infinity;
		return Math.max(0, (this._deadline - this._wheel._now()) / 1000);
	}

	refresh() {
		this._wheel._arm(this, this._delay);
		return this;
	}

	push(ms) {
		const delay = microseconds(ms);

		if (this._deadline === 0)
			return false;
		this._wheel._arm(this, delay);
		return true;
	}

	cancel() {
		return this._wheel._cancel(this);
	}

	ref() {
		if (!this._ref) {
			this._ref = true;
			if (this._deadline !== 0)
				this._wheel._count(1);
		}
		return this;
	}

	unref() {
		if (this._ref) {
			this._ref = false;
			if (this._deadline !== 0)
				this._wheel._count(-1);
		}
		return this;
	}

	hasRef() {
		return this._ref;
	}

	// Otherwise it is printed with its wheel, and so with all timers.
	[inspect.custom](depth, options) {
		const { armed, remaining, _callback: callback } = this;
		const key = this._key === undefined ? {} : this._key;

		return `Timer ${inspect({ armed, remaining, ...key, callback }, options)}`;
	}
}

// The timers that a wheel has refused, and those that wait behind them: a binary heap, by deadline.
class Refused {
	constructor() {
		// From 1 on
		this._heap = [null];
	}

	get size() {
		return this._heap.length - 1;
	}

	get first() {
		return this._heap[1];
	}

	add(timer) {
		this._heap.push(timer);
		this._sift(timer, this.size);
	}

	// Its deadline has changed.
	move(timer) {
		this._sift(timer, timer._rank);
	}

	remove(timer) {
		const last = this._heap.pop();

		if (last !== timer)
			this._sift(last, timer._rank);
		timer._rank = 0;
	}

	// Puts a timer in order, beginning at the place "i", whose timer is in hand.
	_sift(timer, i) {
		const heap = this._heap;
		const put = (other) => {
			heap[i] = other;
			other._rank = i;
		};

		for (; i > 1 && timer._deadline < heap[i >> 1]._deadline; i >>= 1)
			put(heap[i >> 1]);
		for (let child; (child = 2 * i) < heap.length; i = child) {
			if (child + 1 < heap.length && heap[child + 1]._deadline < heap[child]._deadline)
				child++;
			if (timer._deadline <= heap[child]._deadline)
				break;
			put(heap[child]);
		}
		put(timer);
	}
}

// Wheels with armed timers. Another one is collected when nobody has it, which closes it.
const busy = new Set();

// What C calls, which does not keep the wheel.
function expireOf(wheel) {
	const weak = new WeakRef(wheel);

	return (n) => {
		const wheel = weak.deref();

		return wheel === undefined ? 0 : wheel._expire(n);
	};
}

class Wheel {
	constructor(options = {}) {
		checkObject(options);
		const { path, embedded = false, limit = 0 } = options;

		if (path !== undefined && typeof path !== 'string')
			throw wrongType('a path is a string', path);
		if (typeof embedded !== 'boolean')
			throw wrongType('embedded is true or false', embedded);
		if (typeof limit !== 'number')
			throw wrongType('a limit is a number', limit);
		if (!Number.isSafeInteger(limit) || limit < 0)
			throw outOfRange('a limit is an integer from 0 to 2^53 - 1', limit);
		try {
			this._open = addon.open(expireOf(this), path, embedded, limit);
		} catch (error) {
			throw notOpened(path, error);
		}
		this._start = startOf(this._open);
		this._dirty = [];
		// By their keys in the wheel; the first is not used
		this._slots = [null];
		this._free = [];
		this._keys = new Map();
		this._size = 0;
		// Armed timers that keep the loop running
		this._refs = 0;
		// Who rejects promises when all timers are cancelled
		this._waiters = new Set();
		this._lag = null;
		this._soon = null;
		// When the lag is over, on our clock
		this._lagEnds = 0;
		// What has come up and is to be called, by deadline
		this._due = [];
		this._refused = new Refused();
		// What the wheel has refused until it was due, and with which deadline
		this._late = [];
		// The last deadline that has come up, of all that was read with those
		this._last = 0;
		this._numbers = new Float64Array(2 * BATCH);
		this._gone = new Float64Array(BATCH);
		this.promises = promisesOf(this);
	}

	get closed() {
		return this._open === null;
	}

	get size() {
		return this._size;
	}

	get embedded() {
		return addon.info(this._use()).embedded;
	}

	stats() {
		return addon.stats(this._use());
	}

	setTimeout(callback, ms, ...args) {
		checkFunction(callback);
		return new Timer(this, callback, args, microseconds(ms), 0, undefined);
	}

	setInterval(callback, ms, ...args) {
		const delay = microseconds(ms);

		checkFunction(callback);
		if (delay < 1)
			throw outOfRange('an interval in milliseconds is 0.001 or more', ms);
		return new Timer(this, callback, args, delay, Math.min(Math.ceil(delay), NEVER), undefined);
	}

	put(key, ms, callback, ...args) {
		const delay = microseconds(ms);

		checkFunction(callback);
		this._use();
		// Which refuses what is no key
		this.cancel(key);
		const timer = new Timer(this, callback, args, delay, 0, { key });
		this._keys.set(key, timer);
		return timer;
	}

	get(key) {
		checkKey(key);
		return this._keys.get(key);
	}

	has(key) {
		checkKey(key);
		return this._keys.has(key);
	}

	push(key, ms) {
		const delay = microseconds(ms), timer = this.get(key);

		if (timer === undefined)
			return false;
		this._arm(timer, delay);
		return true;
	}

	cancel(key) {
		const timer = this.get(key);

		return timer !== undefined && this._cancel(timer);
	}

	cancelAll() {
		this._cancelAll('ECANCELED', 'the timers were cancelled');
	}

	timeoutSignal(ms) {
		const controller = new AbortController();

		this.setTimeout(() => controller.abort(
			new DOMException('The operation was aborted due to timeout', 'TimeoutError')),
				ms).unref();
		return controller.signal;
	}

	flush() {
		const error = this._flush(this._use());

		if (error < 0)
			throw addon.error(error);
	}

	close() {
		const open = this._open;

		if (open === null)
			return;
		this._cancelAll('EBADF', 'the wheel is closed');
		this._open = null;
		clearTimeout(this._lag);
		clearImmediate(this._soon);
		this._dirty = [];
		this._slots = [null];
		this._due = [];
		this._refused = new Refused();
		this._late = [];
		addon.close(open);
	}

	[inspect.custom](depth, options) {
		const { closed, size } = this;

		return `Wheel ${inspect({ closed, size }, options)}`;
	}

	_use() {
		if (this._open === null)
			throw errorOf('EBADF', 'the wheel is closed');
		return this._open;
	}

	// The time on its clock, or a little later
	_now() {
		return (clock() - this._start) * 1000;
	}

	_count(refs) {
		const before = this._refs;

		this._refs += refs;
		if (this._open !== null && (before === 0) !== (this._refs === 0))
			addon.ref(this._open, this._refs !== 0);
	}

	_arm(timer, delay) {
		const now = this._now();

		this._use();
		if (timer._deadline === 0) {
			// A timer with a key has it again, in place of another one.
			if (timer._key !== undefined && this._keys.get(timer._key.key) !== timer) {
				this.cancel(timer._key.key);
				this._keys.set(timer._key.key, timer);
			}
			if (this._size++ === 0)
				busy.add(this);
			if (timer._ref)
				this._count(1);
		}
		// Never 0, which is no time
		timer._deadline = Math.min(Math.ceil(now + delay) || 1, NEVER);
		if (timer._rank !== 0)
			this._refused.move(timer);
		if (timer._place !== 0 || timer._rank !== 0)
			this._schedule(delay < SOON);
		else if (timer._told === 0 || timer._deadline < timer._told)
			this._tell(timer, delay < SOON);
	}

	_tell(timer, soon) {
		timer._place = this._dirty.push(timer);
		this._schedule(soon);
	}

	_schedule(soon) {
		if (soon && this._soon === null) {
			this._soon = setImmediate(() => this._flush(this._open));
		} else if (!soon && this._lag === null) {
			this._lag = setTimeout(() => this._flush(this._open), LAG).unref();
			this._lagEnds = clock() + LAG;
		}
	}

	// It is not armed any more.
	_forget(timer) {
		timer._deadline = 0;
		if (--this._size === 0)
			busy.delete(this);
		if (timer._ref)
			this._count(-1);
		if (timer._key !== undefined)
			this._keys.delete(timer._key.key);
	}

	_cancel(timer) {
		if (timer._deadline === 0)
			return false;
		this._forget(timer);
		if (timer._rank !== 0) {
			this._refused.remove(timer);
			this._release(timer);
		} else if (timer._told !== 0 && timer._place === 0) {
			this._tell(timer, false);
		} else if (timer._told === 0 && timer._place !== 0) {
			// The others keep their order, and places.
			if (timer._place === this._dirty.length)
				this._dirty.pop();
			else
				this._dirty[timer._place - 1] = null;
			timer._place = 0;
			this._release(timer);
		}
		return true;
	}

	// Those who wait for them get the error.
	_cancelAll(code, message) {
		for (const timer of [...this._slots, ...this._dirty])
			if (timer !== null)
				this._cancel(timer);
		for (const reject of [...this._waiters])
			reject(errorOf(code, message));
	}

	// Tells the wheel what it does not know yet. Returns the error, less than 0, with which it refused
	// a timer; or 0.
	_flush(open) {
		const gone = [], moved = [], fresh = [];
		let error = 0, done = 0;

		clearTimeout(this._lag);
		clearImmediate(this._soon);
		this._lag = this._soon = null;
		for (const timer of this._dirty.splice(0)) {
			if (timer === null)
				continue;
			timer._place = 0;
			if (timer._deadline === 0)
				gone.push(timer);
			else if (timer._told === 0)
				fresh.push(timer);
			else if (timer._deadline < timer._told)
				moved.push(timer);
		}
		// The key of what was cancelled may be that of a new timer; and it makes room.
		for (let i = 0; i < gone.length; i += BATCH)
			this._cancelPart(open, gone.slice(i, i + BATCH));
		// These need no room: a refusal of one says nothing of the next.
		for (let i = 0; i < moved.length;) {
			const n = this._pushPart(open, moved.slice(i, i + BATCH));

			if (n < 0) {
				error = n;
				moved[i]._told = 0;
				this._refused.add(moved[i]);
			}
			i += Math.max(n, 1);
		}
		// New ones do: what is due first is asked for first.
		while (done < fresh.length && error === 0 && this._refused.size === 0) {
			const n = this._pushPart(open, fresh.slice(done, done + BATCH));

			if (n < 0)
				error = n;
			else
				done += n;
		}
		for (; done < fresh.length; done++) {
			this._slot(fresh[done]);
			this._refused.add(fresh[done]);
		}
		return this._refused.size === 0 ? 0 : this._askAgain(open, error);
	}

	// Where there is no memory for a cancel it keeps its key, and is asked for again.
	_cancelPart(open, gone) {
		gone.forEach((timer, i) => { this._gone[i] = timer._slot; });
		const cancelled = addon.cancel(open, this._gone, gone.length);

		gone.forEach((timer, i) => {
			if (i < cancelled)
				this._release(timer);
			else
				this._tell(timer, false);
		});
	}

	// Returns how many the wheel has taken, or with which error it has refused the first.
	_pushPart(open, timers) {
		timers.forEach((timer, i) => {
			this._slot(timer);
			this._numbers[2 * i] = timer._slot;
			this._numbers[2 * i + 1] = timer._deadline;
		});
		const n = addon.push(open, this._numbers, timers.length);

		for (let i = 0; i < n; i++)
			timers[i]._told = timers[i]._deadline;
		return n;
	}

	// Asks the wheel for what it has refused, until it refuses one; not if it has refused one just now,
	// with an error. What is due need not be asked for.
	_askAgain(open, error) {
		const now = addon.now(open), refused = this._refused;

		while (refused.size !== 0 && refused.first._deadline <= now)
			this._callLate(refused.first, now);
		for (let n = 1; error === 0 && refused.size !== 0;) {
			const asked = [];

			while (asked.length < n && refused.size !== 0) {
				asked.push(refused.first);
				refused.remove(refused.first);
			}
			const taken = this._pushPart(open, asked);

			if (taken < 0)
				error = taken;
			for (let i = Math.max(taken, 0); i < asked.length; i++)
				refused.add(asked[i]);
			// After a part was taken the first of the rest is asked for alone, for the error.
			n = taken < asked.length ? 1 : Math.min(2 * n, BATCH);
		}
		if (refused.size !== 0)
			this._schedule(false);
		return error;
	}

	// A timer is due that the wheel has refused. Each has a function of its own, as it may throw.
	_callLate(timer, now) {
		const told = timer._deadline, list = this._late;

		this._refused.remove(timer);
		timer._told = told;
		list.push({ timer, told });
		setImmediate(() => {
			// No read has to take these along any more.
			if (this._late === list)
				this._late = [];
			this._run(timer, told, now);
		});
	}

	// Gives it a key in the wheel, if it has none.
	_slot(timer) {
		if (timer._slot === 0) {
			timer._slot = this._free.length ? this._free.pop() : this._slots.length;
			this._slots[timer._slot] = timer;
		}
	}

	// Its key can be that of another.
	_release(timer) {
		timer._told = 0;
		if (timer._slot !== 0) {
			this._slots[timer._slot] = null;
			this._free.push(timer._slot);
			timer._slot = 0;
		}
	}

	// Timers have come up in the wheel, n = 0: how many are to be called? Or one of these is to be
	// called; or there is an error.
	_expire(n) {
		if (n > 0) {
			const timer = this._due[n - 1];

			if (n === this._due.length)
				this._due = [];
			this._run(timer, timer._came, this._last);
			return 0;
		}
		const error = n < 0 ? n : this._readAll();

		if (error < 0) {
			this.close();
			throw addon.error(error);
		}
		return this._due.length;
	}

	// Reads all that has come up, as the order is that of all, and by the deadlines that timers have
	// now. Returns the error if there was nothing.
	_readAll() {
		const came = [];
		let n, late;

		this._last = 0;
		// Also of what has passed before it was told
		if (this._soon !== null || (this._lag !== null && clock() >= this._lagEnds))
			this._flush(this._open);
		do {
			n = addon.read(this._open, this._numbers, BATCH);
			for (let i = 0; i < n; i++) {
				const timer = this._slots[this._numbers[2 * i]];
				const told = this._numbers[2 * i + 1];

				this._last = Math.max(this._last, told);
				if (timer) {
					timer._came = told;
					came.push(timer);
				}
			}
		} while (n === BATCH);
		[late, this._late] = [this._late, []];
		for (const { timer, told } of late) {
			if (timer._told === told) {
				this._last = Math.max(this._last, told);
				timer._came = told;
				came.push(timer);
			}
		}
		came.sort((a, b) => a._deadline - b._deadline);
		this._due = came.filter((timer) => {
			if (timer._deadline !== 0 && timer._deadline <= this._last)
				return true;
			// It is not called.
			this._run(timer, timer._came, this._last);
			return false;
		});
		return came.length ? 0 : n;
	}

	// A timer has come up in the wheel, as has all that is due up to "last". One that was pushed back
	// beyond that comes up again, in its place.
	_run(timer, told, last) {
		// Otherwise the event is from before it was cancelled or made earlier, and another comes.
		if (timer._told !== told)
			return;
		timer._told = 0;
		const due = timer._deadline !== 0 && timer._deadline <= last;

		if (due && timer._period !== 0) {
			const late = addon.now(this._open) - timer._deadline;
			const rounds = 1 + Math.floor(late / timer._period);

			timer.expirations = rounds;
			timer._deadline = Math.min(timer._deadline + rounds * timer._period, NEVER);
		} else if (due) {
			timer.expirations = 1;
			this._forget(timer);
		}
		if (timer._place === 0) {
			if (timer._deadline !== 0)
				this._tell(timer, timer._deadline - this._now() < SOON);
			else
				this._release(timer);
		}
		if (due)
			timer.runInAsyncScope(timer._callback, timer, ...timer._args);
	}
}

function errorOf(code, message) {
	return Object.assign(new Error(message), { code });
}

function abortError(signal) {
	return Object.assign(new Error('The operation was aborted', { cause: signal.reason }),
			     { name: 'AbortError', code: 'ABORT_ERR' });
}

// What timers/promises takes, and refuses, before anything is armed
function checkOptions(options) {
	checkObject(options);
	const { signal, ref = true } = options;

	if (signal !== undefined && (typeof signal !== 'object' || signal === null ||
	    !('aborted' in signal) || typeof signal.addEventListener !== 'function'))
		throw wrongType('a signal is an AbortSignal', signal);
	if (typeof ref !== 'boolean')
		throw wrongType('ref is true or false', ref);
	if (signal && signal.aborted)
		throw abortError(signal);
	return { signal, ref };
}

// As timers/promises: functions, so that each can be taken out of the object
function promisesOf(wheel) {
	function setTimeout(ms, value, options = {}) {
		return new Promise((resolve, reject) => {
			const { signal, ref } = checkOptions(options);
			const timer = wheel.setTimeout(() => end(resolve, value), ms);
			const fail = (error) => end(reject, error);
			const abort = () => fail(abortError(signal));

			function end(settle, result) {
				timer.cancel();
				wheel._waiters.delete(fail);
				if (signal)
					signal.removeEventListener('abort', abort);
				settle(result);
			}
			if (!ref)
				timer.unref();
			wheel._waiters.add(fail);
			try {
				if (signal)
					signal.addEventListener('abort', abort, { once: true });
			} catch (error) {
				fail(error);
			}
		});
	}

	async function *setInterval(ms, value, options = {}) {
		const { signal, ref } = checkOptions(options);
		let due = 0, error = null, wake = () => {};
		const timer = wheel.setInterval(() => {
			due += timer.expirations;
			wake();
		}, ms);
		const fail = (why) => {
			error = why;
			wake();
		};
		const abort = () => fail(abortError(signal));

		if (!ref)
			timer.unref();
		wheel._waiters.add(fail);
		try {
			if (signal)
				signal.addEventListener('abort', abort, { once: true });
			for (;;) {
				if (due === 0 && error === null)
					await new Promise((resolve) => { wake = resolve; });
				if (error !== null)
					throw error;
				for (; due > 0; due--)
					yield value;
			}
		} finally {
			timer.cancel();
			wheel._waiters.delete(fail);
			if (signal)
				signal.removeEventListener('abort', abort);
		}
	}
	return { setTimeout, setInterval };
}

module.exports = { Wheel, Timer, version: addon.version };
