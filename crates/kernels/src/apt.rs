//! Debian's archives through apt, without installing anything.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::KernelError;
use crate::package::deb::{field, kernel_parts};

const NEAR_COUNT: usize = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AptPackage {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) architecture: String,
    pub(crate) kernel_parts: Vec<String>,
}

impl AptPackage {
    pub(crate) fn key(&self) -> String {
        format!("{}_{}_{}", self.name, self.version, self.architecture)
    }

    fn parse(paragraph: &str) -> Option<Self> {
        let value = |name| field(paragraph, name).map(str::to_owned);
        Some(Self {
            name: value("Package")?,
            version: value("Version")?,
            architecture: value("Architecture")?,
            kernel_parts: kernel_parts(field(paragraph, "Depends").unwrap_or("")),
        })
    }
}

/// A kernel's packages: metapackages are followed, separate modules are added. The image is first.
pub(crate) fn resolve(name: &str, version: Option<&str>) -> Result<Vec<AptPackage>, KernelError> {
    let mut found = vec![show(name, version)?];
    let mut next = 0;
    while let Some(package) = found.get(next) {
        for part in package.kernel_parts.clone() {
            if !found.iter().any(|package| package.name == part) {
                found.push(show(&part, None)?);
            }
        }
        next += 1;
    }
    // A metapackage that leads to another image is only a name.
    let leads_on = |package: &AptPackage| {
        package.kernel_parts.iter().any(|part| part.starts_with("linux-image-"))
    };
    found.retain(|package| !leads_on(package));
    Ok(found)
}

pub(crate) fn download(packages: &[AptPackage], dir: &Path) -> Result<Vec<PathBuf>, KernelError> {
    let name = packages.first().map(|package| package.name.clone()).unwrap_or_default();
    let mut command = Command::new("apt-get");
    // Without the sandbox user, apt needs only our access to the folder.
    for option in ["APT::Sandbox::User=root", "Acquire::Retries=2", "Acquire::http::Timeout=30"] {
        command.args(["-o", option]);
    }
    command.arg("download").current_dir(dir);
    command.args(packages.iter().map(|package| format!("{}={}", package.name, package.version)));
    let output = run(&mut command, &name)?;
    if !output.status.success() {
        return Err(failed(&command, &output));
    }
    let entries = std::fs::read_dir(dir).map_err(KernelError::io(dir))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "deb"))
        .collect();
    files.sort();
    Ok(files)
}

/// Kernel packages that can be fetched; empty without apt.
pub(crate) fn image_names() -> Vec<String> {
    run(Command::new("apt-cache").args(["pkgnames", "linux-image-"]), "")
        .map(|output| String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
        .unwrap_or_default()
}

fn show(name: &str, version: Option<&str>) -> Result<AptPackage, KernelError> {
    let mut command = Command::new("apt-cache");
    command.args(["show", "--no-all-versions"]);
    command.arg(version.map_or_else(|| name.to_owned(), |version| format!("{name}={version}")));
    let output = run(&mut command, name)?;
    AptPackage::parse(&String::from_utf8_lossy(&output.stdout)).ok_or_else(|| {
        let version = version.map_or_else(String::new, |version| format!("={version}"));
        let near = match near(name, image_names()) {
            near if near.is_empty() => String::new(),
            near => format!("near: {}; ", near.join(", ")),
        };
        KernelError::NoKernel(format!(
            "deb:{name}{version}: no such package; {near}run `apt-get update` as root if the index \
             is old"
        ))
    })
}

/// The most similar names, best first.
fn near(name: &str, names: Vec<String>) -> Vec<String> {
    let mut rated: Vec<(f64, String)> = names
        .into_iter()
        .map(|other| (strsim::jaro_winkler(name, &other), other))
        .filter(|(likeness, _)| *likeness > 0.8)
        .collect();
    rated.sort_by(|left, right| right.0.total_cmp(&left.0).then_with(|| left.1.cmp(&right.1)));
    rated.into_iter().take(NEAR_COUNT).map(|(_, name)| name).collect()
}

fn run(command: &mut Command, name: &str) -> Result<Output, KernelError> {
    command.env("LC_ALL", "C").stdin(std::process::Stdio::null()).output().map_err(|error| {
        let tool = command.get_program().display();
        KernelError::Unavailable(format!(
            "deb:{name}: {tool} cannot be started ({error}); this needs a Debian-like system \
             (`apt-get install apt`); elsewhere give the path of a .deb, .rpm or kernel image"
        ))
    })
}

fn failed(command: &Command, output: &Output) -> KernelError {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let command = words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
    let complaints = String::from_utf8_lossy(&output.stderr);
    let errors = complaints.lines().filter_map(|line| line.strip_prefix("E: "));
    let message = errors.collect::<Vec<_>>().join("; ");
    let message = if message.is_empty() { output.status.to_string() } else { message };
    KernelError::Unavailable(format!(
        "`{command}` failed: {message}; if the index is old, run `apt-get update` as root"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_read_from_the_index() {
        let text = "Package: linux-image-cloud-amd64\nVersion: 6.1.176-1\nArchitecture: amd64\n\
                    Depends: linux-image-6.1.0-50-cloud-amd64 (= 6.1.176-1), kmod\n\n\
                    Package: other\nDepends: linux-image-x\n";
        let package = AptPackage::parse(text).unwrap();
        assert_eq!(package.key(), "linux-image-cloud-amd64_6.1.176-1_amd64");
        assert_eq!(package.kernel_parts, ["linux-image-6.1.0-50-cloud-amd64"]);
        assert_eq!(AptPackage::parse("N: Unable to locate package x\n"), None);
    }

    #[test]
    fn near_names_are_suggested_best_first() {
        let names = ["linux-image-6.1.0-50-amd64", "linux-image-6.1.0-50-cloud-amd64", "zsh"];
        let near = near("linux-image-6.1.0-50-cloud-amd46", names.map(str::to_owned).to_vec());
        assert_eq!(near[0], "linux-image-6.1.0-50-cloud-amd64");
        assert!(!near.contains(&"zsh".to_owned()));
    }
}
