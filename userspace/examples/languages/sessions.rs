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

impl Wheel {
    /// The device or, where there is none, a wheel in the process.
    fn open() -> io::Result<Wheel> {
        let config = abi::twheel_config { flags: abi::TWHEEL_CONFIG_KEYED, ..Default::default() };
        let mut wheel = Wheel(ptr::null_mut());
        let flags = abi::TWHEEL_OPEN_CLOEXEC;
        check(unsafe { abi::twheel_open(&mut wheel.0, ptr::null(), flags, &config) } as isize)?;
        Ok(wheel)
    }

    /// Arms or re-arms the timer with this key. A delay that is too long is the longest one.
    fn put(&self, key: u64, delay: Duration) -> io::Result<()> {
        let ns = delay.as_nanos().min(i64::MAX as u128) as u64;
        check(unsafe { abi::twheel_put_after(self.0, key, ns, 0, ptr::null_mut()) } as isize)?;
        Ok(())
    }

    fn cancel(&self, key: u64) -> io::Result<()> {
        check(unsafe { abi::twheel_cancel(self.0, key, ptr::null_mut()) } as isize)?;
        Ok(())
    }

    /// Waits for events.
    fn read(&self) -> io::Result<Vec<abi::twheel_event>> {
        let mut events = vec![abi::twheel_event::default(); 64];
        let n = check(unsafe { abi::twheel_read(self.0, events.as_mut_ptr(), events.len()) })?;
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
    wheel.put(2, Duration::from_millis(400))?;
    wheel.cancel(3)?;

    let mut left = 2;
    while left > 0 {
        for event in wheel.read()? {
            println!("session {} has timed out", event.handle);
            left -= 1;
        }
    }
    Ok(())
}
