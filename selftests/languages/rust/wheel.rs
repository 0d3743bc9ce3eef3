// SPDX-License-Identifier: GPL-2.0-only
//! Tests of the crate twheel.

use std::io::{self, ErrorKind};
use std::os::unix::io::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use twheel::{Arm, Cancel, Clock, Event, Lease, Old, Options, Push, Walk, Wheel};

const HOUR: Duration = Duration::from_secs(3600);
const MS: Duration = Duration::from_millis(1);

fn keyed() -> Wheel {
    Options::new().keyed(true).open().unwrap()
}

/// Fails unless there is nothing to read.
fn nothing(wheel: &Wheel) {
    let mut events = [Event::default(); 4];
    assert_eq!(wheel.read_timeout(&mut events, Duration::ZERO).unwrap(), 0, "{:?}", events[0]);
}

fn errno<T: std::fmt::Debug>(result: io::Result<T>) -> i32 {
    result.unwrap_err().raw_os_error().expect("an error of the library")
}

// Numbers of Linux, all architectures of the library
const EINVAL: i32 = 22;
const ENOSPC: i32 = 28;
const EEXIST: i32 = 17;
const ENOENT: i32 = 2;
const EOPNOTSUPP: i32 = 95;

#[test]
fn types_are_for_threads_as_they_are() {
    fn both<T: Send + Sync>() {}
    fn send<T: Send>() {}
    both::<Wheel>();
    both::<Lease>();
    both::<Event>();
    both::<Arm>();
    send::<Walk>();
}

#[test]
fn never_early_and_once() {
    const N: u64 = 3000;
    let wheel = Wheel::open().unwrap();
    // Some numbers, no two the same
    let delay = |i: u64| Duration::from_micros(i * 7919 % N * 40);
    let start = Instant::now();
    for i in 0..N {
        wheel.arm(delay(i), i).unwrap();
    }
    let mut seen = vec![0; N as usize];
    for event in wheel.events().take(N as usize) {
        let event = event.unwrap();
        assert!(event.expired() >= event.deadline());
        assert!(start.elapsed() >= delay(event.user_data()));
        assert!(event.is_last() && event.expirations() == 1);
        seen[event.user_data() as usize] += 1;
    }
    assert!(seen.iter().all(|&n| n == 1));
    nothing(&wheel);
    let info = wheel.info().unwrap();
    assert_eq!((info.pending, info.ready), (0, 0));
}

#[test]
fn keys() {
    let wheel = keyed();
    assert_eq!(wheel.put(1, HOUR, 5).unwrap(), Old::None);
    assert!(matches!(wheel.put(1, HOUR, 6).unwrap(), Old::Pending(left) if left > HOUR / 2));
    wheel.put(u64::MAX, HOUR, 0).unwrap();
    wheel.put(2, HOUR, 0).unwrap();
    assert!(matches!(wheel.cancel(2).unwrap(), Some(Old::Pending(_))));
    assert_eq!(wheel.cancel(2).unwrap(), None);
    assert!(wheel.get(2).unwrap().is_none());
    let info = wheel.get(1).unwrap().unwrap();
    assert_eq!((info.handle(), info.user_data(), info.is_ready()), (1, 6, false));
    assert!(info.remaining() > HOUR / 2 && info.deadline() > wheel.now());

    let mut all: Vec<u64> = wheel.walk().unwrap().map(|info| info.unwrap().handle()).collect();
    all.sort_unstable();
    assert_eq!(all, [1, u64::MAX]);

    wheel.push(1, Duration::ZERO).unwrap();
    let mut events = [Event::default(); 4];
    assert_eq!(wheel.read(&mut events).unwrap(), 1);
    // Its settings are kept.
    assert_eq!((events[0].handle(), events[0].user_data()), (1, 6));
    // An event that was not read
    wheel.put(3, Duration::ZERO, 0).unwrap();
    assert_eq!(wheel.cancel(3).unwrap(), Some(Old::Ready));
    wheel.put(3, Duration::ZERO, 0).unwrap();
    wheel.cancel_all().unwrap();
    nothing(&wheel);
    assert_eq!(wheel.walk().unwrap().count(), 0);
}

