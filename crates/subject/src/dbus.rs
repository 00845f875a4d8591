//! The D-Bus subset for method calls to systemd (D-Bus specification, "Message Protocol").

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(10);
/// Messages of systemd here are shorter than 1 KiB.
const LONGEST_BYTES: usize = 1 << 20;

const CALL: u8 = 1;
const REPLY: u8 = 2;
const ERROR: u8 = 3;
const SIGNAL: u8 = 4;

const PATH: u8 = 1;
const INTERFACE: u8 = 2;
const MEMBER: u8 = 3;
const REPLY_SERIAL: u8 = 5;
const DESTINATION: u8 = 6;
const SIGNATURE: u8 = 8;

/// Values in D-Bus's wire format, little-endian.
#[derive(Debug, Default)]
pub(crate) struct Body(Vec<u8>);

impl Body {
    pub(crate) fn align(&mut self, to: usize) {
        self.0.resize(self.0.len().next_multiple_of(to), 0);
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.align(4);
        self.0.extend(value.to_le_bytes());
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
        self.0[length_at..length_at + 4].copy_from_slice(&length.to_le_bytes());
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

#[derive(Debug, Default)]
pub(crate) struct Message {
    kind: u8,
    /// The name of a signal.
    member: String,
    /// Serial of the call it answers.
    reply_serial: u32,
    is_little: bool,
    body: Vec<u8>,
}

impl Message {
    /// The leading body values as text, by their types (`s`, `o`, `u`), as far as present.
    pub(crate) fn texts(&self, signature: &str) -> Vec<String> {
        let mut reader = Values { bytes: &self.body, at: 0, is_little: self.is_little };
        signature.chars().map_while(|kind| reader.value(kind)).collect()
    }
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

    /// Calls a method and waits for its reply. Fails when the service refuses or does not answer.
    pub(crate) fn call(&mut self, method: Method<'_>, body: &Body) -> io::Result<Message> {
        let Method { service, path, interface, name, signature } = method;
        self.serial += 1;
        let mut message = Body::default();
        message.0.extend([b'l', CALL, 0, 1]);
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
        loop {
            let message = self.next()?;
            match message.kind {
                REPLY if message.reply_serial == self.serial => return Ok(message),
                ERROR if message.reply_serial == self.serial => {
                    let why = message.texts("s").pop().unwrap_or_default();
                    return Err(io::Error::other(format!("{name}: {why}")));
                }
                _ => {}
            }
        }
    }

    /// Waits for a signal of this name. Fails as [`Self::next`].
    pub(crate) fn signal(&mut self, name: &str) -> io::Result<Message> {
        loop {
            let message = self.next()?;
            if message.kind == SIGNAL && message.member == name {
                return Ok(message);
            }
        }
    }

    /// The next message. Fails on a timeout, a broken connection, or a malformed message.
    fn next(&mut self) -> io::Result<Message> {
        let mut fixed = [0; 16];
        self.stream.read_exact(&mut fixed)?;
        let is_little = fixed[0] == b'l';
        let number = |at: usize| {
            let mut values = Values { bytes: &fixed, at, is_little };
            values.u32().unwrap_or(u32::MAX) as usize
        };
        let (body_bytes, fields_bytes) = (number(4), number(12));
        if body_bytes > LONGEST_BYTES || fields_bytes > LONGEST_BYTES {
            return Err(io::Error::other("what came is no message of D-Bus"));
        }
        let mut fields = vec![0; fields_bytes.next_multiple_of(8)];
        self.stream.read_exact(&mut fields)?;
        fields.truncate(fields_bytes);
        let mut body = vec![0; body_bytes];
        self.stream.read_exact(&mut body)?;
        let mut message = Message { kind: fixed[1], is_little, body, ..Message::default() };
        let mut values = Values { bytes: &fields, at: 0, is_little };
        while let Some((code, text)) = values.field() {
            match code {
                MEMBER => message.member = text,
                REPLY_SERIAL => message.reply_serial = text.parse().unwrap_or(0),
                _ => {}
            }
        }
        Ok(message)
    }
}

struct Values<'a> {
    bytes: &'a [u8],
    at: usize,
    is_little: bool,
}

impl Values<'_> {
    fn take(&mut self, count: usize) -> Option<&[u8]> {
        let end = self.at.checked_add(count)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    fn u32(&mut self) -> Option<u32> {
        self.at = self.at.next_multiple_of(4);
        let is_little = self.is_little;
        let bytes = self.take(4)?.try_into().ok()?;
        Some(if is_little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) })
    }

    fn value(&mut self, kind: char) -> Option<String> {
        let count = match kind {
            'u' => return self.u32().map(|number| number.to_string()),
            's' | 'o' => self.u32()? as usize,
            'g' => usize::from(self.take(1)?[0]),
            _ => return None,
        };
        let text = String::from_utf8_lossy(self.take(count)?).into_owned();
        self.take(1)?;
        Some(text)
    }

    fn field(&mut self) -> Option<(u8, String)> {
        self.at = self.at.next_multiple_of(8);
        let code = self.take(1)?[0];
        let kind = self.value('g')?.parse().ok()?;
        Some((code, self.value(kind)?))
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
        assert_eq!(body.0[8..12], [7, 0, 0, 0]);
        assert_eq!(body.0[16..], [2, 0, 0, 0, b'a', b'b', 0]);
    }

    #[test]
    fn what_is_written_is_read_in_either_byte_order() {
        let mut body = Body::default();
        body.u32(7);
        body.string("/job/1");
        let mut message = Message { is_little: true, body: body.0, ..Message::default() };
        assert_eq!(message.texts("uo"), ["7", "/job/1"]);
        assert_eq!(message.texts("uos").len(), 2, "what is missing is left out");
        message.body = vec![0, 0, 0, 7, 0, 0, 0, 1, b'a', 0];
        message.is_little = false;
        assert_eq!(message.texts("us"), ["7", "a"]);
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read(bytes in proptest::collection::vec(0u8.., 0..200)) {
            let message = Message { is_little: true, body: bytes.clone(), ..Message::default() };
            let _ = message.texts("usso");
            let mut values = Values { bytes: &bytes, at: 0, is_little: false };
            while values.field().is_some() {}
        }
    }
}
