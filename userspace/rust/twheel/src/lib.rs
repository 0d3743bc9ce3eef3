// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! Timers for programs that hold very many: of the device `/dev/twheel` or, where there is none, of a
//! wheel in the process.
//!
//! ```
//! use std::time::Duration;
//!
//! # fn main() -> std::io::Result<()> {
//! // Each session is timed out by its own number.
//! let wheel = twheel::Options::new().keyed(true).open()?;
//! for session in 1..=1000 {
//!     wheel.put(session, Duration::from_secs(30), 0)?;
//! }
//! // A sign of life; and a log-out.
//! wheel.push(7, Duration::from_millis(1))?;
//! wheel.cancel(8)?;
//!
//! let event = wheel.events().next().expect("it waits")?;
//! assert_eq!(event.handle(), 7);
//! assert!(event.expired() >= event.deadline());
//! # Ok(())
//! # }
//! ```
//!
//! # Times
//!
//! Delays are [`Duration`]s from now. Points in time are `Duration`s, too, since the zero of the
//! wheel's clock, as [`Wheel::now`] gives them; of [`Clock::Realtime`] that is the Unix epoch. No
//! timer is early, and a time that is too long, over 2^63 - 1 ns, is for ever.
//!
//! # Errors
//!
//! They are [`io::Error`]s with the errno of the library: `ENOSPC` and `EDQUOT` if there are too many
//! timers, `EINVAL` for what makes no sense, such as a delay on [`Clock::Realtime`], where deadlines
//! are points in time. What has failed has changed nothing.
//!
//! # Threads
//!
//! A [`Wheel`] may be shared by threads, which all may call it at once. It is closed when it is dropped,
//! and by then nobody can be in a call: a thread that waits in [`Wheel::read`] has borrowed it.
//!
//! ```compile_fail,E0505
//! let wheel = twheel::Wheel::open().unwrap();
//! let mut events = wheel.events();
//! drop(wheel); // It is borrowed.
//! events.next();
//! ```
#![warn(missing_debug_implementations, missing_docs)]

use std::ffi::CString;
use std::io;
use std::marker::PhantomData;
use std::os::raw::{c_int, c_uint, c_void};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::io::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::path::Path;
use std::ptr;
use std::time::Duration;

pub use twheel_sys as sys;

/// The result of a call of the library, if that is no error.
fn check(result: isize) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::from_raw_os_error(-result as i32))
}

const EINVAL: i32 = 22;
const ECANCELED: i32 = 125;

fn invalid<T>() -> io::Result<T> {
    Err(io::Error::from_raw_os_error(EINVAL))
}

/// The same of a call that only succeeds or fails.
fn done(result: c_int) -> io::Result<()> {
    check(result as isize).map(|_| ())
}

/// None if there is no such timer.
fn found<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// What the library takes of a time. One that is too long is the longest one.
fn ns(time: Duration) -> u64 {
    time.as_nanos().min(i64::MAX as u128) as u64
}

/// Which clock the times of a wheel are on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clock {
    /// `CLOCK_MONOTONIC`, which stands still while the machine sleeps
    #[default]
    Monotonic,
    /// `CLOCK_BOOTTIME`, which goes on then
    Boottime,
    /// `CLOCK_REALTIME`, wall time: timers follow when it is set
    Realtime,
}

/// How a wheel is to be opened.
///
/// ```
/// use twheel::{Clock, Options};
///
/// let wheel = Options::new().clock(Clock::Boottime).limit(1000).embedded(true).open()?;
/// assert!(wheel.is_embedded()?);
/// # std::io::Result::Ok(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Options {
    path: Option<CString>,
    bad_path: bool,
    clock: Clock,
    limit: u64,
    config: u32,
    open: u32,
}

impl Options {
    /// A wheel without keys and leases: the device or, where there is none, in the process. The
    /// environment variable `TWHEEL_BACKEND` decides, too: `device`, `embedded` or `auto`.
    pub fn new() -> Options {
        Options::default()
    }

    fn set_config(&mut self, flag: u32, on: bool) -> &mut Options {
        self.config = if on { self.config | flag } else { self.config & !flag };
        self
    }

    fn set_open(&mut self, flag: u32, on: bool) -> &mut Options {
        self.open = if on { self.open | flag } else { self.open & !flag };
        self
    }

