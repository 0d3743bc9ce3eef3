// SPDX-License-Identifier: GPL-2.0-only OR MIT

//go:build twheel_installed

package twheel

// #cgo pkg-config: libtwheel
// #cgo CFLAGS: -DTWHEEL_INSTALLED
import "C"
