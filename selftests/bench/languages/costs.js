// SPDX-License-Identifier: GPL-2.0-only
// What timers cost beside those of Node, in turns.
//
// usage: node costs.js PACKAGE ROUNDS PENDING...
//
// Prints, tab-separated, the operation, how many are pending, and for each of the two the median of
// the rounds: ns of CPU time an operation.
'use strict';
const path = require('path');
const { Wheel } = require(path.resolve(process.argv[2]));
const HOUR = 3600 * 1000;
const [rounds, ...sizes] = process.argv.slice(3).map(Number);

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

	await measure(result, 'arm', n, (i) => { timers[i] = make(HOUR + i % 100); }, flush);
	await measure(result, 'push back', times, (i) => push(timers[i * 7919 % n]), flush);
	await measure(result, 'cancel', n, (i) => end(timers[i]), flush);
	await measure(result, 'arm and cancel at once', times, (i) => end(make(HOUR + i % 100)), flush);
}

const nodes = (result, n) => costs(result, n, (ms) => setTimeout(() => {}, ms),
	(timer) => timer.refresh(), clearTimeout, () => {});

async function ours(result, n) {
	const wheel = new Wheel();

	await costs(result, n, (ms) => wheel.setTimeout(() => {}, ms), (timer) => timer.refresh(),
		(timer) => timer.cancel(), () => wheel.flush());
	wheel.close();
	await new Promise(setImmediate);
}

async function main() {
	const median = (list) => list.sort((a, b) => a - b)[rounds >> 1].toFixed(0);

	console.log('#\tpending\tNode\ttwheel');
	for (const n of sizes) {
		const results = [{}, {}];
		for (let round = 0; round < rounds; round++) {
			for (const which of round % 2 ? [0, 1] : [1, 0])
				await [nodes, ours][which](results[which], n);
		}
		for (const what in results[0])
			console.log([what, n, ...results.map((result) => median(result[what]))].join('\t'));
	}
}

main();