    /// Timers have keys, which the program chooses, in place of handles.
    pub fn keyed(&mut self, on: bool) -> &mut Options {
        self.set_config(sys::TWHEEL_CONFIG_KEYED, on)
    }

    /// There can be leases.
    pub fn lease(&mut self, on: bool) -> &mut Options {
        self.set_config(sys::TWHEEL_CONFIG_LEASE, on)
    }

    /// Each step of [`Clock::Realtime`] lets one read fail with `ECANCELED`.
    pub fn cancel_on_set(&mut self, on: bool) -> &mut Options {
        self.set_config(sys::TWHEEL_CONFIG_CANCEL_ON_SET, on)
    }

    /// The clock of its times.
    pub fn clock(&mut self, clock: Clock) -> &mut Options {
        self.clock = clock;
        self
    }

    /// How many timers there may be; more are refused with `ENOSPC`. 0 is the most that there can
    /// be.
    pub fn limit(&mut self, limit: u64) -> &mut Options {
        self.limit = limit;
        self
    }

    /// Reads do not wait: they are [`io::ErrorKind::WouldBlock`].
    pub fn nonblocking(&mut self, on: bool) -> &mut Options {
        self.set_open(sys::TWHEEL_OPEN_NONBLOCK, on)
    }

    /// Calls on a wheel in the process do not read the clock: the time of the last read, dispatch or
    /// [`Wheel::update_now`] is the present for them, and delays count from there. On wall time, which
    /// may be set back, it changes nothing.
    pub fn cache_now(&mut self, on: bool) -> &mut Options {
        self.set_open(sys::TWHEEL_OPEN_CACHE_NOW, on)
    }

    /// Threads use a wheel in the process at once: it is several, one for each CPU, and records are in
    /// order for each of them.
    pub fn threads(&mut self, on: bool) -> &mut Options {
        self.set_open(sys::TWHEEL_OPEN_THREADS, on)
    }

    /// A wheel in the process, also where the device is there.
    pub fn embedded(&mut self, on: bool) -> &mut Options {
        self.set_open(sys::TWHEEL_OPEN_EMBEDDED, on)
    }

    /// The device to open, and never a wheel in the process.
    pub fn path<P: AsRef<Path>>(&mut self, path: P) -> &mut Options {
        let path = CString::new(path.as_ref().as_os_str().as_bytes());
        self.bad_path = path.is_err();
        self.path = path.ok();
        self
    }

    /// Opens it.
    pub fn open(&self) -> io::Result<Wheel> {
        if self.bad_path {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a zero byte in a path"));
        }
        let config = sys::twheel_config {
            clock: match self.clock {
                Clock::Monotonic => 0,
                Clock::Boottime => 7,
                Clock::Realtime => sys::TWHEEL_CLOCK_REALTIME,
            },
            flags: self.config,
            limit: self.limit,
            ..Default::default()
        };
        let path = self.path.as_ref().map_or(ptr::null(), |path| path.as_ptr());
        let flags = self.open | sys::TWHEEL_OPEN_CLOEXEC;
        let mut wheel = Wheel { tw: ptr::null_mut(), clock: self.clock };
        // SAFETY: all of these live until it returns. After a failure there is no context, and
        // to close none is harmless.
        done(unsafe { sys::twheel_open(&mut wheel.tw, path, flags as c_uint, &config) })?;
        Ok(wheel)
    }
}

/// What a call has replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Old {
    /// There was no timer.
    None,
    /// A timer that had not expired, and the time that was left
    Pending(Duration),
    /// A timer that had expired; its event is not read any more
    Ready,
}

impl Old {
    fn new(state: u32, remaining: u64) -> Old {
        match state {
            sys::TWHEEL_STATE_PENDING => Old::Pending(Duration::from_nanos(remaining)),
            sys::TWHEEL_STATE_READY => Old::Ready,
            _ => Old::None,
        }
    }
}

/// A timer that has expired.
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub struct Event(sys::twheel_event);

impl Event {
    /// The handle or key of the timer.
    pub fn handle(&self) -> u64 {
        self.0.handle
    }

    /// As armed.
    pub fn user_data(&self) -> u64 {
        self.0.user_data
    }

    /// When it was due; if it repeats, the first of its expirations in this event.
    pub fn deadline(&self) -> Duration {
        Duration::from_nanos(self.0.deadline)
    }

