//! A transient scope of the user's systemd: control groups without root (systemd.scope(5)).

use std::io;
use std::path::{Path, PathBuf};

use crate::dbus::{Body, Connection, Method};

const MANAGER: &str = "org.freedesktop.systemd1.Manager";
/// systemd's marks of users whose manager outlives their logins.
const LINGER: &str = "/var/lib/systemd/linger";

/// Moves this process into a new delegated scope of the user's systemd; returns its name. systemd
/// removes it with its last process. Fails when no systemd runs for this user or it refuses.
pub(crate) fn enter(user: u32) -> Result<String, String> {
    let name = format!("thrashlab-{}.scope", std::process::id());
    let (mut connection, is_bus) = connect(user)?;
    let job = start(&mut connection, is_bus, &name);
    job.map_err(|why| format!("systemd of user {user}: start {name}: {why}"))?;
    Ok(name)
}

pub(crate) fn outlives_logins() -> bool {
    let Some(name) = user_name() else { return false };
    Path::new(LINGER).join(name).exists()
}

fn user_name() -> Option<String> {
    let user = keep::host::user_id().to_string();
    let table = std::fs::read_to_string("/etc/passwd").ok()?;
    table.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == user).then(|| name.to_owned())
    })
}

/// Connects to systemd itself, or to the user's bus; returns whether it is the bus.
fn connect(user: u32) -> Result<(Connection, bool), String> {
    let session = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    // Without a session (cron, su) the manager may still run.
    let usual = PathBuf::from(format!("/run/user/{user}"));
    let mut why = String::new();
    for folder in session.filter(|session| *session != usual).into_iter().chain([usual]) {
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

fn start(connection: &mut Connection, is_bus: bool, name: &str) -> io::Result<()> {
    let systemd = Method {
        service: "org.freedesktop.systemd1",
        path: "/org/freedesktop/systemd1",
        interface: MANAGER,
        name: "Subscribe",
        signature: "",
    };
    if is_bus {
        let service = "org.freedesktop.DBus";
        let path = "/org/freedesktop/DBus";
        let bus = Method { service, path, interface: service, name: "Hello", signature: "" };
        // A bus client says Hello and subscribes to signals.
        connection.call(bus, &Body::default())?;
        let mut rule = Body::default();
        rule.string(&format!("type='signal',interface='{MANAGER}',member='JobRemoved'"));
        connection.call(Method { name: "AddMatch", signature: "s", ..bus }, &rule)?;
        connection.call(systemd, &Body::default())?;
    }
    let signature = "ssa(sv)a(sa(sv))";
    let method = Method { name: "StartTransientUnit", signature, ..systemd };
    let reply = connection.call(method, &unit(name, std::process::id()))?;
    let job = reply.texts("o").pop().unwrap_or_default();
    loop {
        // `JobRemoved`: number, path, unit and result of the job. No other signal has all four.
        if let [_, path, _, result] = &connection.signal()?.texts("uoss")[..]
            && *path == job
        {
            return match result.as_str() {
                "done" => Ok(()),
                other => Err(io::Error::other(format!("its job ended as {other:?}"))),
            };
        }
    }
}

/// The arguments of `StartTransientUnit`: a scope with one process.
fn unit(name: &str, pid: u32) -> Body {
    let mut body = Body::default();
    body.string(name);
    body.string("fail");
    body.array(8, |properties| {
        let mut property = |name: &str, kind: &str, value: &dyn Fn(&mut Body)| {
            properties.align(8);
            properties.string(name);
            properties.signature(kind);
            value(properties);
        };
        let description = "thrashlab, with the control groups of its runs";
        property("Description", "s", &|body| body.string(description));
        // Forget a failed scope too.
        property("CollectMode", "s", &|body| body.string("inactive-or-failed"));
        property("Delegate", "b", &|body| body.u32(1));
        property("PIDs", "au", &|body| body.array(4, |pids| pids.u32(pid)));
    });
    // No further units.
    body.array(8, |_| {});
    body
}
