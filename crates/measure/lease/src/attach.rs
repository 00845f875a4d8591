//! The program that ssh runs: it relays messages of a session, and may die at any time.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::thread;

use keep::Spool;

use crate::is_name;
use crate::wire::{Answer, Ask, LANGUAGE, Reader, encode};
use crate::{keeper, own_copy};

/// Connects standard input and output with a session. Fails first if this program is damaged.
pub(crate) fn attach() -> Result<(), String> {
    own_copy::verify(None)?;
    if let Err(why) = pass_on() {
        let hello =
            Answer::Hello { language: LANGUAGE, thrashlab: env!("CARGO_PKG_VERSION").to_owned() };
        let words = [encode(&hello), encode(&Answer::Failed { why })].concat();
        let _ = io::stdout().write_all(&words).and_then(|()| io::stdout().flush());
    }
    Ok(())
}

fn pass_on() -> Result<(), String> {
    let said = |error: io::Error| error.to_string();
    let mut reader = Reader::default();
    let opening = reader.opening(&mut io::stdin().lock())?;
    if !is_name(&opening.session) {
        return Err(format!("{:?} is not a name of a session", opening.session));
    }
    let spool = Spool::of_user().map_err(said)?;
    let (folder, name) = spool.socket(&opening.session);
    let mut stream = match keeper::at_socket(folder, &name, UnixStream::connect) {
        Ok(stream) => stream,
        Err(_) => keeper::start().map_err(said)?,
    };
    let begin = [encode(&Ask::Open(opening)), reader.rest].concat();
    stream.write_all(&begin).map_err(said)?;
    let write = stream.try_clone().map_err(said)?;
    thread::spawn(move || {
        let mut write = write;
        copy(&mut io::stdin().lock(), &mut write);
        // So that the session sees the end of the connection.
        let _ = write.shutdown(Shutdown::Both);
    });
    copy(&mut stream, &mut io::stdout().lock());
    Ok(())
}

fn copy(from: &mut impl Read, to: &mut impl Write) {
    let mut bytes = vec![0; 64 << 10];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if to.write_all(&bytes[..count]).and_then(|()| to.flush()).is_err() {
            return;
        }
    }
}
