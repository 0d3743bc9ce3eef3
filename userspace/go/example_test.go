// SPDX-License-Identifier: GPL-2.0-only OR MIT

package twheel_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"twheel"
)

func Example() {
	wheel, err := twheel.New()
	if err != nil {
		panic(err)
	}
	defer wheel.Close()

	timer := wheel.NewTimer(time.Millisecond)
	timer.Reset(2 * time.Millisecond)
	<-timer.C
	fmt.Println("it is over")
	// Output: it is over
}

func ExampleWheel_AfterFunc() {
	wheel, err := twheel.New()
	if err != nil {
		panic(err)
	}
	defer wheel.Close()

	done := make(chan bool)
	timer := wheel.AfterFunc(time.Millisecond, func() { done <- true })
	<-done
	fmt.Println("stopped in time:", timer.Stop())
	// Output: stopped in time: false
}

func ExampleWheel_WithTimeout() {
	wheel, err := twheel.New()
	if err != nil {
		panic(err)
	}
	defer wheel.Close()

	ctx, cancel := wheel.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	<-ctx.Done()
	fmt.Println(errors.Is(ctx.Err(), context.DeadlineExceeded))
	// Output: true
}

func ExampleKeys() {
	wheel, err := twheel.New()
	if err != nil {
		panic(err)
	}
	defer wheel.Close()

	over := make(chan string)
	logins := twheel.NewKeys(wheel, func(name string) { over <- name })
	logins.Put("ada", time.Hour)
	logins.Put("bob", 2*time.Millisecond)
	logins.Cancel("ada")
	fmt.Println(<-over, "was not seen for long")
	// Output: bob was not seen for long
}

func ExampleQueue() {
	queue, err := twheel.NewQueue(nil)
	if err != nil {
		panic(err)
	}
	defer queue.Close()

	for session := uint64(1); session <= 1000; session++ {
		if err := queue.Put(session, time.Hour); err != nil {
			panic(err)
		}
	}
	// Signs of life of many, in one call
	now, _ := queue.Now()
	pushes := []twheel.Push{
		{Key: 17, Expires: now + uint64(time.Millisecond)},
		{Key: 18, Expires: now + uint64(2*time.Hour)},
	}
	if _, err := queue.PushAll(pushes); err != nil {
		panic(err)
	}
	events := make([]twheel.Event, 64)
	n, _ := queue.Read(events)
	for _, event := range events[:n] {
		fmt.Println("session", event.Key, "has timed out")
	}
	// Output: session 17 has timed out
}
