// SPDX-License-Identifier: GPL-2.0-only OR MIT
// sessions: time sessions out by their own numbers, in Node.
'use strict';

const { Wheel } = require('twheel');

const wheel = new Wheel();
const expire = (session) => console.log(`session ${session} has timed out`);

wheel.put(1, 1000, expire, 1);
wheel.put(2, 2000, expire, 2);
wheel.put(3, 3000, expire, 3);

wheel.setTimeout(() => {
	// A sign of life; and a log-out.
	wheel.push(2, 2000);
	wheel.cancel(3);
}, 50);
