//! Irlam's program: processes that step through pages which they share.

use crate::param::{Kind, Param};
use crate::{Desc, MIB, SECOND_NS};

/// A parent touches its data segment and forks a child for each `process_size` of `size`; each
/// child steps through the segment page by page, `loops` times over; the parent looks for ended
/// children again and again, sleeping in between, which makes the context switches (Gordon Irlam,
/// "A Guide to Sun-4 Virtual Memory Performance", 1990, section 6).
pub const VMTEST: Desc = Desc {
    name: "vmtest",
    version: 1,
    about: "processes that step through shared pages, each a small part of the virtual memory",
    needs: "memory for one process; one process for each 2 MiB of virtual memory",
    params: &[
        Param {
            name: "size",
            kind: Kind::Size,
            default: 16 * MIB,
            least: 4096,
            most: 1 << 40,
            about: "active virtual memory of all processes together",
        },
        Param {
            name: "process_size",
            kind: Kind::Size,
            default: 2 * MIB,
            least: 4096,
            most: 1 << 36,
            about: "the data segment that each process steps through",
        },
        Param {
            name: "step",
            kind: Kind::Size,
            default: 4096,
            least: 1,
            most: 1 << 30,
            about: "bytes from one touched byte to the next",
        },
        Param {
            name: "loops",
            kind: Kind::Count,
            default: 0,
            least: 0,
            most: 1 << 40,
            about: "how often each process steps through its segment; 0 = so often that all take \
                    `time`",
        },
        Param {
            name: "switch_rate",
            kind: Kind::Count,
            default: 50,
            least: 1,
            most: 100_000,
            about: "context switches a second that the parent makes by sleeping and looking",
        },
        Param {
            name: "time",
            kind: Kind::Time,
            default: 500_000_000,
            least: 1_000_000,
            most: 3600 * SECOND_NS,
            about: "what one round takes when `loops` is calibrated, and the least time measured",
        },
        Param {
            name: "of_size",
            kind: Kind::Size,
            default: 0,
            least: 0,
            most: 1 << 40,
            about: "the size for which `loops` is calibrated, so that all points of a sweep do the \
                    same work; 0 = `size`",
        },
        Param {
            name: "limit",
            kind: Kind::Time,
            default: 60 * SECOND_NS,
            least: 1_000_000,
            most: 86_400 * SECOND_NS,
            about: "longest time of all rounds; what was done until then counts",
        },
    ],
    choices: &[],
};
