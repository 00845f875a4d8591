//! What translations cost in a guest, by function.

use serde_json::Value;

use crate::lab::Lab;

/// A job that touches 4096 small pages at random, more than any TLB of the machine has.
fn touching(lab: &Lab, pages: &str) -> String {
    let job = "--job touch --set footprint=16M --set pattern=uniform --set time=40ms --set pages=";
    let settings = "mem=96M,kernel_mem=80M,thp=madvise";
    lab.finish(settings, &format!("{job}{pages} --set limit=500ms")).expect(0, &[]);
    lab.fixture.path().join("output/001-noload-seed1.run.jsonl").display().to_string()
}

fn json(lab: &Lab, arguments: &[&str]) -> Value {
    let printed = lab.command(&[&["profile", "--json", "--memory"], arguments].concat());
    printed.expect(0, &[]);
    serde_json::from_str(&printed.stdout).unwrap()
}

fn sum(list: &Value, field: &str) -> u64 {
    list.as_array().unwrap().iter().map(|it| it[field].as_u64().unwrap()).sum()
}

#[test]
fn functions_and_tasks_sum_to_the_price_and_huge_pages_lower_it() {
    const NAME: &str = "functions_and_tasks_sum_to_the_price_and_huge_pages_lower_it";
    let Some(lab) = Lab::with_engine(NAME) else { return };
    let (small_lab, huge_lab) = (lab.sibling(), lab.sibling());
    let files = [touching(&small_lab, "small"), touching(&huge_lab, "thp")];
    let profiles = files.each_ref().map(|file| json(&lab, &["zen4", file]));
    let walks = profiles.each_ref().map(|profile| {
        let memory = &profile["memory"];
        for field in ["references", "misses", "walks", "steps", "steps_from_memory", "cycles"] {
            let all = memory["price"][field].as_u64().unwrap();
            assert!(all > 0, "{field}");
            assert_eq!(sum(&memory["functions"], field), all, "{field}");
            assert_eq!(sum(&memory["tasks"], field), all, "{field}");
        }
        let all = profile["instructions"].as_u64().unwrap();
        assert_eq!(sum(&memory["functions"], "instructions"), all);
        assert_eq!(memory["unreadable"], 0);
        let functions = memory["functions"].as_array().unwrap();
        let user = functions.iter().find(|it| it["name"] == "[thrashlab-agent]").unwrap();
        1000 * user["walks"].as_u64().unwrap() / user["references"].as_u64().unwrap().div_ceil(1000)
    });
    // Walks in a million references.
    assert!(walks[0] > 1000 && 10 * walks[1] < walks[0], "{walks:?}");

    let [small, huge] = files.each_ref().map(String::as_str);
    let difference = json(&lab, &["zen4", small, huge]);
    let prices = difference["memory"]["prices"].as_array().unwrap();
    assert_eq!(prices[0], profiles[0]["memory"]["price"]);
    assert_eq!(prices[1], profiles[1]["memory"]["price"]);
    assert_eq!(difference["memory"]["functions"][0]["name"], "[thrashlab-agent]");

    let refused = lab.command(&["profile", small, "--memory", "sparcstation1"]);
    refused.expect(2, &["a Sun-4 has no TLBs", "thrashlab mmu machines"]);
}

/// The simulator in the plugin, and the one of `mmu run` on a trace of the same guest.
#[test]
fn a_trace_of_the_whole_guest_has_the_same_counts() {
    let Some(lab) = Lab::with_engine("a_trace_of_the_whole_guest_has_the_same_counts") else {
        return;
    };
    for (cpus, time, machine) in
        [("1", "instructions", "golden-cove"), ("1", "memory", "zen4"), ("2", "memory", "zen4")]
    {
        let lab = lab.sibling();
        let settings = format!("cpus={cpus},time.model={time}");
        lab.finish(&settings, "--load noload --points 1 --interval 10ms").expect(0, &[]);
        let file = "output/001-noload-seed1.run.jsonl";
        let whole = &json(&lab, &[machine, file])["memory"]["whole_recording"];
        lab.command(&["trace", "record", "--guest", file]).expect(0, &["references of the guest"]);
        let cores = format!("cores={cpus}");
        let arguments = ["mmu", "run", "--json", "--machine", machine, "--set", &cores];
        let simulated = lab.command(&[&arguments[..], &["trace.tlt"]].concat());
        simulated.expect(0, &[]);
        let simulated: Value = serde_json::from_str(&simulated.stdout).unwrap();
        assert!(whole["walks"]["walks"].as_u64().unwrap() > 1000, "{whole}");
        assert_eq!(&simulated["outcome"], whole, "{machine}");

        let part = ["trace", "record", "--guest", file, "--since", "1ms", "--until", "2ms"];
        lab.command(&[&part[..], &["--output", "part.tlt"]].concat()).expect(0, &[]);
        let stat = lab.command(&["trace", "stat", "--json", "part.tlt"]);
        let stat: Value = serde_json::from_str(&stat.stdout).unwrap();
        let references = stat["summary"]["references"].as_u64().unwrap();
        let all = whole["references"].as_u64().unwrap();
        assert!(references > 0 && references < all / 2, "{references} of {all}");
    }
    let refused = lab.command(&["trace", "record", "--guest", "none.run.jsonl"]);
    refused.expect(2, &["none.run.jsonl"]);
}

#[test]
fn several_cpus_have_tlbs_of_their_own() {
    let Some(lab) = Lab::with_engine("several_cpus_have_tlbs_of_their_own") else { return };
    let (file, _) = lab.swapping_run("cpus=2");
    let memory = &json(&lab, &["skylake-sp", &file])["memory"];
    let all = memory["price"]["walks"].as_u64().unwrap();
    assert!(all > 1000, "{all}");
    assert_eq!(sum(&memory["tasks"], "walks"), all);
}
