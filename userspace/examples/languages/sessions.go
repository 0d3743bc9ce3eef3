// SPDX-License-Identifier: GPL-2.0-only OR MIT

// sessions: time sessions out by their own numbers, in Go.
package main

import (
	"fmt"
	"log"
	"time"

	"twheel"
)

func main() {
	wheel, err := twheel.New()
	if err != nil {
		log.Fatal(err)
	}
	defer wheel.Close()

	over := make(chan int)
	sessions := twheel.NewKeys(wheel, func(session int) { over <- session })
	sessions.Put(1, 200*time.Millisecond)
	sessions.Put(2, 100*time.Millisecond)
	sessions.Put(3, 300*time.Millisecond)
	// A sign of life; and a log-out.
	sessions.Push(2, 400*time.Millisecond)
	sessions.Cancel(3)

	for left := 2; left > 0; left-- {
		fmt.Printf("session %d has timed out\n", <-over)
	}
}
