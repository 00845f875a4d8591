//! Remedies against a shortage of pmegs, as discussed in 1990.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use model::named;
use serde::{Deserialize, Serialize};

use super::setup::Setup;
use super::workload::Workload;

named! {
    /// What a remedy costs, the cheapest first.
    pub enum Price {
        /// A setting, or another way of using the machine.
        Setting = "setting",
        /// Programs are relinked.
        Relink = "relink",
        /// A change of the kernel's source.
        KernelPatch = "kernel patch",
        /// Other hardware.
        NewMachine = "new machine",
    }
}

/// A remedy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Remedy {
    /// Its name.
    pub name: String,
    /// What is done, in one line.
    pub about: String,
    /// The change of a machine or workload: `reload=group`, `pmegs×2`, or `switch_rate/2` for half
    /// as many switches, because the parent of `vmtest` sleeps twice as long between two looks.
    pub settings: String,
    /// What it costs.
    pub price: Price,
}

/// All remedies, the cheapest first.
pub static REMEDIES: LazyLock<Vec<Remedy>> = LazyLock::new(|| {
    let tables: Result<BTreeMap<String, Vec<Remedy>>, _> =
        toml::from_str(include_str!("../remedies.toml"));
    tables.ok().and_then(|mut tables| tables.remove("remedy")).unwrap_or_default()
});

impl Remedy {
    /// Applies the remedy, in place of an earlier one for the same thing; returns whether that
    /// changes anything. Fails when the machine cannot have it.
    pub fn apply(
        &self,
        setup: &mut Setup,
        workload: &mut Workload,
        untreated: &Workload,
    ) -> Result<bool, String> {
        let before = setup.resolved();
        let times = |text: &str| text.parse::<u64>().unwrap_or(1);
        if let Some((name, value)) = self.settings.split_once('=') {
            setup.set(name, value)?;
        } else if let Some((name, by)) = self.settings.split_once('×') {
            let value = before.get(name).and_then(|value| value.parse::<u64>().ok());
            setup.set(name, &(value.unwrap_or(0) * times(by)).to_string())?;
        } else if let Some((_, by)) = self.settings.split_once('/') {
            let (Workload::Vmtest(plan), Workload::Vmtest(own)) = (workload, untreated) else {
                return Ok(false);
            };
            let look_ns = own.look_ns.saturating_mul(times(by));
            let changed = look_ns != plan.look_ns;
            plan.look_ns = look_ns;
            return Ok(changed);
        }
        Ok(setup.resolved() != before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_remedies_are_read_and_are_settings() {
        assert_eq!(REMEDIES.len(), 12);
        assert!(REMEDIES.is_sorted_by_key(|remedy| remedy.price as u8));
        for remedy in REMEDIES.iter().filter(|remedy| !remedy.settings.starts_with("switch_rate/"))
        {
            let name = remedy.settings.split(['=', '×']).next().unwrap();
            let machine = crate::Machine::parse(crate::MACHINES[0].1).unwrap();
            let setup = Setup::new(machine, crate::System::named("old").unwrap());
            assert!(setup.resolved().contains_key(name), "{}", remedy.name);
        }
    }
}
