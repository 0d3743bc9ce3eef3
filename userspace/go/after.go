// SPDX-License-Identifier: GPL-2.0-only OR MIT

//go:build go1.21

package twheel

import "context"

// afterDone is context.AfterFunc.
func afterDone(ctx context.Context, f func()) (stop func() bool) {
	return context.AfterFunc(ctx, f)
}
