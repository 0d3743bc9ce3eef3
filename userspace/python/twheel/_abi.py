# SPDX-License-Identifier: GPL-2.0-only OR MIT
"""The interface of libtwheel and of the device, as generate.py found it."""

from ctypes import (POINTER, Structure, c_char_p, c_int, c_int16, c_int32, c_size_t,
                    c_ssize_t, c_uint, c_uint16, c_uint32, c_uint64, c_void_p)
from typing import Any

VERSION = "0.4.0"
LIBRARY = "libtwheel.so.0.4"
TWHEEL_DEVICE = "/dev/twheel"
TWHEEL_ABI_VERSION = 2
TWHEEL_INFO_NEXT = 1
TWHEEL_NO_EXPIRY = 0xffffffffffffffff
TWHEEL_CONFIG_KEYED = 1
TWHEEL_CONFIG_LEASE = 2
TWHEEL_CONFIG_CANCEL_ON_SET = 4
TWHEEL_CLOCK_REALTIME = 0x10000
TWHEEL_ARM_ABS = 1
TWHEEL_ARM_FIXED_DELAY = 2
TWHEEL_ARM_LEASE = 4
TWHEEL_ARM_IF_PENDING = 8
TWHEEL_ARM_IF_NONE = 0x10
TWHEEL_LEASE_EXPIRED = 0x8000000000000000
TWHEEL_LEASE_TAG_SHIFT = 0x35
TWHEEL_LEASE_TAG_MASK = 0x3ff
TWHEEL_LEASE_UNIT_SHIFT = 0xa
TWHEEL_LEASE_UNITS_MASK = 0x1fffffffffffff
TWHEEL_LIST_DRAIN = 1
TWHEEL_EVENT_LAST = 1
TWHEEL_IOC_MAGIC = 0xf7
TWHEEL_IOC_GET_INFO = 0xc060f700
TWHEEL_IOC_CONFIG = 0x4020f701
TWHEEL_IOC_CANCEL = 0xc020f704
TWHEEL_IOC_CANCEL_BATCH = 0x4010f705
TWHEEL_IOC_GET = 0xc040f706
TWHEEL_IOC_LIST = 0xc018f707
TWHEEL_IOC_ARM = 0xc040f708
TWHEEL_IOC_ARM_BATCH = 0x4010f709
TWHEEL_VERSION_NUMBER = 0x190
TWHEEL_FEATURE_EMBEDDED = 0x8000000000000000
TWHEEL_BUCKETS = 0x40
TWHEEL_FEATURE_BOOTTIME = 1
TWHEEL_FEATURE_BATCH = 2
TWHEEL_FEATURE_INTERVAL = 4
TWHEEL_FEATURE_SLACK = 8
TWHEEL_FEATURE_LIST = 0x10
TWHEEL_FEATURE_REALTIME = 0x20
TWHEEL_FEATURE_FIXED_DELAY = 0x40
TWHEEL_FEATURE_KEYED = 0x80
TWHEEL_FEATURE_LEASE = 0x100
TWHEEL_FEATURE_CONDITIONAL = 0x200
TWHEEL_FEATURE_PUSH = 0x400
TWHEEL_STATE_NONE = 0
TWHEEL_STATE_PENDING = 1
TWHEEL_STATE_READY = 2
TWHEEL_OPEN_THREADS = 0x2000000
TWHEEL_OPEN_CACHE_NOW = 0x4000000
TWHEEL_OPEN_CLOCK = 0x8000000
TWHEEL_OPEN_NONBLOCK = 0x10000000
TWHEEL_OPEN_CLOEXEC = 0x20000000
TWHEEL_OPEN_EMBEDDED = 0x40000000


class twheel_info(Structure):
    flags: int
    abi_version: int
    features: int
    tick_ns: int
    slots: int
    levels: int
    clock: int
    config: int
    now: int
    limit: int
    user_limit: int
    user_timers: int
    pending: int
    ready: int
    next_expiry: int
    _fields_ = [
        ("flags", c_uint32),
        ("abi_version", c_uint32),
        ("features", c_uint64),
        ("tick_ns", c_uint64),
        ("slots", c_uint32),
        ("levels", c_uint32),
        ("clock", c_uint32),
        ("config", c_uint32),
        ("now", c_uint64),
        ("limit", c_uint64),
        ("user_limit", c_uint64),
        ("user_timers", c_uint64),
        ("pending", c_uint64),
        ("ready", c_uint64),
        ("next_expiry", c_uint64),
    ]


class twheel_config(Structure):
    clock: int
    flags: int
    limit: int
    reserved: Any
    _fields_ = [
        ("clock", c_uint32),
        ("flags", c_uint32),
        ("limit", c_uint64),
        ("reserved", c_uint64 * 2),
    ]


