// SPDX-License-Identifier: GPL-2.0-only OR MIT

//go:build cgo

package twheel

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"os"
	"sort"
	"sync"
	"time"
)

// For so long the queue need not be told of a timer, if it is due after twice that time.
const lag = 20 * time.Millisecond

// So many share the price of a call.
const batch = 256

// What the queue does not know yet is in so many lists, by how soon it is due: see levelOf().
const levels = 16

// A Wheel has timers as those of package time, all in one Queue.
//
// A call of C costs more than all the rest. So the queue is told in batches what was armed, made
// to be due earlier, and stopped: within 20 ms, or at once if a timer is due within 40 ms. It
// never hears of a timer that is stopped before that. Nor does it hear that a timer is pushed back:
// when the timer comes up there it is armed for the time that was left. The queue is told first of
// what is due soonest, so that a short timer does not wait for a million of long ones.
//
// If the queue refuses a timer, for want of memory or because the user has too many, this and those
// that are new wait in the wheel, by deadline. Every 20 ms the queue is asked for the first of them, and
// for more as long as it takes them; and what is due by then comes up all the same. By so much a timer
// may be late. A timer that was stopped is also told again every 20 ms, if the queue has no memory to
// cancel it. Flush tells of both.
//
// All methods, of the wheel and of its timers, may be called by any number of goroutines at once.
// A wheel ends with Close. One that New or NewWheel has not made, as a zero Wheel, panics, and so
// does a zero Timer.
type Wheel struct {
	queue *Queue
	// What the time was on the queue's clock at start, or later
	base  int64
	start time.Time

	mu     sync.Mutex
	closed bool
	// What the queue does not know yet, by level; which of these lists have a timer in them; and
	// what the queue is being told of
	dirty    [levels]list
	some     uint16
	inFlight []*Timer
	// By their keys in the queue; the first is not used
	slots []*Timer
	free  []uint32
	// What has come up without the queue
	refused []Event

	// There is something to tell; and it is to be told at once
	wake, hurry, done chan struct{}

	// Held by Flush
	telling sync.Mutex
	// What the queue has refused, and what is new since then
	waiting waiting
	part    [batch]*Timer
	cancels [batch]Cancel
	stopped [batch]*Timer
	pushes  [batch]Push
	pushed  [batch]*Timer
	// The queue's, but for tests
	cancelAll func([]Cancel) (int, error)
	pushAll   func([]Push) (int, error)

	// Of the goroutine that reads: what has come up, and how much of that was handled; the latest
	// deadline of that which the queue was told, and when the last was noticed
	due           []due
	handled       int
	last, noticed int64
	events        [batch]Event
}

// A list is of timers that the queue is to be told of: those from first on.
type list struct {
	timers []*Timer
	first  int
}

// take moves the first timers into part, and returns how many these are.
func (l *list) take(part []*Timer) int {
	n := copy(part, l.timers[l.first:])
	l.drop(l.first, l.first+n)
	l.first += n
	if l.first >= l.len() {
		// The memory is used again.
		rest := copy(l.timers, l.timers[l.first:])
		l.drop(rest, len(l.timers))
		l.timers, l.first = l.timers[:rest], 0
	}
	return n
}

// drop forgets timers, which may be garbage.
func (l *list) drop(from, to int) {
	for i := range l.timers[from:to] {
		l.timers[from+i] = nil
	}
}

func (l *list) len() int { return len(l.timers) - l.first }

// A Timer is armed until it expires or is stopped. Those with a function call it; the others send
// the time on C.
//
// As with Go 1.23, whichever Go this is built with: after Stop or Reset has returned, no time is
// received on C that was sent before. But what is armed is no garbage, as it is there: stop a timer
// that nobody waits for, and each ticker.
type Timer struct {
	// C is nil if the timer has a function.
	C <-chan time.Time

	wheel *Wheel
	c     chan time.Time
	f     func()

	mu sync.Mutex
	// When it is due on the queue's clock; 0 if it is not armed
	deadline int64
	// Of a ticker
	period int64
	// What the queue knows or is being told, or waits to be told: a deadline that is not later; or 0
	told int64
	// Its key in the queue, or 0
	slot uint32
	// Where it waits, from 1 on, or 0: of who has w.telling
	place uint32
	// A bit for each of the wheel's dirty lists that it is in
	queued uint16
	// f is called in the wheel's own goroutine.
	direct bool
}

