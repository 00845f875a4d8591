//! `wake`: wakes up at an absolute time, once per period, at a random phase. The delay is how late
//! the process runs; a late wake-up counts from its own intended time.

use crate::{
    Interaction, Parts, Plan, Probe, ProbeResult, Rhythm, Setting, Work, Workload, WorkloadError,
};

const PERIOD_NS: u64 = 4_000_000;

pub(crate) const PROBE: Workload = Workload {
    name: "wake",
    about: "wake up at an absolute time, once every 4 ms, at a random phase",
    ..Workload::new(Work::Probe(Probe { rhythm: Rhythm::Periodic, plan, make }))
};

fn plan(_: &Setting) -> Plan {
    Plan::new(0, [("period_ns", PERIOD_NS)])
}

struct Wake;

fn make(_: &Setting, _: &Plan) -> ProbeResult {
    Ok(Box::new(Wake))
}

impl Interaction for Wake {
    fn interact(&mut self, _: &mut Parts) -> Result<(), WorkloadError> {
        Ok(())
    }
}
