//! The file from which the agent is started on this machine.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::sync::OnceLock;

use keep::folders::user_folder;
use keep::out_file::write_whole;
use keep::{AGENT_NAME, AgentProgram};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::io::Errno;
use sys::process::spawn_bound;

use crate::Agent;

/// Bits of a file that its owner may execute and no one may change.
const EXECUTABLE: u32 = 0o500;

/// The agent as this process can start it: from a sealed file in memory, or from the user's cache
/// where the system executes no files in memory. The file lives as long as this process. Fails with
/// both reasons.
pub fn program() -> io::Result<&'static AgentProgram> {
    static STARTED: OnceLock<Result<(AgentProgram, Option<File>), String>> = OnceLock::new();
    let started = STARTED.get_or_init(|| {
        let agent = Agent::here()?;
        match in_memory(&agent.bytes) {
            Ok(started) => Ok(started),
            Err(refused) if is_forbidden(&refused) => {
                let why =
                    |error| format!("the agent cannot be started: in memory: {refused}; {error}");
                Ok((in_cache(agent).map_err(why)?, None))
            }
            Err(error) => Err(format!("the agent cannot be started: {error}")),
        }
    });
    started.as_ref().map(|(program, _)| program).map_err(|why| io::Error::other(why.clone()))
}

/// Whether an error means that this system executes no files in memory.
fn is_forbidden(error: &io::Error) -> bool {
    use io::ErrorKind::{NotFound, PermissionDenied, Unsupported};
    matches!(error.kind(), NotFound | PermissionDenied | Unsupported)
}

fn in_memory(bytes: &[u8]) -> io::Result<(AgentProgram, Option<File>)> {
    let file = sealed(bytes)?;
    let program = AgentProgram::at(format!("/proc/self/fd/{}", file.as_raw_fd()));
    is_executed(&program)?;
    Ok((program, Some(file)))
}

/// A file without a name that nobody can change, closed in programs that this process starts.
fn sealed(bytes: &[u8]) -> io::Result<File> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let descriptor = match memfd_create(AGENT_NAME, flags | MemfdFlags::EXEC) {
        // Kernels before 6.3 do not know the flag, and have no files that may not be executed.
        Err(Errno::INVAL) => memfd_create(AGENT_NAME, flags)?,
        other => other?,
    };
    let mut file = File::from(descriptor);
    file.write_all(bytes)?;
    fcntl_add_seals(
        &file,
        SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL,
    )?;
    Ok(file)
}

/// Starts it without a role, which it refuses at once. Fails if the system does not execute it.
fn is_executed(program: &AgentProgram) -> io::Result<()> {
    let mut command = program.command("");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    spawn_bound(&mut command)?.wait().map(drop)
}

/// The agent in a file of the user's cache that its hash names, written once.
fn in_cache(agent: &Agent) -> Result<AgentProgram, String> {
    let folder = user_folder("XDG_CACHE_HOME", ".cache").map(|cache| cache.join("agents"));
    let folder = folder.ok_or("there is no cache folder: set HOME or XDG_CACHE_HOME")?;
    let path = folder.join(agent.hash);
    let failed = |error: io::Error| format!("{}: {error}", path.display());
    if fs::read(&path).ok().as_deref() != Some(&agent.bytes) {
        write(&path, &agent.bytes).map_err(failed)?;
    }
    let program = AgentProgram::at(&path);
    is_executed(&program).map_err(failed)?;
    Ok(program)
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    write_whole(path, bytes)?;
    fs::set_permissions(path, Permissions::from_mode(EXECUTABLE))
}
