// SPDX-License-Identifier: GPL-2.0-only OR MIT

package twheel

/*
#ifdef TWHEEL_INSTALLED
#include <errno.h>
#include <twheel.h>
#else
#include <errno.h>
#include "twheel.h"
#endif
*/
import "C"

import (
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// Config says what a Queue is to be. The zero value is the device or, where there is none, a wheel
// in the process, with the limit of that.
type Config struct {
	// Path is the device to open; with a path there is no wheel in the process.
	Path string
	// Embedded asks for a wheel in the process, also where the device is there.
	Embedded bool
	// Threads says that many goroutines use a wheel in the process at once: it is several, one for
	// each CPU, and events are in order for each of them.
	Threads bool
	// Limit is how many timers there may be; more are refused with ENOSPC.
	Limit uint64
}

// A Queue is a context whose timers have keys: numbers that the program chooses.
//
// Its methods may be called by any number of goroutines at once, Close included. Their errors are
// *os.SyscallError with the errno of the library; after Close they are os.ErrClosed. Those of a
// queue that NewQueue has not made, as a zero Queue, panic.
//
// Each method is a call of C. Those that take a slice share the price of that call.
type Queue struct {
	// Held for reading by calls, for writing by Close
	mu sync.RWMutex
	// Held by Close: a second one waits for the first
	closing sync.Mutex
	// nil when closed
	tw *C.struct_twheel
	// A copy of the descriptor, which Go's own poller watches
	file *os.File
	conn syscall.RawConn
}

// An Event says that a timer has expired. Times are nanoseconds on CLOCK_MONOTONIC.
type Event struct {
	// As given to ArmAll; otherwise 0
	UserData uint64
	Key      uint64
	// When it was due. If it repeats, the first of the Expirations in this event was
	Deadline uint64
	// When that was noticed, which is never before Deadline
	Expired uint64
	// 1; or how many rounds have passed since the last event
	Expirations uint64
	// EventLast, if the timer has ended
	Flags uint32
	_     uint32
}

// EventLast in Event.Flags says that no further event of the timer will come.
const EventLast = C.TWHEEL_EVENT_LAST

// An Arm is a request to arm the timer with a key, with all settings; see struct twheel_arm in
// <linux/twheel.h>. Its fields from Result on are what was answered.
type Arm struct {
	Key      uint64
	UserData uint64
	// From now on; or with ArmAbsolute a time as Queue.Now gives it. At most math.MaxInt64, as
	// are Interval and Slack
	Expires uint64
	// 0 for one expiration
	Interval uint64
	// So much the timer may be late, to share wake-ups
	Slack uint64
	// How many expirations there are to be; 0 for no end
	Count uint32
	_     uint32
	Flags uint16
	_     uint16
	// 0, or a negative errno: this one was not armed
	Result int16
	// What was replaced: StateNone, StatePending or StateReady
	OldState     uint16
	OldRemaining uint64
}

// Flags of an Arm.
const (
	ArmAbsolute   = C.TWHEEL_ARM_ABS
	ArmFixedDelay = C.TWHEEL_ARM_FIXED_DELAY
	ArmIfPending  = C.TWHEEL_ARM_IF_PENDING
	ArmIfNone     = C.TWHEEL_ARM_IF_NONE
)

// What an Arm has replaced.
const (
	StateNone    = C.TWHEEL_STATE_NONE
	StatePending = C.TWHEEL_STATE_PENDING
	StateReady   = C.TWHEEL_STATE_READY
)

// A Push is an element of PushAll.
type Push struct {
	Key uint64
	// A time as Queue.Now gives it
	Expires uint64
}

// A Cancel is an element of CancelAll.
type Cancel struct {
	Key uint64
	_   uint64
	// 0, or a negative errno: -ENOENT if there is no such timer
	Result int32
	// StatePending, or StateReady if an unread event was withdrawn
	OldState     uint32
	OldRemaining uint64
}

// They are C's own: a difference in size is an array of a negative length.
var (
	_ [unsafe.Sizeof(Event{}) - C.sizeof_struct_twheel_event]byte
	_ [C.sizeof_struct_twheel_event - unsafe.Sizeof(Event{})]byte
	_ [unsafe.Sizeof(Arm{}) - C.sizeof_struct_twheel_arm]byte
	_ [C.sizeof_struct_twheel_arm - unsafe.Sizeof(Arm{})]byte
	_ [unsafe.Sizeof(Push{}) - C.sizeof_struct_twheel_push]byte
	_ [C.sizeof_struct_twheel_push - unsafe.Sizeof(Push{})]byte
	_ [unsafe.Sizeof(Cancel{}) - C.sizeof_struct_twheel_cancel]byte
	_ [C.sizeof_struct_twheel_cancel - unsafe.Sizeof(Cancel{})]byte
)

// Stats is what was counted in a wheel in the process since it was opened: see struct
// twheel_counters in twheel.h.
type Stats struct {
	Armed, Rearmed, Cancelled, Expired, Read, Cascaded, Migrated, Turns uint64
	// Element 0 counts the value 0, element k the values from 2^(k-1) to 2^k - 1: nanoseconds,
	// timers, events
	Lateness, ExpiredATurn, ReadACall [C.TWHEEL_BUCKETS]uint64
}

var (
	_ [unsafe.Sizeof(Stats{}) - C.sizeof_struct_twheel_counters]byte
	_ [C.sizeof_struct_twheel_counters - unsafe.Sizeof(Stats{})]byte
)

// Version is that of the library, as "0.4.0".
const Version = C.TWHEEL_VERSION

// failed makes an error of what a call of the library has returned.
func failed(what string, result C.int) error {
	if result < 0 {
		return os.NewSyscallError(what, syscall.Errno(-result))
	}
	return nil
}

// ns is what the library takes of a duration.
func ns(d time.Duration) C.uint64_t {
	if d < 0 {
		return 0
	}
	return C.uint64_t(d)
}

// NewQueue opens one. A nil config is the same as a zero one. Where it cannot be opened the error
// is an *os.PathError.
func NewQueue(config *Config) (*Queue, error) {
	if config == nil {
		config = &Config{}
	}
	settings := C.struct_twheel_config{flags: C.TWHEEL_CONFIG_KEYED, limit: C.__u64(config.Limit)}
	flags := C.uint(C.TWHEEL_OPEN_CLOEXEC | C.TWHEEL_OPEN_NONBLOCK)
	if config.Embedded {
		flags |= C.TWHEEL_OPEN_EMBEDDED
	}
	if config.Threads {
		flags |= C.TWHEEL_OPEN_THREADS
	}
	var path *C.char
	if config.Path != "" {
		// A string of C has no zero byte in it.
		name, err := syscall.BytePtrFromString(config.Path)
		if err != nil {
			return nil, notOpened(config.Path, err)
		}
		path = (*C.char)(unsafe.Pointer(name))
	}
	q := &Queue{}
	if n := C.twheel_open(&q.tw, path, flags, &settings); n < 0 {
		return nil, notOpened(config.Path, syscall.Errno(-n))
	}
	if err := q.watch(); err != nil {
		C.twheel_close(q.tw)
		return nil, err
	}
	return q, nil
}

// notOpened says what could not be opened.
func notOpened(path string, err error) error {
	if path == "" {
		path = "/dev/twheel"
		if _, is := os.LookupEnv("TWHEEL_BACKEND"); is && err == syscall.EINVAL {
			path += " or TWHEEL_BACKEND (auto, device, embedded)"
		}
	}
	return &os.PathError{Op: "twheel_open", Path: path, Err: err}
}

// made panics if the queue is not there, or a zero one.
func (q *Queue) made() {
	if q == nil || q.file == nil {
		panic("twheel: a Queue that NewQueue has not made")
	}
}

// watch has Go's poller watch a copy of the descriptor, which os.File closes.
func (q *Queue) watch() error {
	fd, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(C.twheel_fd(q.tw)),
		syscall.F_DUPFD_CLOEXEC, 0)
	if errno != 0 {
		return os.NewSyscallError("fcntl", errno)
	}
	q.file = os.NewFile(fd, "twheel")
	conn, err := q.file.SyscallConn()
	// os.NewFile does not say whether the poller has taken it: a deadline does.
	if err == nil {
		err = q.file.SetReadDeadline(time.Time{})
	}
	if err != nil {
		q.file.Close()
		return err
	}
	q.conn = conn
	return nil
}

