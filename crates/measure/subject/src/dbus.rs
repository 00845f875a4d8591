//! The D-Bus subset for method calls to systemd (D-Bus specification, "Message Protocol").

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(10);
/// Messages of systemd here are shorter than 1 KiB.
const LONGEST_BYTES: usize = 1 << 20;

/// The byte order of this machine, which systemd uses too.
const ORDER: u8 = if cfg!(target_endian = "big") { b'B' } else { b'l' };

const CALL: u8 = 1;
const REPLY: u8 = 2;
const ERROR: u8 = 3;
const SIGNAL: u8 = 4;

const PATH: u8 = 1;
const INTERFACE: u8 = 2;
const MEMBER: u8 = 3;
const DESTINATION: u8 = 6;
const SIGNATURE: u8 = 8;

/// Values in D-Bus's wire format.
#[derive(Debug, Default)]
pub(crate) struct Body(Vec<u8>);

impl Body {
    pub(crate) fn align(&mut self, to: usize) {
        self.0.resize(self.0.len().next_multiple_of(to), 0);
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.align(4);
        self.0.extend(value.to_ne_bytes());
    }

    pub(crate) fn string(&mut self, text: &str) {
        self.u32(text.len() as u32);
        self.0.extend(text.as_bytes());
        self.0.push(0);
    }

    pub(crate) fn signature(&mut self, text: &str) {
        self.0.push(text.len() as u8);
        self.0.extend(text.as_bytes());
        self.0.push(0);
    }

    /// An array with elements aligned to `to` bytes.
    pub(crate) fn array(&mut self, to: usize, fill: impl FnOnce(&mut Self)) {
        self.u32(0);
        let length_at = self.0.len() - 4;
        self.align(to);
        let begin = self.0.len();
        fill(self);
        let length = (self.0.len() - begin) as u32;
        self.0[length_at..length_at + 4].copy_from_slice(&length.to_ne_bytes());
    }

    /// The leading values as text, by their types (`s`, `o`, `u`), as far as present.
    pub(crate) fn texts(&self, types: &str) -> Vec<String> {
        let mut end = 0_usize;
        let value = |kind| {
            let begin = end.next_multiple_of(4) + 4;
            let number = u32::from_ne_bytes(*self.0.get(begin - 4..)?.first_chunk()?);
            if kind == 'u' {
                end = begin;
                return Some(number.to_string());
            }
            // Followed by a zero.
            let text = self.0.get(begin..=begin.checked_add(number as usize)?)?;
            end = begin + text.len();
            Some(String::from_utf8_lossy(&text[..text.len() - 1]).into_owned())
        };
        types.chars().map_while(value).collect()
    }
}

/// A method of an object, with the types of its arguments.
#[derive(Clone, Copy)]
pub(crate) struct Method<'a> {
    pub(crate) service: &'a str,
    pub(crate) path: &'a str,
    pub(crate) interface: &'a str,
    pub(crate) name: &'a str,
    pub(crate) signature: &'a str,
}

pub(crate) struct Connection {
    stream: UnixStream,
    serial: u32,
}

impl Connection {
    /// Connects and authenticates as this user. Fails when the socket does not answer or refuses.
    pub(crate) fn open(socket: &Path, user: u32) -> io::Result<Self> {
        let mut stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        // The user id in decimal, each digit in hexadecimal.
        let identity: String =
            user.to_string().bytes().map(|digit| format!("{digit:02x}")).collect();
        stream.write_all(format!("\0AUTH EXTERNAL {identity}\r\n").as_bytes())?;
        let mut answer = Vec::new();
        let mut byte = [0];
        while !answer.ends_with(b"\r\n") && answer.len() < 256 {
            stream.read_exact(&mut byte)?;
            answer.push(byte[0]);
        }
        if !answer.starts_with(b"OK ") {
            let answer = String::from_utf8_lossy(&answer).trim().to_owned();
            return Err(io::Error::other(format!("authentication refused: {answer}")));
        }
        stream.write_all(b"BEGIN\r\n")?;
        Ok(Self { stream, serial: 0 })
    }

