// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! sessions: time sessions out by their own numbers, in Rust.

use std::io;
use std::time::Duration;

fn main() -> io::Result<()> {
    let wheel = twheel::Options::new().keyed(true).open()?;
    wheel.put(1, Duration::from_millis(200), 0)?;
    wheel.put(2, Duration::from_millis(100), 0)?;
    wheel.put(3, Duration::from_millis(300), 0)?;
    // A sign of life; and a log-out.
    wheel.push(2, Duration::from_millis(400))?;
    wheel.cancel(3)?;

    for event in wheel.events().take(2) {
        println!("session {} has timed out", event?.handle());
    }
    Ok(())
}
