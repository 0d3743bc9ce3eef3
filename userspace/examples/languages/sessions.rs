// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! sessions: time sessions out by their own numbers, in Rust.
//!
//! twheel_abi.rs is made from the headers of C by userspace/python/generate.py.

use std::io;
use std::os::raw::c_void;
use std::ptr;
use std::time::Duration;

#[path = "twheel_abi.rs"]
mod abi;

/// A context with keys.
struct Wheel(*mut c_void);

/// The result of a call of the library, if that is no error.
fn check(result: isize) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::from_raw_os_error(-result as i32))
}

/// What the library takes of a time. One that is too long is the longest one.
fn ns(time: Duration) -> u64 {
    time.as_nanos().min(i64::MAX as u128) as u64
}

// This program does not use all of them.
#[allow(dead_code)]
impl Wheel {
    /// The device or, where there is none, a wheel in the process.
    fn open() -> io::Result<Wheel> {
        let config = abi::twheel_config { flags: abi::TWHEEL_CONFIG_KEYED, ..Default::default() };
        let mut wheel = Wheel(ptr::null_mut());
        let flags = abi::TWHEEL_OPEN_CLOEXEC;
        check(unsafe { abi::twheel_open(&mut wheel.0, ptr::null(), flags, &config) } as isize)?;
        Ok(wheel)
    }

    /// Arms or re-arms the timer with this key.
    fn put(&self, key: u64, delay: Duration) -> io::Result<()> {
        let old = ptr::null_mut();
        check(unsafe { abi::twheel_put_after(self.0, key, ns(delay), 0, old) } as isize)?;
        Ok(())
    }

    /// Lets the timer with this key expire after another delay, and keeps its settings. If there
    /// is none it is made.
    fn push(&self, key: u64, delay: Duration) -> io::Result<()> {
        let expires = unsafe { abi::twheel_now(self.0) }.saturating_add(ns(delay));
        let expires = expires.min(i64::MAX as u64);
        check(unsafe { abi::twheel_push(self.0, key, expires) } as isize)?;
        Ok(())
    }

    fn cancel(&self, key: u64) -> io::Result<()> {
        check(unsafe { abi::twheel_cancel(self.0, key, ptr::null_mut()) } as isize)?;
        Ok(())
    }

    fn cancel_all(&self) -> io::Result<()> {
        check(unsafe { abi::twheel_cancel_all(self.0) } as isize)?;
        Ok(())
    }

    /// How long it is until the timer with this key is due.
    fn remaining(&self, key: u64) -> io::Result<Duration> {
        let mut info = abi::twheel_timer_info::default();
        check(unsafe { abi::twheel_get(self.0, key, &mut info) } as isize)?;
        Ok(Duration::from_nanos(info.remaining))
    }

    /// What was counted, of a wheel in the process.
    fn stats(&self) -> io::Result<abi::twheel_counters> {
        // Of numbers, for which 0 is one
        let mut counters: abi::twheel_counters = unsafe { std::mem::zeroed() };
        let size = std::mem::size_of_val(&counters);
        check(unsafe { abi::twheel_stats(self.0, &mut counters, size) } as isize)?;
        Ok(counters)
    }

    /// Waits for events, for so long at most.
    fn read(&self, timeout: Duration) -> io::Result<Vec<abi::twheel_event>> {
        let mut events = vec![abi::twheel_event::default(); 64];
        let (room, size) = (events.as_mut_ptr(), events.len());
        let n = check(unsafe { abi::twheel_read_timeout(self.0, room, size, ns(timeout)) })?;
        events.truncate(n);
        Ok(events)
    }
}

impl Drop for Wheel {
    fn drop(&mut self) {
        unsafe { abi::twheel_close(self.0) }
    }
}

fn main() -> io::Result<()> {
    let wheel = Wheel::open()?;
    wheel.put(1, Duration::from_millis(200))?;
    wheel.put(2, Duration::from_millis(100))?;
    wheel.put(3, Duration::from_millis(300))?;
    // A sign of life; and a log-out.
    wheel.push(2, Duration::from_millis(400))?;
    wheel.cancel(3)?;

    let mut left = 2;
    while left > 0 {
        for event in wheel.read(Duration::MAX)? {
            println!("session {} has timed out", event.handle);
            left -= 1;
        }
    }
    Ok(())
}
