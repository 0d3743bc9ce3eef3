// SPDX-License-Identifier: GPL-2.0-only OR MIT

//go:build !cgo

package twheel

// The library is C. All that needs it is left out without cgo, so that this is the one complaint.
var _ = twheelTakesCgoAndACompilerForC
