//! The table of all workloads: a new one is a file and a row here.

use crate::workload::{Work, Workload};
use crate::{exhaust, provoke, session};

/// All workloads: loads (the baseline first), provocations, exhaustions, probes (the default first),
/// jobs.
pub const ALL: &[Workload] = &[
    crate::loads::noload::LOAD,
    crate::loads::smallwrite::LOAD,
    crate::loads::largewrite::LOAD,
    crate::loads::cpuload::LOAD,
    crate::loads::spawnload::LOAD,
    crate::loads::ctx_mem_8::LOAD,
    crate::loads::ctx_mem_2::LOAD,
    provoke::compaction::LOAD,
    provoke::cpu_denied::LOAD,
    provoke::fork_storm::LOAD,
    provoke::global_reclaim::LOAD,
    provoke::lock_contention::LOAD,
    provoke::memcg_refault::LOAD,
    provoke::memory_high::LOAD,
    provoke::minor_faults::LOAD,
    provoke::numa_hinting::LOAD,
    provoke::page_tables::LOAD,
    provoke::proactive_eviction::LOAD,
    provoke::shootdown::LOAD,
    provoke::swap_thrash::LOAD,
    provoke::switches::LOAD,
    provoke::translation::LOAD,
    provoke::writeback_throttle::LOAD,
    exhaust::leak::LOAD,
    exhaust::burst::LOAD,
    exhaust::build::LOAD,
    exhaust::forks::LOAD,
    exhaust::database::LOAD,
    exhaust::text::LOAD,
    exhaust::page_cache::LOAD,
    exhaust::tmpfs::LOAD,
    crate::probes::response::PROBE,
    crate::probes::wake::PROBE,
    crate::probes::exec::PROBE,
    crate::probes::fault::PROBE,
    crate::probes::fileops::PROBE,
    session::SESSION,
    Workload::of_job(jobs::VMTEST),
    Workload::of_job(jobs::TOUCH),
    crate::command::COMMAND,
];

fn those(is: impl Fn(&Work) -> bool) -> impl Iterator<Item = &'static Workload> {
    ALL.iter().filter(move |workload| is(&workload.work))
}

/// The loads of a run that names none.
pub fn loads() -> impl Iterator<Item = &'static Workload> {
    those(|work| matches!(work, Work::Load(_)))
}

/// The loads, the provocations, then the exhaustions: everything that can be named as a load.
pub fn loads_and_provocations() -> impl Iterator<Item = &'static Workload> {
    those(|work| matches!(work, Work::Load(_) | Work::Provocation(_) | Work::Exhaustion(_)))
}

/// The probes.
pub fn probes() -> impl Iterator<Item = &'static Workload> {
    those(|work| matches!(work, Work::Probe(_)))
}

/// The jobs.
pub fn jobs() -> impl Iterator<Item = &'static Workload> {
    those(|work| matches!(work, Work::Job))
}

/// The load or provocation of a name.
pub fn find_load(name: &str) -> Option<&'static Workload> {
    loads_and_provocations().find(|load| load.name == name)
}

/// The probe of a name.
pub fn find_probe(name: &str) -> Option<&'static Workload> {
    probes().find(|probe| probe.name == name)
}

/// The job of a name.
pub fn find_job(name: &str) -> Option<&'static Workload> {
    jobs().find(|job| job.name == name)
}

/// Whether an intensity of 0 has a meaning: no load, or the control run of a provocation or an
/// exhaustion.
pub fn may_have_zero_volume(name: &str) -> bool {
    let has_control = |load: &Workload| !matches!(load.work, Work::Load(_));
    name == crate::loads::noload::LOAD.name || find_load(name).is_some_and(has_control)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{Plan, Setting};

    fn setting(intensity: f64) -> Setting {
        Setting {
            memory_bytes: 256 << 20,
            cpus_milli: 2000,
            swap_bytes: 1 << 30,
            work_dir: "/".into(),
            free_disk_bytes: 2 << 30,
            interval_ns: 1,
            intensity,
            is_confined: true,
            ..Setting::default()
        }
    }

    /// What a load or probe is resolved to; a job is resolved elsewhere.
    fn plan(workload: &Workload, intensity: f64) -> Option<Plan> {
        let setting = setting(intensity);
        let plan = workload.as_load().map(|load| (load.plan)(&setting).expect(workload.name));
        plan.or_else(|| workload.as_probe().map(|probe| (probe.plan)(&setting)))
    }

    #[test]
    fn every_name_is_one_workloads() {
        let names: BTreeSet<&str> = ALL.iter().map(|workload| workload.name).collect();
        assert_eq!(names.len(), ALL.len());
    }

    #[test]
    fn every_load_and_probe_is_planned_and_loads_have_workers() {
        for workload in ALL {
            let Some(plan) = plan(workload, 1.0) else {
                assert!(matches!(workload.work, Work::Job), "{}", workload.name);
                continue;
            };
            let is_load = workload.as_load().is_some() && workload.name != "noload";
            assert!(!is_load || plan.workers > 0, "{}", workload.name);
        }
    }

    #[test]
    fn every_exhaustion_counts_who_dies_and_has_a_control_run() {
        for load in those(|work| matches!(work, Work::Exhaustion(_))) {
            assert!(load.name.starts_with("exhaust-"), "{}", load.name);
            assert_eq!(load.measures, exhaust::TOTALS, "{}", load.name);
            let offenders = [0.0, 1.0].map(|intensity| plan(load, intensity).unwrap().params);
            assert_eq!(offenders[0]["offenders"], 0, "{}", load.name);
            assert!(offenders[1]["offenders"] > 0, "{}", load.name);
        }
    }

    #[test]
    fn every_provocation_counts_the_same_and_plans_both_of_its_sides() {
        for load in those(|work| matches!(work, Work::Provocation(_))) {
            assert!(load.name.starts_with("provoke-"), "{}", load.name);
            assert_eq!(load.measures[..2], *provoke::TOTALS, "{}", load.name);
            let sides = [0.0, 1.0].map(|intensity| plan(load, intensity).expect("a load"));
            assert_ne!(sides[0].params, sides[1].params, "{}", load.name);
        }
    }
}
