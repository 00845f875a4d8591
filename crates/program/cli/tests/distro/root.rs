//! Root on a machine of systemd: in a shell, in a unit, and in one that is delegated.

use crate::guest::{Guest, SHORT};

#[test]
fn root_gets_a_sandbox_with_and_without_a_unit_of_its_own() {
    let test = "root_gets_a_sandbox_with_and_without_a_unit_of_its_own";
    let Some(mut guest) = Guest::new(test) else { return };
    let bare = guest.login("root", &format!("thrashlab run {SHORT} --output /root/a"));
    bare.expect(0, &[]).prints(&["sandbox of "]);
    assert!(!bare.stderr.contains("scope"), "{bare:#?}");
    // Root can switch delay accounting on, and it is off again afterwards.
    assert!(!bare.stdout.contains("delay accounting"), "{bare:#?}");
    guest.root("test $(cat /proc/sys/kernel/task_delayacct) = 0").expect(0, &[]);
    guest.assert_nothing_left();

    for property in ["", "-p Delegate=yes"] {
        let script = format!(
            "systemd-run -q --wait --pipe {property} thrashlab run {SHORT} \
             --subject sandbox:mem=64M,cpus=0.5,pids=50 --output /root/of-unit{}",
            property.len()
        );
        guest.root(&script).expect(0, &[]).prints(&["sandbox of 64M"]);
        guest.assert_nothing_left();
    }
}

#[test]
fn a_delegated_unit_holds_the_sandboxes_of_its_program() {
    let Some(mut guest) = Guest::new("a_delegated_unit_holds_the_sandboxes_of_its_program") else {
        return;
    };
    guest.root(
        "systemd-run -q --unit lab -p Delegate=yes thrashlab run --load noload --probe wake \
         --interval 1s --points 200 --no-report --subject sandbox:mem=64M --output /root/lab",
    );
    guest.await_that("ls -d /sys/fs/cgroup/system.slice/lab.service/thrashlab-*");
    guest.root("systemctl stop lab");
    guest.assert_nothing_left();
    let run = guest.root("tail -n 1 /root/lab/001-noload.run.jsonl");
    run.prints(&["\"status\":\"interrupted\""]);
}

#[test]
fn a_swap_file_of_root_is_there_for_the_run_only() {
    let Some(mut guest) = Guest::for_long("a_swap_file_of_root_is_there_for_the_run_only") else {
        return;
    };
    let run = guest.root(&format!("thrashlab run {SHORT} --swap 64M --output /root/swap"));
    run.expect(0, &[]).prints(&["swap 576M"]);
    guest.root("test $(tail -n +2 /proc/swaps | wc -l) = 1").expect(0, &[]);
    guest.assert_nothing_left();
}