#[test]
fn handles() {
    let wheel = Wheel::open().unwrap();
    let handle = wheel.arm(HOUR, 1).unwrap();
    assert!(matches!(wheel.rearm(handle, MS, 2).unwrap(), Old::Pending(_)));
    let event = wheel.events().next().unwrap().unwrap();
    assert_eq!((event.handle(), event.user_data()), (handle, 2));
    // It has ended.
    assert_eq!(errno(wheel.rearm(handle, MS, 2)), ENOENT);
    assert_eq!(errno(wheel.push(handle, MS)), ENOENT);
    assert_eq!(wheel.cancel(handle).unwrap(), None);
    let handle = wheel.arm_at(wheel.now() + HOUR, 3).unwrap();
    wheel.push_at(handle, wheel.now()).unwrap();
    assert_eq!(wheel.events().next().unwrap().unwrap().user_data(), 3);
    nothing(&wheel);
}

#[test]
fn times_at_the_edges() {
    let wheel = keyed();
    let latest = Duration::from_nanos(i64::MAX as u64);
    // From 2^63 ns on, from 2^64 ns on, 10,000 years, and the longest
    let long = [9_223_372_037, 18_446_744_074, 315_569_520_000, u64::MAX];
    for (key, secs) in (10..).zip(long) {
        let time = Duration::from_secs(secs);
        wheel.put(key, time, 0).unwrap();
        assert_eq!(wheel.get(key).unwrap().unwrap().deadline(), latest, "{} s", secs);
        wheel.push(key, time).unwrap();
        assert_eq!(wheel.get(key).unwrap().unwrap().deadline(), latest, "{} s", secs);
    }
    wheel.put(1, Duration::ZERO, 0).unwrap();
    wheel.push(2, Duration::ZERO).unwrap();
    let mut due: Vec<u64> = wheel.events().take(2).map(|e| e.unwrap().handle()).collect();
    due.sort_unstable();
    assert_eq!(due, [1, 2]);
    let start = Instant::now();
    let mut events = [Event::default(); 4];
    assert_eq!(wheel.read_timeout(&mut events, 20 * MS).unwrap(), 0);
    assert!(start.elapsed() >= 20 * MS);
}

#[test]
fn batches() {
    let wheel = keyed();
    let mut arms: Vec<Arm> =
        (0..1000).map(|i| Arm::after(HOUR).handle(i).user_data(i * 3)).collect();
    arms[1] = Arm::after(HOUR).handle(0).if_none();
    arms[2] = Arm::after(HOUR).handle(2).if_pending();
    arms[3] = Arm::after(HOUR).handle(3).count(2);
    wheel.arm_batch(&mut arms).unwrap();
    assert_eq!(arms[0].result().unwrap(), (0, Old::None));
    assert_eq!(errno(arms[1].result()), EEXIST);
    assert_eq!(errno(arms[2].result()), ENOENT);
    assert_eq!(errno(arms[3].result()), EINVAL);
    assert!(arms[4..].iter().all(|arm| arm.result().unwrap().1 == Old::None));

    let now = wheel.now();
    let pushes: Vec<Push> = (500..1500).map(|key| Push::new(key, now)).collect();
    let (n, result) = wheel.push_batch(&pushes);
    assert_eq!((n, result.is_ok()), (1000, true));
    let mut seen: Vec<u64> = wheel.events().take(1000).map(|e| e.unwrap().handle()).collect();
    seen.sort_unstable();
    assert_eq!(seen, (500..1500).collect::<Vec<u64>>());

    let mut cancels: Vec<Cancel> = (498..502).map(Cancel::new).collect();
    wheel.cancel_batch(&mut cancels).unwrap();
    assert!(matches!(cancels[1].result().unwrap(), Some(Old::Pending(_))));
    assert_eq!(cancels[2].result().unwrap(), None);
    wheel.arm_batch(&mut []).unwrap();
    assert!(wheel.push_batch(&[]).1.is_ok());
    wheel.cancel_batch(&mut []).unwrap();

    // It ends at the first that fails.
    let small = Options::new().keyed(true).limit(3).open().unwrap();
    let (n, result) = small.push_batch(&pushes);
    assert_eq!((n, errno(result)), (3, ENOSPC));
}

