//! Remedies against a shortage of pmegs: those that were discussed in 1990, as settings.

use std::fmt::{self, Display, Formatter};

use super::setup::Setup;
use super::workload::Workload;

/// What a remedy costs, the cheapest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Price {
    /// A setting, or another way of using the machine.
    Setting,
    /// Programs are linked anew.
    Relink,
    /// A change of the kernel's source.
    KernelPatch,
    /// Other hardware.
    NewMachine,
}

impl Display for Price {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Setting => "setting",
            Self::Relink => "relink",
            Self::KernelPatch => "kernel patch",
            Self::NewMachine => "new machine",
        })
    }
}

/// What a remedy changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// A setting gets a value.
    Set(&'static str, &'static str),
    /// A setting that is a number gets so many times as large.
    Times(&'static str, u64),
    /// The parent of `vmtest` sleeps so many times as long between two looks: there are that many
    /// times fewer switches.
    Sleep(u64),
}

/// A remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remedy {
    /// What people call it.
    pub name: &'static str,
    /// What is done, in a line.
    pub about: &'static str,
    /// What it costs.
    pub price: Price,
    change: Change,
}

/// All remedies, the cheapest first.
pub const REMEDIES: &[Remedy] = &[
    Remedy {
        name: "no eager swapping",
        about: "processes whose pages are all unmapped are not swapped for that",
        price: Price::Setting,
        change: Change::Set("swapping", "soft"),
    },
    Remedy {
        name: "no swapping",
        about: "nosched: nobody is swapped",
        price: Price::Setting,
        change: Change::Set("swapping", "off"),
    },
    Remedy {
        name: "half the switches",
        about: "whoever wakes up periodically does so half as often",
        price: Price::Setting,
        change: Change::Sleep(2),
    },
    Remedy {
        name: "a quarter of the switches",
        about: "whoever wakes up periodically does so a quarter as often",
        price: Price::Setting,
        change: Change::Sleep(4),
    },
    Remedy {
        name: "static libraries",
        about: "libraries are linked into programs, which map what they use",
        price: Price::Relink,
        change: Change::Set("libraries", "static"),
    },
    Remedy {
        name: "software cache of pmegs",
        about: "a stolen pmeg is kept in memory and loaded whole, in one fault",
        price: Price::KernelPatch,
        change: Change::Set("reload", "group"),
    },
    Remedy {
        name: "shared pmegs",
        about: "processes that map the same pages at the same addresses share the pmeg",
        price: Price::KernelPatch,
        change: Change::Set("sharing", "on"),
    },
    Remedy {
        name: "LRU victim",
        about: "the pmeg that was used longest ago is stolen; needs hardware that knows",
        price: Price::NewMachine,
        change: Change::Set("victim", "lru-visit"),
    },
    Remedy {
        name: "single entries",
        about: "the store holds single page-table entries instead of groups",
        price: Price::NewMachine,
        change: Change::Set("reload", "entry"),
    },
    Remedy {
        name: "hardware walk",
        about: "hardware fetches missing entries from tables in memory",
        price: Price::NewMachine,
        change: Change::Set("reload", "walk"),
    },
    Remedy {
        name: "twice the pmegs",
        about: "the store has twice as many pmegs",
        price: Price::NewMachine,
        change: Change::Times("pmegs", 2),
    },
    Remedy {
        name: "twice the contexts",
        about: "twice as many address spaces can be mapped at the same time",
        price: Price::NewMachine,
        change: Change::Times("contexts", 2),
    },
];

impl Remedy {
    /// What it does to a machine and a workload, in settings: `reload=group`.
    #[must_use]
    pub fn settings(&self) -> String {
        match self.change {
            Change::Set(name, value) => format!("{name}={value}"),
            Change::Times(name, times) => format!("{name}×{times}"),
            Change::Sleep(times) => format!("switch_rate/{times}"),
        }
    }

    /// Takes the remedy; whether that changes anything. Of two remedies for the same thing the
    /// later one counts: twice and then four times fewer switches are four times fewer.
    ///
    /// # Errors
    /// When the machine cannot have it, with the reason.
    pub fn apply(
        &self,
        setup: &mut Setup,
        workload: &mut Workload,
        untreated: &Workload,
    ) -> Result<bool, String> {
        let before = setup.resolved();
        match self.change {
            Change::Set(name, value) => setup.set(name, value)?,
            Change::Times(name, times) => {
                let value = before.get(name).and_then(|value| value.parse::<u64>().ok());
                setup.set(name, &(value.unwrap_or(0) * times).to_string())?;
            }
            Change::Sleep(times) => {
                let (Workload::Vmtest(plan), Workload::Vmtest(own)) = (workload, untreated) else {
                    return Ok(false);
                };
                let look_ns = own.look_ns.saturating_mul(times);
                let changed = look_ns != plan.look_ns;
                plan.look_ns = look_ns;
                return Ok(changed);
            }
        }
        Ok(setup.resolved() != before)
    }
}
