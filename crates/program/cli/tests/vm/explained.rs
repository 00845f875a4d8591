//! What slow responses in a guest are explained by.

use std::fs;

use analysis::explained::{Account, Explained, Part, explain_run};
use serde_json::Value;

use crate::lab::Lab;

#[test]
fn delays_in_guests_are_explained() {
    const NAME: &str = "delays_in_guests_are_explained";
    let Some(lab) = Lab::new(NAME) else { return };
    let cpu_run = samples_of(&lab.sibling(), "cpuload");
    assert_because(&cpu_run, &[Part::CpuWait]);
    let memory_run = samples_of(&lab, "2ctx-mem");
    let memory = [Part::BlockIo, Part::SwapIn, Part::Thrashing, Part::Reclaim];
    assert_because(&memory_run, &memory);

    let told = lab.command(&["show", "output"]);
    assert!(told.stdout.contains("Why slow responses were slow"), "{}", told.stdout);
    let told = lab.command(&["show", "output", "--json"]);
    told.expect(0, &[]);
    let told: Value = serde_json::from_str(&told.stdout).unwrap();
    let thrashing = told["why_slow"].as_array().unwrap().iter().find(|it| it["load"] == "2ctx-mem");
    let thrashing = thrashing.unwrap();
    assert!(thrashing["explained"].as_f64().unwrap() >= 0.9, "{thrashing}");
    let worst = thrashing["worst"].as_array().unwrap();
    assert_eq!(worst.len(), 1, "{thrashing}");
    // Which of them it is differs from kernel to kernel and with the size of this program.
    let counted = |name: &str| worst[0]["counters"][name].as_u64().unwrap();
    assert!(counted("major_faults") + counted("machine_swapped_out_pages") > 0, "{thrashing}");
}

/// Executes one measured run under a load and explains its samples. The guest has room for all that
/// runs in it but this load, the load can be swapped out, and every response is waited for: the
/// kernel counts a wait when it is over, so what was not finished cannot be explained to its end.
fn samples_of(lab: &Lab, load: &str) -> Vec<Explained> {
    let arguments = format!("--load {load} --points 4 --interval 1s --warmup 4s --timeout 300s");
    let finished = lab.finish("mem=96M,swap=160M,disk.size=224M", &arguments);
    finished.expect(0, &[]);
    let mut files = fs::read_dir(lab.fixture.output())
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap());
    let name = files.find(|name| name.contains(load)).unwrap();
    let run = lab.fixture.run_file(name.strip_suffix(".run.jsonl").unwrap());
    let samples = explain_run(&run);
    assert!(!samples.is_empty(), "{load}");
    samples
        .into_iter()
        .map(|(sample, explained)| {
            assert_eq!(explained.delay_ns, sample.delay_ns(), "{load}");
            explained
        })
        .collect()
}

/// The parts of every sample sum to it, and these parts are a good deal of what was slow.
fn assert_because(samples: &[Explained], cause: &[Part]) {
    for explained in samples {
        let sum_ns: u64 = explained.parts_ns.values().flatten().sum();
        assert_eq!(sum_ns, explained.delay_ns, "{explained:?}");
        // A guest without a sandbox has no quota; Linux 6.1 counts no interrupts.
        let known = |part| explained.parts_ns[&part].is_some();
        assert!(!known(Part::Throttled) && known(Part::Thrashing), "{explained:?}");
    }
    let account = Account::from_samples(samples.iter());
    // Virtual time: the same on every host. What the sample before took explains nothing here.
    let own = 1.0 - account.share(Part::MissedStart).unwrap();
    let unexplained = account.share(Part::Remainder).unwrap();
    assert!(unexplained <= 0.1 * own, "{account:?}");
    let because: f64 = cause.iter().filter_map(|part| account.share(*part)).sum();
    assert!(because > 0.4 * own, "{account:?}");
}
