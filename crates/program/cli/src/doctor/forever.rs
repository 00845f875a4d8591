//! The doctor that runs until it is stopped: it serves metrics and records into a ring.

use std::net::SocketAddr;

use anyhow::Context;
use doctor::{Interval, Snapshot, UnitCosts, diagnose, recording_line};
use model::units::format_size;
use report::{Watch, served_metrics};
use survey::{
    INTERVAL_NS_MIN, RING_BYTES_MIN, Recorder, Ring, Server, Survey, become_steadfast,
    watch_forever,
};
use sys::clock::{process_cpu_ns, realtime_ns};

use super::live::{opened, prepared, wait};
use super::{DoctorArgs, confine};
use crate::{OrWrong, Result, complain};

/// The port of `--serve` without one.
const PORT: u16 = 9797;

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
    let survey = opened();
    let recorder = recorder(args, &survey, &costs)?;
    let server = args.serve.map(|address| start_server(args, address)).transpose()?;
    if recorder.is_some() {
        become_steadfast(complain);
    }
    let wait = |until_ns| wait(&waiter, until_ns);
    watch_forever(survey, args.for_ns, recorder.as_ref(), wait, |before, after| {
        if waiter.stop_requested() {
            return false;
        }
        server.iter().for_each(|server| publish(server, (before, after), &costs, args.top));
        true
    });
    Ok(())
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
fn recorder(args: &DoctorArgs, survey: &Survey, costs: &UnitCosts) -> Result<Option<Recorder>> {
    let Some((dir, max_bytes)) = args.record.as_deref().zip(args.max_size_bytes) else {
        return Ok(None);
    };
    if max_bytes < RING_BYTES_MIN {
        return Err(wrong!("--max-size is at least {}", format_size(RING_BYTES_MIN)));
    }
    let header = recording_line(&survey.recording_header(costs)).context("write the header")?;
    let (place, max) = (dir.display(), format_size(max_bytes));
    let at = format!("record to the folder {place}");
    let ring = Ring::open(dir, max_bytes, header).or_wrong(at.clone())?;
    let recorder = Recorder::start(ring, complain).context(at)?;
    complain(&format!("thrashlab: recording to {place} until Ctrl-C, at most {max}"));
    Ok(Some(recorder))
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
