//! What a guest measures, and what its settings do in it.

use model::{CounterSet, EndStatus, Header, Line, Run};

use crate::lab::Lab;

/// Times that let every load become warm, or give up, soon.
const SHORT: &str = "--warmup 2s --timeout 5s";

/// The header of a run.
fn header(run: &Run) -> &Header {
    run.header.as_ref().unwrap()
}

/// The counters after the last interaction.
fn last_counters(run: &Run) -> &CounterSet {
    run.lines.iter().flat_map(Line::readings).last().unwrap().1
}

/// What a run could not have.
fn missed(run: &Run) -> Vec<&str> {
    header(run).missed.iter().map(|missed| missed.capability.as_str()).collect()
}

#[test]
fn every_load_runs_in_a_guest() {
    const NAME: &str = "every_load_runs_in_a_guest";
    let Some(lab) = Lab::new(NAME) else { return };
    let finished = lab.finish("", SHORT);
    finished.expect(0, &[]);
    assert_eq!(lab.files().len(), workloads::loads().count());
    for (number, load) in workloads::loads().enumerate() {
        let run = lab.fixture.run_file(&format!("{:03}-{}-seed1", number + 1, load.name));
        let ended = run.status();
        assert!(
            matches!(ended, EndStatus::Complete | EndStatus::Timeout),
            "{}: {ended:?}",
            load.name
        );
        assert!(run.is_measured() && finished.stdout.contains(load.name), "{}", load.name);
        for fact in ["vm_qemu", "vm_kernel_blake3", "vm_initramfs_blake3", "vm_machine_blake3"] {
            assert!(header(&run).environment.contains_key(fact), "{}: {fact}", load.name);
        }
        assert_eq!(header(&run).environment["vm_deterministic"], "yes");
        assert_eq!(header(&run).environment["swappiness"], "60");
    }

    let swapping = lab.fixture.run_file("007-2ctx-mem-seed1");
    let before = swapping.lines.iter().find_map(|line| match line {
        Line::Counters(record) => Some(&record.counters),
        Line::Sample(sample) => Some(&sample.before),
        _ => None,
    });
    let swapped_out = |counters: &CounterSet| counters["vmstat"]["pswpout"];
    let after = last_counters(&swapping);
    assert!(swapped_out(after) > swapped_out(before.unwrap()), "nothing was swapped out");
    for source in ["psi", "taskstats", "schedstat"] {
        assert!(after.contains_key(source), "{source} is missing: {:?}", after.keys());
        assert!(!missed(&swapping).contains(&source), "{source}");
    }
    assert!(after["psi"]["memory_some_us"] > 0, "{:?}", after["psi"]);
    // Only the wait for the processor is known without delay accounting.
    let waits = |name: &str| name.ends_with("_delay_total_ns") && !name.starts_with("cpu_");
    let waited = after["taskstats"].iter().any(|(name, value)| waits(name) && *value > 0);
    assert!(waited, "{:?}", after["taskstats"]);
}

#[test]
fn every_probe_runs_in_a_guest() {
    const NAME: &str = "every_probe_runs_in_a_guest";
    let Some(lab) = Lab::new(NAME) else { return };
    for probe in workloads::probes() {
        let lab = lab.sibling();
        lab.finish("", &format!("--load noload --probe {}", probe.name)).expect(0, &[]);
        let run = lab.fixture.run_file("001-noload-seed1");
        assert_eq!(run.status(), EndStatus::Complete, "{}", probe.name);
        assert!(run.is_measured(), "{}", probe.name);
        assert!(run.samples().all(|sample| sample.censored.is_none()), "{}", probe.name);
    }
}

#[test]
fn a_sandbox_nests_in_a_guest() {
    const NAME: &str = "a_sandbox_nests_in_a_guest";
    let Some(lab) = Lab::new(NAME) else { return };
    lab.finish("sandbox.mem=32M", "--load cpuload").expect(0, &[]);
    let run = lab.fixture.run_file("004-cpuload-seed1");
    assert_eq!(run.status(), EndStatus::Complete);
    let counters = last_counters(&run);
    assert!(counters["memcg"]["anon"] > 0, "{counters:?}");
    assert!(!missed(&run).iter().any(|name| name.starts_with("memcg")), "{:?}", missed(&run));

    // Without one there is no control group to count in, which is reported and not counted as 0.
    let lab = lab.sibling();
    lab.finish("", "--load cpuload").expect(0, &[]);
    let run = lab.fixture.run_file("004-cpuload-seed1");
    assert!(!last_counters(&run).contains_key("memcg") && missed(&run).contains(&"memcg"));
}

#[test]
fn settings_are_in_force_and_in_the_header() {
    const NAME: &str = "settings_are_in_force_and_in_the_header";
    let Some(lab) = Lab::new(NAME) else { return };
    let settings = "lru_gen=on,thp=always,sysctl.vm.swappiness=10,mem=64M,cmdline=mitigations=off";
    lab.finish(settings, "--load noload").expect(0, &[]);
    let changed = lab.fixture.run_file("001-noload-seed1");
    let lab = lab.sibling();
    lab.finish("", "--load noload").expect(0, &[]);
    let usual = lab.fixture.run_file("001-noload-seed1");

    let fact = |run: &Run, name: &str| header(run).environment[name].clone();
    assert_eq!(fact(&changed, "swappiness"), "10");
    assert_eq!(fact(&changed, "thp"), "always");
    let lru_gen =
        |run: &Run| u64::from_str_radix(fact(run, "lru_gen").trim_start_matches("0x"), 16);
    assert_eq!(lru_gen(&changed).unwrap() & 1, 1);
    assert!(fact(&changed, "cmdline").contains("mitigations=off"));
    assert!(!fact(&usual, "cmdline").contains("mitigations=off"));
    let bytes = |run: &Run| fact(run, "memory_bytes").parse::<u64>().unwrap();
    let more = bytes(&changed) - bytes(&usual);
    assert!((15 << 20..17 << 20).contains(&more), "64M have {more} bytes more than 48M");
    assert_ne!(fact(&changed, "vm_machine_blake3"), fact(&usual, "vm_machine_blake3"));
}

#[test]
fn a_frozen_prober_is_seen_in_a_guest() {
    const NAME: &str = "a_frozen_prober_is_seen_in_a_guest";
    let Some(lab) = Lab::new(NAME) else { return };
    let arguments = "--load noload --probe wake --interval 1s --points 1";
    let longest_ns = |lab: &Lab, arguments: &str| {
        lab.finish("", arguments).expect(0, &[]);
        let run = lab.fixture.run_file("001-noload-seed1");
        let delays = run.lines.iter().filter_map(|line| match line {
            Line::Histogram(record) => Some(record.counts().unwrap()),
            _ => None,
        });
        delays.flatten().map(|(delay_ns, ..)| delay_ns).max().unwrap()
    };
    let free_ns = longest_ns(&lab, arguments);
    let frozen_ns = longest_ns(&lab.sibling(), &format!("{arguments} --test-freeze 300ms"));
    // Virtual time has no noise: the freeze is there, and nothing else is.
    assert!(free_ns < 50_000_000, "{free_ns} ns without a freeze");
    assert!((280_000_000..400_000_000).contains(&frozen_ns), "{frozen_ns} ns");
}
