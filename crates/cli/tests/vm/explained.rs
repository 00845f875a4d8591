//! What slow responses in a guest are explained by.

use analysis::explained::{Account, Part, explain_run};
use serde_json::Value;

use crate::lab::Lab;

#[test]
fn delays_of_a_thrashing_guest_are_explained() {
    const NAME: &str = "delays_of_a_thrashing_guest_are_explained";
    let Some(lab) = Lab::new(NAME) else { return };
    let arguments = "--load cpuload,2ctx-mem --points 4 --interval 1s --warmup 4s --timeout 20s";
    let finished = lab.finish("", arguments);
    finished.expect(0, &[]);
    assert!(finished.stdout.contains("Why slow responses were slow"), "{}", finished.stdout);

    for (file, cause) in [
        ("004-cpuload-seed1", &[Part::CpuWait][..]),
        ("007-2ctx-mem-seed1", &[Part::BlockIo, Part::SwapIn, Part::Thrashing, Part::Reclaim][..]),
    ] {
        let run = lab.fixture.run_file(file);
        let samples = explain_run(&run);
        assert!(!samples.is_empty(), "{file}");
        for (sample, explained) in &samples {
            assert_eq!(explained.delay_ns, sample.delay_ns(), "{file}");
            let sum_ns: u64 = explained.parts_ns.values().flatten().sum();
            assert_eq!(sum_ns, explained.delay_ns, "{file}: {explained:?}");
            // A guest without a sandbox has no quota; Linux 6.1 counts no interrupts.
            let known = |part| explained.parts_ns[&part].is_some();
            assert!(!known(Part::Throttled) && known(Part::Thrashing), "{file}: {explained:?}");
        }
        let account = Account::of(samples.iter().map(|(_, explained)| explained));
        // Virtual time: the same on every host. What the sample before took explains nothing here.
        let own = 1.0 - account.share(Part::MissedStart).unwrap();
        let unexplained = account.share(Part::Remainder).unwrap();
        assert!(unexplained <= 0.1 * own, "{file}: {account:?}");
        let because: f64 = cause.iter().filter_map(|part| account.share(*part)).sum();
        assert!(because > 0.2 * own, "{file}: {account:?}");
    }

    let told = lab.command(&["show", "output", "--json"]);
    told.expect(0, &[]);
    let told: Value = serde_json::from_str(&told.stdout).unwrap();
    let thrashing = told["why_slow"].as_array().unwrap().iter().find(|it| it["load"] == "2ctx-mem");
    let thrashing = thrashing.unwrap();
    assert!(thrashing["explained"].as_f64().unwrap() >= 0.9, "{thrashing}");
    let worst = thrashing["worst"].as_array().unwrap();
    assert_eq!(worst.len(), 1, "{thrashing}");
    assert!(worst[0]["counters"]["major_faults"].as_u64().unwrap() > 0, "{thrashing}");
}
