//! A machine and its system, with settings by name.

use std::collections::BTreeMap;

use super::machine::{Machine, SEGMENT_BYTES};
use super::system::{
    Accounting, ContextPolicy, Daemons, Libraries, Reload, Swapping, System, Victim,
};

/// Settings and their meanings.
const SETTINGS: &[(&str, &str)] = &[
    ("pmegs", "pmegs in the store"),
    ("contexts", "hardware contexts, with the kernel's"),
    ("reserved_pmegs", "pmegs of the kernel and the PROM, with the invalid one"),
    ("smegs", "segment groups of a machine with three levels; 0: two levels"),
    ("clock_hz", "clock of the CPU"),
    ("memory", "physical memory in bytes: sizes the copies of pmegs that the system keeps"),
    ("victim", "whose pmeg is taken: two-pass, fifo, lru-fault, lru-visit or random"),
    ("reload", "how entries come back: page, group, walk or entry"),
    ("software_pmegs", "copies of pmegs that the system keeps; 0: as many as there are groups"),
    ("sharing", "whether identical groups of several address spaces are one: on or off"),
    ("swapping", "who is swapped: eager, soft or off (nosched)"),
    ("libraries", "how libraries are mapped: shared or static"),
    ("context_policy", "whose context is taken: lru or rover"),
    ("accounting", "how time becomes user and system time: tick or exact"),
    ("daemons", "what runs next to the workload: single or multi"),
    ("jitter", "how often in a thousand a timer fires one tick late"),
];

/// A machine with its system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// The hardware.
    pub machine: Machine,
    /// The operating system.
    pub system: System,
    /// Copies of pmegs, if set; otherwise physical memory decides.
    software_pmegs: Option<u64>,
}

impl Setup {
    /// An unchanged machine with its system.
    pub fn new(machine: Machine, system: System) -> Self {
        Self { machine, system, software_pmegs: None }
    }

    /// Changes a setting; an error has the valid values.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        self.clone().changed(name, value).map(|changed| *self = changed).map_err(|reason| {
            let about = SETTINGS.iter().find(|(known, _)| *known == name);
            about.map_or(reason.clone(), |(_, about)| format!("{name}: {reason} ({about})"))
        })
    }

    fn changed(mut self, name: &str, value: &str) -> Result<Self, String> {
        let (machine, system) = (&mut self.machine, &mut self.system);
        match name {
            "pmegs" => machine.mmu.pmegs = number(value, 2, 1 << 16)? as u32,
            "contexts" => machine.mmu.contexts = number(value, 2, 1 << 16)? as u32,
            "reserved_pmegs" => machine.mmu.reserved_pmegs = number(value, 1, 1 << 16)? as u32,
            "smegs" => machine.mmu.smegs = number(value, 0, 1 << 16)? as u32,
            "clock_hz" => machine.clock_hz = number(value, 1_000_000, 1_000_000_000)?,
            "memory" => machine.memory.bytes = number(value, 1 << 20, 1 << 40)?,
            "victim" => system.victim = Victim::named(value)?,
            "reload" => system.reload = Reload::named(value)?,
            "software_pmegs" => self.software_pmegs = Some(number(value, 0, 1 << 40)?),
            "sharing" => system.sharing = switch(value)?,
            "swapping" => system.swapping = Swapping::named(value)?,
            "libraries" => system.libraries = Libraries::named(value)?,
            "context_policy" => system.context_policy = ContextPolicy::named(value)?,
            "accounting" => system.accounting = Accounting::named(value)?,
            "daemons" => system.daemons = Daemons::named(value)?,
            "jitter" => system.jitter_permille = number(value, 0, 1000)? as u32,
            _ => {
                let names: Vec<&str> = SETTINGS.iter().map(|(known, _)| *known).collect();
                return Err(format!(
                    "no setting is named {name:?}; choose from {}",
                    names.join(", ")
                ));
            }
        }
        let (pmegs, reserved) = (self.machine.mmu.pmegs, self.machine.mmu.reserved_pmegs);
        if reserved >= pmegs {
            return Err(format!("{reserved} reserved of {pmegs} pmegs leave none for processes"));
        }
        Ok(self)
    }

    /// Every setting with its value.
    pub fn resolved(&self) -> BTreeMap<String, String> {
        let (machine, system) = (&self.machine, &self.system);
        let value = |name: &str| match name {
            "pmegs" => machine.mmu.pmegs.to_string(),
            "contexts" => machine.mmu.contexts.to_string(),
            "reserved_pmegs" => machine.mmu.reserved_pmegs.to_string(),
            "smegs" => machine.mmu.smegs.to_string(),
            "clock_hz" => machine.clock_hz.to_string(),
            "memory" => machine.memory.bytes.to_string(),
            "victim" => system.victim.name().to_owned(),
            "reload" => system.reload.name().to_owned(),
            "software_pmegs" => self.software_pmegs().to_string(),
            "sharing" => if system.sharing { "on" } else { "off" }.to_owned(),
            "swapping" => system.swapping.name().to_owned(),
            "libraries" => system.libraries.name().to_owned(),
            "context_policy" => system.context_policy.name().to_owned(),
            "accounting" => system.accounting.name().to_owned(),
            "daemons" => system.daemons.name().to_owned(),
            _ => system.jitter_permille.to_string(),
        };
        SETTINGS.iter().map(|(name, _)| ((*name).to_owned(), value(name))).collect()
    }

    /// Copies of pmegs that the system keeps; 0 = one for each group.
    pub(crate) fn software_pmegs(&self) -> u64 {
        self.software_pmegs.unwrap_or_else(|| {
            let segments = self.machine.memory.bytes / SEGMENT_BYTES;
            segments * self.system.software_pmegs_per_segment
        })
    }

    /// Pmegs that processes share.
    pub(crate) fn free_pmegs(&self) -> u32 {
        self.machine.mmu.pmegs - self.machine.mmu.reserved_pmegs
    }
}

