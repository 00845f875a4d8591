//! `thrashlab footprint`: tables, JSON, whom it asks, and what it refuses.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::skip::skip;
use crate::support::{Finished, Fixture, is_root};

/// A process that does nothing, killed when dropped.
struct Sleeper(Child);

impl Sleeper {
    fn of(user: Option<u32>) -> Self {
        let mut command = Command::new("sleep");
        command.arg("300").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if let Some(user) = user {
            command.uid(user).gid(user);
        }
        Self(command.spawn().unwrap())
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn footprint(fixture: &Fixture, arguments: &str) -> Finished {
    fixture.finish(fixture.thrashlab(&format!("footprint {arguments}")))
}

fn json(finished: &Finished) -> Value {
    finished.expect(0, &[]);
    serde_json::from_str(&finished.stdout).unwrap()
}

#[test]
fn two_processes_of_the_same_program_are_counted_and_compared() {
    let fixture = Fixture::new();
    let sleepers = [Sleeper::of(None), Sleeper::of(None)];
    let pids = format!("{} {}", sleepers[0].pid(), sleepers[1].pid());
    let found = json(&footprint(&fixture, &format!("{pids} --window 10ms --json --sort pid")));
    assert_eq!(found["window_ns"], 10_000_000);
    let page_bytes = found["geometry"]["page_bytes"].as_u64().unwrap();
    let processes = found["processes"].as_array().unwrap();
    assert_eq!(processes.len(), 2);
    for (process, sleeper) in processes.iter().zip(&sleepers) {
        assert_eq!(process["pid"], sleeper.pid());
        assert_eq!(process["name"], "sleep");
        let tables = &process["tables"];
        let number = |name: &str| tables[name].as_u64().unwrap();
        let needed = number("lowest") + number("middle") + number("upper") + number("reserved");
        assert_eq!(needed * page_bytes, number("counted_bytes"), "{process:#}");
        // libc, if nothing else.
        assert!(process["counts"]["shared_pages"].as_u64().unwrap() > 0);
        assert!(process["counts"]["active_pages"].is_u64() && process.get("mappings").is_none());
    }
    let text = footprint(&fixture, &format!("{pids} --no-clear --mappings --top 1"));
    text.expect(0, &[]);
    for words in ["what was active is not known", "and 1 more", "program text", "[stack]", "VmPTE"]
    {
        assert!(text.stdout.contains(words), "{words:?} is not in\n{}", text.stdout);
    }
}

#[test]
fn wrong_use_of_footprint_is_2_and_what_cannot_be_measured_is_3() {
    let fixture = Fixture::new();
    let own = std::process::id();
    let cases: [(&str, &[&str]); 6] = [
        ("", &["PID"]),
        ("1 --all", &["cannot be used with"]),
        ("x", &["invalid value"]),
        (&format!("{own} --window 61m"), &["at most 60m"]),
        (&format!("{own} --no-clear --window 1s"), &["cannot be used with"]),
        ("--cgroup /proc/sys", &["there is no control group /proc/sys"]),
    ];
    for (arguments, words) in cases {
        footprint(&fixture, arguments).expect(2, words);
    }
    footprint(&fixture, "4194305").expect(3, &["process 4194305: there is no such process"]);
    let help = footprint(&fixture, "--help");
    help.expect(0, &[]);
    assert!(help.stdout.contains("Examples:") && help.stdout.contains("docs/footprint.md"));
}

#[test]
fn other_users_are_not_perturbed_without_being_asked_about() {
    if !is_root() {
        skip(
            "other_users_are_not_perturbed_without_being_asked_about",
            "only root has processes of other users",
        );
        return;
    }
    let fixture = Fixture::new();
    let other = Sleeper::of(Some(65534));
    let pid = other.pid();
    let refused = footprint(&fixture, &format!("{pid} --window 1ms"));
    refused.expect(2, &["of user 65534", "--yes", "--no-clear"]);
    assert_eq!(refused.stdout, "");
    footprint(&fixture, &format!("{pid} --no-clear")).expect(0, &[]);
    footprint(&fixture, &format!("{pid} --yes --window 1ms")).expect(0, &[]);
}

#[test]
fn other_users_processes_are_left_out_and_own_ones_need_no_root() {
    let name = "other_users_processes_are_left_out_and_own_ones_need_no_root";
    if !is_root() {
        skip(name, "only root has processes of other users");
        return;
    }
    let fixture = Fixture::of_user(65534);
    let (own, of_root) = (Sleeper::of(Some(65534)), Sleeper::of(None));
    let pids = format!("{} {}", own.pid(), of_root.pid());
    let found = json(&footprint(&fixture, &format!("{pids} --window 1ms --json")));
    assert_eq!(found["processes"].as_array().unwrap().len(), 1);
    assert_eq!(found["processes"][0]["pid"], own.pid());
    assert_eq!(found["left_out"][0]["pid"], of_root.pid());
    assert!(found["left_out"][0]["reason"].as_str().unwrap().contains("only its owner and root"));
    let all = footprint(&fixture, "--all --window 1ms --top 1");
    all.expect(0, &[]);
    assert!(all.sentences().contains("Left out:"), "{}", all.stdout);
}
