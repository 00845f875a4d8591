//! The machine with TLBs whose translations take virtual time (`time.model=memory`).

use std::fs;

use mmu::tlb::{MACHINES, Machine};
use model::{Accel, MachineSpec, TimeModel};

/// The machine that is taken if none is named.
const DEFAULT: &str = "zen4";
const FILE: &str = ".toml";

/// Names the machine, if one is needed and none is named.
pub(crate) fn complete(machine: &mut MachineSpec) {
    if machine.time_model == TimeModel::Memory {
        machine.time_machine.get_or_insert_with(|| DEFAULT.to_owned());
    }
}

/// Fails for settings of time that do not fit each other, and for a machine that cannot be read.
pub(crate) fn check(machine: &MachineSpec) -> Result<(), String> {
    match (machine.time_model, &machine.time_machine) {
        (TimeModel::Instructions, Some(name)) => Err(format!(
            "time.machine={name}: only with time.model=memory do a machine's TLBs take time"
        )),
        (TimeModel::Memory, _) if machine.accel != Accel::Tcg => Err(
            "time.model=memory: only the virtual time of accel=tcg can be charged with translations"
                .to_owned(),
        ),
        _ => of(machine).map(drop),
    }
}

/// The machine of these settings; `None` if each instruction takes the same time. Fails for an unknown
/// name, with the known ones, and for a description that cannot be read, with the place.
pub(crate) fn of(machine: &MachineSpec) -> Result<Option<Machine>, String> {
    if machine.time_model == TimeModel::Instructions {
        return Ok(None);
    }
    let name = machine.time_machine.as_deref().unwrap_or(DEFAULT);
    let shipped = MACHINES.iter().find(|(known, _)| *known == name);
    let text = match shipped {
        Some((_, text)) => (*text).to_owned(),
        None if name.ends_with(FILE) => {
            fs::read_to_string(name).map_err(|error| format!("time.machine={name}: {error}"))?
        }
        None => {
            let names: Vec<&str> = MACHINES.iter().map(|(known, _)| *known).collect();
            return Err(format!(
                "time.machine: no machine with TLBs is named {name:?}; choose from {}, or name a \
                 description (*{FILE}; thrashlab mmu machines)",
                names.join(", ")
            ));
        }
    };
    Machine::parse(&text).map(Some).map_err(|error| format!("time.machine={name}: {error}"))
}
