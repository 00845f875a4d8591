//! The general form of memory work: processes × memory × order of touches.

use crate::param::{Choice, Kind, Param};
use crate::{Desc, MIB, SECOND_NS};

/// Processes that touch memory of a kind, in an order, at a pace.
pub const TOUCH: Desc = Desc {
    name: "touch",
    version: 1,
    about: "processes that touch memory: private or shared, in order or at random, dense or sparse",
    needs: "memory for the footprint; hugetlb needs pages set aside (sysctl vm.nr_hugepages)",
    params: &[
        Param {
            name: "processes",
            kind: Kind::Count,
            default: 1,
            least: 1,
            most: 4096,
            about: "how many processes",
        },
        Param {
            name: "footprint",
            kind: Kind::Size,
            default: 64 * MIB,
            least: 4096,
            most: 1 << 44,
            about: "memory that is touched: by each process if it is private, else by all",
        },
        Param {
            name: "step",
            kind: Kind::Size,
            default: 4096,
            least: 8,
            most: 1 << 30,
            about: "bytes from one place that is touched to the next",
        },
        Param {
            name: "stride",
            kind: Kind::Size,
            default: 64 << 10,
            least: 8,
            most: 1 << 40,
            about: "pattern strided: bytes from one touch to the following one",
        },
        Param {
            name: "spread",
            kind: Kind::Size,
            default: 4096,
            least: 4096,
            most: 1 << 40,
            about: "address space that each page of the footprint has: 4096 is dense, 2M leaves \
                    one page to a page-table page",
        },
        Param {
            name: "skew",
            kind: Kind::Thousandths,
            default: 990,
            least: 0,
            most: 5000,
            about: "pattern zipf: exponent of the popularity of places",
        },
        Param {
            name: "work",
            kind: Kind::Count,
            default: 0,
            least: 0,
            most: 1 << 50,
            about: "touches that each process makes and is then done; 0 = as many as `time` allows",
        },
        Param {
            name: "time",
            kind: Kind::Time,
            default: SECOND_NS,
            least: 1_000_000,
            most: 86_400 * SECOND_NS,
            about: "how long the steady state is measured",
        },
        Param {
            name: "batch",
            kind: Kind::Count,
            default: 0,
            least: 0,
            most: 1 << 40,
            about: "touches between two thoughts; 0 = each place once",
        },
        Param {
            name: "think",
            kind: Kind::Time,
            default: 0,
            least: 0,
            most: 3600 * SECOND_NS,
            about: "pause after each batch; each process has its own",
        },
        Param {
            name: "limit",
            kind: Kind::Time,
            default: 60 * SECOND_NS,
            least: 1_000_000,
            most: 86_400 * SECOND_NS,
            about: "longest time of all, the way to the steady state among it",
        },
    ],
    choices: &[
        Choice {
            name: "backing",
            of: &["private", "shared", "file", "shm"],
            about: "anonymous memory of each process or shared by all, a mapped file, a SysV \
                    segment",
        },
        Choice {
            name: "pattern",
            of: &["sequential", "strided", "uniform", "zipf", "chase"],
            about: "order of touches; chase follows pointers, each load waiting for the one before",
        },
        Choice {
            name: "pages",
            of: &["default", "small", "thp", "hugetlb"],
            about: "page size policy: as the system has it, 4 KiB, transparent or reserved huge \
                    pages",
        },
        Choice { name: "access", of: &["read", "write"], about: "what a touch is" },
    ],
};