// New opens a wheel: on the device or, where there is none, in the process.
func New() (*Wheel, error) {
	return NewWheel(nil)
}

// NewWheel opens a wheel with a configuration.
func NewWheel(config *Config) (*Wheel, error) {
	queue, err := NewQueue(config)
	if err != nil {
		return nil, err
	}
	w := &Wheel{
		queue: queue,
		slots: make([]*Timer, 1),
		wake:  make(chan struct{}, 1),
		hurry: make(chan struct{}, 1),
		done:  make(chan struct{}),

		cancelAll: queue.CancelAll,
		pushAll:   queue.PushAll,
	}
	if err := w.setClock(queue.Now); err != nil {
		queue.Close()
		return nil, err
	}
	go w.read()
	go w.tell()
	return w, nil
}

// made panics if the wheel is not there, or a zero one: its timers would never expire.
func (w *Wheel) made() {
	if w == nil || w.done == nil {
		panic("twheel: a Wheel that New has not made, or a Timer of none")
	}
}

// setClock finds what now() counts from. The queue's clock is read after Go's, so that now() is never
// behind it, and nothing early. All timers would be late by what passes between the two, so of some
// pairs the closest is taken: a thread may lose its CPU in one of them.
func (w *Wheel) setClock(read func() (uint64, error)) error {
	for i := 0; i < 10; i++ {
		start := time.Now()
		now, err := read()
		if err != nil {
			return err
		}
		if i == 0 || int64(now) < w.base+int64(start.Sub(w.start)) {
			w.base, w.start = int64(now), start
		}
	}
	return nil
}

// now is the time on the queue's clock or a little later, without a call of C.
func (w *Wheel) now() int64 {
	w.made()
	return w.base + int64(time.Since(w.start))
}

// after is the time d from now. What is too long is for ever.
func (w *Wheel) after(d time.Duration) (deadline int64, level int) {
	if d < 0 {
		d = 0
	}
	return sum(w.now(), int64(d)), levelOf(int64(d))
}

// levelOf is the list for what is due in d nanoseconds: 0 if the queue has to be told at once, and one
// more for each time that d is twice as long.
func levelOf(d int64) int {
	if d <= 0 {
		return 0
	}
	if l := bits.Len64(uint64(d / int64(2*lag))); l < levels {
		return l
	}
	return levels - 1
}

// sum is that of two times, of which none is negative. What is too late is never.
func sum(a, b int64) int64 {
	if b > math.MaxInt64-a {
		return math.MaxInt64
	}
	return a + b
}

// Close stops all timers. No function is called any more, nothing is sent to a channel, and
// contexts end with os.ErrClosed, as does Sleep. Close does not wait for functions that are just being
// called, as it may be one of them that closes: these may still run when it returns. On a closed wheel
// no timer can be armed: it stays stopped. A second Close is os.ErrClosed.
func (w *Wheel) Close() error {
	w.made()
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return os.ErrClosed
	}
	w.closed = true
	close(w.done)
	timers := append(w.slots[1:], w.inFlight...)
	for _, dirty := range w.dirty {
		timers = append(timers, dirty.timers...)
	}
	w.slots, w.free, w.dirty, w.some = nil, nil, [levels]list{}, 0
	w.mu.Unlock()
	for _, t := range timers {
		if t != nil {
			t.end()
		}
	}
	return w.queue.Close()
}

// end stops a timer of a wheel that is closed.
func (t *Timer) end() {
	t.mu.Lock()
	armed := t.deadline != 0
	t.deadline, t.told, t.slot, t.queued = 0, 0, 0, 0
	f := t.f
	t.mu.Unlock()
	// It is for those of the package itself to see that the wheel is closed.
	if armed && t.direct {
		f()
	}
}

func (w *Wheel) isClosed() bool {
	w.made()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed
}

// String tells whether the wheel is closed. It is there for the same reason as that of a Timer.
func (w *Wheel) String() string {
	if w.isClosed() {
		return "twheel.Wheel(closed)"
	}
	return "twheel.Wheel(open)"
}

// NewTimer returns a timer that sends the time on its channel, once, after d.
func (w *Wheel) NewTimer(d time.Duration) *Timer {
	c := make(chan time.Time, 1)
	t := &Timer{C: c, c: c, wheel: w}
	t.Reset(d)
	return t
}