    /// When that was noticed, which is never before the deadline.
    pub fn expired(&self) -> Duration {
        Duration::from_nanos(self.0.expired)
    }

    /// 1; or how many rounds have passed since its last event.
    pub fn expirations(&self) -> u64 {
        self.0.expirations
    }

    /// Has the timer ended? No further event of it will come.
    pub fn is_last(&self) -> bool {
        self.0.flags & sys::TWHEEL_EVENT_LAST != 0
    }
}

impl std::fmt::Debug for Event {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Event")
            .field("handle", &self.handle())
            .field("user_data", &self.user_data())
            .field("deadline", &self.deadline())
            .field("expired", &self.expired())
            .field("expirations", &self.expirations())
            .field("is_last", &self.is_last())
            .finish()
    }
}

/// A request to arm a timer, with all settings; and afterwards what has become of it.
///
/// An element of a batch that has made a timer names it from then on. If it is used again, it arms
/// that timer anew.
///
/// Each setting makes another request, and leaves this one as it is:
///
/// ```compile_fail
/// #![deny(unused_must_use)]
/// let arm = twheel::Arm::after(std::time::Duration::ZERO);
/// arm.count(2);
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Arm {
    /// What the library takes and answers, but for the handle.
    entry: sys::twheel_arm,
    /// None for a new timer. 0 may be a key.
    handle: Option<u64>,
}

impl Arm {
    fn new(expires: Duration, flags: u32) -> Arm {
        let entry = sys::twheel_arm {
            expires: ns(expires),
            flags: flags as u16,
            result: -EINVAL as i16,
            ..Default::default()
        };
        Arm { entry, handle: None }
    }

    fn entry(&self) -> sys::twheel_arm {
        sys::twheel_arm { handle: self.handle.unwrap_or(0), ..self.entry }
    }

    fn answer(&mut self, entry: sys::twheel_arm) {
        self.entry = entry;
        if entry.result == 0 {
            self.handle = Some(entry.handle);
        }
    }

    /// A new timer that expires once, `delay` from now. With keys it has to have one, by
    /// [`Arm::handle`].
    pub fn after(delay: Duration) -> Arm {
        Arm::new(delay, 0)
    }

    /// The same at a point in time.
    pub fn at(time: Duration) -> Arm {
        Arm::new(time, sys::TWHEEL_ARM_ABS)
    }

    /// The timer with this handle, which has to be live, or with this key.
    pub fn handle(mut self, handle: u64) -> Arm {
        self.handle = Some(handle);
        self
    }

    /// Given back in its events.
    pub fn user_data(mut self, user_data: u64) -> Arm {
        self.entry.user_data = user_data;
        self
    }

    /// Further expirations, on a grid. 0 is none.
    pub fn interval(mut self, interval: Duration) -> Arm {
        self.entry.interval = ns(interval);
        self
    }

    /// How many expirations there are; 0 is no end.
    pub fn count(mut self, count: u32) -> Arm {
        self.entry.count = count;
        self
    }

    /// It may be so late, to share wake-ups with others.
    pub fn slack(mut self, slack: Duration) -> Arm {
        self.entry.slack = ns(slack);
        self
    }

    fn flag(mut self, flag: u32) -> Arm {
        self.entry.flags |= flag as u16;
        self
    }

    /// The interval counts from when the last event was read, and there is no grid.
    pub fn fixed_delay(self) -> Arm {
        self.flag(sys::TWHEEL_ARM_FIXED_DELAY)
    }

    /// Only if the timer is pending; `ENOENT` if not.
    pub fn if_pending(self) -> Arm {
        self.flag(sys::TWHEEL_ARM_IF_PENDING)
    }

    /// Only if there is no timer with this key; `EEXIST` if there is.
    pub fn if_none(self) -> Arm {
        self.flag(sys::TWHEEL_ARM_IF_NONE)
    }

    /// Of an element of a batch: its handle and what it has replaced; or why it was not armed.
    /// `EINVAL` if it was in no batch.
    pub fn result(&self) -> io::Result<(u64, Old)> {
        done(self.entry.result.into())?;
        Ok((self.entry.handle, Old::new(self.entry.old_state.into(), self.entry.old_remaining)))
    }
}

/// An element of [`Wheel::push_batch`]: a timer, and when it is to expire.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Push(sys::twheel_push);

