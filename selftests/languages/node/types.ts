// SPDX-License-Identifier: GPL-2.0-only
// What index.d.ts allows, and what it does not: tsc --noEmit looks at this.
import { Stats, Timer, Wheel, version } from 'twheel';

const wheel: Wheel = new Wheel({ embedded: true, limit: 10 });
const timer: Timer = wheel.setTimeout((a: number, b: string) => { a.toFixed(); b.length; }, 10, 1, 'x');
wheel.setInterval(function () { this.cancel(); }, 10);
const chained: boolean = timer.refresh().unref().ref().hasRef();
const stats: Stats = wheel.stats();
const late: number = stats.lateness[0] + timer.remaining + timer.expirations + wheel.size;
const found: Timer | undefined = wheel.get({ any: 'key' });
const signal: AbortSignal = wheel.timeoutSignal(5);
const text: Promise<string> = wheel.promises.setTimeout(5, version, { signal, ref: false });

async function rounds(): Promise<void> {
	for await (const value of wheel.promises.setInterval(5, 7))
		value.toFixed();
	const { setTimeout: sleep } = wheel.promises;
	await sleep(5);
}

// @ts-expect-error: a time is a number
wheel.setTimeout(() => {}, '5');
// @ts-expect-error: the function takes a number
wheel.put('key', 5, (n: number) => {}, 'x');
// @ts-expect-error: wheels make timers
new Timer();
// @ts-expect-error: there is no such option
new Wheel({ slack: 1 });
export { chained, late, found, text, rounds };
