// SPDX-License-Identifier: GPL-2.0-only

//go:build costs

package twheel

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

var (
	rounds  = flag.Int("rounds", 5, "rounds of each kind")
	pending = flag.String("pending", "1000 100000 1000000", "how many timers")
)

// A stopper is a timer of either kind.
type stopper interface {
	Reset(time.Duration) bool
	Stop() bool
}

// cpu is the CPU time of the process, so that what other threads do for a call counts, too.
func cpu() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func resident() int64 {
	debug.FreeOSMemory()
	status, _ := os.ReadFile("/proc/self/statm")
	pages, _ := strconv.ParseInt(string(bytes.Fields(status)[1]), 10, 64)
	return pages * int64(os.Getpagesize())
}

// measured is what was measured in a round: nanoseconds of CPU an operation, and bytes a timer.
type measured map[string]float64

func (m measured) measure(what string, times int, f func(i int), flush func()) {
	start := cpu()
	for i := 0; i < times; i++ {
		f(i)
	}
	flush()
	m[what] = float64(cpu()-start) / float64(times)
}

// repeats is how often n operations make 100,000 at least.
func repeats(n int) int {
	return 1 + 100000/n
}

// timerCosts measures one round of timers with functions.
func timerCosts(n int, after func(time.Duration) stopper, flush func()) measured {
	m := measured{}
	timers := make([]stopper, n)
	before := resident()
	m.measure("arm", n, func(i int) { timers[i] = after(time.Hour + time.Duration(i)) }, flush)
	m["bytes"] = float64(resident()-before) / float64(n)
	m.measure("push back", n*repeats(n), func(i int) {
		timers[i*7919%n].Reset(2*time.Hour + time.Duration(i))
	}, flush)
	m.measure("make earlier", n, func(i int) { timers[i].Reset(time.Minute + time.Duration(i)) }, flush)
	m.measure("cancel", n, func(i int) { timers[i].Stop() }, flush)
	m.measure("arm and cancel at once", n*repeats(n), func(i int) { after(time.Minute).Stop() }, flush)
	return m
}

// queueCosts measures one round of keys, in batches.
func queueCosts(t *testing.T, n int) measured {
	m := measured{}
	q := newQueue(t, nil)
	defer q.Close()
	now, err := q.Now()
	check(t, err)
	pushes := make([]Push, 0, batch)
	send := func() {
		_, err := q.PushAll(pushes)
		check(t, err)
		pushes = pushes[:0]
	}
	push := func(key int, d time.Duration) {
		pushes = append(pushes, Push{Key: uint64(key), Expires: now + uint64(d)})
		if len(pushes) == batch {
			send()
		}
	}
	before := resident()
	m.measure("arm", n, func(i int) { push(i, time.Hour+time.Duration(i)) }, send)
	m["bytes"] = float64(resident()-before) / float64(n)
	m.measure("push back", n*repeats(n), func(i int) {
		push(i*7919%n, 2*time.Hour+time.Duration(i))
	}, send)
	m.measure("make earlier", n, func(i int) { push(i, time.Minute+time.Duration(i)) }, send)
	cancels := make([]Cancel, 0, batch)
	cancel := func() {
		_, err := q.CancelAll(cancels)
		check(t, err)
		cancels = cancels[:0]
	}
	m.measure("cancel", n, func(i int) {
		if cancels = append(cancels, Cancel{Key: uint64(i)}); len(cancels) == batch {
			cancel()
		}
	}, cancel)
	return m
}

// costs measures one round of package time's timers, of a Wheel's or of a Queue's.
func costs(t *testing.T, which, n int) measured {
	switch which {
	case 0:
		return timerCosts(n, func(d time.Duration) stopper {
			return time.AfterFunc(d, func() {})
		}, func() {})
	case 1:
		w := newWheel(t, nil)
		m := timerCosts(n, func(d time.Duration) stopper {
			return w.AfterFunc(d, func() {})
		}, func() { check(t, w.Flush()) })
		check(t, w.Close())
		return m
	default:
		return queueCosts(t, n)
	}
}

// What timers cost beside those of package time, in turns. Prints, tab-separated, the operation, how
// many are pending, and for each kind the median of the rounds: ns of CPU time, or bytes.
// Run it in the package's folder: go test -tags costs -run TestCosts [-rounds N] [-pending "N..."]
func TestCosts(t *testing.T) {
	names := []string{"arm", "push back", "make earlier", "cancel",
		"arm and cancel at once", "bytes"}
	fmt.Println("#\tpending\tpackage time\ttwheel\ttwheel, batches of 256")
	for _, word := range strings.Fields(*pending) {
		n, err := strconv.Atoi(word)
		check(t, err)
		var results [3][]measured
		for round := 0; round < *rounds; round++ {
			for i := range results {
				which := (i + round) % len(results)
				results[which] = append(results[which], costs(t, which, n))
				runtime.GC()
			}
		}
		for _, what := range names {
			fmt.Printf("%s\t%d", what, n)
			for _, result := range results {
				if _, ok := result[0][what]; !ok {
					fmt.Print("\t")
					continue
				}
				sort.Slice(result, func(i, j int) bool { return result[i][what] < result[j][what] })
				fmt.Printf("\t%.0f", result[*rounds/2][what])
			}
			fmt.Println()
		}
	}
}