class twheel_arm(Structure):
    handle: int
    user_data: int
    expires: int
    interval: int
    slack: int
    count: int
    word: int
    flags: int
    tag: int
    result: int
    old_state: int
    old_remaining: int
    _fields_ = [
        ("handle", c_uint64),
        ("user_data", c_uint64),
        ("expires", c_uint64),
        ("interval", c_uint64),
        ("slack", c_uint64),
        ("count", c_uint32),
        ("word", c_uint32),
        ("flags", c_uint16),
        ("tag", c_uint16),
        ("result", c_int16),
        ("old_state", c_uint16),
        ("old_remaining", c_uint64),
    ]


class twheel_push(Structure):
    handle: int
    expires: int
    _fields_ = [
        ("handle", c_uint64),
        ("expires", c_uint64),
    ]


class twheel_cancel(Structure):
    handle: int
    flags: int
    reserved: int
    result: int
    old_state: int
    old_remaining: int
    _fields_ = [
        ("handle", c_uint64),
        ("flags", c_uint32),
        ("reserved", c_uint32),
        ("result", c_int32),
        ("old_state", c_uint32),
        ("old_remaining", c_uint64),
    ]


class twheel_batch(Structure):
    entries: int
    count: int
    flags: int
    _fields_ = [
        ("entries", c_uint64),
        ("count", c_uint32),
        ("flags", c_uint32),
    ]


class twheel_timer_info(Structure):
    handle: int
    user_data: int
    deadline: int
    remaining: int
    interval: int
    slack: int
    count: int
    state: int
    flags: int
    tag: int
    word: int
    _fields_ = [
        ("handle", c_uint64),
        ("user_data", c_uint64),
        ("deadline", c_uint64),
        ("remaining", c_uint64),
        ("interval", c_uint64),
        ("slack", c_uint64),
        ("count", c_uint32),
        ("state", c_uint32),
        ("flags", c_uint16),
        ("tag", c_uint16),
        ("word", c_uint32),
    ]


class twheel_list(Structure):
    cursor: int
    entries: int
    count: int
    flags: int
    _fields_ = [
        ("cursor", c_uint64),
        ("entries", c_uint64),
        ("count", c_uint32),
        ("flags", c_uint32),
    ]


class twheel_event(Structure):
    user_data: int
    handle: int
    deadline: int
    expired: int
    expirations: int
    flags: int
    reserved: int
    _fields_ = [
        ("user_data", c_uint64),
        ("handle", c_uint64),
        ("deadline", c_uint64),
        ("expired", c_uint64),
        ("expirations", c_uint64),
        ("flags", c_uint32),
        ("reserved", c_uint32),
    ]


class twheel_old(Structure):
    state: int
    remaining: int
    _fields_ = [
        ("state", c_uint32),
        ("remaining", c_uint64),
    ]


class twheel_counters(Structure):
    armed: int
    rearmed: int
    cancelled: int
    expired: int
    read: int
    cascaded: int
    migrated: int
    turns: int
    lateness: Any
    expired_a_turn: Any
    read_a_call: Any
    _fields_ = [
        ("armed", c_uint64),
        ("rearmed", c_uint64),
        ("cancelled", c_uint64),
        ("expired", c_uint64),
        ("read", c_uint64),
        ("cascaded", c_uint64),
        ("migrated", c_uint64),
        ("turns", c_uint64),
        ("lateness", c_uint64 * 64),
        ("expired_a_turn", c_uint64 * 64),
        ("read_a_call", c_uint64 * 64),
    ]


class twheel_lease(Structure):
    word: Any
    tag: int
    _fields_ = [
        ("word", POINTER(c_uint64)),
        ("tag", c_uint16),
    ]


