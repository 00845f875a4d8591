//! `thrashlab limit`: the memory that a program of known size needs.

use serde_json::Value;

use crate::left::{assert_nothing_left, queue_keys};
use crate::skip::skip;
use crate::support::{Fixture, sandbox_works};

/// A file of 32 MB that is read again and again: with less memory, all of it comes from the disk.
const LIMIT: &str = "limit --job touch:32M --set touch.backing=file --set touch.time=5ms \
    --set touch.limit=2s --range 256M..20M --resolution 20% --budget 8 --output output \
    --work-dir work";

#[test]
fn the_limit_of_a_known_program_is_found_and_read_again() {
    const NAME: &str = "the_limit_of_a_known_program_is_found_and_read_again";
    if !sandbox_works() {
        return skip(NAME, "this user cannot make sandboxes here");
    }
    let fixture = Fixture::new();
    let finished = fixture.finish(fixture.thrashlab(&format!("{LIMIT} --json")));
    finished.expect(0, &["run files: output"]);
    let made: Value = serde_json::from_str(&finished.stdout).unwrap();
    let priced = &made["found"]["priced"];
    let levels = priced["levels"].as_array().unwrap();
    assert_eq!(levels[0]["level"], 256.0 * 1_048_576.0, "no limit comes first: {priced}");
    let mb = |level: &Value| level["level"].as_f64().unwrap() / 1_048_576.0;
    let ratio = |level: &&Value| level["ratio"]["ratio"].as_f64();
    let dear = levels.iter().find(|level| ratio(level).is_none_or(|ratio| ratio > 3.0)).unwrap();
    assert!(mb(dear) < 32.5, "what holds all of it is no cliff: {priced}");
    assert!(levels.iter().any(|it| mb(it) > 32.0 && mb(it) < 48.0), "the peak is tried: {priced}");
    assert_nothing_left(&fixture, 0, &queue_keys(&fixture));

    let again = fixture.finish(fixture.thrashlab(LIMIT));
    again.expect(0, &[]);
    assert!(!again.stderr.contains("[1/"), "no run is made: {}", again.stderr);
    let read = fixture.finish(fixture.thrashlab("sweep --from output")).stdout;
    for words in ["Limit: touch_ns", "ecommended", "limit runs died times"] {
        let words_of = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words_of(&read).contains(words), "{words:?} is not in\n{read}");
        assert!(words_of(&again.stdout).contains(words), "{words:?} is not in\n{}", again.stdout);
    }
}

/// `dd` reads into a buffer of 48 MiB, which cannot be evicted: it needs that and less than 2 MiB for
/// itself, the kernel's page tables, and memory charged in advance.
const BUFFER: &str = "limit --range 1G..16M --budget 16 --response cpu_ns --runs 1 \
    --prepare true -n dd --output output --work-dir work --json -- \
    dd if=/dev/zero of=/dev/null bs=48M count=4";

#[test]
fn a_command_dies_at_the_size_of_its_buffer() {
    const NAME: &str = "a_command_dies_at_the_size_of_its_buffer";
    if !sandbox_works() {
        return skip(NAME, "this user cannot make sandboxes here");
    }
    let fixture = Fixture::new();
    let finished = fixture.finish(fixture.thrashlab(BUFFER));
    finished.expect(0, &[]);
    let made: Value = serde_json::from_str(&finished.stdout).unwrap();
    let priced = &made["found"]["priced"];
    let mb = |level: &Value| level.as_f64().unwrap() / 1_048_576.0;
    let death = &priced["death"];
    let (lives, dies) = (mb(&death["last"]), mb(&death["first"]));
    assert!(dies < 50.0 && lives > 48.0, "{priced}");
    assert!(lives <= 1.03 * 50.0, "{priced}");
    let reason = death["reason"].as_str().unwrap();
    assert!(reason.contains("killed \"dd\"") && !reason.contains("choose from"), "{reason}");
    assert!((48.0..52.0).contains(&mb(&priced["recommended"]["level"])), "{priced}");
    assert_nothing_left(&fixture, 0, &queue_keys(&fixture));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let fixture = Fixture::new();
    let job = "limit --job touch:32M --output output --work-dir work --dry-run";
    for (arguments, words) in [
        ("limit --output output", "<--job <JOB>|--command <CMD>|COMMAND>"),
        (&format!("{job} --over swap"), "swap has no usual range here"),
        (&format!("{job} --range 16M..256M"), "from no limit downwards"),
        (&format!("{job} --price 2000%"), "price"),
        (&format!("{job} --over touch.pages --range 2..1"), "touch.pages"),
        (&format!("{job} --prepare sync"), "--prepare needs a command"),
    ] {
        fixture.finish(fixture.thrashlab(arguments)).expect(2, &[words]);
    }
    let printed = fixture.finish(fixture.thrashlab(&format!("{job} --over sandbox.cpus")));
    printed.expect(0, &[]);
    for words in ["over = \"sandbox.cpus\"", "price = 0.05", "\"sandbox.memory\" = "] {
        assert!(printed.stdout.contains(words), "{words:?} is not in\n{}", printed.stdout);
    }
}
