// SPDX-License-Identifier: GPL-2.0-only
// workers: workers of Node that end, in all ways, while wheels are open.
//
// usage: node workers.js PACKAGE
'use strict';
const assert = require('assert');
const fs = require('fs');
const path = require('path');
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
const { Wheel } = require(path.resolve(process.argv[2]));

const tell = () => parentPort.postMessage('terminate me');
const fail = () => { throw new Error('on purpose'); };

function open(callback, ms) {
	const wheel = new Wheel();

	wheel.setTimeout(callback, ms);
	return wheel;
}

// A worker does one of these; the main thread terminates those that tell it something.
const ends = {
	'runs out': () => open(tell, 5000).close(),
	'exits': () => { open(tell, Infinity); process.exit(7); },
	'exits in the function': () => open(() => process.exit(7), 1),
	'throws': () => { open(tell, Infinity); fail(); },
	'throws in the function': () => {
		const wheel = open(fail, 1);
		for (let i = 0; i < 100; i++)
			wheel.setTimeout(fail, 1);
	},
	'is terminated': () => { open(fail, Infinity).flush(); tell(); },
	'is terminated in the function': () => open(() => { tell(); for (;;) ; }, 1),
	'exits after close': () => { open(fail, 1).close(); process.exit(7); },
	'exits with many': () => {
		const wheels = Array.from({ length: 50 }, () => open(() => {}, 1));
		setTimeout(() => {
			wheels.forEach((wheel, i) => i % 2 && wheel.close());
			process.exit(7);
		}, 20);
	},
};

function run(what) {
	return new Promise((resolve) => {
		const worker = new Worker(__filename, { argv: process.argv.slice(2), workerData: what });
		let error = '';

		worker.on('message', () => worker.terminate());
		worker.on('error', (thrown) => { error = ', ' + thrown.message; });
		worker.on('exit', (code) => resolve(`${what}: ${code}${error}`));
	});
}

async function main() {
	const wheel = new Wheel();
	const files = () => fs.readdirSync('/proc/self/fd').length;
	// Where that is a pipe, Node opens a descriptor more when it is first used.
	process.stdout.write('');
	const before = files();

	for (const what in ends)
		console.log(await run(what));
	assert.equal(files(), before);
	wheel.setTimeout(() => { console.log('the main thread has its wheel'); process.exit(0); }, 1);
}

if (isMainThread)
	main();
else
	ends[workerData]();
