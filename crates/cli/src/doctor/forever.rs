//! The doctor that runs until it is stopped: it serves metrics and records into a ring.

use std::net::SocketAddr;
use std::path::Path;

use anyhow::Context;
use doctor::{Interval, Snapshot, UnitCosts, diagnose, recording_line};
use model::units::format_size;
use report::{Watch, served_metrics};
use survey::{BoundedSurvey, RING_BYTES_MIN, Ring};
use sys::clock::{monotonic_ns, process_cpu_ns, realtime_ns};

use super::live::{header, opened, prepared, wait};
use super::recorder::Recorder;
use super::{DoctorArgs, confine};
use crate::{OrWrong, Result, complain};
use survey::Server;

/// The port of `--serve` without one.
const PORT: u16 = 9797;
/// Snapshots take at most one part in this many: 0.25 % of a CPU. Diagnosis and writing come on top.
const SNAPSHOT_SHARE: u64 = 400;
/// Shortest interval, in ns.
const INTERVAL_NS_MIN: u64 = 1_000_000_000;

/// The address of `--serve`: `HOST`, `PORT`, `HOST:PORT`, `:PORT`; this machine alone without a
/// host.
pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    let text = text.replace("localhost", "127.0.0.1");
    let local = |port| SocketAddr::from(([127, 0, 0, 1], port));
    if let Ok(port) = text.strip_prefix(':').unwrap_or(&text).parse() {
        return Ok(local(port));
    }
    if let Ok(host) = text.parse() {
        return Ok(SocketAddr::new(host, PORT));
    }
    let form = "[HOST:]PORT with an IP address as HOST, as in 127.0.0.1:9797";
    text.parse().map_err(|_| format!("the address has the form {form}"))
}

/// Watches interval after interval until a signal.
pub(super) fn doctor(args: &DoctorArgs) -> Result<()> {
    if args.for_ns < INTERVAL_NS_MIN {
        return Err(wrong!("--for: an interval that repeats takes at least 1s"));
    }
    let (waiter, costs) = prepared(args)?;
    let mut survey = BoundedSurvey::new(opened(), args.for_ns / SNAPSHOT_SHARE);
    let recorder = recorder(args, &survey, &costs)?;
    let server = args.serve.map(|address| start_server(args, address)).transpose()?;
    if recorder.is_some() {
        become_steadfast();
    }
    let origin_ns = monotonic_ns();
    let mut take = || {
        let snapshot = survey.snapshot(monotonic_ns() - origin_ns);
        recorder.iter().for_each(|recorder| recorder.record(&snapshot));
        snapshot
    };
    let mut before = take();
    loop {
        let until_ns = origin_ns + before.at_ns + args.for_ns;
        wait(&waiter, until_ns);
        let after = take();
        if waiter.stop_requested() {
            return Ok(());
        }
        server.iter().for_each(|server| publish(server, (&before, &after), &costs, args.top));
        before = after;
    }
}

fn publish(
    server: &Server,
    (before, after): (&Snapshot, &Snapshot),
    costs: &UnitCosts,
    top: usize,
) {
    let diagnosis = diagnose(&Interval::new(before, after), costs);
    let (at_unix_ns, cpu_ns) = (realtime_ns(), process_cpu_ns());
    server.publish(served_metrics(Some(Watch { diagnosis: &diagnosis, at_unix_ns, cpu_ns }), top));
}

/// The server, which listens before this process gives up what `--read-only` says, and is announced
/// after it.
fn start_server(args: &DoctorArgs, address: SocketAddr) -> Result<Server> {
    let server = Server::start(address, served_metrics(None, 0));
    let server = server.or_wrong(format!("serve at {address}"))?;
    confine(args)?;
    let address = server.address();
    complain(&format!("thrashlab: serving http://{address}/metrics until Ctrl-C"));
    if !address.ip().is_loopback() {
        complain(&format!(
            "thrashlab: any machine that reaches {} can read the names of groups and processes; \
             there is no password",
            address.ip()
        ));
    }
    Ok(server)
}

/// The ring of `--record` with `--max-size`.
fn recorder(
    args: &DoctorArgs,
    survey: &BoundedSurvey,
    costs: &UnitCosts,
) -> Result<Option<Recorder>> {
    let Some((dir, max_bytes)) = args.record.as_deref().zip(args.max_size_bytes) else {
        return Ok(None);
    };
    if max_bytes < RING_BYTES_MIN {
        return Err(wrong!("--max-size is at least {}", format_size(RING_BYTES_MIN)));
    }
    let header = recording_line(&header(survey.survey(), costs)).context("write the header")?;
    let at = || format!("record to the folder {}", dir.display());
    let ring = Ring::open(dir, max_bytes, header).or_wrong(at())?;
    let recorder = Recorder::start(ring, dir).context(at())?;
    announce(dir, max_bytes);
    Ok(Some(recorder))
}

fn announce(dir: &Path, max_bytes: u64) {
    complain(&format!(
        "thrashlab: recording to {} until Ctrl-C, at most {}",
        dir.display(),
        format_size(max_bytes)
    ));
}

/// Keeps this process in memory and ahead of others, as far as that is permitted: a machine that is
/// out of memory must not stop it.
fn become_steadfast() {
    if let Err(error) = sys::memory::lock_touched() {
        complain(&format!(
            "thrashlab: not locked in memory: {error}; it may stall with the machine"
        ));
    }
    if let Err(error) = sys::process::become_urgent() {
        complain(&format!("thrashlab: no real-time priority: {error}; a busy CPU may hold it up"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_host_is_of_this_machine_alone() {
        let parsed = |text| address(text).map(|address| address.to_string());
        for text in ["9797", ":9797", "127.0.0.1", "127.0.0.1:9797", "localhost:9797"] {
            assert_eq!(parsed(text), Ok("127.0.0.1:9797".to_owned()), "{text}");
        }
        assert_eq!(parsed("0.0.0.0:80"), Ok("0.0.0.0:80".to_owned()));
        assert_eq!(parsed("::1"), Ok("[::1]:9797".to_owned()));
        for text in ["", "99999", "example.org", "1.2.3.4:x", "/metrics"] {
            assert!(parsed(text).is_err(), "{text}");
        }
    }
}
