// SPDX-License-Identifier: GPL-2.0-only OR MIT
//! The interface of libtwheel, as userspace/python/generate.py found it in twheel.h, which
//! says what each function does. The crate twheel is the safe one.
#![allow(non_camel_case_types)]
use std::os::raw::{c_char, c_int, c_uint, c_void};

pub const TWHEEL_ABI_VERSION: u32 = 2;
pub const TWHEEL_INFO_NEXT: u32 = 1;
pub const TWHEEL_NO_EXPIRY: u64 = 0xffffffffffffffff;
pub const TWHEEL_CONFIG_KEYED: u32 = 1;
pub const TWHEEL_CONFIG_LEASE: u32 = 2;
pub const TWHEEL_CONFIG_CANCEL_ON_SET: u32 = 4;
pub const TWHEEL_CLOCK_REALTIME: u32 = 0x10000;
pub const TWHEEL_ARM_ABS: u32 = 1;
pub const TWHEEL_ARM_FIXED_DELAY: u32 = 2;
pub const TWHEEL_ARM_LEASE: u32 = 4;
pub const TWHEEL_ARM_IF_PENDING: u32 = 8;
pub const TWHEEL_ARM_IF_NONE: u32 = 0x10;
pub const TWHEEL_LEASE_EXPIRED: u64 = 0x8000000000000000;
pub const TWHEEL_LEASE_TAG_SHIFT: u32 = 0x35;
pub const TWHEEL_LEASE_TAG_MASK: u32 = 0x3ff;
pub const TWHEEL_LEASE_UNIT_SHIFT: u32 = 0xa;
pub const TWHEEL_LEASE_UNITS_MASK: u64 = 0x1fffffffffffff;
pub const TWHEEL_LIST_DRAIN: u32 = 1;
pub const TWHEEL_EVENT_LAST: u32 = 1;
pub const TWHEEL_IOC_MAGIC: u32 = 0xf7;
pub const TWHEEL_IOC_GET_INFO: u32 = 0xc060f700;
pub const TWHEEL_IOC_CONFIG: u32 = 0x4020f701;
pub const TWHEEL_IOC_CANCEL: u32 = 0xc020f704;
pub const TWHEEL_IOC_CANCEL_BATCH: u32 = 0x4010f705;
pub const TWHEEL_IOC_GET: u32 = 0xc040f706;
pub const TWHEEL_IOC_LIST: u32 = 0xc018f707;
pub const TWHEEL_IOC_ARM: u32 = 0xc040f708;
pub const TWHEEL_IOC_ARM_BATCH: u32 = 0x4010f709;
pub const TWHEEL_VERSION_NUMBER: u32 = 0x190;
pub const TWHEEL_FEATURE_EMBEDDED: u64 = 0x8000000000000000;
pub const TWHEEL_BUCKETS: u32 = 0x40;
pub const TWHEEL_FEATURE_BOOTTIME: u32 = 1;
pub const TWHEEL_FEATURE_BATCH: u32 = 2;
pub const TWHEEL_FEATURE_INTERVAL: u32 = 4;
pub const TWHEEL_FEATURE_SLACK: u32 = 8;
pub const TWHEEL_FEATURE_LIST: u32 = 0x10;
pub const TWHEEL_FEATURE_REALTIME: u32 = 0x20;
pub const TWHEEL_FEATURE_FIXED_DELAY: u32 = 0x40;
pub const TWHEEL_FEATURE_KEYED: u32 = 0x80;
pub const TWHEEL_FEATURE_LEASE: u32 = 0x100;
pub const TWHEEL_FEATURE_CONDITIONAL: u32 = 0x200;
pub const TWHEEL_FEATURE_PUSH: u32 = 0x400;
pub const TWHEEL_STATE_NONE: u32 = 0;
pub const TWHEEL_STATE_PENDING: u32 = 1;
pub const TWHEEL_STATE_READY: u32 = 2;
pub const TWHEEL_OPEN_THREADS: u32 = 0x2000000;
pub const TWHEEL_OPEN_CACHE_NOW: u32 = 0x4000000;
pub const TWHEEL_OPEN_CLOCK: u32 = 0x8000000;
pub const TWHEEL_OPEN_NONBLOCK: u32 = 0x10000000;
pub const TWHEEL_OPEN_CLOEXEC: u32 = 0x20000000;
pub const TWHEEL_OPEN_EMBEDDED: u32 = 0x40000000;

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct twheel_info {
    pub flags: u32,
    pub abi_version: u32,
    pub features: u64,
    pub tick_ns: u64,
    pub slots: u32,
    pub levels: u32,
    pub clock: u32,
    pub config: u32,
    pub now: u64,
    pub limit: u64,
    pub user_limit: u64,
    pub user_timers: u64,
    pub pending: u64,
    pub ready: u64,
    pub next_expiry: u64,
}
const _: () = assert!(std::mem::size_of::<twheel_info>() == 96);

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct twheel_config {
    pub clock: u32,
    pub flags: u32,
    pub limit: u64,
    pub reserved: [u64; 2],
}
const _: () = assert!(std::mem::size_of::<twheel_config>() == 32);

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct twheel_arm {
    pub handle: u64,
    pub user_data: u64,
    pub expires: u64,
    pub interval: u64,
    pub slack: u64,
    pub count: u32,
    pub word: u32,
    pub flags: u16,
    pub tag: u16,
    pub result: i16,
    pub old_state: u16,
    pub old_remaining: u64,
}
const _: () = assert!(std::mem::size_of::<twheel_arm>() == 64);

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct twheel_push {
    pub handle: u64,
    pub expires: u64,
}
const _: () = assert!(std::mem::size_of::<twheel_push>() == 16);

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct twheel_cancel {
    pub handle: u64,
    pub flags: u32,
    pub reserved: u32,
    pub result: i32,
    pub old_state: u32,
    pub old_remaining: u64,
}
const _: () = assert!(std::mem::size_of::<twheel_cancel>() == 32);

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct twheel_batch {
    pub entries: u64,
    pub count: u32,
    pub flags: u32,
}
const _: () = assert!(std::mem::size_of::<twheel_batch>() == 16);

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct twheel_timer_info {
    pub handle: u64,
    pub user_data: u64,
    pub deadline: u64,
    pub remaining: u64,
    pub interval: u64,
    pub slack: u64,
    pub count: u32,
    pub state: u32,
    pub flags: u16,
    pub tag: u16,
    pub word: u32,
}
const _: () = assert!(std::mem::size_of::<twheel_timer_info>() == 64);

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct twheel_list {
    pub cursor: u64,
    pub entries: u64,
    pub count: u32,
    pub flags: u32,
}
const _: () = assert!(std::mem::size_of::<twheel_list>() == 24);

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct twheel_event {
    pub user_data: u64,
    pub handle: u64,
    pub deadline: u64,
    pub expired: u64,
    pub expirations: u64,
    pub flags: u32,
    pub reserved: u32,
}
const _: () = assert!(std::mem::size_of::<twheel_event>() == 48);

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct twheel_old {
    pub state: u32,
    pub remaining: u64,
}
#[cfg(target_pointer_width = "64")]
const _: () = assert!(std::mem::size_of::<twheel_old>() == 16);

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct twheel_counters {
    pub armed: u64,
    pub rearmed: u64,
    pub cancelled: u64,
    pub expired: u64,
    pub read: u64,
    pub cascaded: u64,
    pub migrated: u64,
    pub turns: u64,
    pub lateness: [u64; 64],
    pub expired_a_turn: [u64; 64],
    pub read_a_call: [u64; 64],
}
const _: () = assert!(std::mem::size_of::<twheel_counters>() == 1600);

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct twheel_lease {
    pub word: *mut u64,
    pub tag: u16,
}
#[cfg(target_pointer_width = "64")]
const _: () = assert!(std::mem::size_of::<twheel_lease>() == 16);