impl Push {
    /// The timer with this handle or key is to expire at a point in time.
    pub fn new(handle: u64, time: Duration) -> Push {
        Push(sys::twheel_push { handle, expires: ns(time) })
    }
}

/// An element of [`Wheel::cancel_batch`].
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Cancel(sys::twheel_cancel);

impl Cancel {
    /// The timer with this handle or key.
    pub fn new(handle: u64) -> Cancel {
        Cancel(sys::twheel_cancel { handle, result: -EINVAL, ..Default::default() })
    }

    /// What was cancelled; None if there was no such timer. `EINVAL` if it was in no batch.
    pub fn result(&self) -> io::Result<Option<Old>> {
        found(done(self.0.result).map(|_| Old::new(self.0.old_state, self.0.old_remaining)))
    }
}

/// The settings and the state of a timer.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Info(sys::twheel_timer_info);

impl Info {
    /// Its handle or key.
    pub fn handle(&self) -> u64 {
        self.0.handle
    }

    /// As armed.
    pub fn user_data(&self) -> u64 {
        self.0.user_data
    }

    /// When it expires next; if it has expired, the first time of which no event was read.
    pub fn deadline(&self) -> Duration {
        Duration::from_nanos(self.0.deadline)
    }

    /// How long it is until then; zero if that has passed.
    pub fn remaining(&self) -> Duration {
        Duration::from_nanos(self.0.remaining)
    }

    /// As armed.
    pub fn interval(&self) -> Duration {
        Duration::from_nanos(self.0.interval)
    }

    /// How many expirations are left; 0 is no end.
    pub fn count(&self) -> u32 {
        self.0.count
    }

    /// Has it expired, and its event was not read?
    pub fn is_ready(&self) -> bool {
        self.0.state == sys::TWHEEL_STATE_READY
    }
}

/// Timers of one kind, with handles or keys. Dropping it closes it, and cancels them all.
#[derive(Debug)]
pub struct Wheel {
    tw: *mut c_void,
    clock: Clock,
}

// SAFETY: the library says that calls on one context may run in any number of threads at once, but
// for twheel_close(), which only Drop calls.
unsafe impl Send for Wheel {}
unsafe impl Sync for Wheel {}

impl Drop for Wheel {
    fn drop(&mut self) {
        // SAFETY: nobody has borrowed it any more.
        unsafe { sys::twheel_close(self.tw) }
    }
}

impl AsRawFd for Wheel {
    /// Readable while there is something to read, for poll and epoll.
    fn as_raw_fd(&self) -> RawFd {
        // SAFETY: as everywhere below, the context lives as long as self.
        unsafe { sys::twheel_fd(self.tw) }
    }
}

impl AsFd for Wheel {
    /// Readable while there is something to read, for poll and epoll.
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the descriptor is the context's.
        unsafe { BorrowedFd::borrow_raw(self.as_raw_fd()) }
    }
}

impl Wheel {
    /// The same as `Options::new().open()`.
    pub fn open() -> io::Result<Wheel> {
        Options::new().open()
    }

    /// The time on its clock.
    pub fn now(&self) -> Duration {
        Duration::from_nanos(unsafe { sys::twheel_now(self.tw) })
    }

    /// Reads its clock, if it was opened with [`Options::cache_now`]: for loops that have waited, and do
    /// not read events next.
    pub fn update_now(&self) -> io::Result<()> {
        done(unsafe { sys::twheel_update_now(self.tw) })
    }

    /// Sets its clock, and lets that stand still, for tests: of a wheel in the process. Neither
    /// zero nor over 2^63 - 1 ns.
    pub fn set_now(&self, time: Duration) -> io::Result<()> {
        done(unsafe { sys::twheel_set_now(self.tw, ns(time)) })
    }

    /// Goes on with a wheel that was opened before a fork, in the child, if the parent will not
    /// use it any more.
    pub fn take_over(&mut self) {
        // SAFETY: nobody else has borrowed it, so no thread was in a call at the fork.
        unsafe { sys::twheel_take_over(self.tw) }
    }

    /// Arms a new timer that expires once. Its handle is returned, and in its event, with
    /// `user_data`. `EINVAL` if there are keys.
    pub fn arm(&self, delay: Duration, user_data: u64) -> io::Result<u64> {
        let mut handle = 0;
        done(unsafe { sys::twheel_arm_after(self.tw, ns(delay), user_data, &mut handle) })?;
        Ok(handle)
    }