#[test]
fn repeats_on_a_grid() {
    let wheel = Wheel::open().unwrap();
    wheel.arm_with(Arm::after(2 * MS).interval(2 * MS).count(5).user_data(9)).unwrap();
    let (mut rounds, mut first) = (0, Duration::ZERO);
    for event in wheel.events() {
        let event = event.unwrap();
        if rounds == 0 {
            first = event.deadline();
        }
        assert_eq!(event.deadline(), first + 2 * MS * rounds as u32);
        rounds += event.expirations();
        if event.is_last() {
            break;
        }
    }
    assert_eq!(rounds, 5);
    nothing(&wheel);
}

#[test]
fn leases() {
    let wheel = Options::new().lease(true).open().unwrap();
    let (handle, lease) = wheel.lease(HOUR, 7).unwrap();
    let first = lease.deadline().unwrap();
    assert!(lease.extend(first + HOUR).unwrap() && lease.deadline() >= Some(first + HOUR));
    // Not shortened
    assert!(lease.extend(first).unwrap() && lease.deadline() >= Some(first + HOUR));
    let found = wheel.lease_of(handle).unwrap().unwrap();
    assert_eq!(found.deadline(), lease.deadline());
    thread::scope(|scope| {
        scope.spawn(move || assert!(lease.extend(first + 2 * HOUR).unwrap()));
    });
    assert!(found.deadline() >= Some(first + 2 * HOUR) && !found.is_over());
    wheel.cancel(handle).unwrap();
    assert!(lease.is_over() && !lease.extend(first + 3 * HOUR).unwrap());
    assert!(wheel.lease_of(handle).unwrap().is_none());

    let (_, lease) = wheel.lease(MS, 8).unwrap();
    let event = wheel.events().next().unwrap().unwrap();
    assert_eq!(event.user_data(), 8);
    assert!(event.expired() >= lease.deadline().unwrap() && lease.is_over());
    let plain = wheel.arm(HOUR, 0).unwrap();
    assert_eq!(errno(wheel.lease_of(plain)), EINVAL);
    assert_eq!(errno(Wheel::open().unwrap().lease(HOUR, 0)), EINVAL);
    assert_eq!(errno(wheel.put_lease(5, HOUR, 0)), EINVAL);

    let wheel = Options::new().lease(true).keyed(true).open().unwrap();
    let lease = wheel.put_lease(5, HOUR, 0).unwrap();
    assert!(lease.extend(wheel.now() + 2 * HOUR).unwrap());
    assert!(wheel.get(5).unwrap().unwrap().remaining() > HOUR);
}

/// When another lease has its word, nothing is known of its deadline.
#[test]
fn lease_whose_word_is_another_ones() {
    let wheel = Options::new().lease(true).open().unwrap();
    let (handle, lease) = wheel.lease(HOUR, 1).unwrap();
    wheel.cancel(handle).unwrap();
    assert!(lease.is_over() && lease.deadline() > Some(wheel.now()));
    let gone = (0..100).any(|_| {
        let (handle, other) = wheel.lease(HOUR, 2).unwrap();
        assert!(other.deadline() > Some(wheel.now()));
        wheel.cancel(handle).unwrap();
        lease.deadline().is_none()
    });
    assert!(gone && lease.is_over() && !lease.extend(Duration::MAX).unwrap());
}

