//! Giving up rights of this process for good, by a filter of system calls (`seccomp(2)`).

use std::collections::BTreeMap;
use std::io;

use seccompiler::{
    SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    apply_filter_all_threads,
};

/// What a process can do no longer once it is confined; such a call fails with `EPERM`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confinement {
    /// Execute programs, open sockets except to ask the kernel, change other processes or the
    /// settings of the machine. For commands that read files of others.
    FilesOnly,
    /// Do anything that [`Self::FilesOnly`] forbids, or change a file: it writes only to what is
    /// open already, such as standard output.
    ReadOnly,
}

/// System calls that only [`Confinement::ReadOnly`] forbids, besides opening a file to write.
const CHANGE_FILES: &[libc::c_long] = &[
    libc::SYS_fallocate,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_fremovexattr,
    libc::SYS_fsetxattr,
    libc::SYS_ftruncate,
    libc::SYS_linkat,
    libc::SYS_lremovexattr,
    libc::SYS_lsetxattr,
    libc::SYS_mkdirat,
    libc::SYS_mknodat,
    libc::SYS_open_by_handle_at,
    libc::SYS_openat2,
    libc::SYS_removexattr,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_setxattr,
    libc::SYS_symlinkat,
    libc::SYS_truncate,
    libc::SYS_unlinkat,
    libc::SYS_utimensat,
];

/// System calls that only [`Confinement::ReadOnly`] forbids and that only architectures with the
/// calls of the first Unix have.
#[cfg(target_arch = "x86_64")]
const CHANGE_FILES_BY_PATH: &[libc::c_long] = &[
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_creat,
    libc::SYS_futimesat,
    libc::SYS_lchown,
    libc::SYS_link,
    libc::SYS_mkdir,
    libc::SYS_mknod,
    libc::SYS_rename,
    libc::SYS_rmdir,
    libc::SYS_symlink,
    libc::SYS_unlink,
    libc::SYS_utime,
    libc::SYS_utimes,
];
#[cfg(not(target_arch = "x86_64"))]
const CHANGE_FILES_BY_PATH: &[libc::c_long] = &[];

/// Numbers of newer system calls that only [`Confinement::ReadOnly`] forbids, equal on all
/// architectures: `fchmodat2`, `setxattrat`, `removexattrat` and `file_setattr`, which many C
/// libraries do not know.
const CHANGE_FILES_NEWER: &[libc::c_long] = &[452, 463, 466, 469];

/// `kexec_file_load(2)`, which the `libc` crate does not name for musl on aarch64.
#[cfg(target_arch = "x86_64")]
const KEXEC_FILE_LOAD: libc::c_long = 320;
#[cfg(not(target_arch = "x86_64"))]
const KEXEC_FILE_LOAD: libc::c_long = 294;

/// System calls that both forbid: programs, other processes, settings, and what would bypass this
/// filter.
const CHANGE_OTHERS: &[libc::c_long] = &[
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_adjtimex,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_connect,
    libc::SYS_delete_module,
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_finit_module,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_init_module,
    libc::SYS_io_uring_setup,
    libc::SYS_ioprio_set,
    KEXEC_FILE_LOAD,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_migrate_pages,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_move_pages,
    libc::SYS_open_tree,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_send_signal,
    libc::SYS_pivot_root,
    libc::SYS_process_madvise,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setscheduler,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_setns,
    libc::SYS_setpriority,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_tkill,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
];

/// Confines this process, with all its threads and what they fork, until it ends. Files and sockets
/// that are open stay usable. Fails, with nothing changed, in a kernel without seccomp.
pub fn confine(to: Confinement) -> io::Result<()> {
    let filter = filter(to).map_err(io::Error::other)?;
    apply_filter_all_threads(&filter).map_err(io::Error::other)
}

fn filter(to: Confinement) -> Result<seccompiler::BpfProgram, seccompiler::BackendError> {
    let always = |calls: &[libc::c_long]| calls.iter().map(|call| (*call, Vec::new())).collect();
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = always(CHANGE_OTHERS);
    let own = u64::from(std::process::id());
    // Signals to oneself end a process that panics; the limits of process 0 are one's own.
    let but_for = [
        (libc::SYS_kill, own),
        (libc::SYS_tgkill, own),
        (libc::SYS_prlimit64, 0),
        (libc::SYS_socket, libc::AF_NETLINK as u64),
    ];
    for (call, first_argument) in but_for {
        rules.insert(call, vec![rule(0, SeccompCmpOp::Ne, first_argument)?]);
    }
    if to == Confinement::ReadOnly {
        rules.append(&mut always(CHANGE_FILES));
        rules.append(&mut always(CHANGE_FILES_BY_PATH));
        rules.append(&mut always(CHANGE_FILES_NEWER));
        rules.insert(libc::SYS_openat, opening_to_write(2)?);
        #[cfg(target_arch = "x86_64")]
        rules.insert(libc::SYS_open, opening_to_write(1)?);
    }
    let forbidden = SeccompAction::Errno(libc::EPERM as u32);
    let arch = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules, SeccompAction::Allow, forbidden, arch)?.try_into()
}