// After returns the channel of a new timer, which the wheel keeps until then. For long times, of which
// most do not pass, take a timer that can be stopped.
func (w *Wheel) After(d time.Duration) <-chan time.Time {
	return w.NewTimer(d).C
}

// AfterFunc calls f in a goroutine of its own, after d. It panics if f is nil.
func (w *Wheel) AfterFunc(d time.Duration, f func()) *Timer {
	if f == nil {
		panic("twheel: a timer without a function")
	}
	t := &Timer{f: f, wheel: w}
	t.Reset(d)
	return t
}

// NewTicker returns a timer that sends the time on its channel every d, on a grid. It drops rounds
// that are not received in time. It panics if d is not positive, as time.NewTicker does.
func (w *Wheel) NewTicker(d time.Duration) *Timer {
	if d <= 0 {
		panic("twheel: the interval of a ticker is not positive")
	}
	c := make(chan time.Time, 1)
	t := &Timer{C: c, c: c, wheel: w, period: int64(d)}
	t.Reset(d)
	return t
}

// Sleep waits for d, or until ctx is done and returns its error then.
func (w *Wheel) Sleep(ctx context.Context, d time.Duration) error {
	w.made()
	if d <= 0 {
		return ctx.Err()
	}
	t := w.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-w.done:
		return os.ErrClosed
	}
}

// Flush tells the queue now what it does not know yet. The error is that of a timer which was
// refused: ENOMEM, EDQUOT, or ENOSPC with a limit; or of one that was stopped: ENOMEM. Flush calls no
// function.
func (w *Wheel) Flush() error {
	if w.isClosed() {
		return os.ErrClosed
	}
	return w.flush()
}

// Reset lets the timer expire d from now, and not before that, whether or not it is armed. It reports
// whether the timer was armed, or had sent a time that was not received. Of a ticker d is the new
// interval, and Reset panics if it is not positive, as time.Ticker's does.
func (t *Timer) Reset(d time.Duration) bool {
	was, _ := t.reset(d)
	return was
}

// reset also tells whether the timer is armed, which it is not if the wheel is closed.
func (t *Timer) reset(d time.Duration) (was, armed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.every(d)
	was = t.stop()
	t.arm(t.wheel.after(d))
	return was, t.deadline != 0
}

// Push is Reset for a timer that is armed. If it is not, as it has expired or was stopped, Push
// changes nothing and returns false.
func (t *Timer) Push(d time.Duration) bool {
	t.wheel.made()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.deadline == 0 {
		return false
	}
	t.every(d)
	t.arm(t.wheel.after(d))
	return t.deadline != 0
}

// every sets the interval of a ticker. With t.mu held.
func (t *Timer) every(d time.Duration) {
	if t.period == 0 {
		return
	}
	if d <= 0 {
		panic("twheel: the interval of a ticker is not positive")
	}
	t.period = int64(d)
}

// Stop stops the timer. False if it was not armed: its function has been started, or a time that
// it has sent was received, or it was stopped before.
func (t *Timer) Stop() bool {
	t.wheel.made()
	t.mu.Lock()
	defer t.mu.Unlock()
	was := t.stop()
	if t.told != 0 {
		t.queue(levels - 1)
	}
	return was
}

// Armed tells whether the timer is to expire.
func (t *Timer) Armed() bool {
	t.wheel.made()
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.deadline != 0
}

// Remaining is how long it is until the timer is due; 0 if it is due or not armed.
func (t *Timer) Remaining() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if left := t.deadline - t.wheel.now(); t.deadline != 0 && left > 0 {
		return time.Duration(left)
	}
	return 0
}

// String tells whether the timer is armed, and for how long. Without it package fmt would read all
// fields, while others write to them.
func (t *Timer) String() string {
	if !t.Armed() {
		return "twheel.Timer(not armed)"
	}
	return fmt.Sprintf("twheel.Timer(%v left)", t.Remaining())
}

// stop has the timer not armed, and takes back what it has sent. With t.mu held.
func (t *Timer) stop() bool {
	was := t.deadline != 0
	t.deadline = 0
	if t.c != nil {
		select {
		case <-t.c:
			was = true
		default:
		}
	}
	return was
}

// arm has the timer armed. With t.mu held.
func (t *Timer) arm(deadline int64, level int) {
	t.deadline = deadline
	if t.told == 0 || deadline < t.told {
		t.queue(level)
	}
}