    /// The same for a point in time.
    pub fn arm_at(&self, time: Duration, user_data: u64) -> io::Result<u64> {
        let mut handle = 0;
        done(unsafe { sys::twheel_arm_at(self.tw, ns(time), user_data, &mut handle) })?;
        Ok(handle)
    }

    fn is_keyed(&self) -> bool {
        (unsafe { sys::twheel_config_flags(self.tw) }) & sys::TWHEEL_CONFIG_KEYED != 0
    }

    /// Do they say which timers they arm? For the library one without a key, where there are keys,
    /// is that with key 0, and elsewhere one with the handle 0 is a new timer.
    fn are_named(&self, arms: &[Arm]) -> bool {
        let keyed = self.is_keyed();
        arms.iter().all(|arm| arm.handle.map_or(!keyed, |handle| keyed || handle != 0))
    }

    /// Arms a timer with all settings. Returns its handle, and what was replaced. `EINVAL` if
    /// there are keys and it has none, or if there are none and its handle is 0.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let wheel = twheel::Wheel::open()?;
    /// let every = Duration::from_millis(1);
    /// wheel.arm_with(twheel::Arm::after(every).interval(every).count(3))?;
    /// let mut rounds = 0;
    /// for event in wheel.events() {
    ///     let event = event?;
    ///     rounds += event.expirations();
    ///     if event.is_last() {
    ///         break;
    ///     }
    /// }
    /// assert_eq!(rounds, 3);
    /// # std::io::Result::Ok(())
    /// ```
    pub fn arm_with(&self, mut arm: Arm) -> io::Result<(u64, Old)> {
        if !self.are_named(std::slice::from_ref(&arm)) {
            return invalid();
        }
        arm.entry = arm.entry();
        done(unsafe { sys::twheel_arm(self.tw, &mut arm.entry) })?;
        arm.result()
    }

    /// Arms a live timer anew, with one expiration. `ENOENT` if it has ended.
    pub fn rearm(&self, handle: u64, delay: Duration, user_data: u64) -> io::Result<Old> {
        let mut old = sys::twheel_old::default();
        done(unsafe {
            sys::twheel_rearm_after(self.tw, handle, ns(delay), user_data, &mut old)
        })?;
        Ok(Old::new(old.state, old.remaining))
    }

    /// The same for a point in time, also on [`Clock::Realtime`].
    pub fn rearm_at(&self, handle: u64, time: Duration, user_data: u64) -> io::Result<Old> {
        let mut old = sys::twheel_old::default();
        done(unsafe { sys::twheel_rearm_at(self.tw, handle, ns(time), user_data, &mut old) })?;
        Ok(Old::new(old.state, old.remaining))
    }

    /// Arms the timer with this key, or arms it anew, with one expiration. `EINVAL` without keys.
    ///
    /// An event may have been read before this, or before [`Wheel::push`], and be handled only after
    /// it. So while [`Wheel::get`] finds a timer with the key, an event that [`Event::is_last`] is of an
    /// earlier arming, and another will come.
    pub fn put(&self, key: u64, delay: Duration, user_data: u64) -> io::Result<Old> {
        let mut old = sys::twheel_old::default();
        done(unsafe { sys::twheel_put_after(self.tw, key, ns(delay), user_data, &mut old) })?;
        Ok(Old::new(old.state, old.remaining))
    }

    /// The same for a point in time, also on [`Clock::Realtime`].
    pub fn put_at(&self, key: u64, time: Duration, user_data: u64) -> io::Result<Old> {
        let mut old = sys::twheel_old::default();
        done(unsafe { sys::twheel_put_at(self.tw, key, ns(time), user_data, &mut old) })?;
        Ok(Old::new(old.state, old.remaining))
    }

    /// Lets a pending timer expire `delay` from now, and keeps its settings. `ENOENT` if it is not
    /// pending; but with keys it is made.
    pub fn push(&self, handle: u64, delay: Duration) -> io::Result<()> {
        // The library does not see that it is a delay.
        if self.clock == Clock::Realtime {
            return invalid();
        }
        self.push_at(handle, self.now().saturating_add(delay))
    }

    /// The same for a point in time.
    pub fn push_at(&self, handle: u64, time: Duration) -> io::Result<()> {
        done(unsafe { sys::twheel_push(self.tw, handle, ns(time)) })
    }

