// SPDX-License-Identifier: GPL-2.0-only OR MIT

// Package twheel has timers for programs that hold very many: a Wheel of timers as those of package
// time, and a Queue, in which a timer is no more than a number.
//
// Both are a context of twheel: of the device /dev/twheel or, where there is none, of a wheel in
// the process. The environment variable TWHEEL_BACKEND chooses: device, embedded or auto.
//
// # Times
//
// No timer is early. Durations count on CLOCK_MONOTONIC, one that is not positive is due at once,
// and one that is too long for the clock, 292 years, is for ever.
//
// # Which of the two
//
// A Wheel calls functions, sends to channels and ends contexts, as the runtime's own timers do for
// less. A Queue takes no memory of Go for a timer, so the garbage collector has nothing to look at,
// and pushes many back for less: a program with millions of sessions has their numbers as keys, and
// reads those that have timed out.
//
// # Building
//
// The package has the library in it, as the file twheel.c. With the build tag twheel_installed it
// takes the one that pkg-config finds instead. Either way cgo needs a C compiler.
package twheel