fn number(value: &str, least: u64, most: u64) -> Result<u64, String> {
    let number: u64 =
        value.replace('_', "").parse().map_err(|_| format!("{value:?} is not a whole number"))?;
    if !(least..=most).contains(&number) {
        return Err(format!("{number} is not between {least} and {most}"));
    }
    Ok(number)
}

fn switch(value: &str) -> Result<bool, String> {
    match value {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(format!("{value:?} is neither on nor off")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup() -> Setup {
        let machine = Machine::parse(crate::MACHINES[0].1).unwrap();
        Setup::new(machine, System::named("new").unwrap())
    }

    #[test]
    fn what_is_resolved_can_be_set_again() {
        let mut setup = setup();
        let resolved = setup.resolved();
        assert_eq!(resolved.len(), SETTINGS.len());
        for (name, value) in &resolved {
            setup.set(name, value).unwrap();
        }
        assert_eq!(setup.resolved(), resolved);
        assert_eq!(resolved["software_pmegs"], "768");
        setup.set("sharing", "on").unwrap();
        assert_eq!(setup.resolved()["sharing"], "on");
    }

    #[test]
    fn memory_sizes_the_copies_until_they_are_said() {
        let mut setup = setup();
        setup.set("memory", "12582912").unwrap();
        assert_eq!(setup.software_pmegs(), 384);
        setup.set("software_pmegs", "100").unwrap();
        setup.set("memory", "25165824").unwrap();
        assert_eq!(setup.software_pmegs(), 100);
    }

    #[test]
    fn errors_say_what_would_be_right_and_change_nothing() {
        let mut setup = setup();
        let before = setup.clone();
        assert!(setup.set("victim", "clock").unwrap_err().contains("two-pass, fifo"));
        assert!(setup.set("pmegs", "36").unwrap_err().contains("leave none"));
        assert!(setup.set("contexts", "many").unwrap_err().contains("whole number"));
        assert!(setup.set("colour", "red").unwrap_err().contains("reserved_pmegs"));
        assert_eq!(setup, before);
    }

    #[test]
    fn every_system_is_read() {
        for name in System::names() {
            assert!(System::named(name).unwrap().costs.fault > 0, "{name}");
        }
        assert!(System::named("hurd").unwrap_err().contains("netbsd"));
    }
}