extern "C" {
    pub fn twheel_version() -> c_uint;
    pub fn twheel_open(twp: *mut *mut c_void, path: *const c_char, flags: c_uint, config: *const twheel_config) -> c_int;
    pub fn twheel_adopt(twp: *mut *mut c_void, fd: c_int) -> c_int;
    pub fn twheel_release(tw: *mut c_void) -> c_int;
    pub fn twheel_close(tw: *mut c_void);
    pub fn twheel_take_over(tw: *mut c_void);
    pub fn twheel_fd(tw: *const c_void) -> c_int;
    pub fn twheel_clock(tw: *const c_void) -> c_int;
    pub fn twheel_config_flags(tw: *const c_void) -> c_uint;
    pub fn twheel_now(tw: *const c_void) -> u64;
    pub fn twheel_update_now(tw: *mut c_void) -> c_int;
    pub fn twheel_set_now(tw: *mut c_void, ns: u64) -> c_int;
    pub fn twheel_get_info(tw: *const c_void, flags: c_uint, info: *mut twheel_info) -> c_int;
    pub fn twheel_stats(tw: *const c_void, counters: *mut twheel_counters, size: usize) -> c_int;
    pub fn twheel_arm(tw: *mut c_void, arm: *mut twheel_arm) -> c_int;
    pub fn twheel_arm_after(tw: *mut c_void, delay: u64, user_data: u64, handle: *mut u64) -> c_int;
    pub fn twheel_arm_at(tw: *mut c_void, expires: u64, user_data: u64, handle: *mut u64) -> c_int;
    pub fn twheel_rearm_after(tw: *mut c_void, handle: u64, delay: u64, user_data: u64, old: *mut twheel_old) -> c_int;
    pub fn twheel_rearm_at(tw: *mut c_void, handle: u64, expires: u64, user_data: u64, old: *mut twheel_old) -> c_int;
    pub fn twheel_set_after(tw: *mut c_void, handle: *mut u64, delay: u64, user_data: u64, old: *mut twheel_old) -> c_int;
    pub fn twheel_set_at(tw: *mut c_void, handle: *mut u64, expires: u64, user_data: u64, old: *mut twheel_old) -> c_int;
    pub fn twheel_put_after(tw: *mut c_void, key: u64, delay: u64, user_data: u64, old: *mut twheel_old) -> c_int;
    pub fn twheel_put_at(tw: *mut c_void, key: u64, expires: u64, user_data: u64, old: *mut twheel_old) -> c_int;
    pub fn twheel_push(tw: *mut c_void, handle: u64, expires: u64) -> c_int;
    pub fn twheel_push_batch(tw: *mut c_void, pushes: *const twheel_push, n: usize) -> isize;
    pub fn twheel_cancel(tw: *mut c_void, handle: u64, old: *mut twheel_old) -> c_int;
    pub fn twheel_arm_batch(tw: *mut c_void, arms: *mut twheel_arm, n: usize) -> isize;
    pub fn twheel_cancel_batch(tw: *mut c_void, cancels: *mut twheel_cancel, n: usize) -> isize;
    pub fn twheel_get(tw: *const c_void, handle: u64, info: *mut twheel_timer_info) -> c_int;
    pub fn twheel_drain(tw: *mut c_void, cursor: *mut u64, infos: *mut twheel_timer_info, n: usize) -> isize;
    pub fn twheel_cancel_all(tw: *mut c_void) -> c_int;
    pub fn twheel_walk_new(walkp: *mut *mut c_void, tw: *mut c_void) -> c_int;
    pub fn twheel_walk_next(walk: *mut c_void, info: *mut twheel_timer_info) -> c_int;
    pub fn twheel_walk_free(walk: *mut c_void);
    pub fn twheel_read(tw: *mut c_void, events: *mut twheel_event, n: usize) -> isize;
    pub fn twheel_read_timeout(tw: *mut c_void, events: *mut twheel_event, n: usize, timeout: u64) -> isize;
    pub fn twheel_event_buffer_new(bufp: *mut *mut c_void, capacity: usize) -> c_int;
    pub fn twheel_event_buffer_free(buf: *mut c_void);
    pub fn twheel_event_buffer_fill(buf: *mut c_void, tw: *mut c_void) -> isize;
    pub fn twheel_event_buffer_next(buf: *mut c_void) -> *const twheel_event;
    pub fn twheel_lease_new(tw: *mut c_void, expires: u64, flags: c_uint, user_data: u64, handle: *mut u64, lease: *mut twheel_lease, old: *mut twheel_old) -> c_int;
    pub fn twheel_lease_at(tw: *mut c_void, word: u32, tag: u16, lease: *mut twheel_lease) -> c_int;
    pub fn twheel_lease_extend(lease: twheel_lease, deadline: u64) -> c_int;
    pub fn twheel_lease_deadline(lease: twheel_lease) -> u64;
    pub fn twheel_lease_expired(lease: twheel_lease) -> c_int;
    pub fn twheel_timer_new(timerp: *mut *mut c_void, tw: *mut c_void, r#fn: *mut c_void, arg: *mut c_void) -> c_int;
    pub fn twheel_timer_free(timer: *mut c_void);
    pub fn twheel_timer_arm(timer: *mut c_void, setting: *const twheel_arm, old: *mut twheel_old) -> c_int;
    pub fn twheel_timer_start(timer: *mut c_void, delay: u64, interval: u64) -> c_int;
    pub fn twheel_timer_again(timer: *mut c_void) -> c_int;
    pub fn twheel_timer_push(timer: *mut c_void, expires: u64, flags: c_uint) -> c_int;
    pub fn twheel_timer_cancel(timer: *mut c_void, old: *mut twheel_old) -> c_int;
    pub fn twheel_timer_cancel_all(tw: *mut c_void) -> c_int;
    pub fn twheel_timer_get(timer: *const c_void, info: *mut twheel_timer_info) -> c_int;
    pub fn twheel_timer_remaining(timer: *const c_void) -> u64;
    pub fn twheel_timer_arg(timer: *const c_void) -> *mut c_void;
    pub fn twheel_timer_set_arg(timer: *mut c_void, arg: *mut c_void);
    pub fn twheel_timer_armed(timer: *const c_void) -> c_int;
    pub fn twheel_group_new(groupp: *mut *mut c_void, tw: *mut c_void) -> c_int;
    pub fn twheel_timer_set_group(timer: *mut c_void, group: *mut c_void) -> c_int;
    pub fn twheel_group_cancel(group: *mut c_void) -> c_int;
    pub fn twheel_group_free(group: *mut c_void);
    pub fn twheel_timer_defer(tw: *mut c_void, defer: c_int) -> c_int;
    pub fn twheel_timer_flush(tw: *mut c_void) -> c_int;
    pub fn twheel_dispatch(tw: *mut c_void) -> c_int;
    pub fn twheel_dispatch_timeout(tw: *mut c_void, timeout: u64) -> c_int;
}
