// SPDX-License-Identifier: GPL-2.0-only OR MIT

//go:build !go1.21

package twheel

import (
	"context"
	"sync"
)

// afterDone is context.AfterFunc, which came with Go 1.21.
func afterDone(ctx context.Context, f func()) (stop func() bool) {
	var once sync.Once
	stopped := make(chan struct{})
	go func() {
		select {
		case <-ctx.Done():
			once.Do(func() { go f() })
		case <-stopped:
		}
	}()
	return func() (was bool) {
		once.Do(func() {
			if was = ctx.Err() == nil; was {
				close(stopped)
			} else {
				go f()
			}
		})
		return was
	}
}