// call runs f while the context is open.
func (q *Queue) call(what string, f func() C.int) error {
	q.made()
	q.mu.RLock()
	defer q.mu.RUnlock()
	if q.tw == nil {
		return os.ErrClosed
	}
	return failed(what, f())
}

// Close ends the queue with all its timers. A Read that waits returns os.ErrClosed; so does Close
// if the queue was closed before.
func (q *Queue) Close() error {
	q.made()
	q.closing.Lock()
	defer q.closing.Unlock()
	// It waits until those who read have left.
	err := q.file.Close()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.tw == nil {
		return os.ErrClosed
	}
	C.twheel_close(q.tw)
	q.tw = nil
	return err
}

// Put arms the timer with this key, or arms it anew, with one expiration.
func (q *Queue) Put(key uint64, d time.Duration) error {
	return q.call("twheel_put_after", func() C.int {
		return C.twheel_put_after(q.tw, C.uint64_t(key), ns(d), 0, nil)
	})
}

// Push lets the timer with this key expire d from now, and keeps its settings. If there is none,
// it is made.
func (q *Queue) Push(key uint64, d time.Duration) error {
	return q.call("twheel_push", func() C.int {
		// Both are less than 2^63.
		expires := C.twheel_now(q.tw) + ns(d)
		if expires > math.MaxInt64 {
			expires = math.MaxInt64
		}
		return C.twheel_push(q.tw, C.uint64_t(key), expires)
	})
}

