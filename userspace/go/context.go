// SPDX-License-Identifier: GPL-2.0-only OR MIT

//go:build cgo

package twheel

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"
)

// timeout is a context with a deadline that a wheel keeps.
type timeout struct {
	// One of package context, which ends with the parent, or by cancel. It says Canceled where the
	// deadline has passed, so nobody else gets it.
	context.Context
	cancel   context.CancelFunc
	parent   context.Context
	deadline time.Time
	timer    Timer

	mu sync.Mutex
	// One of those below, unless the parent has ended first
	how context.Context
}

// self is the key of a value that each timeout has: itself.
type self struct{}

// How a timeout ends
var (
	expired   = endedBy(context.DeadlineExceeded)
	cancelled = endedBy(context.Canceled)
	abandoned = endedBy(os.ErrClosed)
)

// ended is a context that has ended.
type ended struct {
	context.Context
	done chan struct{}
	err  error
}

func (c ended) Done() <-chan struct{} { return c.done }
func (c ended) Err() error            { return c.err }

// endedBy makes a context of package context that has ended by an error.
func endedBy(err error) context.Context {
	parent := ended{context.Background(), make(chan struct{}), err}
	close(parent.done)
	c, cancel := context.WithCancel(parent)
	cancel()
	return c
}

func (c *timeout) Deadline() (time.Time, bool) { return c.deadline, true }

func (c *timeout) Err() error {
	c.mu.Lock()
	how, err := c.how, c.Context.Err()
	c.mu.Unlock()
	switch {
	case how != nil:
		return how.Err()
	case err != nil:
		// The parent has ended, which does not stop the timer.
		c.timer.Stop()
		return c.parent.Err()
	}
	return nil
}

// Value is the parent's but for two keys. One is private to package context, which takes the cause of
// a context from what it finds with it: that has to be one that has ended in the same way.
func (c *timeout) Value(key any) any {
	if key == (self{}) {
		return c
	}
	c.mu.Lock()
	how := c.how
	c.mu.Unlock()
	if how != nil {
		if value := how.Value(key); value != nil {
			return value
		}
	}
	return c.parent.Value(key)
}

// String says what package context says of its own. Without it package fmt would read all fields, and
// those of what is above, while others write to them.
func (c *timeout) String() string {
	above := fmt.Sprintf("%T", c.parent)
	if s, is := c.parent.(fmt.Stringer); is {
		above = s.String()
	}
	return fmt.Sprintf("%s.WithDeadline(%s [%s])", above, c.deadline, time.Until(c.deadline))
}

// AfterFunc is context.AfterFunc of this context. From Go 1.21 on package context looks for it, and
// starts no goroutine for a context right below this one.
func (c *timeout) AfterFunc(f func()) (stop func() bool) {
	return afterDone(c.Context, f)
}

// end ends the context, if it has not ended.
func (c *timeout) end(how context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Context.Err() == nil {
		c.how = how
		c.cancel()
	}
}

// WithTimeout is context.WithTimeout with a timer of the wheel: it panics if the parent is nil. If the wheel is closed before d
// has passed, the error is os.ErrClosed. Cancel the context when its work is done, also if the parent
// has ended: that releases the timer.
//
// The context takes no goroutine, nor does one of a wheel that is below it. But one that package context
// makes below it, for instance by WithCancel, takes a goroutine until that ends: before Go 1.21 always,
// since then only if a context of WithValue is in between.
func (w *Wheel) WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return w.until(parent, time.Now().Add(d), d)
}

// WithDeadline is WithTimeout with a point in time. If that has a monotonic reading (see package
// time), as time.Now().Add() has, the deadline is not moved by a step of the clock.
func (w *Wheel) WithDeadline(parent context.Context, deadline time.Time) (context.Context, context.CancelFunc) {
	return w.until(parent, deadline, time.Until(deadline))
}

func (w *Wheel) until(parent context.Context, deadline time.Time, d time.Duration) (context.Context, context.CancelFunc) {
	w.made()
	if parent == nil {
		panic("twheel: a context without a parent")
	}
	c := &timeout{parent: parent, deadline: deadline}
	if before, has := parent.Deadline(); has && before.Before(deadline) {
		c.deadline = before
	}
	// Below a timeout package context would start a goroutine, but not below what is in one.
	above := parent
	if p, is := parent.Value(self{}).(*timeout); is && p.Done() == parent.Done() {
		above = p.Context
	}
	c.Context, c.cancel = context.WithCancel(above)
	c.timer.wheel, c.timer.direct = w, true
	c.timer.f = func() {
		if w.isClosed() {
			c.end(abandoned)
		} else {
			c.end(expired)
		}
	}
	switch {
	case c.Err() != nil:
		// With its parent
	case d <= 0:
		c.end(expired)
	default:
		if _, armed := c.timer.reset(d); !armed {
			c.end(abandoned)
		}
	}
	return c, func() {
		c.timer.Stop()
		c.end(cancelled)
	}
}
