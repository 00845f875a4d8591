//! Which machine is meant: `[USER@]HOST[:PORT]`.

use std::fmt;
use std::str::FromStr;

/// A machine as the system's ssh knows it; the host may be an alias of the user's configuration.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address {
    /// The user there; `None` = as ssh is configured.
    pub user: Option<String>,
    /// The host, an IPv6 address without brackets.
    pub host: String,
    /// The port; `None` = as ssh is configured.
    pub port: Option<u16>,
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (user, place) = match text.rsplit_once('@') {
            Some((user, place)) => (Some(user), place),
            None => (None, text),
        };
        let (host, port) = match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, "")) => (host, None),
            Some((host, port)) => (host, Some(port.strip_prefix(':').unwrap_or(port))),
            None => match place.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (place, None),
            },
        };
        let port = port.map(|port| match port.parse() {
            Ok(0) | Err(_) => Err(format!("{port:?} is not a port; write ssh://HOST:22")),
            Ok(port) => Ok(port),
        });
        Ok(Self {
            user: user.map(|user| name("user", user)).transpose()?,
            host: name("host", host)?,
            port: port.transpose()?,
        })
    }
}

/// A name that neither ssh takes for an option nor a shell for anything special.
fn name(what: &str, text: &str) -> Result<String, String> {
    let plain = |letter: char| letter.is_alphanumeric() || "._-:%+".contains(letter);
    match text.is_empty() || text.starts_with('-') || !text.chars().all(plain) {
        true => Err(format!("{text:?} is no {what}; write ssh://[USER@]HOST[:PORT]")),
        false => Ok(text.to_owned()),
    }
}

impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "ssh://")?;
        if let Some(user) = &self.user {
            write!(out, "{user}@")?;
        }
        match self.host.contains(':') {
            true => write!(out, "[{}]", self.host)?,
            false => write!(out, "{}", self.host)?,
        }
        self.port.map_or(Ok(()), |port| write!(out, ":{port}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn addresses_are_read_and_written() {
        for text in ["box", "me@box", "box:2222", "me@box.example.org:22", "[fe80::1%eth0]:22"] {
            let address: Address = text.parse().unwrap();
            assert_eq!(address.to_string(), format!("ssh://{text}"));
        }
    }

    #[test]
    fn what_is_no_address_is_refused_with_the_form() {
        let bad = ["", "@box", "me@", "-oProxyCommand=x", "-l@box", "box:0", "box:", "a b", "x;y"];
        for text in bad {
            let why = text.parse::<Address>().unwrap_err();
            assert!(why.contains("write ssh://"), "{why}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".{0,40}") {
            if let Ok(address) = text.parse::<Address>() {
                let written = address.to_string();
                prop_assert_eq!(written.trim_start_matches("ssh://").parse(), Ok(address));
            }
        }
    }
}
