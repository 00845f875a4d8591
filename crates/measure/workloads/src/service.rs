//! A server whose clients are the user's commands: how it starts, and when it is ready.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use model::CommandSpec;

use crate::command::words_of;

/// Before a text that a ready service has written.
const OUTPUT: &str = "output:";
/// Other names of the loopback address.
const LOCAL: &str = "localhost:";

/// A service: what starts it, and what shows that it is ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// The program and its arguments.
    pub run: Vec<String>,
    /// When clients may start.
    pub ready: Ready,
}

/// What shows that a service is ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ready {
    /// It accepts connections at one of these addresses of this machine.
    Port(Vec<SocketAddr>),
    /// It has written this text.
    Output(String),
    /// This command ends with exit code 0.
    Command(Vec<String>),
}

/// The service of a job, if it has one. Fails for lines that cannot be divided into words, for
/// addresses of other machines, and when it is not known how the service becomes ready.
pub fn service(job: &CommandSpec) -> Result<Option<Service>, String> {
    let (line, ready) = (job.service(), job.ready());
    match (line.is_empty(), ready.is_empty()) {
        (true, true) => return Ok(None),
        (true, false) => return Err("command.ready: there is no service to wait for".to_owned()),
        (false, true) => {
            return Err("command.ready: what shows that the service is ready? a port (5432), a \
                        text that it writes (output:TEXT), or a command that then works (curl -s \
                        localhost:80)"
                .to_owned());
        }
        (false, false) => {}
    }
    let words = |name: &str, line: &str| {
        words_of(line, job.shell()).map_err(|why| format!("command.{name}: {why}"))
    };
    let ready = match ready {
        wanted if let Some(addresses) = addresses(wanted) => Ready::Port(addresses?),
        wanted if let Some(output) = wanted.strip_prefix(OUTPUT) => {
            if output.is_empty() {
                return Err("command.ready: output: needs the text that a ready service writes, \
                            output:TEXT"
                    .to_owned());
            }
            Ready::Output(output.to_owned())
        }
        wanted if is_address(wanted) => {
            return Err(format!(
                "command.ready: {wanted} has no port from 1 to 65535: name one as 5432 or \
                 localhost:5432"
            ));
        }
        line => Ready::Command(words("ready", line)?),
    };
    Ok(Some(Service { run: words("service", line)?, ready }))
}

/// The addresses of `5432`, `:5432`, `localhost:5432` or `127.0.0.1:5432`; `None` for other texts.
fn addresses(text: &str) -> Option<Result<Vec<SocketAddr>, String>> {
    let port = text.strip_prefix(LOCAL).or_else(|| text.strip_prefix(':')).unwrap_or(text);
    let all: Vec<SocketAddr> = match port.parse::<u16>() {
        Ok(port) => {
            vec![(Ipv4Addr::LOCALHOST, port).into(), (Ipv6Addr::LOCALHOST, port).into()]
        }
        Err(_) => vec![text.parse().ok()?],
    };
    Some(match all.iter().all(|it| it.ip().is_loopback() && it.port() > 0) {
        true => Ok(all),
        false => Err(format!("command.ready: {text} is not a port of this machine")),
    })
}

/// Whether a text is meant as an address, and is none with a port: a number, the name of this machine
/// or an address, with or without something after a colon.
fn is_address(text: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.chars().all(|it| it.is_ascii_digit());
    let host = text.rsplit_once(':').map_or(text, |(host, port)| match is_number(port) {
        true => host,
        false => text,
    });
    let bare = text.trim_matches(['[', ']']);
    is_number(text.trim_start_matches([':', '-']))
        || [text, host].iter().any(|it| *it == LOCAL.trim_end_matches(':') || is_number(it))
        || [bare, host].iter().any(|it| it.parse::<IpAddr>().is_ok())
        || text == LOCAL
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::COMMAND;
    use proptest::prelude::*;

    fn job(service: &str, ready: &str) -> CommandSpec {
        let mut job = COMMAND.spec();
        COMMAND.set(&mut job, "service", service).unwrap();
        COMMAND.set(&mut job, "ready", ready).unwrap();
        CommandSpec::new(job)
    }

    #[test]
    fn a_service_is_ready_by_port_output_or_command() {
        let ready = |text: &str| service(&job("./server -x", text)).unwrap().unwrap().ready;
        let port = |all: &[&str]| Ready::Port(all.iter().map(|it| it.parse().unwrap()).collect());
        for text in ["5432", ":5432", "localhost:5432"] {
            assert_eq!(ready(text), port(&["127.0.0.1:5432", "[::1]:5432"]), "{text}");
        }
        for text in ["127.0.0.1:5432", "[::1]:80"] {
            assert_eq!(ready(text), port(&[text]));
        }
        assert_eq!(ready("output:ready to"), Ready::Output("ready to".to_owned()));
        assert_eq!(ready("pg_isready -q"), Ready::Command(vec!["pg_isready".into(), "-q".into()]));
        assert_eq!(service(&job("", "")).unwrap(), None);
        for (line, text, why) in [
            ("./server", "", "output:TEXT"),
            ("", "80", "no service"),
            ("./server", "192.0.2.1:80", "not a port of this machine"),
            ("./server 'x", "80", "command.service"),
            ("./server", "70000", "no port from 1 to 65535"),
            ("./server", "localhost", "no port from 1 to 65535"),
            ("./server", "localhost:70000", "no port from 1 to 65535"),
            ("./server", "127.0.0.2", "no port from 1 to 65535"),
            ("./server", "::1", "no port from 1 to 65535"),
            ("./server", "output:", "output:TEXT"),
        ] {
            assert!(service(&job(line, text)).unwrap_err().contains(why), "{line} {text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(line in "[^\\x00]{0,30}", ready in "[^\\x00]{0,30}") {
            let _ = service(&job(&line, &ready));
        }
    }
}
