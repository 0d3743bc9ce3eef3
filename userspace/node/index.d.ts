// SPDX-License-Identifier: GPL-2.0-only OR MIT
// Timers for programs that hold very many: of the device /dev/twheel or, where there is none, of a
// wheel in the process.

/** The version of the library. */
export const version: string;

export interface WheelOptions {
	/** The device to open, and never a wheel in the process. */
	path?: string;
	/** A wheel in the process, also where the device is there. */
	embedded?: boolean;
	/** How many timers the wheel holds; those beyond that wait, and may come 20 ms late. */
	limit?: number;
}

export interface TimerOptions {
	/** Rejects with an AbortError when it is aborted. */
	signal?: AbortSignal;
	/** False if the event loop need not go on for it. */
	ref?: boolean;
}

/** What was counted in a wheel in the process: see struct twheel_counters in twheel.h. */
export interface Stats {
	armed: number;
	rearmed: number;
	cancelled: number;
	expired: number;
	read: number;
	cascaded: number;
	migrated: number;
	turns: number;
	lateness: number[];
	expired_a_turn: number[];
	read_a_call: number[];
}

/**
 * A timer of a wheel, as its methods return it. Its function is called in the asynchronous context
 * in which it was made.
 */
export class Timer {
	private constructor();
	/** Will its function be called? */
	readonly armed: boolean;
	/** Milliseconds until it is due: 0 if it is due or not armed, Infinity if it never is. */
	readonly remaining: number;
	/** How many rounds the last call stands for: more than 1 if an interval was late. */
	readonly expirations: number;
	/** Has its function called after the same time once more, counted from now; also if it was called. */
	refresh(): this;
	/** Has it expire ms from now, if it is armed. False if it is not. */
	push(ms: number): boolean;
	/** Its function is not called any more. False if it was not armed. */
	cancel(): boolean;
	/** The event loop goes on while it is armed: the default. */
	ref(): this;
	/** The event loop need not go on for it. */
	unref(): this;
	hasRef(): boolean;
}

/** What a timer calls, with the timer as `this`. */
export type Callback<A extends unknown[]> = (this: Timer, ...args: A) => void;

/**
 * Times are milliseconds and need not be whole. Nothing is early; what is too long, as Infinity, is for
 * ever; what is not positive is due at once, but no interval. NaN is a RangeError, and what is no number
 * a TypeError. These have the codes of Node's own, ERR_OUT_OF_RANGE and ERR_INVALID_ARG_TYPE, as
 * have those for a callback or an option of the wrong type.
 *
 * Timers are called by deadline. One that throws is an uncaught exception, and holds up no other.
 */
export class Wheel {
	/** Opens it. Errors have a code and a path as those of package fs: ENOENT, EACCES. */
	constructor(options?: WheelOptions);
	readonly closed: boolean;
	/** How many timers are armed. */
	readonly size: number;
	/** Is it a wheel in the process? */
	readonly embedded: boolean;
	/** What was counted, of a wheel in the process; EOPNOTSUPP of the device. */
	stats(): Stats;

	setTimeout<A extends unknown[]>(callback: Callback<A>, ms: number, ...args: A): Timer;
	/**
	 * On a grid. Rounds that were missed are one call: see Timer.expirations. Less than a microsecond,
	 * as 0, of which Node makes 1 ms, is a RangeError.
	 */
	setInterval<A extends unknown[]>(callback: Callback<A>, ms: number, ...args: A): Timer;

	/**
	 * Arms the one timer with this key, which may be any value, as that of a Map. But a Timer
	 * is no key, here and below: a TypeError, as it has methods of its own.
	 */
	put<A extends unknown[]>(key: unknown, ms: number, callback: Callback<A>, ...args: A): Timer;
	get(key: unknown): Timer | undefined;
	has(key: unknown): boolean;
	/** Has the timer with this key expire ms from now. False if there is none. */
	push(key: unknown, ms: number): boolean;
	/** False if there is none with this key. */
	cancel(key: unknown): boolean;
	/** Promises that wait for one of them reject with the code ECANCELED; no signal is aborted. */
	cancelAll(): void;

	/**
	 * As AbortSignal.timeout(): aborted after ms; the event loop need not go on for it. But the wheel
	 * keeps it until then: for a signal that is done with earlier, as one for each request is, take an
	 * AbortController and a timer that you cancel.
	 */
	timeoutSignal(ms: number): AbortSignal;
	/**
	 * As timers/promises, with the times of the methods above: functions, which may be taken out. If the
	 * wheel is closed they reject with the code EBADF, and if an option has the wrong type with
	 * ERR_INVALID_ARG_TYPE.
	 */
	readonly promises: {
		setTimeout<T = void>(ms: number, value?: T, options?: TimerOptions): Promise<T>;
		setInterval<T = void>(ms: number, value?: T, options?: TimerOptions): AsyncGenerator<T, void, void>;
	};

	/**
	 * Tells the wheel now what it would be told within 20 ms. Throws if it has refused a timer, for
	 * want of memory or because there are too many: that is asked for again every 20 ms, and may be
	 * late by that.
	 */
	flush(): void;
	/**
	 * Ends it, and cancels its timers. Closing twice is harmless. A wheel without armed timers
	 * that nothing refers to any more is closed when the garbage collector finds that out.
	 */
	close(): void;
}
