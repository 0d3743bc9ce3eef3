// SPDX-License-Identifier: GPL-2.0-only OR MIT

package twheel

import (
	"context"
	"os"
	"sync"
	"time"
)

// timeout is a context with a deadline that a wheel keeps.
type timeout struct {
	context.Context
	deadline time.Time
	done     chan struct{}
	timer    Timer

	mu  sync.Mutex
	err error
}

func (c *timeout) Deadline() (time.Time, bool) { return c.deadline, true }

func (c *timeout) Done() <-chan struct{} {
	c.inherit()
	return c.done
}

func (c *timeout) Err() error {
	c.inherit()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// inherit ends the context if its parent has ended: follow may not have run yet.
func (c *timeout) inherit() {
	if err := c.Context.Err(); err != nil {
		c.timer.Stop()
		c.end(err)
	}
}

// end ends the context, if it has not ended.
func (c *timeout) end(err error) {
	c.mu.Lock()
	if c.err == nil {
		c.err = err
		close(c.done)
	}
	c.mu.Unlock()
}

// WithTimeout is context.WithTimeout with a timer of the wheel. If the wheel is closed before d
// has passed, the error is os.ErrClosed. Cancel the context when its work is done, which releases
// the timer.
//
// While the parent can be cancelled a goroutine waits for that.
func (w *Wheel) WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	c := &timeout{Context: parent, done: make(chan struct{}), deadline: time.Now().Add(d)}
	if before, has := parent.Deadline(); has && before.Before(c.deadline) {
		c.deadline = before
	}
	c.timer.wheel, c.timer.direct = w, true
	c.timer.f = func() {
		if w.isClosed() {
			c.end(os.ErrClosed)
		} else {
			c.end(context.DeadlineExceeded)
		}
	}
	switch {
	case parent.Err() != nil:
		c.inherit()
	case d <= 0:
		c.end(context.DeadlineExceeded)
	default:
		if _, armed := c.timer.reset(d); !armed {
			c.end(os.ErrClosed)
		}
		if parent.Done() != nil {
			go c.follow(parent)
		}
	}
	return c, func() {
		c.timer.Stop()
		c.end(context.Canceled)
	}
}

// WithDeadline is WithTimeout with a point in time. If that has a monotonic reading (see package
// time), as time.Now().Add() has, the deadline is not moved by a step of the clock.
func (w *Wheel) WithDeadline(parent context.Context, deadline time.Time) (context.Context, context.CancelFunc) {
	return w.WithTimeout(parent, time.Until(deadline))
}

// follow ends the context with its parent.
func (c *timeout) follow(parent context.Context) {
	select {
	case <-parent.Done():
		c.inherit()
	case <-c.done:
	}
}