/// Leases until a point in time, and on wall time, where a delay is EINVAL
#[test]
fn leases_until_a_time() {
    // A word has a unit of 1,024 ns, to which a time is rounded up; one that has passed, down.
    let unit = Duration::from_nanos(1024);
    let rounded = |lease: &Lease, time| {
        let deadline = lease.deadline().unwrap();
        deadline < time + unit && time < deadline + unit
    };
    for clock in [Clock::Monotonic, Clock::Boottime, Clock::Realtime] {
        let wheel = Options::new().lease(true).clock(clock).open().unwrap();
        if clock == Clock::Realtime {
            assert_eq!(errno(wheel.lease(HOUR, 0)), EINVAL);
        }
        let later = wheel.now() + HOUR;
        let (handle, lease) = wheel.lease_at(later, 1).unwrap();
        assert!(rounded(&lease, later));
        assert!(lease.extend(later + HOUR).unwrap() && rounded(&lease, later + HOUR));
        assert!(wheel.cancel(handle).unwrap().is_some() && lease.is_over());

        let soon = wheel.now() + 5 * MS;
        let (handle, lease) = wheel.lease_at(soon, 2).unwrap();
        let until = if lease.extend(soon + 5 * MS).unwrap() { soon + 5 * MS } else { soon };
        let event = wheel.events().next().unwrap().unwrap();
        assert_eq!((event.handle(), event.user_data()), (handle, 2));
        assert!(event.deadline() + unit > until && event.expired() >= event.deadline());
        assert!(lease.is_over() && rounded(&lease, until));
        // For ever; and one whose time has passed
        assert!(!wheel.lease_at(Duration::MAX, 3).unwrap().1.is_over());
        wheel.lease_at(MS, 4).unwrap();
        assert_eq!(wheel.events().next().unwrap().unwrap().user_data(), 4);
        assert_eq!(errno(wheel.put_lease_at(5, later, 0)), EINVAL);
        nothing(&wheel);

        let wheel = Options::new().lease(true).keyed(true).clock(clock).open().unwrap();
        assert_eq!(errno(wheel.lease_at(later, 0)), EINVAL);
        let lease = wheel.put_lease_at(0, later, 6).unwrap();
        assert!(rounded(&lease, later));
        // To a time that is sooner
        let lease = wheel.put_lease_at(0, later - HOUR / 2, 7).unwrap();
        assert!(rounded(&lease, later - HOUR / 2));
        assert_eq!(wheel.get(0).unwrap().unwrap().user_data(), 7);
    }
}

/// One without a key is not that with key 0.
#[test]
fn forgotten_keys() {
    let wheel = Options::new().lease(true).keyed(true).open().unwrap();
    wheel.put(0, HOUR, 3).unwrap();
    assert_eq!(errno(wheel.lease(HOUR, 1)), EINVAL);
    assert_eq!(errno(wheel.arm_with(Arm::after(HOUR))), EINVAL);
    assert_eq!(errno(wheel.arm_with(Arm::at(wheel.now()).user_data(1))), EINVAL);
    assert_eq!(errno(wheel.arm_batch(&mut [Arm::after(HOUR).handle(1), Arm::after(HOUR)])), EINVAL);
    assert_eq!(wheel.info().unwrap().pending, 1);
    assert_eq!(wheel.get(0).unwrap().unwrap().user_data(), 3);
    let mut arms = [Arm::after(HOUR).handle(0).user_data(4), Arm::after(HOUR).handle(1)];
    for _ in 0..2 {
        wheel.arm_batch(&mut arms).unwrap();
        assert!(arms.iter().all(|arm| arm.result().is_ok()));
    }
    assert_eq!(wheel.get(0).unwrap().unwrap().user_data(), 4);

    // Where there are no keys it is a new timer, and the same one if that is armed again.
    let wheel = Wheel::open().unwrap();
    let mut arms = [Arm::after(HOUR); 2];
    for _ in 0..2 {
        wheel.arm_batch(&mut arms).unwrap();
    }
    assert_eq!(wheel.info().unwrap().pending, 2);
}

/// A request without a handle that has failed has none still, whichever wheel it comes to next.
#[test]
fn requests_that_failed_are_used_again() {
    let (keyed, full) = (keyed(), Options::new().limit(1).open().unwrap());
    let mut arms = [Arm::after(HOUR); 3];
    full.arm_batch(&mut arms).unwrap();
    let (handle, old) = arms[0].result().unwrap();
    assert_eq!((handle != 0, old), (true, Old::None));
    for arm in &arms[1..] {
        assert_eq!(errno(arm.result()), ENOSPC);
        assert_eq!(errno(keyed.arm_with(*arm)), EINVAL);
    }
    assert_eq!(errno(keyed.arm_batch(&mut arms[1..])), EINVAL);
    assert_eq!(keyed.info().unwrap().pending, 0);
    // There is room now: they are new timers.
    full.cancel(handle).unwrap();
    full.arm_batch(&mut arms[1..]).unwrap();
    assert!(![0, handle].contains(&arms[1].result().unwrap().0));
    assert_eq!(errno(arms[2].result()), ENOSPC);
    // One that has failed with a key has that still.
    let mut arms = [Arm::after(HOUR).handle(0).if_pending()];
    for _ in 0..2 {
        keyed.arm_batch(&mut arms).unwrap();
        assert_eq!(errno(arms[0].result()), ENOENT);
    }
}

