//! The black box in machines that freeze: a process takes all memory, and the power is cut. What the
//! service of the package had recorded must name that process afterwards.

use serde_json::Value;

use crate::guest::Guest;

const EPISODES: usize = 20;
/// What the disk answers in a second.
const REQUESTS: u32 = 150;
/// The service of the package, which has its program in /usr/bin.
const UNIT: &str = include_str!("../../../../../packaging/systemd/thrashlab-blackbox.service");
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

/// What the recording of a machine that froze says afterwards.
struct Episode {
    /// Diagnosis of the time at which the offender began, as JSON.
    beginning: Value,
    /// Diagnosis of the last seconds before the power was cut, as JSON.
    end: Value,
    offender: u64,
    /// How long the frozen machine took for the list of a folder.
    listing_s: f64,
}

/// Freezes a machine, cuts its power, boots it and reads the recording.
fn episode(number: usize) -> Option<Episode> {
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
    guest.root("ls -lR /usr/share >/dev/null; systemctl --version >/dev/null; sleep 20");
    let listing_s = listing.elapsed().as_secs_f64() - 20.0;
    guest.cut_power();
    guest.limit_disk(0);
    let [beginning, end] = [time, "-5s"].map(|at| {
        let replay =
            format!("thrashlab doctor --replay /var/lib/thrashlab --at {at} --for 30s --json");
        let replayed = guest.root(&replay);
        replayed.expect(0, &[]);
        serde_json::from_str(&replayed.stdout).unwrap()
    });
    Some(Episode { beginning, end, offender: pid.parse().unwrap(), listing_s })
}

impl Episode {
    /// Whether the offender is the first process in the list of those that took memory; groups come
    /// before processes.
    fn names_the_offender(&self) -> bool {
        let grown = self.beginning["memory_growth"].as_array().unwrap().iter();
        let first = grown.map(|it| &it["scope"]["process"]["pid"]).find(|pid| pid.is_u64());
        first.is_some_and(|first| *first == self.offender)
    }

    /// Whether there is a finding about lack of memory, and who reads the file again waited longest.
    fn names_the_victim(&self) -> bool {
        let findings = self.end["findings"].as_array().unwrap();
        findings.iter().any(|it| RULES.iter().any(|rule| it["rule"] == *rule))
            && self.end["waited"][0].to_string().contains("/victim.service")
    }
}

#[test]
fn the_black_box_names_who_froze_the_machine() {
    let mut wrong = Vec::new();
    for number in 0..EPISODES {
        let Some(episode) = episode(number) else { return };
        let [offender, victim] = [episode.names_the_offender(), episode.names_the_victim()];
        eprintln!(
            "episode {number}: offender named {offender}, victim named {victim}, a listing took \
             {:.1} s",
            episode.listing_s
        );
        if !(offender && victim) {
            eprintln!(
                "{} in {:#}\nat the end {:#}",
                episode.offender, episode.beginning, episode.end
            );
            wrong.push(number);
        }
    }
    assert!(wrong.is_empty(), "not named in {} of {EPISODES}: {wrong:?}", wrong.len());
}
