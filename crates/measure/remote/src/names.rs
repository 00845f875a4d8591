//! Names of sessions and runs that both sides use.

use std::path::Path;

use model::{Spec, SubjectSpec};
use subject::LocalSubject;

use crate::address::Address;

/// A name derived from everything that distinguishes two things.
pub(crate) fn name_of(parts: &[&str]) -> String {
    let parts: Vec<&[u8]> = parts.iter().map(|part| part.as_bytes()).collect();
    keep::key_of(&parts)[..32].to_owned()
}

/// The name of a run, without the resolved subject, which may differ next time.
pub(crate) fn run_key(
    address: &Address,
    folder: &Path,
    run_id: &str,
    spec: &Spec,
    subject: Option<&LocalSubject>,
) -> String {
    let mut spec = spec.clone();
    spec.subject = SubjectSpec::Host { memory_bytes: 0 };
    let text = |value: serde_json::Result<String>| value.unwrap_or_default();
    name_of(&[
        &user(),
        &address.to_string(),
        &absolute(folder),
        run_id,
        &text(serde_json::to_string(&spec)),
        &text(serde_json::to_string(&subject)),
    ])
}

pub(crate) fn absolute(folder: &Path) -> String {
    let path = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    path.to_string_lossy().into_owned()
}

/// `user@machine`, for people.
pub(crate) fn user() -> String {
    let machine = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let named = ["USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok());
    let user = named.unwrap_or_else(|| format!("user {}", rustix::process::getuid().as_raw()));
    format!("{user}@{machine}")
}