// queue has the queue told of the timer, as soon as of others of this level. With t.mu held. If the
// wheel is closed the timer is not armed any more, and who calls sees to those of the package itself,
// as end() does.
func (t *Timer) queue(level int) {
	if t.queued != 0 && bits.TrailingZeros16(t.queued) <= level {
		return
	}
	w := t.wheel
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		t.deadline = 0
		return
	}
	w.dirty[level].timers = append(w.dirty[level].timers, t)
	first := w.some == 0
	w.some |= 1 << level
	w.mu.Unlock()
	t.queued |= 1 << level
	if first {
		w.signal(w.wake)
	}
	if level == 0 {
		w.signal(w.hurry)
	}
}

// signal leaves at most one token in a channel.
func (w *Wheel) signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// tell tells the queue what it does not know, in batches.
func (w *Wheel) tell() {
	// Who keeps a wheel that is closed does not keep its timers.
	defer func() {
		w.telling.Lock()
		w.waiting = nil
		w.telling.Unlock()
	}()
	pause := time.NewTimer(lag)
	for {
		select {
		case <-w.wake:
		case <-w.done:
			return
		}
		if !pause.Stop() {
			select {
			case <-pause.C:
			default:
			}
		}
		pause.Reset(lag)
		select {
		case <-pause.C:
		case <-w.hurry:
		case <-w.done:
			return
		}
		// Those that are refused are asked for again.
		_ = w.flush()
	}
}

// flush tells the queue of all that is dirty when it is called, level by level, and then asks for those
// that wait. What others arm meanwhile does not wait for that if it is due earlier.
func (w *Wheel) flush() error {
	w.telling.Lock()
	defer w.telling.Unlock()
	var refused error
	for level := range w.dirty {
		// Cancels that are refused go to the end of the last list, and are told again there.
		for left := w.untold(level); left > 0; {
			first, part := w.next()
			if len(part) == 0 {
				return os.ErrClosed
			}
			if first == level {
				left -= len(part)
			}
			err := w.flushPart(first, part)
			if errors.Is(err, os.ErrClosed) {
				return err
			}
			if err != nil && first == levels-1 {
				refused = err
			}
		}
	}
	// By now there is room for what was refused before others were cancelled.
	for {
		more, err := w.ask()
		if err != nil {
			refused = err
		}
		if !more {
			break
		}
		if first, part := w.next(); len(part) > 0 {
			// What is refused here is told again, or waits.
			_ = w.flushPart(first, part)
		}
	}
	w.mu.Lock()
	w.inFlight, w.part = nil, [batch]*Timer{}
	w.stopped, w.pushed = [batch]*Timer{}, [batch]*Timer{}
	again := w.some != 0 || len(w.waiting) > 0
	w.mu.Unlock()
	if again {
		w.signal(w.wake)
	}
	return refused
}

// untold is how many timers of a level the queue does not know.
func (w *Wheel) untold(level int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dirty[level].len()
}

// next takes a batch from the first list that has a timer. There is none if the wheel is closed.
func (w *Wheel) next() (level int, part []*Timer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || w.some == 0 {
		return 0, nil
	}
	level = bits.TrailingZeros16(w.some)
	w.inFlight = w.part[:w.dirty[level].take(w.part[:])]
	if w.dirty[level].len() == 0 {
		w.some &^= 1 << level
	}
	return level, w.inFlight
}

// flushPart tells the queue of so many as a batch has room for, and asks for those that wait, as these
// may be due soon. The timers are of one level: one that was there twice could be cancelled first and
// pushed then. The error is that of a cancel.
func (w *Wheel) flushPart(level int, part []*Timer) error {
	cancels, stopped := w.cancels[:0], w.stopped[:0]
	pushes, pushed := w.pushes[:0], w.pushed[:0]
	for _, t := range part {
		cancel, key, expires, open := t.settle(level)
		switch {
		case !open:
			t.end()
		case cancel != 0:
			cancels = append(cancels, Cancel{Key: uint64(cancel)})
			stopped = append(stopped, t)
		case key != 0:
			pushes = append(pushes, Push{Key: uint64(key), Expires: uint64(expires)})
			pushed = append(pushed, t)
		}
	}
	// First what makes room
	gone, refused := w.cancelAll(cancels)
	if errors.Is(refused, os.ErrClosed) {
		return refused
	}
	for i, t := range stopped {
		t.cancelled(i < gone)
	}
	for done := 0; done < len(pushes); {
		n, err := w.pushAll(pushes[done:])
		done += n
		if errors.Is(err, os.ErrClosed) {
			return err
		}
		if err != nil {
			w.waiting.put(pushed[done], int64(pushes[done].Expires))
			done++
		}
	}
	if _, err := w.ask(); errors.Is(err, os.ErrClosed) {
		return err
	}
	return refused
}

