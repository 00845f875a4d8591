//! The black box in machines that freeze: a process takes all memory, and the power is cut. What the
//! service of the package had recorded must name that process afterwards.

use serde_json::Value;

use crate::guest::Guest;

const EPISODES: usize = 20;
/// What the disk answers in a second.
const REQUESTS: u32 = 150;
/// The service of the package, which has its program in /usr/bin.
const UNIT: &str = include_str!("../../../../packaging/systemd/thrashlab-blackbox.service");
/// Reads a file of 400 MB again and again, as a server reads its data.
const VICTIM: &str = "while :; do cat /home/bob/data >/dev/null; done";
/// Takes memory in steps of 4 MiB until hardly any is left for the files of the others, and keeps it.
/// Its argument is the pause between two steps in ms.
const OFFENDER: &str = r#"
sub available { open my $file, "<", "/proc/meminfo"; join("", <$file>) =~ /MemAvailable: *(\d+)/; $1 }
while (available() > 24 << 10) { push @taken, "x" x (4 << 20); select undef, undef, undef, $ARGV[0] / 1000 }
sleep 3600"#;
/// What a machine without memory for its files loses time to.
const RULES: [&str; 3] = ["global-reclaim", "memcg-refault", "swap-thrash"];

/// Starts the service, and what is calm.
fn prepare(guest: &mut Guest) {
    let script = format!(
        "swapoff -a; cp /usr/local/bin/thrashlab /usr/bin/; sysctl -q kernel.task_delayacct=1
         cat >/etc/systemd/system/thrashlab-blackbox.service <<'END'\n{UNIT}\nEND
         cat >/root/offender <<'END'\n{OFFENDER}\nEND
         chmod 755 /root; chmod 644 /root/offender
         head -c 400M /dev/urandom >/home/bob/data; sync
         systemctl daemon-reload; systemctl start thrashlab-blackbox
         systemd-run -q --unit victim --uid bob sh -c '{VICTIM}'"
    );
    guest.root(&script).expect(0, &[]);
    guest.await_that("find /var/lib/thrashlab/ -type f -size +0 | grep -q .; sleep 15");
}

/// Freezes a machine, cuts its power, and boots it: what is said about the time at which the offender
/// began, the offender's process, and how long the frozen machine took for the list of a folder, in s.
fn episode(number: usize) -> Option<(Value, u64, f64)> {
    let mut guest = Guest::for_long("the_black_box_names_who_froze_the_machine")?;
    prepare(&mut guest);
    guest.limit_disk(REQUESTS);
    let pause_ms = [0, 20, 50, 100][number % 4];
    let begun = guest.root(&format!(
        "date +%FT%TZ -u; systemd-run -q --unit offender --uid alice perl /root/offender {pause_ms}
         systemctl show -P MainPID offender; sync"
    ));
    let (time, pid) = begun.stdout.trim().split_once('\n').unwrap();
    guest.await_that("test $(awk '/MemAvailable/ { print $2 }' /proc/meminfo) -lt 48000");
    let listing = std::time::Instant::now();
    guest.root("ls -lR /usr/share >/dev/null; systemctl --version >/dev/null; sleep 10");
    let listing_s = listing.elapsed().as_secs_f64() - 10.0;
    guest.cut_power();
    guest.limit_disk(0);
    let replay =
        format!("thrashlab doctor --replay /var/lib/thrashlab --at {time} --for 30s --json");
    let replayed = guest.root(&replay);
    replayed.expect(0, &[]);
    Some((serde_json::from_str(&replayed.stdout).unwrap(), pid.parse().unwrap(), listing_s))
}

#[test]
fn the_black_box_names_who_froze_the_machine() {
    let mut wrong = Vec::new();
    for number in 0..EPISODES {
        let Some((said, pid, listing_s)) = episode(number) else { return };
        // Groups come first.
        let grown = said["memory_growth"].as_array().unwrap().iter();
        let first = grown.map(|it| &it["scope"]["process"]["pid"]).find(|pid| pid.is_u64());
        let findings = said["findings"].as_array().unwrap();
        let suffered = findings.iter().any(|it| RULES.iter().any(|rule| it["rule"] == *rule));
        let named = first.is_some_and(|first| *first == pid);
        eprintln!(
            "episode {number}: named {named}, those who suffered {suffered}, a listing took \
             {listing_s:.1} s"
        );
        if !named {
            eprintln!("the offender is {pid}: {said:#}");
            wrong.push(number);
        }
    }
    assert!(wrong.is_empty(), "not named in {} of {EPISODES}: {wrong:?}", wrong.len());
}
