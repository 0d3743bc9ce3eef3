// SPDX-License-Identifier: GPL-2.0-only

package twheel

import (
	"errors"
	"math"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

func newQueue(t *testing.T, config *Config) *Queue {
	t.Helper()
	q, err := NewQueue(config)
	check(t, err)
	t.Cleanup(func() { q.Close() })
	return q
}

func check(t *testing.T, err error) {
	t.Helper()
	failIf(t, err != nil, err)
}

// failIf fails, and says why, if things are bad.
func failIf(t *testing.T, bad bool, why ...any) {
	t.Helper()
	if bad {
		t.Fatal(why...)
	}
}

// notEarly fails if d has not passed since start.
func notEarly(t *testing.T, start time.Time, d time.Duration) {
	t.Helper()
	took := time.Since(start)
	failIf(t, took < d, took, "of", d)
}

// expect fails unless err is the errno, or the error, that is wanted.
func expect(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("%v, not %v", err, want)
	}
}

// readKeys reads n events, none of which may be early, and returns how often each key came.
func readKeys(t *testing.T, q *Queue, n int) map[uint64]int {
	t.Helper()
	keys := make(map[uint64]int)
	events := make([]Event, 7)
	for n > 0 {
		got, err := q.Read(events)
		check(t, err)
		for _, event := range events[:got] {
			failIf(t, event.Expired < event.Deadline, "it is early", event)
			keys[event.Key]++
		}
		n -= got
	}
	return keys
}

// nothing fails if there is an event.
func nothing(t *testing.T, q *Queue) {
	t.Helper()
	events := make([]Event, 1)
	n, err := q.poll(events)
	failIf(t, n != 0 || err != nil, n, err, events)
}

func TestVersion(t *testing.T) {
	// Of the tree, where the tests are run there
	if want := os.Getenv("TWHEEL_VERSION"); want != "" && want != Version {
		t.Fatal(Version, want)
	}
}

func TestQueue(t *testing.T) {
	q := newQueue(t, nil)
	start := time.Now()
	check(t, q.Put(1, 20*time.Millisecond))
	check(t, q.Put(2, time.Hour))
	check(t, q.Put(3, time.Hour))
	check(t, q.Put(math.MaxUint64, time.Millisecond))
	check(t, q.Push(3, 0))
	if done, err := q.Cancel(2); !done || err != nil {
		t.Fatal(done, err)
	}
	if done, err := q.Cancel(2); done || err != nil {
		t.Fatal("it was cancelled twice", err)
	}
	keys := readKeys(t, q, 3)
	notEarly(t, start, 20*time.Millisecond)
	failIf(t, keys[1] != 1 || keys[3] != 1 || keys[math.MaxUint64] != 1, keys)
	nothing(t, q)
	if n, err := q.Len(); n != 0 || err != nil {
		t.Fatal(n, err)
	}
}

func TestQueueTimesAtTheEdges(t *testing.T) {
	q := newQueue(t, nil)
	check(t, q.Put(1, math.MinInt64))
	check(t, q.Put(2, math.MaxInt64))
	check(t, q.Push(3, math.MaxInt64))
	check(t, q.Push(4, math.MinInt64))
	keys := readKeys(t, q, 2)
	failIf(t, keys[1] != 1 || keys[4] != 1, keys)
	for key := uint64(2); key <= 3; key++ {
		left, there, err := q.Remaining(key)
		failIf(t, err != nil || !there || left <= 1<<62, key, left, there, err)
	}
	check(t, q.Push(2, time.Hour))
	left, there, err := q.Remaining(2)
	failIf(t, err != nil || !there || left <= 59*time.Minute || left > time.Hour,
		left, there, err)
	check(t, q.Clear())
	if _, there, err := q.Remaining(2); there || err != nil {
		t.Fatal(there, err)
	}
	nothing(t, q)
}

