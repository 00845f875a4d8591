//! The operating system: its policies, and the costs of its paths.

use model::named;
use serde::Deserialize;

/// Systems that come with thrashlab: names and descriptions.
const SYSTEMS: &[(&str, &str)] = &[
    ("old", include_str!("../systems/old.toml")),
    ("new", include_str!("../systems/new.toml")),
    ("netbsd", include_str!("../systems/netbsd.toml")),
    ("linux", include_str!("../systems/linux.toml")),
];

/// The costs of all of them.
const COSTS: &str = include_str!("../systems/costs.toml");

named! {
    /// Whose pmeg is taken when none is free.
    pub enum Victim {
        /// SunOS: a hand takes the next pmeg of an address space without a context, else the next.
        TwoPass = "two-pass",
        /// NetBSD: the pmeg that was loaded longest ago.
        Fifo = "fifo",
        /// Linux: the pmeg whose last fault is longest ago.
        LruFault = "lru-fault",
        /// The pmeg that was used longest ago; no Sun-4 can know that.
        LruVisit = "lru-visit",
        /// Any.
        Random = "random",
    }
}

named! {
    /// How a segment gets its entries back.
    pub enum Reload {
        /// One fault for each page: the entries were lost with the pmeg.
        Page = "page",
        /// All entries at once, in one fault, from a copy in memory.
        Group = "group",
        /// A page at a time and without a fault, by hardware that walks tables in memory.
        Walk = "walk",
        /// The store holds single entries instead of groups; one short fault for each.
        Entry = "entry",
    }
}

named! {
    /// Who is swapped: its pages go to the free list.
    pub enum Swapping {
        /// Sleepers of 20 s, and those without a mapped page.
        Eager = "eager",
        /// Sleepers of 20 s.
        Soft = "soft",
        /// Nobody: `nosched`.
        Off = "off",
    }
}

named! {
    /// Whether library code is mapped whole at its own addresses or linked into the program.
    pub enum Libraries {
        /// Mapped.
        Shared = "shared",
        /// Linked.
        Static = "static",
    }
}

named! {
    /// Whose context is taken when none is free.
    pub enum ContextPolicy {
        /// The one that was used longest ago. SunOS, Linux.
        Lru = "lru",
        /// One after the other. NetBSD.
        Rover = "rover",
    }
}

named! {
    /// How time becomes user and system time.
    pub enum Accounting {
        /// A tick of 10 ms goes whole to what runs when the clock interrupts.
        Tick = "tick",
        /// Every ns goes where it was spent.
        Exact = "exact",
    }
}

named! {
    /// What runs next to the workload.
    pub enum Daemons {
        /// Nothing but the shell that waits: single-user mode with `update`.
        Single = "single",
        /// The daemons of a machine on a network.
        Multi = "multi",
    }
}

/// Costs of the system's paths: in CPU cycles here, in ns once converted (`Prices::paths_ns`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Costs {
    /// A translation fault that finds its page, in the kernel.
    pub fault: u64,
    /// What a fault costs the program after it, in user mode.
    pub fault_user: u64,
    /// Making a page of zeroes, above a fault.
    pub zero_fill: u64,
    /// Copying a page for its writer, above a fault.
    pub copy: u64,
    /// The trap and search before a group is loaded as a whole.
    pub group: u64,
    /// Filling one entry of a store of single entries.
    pub entry: u64,
    /// Getting a context, above flushing the cache and writing the segment map.
    pub context: u64,
    /// Switching from one process to another that has a context.
    pub switch: u64,
    /// Starting a program.
    pub exec: u64,
    /// Making a process, above its pages.
    pub fork: u64,
    /// Making a process, for each page of its parent.
    pub fork_page: u64,
    /// Ending a process, above its pages.
    pub exit: u64,
    /// Ending a process, for each page of it.
    pub exit_page: u64,
    /// Going to sleep for a time and waking.
    pub sleep: u64,
    /// Looking for a child that has ended.
    pub wait: u64,
    /// Bringing a process back from being swapped.
    pub swap_in: u64,
}

/// Costs with every field changed alike.
macro_rules! changed {
    ($of:ident, $change:ident: $($field:ident),*) => { Self { $($field: $change($of.$field)),* } };
}

impl Costs {
    pub(crate) fn map(&self, change: impl Fn(u64) -> u64) -> Self {
        changed!(
            self, change: fault, fault_user, zero_fill, copy, group, entry, context, switch, exec,
            fork, fork_page, exit, exit_page, sleep, wait, swap_in
        )
    }
}

/// An operating system.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct System {
    /// What people call it.
    pub name: String,
    pub(crate) victim: Victim,
    pub(crate) reload: Reload,
    /// Whether identical groups of entries of several address spaces are one.
    #[serde(default)]
    pub(crate) sharing: bool,
    pub(crate) swapping: Swapping,
    pub(crate) libraries: Libraries,
    pub(crate) context_policy: ContextPolicy,
    /// Copies of groups for each 256 KiB of physical memory; 0 = one for every possible group.
    #[serde(default)]
    pub(crate) software_pmegs_per_segment: u64,
    pub(crate) accounting: Accounting,
    pub(crate) daemons: Daemons,
    /// How often in a thousand a timer fires one tick late.
    pub(crate) jitter_permille: u32,
    /// Costs, which are the same for all systems.
    #[serde(skip)]
    pub costs: Costs,
}

impl System {
    /// The system of a name; an error lists them.
    pub fn named(hat: &str) -> Result<Self, String> {
        let Some((_, text)) = SYSTEMS.iter().find(|(name, _)| *name == hat) else {
            let names: Vec<&str> = Self::names().collect();
            return Err(format!("no system is named {hat:?}; choose from {}", names.join(", ")));
        };
        let system: Self =
            toml::from_str(text).map_err(|error| format!("system {hat}: {error}"))?;
        let costs = toml::from_str(COSTS).map_err(|error| format!("costs: {error}"))?;
        Ok(Self { costs, ..system })
    }

    /// The names of all systems.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SYSTEMS.iter().map(|(name, _)| *name)
    }
}
