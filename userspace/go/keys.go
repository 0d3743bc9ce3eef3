// SPDX-License-Identifier: GPL-2.0-only OR MIT

//go:build cgo

package twheel

import (
	"fmt"
	"sync"
	"time"
)

// Keys are timers of a wheel that a program knows by a value of its own, of any type that can be a
// key of a map: one timer for each value. NaN, and what has it inside, is no key: no two are equal.
//
// All methods may be called by any number of goroutines at once. A zero Keys is empty, and its Put
// panics.
type Keys[K comparable] struct {
	wheel  *Wheel
	f      func(K)
	mu     sync.Mutex
	timers map[K]*Timer
}

// NewKeys returns an empty one, whose timers call f with their key: one after another, by deadline,
// in a goroutine of the wheel. So f hands on what takes long, and may call any method. If it ends that
// goroutine, by runtime.Goexit, the others are called in another one. NewKeys panics if f is nil.
func NewKeys[K comparable](wheel *Wheel, f func(key K)) *Keys[K] {
	wheel.made()
	if f == nil {
		panic("twheel: a timer without a function")
	}
	return &Keys[K]{wheel: wheel, f: f, timers: make(map[K]*Timer)}
}

// Put arms the timer with this key, or arms it anew: f is called d from now, and not before that. It
// panics for a key that is not equal to itself.
func (k *Keys[K]) Put(key K, d time.Duration) {
	k.wheel.made()
	if key != key {
		panic("twheel: a key that is not equal to itself")
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	t := k.timers[key]
	if t == nil {
		t = &Timer{wheel: k.wheel, direct: true}
		t.f = func() { k.expire(key, t) }
		k.timers[key] = t
	}
	if _, armed := t.reset(d); !armed {
		// The wheel is closed.
		delete(k.timers, key)
	}
}

// Push is Put if there is a timer with this key; if there is none Push changes nothing and returns
// false.
func (k *Keys[K]) Push(key K, d time.Duration) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	t := k.timers[key]
	return t != nil && t.Push(d)
}

// Cancel cancels the timer with this key. False if there is none.
func (k *Keys[K]) Cancel(key K) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	t := k.timers[key]
	if t == nil {
		return false
	}
	delete(k.timers, key)
	// If it has come up just now, expire() does not find it any more.
	t.Stop()
	return true
}

// Clear cancels all of them.
func (k *Keys[K]) Clear() { k.takeAll() }

// Drain cancels all of them, and then calls f with the key of each, in no order. f may call any method.
func (k *Keys[K]) Drain(f func(key K)) {
	for key := range k.takeAll() {
		f(key)
	}
}

// takeAll cancels all timers and returns them.
func (k *Keys[K]) takeAll() map[K]*Timer {
	k.mu.Lock()
	defer k.mu.Unlock()
	timers := k.timers
	k.timers = make(map[K]*Timer)
	for _, t := range timers {
		// As in Cancel
		t.Stop()
	}
	return timers
}

// Remaining is how long it is until the timer with this key is due, and whether there is one.
func (k *Keys[K]) Remaining(key K) (time.Duration, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	t := k.timers[key]
	if t == nil {
		return 0, false
	}
	return t.Remaining(), t.Armed()
}

// Len is how many there are.
func (k *Keys[K]) Len() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.timers)
}

// String tells how many there are. Package fmt would walk the map, while others write to it.
func (k *Keys[K]) String() string {
	return fmt.Sprintf("twheel.Keys(%d)", k.Len())
}

// expire calls the function, unless the timer was armed anew or cancelled since it came up.
func (k *Keys[K]) expire(key K, t *Timer) {
	k.mu.Lock()
	over := k.timers[key] == t && !t.Armed()
	if over {
		delete(k.timers, key)
	}
	k.mu.Unlock()
	if over && !k.wheel.isClosed() {
		k.f(key)
	}
}
