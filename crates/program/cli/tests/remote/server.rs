//! An sshd for one test: every connection is an `sshd -i` of its own behind a port that the system
//! chose, so nothing listens but the test.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use crate::skip::skip;
use crate::support::{Fixture, is_root};

/// Where packages put it; it has to be called by its whole path.
const SSHD: &str = "/usr/sbin/sshd";
/// Where it wants to go when it is root.
const EMPTY: &str = "/run/sshd";

/// A running server.
pub(crate) struct Server {
    folder: PathBuf,
    port: u16,
    open: Arc<Mutex<Open>>,
    listening: Option<JoinHandle<()>>,
}

/// What listens, and what is connected.
#[derive(Default)]
struct Open {
    is_closed: bool,
    /// Whether those who come are sent away.
    is_shut: bool,
    connections: Vec<(Child, TcpStream)>,
}

impl Server {
    /// A server whose sessions have their state and cache in the folder of a test; `None`, which is
    /// noted, where there can be none.
    pub(crate) fn start(fixture: &Fixture, test: &str) -> Option<Self> {
        if let Err(why) = is_possible() {
            skip(test, &why);
            return None;
        }
        let folder = fixture.path().join("server");
        fs::create_dir(&folder).unwrap();
        for name in ["key", "host_key", "other_key"] {
            run(Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(folder.join(name)));
        }
        let config = config(&folder, &fixture.path().join("far"));
        fs::write(folder.join("config"), config).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let host_key = fs::read_to_string(folder.join("host_key.pub")).unwrap();
        fs::write(folder.join("known"), format!("[127.0.0.1]:{port} {host_key}")).unwrap();
        let open = Arc::new(Mutex::new(Open::default()));
        let listening = thread::spawn({
            let (folder, open) = (folder.clone(), Arc::clone(&open));
            move || listen(&listener, &folder, &open)
        });
        Some(Self { folder, port, open, listening: Some(listening) })
    }

    /// The machine as a subject; `subject` is what it is there.
    pub(crate) fn subject(&self, subject: &str) -> String {
        format!("ssh://127.0.0.1:{},{subject}", self.port)
    }

    /// The ssh command that reaches it, with a key and a list of known hosts of its own.
    pub(crate) fn ssh(&self) -> String {
        self.ssh_with("key", "known")
    }

    /// The ssh command as [`Self::ssh`], with another key or another list of known hosts.
    pub(crate) fn ssh_with(&self, key: &str, known: &str) -> String {
        let (key, known) = (self.folder.join(key), self.folder.join(known));
        format!(
            "ssh -F none -o IdentitiesOnly=yes -o IdentityAgent=none -o StrictHostKeyChecking=yes \
             -i {} -o UserKnownHostsFile={}",
            key.display(),
            known.display()
        )
    }

    /// Cuts all connections: the processes that serve them die, and the sockets are closed.
    pub(crate) fn cut(&self) {
        for (mut sshd, stream) in std::mem::take(&mut self.open.lock().unwrap().connections) {
            let _ = sshd.kill();
            let _ = stream.shutdown(Shutdown::Both);
            let _ = sshd.wait();
        }
    }

    /// Whether those who come are sent away from now on.
    pub(crate) fn shut(&self, is_shut: bool) {
        self.open.lock().unwrap().is_shut = is_shut;
    }

    /// Cuts all connections and accepts no more.
    fn vanish(&mut self) {
        self.open.lock().unwrap().is_closed = true;
        // Who listens looks after every connection.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        if let Some(listening) = self.listening.take() {
            listening.join().unwrap();
        }
        self.cut();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.vanish();
        if thread::panicking() {
            let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
            let _ = writeln!(std::io::stderr(), "sshd said:\n{log}");
        }
    }
}

fn listen(listener: &TcpListener, folder: &Path, open: &Mutex<Open>) {
    for stream in listener.incoming() {
        let stream = stream.unwrap();
        let mut open = open.lock().unwrap();
        if open.is_closed {
            return;
        }
        if open.is_shut {
            continue;
        }
        let log = OpenOptions::new().create(true).append(true).open(folder.join("log")).unwrap();
        let ends = [(); 2].map(|()| OwnedFd::from(stream.try_clone().unwrap()));
        let [input, output] = ends.map(Stdio::from);
        let mut sshd = Command::new(SSHD);
        sshd.args(["-i", "-e", "-f"]).arg(folder.join("config"));
        let sshd = sshd.stdin(input).stdout(output).stderr(log).spawn().unwrap();
        open.connections.push((sshd, stream));
    }
}

/// Whether a server can run here, or why not.
fn is_possible() -> Result<(), String> {
    for program in [SSHD, "/usr/bin/ssh", "/usr/bin/ssh-keygen"] {
        if !Path::new(program).is_file() {
            return Err("sshd is not installed".to_owned());
        }
    }
    let user = rustix::process::geteuid().as_raw();
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let entry = users.lines().find(|line| line.split(':').nth(2) == Some(&user.to_string()));
    match entry.and_then(|entry| entry.split(':').nth(6)) {
        None => return Err("this user has no name, and ssh wants one".to_owned()),
        Some(shell) if shell.ends_with("nologin") || shell.ends_with("false") => {
            return Err("this user may not log in".to_owned());
        }
        Some(_) => {}
    }
    if is_root() {
        // Several tests come here at a time.
        return fs::create_dir_all(EMPTY)
            .map_err(|error| format!("{EMPTY} cannot be created: {error}"));
    }
    Ok(())
}

fn config(folder: &Path, far: &Path) -> String {
    let (folder, far) = (folder.display(), far.display());
    // Only with PAM may root log in whose password is locked.
    let pam = if is_root() && root_is_locked() { "yes" } else { "no" };
    format!(
        "HostKey {folder}/host_key\n\
         AuthorizedKeysFile {folder}/key.pub\n\
         PidFile none\n\
         StrictModes no\n\
         UsePAM {pam}\n\
         PasswordAuthentication no\n\
         KbdInteractiveAuthentication no\n\
         SetEnv XDG_STATE_HOME={far}/state XDG_CACHE_HOME={far}/cache\n"
    )
}

fn root_is_locked() -> bool {
    let shadow = fs::read_to_string("/etc/shadow").unwrap_or_default();
    shadow.lines().any(|line| line.starts_with("root:!"))
}

fn run(command: &mut Command) {
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
}

/// A text that is a program.
pub(crate) fn script(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    let mut file = File::create(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
    drop(file);
    fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}
