//! A transient scope of the user's systemd, into which this process moves itself: control groups of
//! its own without root (systemd.scope(5), Delegate=).

use std::io;
use std::path::{Path, PathBuf};

use crate::dbus::{Body, Connection, ERROR, Message, REPLY, SIGNAL};

const SYSTEMD: &str = "org.freedesktop.systemd1";
const MANAGER: &str = "org.freedesktop.systemd1.Manager";
const MANAGER_PATH: &str = "/org/freedesktop/systemd1";
const BUS: &str = "org.freedesktop.DBus";
const BUS_PATH: &str = "/org/freedesktop/DBus";
/// Where systemd keeps a file for each user whose manager outlives the logins.
const LINGER: &str = "/var/lib/systemd/linger";

/// Moves this process into a new scope of the user's systemd, which delegates all controllers that
/// it has to it; the scope's name. systemd removes the scope when its last process has ended. Fails
/// when no systemd runs for this user or it refuses, with the reason.
pub(crate) fn enter(user: u32) -> Result<String, String> {
    let name = format!("thrashlab-{}.scope", std::process::id());
    let (mut connection, is_bus) = connect(user)?;
    let job = start(&mut connection, is_bus, &name);
    job.map_err(|why| format!("systemd of user {user}: start {name}: {why}"))?;
    Ok(name)
}

/// Whether the user's systemd stays when the user logs out.
pub(crate) fn outlives_logins() -> bool {
    let Some(name) = user_name() else { return false };
    Path::new(LINGER).join(name).exists()
}

/// The name of this user, if it is a local one.
fn user_name() -> Option<String> {
    let user = keep::host::user_id().to_string();
    let table = std::fs::read_to_string("/etc/passwd").ok()?;
    table.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == user).then(|| name.to_owned())
    })
}

/// Connects to systemd itself, or to the user's bus; whether it is the bus.
fn connect(user: u32) -> Result<(Connection, bool), String> {
    let mut folders: Vec<PathBuf> =
        std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).into_iter().collect();
    // Without a session (cron, su) the manager may run all the same.
    let usual = PathBuf::from(format!("/run/user/{user}"));
    if !folders.contains(&usual) {
        folders.push(usual);
    }
    let mut why = String::new();
    for folder in &folders {
        for (socket, is_bus) in [("systemd/private", false), ("bus", true)] {
            let path = folder.join(socket);
            match Connection::open(&path, user) {
                Ok(connection) => return Ok((connection, is_bus)),
                Err(error) => why = format!("{}: {error}", path.display()),
            }
        }
    }
    Err(format!("no systemd of user {user}: {why}"))
}

/// Starts the scope and waits until this process is in it.
fn start(connection: &mut Connection, is_bus: bool, name: &str) -> io::Result<()> {
    if is_bus {
        // A client of a bus introduces itself, and asks for the signals that it wants.
        ask(connection, [BUS, BUS_PATH, BUS, "Hello", ""], &Body::default())?;
        let mut rule = Body::default();
        rule.string(&format!("type='signal',interface='{MANAGER}',member='JobRemoved'"));
        ask(connection, [BUS, BUS_PATH, BUS, "AddMatch", "s"], &rule)?;
        let subscribe = [SYSTEMD, MANAGER_PATH, MANAGER, "Subscribe", ""];
        ask(connection, subscribe, &Body::default())?;
    }
    let call = [SYSTEMD, MANAGER_PATH, MANAGER, "StartTransientUnit", "ssa(sv)a(sa(sv))"];
    let reply = ask(connection, call, &unit(name, std::process::id()))?;
    let job = reply.texts("o").pop().unwrap_or_default();
    loop {
        let message = connection.next()?;
        if message.kind != SIGNAL || message.member != "JobRemoved" {
            continue;
        }
        // Number, path, unit and result of the job.
        match message.texts("uoss").as_slice() {
            [_, path, _, result] if *path == job => {
                return match result.as_str() {
                    "done" => Ok(()),
                    other => Err(io::Error::other(format!("its job ended as {other:?}"))),
                };
            }
            _ => {}
        }
    }
}

/// Calls a method and waits for its reply.
fn ask(connection: &mut Connection, method: [&str; 5], body: &Body) -> io::Result<Message> {
    let serial = connection.call(method, body)?;
    loop {
        let message = connection.next()?;
        match message.kind {
            REPLY if message.reply_serial == serial => return Ok(message),
            ERROR if message.reply_serial == serial => {
                let why = message.texts("s").pop().unwrap_or_default();
                return Err(io::Error::other(format!("{}: {why}", method[3])));
            }
            _ => {}
        }
    }
}

/// The arguments of `StartTransientUnit`: a scope with one process.
fn unit(name: &str, pid: u32) -> Body {
    let mut body = Body::default();
    body.string(name);
    body.string("fail");
    body.array(8, |properties| {
        let texts = [
            ("Description", "thrashlab, with the control groups of its runs"),
            // A scope that failed is forgotten as well.
            ("CollectMode", "inactive-or-failed"),
        ];
        for (property, text) in texts {
            properties.align(8);
            properties.string(property);
            properties.signature("s");
            properties.string(text);
        }
        properties.align(8);
        properties.string("Delegate");
        properties.signature("b");
        properties.u32(1);
        properties.align(8);
        properties.string("PIDs");
        properties.signature("au");
        properties.array(4, |pids| pids.u32(pid));
    });
    // No further units.
    body.array(8, |_| {});
    body
}