    /// Cancels a timer: its event is not read any more. Returns what it was; None if there is no
    /// such timer.
    pub fn cancel(&self, handle: u64) -> io::Result<Option<Old>> {
        let mut old = sys::twheel_old::default();
        let result = done(unsafe { sys::twheel_cancel(self.tw, handle, &mut old) });
        found(result.map(|_| Old::new(old.state, old.remaining)))
    }

    /// Cancels all timers, and drops the events that were not read.
    pub fn cancel_all(&self) -> io::Result<()> {
        done(unsafe { sys::twheel_cancel_all(self.tw) })
    }

    /// Calls until `n` entries are handled. `call` is told how many are, and returns how many more
    /// it has handled, or a negative error. Returns how many are handled, and 0 or the error.
    fn all(n: usize, mut call: impl FnMut(usize) -> isize) -> (usize, c_int) {
        let mut at = 0;
        while at < n {
            match call(at) {
                error if error < 0 => return (at, error as c_int),
                handled => at += handled as usize,
            }
        }
        (at, 0)
    }

    /// Arms many timers in one call. Each element says how it went: see [`Arm::result`]. `EINVAL`,
    /// and none is armed, if there are keys and one of them has none, or if there are none and one
    /// has the handle 0.
    pub fn arm_batch(&self, arms: &mut [Arm]) -> io::Result<()> {
        let mut entries: Vec<_> = arms.iter().map(Arm::entry).collect();
        let (at, error) = if self.are_named(arms) {
            Wheel::all(entries.len(), |at| {
                let rest = &mut entries[at..];
                unsafe { sys::twheel_arm_batch(self.tw, rest.as_mut_ptr(), rest.len()) }
            })
        } else {
            (0, -EINVAL)
        };
        for entry in &mut entries[at..] {
            entry.result = error as i16;
        }
        for (arm, entry) in arms.iter_mut().zip(entries) {
            arm.answer(entry);
        }
        done(error)
    }

    /// Pushes many timers in one call, up to the first for which that fails. Returns how many those
    /// are, and that error.
    pub fn push_batch(&self, pushes: &[Push]) -> (usize, io::Result<()>) {
        let (n, error) = Wheel::all(pushes.len(), |at| {
            let rest = &pushes[at..];
            // SAFETY: Push is a twheel_push.
            unsafe { sys::twheel_push_batch(self.tw, rest.as_ptr().cast(), rest.len()) }
        });
        (n, done(error))
    }

    /// Cancels many timers in one call. Each element says how it went: see [`Cancel::result`].
    pub fn cancel_batch(&self, cancels: &mut [Cancel]) -> io::Result<()> {
        let (at, error) = Wheel::all(cancels.len(), |at| {
            let rest = &mut cancels[at..];
            // SAFETY: Cancel is a twheel_cancel.
            unsafe { sys::twheel_cancel_batch(self.tw, rest.as_mut_ptr().cast(), rest.len()) }
        });
        for cancel in &mut cancels[at..] {
            cancel.0.result = error;
        }
        done(error)
    }

    /// Looks at a timer; None if there is no such timer.
    pub fn get(&self, handle: u64) -> io::Result<Option<Info>> {
        let mut info = sys::twheel_timer_info::default();
        let result = done(unsafe { sys::twheel_get(self.tw, handle, &mut info) });
        found(result.map(|_| Info(info)))
    }

