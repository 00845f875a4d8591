//! An interactive guest; not deterministic.

use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use guest::{BUSYBOX, Notice, Then};
use keep::{Cache, Scratch};
use model::VmSpec;
use rustix::io::{FdFlags, fcntl_setfd};

use crate::boot::Parts;
use crate::guest_process::{GuestProcess, Message};
use crate::guest_program::ElfFacts;
use crate::guest_root::GuestRoot;
use crate::initramfs::{EXECUTABLE, RootFile};
use crate::platform::{Platform, find_kernel};
use crate::qemu::Qemu;
use crate::qmp::Event;
use crate::{Result, Stop, VmError};

/// Besides `$PATH`.
const BUSYBOX_DIRS: [&str; 3] = ["/bin", "/usr/lib/busybox", "/usr/lib/initramfs-tools/bin"];

/// A guest with a shell; gone when dropped.
pub struct Shell {
    guest: GuestProcess,
    /// The guest's console.
    pub console: UnixStream,
    is_ready: bool,
    _folder: Scratch,
}

/// The progress of a guest with a shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShellState {
    /// It boots.
    Booting,
    /// The shell reads its console.
    Ready,
    /// It has ended.
    Ended,
}

impl Shell {
    /// Starts a guest, for a script without prompt or echo; `say` gets the steps that take long. Fails
    /// also without a static busybox.
    pub fn start(
        spec: &VmSpec,
        cache: &Cache,
        is_script: bool,
        stop: Stop<'_>,
        say: &mut dyn FnMut(&str),
    ) -> Result<Self> {
        Qemu::check_any(cache)?;
        let platform = Platform::of_kernel(&find_kernel(&spec.kernel, cache)?)?;
        let bytes = static_busybox(platform).ok_or_else(|| no_busybox(platform))?;
        let extra = [RootFile { path: BUSYBOX.to_owned(), mode: EXECUTABLE, bytes }];
        let then = if is_script { Then::Script } else { Then::Shell };
        let parts = {
            let root = GuestRoot::of(spec, cache, stop, say)?;
            Parts::gather(None, spec, cache, &extra, root.as_ref(), then)?
        };
        // Our end of the console, and QEMU's.
        let (console, theirs) = UnixStream::pair()?;
        console.set_nonblocking(true)?;
        fcntl_setfd(&theirs, FdFlags::empty()).map_err(io::Error::from)?;
        let folder = Scratch::make(&cache.root, "shell").map_err(VmError::cache(&cache.root))?;
        parts.write(&parts.image()?, folder.path())?;
        let guest = parts.boot(folder.path(), Some(theirs.as_raw_fd()))?;
        Ok(Self { guest, console, is_ready: false, _folder: folder })
    }

    /// Looks how far it is, without waiting. Fails when the guest died or could not be set up.
    pub fn state(&mut self) -> Result<ShellState> {
        let event = self.guest.qmp.event(Duration::ZERO)?;
        for said in self.guest.messages()? {
            match said {
                Message::Notice(Notice::Ready) => self.is_ready = true,
                Message::Notice(Notice::Failed(why)) => return Err(VmError::Boot(why)),
                _ => {}
            }
        }
        match event {
            Event::Paused => Err(self.guest.died("its kernel died")),
            Event::Ended if !self.is_ready => Err(self.guest.died("it ended while it booted")),
            Event::Ended => Ok(ShellState::Ended),
            _ if self.is_ready => Ok(ShellState::Ready),
            _ => Ok(ShellState::Booting),
        }
    }
}

fn static_busybox(platform: &Platform) -> Option<Vec<u8>> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let fits = |program: &Vec<u8>| {
        let facts = ElfFacts::parse(program);
        facts.is_some_and(|facts| facts.machine == platform.elf && !facts.needs_loader)
    };
    std::env::split_paths(&path)
        .chain(BUSYBOX_DIRS.map(PathBuf::from))
        .filter_map(|dir| fs::read(dir.join("busybox")).ok())
        .find(fits)
}

fn no_busybox(platform: &Platform) -> VmError {
    VmError::Unavailable(match platform.is_of_this_program() {
        true => "a shell in the guest needs a static busybox on this machine; install it with: \
                 apt-get install busybox-static (Fedora: dnf install busybox)"
            .to_owned(),
        false => format!(
            "a shell in a guest of {0} needs a static busybox for {0}: unpack the package \
             busybox-static of that architecture (dpkg-deb -x), and put the folder of its busybox \
             first in PATH",
            platform.name()
        ),
    })
}