/// Without keys no timer has the handle 0, and one with it is not a new one.
#[test]
fn handle_0() {
    let wheel = Wheel::open().unwrap();
    let mut arms = [Arm::after(HOUR), Arm::after(HOUR).handle(0)];
    assert_eq!(errno(wheel.arm_with(arms[1])), EINVAL);
    assert_eq!(errno(wheel.arm_batch(&mut arms)), EINVAL);
    assert_eq!(wheel.info().unwrap().pending, 0);
    assert_eq!(errno(wheel.rearm(0, HOUR, 0)), EINVAL);
    assert_eq!(errno(wheel.push(0, HOUR)), ENOENT);
    assert_eq!(wheel.cancel(0).unwrap(), None);
}

/// What no call has come to is no success, nor what it was before.
#[test]
fn requests_that_were_not_made() {
    const ECHILD: i32 = 10;
    assert_eq!(errno(Arm::after(HOUR).handle(1).result()), EINVAL);
    assert_eq!(errno(Cancel::new(1).result()), EINVAL);
    let wheel = Options::new().embedded(true).keyed(true).open().unwrap();
    let mut arms = [Arm::after(HOUR).handle(0), Arm::after(HOUR).handle(1)];
    wheel.arm_batch(&mut arms).unwrap();
    assert!(arms.iter().all(|arm| arm.result().is_ok()));
    // A wheel is its parent's.
    let told = in_child(|| {
        let mut cancels = [Cancel::new(0), Cancel::new(1)];
        errno(wheel.arm_batch(&mut arms)) == ECHILD
            && arms.iter().all(|arm| errno(arm.result()) == ECHILD)
            && errno(wheel.cancel_batch(&mut cancels)) == ECHILD
            && cancels.iter().all(|cancel| errno(cancel.result()) == ECHILD)
    });
    assert_eq!(told, 0);
    // With one that has no key no other is armed, either.
    let mut arms = [arms[0], Arm::after(HOUR)];
    assert_eq!(errno(wheel.arm_batch(&mut arms)), EINVAL);
    assert!(arms.iter().all(|arm| errno(arm.result()) == EINVAL));
}

#[test]
fn errors() {
    let open = |options: &Options| options.open().map(|_| ());
    assert_eq!(errno(open(Options::new().path("/no/such/device"))), ENOENT);
    assert_eq!(errno(open(Options::new().path("/dev/twheel").embedded(true))), EINVAL);
    assert_eq!(open(Options::new().path("a\0b")).unwrap_err().kind(), ErrorKind::InvalidInput);
    let wheel = keyed();
    assert_eq!(errno(wheel.arm(MS, 0)), EINVAL);
    assert_eq!(errno(wheel.read(&mut [])), EINVAL);
    assert_eq!(errno(Wheel::open().unwrap().put(1, MS, 0)), EINVAL);
    let wall = Options::new().clock(Clock::Realtime).open().unwrap();
    assert_eq!(errno(wall.arm(MS, 0)), EINVAL);
    let handle = wall.arm_at(Duration::MAX, 4).unwrap();
    assert_eq!(errno(wall.push(handle, MS)), EINVAL);
    wall.push_at(handle, Duration::from_secs(1)).unwrap();
    assert_eq!(wall.events().next().unwrap().unwrap().user_data(), 4);
    let small = Options::new().limit(1).open().unwrap();
    small.arm(HOUR, 0).unwrap();
    assert_eq!(errno(small.arm(HOUR, 0)), ENOSPC);
    assert_eq!(small.info().unwrap().pending, 1);
}

/// Live timers and those with keys, which take points in time there
#[test]
fn on_wall_time() {
    let wall = Options::new().clock(Clock::Realtime).open().unwrap();
    let (handle, later) = (wall.arm_at(Duration::MAX, 5).unwrap(), wall.now() + HOUR);
    assert_eq!(errno(wall.rearm(handle, MS, 6)), EINVAL);
    assert!(matches!(wall.rearm_at(handle, later, 6).unwrap(), Old::Pending(left) if left > HOUR));
    let info = wall.get(handle).unwrap().unwrap();
    assert_eq!((info.user_data(), info.deadline()), (6, later));
    let wall = Options::new().clock(Clock::Realtime).keyed(true).open().unwrap();
    assert_eq!(errno(wall.put(1, MS, 0)), EINVAL);
    assert_eq!(wall.put_at(1, later, 7).unwrap(), Old::None);
    assert!(matches!(wall.put_at(1, MS, 8).unwrap(), Old::Pending(left) if left > HOUR / 2));
    assert_eq!(wall.events().next().unwrap().unwrap().user_data(), 8);
}

