// SPDX-License-Identifier: GPL-2.0-only
// Tests of the package for Node.
//
// usage: node --test-reporter=tap wheel.js PACKAGE
'use strict';
const assert = require('assert');
const { AsyncLocalStorage } = require('async_hooks');
const { execFile } = require('child_process');
const { readdirSync } = require('fs');
const path = require('path');
const { performance } = require('perf_hooks');
const test = require('node:test');
const { inspect } = require('util');
const v8 = require('v8');
const vm = require('vm');
const where = path.resolve(process.argv[2]);
const { Wheel, Timer } = require(where);
const addon = require(path.join(where, 'build/Release/twheel.node'));

const HOUR = 3600 * 1000;

v8.setFlagsFromString('--expose-gc');
const gc = vm.runInNewContext('gc');

// As Node's own functions throw them
const wrongType = { name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE' };
const outOfRange = { name: 'RangeError', code: 'ERR_OUT_OF_RANGE' };

// test() with a wheel, which is closed at its end
function wheelTest(name, options, f) {
	test(name, async () => {
		const wheel = new Wheel(options);

		try {
			await f(wheel);
		} finally {
			wheel.close();
		}
	});
}

// What must not come has not come by then.
const later = (wheel, ms) => wheel.promises.setTimeout(ms);

// What a program prints
function run(program, environment) {
	return new Promise((resolve) => {
		execFile(process.execPath, ['-e', program],
			{ env: { ...process.env, ...environment, PACKAGE: where }, timeout: 60000 },
			(error, stdout, stderr) => resolve(stdout + stderr.replace(/[^]*?(Error: .*)[^]*/, '$1') +
				(error ? ` status ${error.code}` : '')));
	});
}

wheelTest('never early, and once', {}, async (wheel) => {
	const n = 3000, seen = new Array(n).fill(0);

	await new Promise((resolve, reject) => {
		let left = n;
		for (let i = 0; i < n; i++) {
			const ms = (i * 7919 % n) / 25, start = performance.now();
			const timer = wheel.setTimeout((i) => {
				const took = performance.now() - start;
				if (took < ms)
					reject(new Error(`${ms} ms after ${took}`));
				seen[i]++;
				if (--left === 0)
					resolve();
			}, ms, i);
			// Also where all that is late hides what is early
			assert.ok(timer._deadline >= (start - wheel._start + ms) * 1000);
		}
		assert.equal(wheel.size, n);
	});
	await later(wheel, 50);
	assert.ok(seen.every((times) => times === 1));
	assert.equal(wheel.size, 0);
	wheel.flush();
	// Their keys are free again.
	assert.equal(wheel._slots.length - 1, wheel._free.length);
});

test('what nobody has is closed, and not before its timers have come', async () => {
	const fds = () => readdirSync('/proc/self/fd').length;
	const before = fds();
	const come = Promise.all([0, 1].map((i) => new Promise((resolve) => {
		const timer = new Wheel().setTimeout(() => resolve(i), 100);

		timer.unref();
		if (i)
			timer.push(150);
	})));

	for (let i = 0; i < 10; i++)
		new Wheel().setTimeout(() => {}, HOUR).cancel();
	for (let i = 0; i < 500 && fds() > before; i++) {
		gc();
		await new Promise((resolve) => setTimeout(resolve, 20));
	}
	assert.ok(fds() <= before);
	assert.deepEqual(await come, [0, 1]);
});

// The package with other functions in place of some of the part in C
function packageWith(functions) {
	const files = [where, path.join(where, 'build/Release/twheel.node')].map(require.resolve);
	const before = files.map((file) => require.cache[file]);

	delete require.cache[files[0]];
	require.cache[files[1]] = { ...before[1], exports: { ...before[1].exports, ...functions } };
	try {
		return require(where);
	} finally {
		files.forEach((file, i) => { require.cache[file] = before[i]; });
	}
}

// Whatever the machine does while a wheel is opened, its timers are not late by that.
test('a slow opening makes nothing late', () => {
	const ms = 100;
	let opened = false;
	const slow = (f) => (...args) => {
		for (const begun = performance.now(); performance.now() - begun < ms;)
			;
		return f(...args);
	};
	const slowNow = slow(addon.now);
	const now = (wheel) => {
		const read = opened ? addon.now : slowNow;
		opened = true;
		return read(wheel);
	};
	const wheel = new (packageWith({ open: slow(addon.open), now }).Wheel)({ embedded: true });
	let ahead = Infinity;
	for (let i = 0; i < 1000; i++) {
		const now = addon.now(wheel._open);
		ahead = Math.min(ahead, wheel._now() - now);
	}
	wheel.close();
	assert.ok(ahead >= 0 && ahead < ms * 1000 / 2, `${ahead} us`);
});

// In one go, so that all is due and nothing was called when it is read
wheelTest('in order after a stall', { embedded: true }, async (wheel) => {
	const n = 3000, got = [];

	await new Promise((resolve) => setTimeout(() => {
		const base = Math.ceil(wheel._now());
		const at = (us, ms, name = us) => {
			const timer = wheel.setTimeout(() => got.push(name), ms);
			timer._deadline = base + us;
			return timer;
		};
		const pushed = [at(500, HOUR, 9005), at(501, HOUR, 50000)];
		for (let i = 0; i < n; i++)
			at(1000 + 10 * (i * 7919 % n), HOUR);
		wheel.flush();
		// The wheel is not told of these; the last comes up again by itself.
		pushed[0]._deadline = base + 9005;
		pushed[1]._deadline = base + 50000;
		at(12005, HOUR);
		at(14005, 1);
		while (wheel._now() < base + 60000)
			;
		resolve();
	}, 1));
	while (got.length < n + 4)
		await new Promise((resolve) => setTimeout(resolve, 5));
	assert.ok(got.every((us, i) => i === 0 || got[i - 1] < us));
	assert.equal(got[n + 3], 50000);
});

// As with the fake timers of tests: none of them is for the wheel, nor left in place by this.
wheelTest('the clock of a test is not its', {}, async (wheel) => {
	const names = ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate'];
	const real = names.map((name) => globalThis[name]), now = performance.now;
	const start = now.call(performance);
	let timers;

	for (const name of names)
		globalThis[name] = () => assert.fail(name);
	performance.now = () => 0;
	try {
		timers = [1, 100].map((ms) => later(wheel, ms));
		wheel.setTimeout(() => {}, HOUR).cancel();
	} finally {
		names.forEach((name, i) => { globalThis[name] = real[i]; });
		performance.now = now;
	}
	await timers[0];
	await timers[1];
	assert.ok(performance.now() - start >= 100);
});

wheelTest('a timer is pushed back, made earlier and cancelled', {}, async (wheel) => {
	const start = performance.now();
	let called = 0;
	const timer = wheel.setTimeout(() => { called++; }, 30);

	assert.ok(timer instanceof Timer && timer.armed && timer.hasRef());
	const left = timer.remaining;
	assert.ok(left <= 30 && (left > 0 || performance.now() - start >= 30));
	wheel.flush();
	assert.equal(timer.push(80), true);
	while (!called)
		await later(wheel, 1);
	assert.ok(performance.now() - start >= 80);
	assert.equal(timer.armed, false);
	assert.equal(timer.remaining, 0);
	assert.equal(timer.push(1), false);
	assert.equal(timer.cancel(), false);
	const again = performance.now();
	assert.equal(timer.refresh(), timer);
	while (called < 2)
		await later(wheel, 1);
	assert.ok(performance.now() - again >= 30);

	// Earlier than what the wheel knows
	const far = wheel.setTimeout(() => { called++; }, HOUR);
	wheel.flush();
	far.push(0);
	while (called < 3)
		await later(wheel, 1);
	const none = wheel.setTimeout(() => assert.fail('it was cancelled'), 20);
	wheel.flush();
	assert.equal(none.cancel(), true);
	assert.equal(none.cancel(), false);
	await later(wheel, 60);
	assert.equal(called, 3);
});

wheelTest('what is cancelled, or pushed back, is not told', { embedded: true }, async (wheel) => {
	const timer = wheel.setTimeout(() => {}, HOUR);

	wheel.flush();
	for (let i = 0; i < 1000; i++) {
		timer.push(HOUR + i);
		wheel.setTimeout(() => {}, HOUR).cancel();
	}
	wheel.flush();
	const stats = wheel.stats();
	assert.deepEqual([stats.armed, stats.rearmed, stats.cancelled], [1, 0, 0]);
	assert.equal(stats.lateness.length, 64);
	timer.cancel();
	wheel.flush();
	assert.equal(wheel.stats().cancelled, 1);
	assert.equal(wheel.embedded, true);
});

// An event may be read before its timer is cancelled, and handled when another one has its key.
wheelTest('the event of another timer is not taken', {}, async (wheel) => {
	const timer = wheel.setTimeout(() => assert.fail('it is not due'), HOUR);

	wheel.flush();
	wheel._run(timer, timer._told - 1, timer._told);
	assert.equal(timer.armed, true);
});

wheelTest('numbers at the edges', {}, async (wheel) => {
	const calls = [(ms) => wheel.setTimeout(() => {}, ms), (ms) => wheel.put(1, ms, () => {}),
		       (ms) => wheel.setInterval(() => {}, ms), (ms) => wheel.push(1, ms)];
	for (const call of calls) {
		assert.throws(() => call(NaN), outOfRange);
		for (const ms of [undefined, null, '1', 1n, {}])
			assert.throws(() => call(ms), wrongType);
	}
	for (const ms of [0, -1, -Infinity, 0.0001]) {
		assert.throws(() => wheel.setInterval(() => {}, ms), RangeError);
		await assert.rejects(wheel.promises.setInterval(ms).next(), RangeError);
	}
	for (const callback of [undefined, null, 'x', {}]) {
		assert.throws(() => wheel.setTimeout(callback, 1), TypeError);
		assert.throws(() => wheel.put(1, 1, callback), TypeError);
	}
	// None of these has armed anything.
	assert.equal(wheel.size, 0);
	assert.equal(wheel.has(1), false);

	// For ever: none of these comes, or is refused.
	const long = [Infinity, Number.MAX_VALUE, 2 ** 64 / 1e6, 2 ** 63 / 1e6, 9223372036853.999, 9e12,
		      Number.MAX_SAFE_INTEGER, 2 ** 31];
	const timers = long.map((ms) => wheel.setTimeout(() => assert.fail(String(ms)), ms));
	wheel.flush();
	timers.forEach((timer, i) => assert.ok(timer.push(long[i])));
	let due = 0;
	for (const ms of [0, -1, -Infinity, 1e-9, 1.5])
		wheel.setTimeout(() => { due++; }, ms);
	while (due < 5)
		await later(wheel, 5);
	await later(wheel, 60);
	assert.ok(timers.every((timer) => timer.armed && timer.remaining > 2 ** 30));
	assert.equal(timers[0].remaining, Infinity);
	assert.ok(timers.every((timer) => timer.cancel()));
});

wheelTest('keys of all kinds', {}, async (wheel) => {
	const object = {}, keys = [1, '1', object, null, undefined, NaN, 1n, Symbol.iterator];
	const got = [];

	for (const key of keys)
		wheel.put(key, HOUR, () => got.push(key));
	assert.equal(wheel.size, keys.length);
	wheel.put(1, HOUR, () => assert.fail('it was replaced'));
	wheel.put(1, HOUR, (text) => got.push(text), 'one');
	assert.equal(wheel.size, keys.length);
	assert.ok(wheel.has(object) && !wheel.has({}) && wheel.get(object).armed);
	assert.equal(wheel.get('none'), undefined);
	assert.equal(wheel.cancel('none'), false);
	assert.equal(wheel.push('none', 0), false);
	assert.equal(wheel.cancel(NaN), true);
	assert.equal(wheel.cancel(NaN), false);
	for (const key of keys)
		wheel.push(key, 0);
	while (got.length < keys.length - 1)
		await later(wheel, 1);
	assert.deepEqual(new Set(got), new Set(['one', '1', object, null, undefined, 1n, Symbol.iterator]));
	assert.equal(wheel.has(object), false);

	// A timer that is armed again has its key again.
	const first = wheel.put('key', HOUR, () => {});
	first.cancel();
	const second = wheel.put('key', HOUR, () => {});
	first.refresh();
	assert.equal(wheel.get('key'), first);
	assert.equal(second.armed, false);
	assert.equal(wheel.size, 1);
	wheel.cancelAll();
	assert.equal(wheel.size, 0);
	assert.equal(wheel.has('key'), false);
});

wheelTest('intervals keep to their grid', {}, async (wheel) => {
	const start = performance.now();
	let rounds = 0, self;
	const timer = wheel.setInterval(function () {
		self = this;
		rounds += timer.expirations;
		assert.ok(performance.now() - start >= 3 * rounds);
		if (rounds < 5) {
			// Some rounds are missed.
			const busy = performance.now();
			while (performance.now() - busy < 10)
				;
		}
	}, 3);
	while (rounds < 20)
		await later(wheel, 1);
	// As in Node
	assert.equal(self, timer);
	assert.equal(timer.cancel(), true);
	const before = rounds;
	await later(wheel, 20);
	assert.equal(rounds, before);
});

wheelTest('more timers than the wheel takes', { limit: 2 }, async (wheel) => {
	const start = performance.now(), got = [];

	for (let i = 1; i <= 6; i++)
		wheel.setTimeout(() => {
			assert.ok(performance.now() - start >= 15 * i);
			got.push(i);
		}, 15 * i);
	for (let i = 0; i < 3; i++)
		wheel.setTimeout(() => got.push('an hour'), HOUR);
	assert.throws(() => wheel.flush(), { code: 'ENOSPC' });
	while (got.length < 6)
		await new Promise((resolve) => setTimeout(resolve, 5));
	await new Promise((resolve) => setTimeout(resolve, 60));
	assert.deepEqual(got.sort(), [1, 2, 3, 4, 5, 6]);
});

// The wheel is asked for the first of many that it has refused, and for the next as long as it takes
// them; one call, and one error, for each would hold up the loop.
test('what was refused is asked for by deadline, and no more than is taken', async () => {
	const n = 5000, asked = [];
	let errors = 0;
	const push = (open, array, count) => {
		const taken = addon.push(open, array, count);
		asked.push({ first: array[1], count, taken });
		return taken;
	};
	const error = (n) => {
		errors++;
		return addon.error(n);
	};
	const wheel = new (packageWith({ push, error }).Wheel)({ embedded: true, limit: 10 });
	const turns = async () => {
		asked.length = 0;
		await new Promise((resolve) => setTimeout(resolve, 100));
	};

	try {
		const held = Array.from({ length: 10 }, () => wheel.setTimeout(() => {}, HOUR));
		wheel.flush();
		asked.length = 0;
		const timers = Array.from({ length: n }, (_, i) =>
			wheel.setTimeout(() => {}, HOUR + i * 7919 % n));
		assert.throws(() => wheel.flush(), { code: 'ENOSPC' });
		assert.deepEqual([asked.length, errors], [1, 1]);
		// Every 20 ms
		await turns();
		const first = () => Math.min(...timers.filter((timer) => timer.armed && timer._told === 0)
			.map((timer) => timer._deadline));
		assert.ok(asked.length > 0 && asked.length <= 10, `${asked.length} calls`);
		assert.ok(asked.every((call) => call.count === 1 && call.first === first()));
		assert.equal(errors, 1);
		// Of these the wheel hears nothing, but the first of them is another one.
		timers.filter((_, i) => i % 3 === 0).forEach((timer) => timer.cancel());
		timers.filter((_, i) => i % 3 === 1).forEach((timer, i) => timer.push(2 * HOUR - i));
		timers[n - 1].push(HOUR / 2);
		await turns();
		assert.ok(asked.length > 0 &&
			asked.every((call) => call.count === 1 && call.first === timers[n - 1]._deadline));
		// There is room for five.
		const next = timers.filter((timer) => timer.armed).sort((a, b) => a._deadline - b._deadline);
		held.slice(5).forEach((timer) => timer.cancel());
		wheel._flush(wheel._open);
		const told = next.filter((timer) => timer._told !== 0);
		assert.equal(told.length, 5);
		// Two may be due at the same time.
		assert.ok(told.every((timer, i) => timer._deadline === next[i]._deadline));
		// And for all
		next.slice(10).forEach((timer) => timer.cancel());
		held.forEach((timer) => timer.cancel());
		wheel.flush();
		assert.ok(next.slice(0, 10).every((timer) => timer._told === timer._deadline));
		await turns();
		assert.equal(asked.length, 0);
		wheel.cancelAll();
		wheel.flush();
		assert.equal(wheel._slots.length - 1, wheel._free.length);
	} finally {
		wheel.close();
	}
});

// What is armed is called or ended, once: a random walk
for (const [name, options] of [['all', {}], ['what is refused', { limit: 10 }]])
	wheelTest(`accounts of ${name}`, options, async (wheel) => {
		let armings = 100, ended = 0, called = 0, seed = 1;
		// The low bits of seed have short periods.
		const random = (n) =>
			Math.floor((seed = (seed * 1664525 + 1013904223) % 2 ** 32) / 2 ** 32 * n);
		const due = new Map();
		const set = (timer) => {
			const ms = random(60);
			due.set(timer, performance.now() + ms);
			return ms;
		};
		const timers = Array.from({ length: armings }, () => {
			const timer = wheel.setTimeout(() => {
				assert.ok(performance.now() >= due.get(timer));
				called++;
			}, HOUR);
			return timer;
		});

		for (let step = 0; step < 20000; step++) {
			const timer = timers[random(timers.length)];
			switch (random(8)) {
			case 0:
				ended += timer.cancel();
				break;
			case 1:
				timer.push(set(timer));
				break;
			case 2:
				if (random(20) === 0)
					await later(wheel, random(3));
				break;
			default:
				ended += timer.armed;
				armings++;
				timer._delay = set(timer) * 1000;
				timer.refresh();
			}
			const heap = wheel._refused._heap;
			if (step % 500 === 0)
				assert.ok(heap.every((timer, i) => i === 0 || (timer._rank === i &&
					(i === 1 || heap[i >> 1]._deadline <= timer._deadline))));
		}
		assert.equal(due.size, timers.length);
		for (const timer of timers.slice(50))
			ended += timer.cancel();
		while (wheel.size > 0)
			await later(wheel, 5);
		await later(wheel, 60);
		assert.equal(called, armings - ended);
		wheel.flush();
		assert.equal(wheel._slots.length - 1, wheel._free.length);
	});

// One that the wheel has refused comes in its turn, too.
wheelTest('in order with what was refused', { limit: 1 }, async (wheel) => {
	const got = [];

	await new Promise((resolve) => setTimeout(() => {
		const start = performance.now();

		wheel.setTimeout(() => got.push(30), 30);
		wheel.flush();
		wheel.setTimeout(() => got.push(10), 10);
		assert.throws(() => wheel.flush(), { code: 'ENOSPC' });
		while (performance.now() - start < 100)
			;
		resolve();
	}, 1));
	while (got.length < 2)
		await new Promise((resolve) => setTimeout(resolve, 5));
	assert.deepEqual(got, [10, 30]);
});

test('a cancel that fails is asked for again', async () => {
	const failed = [], keys = (array, n) => [...array.subarray(0, n)], got = [];
	const cancel = (open, array, n) => {
		if (failed.length === 3)
			return addon.cancel(open, array, n);
		failed.push(keys(array, n));
		return addon.error(-12).errno;
	};
	const wheel = new (packageWith({ cancel }).Wheel)({ embedded: true });
	const counted = () => Object.values(wheel.stats()).slice(0, 3);

	try {
		const cancelled = [1, 2].map(() => wheel.setTimeout(() => got.push('cancelled'), HOUR));
		const pushed = wheel.setTimeout(() => got.push('pushed'), HOUR);
		wheel.flush();
		const slots = cancelled.map((timer) => timer._slot);
		cancelled.forEach((timer) => timer.cancel());
		pushed.push(1);
		// These must not take the keys of the others.
		for (let i = 0; i < 3; i++)
			wheel.setTimeout(() => got.push('new'), 1);
		wheel.flush();
		assert.deepEqual(failed, [slots]);
		assert.deepEqual(counted(), [6, 1, 0]);
		// One of them is wanted again before it is cancelled.
		cancelled[1].push(2);
		cancelled[1].refresh();
		cancelled[1].push(2);
		while (counted()[2] < 1 || got.length < 5)
			await new Promise((resolve) => setTimeout(resolve, 5));
		assert.deepEqual(got.sort(), ['cancelled', 'new', 'new', 'new', 'pushed']);
		assert.deepEqual(failed.slice(1), [[slots[0]], [slots[0]]]);
		assert.equal(counted()[2], 1);
		wheel.flush();
		assert.equal(wheel._slots.length - 1, wheel._free.length);
	} finally {
		wheel.close();
	}
});

test('errors', () => {
	assert.throws(() => new Wheel({ path: '/no/such/device' }),
		{ code: 'ENOENT', errno: -2, path: '/no/such/device',
		  message: "No such file or directory, open '/no/such/device'" });
	assert.throws(() => new Wheel({ path: '/dev/twheel', embedded: true }), { code: 'EINVAL' });
	assert.throws(() => new Wheel({ path: 'a\0b' }), { code: 'EINVAL' });
	const backend = process.env.TWHEEL_BACKEND;
	try {
		process.env.TWHEEL_BACKEND = 'embeded';
		assert.throws(() => new Wheel(), /TWHEEL_BACKEND \(auto, device, embedded\)/);
	} finally {
		delete process.env.TWHEEL_BACKEND;
		if (backend !== undefined)
			process.env.TWHEEL_BACKEND = backend;
	}
	for (const options of ['path', null, { path: 7 }, { limit: '1' }, { embedded: 'no' }])
		assert.throws(() => new Wheel(options), wrongType);
	for (const limit of [-1, 0.5, NaN, 2 ** 53])
		assert.throws(() => new Wheel({ limit }), outOfRange);
	const wheel = new Wheel();
	const timer = wheel.setTimeout(() => assert.fail('it was closed'), 1);
	wheel.close();
	wheel.close();
	assert.equal(wheel.closed, true);
	assert.equal(timer.armed, false);
	for (const call of [() => wheel.setTimeout(() => {}, 1), () => wheel.put(1, 1, () => {}),
			    () => timer.refresh(), () => wheel.stats(), () => wheel.flush(),
			    () => wheel.embedded])
		assert.throws(call, { code: 'EBADF' });
	assert.equal(timer.push(1), false);
	assert.equal(wheel.push(1, 1), false);
	assert.equal(wheel.size, 0);
	assert.throws(() => new Timer(), TypeError);
});

// As to clearTimeout(): it would be a key that there is not, and the timer would go on.
wheelTest('a timer is no key', {}, async (wheel) => {
	const timer = wheel.put('key', HOUR, () => {});

	for (const call of [() => wheel.cancel(timer), () => wheel.push(timer, 1),
			    () => wheel.get(timer), () => wheel.has(timer),
			    () => wheel.put(timer, 1, () => {})])
		assert.throws(call, { name: 'TypeError', message: /its own cancel\(\)/ });
	assert.equal(wheel.get('key'), timer);
	assert.equal(wheel.size, 1);
	assert.ok(timer.remaining > HOUR / 2);
});

wheelTest('what is printed', {}, async (wheel) => {
	const timer = wheel.put('name', Infinity, later);

	wheel.setTimeout(() => {}, HOUR);
	assert.equal(inspect(timer),
		"Timer {\n  armed: true,\n  remaining: Infinity,\n  key: 'name',\n" +
		'  callback: [Function: later]\n}');
	assert.equal(inspect(wheel), 'Wheel { closed: false, size: 2 }');
	wheel.close();
	assert.match(inspect(timer), /armed: false,\n *remaining: 0,/);
	assert.equal(inspect(wheel), 'Wheel { closed: true, size: 0 }');
});

wheelTest('promises', {}, async (wheel) => {
	const start = performance.now();

	// Taken out, as one of timers/promises is
	const { setTimeout: sleep, setInterval } = wheel.promises;
	assert.equal(await sleep(10, 'value'), 'value');
	assert.ok(performance.now() - start >= 10);
	const controller = new AbortController();
	const aborted = wheel.promises.setTimeout(HOUR, null, { signal: controller.signal });
	controller.abort('the reason');
	await assert.rejects(aborted, { name: 'AbortError', code: 'ABORT_ERR', cause: 'the reason' });
	await assert.rejects(wheel.promises.setTimeout(1, null, { signal: controller.signal }),
			     { name: 'AbortError' });
	await assert.rejects(wheel.promises.setTimeout(NaN), RangeError);
	let rounds = 0;
	for await (const value of setInterval(2, 'tick')) {
		assert.equal(value, 'tick');
		if (++rounds === 5)
			break;
	}
	assert.ok(performance.now() - start >= 20);
	assert.equal(wheel.size, 0);
	const second = new AbortController();
	await assert.rejects(async () => {
		for await (const value of wheel.promises.setInterval(1, 1, { signal: second.signal }))
			second.abort();
	}, { name: 'AbortError' });
	assert.equal(wheel.size, 0);

	// Nothing else keeps the loop running.
	const guard = wheel.setTimeout(() => {}, HOUR);
	const signal = wheel.timeoutSignal(10);
	await new Promise((resolve) => signal.addEventListener('abort', resolve));
	assert.equal(signal.reason.name, 'TimeoutError');
	guard.cancel();

	for (const [end, code] of [[() => wheel.cancelAll(), 'ECANCELED'], [() => wheel.close(), 'EBADF']]) {
		const codes = [], waiting = [], note = (error) => codes.push(error.code);
		const wait = async () => {
			for await (const value of wheel.promises.setInterval(HOUR))
				assert.fail();
		};
		for (let i = 0; i < 2; i++) {
			waiting.push(wheel.promises.setTimeout(HOUR).catch(note), wait().catch(note));
			// The wheel knows some of them.
			wheel.flush();
		}
		await Promise.resolve();
		end();
		// What is not settled by then never is.
		await new Promise((resolve) => setTimeout(resolve, 20));
		assert.deepEqual(codes, new Array(4).fill(code));
		assert.equal(wheel.size, 0);
		await Promise.all(waiting);
	}
});

wheelTest('wrong options arm nothing', {}, async (wheel) => {
	const wrong = [null, 7, 'text', { signal: null }, { signal: {} }, { signal: 'text' },
		       { signal: { aborted: false } }, { signal: new AbortController() }, { ref: 'yes' },
		       { ref: null }, { ref: 1 }];

	for (const options of wrong) {
		const rounds = wheel.promises.setInterval(1, 'value', options);
		for (const wait of [wheel.promises.setTimeout(1, 'value', options), rounds.next()])
			await assert.rejects(wait, wrongType);
		assert.equal(wheel.size, 0);
	}
	for (const options of [undefined, {}, { signal: undefined, ref: undefined }, { ref: true }])
		assert.equal(await wheel.promises.setTimeout(1, 'value', options), 'value');
	// A signal may still fail.
	const signal = { aborted: false, addEventListener: () => { throw new Error('on purpose'); },
			 removeEventListener: () => {} };
	for (const wait of [wheel.promises.setTimeout(HOUR, 'value', { signal }),
			    wheel.promises.setInterval(HOUR, 'value', { signal }).next()])
		await assert.rejects(wait, { message: 'on purpose' });
	assert.equal(wheel.size, 0);
	assert.equal(wheel._waiters.size, 0);
});

wheelTest('the asynchronous context is that in which a timer was made', {}, async (wheel) => {
	const storage = new AsyncLocalStorage();
	const got = await new Promise((resolve) =>
		storage.run('inside', () => wheel.setTimeout(() => resolve(storage.getStore()), 1)));

	assert.equal(got, 'inside');
});

wheelTest('a function may close the wheel, and microtasks run in between', {}, async (wheel) => {
	const got = [];

	for (let i = 0; i < 3; i++)
		wheel.setTimeout(() => {
			got.push(i);
			Promise.resolve().then(() => got.push('microtask'));
			if (i === 1)
				wheel.close();
		}, 1);
	while (!wheel.closed)
		await new Promise((resolve) => setTimeout(resolve, 5));
	await new Promise((resolve) => setTimeout(resolve, 20));
	assert.deepEqual(got, [0, 'microtask', 1, 'microtask']);
});

test('the loop goes on for timers that are armed, and no others', async () => {
	const program = (timers) => `
		const wheel = new (require(process.env.PACKAGE).Wheel)();
		process.on('exit', () => console.log('exit'));
		${timers}`;
	assert.equal(await run(program('')), 'exit\n');
	assert.equal(await run(program('wheel.setTimeout(() => console.log("due"), 60)')), 'due\nexit\n');
	assert.equal(await run(program('wheel.setTimeout(() => console.log("due"), 60).unref()')), 'exit\n');
	assert.equal(await run(program('wheel.setTimeout(() => console.log("due"), 60).unref().ref()')),
		     'due\nexit\n');
	assert.equal(await run(program('wheel.setTimeout(() => {}, 1e9).cancel()')), 'exit\n');
	assert.equal(await run(program('wheel.promises.setTimeout(1e9, 0, { ref: false })')), 'exit\n');
	assert.equal(await run(program('wheel.timeoutSignal(1e9)')), 'exit\n');
	assert.equal(await run(program('wheel.setTimeout(() => {}, 1e9); wheel.close()')), 'exit\n');
	assert.equal(await run(program(`
		const timer = wheel.setTimeout(() => {}, 1e9);
		wheel.setTimeout(() => { console.log('due'); timer.unref(); }, 60)`)), 'due\nexit\n');
});

test('a timer that throws holds up no other', async () => {
	assert.equal(await run(`
		const wheel = new (require(process.env.PACKAGE).Wheel)();
		process.on('uncaughtException', (error) => console.log(error.message));
		for (let i = 0; i < 3; i++)
			wheel.setTimeout(() => { throw new Error('number ' + i); }, 5)`),
		     'number 0\nnumber 1\nnumber 2\n');
	assert.equal(await run(`
		const wheel = new (require(process.env.PACKAGE).Wheel)();
		wheel.setTimeout(() => { throw new Error('on purpose'); }, 5)`),
		     'Error: on purpose status 1');
	// Also what the wheel has refused
	assert.equal(await run(`
		const wheel = new (require(process.env.PACKAGE).Wheel)({ limit: 1 });
		process.on('uncaughtException', (error) => console.log(error.message));
		wheel.setTimeout(() => {}, 1e9).unref();
		for (let i = 0; i < 3; i++)
			wheel.setTimeout(() => { throw new Error('number ' + i); }, 5 + i)`),
		     'number 0\nnumber 1\nnumber 2\n');
});