/// A rule for the calls one of whose arguments, of 32 bits, compares with a value.
fn rule(
    argument: u8,
    is: SeccompCmpOp,
    value: u64,
) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(vec![SeccompCondition::new(argument, SeccompCmpArgLen::Dword, is, value)?])
}

/// A rule for each flag of `open(2)` with which a file may change; `argument` has the flags.
fn opening_to_write(argument: u8) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let flags = [libc::O_WRONLY, libc::O_RDWR, libc::O_CREAT, libc::O_TRUNC].map(|it| it as u64);
    flags.map(|flag| rule(argument, SeccompCmpOp::MaskedEq(flag), flag)).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::net::{TcpStream, UdpSocket};
    use std::path::Path;
    use std::process::Command;

    use super::*;

    /// Names the folder in which a process of this test is confined.
    const INSIDE: &str = "THRASHLAB_TEST_CONFINED";

    /// Whether a step is refused by the filter.
    fn is_refused<T>(step: io::Result<T>) -> bool {
        step.err().and_then(|error| error.raw_os_error()) == Some(libc::EPERM)
    }

    /// Runs one test of this file again, in a process of its own: a filter stays.
    fn outside(name: &str) -> Option<std::path::PathBuf> {
        if let Some(folder) = std::env::var_os(INSIDE) {
            return Some(folder.into());
        }
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file"), "text").unwrap();
        let name = format!("confine::tests::{name}");
        let again = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &name, "--nocapture"])
            .env(INSIDE, folder.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&again.stdout).into_owned();
        assert!(again.status.success() && said.contains("1 passed"), "{said}");
        assert_eq!(fs::read_to_string(folder.path().join("file")).unwrap(), "text");
        None
    }

    /// What both refuse.
    fn refuses_what_changes_others() {
        assert!(is_refused(Command::new("/bin/true").status()));
        assert!(is_refused(TcpStream::connect("127.0.0.1:9")));
        assert!(is_refused(UdpSocket::bind("127.0.0.1:0")));
        let parent = rustix::process::getppid().unwrap();
        assert_eq!(rustix::process::test_kill_process(parent), Err(rustix::io::Errno::PERM));
        assert!(rustix::process::test_kill_process(rustix::process::getpid()).is_ok());
        let affinity = rustix::thread::sched_getaffinity(None).unwrap();
        let pinned = rustix::thread::sched_setaffinity(Some(parent), &affinity);
        assert_eq!(pinned, Err(rustix::io::Errno::PERM));
    }

    #[test]
    fn a_process_that_only_reads_changes_no_file() {
        let Some(folder) = outside("a_process_that_only_reads_changes_no_file") else { return };
        let (file, other) = (folder.join("file"), folder.join("other"));
        let (order, waits) = std::sync::mpsc::channel::<()>();
        let earlier = std::thread::spawn({
            let file = file.clone();
            move || waits.recv().is_ok() && is_refused(File::create(file))
        });
        confine(Confinement::ReadOnly).unwrap();
        order.send(()).unwrap();
        assert!(earlier.join().unwrap());
        refuses_what_changes_others();
        assert_eq!(fs::read_to_string(&file).unwrap(), "text");
        assert!(fs::read_dir(&folder).unwrap().count() == 1);
        assert!(is_refused(File::options().append(true).open(&file)));
        assert!(is_refused(File::options().read(true).write(true).open(&file)));
        assert!(is_refused(File::create(&other)));
        assert!(is_refused(File::options().write(true).open("/proc/self/oom_score_adj")));
        assert!(is_refused(fs::remove_file(&file)));
        assert!(is_refused(fs::rename(&file, &other)));
        assert!(is_refused(fs::hard_link(&file, &other)));
        assert!(is_refused(std::os::unix::fs::symlink(&file, &other)));
        assert!(is_refused(fs::create_dir(&other)));
        assert!(is_refused(fs::set_permissions(&file, fs::metadata(&file).unwrap().permissions())));
        assert!(is_refused(fs::remove_dir_all(&folder)));
        let path = std::ffi::CString::new(file.as_os_str().as_encoded_bytes()).unwrap();
        // SAFETY: fchmodat2(2) reads the path, which ends with a zero.
        let changed = unsafe { libc::syscall(452, libc::AT_FDCWD, path.as_ptr(), 0o600, 0) };
        assert!(is_refused(crate::done(changed as libc::c_int)));
    }

    #[test]
    fn a_process_with_files_only_writes_them_and_nothing_else() {
        let name = "a_process_with_files_only_writes_them_and_nothing_else";
        let Some(folder) = outside(name) else { return };
        confine(Confinement::FilesOnly).unwrap();
        refuses_what_changes_others();
        let other = folder.join("other");
        fs::write(&other, "written").unwrap();
        fs::remove_file(&other).unwrap();
        assert!(Path::new("/proc/self/maps").exists());
    }
}