# By name: the type of the result, those of the parameters
FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "twheel_version": (c_uint, []),
    "twheel_open": (c_int, [POINTER(c_void_p), c_char_p, c_uint, POINTER(twheel_config)]),
    "twheel_adopt": (c_int, [POINTER(c_void_p), c_int]),
    "twheel_release": (c_int, [c_void_p]),
    "twheel_close": (None, [c_void_p]),
    "twheel_take_over": (None, [c_void_p]),
    "twheel_fd": (c_int, [c_void_p]),
    "twheel_clock": (c_int, [c_void_p]),
    "twheel_config_flags": (c_uint, [c_void_p]),
    "twheel_now": (c_uint64, [c_void_p]),
    "twheel_update_now": (c_int, [c_void_p]),
    "twheel_set_now": (c_int, [c_void_p, c_uint64]),
    "twheel_get_info": (c_int, [c_void_p, c_uint, POINTER(twheel_info)]),
    "twheel_stats": (c_int, [c_void_p, POINTER(twheel_counters), c_size_t]),
    "twheel_arm": (c_int, [c_void_p, POINTER(twheel_arm)]),
    "twheel_arm_after": (c_int, [c_void_p, c_uint64, c_uint64, POINTER(c_uint64)]),
    "twheel_arm_at": (c_int, [c_void_p, c_uint64, c_uint64, POINTER(c_uint64)]),
    "twheel_rearm_after": (c_int, [c_void_p, c_uint64, c_uint64, c_uint64, POINTER(twheel_old)]),
    "twheel_rearm_at": (c_int, [c_void_p, c_uint64, c_uint64, c_uint64, POINTER(twheel_old)]),
    "twheel_set_after": (c_int, [c_void_p, POINTER(c_uint64), c_uint64, c_uint64, POINTER(twheel_old)]),
    "twheel_set_at": (c_int, [c_void_p, POINTER(c_uint64), c_uint64, c_uint64, POINTER(twheel_old)]),
    "twheel_put_after": (c_int, [c_void_p, c_uint64, c_uint64, c_uint64, POINTER(twheel_old)]),
    "twheel_put_at": (c_int, [c_void_p, c_uint64, c_uint64, c_uint64, POINTER(twheel_old)]),
    "twheel_push": (c_int, [c_void_p, c_uint64, c_uint64]),
    "twheel_push_batch": (c_ssize_t, [c_void_p, POINTER(twheel_push), c_size_t]),
    "twheel_cancel": (c_int, [c_void_p, c_uint64, POINTER(twheel_old)]),
    "twheel_arm_batch": (c_ssize_t, [c_void_p, POINTER(twheel_arm), c_size_t]),
    "twheel_cancel_batch": (c_ssize_t, [c_void_p, POINTER(twheel_cancel), c_size_t]),
    "twheel_get": (c_int, [c_void_p, c_uint64, POINTER(twheel_timer_info)]),
    "twheel_drain": (c_ssize_t, [c_void_p, POINTER(c_uint64), POINTER(twheel_timer_info), c_size_t]),
    "twheel_cancel_all": (c_int, [c_void_p]),
    "twheel_walk_new": (c_int, [POINTER(c_void_p), c_void_p]),
    "twheel_walk_next": (c_int, [c_void_p, POINTER(twheel_timer_info)]),
    "twheel_walk_free": (None, [c_void_p]),
    "twheel_read": (c_ssize_t, [c_void_p, POINTER(twheel_event), c_size_t]),
    "twheel_read_timeout": (c_ssize_t, [c_void_p, POINTER(twheel_event), c_size_t, c_uint64]),
    "twheel_event_buffer_new": (c_int, [POINTER(c_void_p), c_size_t]),
    "twheel_event_buffer_free": (None, [c_void_p]),
    "twheel_event_buffer_fill": (c_ssize_t, [c_void_p, c_void_p]),
    "twheel_event_buffer_next": (POINTER(twheel_event), [c_void_p]),
    "twheel_lease_new": (c_int, [c_void_p, c_uint64, c_uint, c_uint64, POINTER(c_uint64), POINTER(twheel_lease), POINTER(twheel_old)]),
    "twheel_lease_at": (c_int, [c_void_p, c_uint32, c_uint16, POINTER(twheel_lease)]),
    "twheel_lease_extend": (c_int, [twheel_lease, c_uint64]),
    "twheel_lease_deadline": (c_uint64, [twheel_lease]),
    "twheel_lease_expired": (c_int, [twheel_lease]),
    "twheel_timer_new": (c_int, [POINTER(c_void_p), c_void_p, c_void_p, c_void_p]),
    "twheel_timer_free": (None, [c_void_p]),
    "twheel_timer_arm": (c_int, [c_void_p, POINTER(twheel_arm), POINTER(twheel_old)]),
    "twheel_timer_start": (c_int, [c_void_p, c_uint64, c_uint64]),
    "twheel_timer_again": (c_int, [c_void_p]),
    "twheel_timer_push": (c_int, [c_void_p, c_uint64, c_uint]),
    "twheel_timer_cancel": (c_int, [c_void_p, POINTER(twheel_old)]),
    "twheel_timer_cancel_all": (c_int, [c_void_p]),
    "twheel_timer_get": (c_int, [c_void_p, POINTER(twheel_timer_info)]),
    "twheel_timer_remaining": (c_uint64, [c_void_p]),
    "twheel_timer_arg": (c_void_p, [c_void_p]),
    "twheel_timer_set_arg": (None, [c_void_p, c_void_p]),
    "twheel_timer_armed": (c_int, [c_void_p]),
    "twheel_group_new": (c_int, [POINTER(c_void_p), c_void_p]),
    "twheel_timer_set_group": (c_int, [c_void_p, c_void_p]),
    "twheel_group_cancel": (c_int, [c_void_p]),
    "twheel_group_free": (None, [c_void_p]),
    "twheel_timer_defer": (c_int, [c_void_p, c_int]),
    "twheel_timer_flush": (c_int, [c_void_p]),
    "twheel_dispatch": (c_int, [c_void_p]),
    "twheel_dispatch_timeout": (c_int, [c_void_p, c_uint64]),
}
