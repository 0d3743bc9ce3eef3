// SPDX-License-Identifier: GPL-2.0-only

package twheel

import (
	"context"
	"fmt"
	"math"
	"math/rand"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

func newWheel(t *testing.T, config *Config) *Wheel {
	t.Helper()
	w, err := NewWheel(config)
	check(t, err)
	t.Cleanup(func() { w.Close() })
	return w
}

// later waits until timers that were due before d from now have expired: what must not come has
// not come then.
func later(w *Wheel, d time.Duration) {
	<-w.After(d)
}

// armed is how many timers the queue knows.
func armed(t *testing.T, w *Wheel) int {
	t.Helper()
	n, err := w.queue.Len()
	check(t, err)
	return n
}

// expectTimers fails unless the queue has n timers, and as many keys are in use.
func expectTimers(t *testing.T, w *Wheel, n int) {
	t.Helper()
	used := len(w.slots) - len(w.free) - 1
	failIf(t, armed(t, w) != n || used != n, armed(t, w), "timers,", used, "keys are in use")
}

func TestNeverEarlyAndOnce(t *testing.T) {
	const n = 2000
	w := newWheel(t, nil)
	// Also where all that is late hides what is early
	for d := time.Duration(1); d < time.Hour; d *= 3 {
		now, err := w.queue.Now()
		check(t, err)
		deadline, _ := w.after(d)
		failIf(t, deadline < int64(now)+int64(d), d, deadline, now)
	}
	var fired [n]int32
	var wait sync.WaitGroup
	wait.Add(n)
	random := rand.New(rand.NewSource(1))
	for i := 0; i < n; i++ {
		i, d := i, time.Duration(random.Int63n(int64(120*time.Millisecond)))
		start := time.Now()
		w.AfterFunc(d, func() {
			if took := time.Since(start); took < d {
				t.Errorf("%v after %v", d, took)
			}
			if atomic.AddInt32(&fired[i], 1) == 1 {
				wait.Done()
			}
		})
	}
	wait.Wait()
	later(w, 5*time.Millisecond)
	for i := range fired {
		count := atomic.LoadInt32(&fired[i])
		failIf(t, count != 1, "timer", i, "came", count, "times")
	}
	check(t, w.Flush())
	failIf(t, armed(t, w) != 0, armed(t, w))
}

// A wheel that is opened while others have the CPU is not late for ever.
func TestClockOfABadMoment(t *testing.T) {
	w := newWheel(t, nil)
	bad := func(rounds ...int) func() (uint64, error) {
		i := -1
		return func() (uint64, error) {
			now, err := w.queue.Now()
			i++
			for _, round := range rounds {
				if i == round {
					// As if an hour passed after Go's clock was read
					now += uint64(time.Hour)
				}
			}
			return now, err
		}
	}
	for _, read := range []func() (uint64, error){bad(0), bad(0, 1, 2), bad(9), bad(1, 3, 5, 7, 9)} {
		check(t, w.setClock(read))
		before, err := w.queue.Now()
		check(t, err)
		mine := w.now()
		after, err := w.queue.Now()
		check(t, err)
		failIf(t, mine < int64(before), "it is behind the clock", mine, before)
		failIf(t, mine > int64(after)+int64(30*time.Minute),
			"it is late for ever", mine, after)
	}
}

func TestReset(t *testing.T) {
	w := newWheel(t, nil)
	timer := w.NewTimer(5 * time.Millisecond)
	start := time.Now()
	if !timer.Reset(80 * time.Millisecond) {
		// It was slow; the time that it sent is taken back all the same.
		t.Error("Reset says that it was not armed")
	}
	<-timer.C
	notEarly(t, start, 80*time.Millisecond)
	failIf(t, timer.Armed() || timer.Remaining() != 0 || timer.Stop() || timer.Push(0),
		"it is armed after it has expired")
	// Earlier than what the queue knows
	failIf(t, timer.Reset(time.Hour), "it was armed")
	check(t, w.Flush())
	start = time.Now()
	failIf(t, !timer.Reset(50*time.Millisecond), "it was not armed")
	<-timer.C
	notEarly(t, start, 50*time.Millisecond)
	timer.Reset(time.Hour)
	failIf(t, !timer.Push(0), "it was not armed")
	<-timer.C
}

func TestPushIsNotTold(t *testing.T) {
	w := newWheel(t, &Config{Embedded: true})
	timer := w.NewTimer(time.Hour)
	check(t, w.Flush())
	for i := 0; i < 1000; i++ {
		timer.Push(time.Hour + time.Duration(i))
	}
	check(t, w.Flush())
	stats, err := w.queue.Stats()
	check(t, err)
	failIf(t, stats.Armed != 1 || stats.Rearmed != 0, stats.Armed, stats.Rearmed)
	failIf(t, timer.Remaining() < 59*time.Minute, timer.Remaining())
	// What is stopped before it is told is never told.
	w.telling.Lock()
	for i := 0; i < 1000; i++ {
		w.NewTimer(time.Hour).Stop()
	}
	w.telling.Unlock()
	timer.Stop()
	check(t, w.Flush())
	stats, err = w.queue.Stats()
	check(t, err)
	failIf(t, stats.Armed != 1 || stats.Cancelled != 1, stats.Armed, stats.Cancelled)
	failIf(t, len(w.slots) != 2 || len(w.free) != 1,
		"keys are not used again", len(w.slots), len(w.free))
}

// Of a timer that was pushed back the queue knows an earlier time. It must not come at that, and
// not twice.
func TestPushedBackInTheQueue(t *testing.T) {
	w := newWheel(t, nil)
	var fired int32
	timer := w.AfterFunc(60*time.Millisecond, func() { atomic.AddInt32(&fired, 1) })
	check(t, w.Flush())
	start := time.Now()
	pushed := timer.Push(120 * time.Millisecond)
	later(w, 90*time.Millisecond)
	if pushed && atomic.LoadInt32(&fired) != 0 && time.Since(start) < 120*time.Millisecond {
		t.Fatal("it came at the time before it was pushed back")
	}
	later(w, 60*time.Millisecond)
	for atomic.LoadInt32(&fired) == 0 {
		later(w, time.Millisecond)
	}
	later(w, 10*time.Millisecond)
	failIf(t, atomic.LoadInt32(&fired) != 1, atomic.LoadInt32(&fired))
}

// An event may be read before its timer is stopped, and handled when another one has its key.
func TestEventOfAnother(t *testing.T) {
	w := newWheel(t, nil)
	var fired int32
	timer := w.AfterFunc(time.Hour, func() { atomic.AddInt32(&fired, 1) })
	check(t, w.Flush())
	timer.mu.Lock()
	told := timer.told
	timer.mu.Unlock()
	timer.expire(told-1, told-1, told)
	later(w, 2*lag)
	failIf(t, !timer.Armed() || atomic.LoadInt32(&fired) != 0,
		"it has taken the event of another timer")
	timer.Push(0)
	for atomic.LoadInt32(&fired) == 0 {
		later(w, time.Millisecond)
	}
}

func TestStopIsFinal(t *testing.T) {
	w := newWheel(t, nil)
	var fired int32
	timers := make([]*Timer, 500)
	for i := range timers {
		timers[i] = w.AfterFunc(50*time.Millisecond, func() { atomic.AddInt32(&fired, 1) })
	}
	check(t, w.Flush())
	stopped := 0
	for _, timer := range timers {
		if timer.Stop() {
			stopped++
		}
		failIf(t, timer.Stop(), "it was stopped twice")
	}
	later(w, 80*time.Millisecond)
	for int(atomic.LoadInt32(&fired))+stopped < len(timers) {
		later(w, time.Millisecond)
	}
	later(w, 5*time.Millisecond)
	count := int(atomic.LoadInt32(&fired))
	failIf(t, count+stopped != len(timers), count, stopped)
}

// As with Go 1.23: no stale time is received.
func TestChannelIsNotStale(t *testing.T) {
	w := newWheel(t, nil)
	for _, end := range []func(*Timer) bool{
		func(timer *Timer) bool { return timer.Reset(time.Hour) },
		(*Timer).Stop,
	} {
		timer := w.NewTimer(time.Millisecond)
		for len(timer.C) == 0 {
			later(w, time.Millisecond)
		}
		failIf(t, !end(timer), "a time that was not received does not count")
		failIf(t, len(timer.C) != 0, "the time is there still")
		timer.Stop()
	}
}

func TestTicker(t *testing.T) {
	w := newWheel(t, nil)
	const every = 3 * time.Millisecond
	start := time.Now()
	ticker := w.NewTicker(every)
	for i := 1; i <= 20; i++ {
		took := (<-ticker.C).Sub(start)
		failIf(t, took < time.Duration(i)*every, "tick", i, "after", took)
	}
	failIf(t, !ticker.Stop(), "it was not armed")
	later(w, 4*every)
	failIf(t, len(ticker.C) != 0, "it ticks after Stop")
	ticker.Reset(every)
	<-ticker.C
	<-ticker.C
	for _, f := range []func(time.Duration){
		func(d time.Duration) { w.NewTicker(d) },
		func(d time.Duration) { ticker.Reset(d) },
		func(d time.Duration) { ticker.Push(d) },
	} {
		for _, d := range []time.Duration{0, -1} {
			func() {
				defer func() {
					failIf(t, recover() == nil, "a ticker without an interval")
				}()
				f(d)
			}()
		}
	}
	// The ticker is what it was.
	<-ticker.C
	<-ticker.C
}

// As with package time, Reset gives a ticker another interval, and so does Push.
func TestTickerTakesInterval(t *testing.T) {
	const every = 20 * time.Millisecond
	w := newWheel(t, nil)
	for _, change := range []func(*Timer, time.Duration) bool{(*Timer).Reset, (*Timer).Push} {
		ticker := w.NewTicker(time.Millisecond)
		<-ticker.C
		change(ticker, time.Hour)
		failIf(t, ticker.Remaining() <= 59*time.Minute, ticker.Remaining())
		// Push does not take back what was sent before.
		for len(ticker.C) != 0 {
			<-ticker.C
		}
		start := time.Now()
		change(ticker, every)
		for i := 1; i <= 3; i++ {
			took := (<-ticker.C).Sub(start)
			failIf(t, took < time.Duration(i)*every, "tick", i, "after", took)
		}
		ticker.Stop()
	}
}

// What Cancel ends as it comes up is cancelled as any other.
func TestKeysEndInOneWay(t *testing.T) {
	w := newWheel(t, nil)
	called := 0
	keys := NewKeys(w, func(int) { called++ })
	keys.Put(1, time.Hour)
	check(t, w.Flush())
	timer := keys.timers[1]
	// As if it came up while Cancel has the lock
	timer.mu.Lock()
	timer.deadline = 0
	timer.mu.Unlock()
	failIf(t, !keys.Cancel(1) || keys.Cancel(1) || keys.Len() != 0, "it was not cancelled")
	timer.f()
	failIf(t, called != 0, "it was called after Cancel")
}

// Each key is drained or expires, and never both, also if it comes up at the same time.
func TestDrainIsOnce(t *testing.T) {
	const n = 200
	w := newWheel(t, nil)
	for round := 0; round < 20; round++ {
		var got [n]int32
		var all sync.WaitGroup
		all.Add(n)
		f := func(key int) {
			if atomic.AddInt32(&got[key], 1) == 1 {
				all.Done()
			}
		}
		keys := NewKeys(w, f)
		for key := range got {
			keys.Put(key, time.Duration(key)*10*time.Microsecond)
		}
		keys.Drain(f)
		all.Wait()
		later(w, 3*time.Millisecond)
		for key := range got {
			count := atomic.LoadInt32(&got[key])
			failIf(t, count != 1, "key", key, "came", count, "times")
		}
	}
}

// A map would take such a key and never find it again.
func TestKeysWithoutNaN(t *testing.T) {
	w := newWheel(t, nil)
	refused := func(put func()) {
		t.Helper()
		defer func() {
			failIf(t, recover() == nil, "NaN is a key")
		}()
		put()
	}
	nan := math.NaN()
	numbers := NewKeys(w, func(float64) {})
	refused(func() { numbers.Put(nan, time.Hour) })
	points := NewKeys(w, func([2]float64) {})
	refused(func() { points.Put([2]float64{1, nan}, time.Hour) })
	numbers.Put(1, time.Hour)
	if numbers.Push(nan, 0) || numbers.Cancel(nan) || numbers.Len() != 1 || points.Len() != 0 {
		t.Fatal("there is a timer with NaN")
	}
}

// Timers that are silently never due, or that nothing hears of, would be worse.
func TestZeroValuesPanic(t *testing.T) {
	w := newWheel(t, nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for i, call := range []func(){
		func() { new(Wheel).NewTimer(1) }, func() { new(Wheel).After(1) },
		func() { new(Wheel).AfterFunc(1, func() {}) }, func() { new(Wheel).NewTicker(1) },
		func() { new(Wheel).Sleep(ctx, 1) }, func() { new(Wheel).WithTimeout(ctx, 0) },
		func() { new(Wheel).Flush() }, func() { new(Wheel).Close() },
		func() { w.AfterFunc(1, nil) }, func() { NewKeys[int](w, nil) },
		func() { w.WithTimeout(nil, 1) },
		func() { NewKeys(new(Wheel), func(int) {}) }, func() { new(Keys[int]).Put(1, 1) },
		func() { new(Timer).Reset(1) }, func() { new(Timer).Push(1) },
		func() { new(Timer).Stop() }, func() { new(Timer).Armed() },
		func() { new(Timer).Remaining() }, func() { new(Queue).Put(1, 1) },
		func() { new(Queue).Len() }, func() { new(Queue).Close() },
		func() { new(Queue).Read(make([]Event, 1)) },
		func() { new(Queue).SetReadDeadline(time.Now()) },
	} {
		func() {
			defer func() {
				got := fmt.Sprint(recover())
				failIf(t, !strings.HasPrefix(got, "twheel: a "), "call", i, got)
			}()
			call()
		}()
	}
	failIf(t, new(Keys[int]).Len() != 0 || new(Keys[int]).Cancel(1), "it has a timer")
}

func TestTickerForEver(t *testing.T) {
	w := newWheel(t, nil)
	ticker := w.NewTicker(math.MaxInt64)
	defer ticker.Stop()
	ticker.mu.Lock()
	ticker.arm(w.after(time.Millisecond))
	ticker.mu.Unlock()
	<-ticker.C
	later(w, 2*lag)
	failIf(t, len(ticker.C) != 0 || ticker.Remaining() < 1<<62,
		"the next tick is not for ever", ticker.Remaining())
}

func TestTimesAtTheEdges(t *testing.T) {
	w := newWheel(t, nil)
	never := w.NewTimer(math.MaxInt64)
	<-w.NewTimer(math.MinInt64).C
	<-w.NewTimer(0).C
	check(t, w.Flush())
	failIf(t, !never.Armed() || never.Remaining() < 1<<62, never.Remaining())
	later(w, 2*lag)
	failIf(t, !never.Stop(), "for ever is over")
}

func TestSleep(t *testing.T) {
	w := newWheel(t, nil)
	start := time.Now()
	check(t, w.Sleep(context.Background(), 10*time.Millisecond))
	notEarly(t, start, 10*time.Millisecond)
	check(t, w.Sleep(context.Background(), -1))
	ctx, cancel := context.WithCancel(context.Background())
	go cancel()
	expect(t, w.Sleep(ctx, time.Hour), context.Canceled)
	go w.Close()
	expect(t, w.Sleep(context.Background(), time.Hour), os.ErrClosed)
}

func TestContext(t *testing.T) {
	w := newWheel(t, nil)
	type key struct{}
	parent := context.WithValue(context.Background(), key{}, 7)
	start := time.Now()
	ctx, cancel := w.WithTimeout(parent, 30*time.Millisecond)
	defer cancel()
	child, cancelChild := context.WithCancel(ctx)
	defer cancelChild()
	at, has := ctx.Deadline()
	failIf(t, !has || at.Before(start.Add(30*time.Millisecond)), at, has)
	failIf(t, ctx.Err() != nil && time.Since(start) < 30*time.Millisecond, ctx.Err())
	<-child.Done()
	notEarly(t, start, 30*time.Millisecond)
	expect(t, ctx.Err(), context.DeadlineExceeded)
	expect(t, child.Err(), context.DeadlineExceeded)
	failIf(t, ctx.Value(key{}) != 7, ctx.Value(key{}))
	cancel()
	expect(t, ctx.Err(), context.DeadlineExceeded)

	ctx, cancel = w.WithTimeout(parent, time.Hour)
	cancel()
	<-ctx.Done()
	expect(t, ctx.Err(), context.Canceled)

	above, cancelAbove := context.WithCancel(parent)
	ctx, cancel = w.WithTimeout(above, time.Hour)
	cancelAbove()
	<-ctx.Done()
	expect(t, ctx.Err(), context.Canceled)
	cancel()
	ctx, cancel = w.WithTimeout(above, time.Hour)
	expect(t, ctx.Err(), context.Canceled)
	cancel()

	ctx, cancel = w.WithDeadline(parent, time.Now().Add(-time.Second))
	expect(t, ctx.Err(), context.DeadlineExceeded)
	cancel()
	ctx, cancel = w.WithTimeout(parent, time.Hour)
	check(t, w.Close())
	<-ctx.Done()
	expect(t, ctx.Err(), os.ErrClosed)
	cancel()
	ctx, cancel = w.WithTimeout(parent, time.Hour)
	expect(t, ctx.Err(), os.ErrClosed)
	cancel()
}

// A context ends with its parent, as those of package context, and its timer is stopped.
func TestContextEndsAtOnce(t *testing.T) {
	w := newWheel(t, nil)
	for i := 0; i < 1000; i++ {
		above, cancelAbove := context.WithCancel(context.Background())
		middle, cancelMiddle := w.WithTimeout(above, time.Hour)
		ctx, cancel := w.WithTimeout(middle, time.Hour)
		cancelAbove()
		if i%2 == 0 {
			expect(t, ctx.Err(), context.Canceled)
		}
		select {
		case <-ctx.Done():
		default:
			t.Fatal("it is not done")
		}
		expect(t, ctx.Err(), context.Canceled)
		expect(t, middle.Err(), context.Canceled)
		for _, c := range []context.Context{middle, ctx} {
			failIf(t, c.(*timeout).timer.Armed(), "its timer is armed")
		}
		cancel()
		cancelMiddle()
	}
}

// A spy is a context that notes which keys it is asked for.
type spy struct {
	context.Context
	keys *[]any
}

func (s spy) Value(key any) any {
	*s.keys = append(*s.keys, key)
	return nil
}

// inside is what package context takes for its own in a context: its functions, such as Cause of Go
// 1.20, ask for that with a private key.
func inside(t *testing.T, ctx context.Context) context.Context {
	t.Helper()
	var keys []any
	above, cancelAbove := context.WithCancel(context.Background())
	defer cancelAbove()
	_, cancel := context.WithCancel(spy{above, &keys})
	cancel()
	failIf(t, len(keys) == 0, "package context has no key of its own")
	found, _ := ctx.Value(keys[0]).(context.Context)
	return found
}

// The cause of a context is how itself has ended, not how its parent has, which may not have ended.
func TestContextCause(t *testing.T) {
	w := newWheel(t, nil)
	parent, cancelParent := context.WithCancel(context.Background())
	type key struct{}
	named := context.WithValue(parent, key{}, 7)
	for _, d := range []time.Duration{-1, 5 * time.Millisecond} {
		ctx, cancel := w.WithTimeout(named, d)
		below, cancelBelow := w.WithTimeout(context.WithValue(ctx, key{}, 8), time.Hour)
		std, cancelStd := context.WithCancel(ctx)
		for _, c := range []context.Context{ctx, below, std} {
			<-c.Done()
			expect(t, c.Err(), context.DeadlineExceeded)
			expect(t, inside(t, c).Err(), context.DeadlineExceeded)
		}
		failIf(t, ctx.Value(key{}) != 7 || below.Value(key{}) != 8,
			"it has lost its values", ctx.Value(key{}), below.Value(key{}))
		cancel()
		cancelBelow()
		cancelStd()
	}

	stopped, cancel := w.WithTimeout(named, time.Hour)
	cancel()
	expect(t, inside(t, stopped).Err(), context.Canceled)
	// This one ends with its parent, whose cause it has.
	ctx, cancel := w.WithTimeout(named, time.Hour)
	defer cancel()
	check(t, inside(t, ctx).Err())
	cancelParent()
	expect(t, ctx.Err(), context.Canceled)
	failIf(t, inside(t, ctx) != parent, "the cause is not the parent's")

	ctx, cancel = w.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	check(t, w.Close())
	expect(t, inside(t, ctx).Err(), os.ErrClosed)
}

// A context starts no goroutine, whatever of package context or of the wheel is above it.
func TestContextTakesNoGoroutine(t *testing.T) {
	w := newWheel(t, nil)
	ctx, cancel := context.WithCancel(context.Background())
	type key struct{}
	before := runtime.NumGoroutine()
	for i := 0; i < 100; i++ {
		above := ctx
		if i%2 == 0 {
			above = context.WithValue(ctx, key{}, i)
		}
		below, cancelBelow := w.WithTimeout(above, time.Hour)
		defer cancelBelow()
		if i%3 == 0 {
			ctx = below
		}
	}
	n := runtime.NumGoroutine()
	failIf(t, n > before, n-before, "goroutines")
	cancel()
	<-ctx.Done()
	expect(t, ctx.Err(), context.Canceled)
}

// The deadline is the one that was given, to the nanosecond.
func TestContextDeadline(t *testing.T) {
	w := newWheel(t, nil)
	wall := time.Date(2999, 1, 2, 3, 4, 5, 6, time.UTC)
	for _, deadline := range []time.Time{wall, time.Now().Add(time.Hour), {}} {
		ctx, cancel := w.WithDeadline(context.Background(), deadline)
		got, has := ctx.Deadline()
		failIf(t, !has || got != deadline, got, deadline)
		cancel()
	}
	early := time.Now().Add(time.Minute)
	above, cancelAbove := w.WithDeadline(context.Background(), early)
	defer cancelAbove()
	below, cancel := w.WithDeadline(above, wall)
	defer cancel()
	got, _ := below.Deadline()
	failIf(t, got != early, got)
}

// A context can be printed while it ends, and reads as one of package context does.
func TestContextIsPrinted(t *testing.T) {
	w := newWheel(t, nil)
	type key struct{}
	wall := time.Date(2999, 1, 2, 3, 4, 5, 6, time.UTC)
	named := context.WithValue(context.Background(), key{}, 7)
	for _, parent := range []context.Context{named, spy{named, new([]any)}} {
		std, cancelStd := context.WithDeadline(parent, wall)
		ctx, cancel := w.WithDeadline(parent, wall)
		below, cancelBelow := context.WithCancel(ctx)
		want, _, _ := strings.Cut(fmt.Sprint(std), " [")
		for _, c := range []context.Context{ctx, below} {
			got, left, _ := strings.Cut(fmt.Sprint(c), " [")
			failIf(t, got != want || !strings.Contains(left, "])"),
				c, "in place of", std)
		}
		cancelBelow()
		cancel()
		cancelStd()
	}
	// Under the race detector
	for i := 0; i < 100; i++ {
		middle, cancelMiddle := w.WithTimeout(named, time.Duration(i)*50*time.Microsecond)
		ctx, cancel := w.WithTimeout(middle, time.Hour)
		for ctx.Err() == nil {
			_ = fmt.Sprintf("%v %+v %s", middle, ctx, ctx)
		}
		_ = fmt.Sprint(ctx)
		cancel()
		cancelMiddle()
	}
}

// The method is what context.AfterFunc of Go 1.21 is, which takes it for what is below the context.
// So can all the rest: package fmt would walk the map of Keys, which ends a program that writes to
// it.
func TestArePrinted(t *testing.T) {
	w, q := newWheel(t, nil), newQueue(t, nil)
	keys := NewKeys(w, func(int) {})
	timer := w.NewTimer(time.Hour)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; i < 1000; i++ {
			keys.Put(i, time.Hour)
			timer.Reset(time.Hour)
			_ = q.Put(uint64(i), time.Hour)
		}
	}()
	for i := 0; i < 1000; i++ {
		_ = fmt.Sprint(w, keys, timer, q)
	}
	<-done
	timer.Reset(math.MaxInt64)
	got := fmt.Sprint(w, keys, q)
	failIf(t, got != "twheel.Wheel(open) twheel.Keys(1000) twheel.Queue(1000)", got)
	got = timer.String()
	failIf(t, !strings.HasPrefix(got, "twheel.Timer(25"), got)
	failIf(t, !strings.HasSuffix(got, " left)"), got)
	w.Close()
	q.Close()
	got = fmt.Sprint(w, timer, q)
	failIf(t, got != "twheel.Wheel(closed) twheel.Timer(not armed) "+
		"twheel.Queue(file already closed)", got)
}

func TestContextAfterFunc(t *testing.T) {
	w := newWheel(t, nil)
	expire := func(ctx context.Context) { ctx.(*timeout).timer.Reset(0) }
	for i, want := range []error{context.Canceled, context.Canceled, context.DeadlineExceeded} {
		above, cancelAbove := context.WithCancel(context.Background())
		ctx, cancel := w.WithTimeout(above, time.Hour)
		after := ctx.(interface{ AfterFunc(func()) func() bool }).AfterFunc
		called, wait := make(chan error, 10), make(chan bool)
		f := func() { called <- ctx.Err() }
		// This one holds up nobody.
		after(func() { <-wait })
		ran := []func() bool{after(f), after(f)}
		stop := after(f)
		failIf(t, !stop() || stop(), "it was not stopped, or twice")
		failIf(t, len(called) != 0, "it was called before the end")
		[]func(){cancel, cancelAbove, func() { expire(ctx) }}[i]()
		<-ctx.Done()
		comes := func() {
			t.Helper()
			select {
			case err := <-called:
				expect(t, err, want)
			case <-time.After(20 * time.Second):
				t.Fatal("it is not called")
			}
		}
		comes()
		comes()
		// Also after the end
		for _, ran := range append(ran, after(f)) {
			failIf(t, ran() || ran(), "it was stopped after the end")
		}
		comes()
		close(wait)
		cancel()
		cancelAbove()
		later(w, time.Millisecond)
		failIf(t, len(called) != 0, "it was called twice, or although it was stopped")
	}
}

func TestKeys(t *testing.T) {
	type session struct {
		host string
		port int
	}
	w := newWheel(t, nil)
	over := make(chan session, 10)
	keys := NewKeys(w, func(key session) { over <- key })
	a, b, c := session{"a", 1}, session{"b", 2}, session{"c", 3}
	comes := func(want session) {
		t.Helper()
		got := <-over
		failIf(t, got != want, got)
	}
	keys.Put(a, time.Hour)
	keys.Put(b, time.Hour)
	keys.Put(c, time.Hour)
	failIf(t, !keys.Cancel(c) || keys.Cancel(c) || keys.Push(c, 0) || keys.Len() != 2,
		"c is not cancelled")
	left, there := keys.Remaining(b)
	failIf(t, !there || left <= 59*time.Minute || left > time.Hour, left, there)
	start := time.Now()
	keys.Put(a, 30*time.Millisecond)
	comes(a)
	notEarly(t, start, 30*time.Millisecond)
	failIf(t, !keys.Push(b, 0), "b is not there")
	comes(b)
	_, there = keys.Remaining(b)
	failIf(t, there || keys.Len() != 0, "b is there still")
	keys.Put(a, time.Hour)
	keys.Put(b, time.Hour)
	failIf(t, !keys.Push(a, 0), "a is not there")
	comes(a)
	keys.Clear()
	failIf(t, keys.Len() != 0, keys.Len())
	keys.Put(a, time.Hour)
	keys.Put(b, time.Hour)
	drained := map[session]int{}
	keys.Drain(func(key session) {
		drained[key]++
		failIf(t, keys.Len() != 0 || keys.Cancel(key), key, "is there still")
	})
	failIf(t, len(drained) != 2 || drained[a] != 1 || drained[b] != 1, drained)
	keys.Drain(func(session) { t.Fatal("there are none") })
	keys.Put(c, time.Hour)
	check(t, w.Close())
	keys.Put(b, 0)
	failIf(t, keys.Len() != 0 || len(over) != 0,
		"a closed wheel has keys", keys.Len(), len(over))
}

// armAt arms the timer for a point in time.
func armAt(timer *Timer, deadline int64) {
	timer.mu.Lock()
	defer timer.mu.Unlock()
	timer.arm(deadline, levels-1)
}

// allReady waits until all timers of a wheel that nobody reads have expired. On the device an interrupt
// lets them expire, which may be late; in the process they do when they are read.
func allReady(t *testing.T, w *Wheel, n int) {
	t.Helper()
	embedded, err := w.queue.Embedded()
	check(t, err)
	for ready := 0; !embedded && ready < n; {
		info, err := w.queue.info()
		check(t, err)
		ready = int(info.ready)
	}
}

// inOrder expects the keys from one on, up to another, to come next.
func inOrder(t *testing.T, over chan int, key, end int) {
	t.Helper()
	for ; key < end; key++ {
		got := next(t, over)
		failIf(t, got != key, got, "comes in place of", key)
	}
}

// stall has a function of the wheel go on until what it returns is closed.
func stall(w *Wheel) chan bool {
	stalled, end := make(chan bool), make(chan bool)
	NewKeys(w, func(int) {
		close(stalled)
		<-end
	}).Put(0, 0)
	<-stalled
	return end
}

// What is due after a stall comes by deadline, also if it takes more than one read, and if the queue was
// told earlier deadlines.
func TestOrderAfterAStall(t *testing.T) {
	const n = 4*batch - 1
	w := newWheel(t, nil)
	over := make(chan int, n)
	end := stall(w)
	// In the wheel the first of a tick is the last one here.
	w.telling.Lock()
	start := w.now() + int64(50*time.Millisecond)
	timers := make([]*Timer, n)
	for i := n - 1; i >= 0; i-- {
		key := i
		timers[i] = &Timer{wheel: w, direct: true, f: func() { over <- key }}
		if i%7 == 1 {
			armAt(timers[i], start-int64(20*time.Millisecond))
		} else {
			armAt(timers[i], start+int64(i*500))
		}
	}
	w.telling.Unlock()
	check(t, w.Flush())
	for i := 1; i < n; i += 7 {
		armAt(timers[i], start+int64(i*500))
	}
	for w.now() < start+int64(10*time.Millisecond) {
		time.Sleep(time.Millisecond)
	}
	allReady(t, w, n)
	close(end)
	inOrder(t, over, 0, n)
}

// The queue takes two timers; the others have to wait, and come all the same.
func TestRefused(t *testing.T) {
	const n = 8
	w := newWheel(t, &Config{Limit: 2})
	over := make(chan int, 2*n)
	start := time.Now()
	w.telling.Lock()
	for i := 1; i <= n; i++ {
		i := i
		d := time.Duration(i) * 15 * time.Millisecond
		w.AfterFunc(d, func() {
			if took := time.Since(start); took < d {
				t.Errorf("%v after %v", d, took)
			}
			over <- i
		})
	}
	for i := 0; i < 3; i++ {
		w.AfterFunc(time.Hour, func() { over <- 0 })
	}
	w.telling.Unlock()
	expect(t, w.Flush(), syscall.ENOSPC)
	var seen [n + 1]bool
	for i := 0; i < n; i++ {
		got := <-over
		failIf(t, seen[got], got, "came twice")
		seen[got] = true
	}
	later(w, 2*lag)
	failIf(t, len(over) != 0, "too many")
}

// next is the key that comes next.
func next(t *testing.T, over chan int) int {
	t.Helper()
	select {
	case key := <-over:
		return key
	case <-time.After(20 * time.Second):
		t.Fatal("nothing comes")
		return 0
	}
}

// Those that were refused are called in their turn, too. So their function may call any method, and
// Flush does not wait for it.
func TestRefusedAreCalledInTurn(t *testing.T) {
	const n = 5
	w := newWheel(t, &Config{Limit: 1})
	var program sync.Mutex
	var running, others int32
	over := make(chan int, n+1)
	keys := NewKeys(w, func(key int) {
		others += atomic.AddInt32(&running, 1) - 1
		program.Lock()
		program.Unlock()
		_ = w.Flush()
		atomic.AddInt32(&running, -1)
		over <- key
	})
	hour := w.NewTimer(time.Hour)
	check(t, w.Flush())
	w.telling.Lock()
	for key := 0; key < n; key++ {
		keys.Put(key, time.Duration(key)*time.Microsecond)
	}
	time.Sleep(time.Millisecond)
	program.Lock()
	w.telling.Unlock()
	flushed := make(chan error, 1)
	go func() { flushed <- w.Flush() }()
	select {
	case <-flushed:
	case <-time.After(20 * time.Second):
		t.Fatal("Flush waits for a function")
	}
	program.Unlock()
	inOrder(t, over, 0, n)
	hour.Stop()
	keys.Put(n, 0)
	inOrder(t, over, n, n+1)
	failIf(t, others != 0, others)
}

// asks notes of which deadlines the queue is told.
func asks(w *Wheel) (asked map[uint64]int) {
	asked = make(map[uint64]int)
	w.telling.Lock()
	defer w.telling.Unlock()
	w.pushAll = func(pushes []Push) (int, error) {
		n, err := w.queue.PushAll(pushes)
		for _, push := range pushes[:n] {
			asked[push.Expires]++
		}
		if err != nil {
			asked[pushes[n].Expires]++
		}
		return n, err
	}
	return asked
}

// Of very many that are refused the queue is asked for the first, and never for each: so nothing waits
// for that.
func TestRefusedAreNotAskedForEach(t *testing.T) {
	const n = 20 * batch
	w := newWheel(t, &Config{Limit: 1})
	first := w.NewTimer(time.Hour)
	check(t, w.Flush())
	asked := asks(w)
	w.telling.Lock()
	timers := hours(w, n)
	w.telling.Unlock()
	expect(t, w.Flush(), syscall.ENOSPC)
	w.telling.Lock()
	// A part of them was asked for until the first was refused.
	failIf(t, len(asked) > 2*batch, "it was asked for", len(asked), "timers")
	clear := func() {
		for deadline := range asked {
			delete(asked, deadline)
		}
	}
	clear()
	// What is armed anew while others wait is not asked for, be it due earlier or later.
	for i, timer := range timers[1:] {
		switch i % 3 {
		case 0:
			timer.Reset(30 * time.Minute)
		case 1:
			timer.Push(2 * time.Hour)
		}
	}
	w.telling.Unlock()
	for i := 0; i < 5; i++ {
		expect(t, w.Flush(), syscall.ENOSPC)
	}
	w.telling.Lock()
	failIf(t, len(asked) > 2, "it was asked for", len(asked), "timers")
	clear()
	// So is a timer that is due soon. It comes up although it has no place.
	soon := w.NewTimer(3 * lag)
	w.telling.Unlock()
	<-soon.C
	w.telling.Lock()
	failIf(t, len(asked) > 2, "it was asked for", len(asked), "timers")
	w.telling.Unlock()
	for _, timer := range append(timers, first) {
		timer.Stop()
	}
	check(t, w.Flush())
	expectTimers(t, w, 0)
	failIf(t, len(w.waiting) != 0, len(w.waiting))
}

// The places that are given back go to those that are due first, whenever they were refused, with what
// deadline, and whatever is stopped beside them.
func TestRefusedGetPlacesByDeadline(t *testing.T) {
	const n, places = 3 * batch, batch + 40
	w := newWheel(t, &Config{Limit: places})
	holders := hours(w, places)
	check(t, w.Flush())
	timers := make([]*Timer, n)
	for _, i := range rand.Perm(n) {
		// Each in a call, or many in one
		if timers[i] = w.NewTimer(time.Duration(n+i) * time.Minute); i%64 == 0 {
			expect(t, w.Flush(), syscall.ENOSPC)
		}
	}
	expect(t, w.Flush(), syscall.ENOSPC)
	w.telling.Lock()
	for i, timer := range timers {
		switch i % 3 {
		case 1:
			// Now it is before all that are as they were.
			timer.Reset(time.Hour + time.Duration(n-i)*time.Second)
		case 2:
			timer.Stop()
		}
	}
	w.telling.Unlock()
	expect(t, w.Flush(), syscall.ENOSPC)
	given := func(from, to int) {
		t.Helper()
		for _, timer := range holders[from:to] {
			timer.Stop()
		}
		_ = w.Flush()
		got := 0
		for i, timer := range timers {
			first := i%3 == 1 && n/3-i/3 <= to || i%3 == 0 && n/3+1+i/3 <= to
			failIf(t, hasTold(t, w, timer) != first, "timer", i, "of", to, "places:", !first)
			if first {
				got++
			}
		}
		failIf(t, got != to, got, to)
	}
	given(0, 1)
	given(1, 10)
	given(10, places)
	failIf(t, armed(t, w) != places || len(w.waiting) != 2*n/3-places,
		armed(t, w), len(w.waiting))
	check(t, w.Close())
	for i, timer := range timers {
		failIf(t, timer.Armed(), "a timer of a closed wheel is armed", i)
	}
}

// A timer that is stopped as it is refused says nothing of others that were pushed back.
func TestStoppedAsItIsRefused(t *testing.T) {
	w := newWheel(t, nil)
	end := stall(w)
	pushed := w.NewTimer(time.Millisecond)
	check(t, w.Flush())
	pushed.Push(time.Hour)
	w.telling.Lock()
	stopped := w.NewTimer(2 * time.Hour)
	stopped.settle(levels - 1)
	told := stopped.told
	stopped.Stop()
	w.waiting.put(stopped, told)
	_, err := w.ask()
	check(t, err)
	time.Sleep(5 * time.Millisecond)
	close(end)
	time.Sleep(5 * time.Millisecond)
	w.telling.Unlock()
	later(w, time.Millisecond)
	failIf(t, !pushed.Armed() || stopped.Armed(), "it came at the time of another one")
	pushed.Stop()
	check(t, w.Flush())
	expectTimers(t, w, 0)
}

// A function may end its goroutine.
func TestGoexit(t *testing.T) {
	w := newWheel(t, nil)
	over := make(chan int, 1)
	keys := NewKeys(w, func(key int) {
		over <- key
		runtime.Goexit()
	})
	// Two of one read, and one of another
	w.telling.Lock()
	keys.Put(0, 0)
	keys.Put(1, time.Microsecond)
	time.Sleep(time.Millisecond)
	w.telling.Unlock()
	inOrder(t, over, 0, 2)
	keys.Put(2, 0)
	inOrder(t, over, 2, 3)
}

// hasTold says whether the queue has the timer.
func hasTold(t *testing.T, w *Wheel, timer *Timer) bool {
	t.Helper()
	timer.mu.Lock()
	defer timer.mu.Unlock()
	_, there, err := w.queue.Remaining(uint64(timer.slot))
	check(t, err)
	return there && timer.slot != 0
}

// hours returns n timers of an hour, which the queue is told of in this order.
func hours(w *Wheel, n int) []*Timer {
	timers := make([]*Timer, n)
	for i := range timers {
		timers[i] = w.NewTimer(time.Hour)
	}
	return timers
}

// A timer is told before those that are due later, also if these were armed before it: as the queue
// takes so many and no more, it shows which were the first.
func TestSoonestIsToldFirst(t *testing.T) {
	w := newWheel(t, &Config{Limit: 3})
	w.telling.Lock()
	timers := hours(w, 2*batch)
	moved, pushed, last := timers[3], timers[2*batch-1], w.NewTimer(20*time.Second)
	moved.Stop()
	moved.Reset(10 * time.Second)
	pushed.Push(15 * time.Second)
	w.telling.Unlock()
	expect(t, w.Flush(), syscall.ENOSPC)
	for _, timer := range []*Timer{moved, pushed, last} {
		failIf(t, !hasTold(t, w, timer),
			"it waits for timers that are due later", timer.Remaining())
	}
	// Those that were in two lists have ended as any other.
	for _, timer := range append(timers, last) {
		timer.Stop()
	}
	check(t, w.Flush())
	expectTimers(t, w, 0)
}

// The same of a timer that is armed while the queue is being told of others.
func TestSoonestIsToldMeanwhile(t *testing.T) {
	w := newWheel(t, &Config{Limit: batch + 1})
	w.telling.Lock()
	timers := hours(w, 4*batch)
	// The first batch stops here.
	timers[10].mu.Lock()
	w.telling.Unlock()
	flushed := make(chan error)
	go func() { flushed <- w.Flush() }()
	for reached := false; !reached; {
		timers[9].mu.Lock()
		reached = timers[9].told != 0
		timers[9].mu.Unlock()
	}
	soon := w.NewTimer(20 * time.Second)
	timers[10].mu.Unlock()
	expect(t, <-flushed, syscall.ENOSPC)
	failIf(t, !hasTold(t, w, soon), "it waits for timers that are due later")
}

// A place that is given back in the same moment is there for a timer that is due earlier.
func TestRoomIsMadeFirst(t *testing.T) {
	w := newWheel(t, &Config{Limit: 2 * batch})
	timers := hours(w, 2*batch)
	check(t, w.Flush())
	w.telling.Lock()
	for _, timer := range timers {
		timer.Stop()
	}
	soon := w.NewTimer(20 * time.Second)
	w.telling.Unlock()
	_ = w.Flush()
	failIf(t, !hasTold(t, w, soon), "it was not told")
}

// Flush does not tell of what it is refused at first and gets in the end.
func TestFlushTellsOfTheEnd(t *testing.T) {
	w := newWheel(t, &Config{Limit: 1})
	hour := w.NewTimer(time.Hour)
	check(t, w.Flush())
	for i := 0; i < 2; i++ {
		// A timer that is due sooner takes the only place.
		w.telling.Lock()
		hour.Stop()
		soon := w.NewTimer(20 * time.Second)
		w.telling.Unlock()
		check(t, w.Flush())
		failIf(t, !hasTold(t, w, soon), "it was not told")
		w.telling.Lock()
		refused := w.NewTimer(10 * time.Second)
		w.telling.Unlock()
		expect(t, w.Flush(), syscall.ENOSPC)
		// A cancel is told of twice.
		w.telling.Lock()
		once := true
		w.cancelAll = func(cancels []Cancel) (int, error) {
			if once && len(cancels) > 0 {
				once = false
				return 0, os.NewSyscallError("twheel_cancel_batch", syscall.ENOMEM)
			}
			return w.queue.CancelAll(cancels)
		}
		refused.Push(5 * time.Second)
		soon.Push(time.Second)
		for _, timer := range []*Timer{refused, soon} {
			timer.Stop()
		}
		hour = w.NewTimer(time.Hour)
		w.telling.Unlock()
		check(t, w.Flush())
		failIf(t, once || hasTold(t, w, soon) || !hasTold(t, w, hour),
			"it was not cancelled", once)
	}
}

// If the queue has no memory to cancel a timer it is told of the others all the same, and asked again.
// Until then the timer's key is nobody else's.
func TestCancelIsRefused(t *testing.T) {
	w := newWheel(t, nil)
	timers := hours(w, 4)
	check(t, w.Flush())
	gone, stopped, again := timers[0], timers[1], timers[2]
	key, refuses := stopped.slot, true
	w.telling.Lock()
	w.cancelAll = func(cancels []Cancel) (int, error) {
		for i := range cancels {
			if refuses && cancels[i].Key == uint64(key) {
				// Armed while the queue is asked
				again.Reset(time.Hour)
				done, _ := w.queue.CancelAll(cancels[:i])
				return done, os.NewSyscallError("twheel_cancel_batch", syscall.ENOMEM)
			}
		}
		return w.queue.CancelAll(cancels)
	}
	for _, timer := range timers[:3] {
		timer.Stop()
	}
	after := w.NewTimer(24 * time.Hour)
	w.telling.Unlock()
	expect(t, w.Flush(), syscall.ENOMEM)
	failIf(t, !hasTold(t, w, after), "it was lost by a cancel that was refused")
	fresh := w.NewTimer(time.Hour)
	expect(t, w.Flush(), syscall.ENOMEM)
	failIf(t, !hasTold(t, w, stopped) || stopped.slot != key || hasTold(t, w, gone),
		"the key was given back before its time, or after it", stopped.slot, gone.slot)
	for _, timer := range []*Timer{again, after, fresh} {
		failIf(t, !hasTold(t, w, timer) || timer.slot == key, timer.slot, key)
	}
	w.telling.Lock()
	refuses = false
	w.telling.Unlock()
	check(t, w.Flush())
	expectTimers(t, w, 4)
	failIf(t, hasTold(t, w, stopped), "it was not cancelled")
}

func TestClose(t *testing.T) {
	for round := 0; round < 100; round++ {
		w := newWheel(t, nil)
		timers := make([]*Timer, 100)
		for i := range timers {
			timers[i] = w.AfterFunc(time.Duration(i*round)*time.Microsecond, func() {})
		}
		keys := NewKeys(w, func(int) {})
		var users sync.WaitGroup
		for i := 0; i < 2; i++ {
			users.Add(1)
			go func(i int) {
				defer users.Done()
				for j := 0; j < 300; j++ {
					timers[j%100].Reset(time.Duration(j) * time.Microsecond)
					keys.Put(j, time.Duration(i*j)*time.Microsecond)
				}
			}(i)
		}
		check(t, w.Close())
		users.Wait()
		expect(t, w.Close(), os.ErrClosed)
		expect(t, w.Flush(), os.ErrClosed)
		for _, timer := range timers {
			timer.Reset(0)
			failIf(t, timer.Armed() || timer.Stop(), "a timer of a closed wheel is armed")
		}
		failIf(t, keys.Len() != 0, keys.Len())
	}
}

// Close also stops those of which the queue is just being told.
func TestCloseInFlush(t *testing.T) {
	w := newWheel(t, nil)
	// From the last one in the batch on, which is told last
	timers := make([]*Timer, 100000)
	w.telling.Lock()
	for i := range timers {
		timers[len(timers)-1-i] = w.NewTimer(time.Hour)
	}
	w.telling.Unlock()
	flushed := make(chan error, 1)
	go func() { flushed <- w.Flush() }()
	// It may have ended before this looks.
	for taken := false; !taken && len(flushed) == 0; {
		w.mu.Lock()
		taken = w.inFlight != nil
		w.mu.Unlock()
	}
	check(t, w.Close())
	for i, timer := range timers {
		failIf(t, timer.Armed(), "a timer of a closed wheel is armed", i)
	}
	if err := <-flushed; err != nil {
		expect(t, err, os.ErrClosed)
	}
}

// A function whose goroutine has not had its turn when the wheel is closed is not called.
func TestNothingBeginsAfterClose(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var late int32
	for round := 0; round < 50; round++ {
		w := newWheel(t, nil)
		timers := make([]*Timer, 20)
		for i := range timers {
			timers[i] = w.AfterFunc(time.Hour, func() {
				if w.isClosed() {
					atomic.AddInt32(&late, 1)
				}
			})
		}
		check(t, w.Flush())
		// They come up here, and with one P their goroutines begin when this one waits.
		for _, timer := range timers {
			timer.expire(timer.told, timer.told, timer.told)
		}
		check(t, w.Close())
		time.Sleep(time.Millisecond)
	}
	n := atomic.LoadInt32(&late)
	failIf(t, n != 0, n, "functions were called after Close")
}

// A function may close the wheel that calls it.
func TestCloseInFunction(t *testing.T) {
	w := newWheel(t, nil)
	done := make(chan error)
	keys := NewKeys(w, func(int) { done <- w.Close() })
	keys.Put(1, 0)
	check(t, <-done)
}

// Each arming is ended by one of Stop, Reset and the function.
func TestAccounts(t *testing.T) {
	accounts(t, nil)
}

// Also if most of the timers are refused
func TestAccountsWithALimit(t *testing.T) {
	accounts(t, &Config{Limit: 20})
}

func accounts(t *testing.T, config *Config) {
	const users, each, steps = 4, 50, 20000
	w := newWheel(t, config)
	var armings, ended, fired int64
	var all sync.WaitGroup
	for user := 0; user < users; user++ {
		all.Add(1)
		go func(seed int64) {
			defer all.Done()
			random := rand.New(rand.NewSource(seed))
			timers := make([]*Timer, each)
			for i := range timers {
				timers[i] = w.AfterFunc(0, func() { atomic.AddInt64(&fired, 1) })
			}
			my, mine := int64(each), int64(0)
			for step := 0; step < steps; step++ {
				timer := timers[random.Intn(each)]
				d := time.Duration(random.Int63n(1 << uint(10+random.Intn(18))))
				switch random.Intn(8) {
				case 0:
					if timer.Stop() {
						mine++
					}
				case 1:
					// The same arming goes on.
					timer.Push(d)
				case 2:
					time.Sleep(d / 1000)
				default:
					if timer.Reset(d) {
						mine++
					}
					my++
				}
			}
			for _, timer := range timers {
				if timer.Stop() {
					mine++
				}
			}
			atomic.AddInt64(&armings, my)
			atomic.AddInt64(&ended, mine)
		}(int64(user))
	}
	all.Wait()
	// Functions that were started may not have run.
	for atomic.LoadInt64(&fired) < armings-ended {
		later(w, time.Millisecond)
	}
	later(w, 10*time.Millisecond)
	came := atomic.LoadInt64(&fired)
	failIf(t, came != armings-ended, armings, "armings", ended, "ended before they expired", came)
	check(t, w.Flush())
	expectTimers(t, w, 0)
}
