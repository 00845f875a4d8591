//! `fault`: map, touch and unmap memory, as every program start and large allocation does.

use sys::clock::monotonic_ns;
use sys::memory::Mapping;

use crate::{
    Interaction, Parts, Plan, Probe, ProbeResult, Rhythm, Setting, Work, Workload, WorkloadError,
    at,
};

const MAP_BYTES: u64 = 4 << 20;
/// Distance of touched bytes: at most the size of a page.
const PAGE_BYTES: usize = 4096;

pub(crate) const PROBE: Workload = Workload {
    name: "fault",
    about: "map, touch and unmap 4 MiB of anonymous memory",
    measures: &["map_ns", "touch_ns", "unmap_ns"],
    ..Workload::new(Work::Probe(Probe { rhythm: Rhythm::Interval, plan, make }))
};

fn plan(_: &Setting) -> Plan {
    Plan::new(0, [("map_bytes", MAP_BYTES)])
}

struct Fault {
    map_bytes: usize,
}

fn make(_: &Setting, plan: &Plan) -> ProbeResult {
    Ok(Box::new(Fault { map_bytes: plan.param("map_bytes") as usize }))
}

impl Interaction for Fault {
    fn interact(&mut self, parts: &mut Parts) -> Result<(), WorkloadError> {
        let start_ns = monotonic_ns();
        let mapping = Mapping::anonymous(self.map_bytes).map_err(at("map"))?;
        let mapped_ns = monotonic_ns();
        mapping.touch(PAGE_BYTES, 1);
        let touched_ns = monotonic_ns();
        drop(mapping);
        parts[0] = mapped_ns - start_ns;
        parts[1] = touched_ns - mapped_ns;
        parts[2] = monotonic_ns() - touched_ns;
        Ok(())
    }
}