// batch calls some until it has handled n elements, or returns an error, which is negative. some is
// told how many are done, and returns how many more it has handled.
func (q *Queue) batch(call string, n int, some func(done int) int) (int, error) {
	done := 0
	err := q.call(call, func() C.int {
		for done < n {
			handled := some(done)
			if handled < 0 {
				return C.int(handled)
			}
			done += handled
		}
		return 0
	})
	return done, err
}

// PushAll is Push for many timers, in one call. It returns how many were pushed back; if those are
// not all, also the error of the next one.
func (q *Queue) PushAll(pushes []Push) (int, error) {
	return q.batch("twheel_push_batch", len(pushes), func(done int) int {
		return int(C.twheel_push_batch(q.tw,
			(*C.struct_twheel_push)(unsafe.Pointer(&pushes[done])),
			C.size_t(len(pushes)-done)))
	})
}

// ArmAll arms many timers, in one call. An error is that of the call; the Result of each element
// says how that went. It returns how many elements were handled, whatever their results.
func (q *Queue) ArmAll(arms []Arm) (int, error) {
	return q.batch("twheel_arm_batch", len(arms), func(done int) int {
		return int(C.twheel_arm_batch(q.tw,
			(*C.struct_twheel_arm)(unsafe.Pointer(&arms[done])),
			C.size_t(len(arms)-done)))
	})
}

// CancelAll cancels many timers, in one call, as ArmAll arms them.
func (q *Queue) CancelAll(cancels []Cancel) (int, error) {
	return q.batch("twheel_cancel_batch", len(cancels), func(done int) int {
		return int(C.twheel_cancel_batch(q.tw,
			(*C.struct_twheel_cancel)(unsafe.Pointer(&cancels[done])),
			C.size_t(len(cancels)-done)))
	})
}

// Cancel cancels the timer with this key; its event is not read any more. False if there is none.
func (q *Queue) Cancel(key uint64) (bool, error) {
	err := q.call("twheel_cancel", func() C.int {
		return C.twheel_cancel(q.tw, C.uint64_t(key), nil)
	})
	if errors.Is(err, syscall.ENOENT) {
		return false, nil
	}
	return err == nil, err
}

// Clear cancels all timers, and drops the events that were not read.
func (q *Queue) Clear() error {
	return q.call("twheel_cancel_all", func() C.int { return C.twheel_cancel_all(q.tw) })
}