    /// Calls a method; returns the body of its reply. Fails when the service refuses or does not
    /// answer.
    pub(crate) fn call(&mut self, method: Method<'_>, body: &Body) -> io::Result<Body> {
        let Method { service, path, interface, name, signature } = method;
        self.serial += 1;
        let mut message = Body::default();
        message.0.extend([ORDER, CALL, 0, 1]);
        message.u32(body.0.len() as u32);
        message.u32(self.serial);
        message.array(8, |fields| {
            for (code, kind, text) in [
                (PATH, "o", path),
                (INTERFACE, "s", interface),
                (MEMBER, "s", name),
                (DESTINATION, "s", service),
                (SIGNATURE, "g", signature),
            ] {
                fields.align(8);
                fields.0.push(code);
                fields.signature(kind);
                match kind {
                    "g" => fields.signature(text),
                    _ => fields.string(text),
                }
            }
        });
        message.align(8);
        message.0.extend(&body.0);
        self.stream.write_all(&message.0)?;
        // No other call is under way, so the next reply is that of this one.
        match self.next(&[REPLY, ERROR])? {
            (REPLY, body) => Ok(body),
            (_, body) => {
                let why = body.texts("s").pop().unwrap_or_default();
                Err(io::Error::other(format!("{name}: {why}")))
            }
        }
    }

    /// Waits for the next signal; returns its body. Fails as [`Self::next`].
    pub(crate) fn signal(&mut self) -> io::Result<Body> {
        self.next(&[SIGNAL]).map(|(_, body)| body)
    }

    /// The next message of one of these kinds. Fails on a timeout, a broken connection, or a
    /// malformed message.
    fn next(&mut self, kinds: &[u8]) -> io::Result<(u8, Body)> {
        loop {
            let mut word = || {
                let mut bytes = [0; 4];
                self.stream.read_exact(&mut bytes).map(|()| bytes)
            };
            let ([order, kind, ..], body, _serial, fields) = (word()?, word()?, word()?, word()?);
            let [body_bytes, fields_bytes] =
                [body, fields].map(|length| u32::from_ne_bytes(length) as usize);
            if order != ORDER || body_bytes.max(fields_bytes) > LONGEST_BYTES {
                return Err(io::Error::other("the received data is not a D-Bus message"));
            }
            let body_at = fields_bytes.next_multiple_of(8);
            let mut bytes = vec![0; body_at + body_bytes];
            self.stream.read_exact(&mut bytes)?;
            if kinds.contains(&kind) {
                return Ok((kind, Body(bytes.split_off(body_at))));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_of_structs_has_the_length_of_its_elements_without_the_padding_before_them() {
        let mut body = Body::default();
        body.string("x");
        body.array(8, |array| array.string("ab"));
        // "x" takes 6 bytes, the array's length stands at 8, its elements begin at 16.
        assert_eq!(body.0[8..12], 7_u32.to_ne_bytes());
        assert_eq!(body.0[16..20], 2_u32.to_ne_bytes());
        assert_eq!(body.0[20..], *b"ab\0");
    }

    #[test]
    fn what_is_written_is_read_as_far_as_it_is_there() {
        let mut body = Body::default();
        body.u32(7);
        body.string("/job/1");
        assert_eq!(body.texts("uo"), ["7", "/job/1"]);
        assert_eq!(body.texts("uos").len(), 2, "what is missing is left out");
        assert_eq!(Body(body.0[..14].to_vec()).texts("uo").len(), 1, "as is what is cut off");
    }

    #[test]
    fn a_call_returns_its_reply_whatever_signals_come_before() {
        let (stream, mut peer) = UnixStream::pair().unwrap();
        let mut connection = Connection { stream, serial: 0 };
        let method = Method { service: "s", path: "/", interface: "i", name: "m", signature: "" };
        let message = |kind: u8, text: &str| {
            let mut body = Body::default();
            body.string(text);
            let mut message = Body(vec![ORDER, kind, 0, 1]);
            [body.0.len() as u32, 1].into_iter().for_each(|number| message.u32(number));
            message.array(8, |fields| fields.signature("x"));
            message.align(8);
            [message.0, body.0].concat()
        };
        for (kind, text) in [(SIGNAL, "early"), (REPLY, "first"), (SIGNAL, "later"), (ERROR, "no")]
        {
            peer.write_all(&message(kind, text)).unwrap();
        }
        let mut call = || connection.call(method, &Body::default());
        assert_eq!(call().unwrap().texts("s"), ["first"]);
        assert_eq!(call().unwrap_err().to_string(), "m: no");
        peer.write_all(&message(SIGNAL, "job")).unwrap();
        assert_eq!(connection.signal().unwrap().texts("s"), ["job"]);
        peer.write_all(b"HTTP/1.1 200 OK\r\n").unwrap();
        assert!(connection.signal().is_err());
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read(bytes in proptest::collection::vec(0u8.., 0..200)) {
            let _ = Body(bytes).texts("usso");
        }
    }
}
