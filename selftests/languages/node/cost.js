// SPDX-License-Identifier: GPL-2.0-only
// What timers cost beside those of Node, in ns of CPU time and in turns: medians of five rounds.
//
// usage: node cost.js PACKAGE
'use strict';
const path = require('path');
const { Wheel } = require(path.resolve(process.argv[2]));
const HOUR = 3600 * 1000;
const rounds = 5;

// A hundred operations in each turn of the loop, whose cost is in the figures
async function measure(result, what, n, f, flush) {
	const start = process.cpuUsage();

	for (let i = 0; i < n; i++) {
		f(i);
		if (i % 100 === 99)
			await new Promise(setImmediate);
	}
	flush();
	const took = process.cpuUsage(start);
	(result[what] = result[what] || []).push((took.user + took.system) * 1000 / n);
}

async function costs(result, n, make, push, end, flush) {
	const timers = new Array(n), times = n * (1 + Math.floor(100000 / n));

	await measure(result, 'new', n, (i) => { timers[i] = make(HOUR + i % 100); }, flush);
	await measure(result, 'push back', times, (i) => push(timers[i * 7919 % n]), flush);
	await measure(result, 'cancel', n, (i) => end(timers[i]), flush);
	await measure(result, 'new and cancel', times, (i) => end(make(HOUR + i % 100)), flush);
}

async function main() {
	for (const n of [1000, 100000, 1000000]) {
		const node = {}, ours = {};
		for (let round = 0; round < rounds; round++) {
			const wheel = new Wheel();
			await costs(node, n, (ms) => setTimeout(() => {}, ms), (timer) => timer.refresh(), clearTimeout,
			      () => {});
			await costs(ours, n, (ms) => wheel.setTimeout(() => {}, ms), (timer) => timer.refresh(),
			      (timer) => timer.cancel(), () => wheel.flush());
			wheel.close();
			await new Promise(setImmediate);
		}
		const median = (list) => list.sort((a, b) => a - b)[rounds >> 1].toFixed(0).padStart(8);
		for (const what in node)
			console.log(`${String(n).padStart(8)} ${what.padEnd(16)} Node ${median(node[what])}` +
				    `   twheel ${median(ours[what])}`);
	}
}

main();