/// It is an error, but no end.
#[test]
fn a_step_of_the_clock_is_told() {
    const ECANCELED: i32 = 125;
    let mut options = Options::new();
    let wall = options.clock(Clock::Realtime).cancel_on_set(true).embedded(true).open().unwrap();
    let before = wall.now() - HOUR;
    let mut events = wall.events();
    wall.arm_at(before, 6).unwrap();
    wall.set_now(before).unwrap();
    assert_eq!(errno(events.next().unwrap()), ECANCELED);
    assert_eq!(events.next().unwrap().unwrap().user_data(), 6);
}

#[test]
fn is_ready_for_poll() {
    let wheel = Options::new().nonblocking(true).open().unwrap();
    assert_eq!(wheel.as_fd().as_raw_fd(), wheel.as_raw_fd());
    let mut events = [Event::default(); 4];
    assert_eq!(wheel.read(&mut events).unwrap_err().kind(), ErrorKind::WouldBlock);
    assert!(wheel.events().next().is_none());

    #[repr(C)]
    struct PollFd(i32, i16, i16);
    extern "C" {
        fn poll(fds: *mut PollFd, n: std::os::raw::c_ulong, timeout: i32) -> i32;
    }
    let start = Instant::now();
    wheel.arm(5 * MS, 3).unwrap();
    // A wheel in the process may be readable for nothing.
    let n = loop {
        let mut fd = PollFd(wheel.as_raw_fd(), 1, 0);
        assert_eq!(unsafe { poll(&mut fd, 1, -1) }, 1);
        match wheel.read(&mut events) {
            Ok(n) => break n,
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
        }
    };
    assert!(start.elapsed() >= 5 * MS);
    assert_eq!((n, events[0].user_data()), (1, 3));
}

#[test]
fn events_that_were_not_taken_out_are_told() {
    let wheel = Options::new().nonblocking(true).open().unwrap();
    for i in 0..9 {
        wheel.arm(Duration::ZERO, i).unwrap();
    }
    while wheel.info().unwrap().ready < 9 {
        thread::yield_now();
    }
    // Who takes one takes no other.
    assert!((0..5).all(|_| wheel.events().next().is_some()));
    let mut events = wheel.events();
    assert!(events.next().is_some() && events.rest().is_empty());
    assert!(events.next().is_some() && events.rest().len() == 2);
    // Nor are those printed that were taken out.
    assert_eq!(format!("{events:?}").matches("user_data").count(), 2);
    nothing(&wheel);
}

#[test]
fn cached_time() {
    let wheel = Options::new().embedded(true).cache_now(true).open().unwrap();
    let opened = wheel.now();
    std::thread::sleep(Duration::from_millis(1));
    assert_eq!(wheel.now(), opened);
    wheel.update_now().unwrap();
    assert!(wheel.now() >= opened + Duration::from_millis(1));
}

#[test]
fn clock_of_tests_and_counters() {
    let wheel = Options::new().embedded(true).open().unwrap();
    assert!(wheel.is_embedded().unwrap());
    let start = Duration::from_secs(1_000_000);
    wheel.set_now(start).unwrap();
    assert_eq!(wheel.now(), start);
    wheel.arm(HOUR, 1).unwrap();
    wheel.set_now(start + HOUR - Duration::from_nanos(1)).unwrap();
    nothing(&wheel);
    wheel.set_now(start + HOUR + Duration::from_secs(1)).unwrap();
    let event = wheel.events().next().unwrap().unwrap();
    assert_eq!(event.deadline(), start + HOUR);
    let stats = wheel.stats().unwrap();
    assert_eq!((stats.armed, stats.expired, stats.read, stats.read_a_call[1]), (1, 1, 1, 1));
    assert_eq!(errno(wheel.set_now(Duration::ZERO)), EINVAL);
    // As they are read, by deadline
    for secs in [3, 1, 2] {
        wheel.arm(Duration::from_secs(secs), secs).unwrap();
    }
    wheel.set_now(start + 2 * HOUR).unwrap();
    let order: Vec<u64> = wheel.events().take(3).map(|e| e.unwrap().user_data()).collect();
    assert_eq!(order, [1, 2, 3]);
    let other = Wheel::open().unwrap();
    if !other.is_embedded().unwrap() {
        assert_eq!(errno(other.stats()), EOPNOTSUPP);
        assert_eq!(errno(other.set_now(start)), EOPNOTSUPP);
    }
}

