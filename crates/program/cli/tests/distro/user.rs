//! An ordinary user in a login: the sandbox in a scope of the user's systemd, and what happens
//! where there is none.

use crate::guest::{Guest, SHORT};

/// The message about the scope.
const SCOPE: &str = "not root: the sandbox is created in thrashlab-";

#[test]
fn an_ordinary_user_gets_a_sandbox_without_asking() {
    let Some(mut guest) = Guest::new("an_ordinary_user_gets_a_sandbox_without_asking") else {
        return;
    };
    let run = guest.login("alice", &format!("thrashlab run {SHORT} --output first"));
    run.expect(0, &[SCOPE]).prints(&["sandbox of ", "delay accounting"]);
    assert_eq!(run.stderr.matches(SCOPE).count(), 1, "{run:#?}");
    assert_eq!(run.stdout.matches("delay accounting").count(), 1, "{run:#?}");
    assert!(!run.stdout.contains("environment.governor"), "{run:#?}");
    guest.assert_nothing_left();

    // Limits of all three controllers.
    let limits = "sandbox:mem=64M,cpus=0.5,pids=50";
    let limited = format!("thrashlab run {SHORT} --subject {limits} --output limited");
    guest.login("alice", &limited).expect(0, &[SCOPE]).prints(&["sandbox of 64M"]);
    guest.assert_nothing_left();

    // All that is not available is one letter away.
    let all = guest.login("alice", "thrashlab show -v first");
    all.expect(0, &[]).prints(&["Not available here (", "environment.governor"]);
}

#[test]
fn the_seven_loads_are_measured_without_asking() {
    let test = "the_seven_loads_are_measured_without_asking";
    let Some(mut guest) = Guest::for_long(test) else { return };
    let run = guest.login("alice", "thrashlab run --quick --output quick");
    run.expect(0, &[SCOPE]).prints(&["sandbox of ", "2 CPUs"]);
    let rows = |load: &str| run.stdout.lines().filter(|row| row.starts_with(load)).count();
    let loads = workloads::loads().map(|load| load.name);
    let loads: Vec<&str> = loads.filter(|name| !name.starts_with("provoke-")).collect();
    assert_eq!(loads.len(), 7, "{loads:?}");
    for load in loads {
        assert!(rows(&format!("{load} ")) > 0, "no row of {load}: {run:#?}");
    }
    guest.assert_nothing_left();
}

#[test]
fn a_plan_of_an_ordinary_user_is_carried_out_in_one_scope() {
    let Some(mut guest) = Guest::for_long("a_plan_of_an_ordinary_user_is_carried_out_in_one_scope")
    else {
        return;
    };
    let plan = "name = \"length\"\n[base]\nsubject = \"sandbox:mem=64M\"\nload = \"noload\"\n\
                probe = \"wake\"\ninterval = \"200ms\"\n[[factor]]\nname = \"length\"\n\
                parameter = \"points\"\nlevels = [1, 2]\n";
    let script = format!("cat >plan.toml <<'X'\n{plan}X\nthrashlab experiment plan.toml");
    let carried = guest.login("alice", &script);
    carried.expect(0, &[SCOPE]);
    assert_eq!(carried.stderr.matches(SCOPE).count(), 1, "{carried:#?}");
    guest.assert_nothing_left();
}

#[test]
fn without_a_user_manager_the_reason_is_said_once_and_the_host_is_measured() {
    let test = "without_a_user_manager_the_reason_is_said_once_and_the_host_is_measured";
    let Some(mut guest) = Guest::new(test) else { return };
    // Not a login: no session is begun, and no manager is started.
    let bare = |arguments: &str| {
        format!(
            "cd /home/alice && env -i HOME=/home/alice PATH=/usr/local/bin:/usr/bin:/bin \
             setpriv --reuid alice --regid alice --init-groups thrashlab {arguments}"
        )
    };
    let run = guest.root(&bare(&format!("run {SHORT} --load noload,cpuload --output o")));
    run.expect(0, &["no sandbox: ", "no systemd of user 1000", "Continuing on the host"]);
    assert_eq!(run.stderr.matches("no sandbox").count(), 1, "{run:#?}");
    guest.assert_nothing_left();

    let wanted = guest.root(&bare("run --subject sandbox:mem=64M --output p"));
    wanted.expect(3, &["no systemd of user 1000", "run as root", "systemctl --user status"]);
    guest.assert_nothing_left();

    // A manager that lingers is found without a login.
    let bob = bare(&format!("run {SHORT} --output o")).replace("alice", "bob");
    guest.root(&bob).expect(0, &[SCOPE]).prints(&["sandbox of "]);
    guest.assert_nothing_left();
}

#[test]
fn a_scope_that_the_user_made_stays_as_it_was() {
    let test = "a_scope_that_the_user_made_stays_as_it_was";
    let Some(mut guest) = Guest::for_long(test) else { return };
    // A shell lives in the group too, and a user's systemd marks none as delegated.
    let shared = format!(
        "systemd-run --user --scope -q -p Delegate=yes bash -c \
         'thrashlab run {SHORT} --output b; echo code $?; cat /proc/self/cgroup'"
    );
    let run = guest.login("alice", &shared);
    run.expect(0, &[SCOPE]).prints(&["sandbox of ", "code 0", "app.slice/run-"]);
    guest.assert_nothing_left();
}

#[test]
fn an_ordinary_user_sees_what_is_his_own() {
    let Some(mut guest) = Guest::new("an_ordinary_user_sees_what_is_his_own") else { return };
    let own = guest.login(
        "alice",
        "sleep 100 & sleep 100 & thrashlab footprint $(pgrep -u alice -x sleep); code=$?; \
         kill $(jobs -p); exit $code",
    );
    own.expect(0, &[]).prints(&["sleep"]);
    let foreign = guest.login("alice", "thrashlab footprint 1");
    assert_ne!(foreign.code, 0, "{foreign:#?}");
    assert!(foreign.stderr.contains("thrashlab: "), "{foreign:#?}");
    let doctor = guest.login("alice", "thrashlab doctor --for 1s");
    doctor.expect(0, &[]).prints(&["Over "]);
    // The costs that the doctor measures are kept in the user's folders.
    guest.assert_nothing_left();
}