func TestQueueBatches(t *testing.T) {
	const n = 3000
	q := newQueue(t, nil)
	now, err := q.Now()
	check(t, err)
	arms := make([]Arm, n)
	for i := range arms {
		arms[i] = Arm{Key: uint64(i), UserData: uint64(i) * 3, Expires: uint64(time.Hour)}
	}
	arms[1] = Arm{Key: 1, UserData: 3, Expires: now + 1, Flags: ArmAbsolute}
	arms[2].Expires = math.MaxUint64
	if done, err := q.ArmAll(arms); done != n || err != nil {
		t.Fatal(done, err)
	}
	failIf(t, arms[0].Result != 0 || arms[2].Result != -int16(syscall.EINVAL) ||
		arms[0].OldState != StateNone, arms[:3])
	events := make([]Event, 10)
	got, err := q.Read(events)
	failIf(t, got != 1 || err != nil || events[0].Key != 1 || events[0].UserData != 3 ||
		events[0].Deadline != now+1 || events[0].Expirations != 1 ||
		events[0].Flags != EventLast, got, err, events[0])
	pushes := make([]Push, n)
	for i := range pushes {
		pushes[i] = Push{Key: uint64(i), Expires: now}
	}
	if done, err := q.PushAll(pushes); done != n || err != nil {
		t.Fatal(done, err)
	}
	keys := readKeys(t, q, n)
	for key := uint64(0); key < n; key++ {
		failIf(t, keys[key] != 1, key, keys[key])
	}
	pushes[5].Expires = math.MaxUint64
	done, err := q.PushAll(pushes)
	expect(t, err, syscall.EINVAL)
	failIf(t, done != 5, done)
	cancels := make([]Cancel, 6)
	for i := range cancels {
		cancels[i].Key = uint64(i)
	}
	if done, err := q.CancelAll(cancels); done != 6 || err != nil {
		t.Fatal(done, err)
	}
	failIf(t, cancels[4].Result != 0 || cancels[4].OldState != StateReady ||
		cancels[5].Result != -int32(syscall.ENOENT), cancels)
	nothing(t, q)
	for _, f := range []func() (int, error){
		func() (int, error) { return q.ArmAll(nil) },
		func() (int, error) { return q.PushAll(nil) },
		func() (int, error) { return q.CancelAll(nil) },
	} {
		if n, err := f(); n != 0 || err != nil {
			t.Fatal(n, err)
		}
	}
}

func TestQueueRepeats(t *testing.T) {
	q := newQueue(t, nil)
	every := uint64(2 * time.Millisecond)
	arms := []Arm{{Key: 1, Expires: every, Interval: every, Count: 5}}
	_, err := q.ArmAll(arms)
	check(t, err)
	events := make([]Event, 1)
	rounds, first := uint64(0), uint64(0)
	for last := false; !last; {
		_, err := q.Read(events)
		check(t, err)
		event := events[0]
		if rounds == 0 {
			first = event.Deadline
		}
		failIf(t, event.Deadline != first+rounds*every, "off the grid", rounds, event)
		rounds += event.Expirations
		last = event.Flags&EventLast != 0
	}
	failIf(t, rounds != 5, rounds)
	nothing(t, q)
}

// The error says what could not be opened.
func TestQueueIsNotOpened(t *testing.T) {
	_, err := NewQueue(&Config{Path: "/no/such/device"})
	expect(t, err, syscall.ENOENT)
	failIf(t, err.Error() != "twheel_open /no/such/device: no such file or directory", err)
	t.Setenv("TWHEEL_BACKEND", "embeded")
	_, err = NewQueue(nil)
	expect(t, err, syscall.EINVAL)
	failIf(t, !strings.Contains(err.Error(), "TWHEEL_BACKEND (auto, device, embedded)"), err)
}

func TestQueueErrors(t *testing.T) {
	_, err := NewQueue(&Config{Path: "/dev/twheel", Embedded: true})
	expect(t, err, syscall.EINVAL)
	_, err = NewQueue(&Config{Path: "a\x00b"})
	expect(t, err, syscall.EINVAL)

	q := newQueue(t, &Config{Limit: 2})
	_, err = q.Read(nil)
	expect(t, err, syscall.EINVAL)
	check(t, q.Put(1, time.Hour))
	check(t, q.Put(2, time.Hour))
	expect(t, q.Put(3, time.Hour), syscall.ENOSPC)
	expect(t, q.Push(3, time.Hour), syscall.ENOSPC)
	check(t, q.Push(2, 2*time.Hour))
	check(t, q.Close())
	expect(t, q.Close(), os.ErrClosed)
	expect(t, q.Put(1, 0), os.ErrClosed)
	expect(t, q.SetReadDeadline(time.Time{}), os.ErrClosed)
	_, err = q.Read(make([]Event, 1))
	expect(t, err, os.ErrClosed)
	_, err = q.Cancel(1)
	expect(t, err, os.ErrClosed)
	_, _, err = q.Remaining(1)
	expect(t, err, os.ErrClosed)
}