// ask asks for those that wait, the first one first, until one is refused. Those that are due by now
// come up as if the queue had them. After a batch it tells whether there are more.
func (w *Wheel) ask() (more bool, err error) {
	if len(w.waiting) == 0 {
		return false, nil
	}
	now, err := w.queue.Now()
	if err != nil {
		return false, err
	}
	for i := 0; i < batch && len(w.waiting) > 0; i++ {
		t, deadline := w.waiting[0].timer, w.waiting[0].deadline
		key := t.waits(deadline)
		switch {
		case key == 0:
		case deadline <= int64(now):
			w.comeUp(Event{Key: uint64(key), Deadline: uint64(deadline), Expired: now})
		default:
			w.pushes[0] = Push{Key: uint64(key), Expires: uint64(deadline)}
			if _, err := w.pushAll(w.pushes[:1]); err != nil {
				return false, err
			}
		}
		w.waiting.remove(t)
	}
	return len(w.waiting) > 0, nil
}

// waits returns the key of a timer that waits with that deadline; 0 if it was stopped meanwhile.
func (t *Timer) waits(deadline int64) uint32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.told != deadline {
		return 0
	}
	if t.deadline == 0 {
		t.told = 0
		return 0
	}
	return t.slot
}

// settle says what the queue has to be told of a timer that was in the list of this level: a key to
// cancel, which the timer keeps until that is done, or when a key is to expire. While others wait, a
// timer that the queue does not have waits, too. open is false if the wheel is closed.
func (t *Timer) settle(level int) (cancel, key uint32, expires int64, open bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.wheel
	t.queued &^= 1 << level
	switch {
	case t.deadline == 0:
		t.told = 0
		w.waiting.remove(t)
		return t.slot, 0, 0, true
	case t.told == 0 || t.deadline < t.told:
		if t.slot == 0 && !t.take() {
			return 0, 0, 0, false
		}
		waits := t.place != 0 || t.told == 0 && len(w.waiting) > 0
		t.told = t.deadline
		if waits {
			w.waiting.put(t, t.told)
			return 0, 0, 0, true
		}
		return 0, t.slot, t.told, true
	}
	return 0, 0, 0, true
}

// cancelled takes back the key of a timer that the queue was asked to cancel. If the queue has
// refused that it is asked again later. A timer that was armed meanwhile is in a list, and has the
// queue told of its key anew.
func (t *Timer) cancelled(done bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.deadline != 0:
	case done:
		t.release()
	default:
		t.queue(levels - 1)
	}
}

// take gives the timer a key. With t.mu held. False if the wheel is closed.
func (t *Timer) take() bool {
	w := t.wheel
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	if n := len(w.free); n > 0 {
		t.slot = w.free[n-1]
		w.free = w.free[:n-1]
		w.slots[t.slot] = t
	} else {
		t.slot = uint32(len(w.slots))
		w.slots = append(w.slots, t)
	}
	return true
}

// release takes its key. With t.mu held.
func (t *Timer) release() {
	w := t.wheel
	w.mu.Lock()
	defer w.mu.Unlock()
	if t.slot != 0 && !w.closed {
		w.slots[t.slot] = nil
		w.free = append(w.free, t.slot)
	}
	t.slot = 0
}

// comeUp hands an event to the goroutine that reads, which alone calls functions.
func (w *Wheel) comeUp(event Event) {
	w.mu.Lock()
	w.refused = append(w.refused, event)
	w.mu.Unlock()
	// Its read ends, or its next one does.
	_ = w.queue.SetReadDeadline(time.Unix(1, 0))
}

// call calls a function of the program, unless the wheel was closed before the goroutine had its turn.
func (w *Wheel) call(f func()) {
	if !w.isClosed() {
		f()
	}
}

