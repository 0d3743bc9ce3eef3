// SPDX-License-Identifier: GPL-2.0-only OR MIT

//go:build cgo

package twheel

import "container/heap"

// A wait is a timer that the queue has refused, and is to be asked for again: with that deadline.
type wait struct {
	timer    *Timer
	deadline int64
}

// waiting is a heap of timers by deadline. Each knows its place there.
type waiting []wait

func (h waiting) Len() int           { return len(h) }
func (h waiting) Less(i, j int) bool { return h[i].deadline < h[j].deadline }

func (h waiting) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].timer.place, h[j].timer.place = uint32(i+1), uint32(j+1)
}

// Push is for package heap, as is Pop.
func (h *waiting) Push(x any) {
	*h = append(*h, x.(wait))
	x.(wait).timer.place = uint32(len(*h))
}

func (h *waiting) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	x.timer.place = 0
	(*h)[last] = wait{}
	if *h = (*h)[:last]; last == 0 {
		// The memory of a burst
		*h = nil
	}
	return x
}

// put has a timer wait, or wait with another deadline.
func (h *waiting) put(t *Timer, deadline int64) {
	if t.place == 0 {
		heap.Push(h, wait{t, deadline})
		return
	}
	(*h)[t.place-1].deadline = deadline
	heap.Fix(h, int(t.place-1))
}

// remove has a timer wait no more, if it does.
func (h *waiting) remove(t *Timer) {
	if t.place != 0 {
		heap.Remove(h, int(t.place-1))
	}
}