    /// All pending timers. One that is pending meanwhile comes once. An error ends the walk.
    pub fn walk(&self) -> io::Result<Walk<'_>> {
        let mut walk = ptr::null_mut();
        done(unsafe { sys::twheel_walk_new(&mut walk, self.tw) })?;
        Ok(Walk { walk, over: false, wheel: PhantomData })
    }

    /// Waits for events, stores as many as fit and are there, and returns their number.
    /// [`io::ErrorKind::WouldBlock`] if there is none and the wheel is not blocking, and
    /// [`io::ErrorKind::Interrupted`] after a signal.
    pub fn read(&self, events: &mut [Event]) -> io::Result<usize> {
        // SAFETY: Event is a twheel_event.
        check(unsafe { sys::twheel_read(self.tw, events.as_mut_ptr().cast(), events.len()) })
    }

    /// The same, and waits for so long at most: 0 if there is none then. It never gives up early.
    pub fn read_timeout(&self, events: &mut [Event], timeout: Duration) -> io::Result<usize> {
        let (room, n) = (events.as_mut_ptr().cast(), events.len());
        // SAFETY: Event is a twheel_event.
        check(unsafe { sys::twheel_read_timeout(self.tw, room, n, ns(timeout)) })
    }

    /// The events, one after another. It waits for the next one; in a wheel that is not blocking it
    /// ends when there is none. It tells an error once, and then it has ended; but after `ECANCELED`
    /// ([`Options::cancel_on_set`]) it goes on.
    ///
    /// It reads one event first, and then up to 64 at once: those that were not taken out are lost
    /// when it is dropped. Take [`Events::rest`] first, if that matters.
    pub fn events(&self) -> Events<'_> {
        Events { wheel: self, events: [Event::default(); 64], room: 1, next: 0, end: 0 }
    }

    /// Arms a lease: a timer that is pushed back without a call. Returns its handle, too. `EINVAL`
    /// if the wheel has no leases, or has keys: with those see [`Wheel::put_lease`].
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let wheel = twheel::Options::new().lease(true).open()?;
    /// let (_, lease) = wheel.lease(Duration::from_secs(60), 7)?;
    /// assert!(lease.extend(wheel.now() + Duration::from_secs(90))?);
    /// assert!(lease.deadline() > Some(wheel.now() + Duration::from_secs(60)));
    /// # std::io::Result::Ok(())
    /// ```
    ///
    /// A lease ends with its wheel:
    ///
    /// ```compile_fail,E0505
    /// let wheel = twheel::Options::new().lease(true).open().unwrap();
    /// let (_, lease) = wheel.lease(std::time::Duration::ZERO, 0).unwrap();
    /// drop(wheel);
    /// lease.is_over();
    /// ```
    pub fn lease(&self, delay: Duration, user_data: u64) -> io::Result<(u64, Lease<'_>)> {
        self.new_lease(None, delay, 0, user_data)
    }

    /// The same until a point in time, also on [`Clock::Realtime`].
    pub fn lease_at(&self, time: Duration, user_data: u64) -> io::Result<(u64, Lease<'_>)> {
        self.new_lease(None, time, sys::TWHEEL_ARM_ABS, user_data)
    }

    /// Arms the lease with this key, or arms it anew. `EINVAL` without keys.
    pub fn put_lease(&self, key: u64, delay: Duration, user_data: u64) -> io::Result<Lease<'_>> {
        self.new_lease(Some(key), delay, 0, user_data).map(|(_, lease)| lease)
    }

    /// The same until a point in time, also on [`Clock::Realtime`].
    pub fn put_lease_at(&self, key: u64, time: Duration, user_data: u64) -> io::Result<Lease<'_>> {
        self.new_lease(Some(key), time, sys::TWHEEL_ARM_ABS, user_data).map(|(_, lease)| lease)
    }

    fn new_lease(
        &self,
        key: Option<u64>,
        expires: Duration,
        flags: u32,
        user_data: u64,
    ) -> io::Result<(u64, Lease<'_>)> {
        if key.is_some() != self.is_keyed() {
            return invalid();
        }
        let (tw, expires, old) = (self.tw, ns(expires), ptr::null_mut());
        let mut handle = key.unwrap_or(0);
        let mut lease = sys::twheel_lease { word: ptr::null_mut(), tag: 0 };
        done(unsafe {
            sys::twheel_lease_new(tw, expires, flags, user_data, &mut handle, &mut lease, old)
        })?;
        Ok((handle, Lease { lease, wheel: PhantomData }))
    }

    /// The lease with this handle or key, by which another thread or process has armed it; None if
    /// there is none.
    pub fn lease_of(&self, handle: u64) -> io::Result<Option<Lease<'_>>> {
        let Info(info) = match self.get(handle)? {
            Some(info) => info,
            None => return Ok(None),
        };
        let mut lease = sys::twheel_lease { word: ptr::null_mut(), tag: 0 };
        // A timer that is no lease has no word: EINVAL.
        done(unsafe { sys::twheel_lease_at(self.tw, info.word, info.tag, &mut lease) })?;
        Ok(Some(Lease { lease, wheel: PhantomData }))
    }

    /// What the library knows of it: limits, how many timers there are.
    pub fn info(&self) -> io::Result<sys::twheel_info> {
        let mut info = sys::twheel_info::default();
        done(unsafe { sys::twheel_get_info(self.tw, 0, &mut info) })?;
        Ok(info)
    }

    /// Is this a wheel in the process?
    pub fn is_embedded(&self) -> io::Result<bool> {
        Ok(self.info()?.features & sys::TWHEEL_FEATURE_EMBEDDED != 0)
    }

    /// What was counted, of a wheel in the process; `EOPNOTSUPP` of the device.
    pub fn stats(&self) -> io::Result<sys::twheel_counters> {
        // SAFETY: of numbers, for which 0 is one
        let mut counters: sys::twheel_counters = unsafe { std::mem::zeroed() };
        let size = std::mem::size_of_val(&counters);
        done(unsafe { sys::twheel_stats(self.tw, &mut counters, size) })?;
        Ok(counters)
    }
}