// A due is a timer that has come up in the queue, which was told that deadline. Its place is by the
// time at: a later one, if the timer was pushed back to that and is due all the same.
type due struct {
	timer    *Timer
	told, at int64
}

// read takes what has expired from the queue, until the wheel is closed.
func (w *Wheel) read() {
	closed := false
	// A function may end its goroutine, as a test's FailNow does. Another one goes on then.
	defer func() {
		if !closed {
			go w.read()
		}
	}()
	for {
		for w.handled < len(w.due) {
			d := w.due[w.handled]
			w.due[w.handled] = due{}
			w.handled++
			d.timer.expire(d.told, d.at, w.noticed)
		}
		err := w.gather()
		if closed = err != nil; closed {
			if errors.Is(err, os.ErrClosed) {
				return
			}
			// Timers that never come, or a loop that spins, would be worse.
			panic("twheel: the wheel cannot be read: " + err.Error())
		}
	}
}

// gather waits until something has come up, and then takes all that has, in the order in which it is
// due. It ends when it finds only what was not due as it began: others may arm timers all the time.
func (w *Wheel) gather() error {
	if cap(w.due) > 16*batch {
		// The memory of a burst
		w.due = nil
	}
	w.due, w.handled, w.last, w.noticed = w.due[:0], 0, 0, 0
	n, err := w.queue.Read(w.events[:])
	if errors.Is(err, os.ErrDeadlineExceeded) {
		// By comeUp()
		if err = w.queue.SetReadDeadline(time.Time{}); err == nil {
			n, err = w.queue.poll(w.events[:])
		}
	}
	if err != nil {
		return err
	}
	var begin uint64
	if n == len(w.events) {
		begin, err = w.queue.Now()
	}
	// If it cannot read more, the next read says so.
	for w.list(w.events[:n], begin) && n == len(w.events) && err == nil {
		n, err = w.queue.poll(w.events[:])
	}
	w.mu.Lock()
	refused := w.refused
	w.refused = nil
	w.mu.Unlock()
	w.list(refused, 0)
	w.order()
	return nil
}

// list takes events, and tells whether one of them was due at this time.
func (w *Wheel) list(events []Event, time uint64) (was bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, event := range events {
		if event.Key < uint64(len(w.slots)) && w.slots[event.Key] != nil {
			told := int64(event.Deadline)
			w.due = append(w.due, due{w.slots[event.Key], told, told})
			w.last = latest(w.last, told)
			w.noticed = latest(w.noticed, int64(event.Expired))
		}
		was = was || event.Deadline <= time
	}
	return was
}

// latest is the later one of two times.
func latest(a, b int64) int64 {
	if a > b {
		return a
	}
	return b
}

// order sorts what has come up by deadline. A timer that was pushed back is due now if another one has
// come up that is due then or later: what is due before that has come up, too.
func (w *Wheel) order() {
	for i := range w.due {
		d := &w.due[i]
		d.timer.mu.Lock()
		if at := d.timer.deadline; at > d.told && at <= w.last {
			d.at = at
		}
		d.timer.mu.Unlock()
	}
	sort.SliceStable(w.due, func(i, j int) bool { return w.due[i].at < w.due[j].at })
}

// expire handles that the timer has come up, of which the queue was told that deadline. It is due if its
// own deadline is the time at. If the queue was told another one, the event is of an earlier time, and
// the queue has the timer still.
func (t *Timer) expire(told, at, now int64) {
	t.mu.Lock()
	if t.told != told {
		t.mu.Unlock()
		return
	}
	t.told = 0
	due := t.deadline == at
	if due {
		if t.period != 0 {
			rounds := (now - t.deadline) / t.period
			t.deadline = sum(t.deadline+rounds*t.period, t.period)
		} else {
			t.deadline = 0
		}
	}
	closed := false
	if t.deadline != 0 {
		// Functions may have run since it was noticed.
		t.queue(levelOf(t.deadline - t.wheel.now()))
		closed = t.deadline == 0
	} else {
		t.release()
	}
	// After the key was given back: who has the time, or sees the function run, sees a timer that is
	// done.
	if due && t.c != nil {
		select {
		case t.c <- time.Now():
		default:
		}
	}
	if due && t.f != nil && !t.direct {
		go t.wheel.call(t.f)
	}
	t.mu.Unlock()
	if (due || closed) && t.direct {
		t.f()
	}
}
