//! The end of a run, however it comes: Ctrl-C at a terminal, SIGKILL, the end of the scope.

use crate::guest::Guest;

/// A run that lasts until it is ended. Before a load comes a baseline with as many points.
fn lasting(load: &str) -> String {
    let points = if load == "noload" { 600 } else { 40 };
    format!(
        "thrashlab run --load {load} --probe wake --interval 500ms --points {points} --warmup 10s \
         --no-report --output out"
    )
}

/// The number of the controller, for scripts.
const CONTROLLER: &str = "$(pgrep -u alice -f '^thrashlab run')";

/// Waits until a run of a load is under way.
fn await_phase(guest: &mut Guest, load: &str) {
    let number = if load == "noload" { 1 } else { 2 };
    guest.await_that(&format!(
        "grep -q '\"phase\":\"warming\"' /home/alice/out/00{number}-{load}.run.jsonl"
    ));
}

#[test]
fn ctrl_c_at_the_terminal_ends_a_run_in_a_scope_as_it_does_elsewhere() {
    let test = "ctrl_c_at_the_terminal_ends_a_run_in_a_scope_as_it_does_elsewhere";
    let Some(mut guest) = Guest::new(test) else { return };
    // script(1) makes the terminal; what goes into the pipe is typed there.
    let run = guest.start(
        "alice",
        &format!(
            "mkfifo keys; exec 5<>keys; stty_of='stty rows 24 cols 80'
             script -qec \"$stty_of; {}\" typescript <keys >/dev/null; echo code $?",
            lasting("noload")
        ),
    );
    await_phase(&mut guest, "noload");
    guest.root("printf '\\003' >/home/alice/keys");
    let ended = guest.answer(run);
    ended.prints(&["code 130"]);
    guest.assert_nothing_left();
    let last = guest.root("tail -n 1 /home/alice/out/001-noload.run.jsonl");
    last.prints(&["\"status\":\"interrupted\""]);
    // One line on the terminal says where the run went.
    let typed = guest.root("cat /home/alice/typescript").stdout;
    assert!(typed.contains("a transient scope of the user's systemd"), "{typed}");
}

#[test]
fn a_killed_controller_in_a_scope_leaves_nothing() {
    let Some(mut guest) = Guest::new("a_killed_controller_in_a_scope_leaves_nothing") else {
        return;
    };
    killed(&mut guest, "cpuload", &format!("kill -KILL {CONTROLLER}"));
    // systemd ends the whole scope, cleanup process or not.
    killed(&mut guest, "noload", "systemctl --user -M alice@ stop 'thrashlab-*.scope'");
}

/// Ends a run of a load by a command of root, and looks for what is left.
fn killed(guest: &mut Guest, load: &str, command: &str) {
    // Before the start: otherwise the file of the run before is taken for that of this one.
    guest.root("rm -rf /home/alice/out").expect(0, &[]);
    let run = guest.start("alice", &lasting(load));
    await_phase(guest, load);
    guest.root(command).expect(0, &[]);
    guest.assert_nothing_left();
    let ended = guest.answer(run);
    assert_ne!(ended.code, 0, "{ended:#?}");
    // A file that was cut off is a valid shorter run.
    guest.login("alice", "thrashlab show out/001-noload.run.jsonl").expect(0, &[]);
}

#[test]
fn every_load_that_is_killed_in_a_scope_leaves_nothing() {
    let Some(mut guest) = Guest::for_long("every_load_that_is_killed_in_a_scope_leaves_nothing")
    else {
        return;
    };
    for load in workloads::loads().filter(|load| !load.name.starts_with("provoke-")) {
        killed(&mut guest, load.name, &format!("kill -KILL {CONTROLLER}"));
    }
}

#[test]
fn after_a_power_cut_in_a_scope_the_next_start_removes_the_rest() {
    let test = "after_a_power_cut_in_a_scope_the_next_start_removes_the_rest";
    let Some(mut guest) = Guest::for_long(test) else { return };
    let run = guest.start("alice", &lasting("2ctx-mem"));
    await_phase(&mut guest, "2ctx-mem");
    guest.root(
        "kill -KILL $(pgrep -f 'thrashlab-agent cleanup'); kill -KILL $(pgrep -u alice thrashlab)",
    );
    guest.answer(run);
    let next = guest.login(
        "alice",
        &lasting("noload").replace("600", "1").replace("--output out", "--output next"),
    );
    next.expect(0, &["had left: directory"]);
    guest.assert_nothing_left();
}