/// The events of a wheel, as [`Wheel::events`] returns them.
pub struct Events<'a> {
    wheel: &'a Wheel,
    events: [Event; 64],
    /// How many are read at once; 0 after an error
    room: usize,
    next: usize,
    end: usize,
}

impl Events<'_> {
    /// Those that were read already.
    pub fn rest(&self) -> &[Event] {
        &self.events[self.next..self.end]
    }
}

// Not those that were taken out
impl std::fmt::Debug for Events<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events").field("wheel", self.wheel).field("rest", &self.rest()).finish()
    }
}

impl Iterator for Events<'_> {
    type Item = io::Result<Event>;

    fn next(&mut self) -> Option<io::Result<Event>> {
        while self.next == self.end {
            if self.room == 0 {
                return None;
            }
            self.next = 0;
            self.end = 0;
            match self.wheel.read(&mut self.events[..self.room]) {
                Ok(n) => {
                    self.end = n;
                    self.room = self.events.len();
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
                Err(error) => {
                    if error.raw_os_error() != Some(ECANCELED) {
                        self.room = 0;
                    }
                    return Some(Err(error));
                }
            }
        }
        self.next += 1;
        Some(Ok(self.events[self.next - 1]))
    }
}

/// The pending timers of a wheel, as [`Wheel::walk`] returns them.
#[derive(Debug)]
pub struct Walk<'a> {
    walk: *mut c_void,
    over: bool,
    wheel: PhantomData<&'a Wheel>,
}

// SAFETY: it belongs to one thread at a time, whichever, as only next() uses it.
unsafe impl Send for Walk<'_> {}

impl Drop for Walk<'_> {
    fn drop(&mut self) {
        unsafe { sys::twheel_walk_free(self.walk) }
    }
}

impl Iterator for Walk<'_> {
    type Item = io::Result<Info>;

    fn next(&mut self) -> Option<io::Result<Info>> {
        let mut info = sys::twheel_timer_info::default();
        while !self.over {
            match check(unsafe { sys::twheel_walk_next(self.walk, &mut info) } as isize) {
                Ok(0) => self.over = true,
                Ok(_) => return Some(Ok(Info(info))),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.over = true;
                    return Some(Err(error));
                }
            }
        }
        None
    }
}

/// A lease, by which any thread extends it: a value that can be copied.
///
/// It tells for a long time that it is over, but not for ever: forget it some time after its end. See
/// `struct twheel_lease` in twheel.h.
#[derive(Clone, Copy, Debug)]
pub struct Lease<'a> {
    lease: sys::twheel_lease,
    wheel: PhantomData<&'a Wheel>,
}

// SAFETY: any number of threads may use a lease; its word is read and written by atomic operations.
unsafe impl Send for Lease<'_> {}
unsafe impl Sync for Lease<'_> {}

impl Lease<'_> {
    /// Has it last until a point in time, by one compare-and-swap. False if it is over.
    pub fn extend(&self, time: Duration) -> io::Result<bool> {
        check(unsafe { sys::twheel_lease_extend(self.lease, ns(time)) } as isize).map(|n| n == 1)
    }

    /// Until when it lasts, or has lasted: a multiple of 1,024 ns. None if another timer has its word
    /// by now.
    pub fn deadline(&self) -> Option<Duration> {
        let ns = unsafe { sys::twheel_lease_deadline(self.lease) };
        (ns != 0).then(|| Duration::from_nanos(ns))
    }

    /// Is it over? It is not before somebody has noticed that its deadline has passed.
    pub fn is_over(&self) -> bool {
        (unsafe { sys::twheel_lease_expired(self.lease) }) == 1
    }
}
