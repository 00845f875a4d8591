//! What is measured is what happened.

use model::{Censored, EndStatus, Line, Run};
use rustix::process::Signal;

use crate::left::{child_of, processes};
use crate::support::{Fixture, send};

fn delays_ns(run: &Run) -> Vec<u64> {
    let mut delays_ns: Vec<u64> = run
        .lines
        .iter()
        .filter_map(|line| match line {
            Line::Histogram(record) => Some(record.delays_ns().unwrap()),
            _ => None,
        })
        .flatten()
        .filter(|delay| !delay.is_lower_bound)
        .map(|delay| delay.value as u64)
        .collect();
    delays_ns.sort_unstable();
    delays_ns
}

#[test]
fn a_frozen_machine_is_seen() {
    let fixture = Fixture::new();
    let command = fixture.run_on(
        "host:mem=64M",
        "--load noload --probe wake --interval 1s --points 3 --test-freeze 300ms",
    );
    fixture.finish(command).expect(0, &[]);
    let delays_ns = delays_ns(&fixture.run_file("001-noload"));
    // Six seconds of a wake-up every 4 ms, five of which hold a freeze of 300 ms: 75 wake-ups of
    // 250 are late, by 300 ms down to 0, so 50 of 250 by 100 ms or more.
    assert!(delays_ns.len() >= 1490, "{} wake-ups", delays_ns.len());
    let late = delays_ns.iter().filter(|delay_ns| **delay_ns >= 100_000_000).count();
    let share = late as f64 / delays_ns.len() as f64;
    assert!((0.12..0.35).contains(&share), "{late} of {} are late", delays_ns.len());
    let (median, max) = (delays_ns[delays_ns.len() / 2], delays_ns[delays_ns.len() - 1]);
    assert!(max >= 280_000_000, "the longest is {max} ns");
    assert!(median < 50_000_000, "the median is {median} ns");
}

#[test]
fn every_probe_gives_samples_with_its_parts() {
    for probe in workloads::probes() {
        let fixture = Fixture::new();
        let arguments = format!("--load cpuload --points 3 --probe {}", probe.name);
        fixture.finish(fixture.run(&arguments)).expect(0, &[]);
        let run = fixture.run_file("002-cpuload");
        if probe.measures.is_empty() {
            assert!(!delays_ns(&run).is_empty(), "{}", probe.name);
            continue;
        }
        assert_eq!(run.samples().count(), 3, "{}", probe.name);
        for sample in run.samples() {
            assert_eq!(sample.censored, None, "{}: {sample:?}", probe.name);
            let parts: Vec<&str> = sample.parts.keys().map(|name| name.as_str()).collect();
            let mut promised = probe.measures.to_vec();
            promised.sort_unstable();
            assert_eq!(parts, promised);
            let sum_ns: u64 = sample.parts.values().sum();
            assert!(sum_ns > 0 && sum_ns <= sample.delay_ns(), "{}: {sample:?}", probe.name);
            assert!(!sample.before.is_empty() && !sample.after.is_empty());
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_plan() {
    let specs = [7, 7, 8].map(|seed| {
        let fixture = Fixture::new();
        // Free space may differ between two runs: only loads that do not depend on it.
        let arguments = format!("--load cpuload,spawnload,8ctx-mem --seed {seed} --quiet");
        fixture.finish(fixture.run(&arguments)).expect(0, &[]);
        ["001-noload", "002-cpuload", "004-spawnload", "006-8ctx-mem"]
            .map(|name| fixture.run_file(name).header.unwrap().spec)
    });
    assert_eq!(specs[0], specs[1]);
    assert_ne!(specs[0], specs[2]);
    assert!(specs[0].iter().skip(1).all(|spec| !spec.load.params.is_empty()));
}

#[test]
fn a_prober_that_dies_is_called_dead_and_the_next_run_has_its_own() {
    for probe in ["response", "wake"] {
        let fixture = Fixture::new();
        let arguments = format!("--load noload,cpuload --probe {probe} --points 9");
        let mut running = fixture.start(fixture.run(&arguments));
        fixture.await_text(&mut running, "002-cpuload", "\"phase\":\"measuring\"");
        let agent = child_of(&fixture, running.pid(), "observe").unwrap();
        // The prober is the first of the agent's children.
        let children = processes(&fixture).into_iter().filter(|process| process.parent == agent);
        send(children.map(|child| child.pid).min().unwrap(), Signal::KILL);
        running.wait().expect(0, &["cpuload ended as Killed"]);
        let run = fixture.run_file("002-cpuload");
        assert_eq!((run.status(), run.checksum_ok), (EndStatus::Killed, Some(true)));
        let told =
            run.lines.iter().any(|line| line.note() == Some("the probe died: ended by signal 9"));
        assert!(told, "{probe}");
        let whys: Vec<Censored> = run.samples().filter_map(|sample| sample.censored).collect();
        assert!(whys.iter().all(|why| *why == Censored::ProbeDied), "{probe}: {whys:?}");
        assert_eq!(fixture.run_file("003-noload").status(), EndStatus::Complete);
    }
}
