//! A unit of systemd as the subject: observed as it is, and with a limit that is lowered and put
//! back.

use crate::guest::Guest;

/// The limit of the unit in the tests.
const HIGH: &str = "cat /sys/fs/cgroup/system.slice/tenant.service/memory.high";
/// A client: one answer of the unit, which reads a file.
const CLIENT: &str = "sh -c 'echo now >/root/ask; read answer </root/reply'";

#[test]
fn a_unit_is_observed_and_its_limit_is_put_back() {
    let Some(mut guest) = Guest::for_long("a_unit_is_observed_and_its_limit_is_put_back") else {
        return;
    };
    // Pages belong to the group that reads them first. A limit of its own is what is put back.
    let tenant = "mkfifo /root/ask /root/reply; seq 1 6000000 >/root/data; sync
        echo 1 >/proc/sys/vm/drop_caches
        cat >/root/tenant <<'END'
while read word </root/ask; do cat /root/data >/dev/null; echo done >/root/reply; done
END
        systemd-run -q --unit tenant -p MemoryHigh=900M sh /root/tenant";
    guest.root(tenant).expect(0, &[]);

    let run = guest.login("root", &format!("thrashlab run --unit tenant --runs 4 -- {CLIENT}"));
    run.expect(0, &[]).prints(&["the unit tenant", " takes "]);
    guest.assert_nothing_left();

    let limit = "thrashlab limit --unit tenant --floor 24M --runs 2 --budget 8";
    let refused = guest.login("root", &format!("{limit} -- {CLIENT}"));
    refused.expect(2, &["--yes"]);
    let found = guest.login("root", &format!("{limit} --price 50% --yes -o found -- {CLIENT}"));
    found.expect(0, &[]).prints(&["ecommended"]);
    guest.root(HIGH).prints(&["943718400"]);

    // Killed while the limit is low: the cleanup process puts it back.
    let killed = guest.start("root", &format!("{limit} --yes -o killed -- {CLIENT}"));
    guest.await_that(&format!("test $({HIGH}) -lt 943718400"));
    guest.root("kill -KILL $(pgrep -f '^thrashlab limit')").expect(0, &[]);
    guest.await_that(&format!("test $({HIGH}) = 943718400"));
    assert_ne!(guest.answer(killed).code, 0);
    guest.assert_nothing_left();

    let unknown = guest.login("root", "thrashlab run --unit nobody -- true");
    assert_ne!(unknown.code, 0, "{unknown:#?}");
    assert!(unknown.stderr.contains("nobody"), "{unknown:#?}");
}
