//! `--subject`: where to run, as typed and as resolved.

use std::str::FromStr;

use keep::Cache;
use kernels::{KernelArg, KernelSource};
use model::{MmuSpec, VmSpec};
use remote::Address;
use subject::LocalSubject;
use vm::VmRequest;

use crate::simulated::mmu_spec;
use crate::typed::{Setting, last};

/// The default kernel if the host has none: the newest of Debian's small ones.
const DEFAULT_KERNEL: &str = "deb:linux-image-cloud-amd64";

/// Kinds of subjects of this machine.
const HERE: [&str; 3] = ["host", "sandbox", GROUP];
/// The kind that is there already.
const GROUP: &str = "group";

/// Whether the subject of these settings is of this machine, so that it has its folders and memory.
pub fn is_here(settings: &[Setting]) -> bool {
    let is_here = |subject: &str| HERE.iter().any(|kind| subject.starts_with(kind));
    last(settings, "subject").is_none_or(is_here)
}

/// Whether the subject is a control group that is there already, here or on another machine.
pub fn is_live_group(settings: &[Setting]) -> bool {
    let is_group = |subject: &str| subject.starts_with(GROUP) || subject.contains(",group");
    last(settings, "subject").is_some_and(is_group)
}

/// Prefix of another machine's address.
const SSH: &str = "ssh://";

/// A subject on another machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteArg {
    pub(crate) address: Address,
    /// The subject there; `None` = a sandbox where possible, else the host.
    pub(crate) subject: Option<LocalSubject>,
}

/// A subject as typed.
#[derive(Clone, Debug, PartialEq)]
pub enum SubjectArg {
    /// The machine that thrashlab runs on, or new or existing control groups on it.
    Here(LocalSubject),
    /// A subject on another machine.
    Remote(Box<RemoteArg>),
    /// A guest machine.
    Vm(Box<VmRequest>),
    /// A simulated machine.
    Mmu(Box<MmuSpec>),
}

impl FromStr for SubjectArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (address, kind, settings) = split(text)?;
        Self::new(address, kind, &settings)
    }
}

/// The address of another machine (without `ssh://`), if a subject has one, its kind and its
/// settings. Fails when these cannot be split.
pub(crate) fn split(text: &str) -> Result<(Option<&str>, &str, Vec<Setting>), String> {
    let (address, text) = match text.strip_prefix(SSH).map(|rest| (rest, rest.split_once(','))) {
        None => (None, text),
        Some((rest, parts)) => {
            let (address, subject) = parts.unwrap_or((rest, ""));
            (Some(address), subject)
        }
    };
    let (kind, settings) = text.split_once(':').unwrap_or((text, ""));
    Ok((address, kind, vm::parse_settings(settings)?))
}

impl SubjectArg {
    /// A subject of a kind (`host`, `sandbox`, `group`, `vm`, `mmu`) with settings, of which the last of a
    /// name counts; at an address both may be empty. The error names an unknown kind or setting, or
    /// a bad value.
    pub(crate) fn new(
        address: Option<&str>,
        kind: &str,
        settings: &[Setting],
    ) -> Result<Self, String> {
        let local =
            |unknown: String| LocalSubject::from_settings(kind, settings).unwrap_or(Err(unknown));
        let Some(address) = address else {
            return match kind {
                "vm" => vm::request(settings).map(Box::new).map(Self::Vm),
                "mmu" => mmu_spec(settings).map(Box::new).map(Self::Mmu),
                _ => local(format!(
                    "no subject is named {kind:?}; choose from host, sandbox, group, vm, mmu and \
                     ssh://[USER@]HOST[:PORT][,SUBJECT]"
                ))
                .map(Self::Here),
            };
        };
        let address: Address = address.parse()?;
        let subject = match kind {
            "" if settings.is_empty() => None,
            _ => Some(local(format!(
                "{address} is measured as host or sandbox, not {kind:?}: write \
                 {address},sandbox:mem=1G; what is exactly repeatable needs no other machine"
            ))?),
        };
        Ok(Self::Remote(Box::new(RemoteArg { address, subject })))
    }
}

/// A machine with a kernel, and a note if the kernel is the default.
pub fn vm_spec(request: &VmRequest) -> (VmSpec, Option<String>) {
    let (kernel, note) = match &request.kernel {
        Some(kernel) => (kernel.clone(), None),
        None => {
            let chosen = default_kernel();
            let note = format!("the kernel is {chosen}; name another one with vm:kernel=KERNEL");
            (chosen, Some(note))
        }
    };
    let spec = VmSpec {
        machine: request.machine.clone(),
        kernel,
        overlay: request.overlay.clone(),
        root: request.root.clone(),
        sandbox: request.sandbox.clone(),
    };
    (spec, note)
}

/// The kernel that is running, else the newest of this machine's, else Debian's.
fn default_kernel() -> String {
    let cache = Cache::of_user().kernels();
    let has_modules = |arg: &KernelArg| {
        kernels::locate(arg, &cache).is_ok_and(|kernel| kernel.modules_dir.is_some())
    };
    if has_modules(&KernelSource::Host.into()) {
        return "host".to_owned();
    }
    let mut installed = kernels::installed().into_iter().map(|kernel| kernel.arg);
    installed.find(has_modules).map_or(DEFAULT_KERNEL.to_owned(), |arg| arg.to_string())
}
