// SPDX-License-Identifier: GPL-2.0-only
// workers: workers of Node that end, in all ways, while wheels are open.
//
// usage: node workers.js	in the folder of wheel.node
'use strict';
const assert = require('assert');
const fs = require('fs');
const path = require('path');
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
const { open, put, close } = require(path.resolve('wheel.node'));

const tell = () => parentPort.postMessage('terminate me');
const fail = () => { throw new Error('on purpose'); };

// A worker does one of these; the main thread terminates those that tell it something.
const ends = {
	'runs out': () => close(open(tell)),
	'exits': () => { put(open(tell), 1, Infinity); process.exit(7); },
	'exits in the function': () => put(open(() => process.exit(7)), 1, 1),
	'throws': () => { put(open(tell), 1, Infinity); fail(); },
	'throws in the function': () => {
		const wheel = open(fail);
		for (let key = 0; key < 100; key++)
			put(wheel, key, 1);
	},
	'is terminated': () => { put(open(fail), 1, Infinity); tell(); },
	'is terminated in the function': () => put(open(() => { tell(); for (;;) ; }), 1, 1),
	'exits after close': () => { close(open(fail)); process.exit(7); },
	'exits with many': () => {
		const wheels = Array.from({ length: 50 }, () => open(() => {}));
		wheels.forEach((wheel) => put(wheel, 1, 1));
		setTimeout(() => {
			wheels.forEach((wheel, i) => i % 2 && close(wheel));
			process.exit(7);
		}, 20);
	},
};

function run(what) {
	return new Promise((resolve) => {
		const worker = new Worker(__filename, { workerData: what });
		let error = '';

		worker.on('message', () => worker.terminate());
		worker.on('error', (thrown) => { error = ', ' + thrown.message; });
		worker.on('exit', (code) => resolve(`${what}: ${code}${error}`));
	});
}

async function main() {
	const wheel = open(() => { console.log('the main thread has its wheel'); process.exit(0); });
	const files = () => fs.readdirSync('/proc/self/fd').length;
	const before = files();

	for (const what in ends)
		console.log(await run(what));
	assert.equal(files(), before);
	put(wheel, 1, 1);
}

if (isMainThread)
	main();
else
	ends[workerData]();
