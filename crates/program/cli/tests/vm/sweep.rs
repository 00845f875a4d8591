//! Sweeps and limits in guests: a cliff is found, and twice the same to the byte.

use std::fs;

use serde_json::Value;

use crate::lab::Lab;
use crate::support::Finished;

/// The runs, without the manifest.
fn runs(lab: &Lab) -> Vec<(String, Vec<u8>)> {
    let _ = fs::remove_file(lab.fixture.output().join(results::manifest::FILE));
    lab.files()
}

/// A file in a control group of the guest whose limit is passed on the way.
fn sweep(lab: &Lab) -> Finished {
    let subject = format!("vm:{},kernel_mem=52M,sandbox.mem=6M", lab.machine());
    let arguments = "sweep touch --range 1M..9M --coarse 5 --linear --passes 1 --budget 5 --no-cache \
                     --output output --json --set touch.backing=file --set touch.pattern=uniform \
                     --set touch.time=50ms --set touch.limit=8s --subject";
    let arguments: Vec<&str> = arguments.split_whitespace().chain([subject.as_str()]).collect();
    lab.command(&arguments)
}

#[test]
fn a_cliff_in_guests_is_found_twice_to_the_byte() {
    const NAME: &str = "a_cliff_in_guests_is_found_twice_to_the_byte";
    let Some(lab) = Lab::new(NAME) else { return };
    let other = lab.sibling();
    let (first, second) = (sweep(&lab), sweep(&other));
    first.expect(0, &[]);
    second.expect(0, &[]);
    assert_eq!(first.stdout, second.stdout, "the same sweep, another answer");
    assert!(runs(&lab) == runs(&other), "the same sweep, other bytes");
    let made: Value = serde_json::from_str(&first.stdout).unwrap();
    let cost = |index: usize| made["found"]["rows"][index]["cost"].as_f64().unwrap();
    assert!(cost(4) > 100.0 * cost(0), "{}", made["found"]["rows"]);
    let capacity = made["found"]["capacity"].as_f64().unwrap();
    assert!(capacity < 6.0 * 1024.0 * 1024.0, "{capacity}");
    let conclusion = made["found"]["moved"]["conclusion"].as_str().unwrap_or_default();
    let movers = made["found"]["moved"]["movers"].as_array().unwrap();
    // Counters that moved alike follow the first of them.
    let names = movers.iter().flat_map(|mover| {
        let also = mover["also"].as_array().into_iter().flatten();
        also.chain([&mover["name"]]).filter_map(Value::as_str)
    });
    let moved = |name: &str| names.clone().any(|it| it.contains(name));
    assert!(moved("pgmajfault"), "{}", made["found"]["moved"]);
    // Whether the kernel counts refaults, and as many as faults, depends on how much of the guest
    // its program takes.
    let expected = match moved("workingset_refault") {
        true => "file pages are evicted and read again",
        false => "pages are read from a disk",
    };
    assert!(conclusion.contains(expected), "{}", made["found"]["moved"]);
}

/// Which limit a file of 8 MiB needs, from all the memory of the machine downwards.
fn limit(lab: &Lab) -> Finished {
    let subject = format!("vm:{},kernel_mem=52M", lab.machine());
    let arguments = "limit --job touch:8M --set touch.backing=file --set touch.pattern=uniform \
                     --set touch.time=50ms --set touch.limit=20s --budget 6 --no-cache \
                     --output output --json --subject";
    let arguments: Vec<&str> = arguments.split_whitespace().chain([subject.as_str()]).collect();
    lab.command(&arguments)
}

#[test]
fn a_limit_in_guests_is_found_from_their_memory_downwards_twice_to_the_byte() {
    const NAME: &str = "a_limit_in_guests_is_found_from_their_memory_downwards_twice_to_the_byte";
    let Some(lab) = Lab::new(NAME) else { return };
    let other = lab.sibling();
    let (first, second) = (limit(&lab), limit(&other));
    first.expect(0, &["after 1 measurement at 48M it costs no more"]);
    assert_eq!(first.stdout, second.stdout, "the same limit, another answer");
    assert!(runs(&lab) == runs(&other), "the same limit, other bytes");
    let notes = first.stderr.lines().filter(|line| line.contains("micro with"));
    assert_eq!(notes.count(), 1, "noted for each measurement: {}", first.stderr);
    let found: Value = serde_json::from_str(&first.stdout).unwrap();
    let knee = &found["found"]["priced"]["knee"];
    let mib = |end: &str| knee[end].as_f64().unwrap() / 1_048_576.0;
    assert!(mib("dear") < 8.5 && mib("cheap") > 7.9 && mib("cheap") < 10.5, "{knee}");
}
