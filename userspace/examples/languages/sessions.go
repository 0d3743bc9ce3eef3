// SPDX-License-Identifier: GPL-2.0-only OR MIT

// sessions: time sessions out by their own numbers, in Go.
package main

/*
#cgo pkg-config: libtwheel
#include <errno.h>
#include <twheel.h>
*/
import "C"

import (
	"fmt"
	"math"
	"os"
	"syscall"
	"time"
	"unsafe"
)

// Wheel is a context with keys.
type Wheel struct{ tw *C.struct_twheel }

// failed makes an error of what a call of the library returned.
func failed(what string, result C.int) error {
	if result < 0 {
		return os.NewSyscallError(what, syscall.Errno(-result))
	}
	return nil
}

// Open opens the device or, where there is none, a wheel in the process.
func Open() (*Wheel, error) {
	config := C.struct_twheel_config{flags: C.TWHEEL_CONFIG_KEYED}
	wheel := new(Wheel)
	result := C.twheel_open(&wheel.tw, nil, C.TWHEEL_OPEN_CLOEXEC, &config)
	return wheel, failed("twheel_open", result)
}

// Put arms or re-arms the timer with this key. A negative delay is none, as for Go's timers.
func (w *Wheel) Put(key uint64, delay time.Duration) error {
	if delay < 0 {
		delay = 0
	}
	return failed("twheel_put_after",
		C.twheel_put_after(w.tw, C.uint64_t(key), C.uint64_t(delay), 0, nil))
}

// Push lets the timer with this key expire after another delay, and keeps its settings. If there
// is none it is made.
func (w *Wheel) Push(key uint64, delay time.Duration) error {
	if delay < 0 {
		delay = 0
	}
	expires := C.twheel_now(w.tw) + C.uint64_t(delay)
	if expires > math.MaxInt64 {
		expires = math.MaxInt64
	}
	return failed("twheel_push", C.twheel_push(w.tw, C.uint64_t(key), expires))
}

// Cancel cancels it.
func (w *Wheel) Cancel(key uint64) error {
	return failed("twheel_cancel", C.twheel_cancel(w.tw, C.uint64_t(key), nil))
}

// CancelAll cancels all timers.
func (w *Wheel) CancelAll() error {
	return failed("twheel_cancel_all", C.twheel_cancel_all(w.tw))
}

// Remaining tells how long it is until the timer with this key is due.
func (w *Wheel) Remaining(key uint64) (time.Duration, error) {
	var info C.struct_twheel_timer_info
	result := C.twheel_get(w.tw, C.uint64_t(key), &info)
	return time.Duration(info.remaining), failed("twheel_get", result)
}

// Stats tells what was counted, of a wheel in the process.
func (w *Wheel) Stats() (C.struct_twheel_counters, error) {
	var counters C.struct_twheel_counters
	result := C.twheel_stats(w.tw, &counters, C.size_t(unsafe.Sizeof(counters)))
	return counters, failed("twheel_stats", result)
}

// Expired sends the key of each timer that has expired. The read waits in a thread of its
// own, as any call of C that takes long, while other goroutines run.
func (w *Wheel) Expired() <-chan uint64 {
	keys := make(chan uint64)
	go func() {
		var events [64]C.struct_twheel_event
		for {
			n := C.twheel_read(w.tw, &events[0], C.size_t(len(events)))
			if n < 0 && n != -C.EINTR {
				panic(failed("twheel_read", C.int(n)))
			}
			for i := 0; i < int(n); i++ {
				keys <- uint64(events[i].handle)
			}
		}
	}()
	return keys
}

func main() {
	wheel, err := Open()
	for _, step := range []func() error{
		func() error { return err },
		func() error { return wheel.Put(1, 200*time.Millisecond) },
		func() error { return wheel.Put(2, 100*time.Millisecond) },
		func() error { return wheel.Put(3, 300*time.Millisecond) },
		// A sign of life; and a log-out.
		func() error { return wheel.Push(2, 400*time.Millisecond) },
		func() error { return wheel.Cancel(3) },
	} {
		if err := step(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}

	expired := wheel.Expired()
	for left := 2; left > 0; left-- {
		fmt.Printf("session %d has timed out\n", <-expired)
	}
	// The wheel must not be closed under the read that waits: it ends with the program.
}
