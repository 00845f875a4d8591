//! Freezes: a small scenario in a guest, the same result again without a guest, a daemon that kills before
//! the kernel does, and wrong names.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::lab::Lab;
use crate::skip::skip;
use crate::support::Finished;

/// Fills the memory in a few seconds, where there is no swap.
const SCENARIO: &str = "name = \"short\"\n[set]\nload = \"exhaust-burst\"\n\
                        subject.swap = 0\ninterval = \"250ms\"\npoints = 16\n";

/// Policies whose root is the folder next to their file: a daemon, in a machine in which an offender gets
/// larger than the bystander, and one that is missing.
const DAEMONS: &str = "\
[[policy]]
name = \"killer\"
set = { subject.kernel_mem = \"72M\" }
daemon = { root = \"root\", command = \"killer\", ready = \"test -e /run/ready\" }
[[policy]]
name = \"missing\"
daemon = { root = \"root\", command = \"kiler\" }
";
/// Ends each ordinary process that holds more than 20 MiB.
const KILLER: &str = "\
#!/bin/sh
: >/run/ready
while sleep 0.1; do
  for folder in /proc/[0-9]*; do
    read -r score <$folder/oom_score_adj && [ \"$score\" -ge 0 ] || continue
    read -r size resident rest <$folder/statm && [ \"$resident\" -gt 5120 ] || continue
    kill -TERM \"${folder#/proc/}\"
  done
done
";

/// Policies whose root is the folder next to their file, with the processes of a run in groups: without
/// limits, and with one for the offender or the probe alone.
const GROUPS: &str = "\
[[policy]]
name = \"apart\"
groups = {}
daemon = { root = \"root\", command = \"idle\" }
[[policy]]
name = \"limited\"
groups = { offenders = { \"memory.max\" = \"6M\" } }
daemon = { root = \"root\", command = \"idle\" }
[[policy]]
name = \"starved\"
groups = { probe = { \"memory.max\" = \"256K\" } }
daemon = { root = \"root\", command = \"idle\" }
";
/// A daemon that does nothing.
const IDLE: &str = "#!/bin/sh\nexec sleep 1000\n";

/// Makes a root of a static busybox, and a program of this text in it. `None`, which is noted, without one.
fn busybox_root(test: &str, folder: &Path, name: &str, text: &str) -> Option<()> {
    let words = |command: &str| {
        let output = Command::new("sh").args(["-c", command]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    let busybox = words("command -v busybox");
    if busybox.is_empty() || !words(&format!("ldd {busybox} 2>/dev/null")).is_empty() {
        skip(test, "a static busybox is not installed");
        return None;
    }
    let bin = folder.join("bin");
    fs::create_dir_all(&bin).unwrap();
    fs::copy(PathBuf::from(busybox), bin.join("busybox")).unwrap();
    for applet in ["sh", "sleep", "tail", "true"] {
        symlink("busybox", bin.join(applet)).unwrap();
    }
    fs::write(bin.join(name), text).unwrap();
    fs::set_permissions(bin.join(name), Permissions::from_mode(0o755)).unwrap();
    Some(())
}

/// The figures of policies in the short scenario, whose root has a static busybox and a program of this
/// name and text; the command must print these words. `None`, which is noted, without a guest or busybox.
fn with_root(
    test: &str,
    (name, text): (&str, &str),
    policies: &str,
    printed: &[&str],
) -> Option<Value> {
    let lab = Lab::new(test)?;
    let folder = lab.fixture.path();
    busybox_root(test, &folder.join("root"), name, text)?;
    let machine = lab.machine();
    let kernel = machine.split_once("kernel=").unwrap().1;
    fs::write(folder.join("short.toml"), SCENARIO).unwrap();
    fs::write(folder.join("policies.toml"), policies).unwrap();
    let request = ["short.toml", "--policy", "policies.toml", "--kernels", kernel, "--json"];
    let measured = freeze(&lab, &request);
    measured.expect(0, printed);
    Some(serde_json::from_str(&measured.stdout).unwrap())
}

/// The cell of a policy.
fn cell<'a>(figures: &'a Value, policy: &str) -> &'a Value {
    let cells = figures["cells"].as_array().unwrap();
    cells.iter().find(|cell| cell["policy"] == policy).unwrap()
}

fn freeze(lab: &Lab, arguments: &[&str]) -> Finished {
    lab.command(&[&["freeze"], arguments].concat())
}

#[test]
fn a_process_that_takes_all_memory_is_killed_and_the_run_goes_on() {
    const NAME: &str = "a_process_that_takes_all_memory_is_killed_and_the_run_goes_on";
    let Some(lab) = Lab::new(NAME) else { return };
    let machine = lab.machine();
    let kernel = machine.split_once("kernel=").unwrap().1;
    fs::write(lab.fixture.path().join("short.toml"), SCENARIO).unwrap();
    let request = ["short.toml", "--policy", "no-swap", "--kernels", kernel, "--folder", "output"];

    let first = freeze(&lab, &request);
    first.expect(0, &["1 scenario, 2 policies: 1 run"]);
    assert!(first.stdout.contains("1 offender"), "{}", first.stdout);
    let again = freeze(&lab, &request);
    assert!(!again.stderr.contains("virtual time"), "nothing runs: {}", again.stderr);
    assert_eq!(again.stdout, first.stdout);

    let json = freeze(&lab, &[&request[..], &["--json"]].concat());
    let figures: Value = serde_json::from_str(&json.stdout).unwrap();
    let run = &figures["cells"][0]["runs"][0];
    assert_eq!(run["victims"]["offenders"], 1, "{run}");
    assert_eq!((run["responses"].as_u64(), run["status"].as_str()), (Some(16), Some("complete")));
    assert!(run["idle_s"].as_f64().unwrap() > 0.0 && !run["frozen_s"].is_null(), "{run}");
    freeze(&lab, &[&request[..], &["-o", "page.html"]].concat()).expect(0, &["wrote page.html"]);
}

#[test]
fn a_daemon_of_a_folder_kills_before_the_kernel_does() {
    const NAME: &str = "a_daemon_of_a_folder_kills_before_the_kernel_does";
    let printed = ["3 runs", "policy missing: the guest does not boot"];
    let Some(figures) = with_root(NAME, ("killer", KILLER), DAEMONS, &printed) else { return };
    // Only SIGKILL, which the kernel sends, has a time.
    let [alone, killer] = ["kernel", "killer"].map(|policy| &cell(&figures, policy)["runs"][0]);
    assert_eq!(alone["victims"]["offenders"], 1, "{alone}");
    assert!(alone["first_kill_after_s"].is_number(), "{alone}");
    assert_eq!(killer["victims"]["offenders"], 1, "{killer}");
    assert!(killer["first_kill_after_s"].is_null(), "{killer}");
    let problem = cell(&figures, "missing")["problem"].as_str().unwrap();
    assert!(problem.contains("start script") && problem.contains("kiler: not found"), "{problem}");
}

#[test]
fn offenders_and_probe_have_groups_with_limits_of_their_own() {
    const NAME: &str = "offenders_and_probe_have_groups_with_limits_of_their_own";
    let Some(figures) = with_root(NAME, ("idle", IDLE), GROUPS, &["4 runs"]) else { return };
    let run = |policy: &str| &cell(&figures, policy)["runs"][0];
    let killed = |policy: &str| {
        ["offenders", "bystanders", "probe"]
            .map(|who| run(policy)["victims"][who].as_u64().unwrap())
    };
    assert_eq!(killed("apart"), [1, 0, 0], "{}", run("apart"));
    assert_eq!(killed("limited"), [1, 0, 0], "{}", run("limited"));
    let [apart_s, limited_s] =
        ["apart", "limited"].map(|it| run(it)["first_kill_after_s"].as_f64().unwrap());
    assert!(limited_s < apart_s / 2.0, "{limited_s} {apart_s}");
    assert_eq!(killed("starved")[2], 1, "{}", run("starved"));
}

#[test]
fn a_wrong_name_gets_the_nearest_one() {
    let lab = Lab::without_guests();
    freeze(&lab, &["leek"]).expect(2, &["no scenario is named \"leek\"", "nearest is leak"]);
    freeze(&lab, &["leak", "--policy", "zrm"]).expect(2, &["nearest is zram", "freeze --list"]);
    freeze(&lab, &["none.toml"]).expect(2, &["none.toml: read it"]);
    let daemon = "[[policy]]\nname = \"mine\"\ndaemon = { root = \"root\", packages = [\"x\"], command = \"x\" }";
    fs::write(lab.fixture.path().join("daemon.toml"), daemon).unwrap();
    let refused = ["leak", "--policy", "daemon.toml"];
    freeze(&lab, &refused).expect(2, &["daemon.toml: policy \"mine\": daemon: packages"]);
    freeze(&lab, &["leak", "--everything"]).expect(2, &["--everything"]);
    let list = freeze(&lab, &["--list"]);
    list.expect(0, &[]);
    assert!(list.stdout.contains("container") && list.stdout.contains("min-ttl"));
}
