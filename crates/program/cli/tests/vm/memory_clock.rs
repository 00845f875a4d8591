//! Guests whose virtual clock pays for translations of addresses.

use std::fs;

use model::{Line, Run};
use serde_json::Value;

use crate::lab::Lab;

const TIME_PER_CYCLE_NS: f64 = 8.0;

/// Time, touches and folder of a job that touches pages at random in the steady state.
struct Touching {
    folder: String,
    touches: f64,
    elapsed_ns: f64,
}

impl Touching {
    fn run(lab: &Lab, settings: &str, footprint: &str, pages: &str) -> Self {
        let settings = format!("mem=96M,kernel_mem=80M,thp=madvise,{settings}");
        let job = "--job touch --set pattern=uniform --set time=40ms --set limit=500ms";
        let folder = format!("{footprint}-{pages}-{}", settings.rsplit('=').next().unwrap());
        let more = format!("--set footprint={footprint} --set pages={pages} --output {folder}");
        lab.finish(&settings, &format!("{job} {more}")).expect(0, &[]);
        let file = lab.fixture.path().join(&folder).join("001-noload-seed1.run.jsonl");
        let shown = lab.command(&["show", "--json", &file.display().to_string()]);
        let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
        let work = &shown["rows"][0]["work"];
        let [touches, elapsed_ns] =
            ["touches", "elapsed_ns"].map(|field| work[field].as_f64().unwrap());
        Self { folder: file.display().to_string(), touches, elapsed_ns }
    }

    fn touch_ns(&self) -> f64 {
        self.elapsed_ns / self.touches
    }
}

/// Irlam's cliff: beyond the reach of a TLB each touch takes longer, unless pages are larger.
#[test]
fn a_guest_feels_the_reach_of_a_tlb_and_huge_pages_pay() {
    let Some(lab) = Lab::with_engine("a_guest_feels_the_reach_of_a_tlb_and_huge_pages_pay") else {
        return;
    };
    let touch_ns = |settings: &str, footprint: &str, pages: &str| {
        Touching::run(&lab, settings, footprint, pages).touch_ns()
    };
    let plain = ["16K", "4M"].map(|size| touch_ns("time.model=instructions", size, "small"));
    assert!((plain[1] / plain[0] - 1.0).abs() < 0.01, "{plain:?}");
    let tiny = "time.model=memory,time.machine=tiny";
    let tiny = ["16K", "4M"].map(|size| touch_ns(tiny, size, "small"));
    assert!(tiny[1] > 3.0 * tiny[0], "{plain:?} {tiny:?}");
    let zen4 = "time.model=memory,time.machine=zen4";
    let small = ["128K", "16M"].map(|size| touch_ns(zen4, size, "small"));
    let huge = touch_ns(zen4, "16M", "thp");
    assert!(small[1] > 1.3 * small[0], "{plain:?} {small:?}");
    assert!(huge < 1.1 * small[0], "{small:?} {huge}");
}

/// What the clock paid is what `profile --memory` counts of the same run.
#[test]
fn the_clock_pays_what_the_simulation_of_the_same_machine_costs() {
    const NAME: &str = "the_clock_pays_what_the_simulation_of_the_same_machine_costs";
    let Some(lab) = Lab::with_engine(NAME) else { return };
    let plain = Touching::run(&lab, "time.model=instructions", "16M", "small");
    let paid = Touching::run(&lab, "time.model=memory", "16M", "small");
    // The last pass touches, and does nothing else.
    let run = Run::parse(&fs::read(&paid.folder).unwrap()).unwrap();
    let mut passes = run.lines.iter().filter_map(|line| match line {
        Line::Pass(pass) => Some(pass),
        _ => None,
    });
    let pass = passes.next_back().unwrap();
    let [since, until] = [pass.started_ns, pass.completed_ns].map(|ns| format!("{ns}ns"));
    let interval = ["--since", &since, "--until", &until];
    let profile = ["profile", "--json", "--memory", "zen4", &paid.folder];
    let profile = lab.command(&[&profile[..], &interval].concat());
    profile.expect(0, &[]);
    let profile: Value = serde_json::from_str(&profile.stdout).unwrap();
    let functions = profile["memory"]["functions"].as_array().unwrap();
    let cycles: f64 = functions.iter().map(|it| it["cycles"].as_f64().unwrap()).sum();
    let elapsed_ns = (pass.completed_ns - pass.started_ns) as f64;
    // An instruction takes 8 ns, and this user never sleeps.
    let found_ns = elapsed_ns - 8.0 * profile["instructions"].as_f64().unwrap();
    let expected_ns = cycles * TIME_PER_CYCLE_NS;
    assert!(
        found_ns > 0.1 * elapsed_ns && (found_ns / expected_ns - 1.0).abs() < 0.001,
        "{found_ns} {expected_ns} of {elapsed_ns}"
    );

    let [plain, paid] = [&plain, &paid].map(|it| it.folder.as_str());
    let refused = lab.command(&["compare", plain, paid]);
    refused.expect(2, &["cannot be compared", "virtual time of instructions and translations"]);
}

#[test]
fn equal_inputs_have_equal_bytes_and_bad_settings_are_refused() {
    const NAME: &str = "equal_inputs_have_equal_bytes_and_bad_settings_are_refused";
    let Some(lab) = Lab::with_engine(NAME) else { return };
    for cpus in ["cpus=1", "cpus=2", "cpus=2,cpus.model=parallel,schedule=seed"] {
        let machine = format!("{},time.model=memory,time.machine=tiny,{cpus}", lab.machine());
        let times = ["--boots", "2", "--runs-per-boot", "2", "--load", "noload"];
        let verified = lab.command(&[&["vm", "verify", &machine][..], &times].concat());
        verified.expect(0, &[]);
        assert!(verified.stdout.contains("identical"), "{}", verified.stdout);
    }
    for (settings, why) in [
        ("time.model=caches", "is not one of instructions, memory"),
        ("time.machine=zen4", "time.model=memory"),
        ("time.model=memory,time.machine=pdp11", "choose from golden-cove"),
        ("time.model=memory,accel=kvm", "accel=tcg"),
    ] {
        lab.finish(settings, "--load noload").expect(2, &[why]);
    }
}

#[test]
fn the_qemu_of_the_system_cannot_pay() {
    let Some(lab) = Lab::of_system("the_qemu_of_the_system_cannot_pay") else { return };
    let refused = lab.finish("time.model=memory", "--load noload");
    refused.expect(3, &["only the engine", "thrashlab vm engine build"]);
}
