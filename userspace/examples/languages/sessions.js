// SPDX-License-Identifier: GPL-2.0-only OR MIT
// sessions: time sessions out by their own numbers, in Node.
'use strict';

// Node has no calls of C in itself: wheel.c is compiled to this module.
const { open, put, push, cancel, close } = require('./wheel.node');

let left = 2;
const wheel = open((session) => {
	console.log(`session ${session} has timed out`);
	if (--left === 0)
		close(wheel);
});

put(wheel, 1, 1000);
put(wheel, 2, 2000);
put(wheel, 3, 3000);

setTimeout(() => {
	// A sign of life; and a log-out.
	push(wheel, 2, 2000);
	cancel(wheel, 3);
}, 50);
