// SPDX-License-Identifier: GPL-2.0-only
//! What timers cost beside a `BTreeMap` by deadline, in turns: Rust's library has no timers.
//!
//! usage: costs ROUNDS PENDING...
//!
//! Prints, tab-separated, the operation, how many are pending, and for each kind the median of the
//! rounds: ns of CPU time an operation.

use std::collections::BTreeMap;
use std::env;
use std::io;
use std::time::{Duration, Instant};

use twheel::{Arm, Cancel, Options, Push, Wheel};

const NAMES: [&str; 3] = ["BTreeMap", "twheel", "twheel, batches of 256"];
const OPERATIONS: [&str; 4] = ["arm", "push back", "cancel", "arm and cancel at once"];
const HOUR: Duration = Duration::from_secs(3600);
const BATCH: usize = 256;

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

extern "C" {
    fn clock_gettime(clock: i32, time: *mut Timespec) -> i32;
}

/// The CPU time of the process, in ns.
fn cpu() -> u64 {
    const CLOCK_PROCESS_CPUTIME_ID: i32 = 2;
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    // SAFETY: the structure is that of 64-bit Linux.
    assert_eq!(unsafe { clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &mut time) }, 0);
    time.seconds as u64 * 1_000_000_000 + time.nanoseconds as u64
}

/// Timers with the keys 0 to n - 1. What is not done at once is done by `flush`.
trait Timers {
    fn arm(&mut self, key: u64, delay: Duration) -> io::Result<()>;
    fn push(&mut self, key: u64, delay: Duration) -> io::Result<()>;
    fn cancel(&mut self, key: u64) -> io::Result<()>;
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// As programs have it: by deadline, and where each is.
struct Map {
    map: BTreeMap<(Instant, u64), ()>,
    deadlines: Vec<Instant>,
}

impl Timers for Map {
    fn arm(&mut self, key: u64, delay: Duration) -> io::Result<()> {
        let deadline = Instant::now() + delay;
        self.map.insert((deadline, key), ());
        self.deadlines[key as usize] = deadline;
        Ok(())
    }

    fn push(&mut self, key: u64, delay: Duration) -> io::Result<()> {
        self.cancel(key)?;
        self.arm(key, delay)
    }

    fn cancel(&mut self, key: u64) -> io::Result<()> {
        self.map.remove(&(self.deadlines[key as usize], key));
        Ok(())
    }
}

struct Single(Wheel);

impl Timers for Single {
    fn arm(&mut self, key: u64, delay: Duration) -> io::Result<()> {
        self.0.put(key, delay, key).map(|_| ())
    }

    fn push(&mut self, key: u64, delay: Duration) -> io::Result<()> {
        self.0.push(key, delay)
    }

    fn cancel(&mut self, key: u64) -> io::Result<()> {
        self.0.cancel(key).map(|_| ())
    }
}

struct Batches {
    wheel: Wheel,
    now: Duration,
    arms: Vec<Arm>,
    pushes: Vec<Push>,
    cancels: Vec<Cancel>,
}

impl Timers for Batches {
    fn arm(&mut self, key: u64, delay: Duration) -> io::Result<()> {
        self.arms.push(Arm::after(delay).handle(key).user_data(key));
        if self.arms.len() == BATCH { self.flush() } else { Ok(()) }
    }

    fn push(&mut self, key: u64, delay: Duration) -> io::Result<()> {
        self.pushes.push(Push::new(key, self.now + delay));
        if self.pushes.len() == BATCH { self.flush() } else { Ok(()) }
    }

    fn cancel(&mut self, key: u64) -> io::Result<()> {
        self.cancels.push(Cancel::new(key));
        if self.cancels.len() == BATCH { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.now = self.wheel.now();
        self.wheel.arm_batch(&mut self.arms)?;
        for arm in &self.arms {
            arm.result()?;
        }
        self.arms.clear();
        self.wheel.push_batch(&self.pushes).1?;
        self.pushes.clear();
        self.wheel.cancel_batch(&mut self.cancels)?;
        for cancel in &self.cancels {
            cancel.result()?;
        }
        self.cancels.clear();
        Ok(())
    }
}

fn make(which: usize, n: usize) -> io::Result<Box<dyn Timers>> {
    if which == 0 {
        return Ok(Box::new(Map { map: BTreeMap::new(), deadlines: vec![Instant::now(); n] }));
    }
    let wheel = Options::new().keyed(true).open()?;
    if which == 1 {
        return Ok(Box::new(Single(wheel)));
    }
    let now = wheel.now();
    Ok(Box::new(Batches { wheel, now, arms: vec![], pushes: vec![], cancels: vec![] }))
}

/// The ns of each of OPERATIONS.
fn measure(which: usize, n: usize) -> io::Result<Vec<u64>> {
    let mut timers = make(which, n)?;
    let mut costs = vec![];
    let times = n * (1 + 100_000 / n);
    let later = |i: usize| Duration::from_nanos(i as u64);

    for what in 0..OPERATIONS.len() {
        let times = if what % 2 == 0 { n } else { times };
        let begun = cpu();
        for i in 0..times {
            match what {
                0 => timers.arm(i as u64, HOUR + later(i))?,
                1 => timers.push((i * 7919 % n) as u64, 2 * HOUR + later(i))?,
                2 => timers.cancel(i as u64)?,
                _ => {
                    timers.arm((i % n) as u64, HOUR)?;
                    timers.cancel((i % n) as u64)?;
                }
            }
        }
        timers.flush()?;
        costs.push((cpu() - begun) / times as u64);
    }
    Ok(costs)
}

fn main() -> io::Result<()> {
    let numbers: Vec<usize> = env::args().skip(1).map(|arg| arg.parse().expect("a number")).collect();
    let rounds = numbers[0];

    println!("#\tpending\t{}", NAMES.join("\t"));
    for &n in &numbers[1..] {
        let mut figures = vec![vec![vec![]; NAMES.len()]; OPERATIONS.len()];
        for round in 0..rounds {
            for i in 0..NAMES.len() {
                let which = (i + round) % NAMES.len();
                for (what, cost) in measure(which, n)?.into_iter().enumerate() {
                    figures[what][which].push(cost);
                }
            }
        }
        for (what, kinds) in OPERATIONS.iter().zip(&mut figures) {
            print!("{what}\t{n}");
            for costs in kinds {
                costs.sort();
                print!("\t{}", costs[rounds / 2]);
            }
            println!();
        }
    }
    Ok(())
}
