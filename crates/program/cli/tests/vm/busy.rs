//! A busy host.

use std::process::{Child, Command, Stdio};

/// Processes that keep all processors busy; ended when dropped.
pub(crate) struct Busy(Vec<Child>);

impl Busy {
    pub(crate) fn new() -> Self {
        let spin = || {
            let mut command = Command::new("sh");
            command.args(["-c", "while :; do :; done"]).stdin(Stdio::null()).spawn().unwrap()
        };
        Self(vec![spin(), spin()])
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