/// The exit status of a child that runs f
fn in_child(f: impl FnOnce() -> bool) -> i32 {
    extern "C" {
        fn fork() -> i32;
        fn waitpid(pid: i32, status: *mut i32, options: i32) -> i32;
        fn _exit(status: i32) -> !;
    }
    // SAFETY: the child calls the library and the C library's malloc(), which allow for that.
    match unsafe { fork() } {
        0 => {
            let good = f();
            unsafe { _exit(if good { 0 } else { 1 }) }
        }
        pid => {
            let mut status = -1;
            assert_eq!(unsafe { waitpid(pid, &mut status, 0) }, pid);
            status
        }
    }
}

#[test]
fn a_child_closes_or_takes_over() {
    const ECHILD: Option<i32> = Some(10);
    let wheel = Options::new().embedded(true).open().unwrap();
    wheel.arm(20 * MS, 1).unwrap();
    // Each iterator tells that once, and ends.
    let walk = wheel.walk().unwrap();
    let told = in_child(|| {
        let told: Vec<i32> = walk.take(9).map(errno).collect();
        told == [10] && wheel.events().take(9).map(errno).collect::<Vec<_>>() == told
    });
    assert_eq!(told, 0);
    let mut slot = Some(wheel);
    let closed = in_child(|| {
        let wheel = slot.take().unwrap();
        let refused = wheel.arm(MS, 2).unwrap_err().raw_os_error() == ECHILD;
        // It is closed.
        drop(wheel);
        refused
    });
    assert_eq!(closed, 0);
    // That has left the parent's timers as they are.
    let mut wheel = slot.unwrap();
    assert_eq!(wheel.events().next().unwrap().unwrap().user_data(), 1);

    wheel.arm(MS, 3).unwrap();
    let taken = in_child(|| {
        wheel.take_over();
        wheel.events().next().map_or(false, |event| event.unwrap().user_data() == 3)
    });
    assert_eq!(taken, 0);
    // It is the child's now: the parent does no more than end its copy.
}

/// Threads read, arm and push at once; each event goes to one of them, and the last to leave
/// closes the wheel.
fn at_once(wheel: Wheel) {
    const N: usize = 4000;
    let wheel = Arc::new(wheel);
    let seen: Arc<Vec<AtomicUsize>> = Arc::new((0..N).map(|_| AtomicUsize::new(0)).collect());
    let armed = Arc::new(AtomicBool::new(false));
    let total = Arc::new(AtomicUsize::new(0));
    let readers: Vec<_> = (0..3)
        .map(|_| {
            let (wheel, seen, total) = (wheel.clone(), seen.clone(), total.clone());
            thread::spawn(move || {
                let mut events = [Event::default(); 16];
                while total.load(Ordering::SeqCst) < N {
                    let n = wheel.read_timeout(&mut events, 5 * MS).unwrap();
                    for event in &events[..n] {
                        seen[event.handle() as usize].fetch_add(1, Ordering::SeqCst);
                    }
                    total.fetch_add(n, Ordering::SeqCst);
                }
            })
        })
        .collect();
    let pusher = {
        let (wheel, armed) = (wheel.clone(), armed.clone());
        thread::spawn(move || {
            while !armed.load(Ordering::SeqCst) {
                wheel.get(1).unwrap();
            }
        })
    };
    for key in 0..N as u64 {
        wheel.put(key, Duration::from_micros(key % 500), 0).unwrap();
    }
    armed.store(true, Ordering::SeqCst);
    drop(wheel);
    for thread in readers.into_iter().chain([pusher]) {
        thread.join().unwrap();
    }
    assert!(seen.iter().all(|n| n.load(Ordering::SeqCst) == 1));
}

#[test]
fn threads() {
    at_once(keyed());
    at_once(Options::new().keyed(true).threads(true).open().unwrap());
}