func TestQueueStats(t *testing.T) {
	q := newQueue(t, &Config{Embedded: true})
	check(t, q.Put(1, 0))
	check(t, q.Put(2, time.Hour))
	check(t, q.Put(2, time.Hour))
	readKeys(t, q, 1)
	_, err := q.Cancel(2)
	check(t, err)
	stats, err := q.Stats()
	check(t, err)
	failIf(t, stats.Armed != 2 || stats.Rearmed != 1 || stats.Expired != 1 ||
		stats.Cancelled != 1 || stats.Read != 1 || stats.ReadACall[1] != 1, stats)
	if embedded, err := q.Embedded(); !embedded || err != nil {
		t.Fatal(embedded, err)
	}
}

func TestQueueDeadlineIsNotEarly(t *testing.T) {
	q := newQueue(t, nil)
	check(t, q.Put(1, time.Hour))
	start := time.Now()
	check(t, q.SetReadDeadline(start.Add(30*time.Millisecond)))
	_, err := q.Read(make([]Event, 1))
	expect(t, err, os.ErrDeadlineExceeded)
	notEarly(t, start, 30*time.Millisecond)
}

// Readers wait while the queue is closed, and others call it.
func TestQueueCloseUnderUse(t *testing.T) {
	for round := 0; round < 200; round++ {
		q := newQueue(t, nil)
		var users sync.WaitGroup
		for i := 0; i < 3; i++ {
			users.Add(2)
			go func() {
				defer users.Done()
				events := make([]Event, 4)
				for {
					if _, err := q.Read(events); err != nil {
						if err != os.ErrClosed {
							t.Error(err)
						}
						return
					}
				}
			}()
			go func(key uint64) {
				defer users.Done()
				for {
					if err := q.Put(key, time.Duration(round)*time.Microsecond); err != nil {
						if err != os.ErrClosed {
							t.Error(err)
						}
						return
					}
				}
			}(uint64(i))
		}
		time.Sleep(time.Duration(round%4) * 100 * time.Microsecond)
		check(t, q.Close())
		users.Wait()
	}
}

// The second of two that close it at once frees nothing that is read still.
func TestQueueCloseTwiceAtOnce(t *testing.T) {
	const n = 20000
	arms := make([]Arm, n)
	for i := range arms {
		arms[i].Key = uint64(i)
	}
	events := make([]Event, n)
	for round := 0; round < 100; round++ {
		q := newQueue(t, &Config{Embedded: true})
		_, err := q.ArmAll(arms)
		check(t, err)
		var wait sync.WaitGroup
		var closed int32
		wait.Add(3)
		go func() {
			defer wait.Done()
			for {
				if _, err := q.Read(events[:1+round]); err != nil {
					return
				}
			}
		}()
		for i := 0; i < 2; i++ {
			go func() {
				defer wait.Done()
				time.Sleep(time.Duration(round%7) * 50 * time.Microsecond)
				if q.Close() == nil {
					atomic.AddInt32(&closed, 1)
				}
			}()
		}
		wait.Wait()
		failIf(t, closed != 1, closed)
	}
}

// Each event goes to one of several readers.
func readByMany(t *testing.T, config *Config) {
	const n = 5000
	q := newQueue(t, config)
	var mu sync.Mutex
	counts := make(map[uint64]int)
	all := make(chan struct{})
	for i := 0; i < 4; i++ {
		go func() {
			events := make([]Event, 16)
			for {
				got, err := q.Read(events)
				if err != nil {
					return
				}
				mu.Lock()
				for _, event := range events[:got] {
					counts[event.Key]++
				}
				if len(counts) == n {
					select {
					case <-all:
					default:
						close(all)
					}
				}
				mu.Unlock()
			}
		}()
	}
	for key := uint64(0); key < n; key++ {
		check(t, q.Put(key, time.Duration(key)*time.Microsecond))
	}
	<-all
	mu.Lock()
	defer mu.Unlock()
	for key, count := range counts {
		failIf(t, count != 1, key, count)
	}
}

func TestQueueReaders(t *testing.T) {
	readByMany(t, nil)
	readByMany(t, &Config{Threads: true})
}
