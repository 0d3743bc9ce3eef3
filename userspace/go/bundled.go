// SPDX-License-Identifier: GPL-2.0-only OR MIT

//go:build !twheel_installed

package twheel

// The library is twheel.c in this folder, which `make packages` puts there. It is compiled with
// optimization also where a program is not.

// #cgo CFLAGS: -O2 -fno-strict-aliasing -pthread
import "C"