// Remaining tells how long it is until the timer with this key is due, and whether there is one.
func (q *Queue) Remaining(key uint64) (time.Duration, bool, error) {
	var info C.struct_twheel_timer_info
	err := q.call("twheel_get", func() C.int {
		return C.twheel_get(q.tw, C.uint64_t(key), &info)
	})
	if errors.Is(err, syscall.ENOENT) {
		return 0, false, nil
	}
	return time.Duration(info.remaining), err == nil, err
}

// Now is the time on CLOCK_MONOTONIC, in nanoseconds: what absolute times are.
func (q *Queue) Now() (uint64, error) {
	var now uint64
	err := q.call("twheel_now", func() C.int {
		now = uint64(C.twheel_now(q.tw))
		return 0
	})
	return now, err
}

// info is what the library knows of the context.
func (q *Queue) info() (info C.struct_twheel_info, err error) {
	err = q.call("twheel_get_info", func() C.int { return C.twheel_get_info(q.tw, 0, &info) })
	return info, err
}

// Len is how many timers there are, those with an event that was not read included.
func (q *Queue) Len() (int, error) {
	info, err := q.info()
	return int(info.pending + info.ready), err
}

// String tells how many timers there are, or why that cannot be told.
func (q *Queue) String() string {
	n, err := q.Len()
	if err != nil {
		return fmt.Sprintf("twheel.Queue(%v)", err)
	}
	return fmt.Sprintf("twheel.Queue(%d)", n)
}

// Embedded tells whether this is a wheel in the process.
func (q *Queue) Embedded() (bool, error) {
	info, err := q.info()
	return info.features&C.TWHEEL_FEATURE_EMBEDDED != 0, err
}

// Stats gives what was counted, of a wheel in the process; EOPNOTSUPP for one of the device.
func (q *Queue) Stats() (Stats, error) {
	var stats Stats
	err := q.call("twheel_stats", func() C.int {
		return C.twheel_stats(q.tw, (*C.struct_twheel_counters)(unsafe.Pointer(&stats)),
			C.size_t(unsafe.Sizeof(stats)))
	})
	return stats, err
}

// Read waits for timers that have expired, stores their events, and returns how many those are. The
// goroutine waits in Go's poller, and takes no thread. With a deadline (see SetReadDeadline)
// that has passed, the error is os.ErrDeadlineExceeded. Without room for an event it is EINVAL.
//
// A timer may be armed anew or pushed back after its event was read, before that is handled. So while
// Remaining finds the timer, an event with EventLast is of an earlier arming, and another will come.
func (q *Queue) Read(events []Event) (int, error) {
	q.made()
	if len(events) == 0 {
		return 0, os.NewSyscallError("twheel_read", syscall.EINVAL)
	}
	var n C.int
	err := q.conn.Read(func(uintptr) bool {
		// Close waits until this has returned.
		n = q.take(events)
		return n != -C.EAGAIN
	})
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return 0, err
	case err != nil:
		return 0, os.ErrClosed
	case n < 0:
		return 0, failed("twheel_read", n)
	}
	return int(n), nil
}

// poll is Read that does not wait: it returns 0 if no timer has expired.
func (q *Queue) poll(events []Event) (int, error) {
	var n C.int
	err := q.call("twheel_read", func() C.int {
		if n = q.take(events); n == -C.EAGAIN {
			n = 0
		}
		return n
	})
	if err != nil {
		return 0, err
	}
	return int(n), nil
}

// take reads events, which are few enough for an int. It returns how many, or a negative errno.
func (q *Queue) take(events []Event) C.int {
	for {
		n := C.twheel_read(q.tw, (*C.struct_twheel_event)(unsafe.Pointer(&events[0])),
			C.size_t(len(events)))
		if n != -C.EINTR {
			return C.int(n)
		}
	}
}

// SetReadDeadline lets each Read, also one that waits now, give up at t. The zero time is never.
func (q *Queue) SetReadDeadline(t time.Time) error {
	q.made()
	if err := q.file.SetReadDeadline(t); err != nil {
		return os.ErrClosed
	}
	return nil
}
