//! The doctor and what it is to name: memory pressure of a machine with swap and with a group that
//! has a `memory.high`, which few hosts of tests have.
//!
//! Only the name is looked at: an emulated processor and disk have other prices.

use serde_json::Value;

use crate::guest::Guest;

/// Provokes a condition as root, and has the doctor watch: the findings, the strongest first.
fn findings(guest: &mut Guest, load: &str, subject: &str) -> Vec<String> {
    let run = guest.start(
        "root",
        &format!(
            "cd /root; rm -rf out; thrashlab run --load {load} --probe wake --interval 1s \
             --points 30 --warmup 60s --no-report --subject {subject} --output out"
        ),
    );
    guest.await_that(&format!("grep -q '\"phase\":\"measuring\"' /root/out/002-{load}.run.jsonl"));
    let doctor = guest.root("thrashlab doctor --for 6s --json");
    doctor.expect(0, &[]);
    guest.root("pkill -INT -o -x thrashlab");
    guest.answer(run);
    guest.assert_nothing_left();
    let diagnosis: Value = serde_json::from_str(&doctor.stdout).unwrap();
    let findings = diagnosis["findings"].as_array().unwrap().iter();
    findings.map(|found| found["rule"].as_str().unwrap().to_owned()).collect()
}

/// A condition is named under the load that provokes it.
fn named(guest: &mut Guest, rule: &str, subject: &str) {
    guest.root("thrashlab doctor --calibrate").expect(0, &[]);
    let found = findings(guest, &format!("provoke-{rule}"), subject);
    assert!(found.iter().any(|name| name == rule), "{found:?}");
}

#[test]
fn a_group_above_its_memory_high_is_named() {
    let test = "a_group_above_its_memory_high_is_named";
    let Some(mut guest) = Guest::for_long(test) else { return };
    // Memory that could be swapped out would be, and the group would come below its limit.
    guest.root("swapoff -a").expect(0, &[]);
    named(&mut guest, "memory-high", "sandbox:mem=96M,high=48M");
}

#[test]
fn a_group_that_swaps_is_named() {
    let Some(mut guest) = Guest::new("a_group_that_swaps_is_named") else { return };
    named(&mut guest, "swap-thrash", "sandbox:mem=64M");
}

#[test]
fn a_group_that_reads_its_file_again_and_again_is_named() {
    let test = "a_group_that_reads_its_file_again_and_again_is_named";
    let Some(mut guest) = Guest::for_long(test) else { return };
    named(&mut guest, "memcg-refault", "sandbox:mem=64M");
}

#[test]
fn a_quota_that_is_used_up_is_named() {
    let Some(mut guest) = Guest::for_long("a_quota_that_is_used_up_is_named") else { return };
    named(&mut guest, "cpu-denied", "sandbox:mem=64M,cpus=0.5");
}

#[test]
fn a_storm_of_forks_is_named() {
    let Some(mut guest) = Guest::for_long("a_storm_of_forks_is_named") else { return };
    named(&mut guest, "fork-storm", "sandbox:mem=256M");
}

#[test]
fn a_machine_without_free_memory_is_named() {
    let Some(mut guest) = Guest::for_long("a_machine_without_free_memory_is_named") else {
        return;
    };
    named(&mut guest, "global-reclaim", "host:mem=800M");
}
