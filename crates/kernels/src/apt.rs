//! Debian's archives through apt, without installing anything.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use crate::KernelError;
use crate::package::deb::{field, kernel_parts};

const NEAR_COUNT: usize = 4;
/// The folder of indexes for other architectures, and how long one is good for.
pub(crate) const INDEX_DIR: &str = ".apt";
/// The folder of an index's lists.
pub(crate) const LISTS: &str = "lists";
const INDEX_KEPT_FOR: Duration = Duration::from_secs(86_400);

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

/// The archives that apt is set up for: their packages for one architecture.
#[derive(Default)]
pub(crate) struct Archive {
    /// Apt's configuration for another architecture than this machine's.
    config: Option<PathBuf>,
    architecture: Option<String>,
}

impl Archive {
    /// Archives for an architecture; `None` = this machine's. Another one has an index of its own
    /// in a folder of `cache_dir`, so that nothing of this machine has to be changed for it. Fails
    /// when the index cannot be fetched.
    pub(crate) fn of(architecture: Option<&str>, cache_dir: &Path) -> Result<Self, KernelError> {
        let Some(name) = architecture else { return Ok(Self::default()) };
        let dir = cache_dir.join(INDEX_DIR).join(name);
        for part in [&format!("{LISTS}/partial"), "archives/partial"] {
            let dir = dir.join(part);
            fs::create_dir_all(&dir).map_err(KernelError::io(&dir))?;
        }
        let config = dir.join("apt.conf");
        fs::write(&config, configuration(name, &dir)).map_err(KernelError::io(&config))?;
        let archive = Self { config: Some(config), architecture: Some(name.to_owned()) };
        // Apt refuses when another process fetches the same index.
        let lock = File::open(&dir).and_then(|folder| folder.lock().map(|()| folder));
        let _lock = lock.map_err(KernelError::io(&dir))?;
        let fetched = dir.join("fetched");
        let age = fs::metadata(&fetched).and_then(|facts| facts.modified());
        if age.is_ok_and(|at| at.elapsed().is_ok_and(|age| age < INDEX_KEPT_FOR)) {
            return Ok(archive);
        }
        let mut command = archive.command("apt-get");
        command.arg("update");
        let output = run(&mut command, name)?;
        if !output.status.success() {
            // An older one is better than none.
            return if fetched.exists() { Ok(archive) } else { Err(failed(&command, &output)) };
        }
        fs::write(&fetched, []).map_err(KernelError::io(&fetched))?;
        Ok(archive)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.envs(self.config.iter().map(|config| ("APT_CONFIG", config)));
        // Without the sandbox user, apt needs only our access to the folder.
        for option in ["APT::Sandbox::User=root", "Acquire::Retries=2", "Acquire::http::Timeout=30"]
        {
            command.args(["-o", option]);
        }
        command
    }

    /// A kernel's packages: metapackages are followed, separate modules are added. The image is first.
    pub(crate) fn resolve(
        &self,
        name: &str,
        version: Option<&str>,
    ) -> Result<Vec<AptPackage>, KernelError> {
        let mut found = vec![self.show(name, version)?];
        let mut next = 0;
        while let Some(package) = found.get(next) {
            for part in package.kernel_parts.clone() {
                if !found.iter().any(|package| package.name == part) {
                    found.push(self.show(&part, None)?);
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

    /// Fetches packages into a folder; returns the files.
    pub(crate) fn download(
        &self,
        packages: &[AptPackage],
        dir: &Path,
    ) -> Result<Vec<PathBuf>, KernelError> {
        let name = packages.first().map(|package| package.name.clone()).unwrap_or_default();
        let mut command = self.command("apt-get");
        command.arg("download").current_dir(dir);
        let versions = packages.iter().map(|it| format!("{}={}", it.name, it.version));
        let output = run(command.args(versions), &name)?;
        if !output.status.success() {
            return Err(failed(&command, &output));
        }
        let entries = fs::read_dir(dir).map_err(KernelError::io(dir))?;
        let mut files: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|extension| extension == "deb"))
            .collect();
        files.sort();
        Ok(files)
    }

    /// Kernel packages that can be fetched; empty without apt.
    pub(crate) fn image_names(&self) -> Vec<String> {
        run(self.command("apt-cache").args(["pkgnames", "linux-image-"]), "")
            .map(|output| {
                String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
            })
            .unwrap_or_default()
    }

    fn show(&self, name: &str, version: Option<&str>) -> Result<AptPackage, KernelError> {
        let mut command = self.command("apt-cache");
        command.args(["show", "--no-all-versions"]);
        command.arg(version.map_or_else(|| name.to_owned(), |version| format!("{name}={version}")));
        let output = run(&mut command, name)?;
        AptPackage::parse(&String::from_utf8_lossy(&output.stdout)).ok_or_else(|| {
            let of = self.architecture.iter().map(|name| format!(":{name}")).collect::<String>();
            let version = version.map_or_else(String::new, |version| format!("={version}"));
            let near = match near(name, self.image_names()) {
                near if near.is_empty() => String::new(),
                near => format!("near: {}; ", near.join(", ")),
            };
            let next = match (&self.architecture, foreign(name)) {
                (Some(_), _) => {
                    "the archives that apt is set up for may have none of it".to_owned()
                }
                (None, Some(other)) => {
                    format!("a package for {other} on another machine is deb:{name}:{other}")
                }
                (None, None) => "run `apt-get update` as root if the index is old".to_owned(),
            };
            KernelError::NoKernel(format!("deb:{name}{of}{version}: no such package; {near}{next}"))
        })
    }
}

/// What lets apt see the packages of one architecture only, with its files in a folder.
fn configuration(architecture: &str, dir: &Path) -> String {
    let dir = dir.display();
    format!(
        "APT::Architecture \"{architecture}\";\nAPT::Architectures {{ \"{architecture}\"; }};\n\
         Dir::State::lists \"{dir}/{LISTS}\";\nDir::State::status \"/dev/null\";\n\
         Dir::Cache::archives \"{dir}/archives\";\nDir::Cache::pkgcache \"\";\n\
         Dir::Cache::srcpkgcache \"\";\n"
    )
}

/// The architecture at the end of a kernel's name, where it is not this machine's.
fn foreign(name: &str) -> Option<&str> {
    let own = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    ["amd64", "arm64"].into_iter().find(|known| *known != own && name.ends_with(known))
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
    fn another_architecture_has_a_configuration_of_its_own() {
        let text = configuration("arm64", Path::new("/cache/.apt/arm64"));
        assert!(text.starts_with("APT::Architecture \"arm64\";\n"), "{text}");
        assert!(text.contains("Dir::State::lists \"/cache/.apt/arm64/lists\";\n"), "{text}");
        assert_eq!(foreign("linux-image-virtual"), None);
        assert_eq!(
            foreign("linux-image-cloud-amd64").or(foreign("linux-image-cloud-arm64")),
            Some(if cfg!(target_arch = "aarch64") { "amd64" } else { "arm64" })
        );
    }

    #[test]
    fn near_names_are_suggested_best_first() {
        let names = ["linux-image-6.1.0-50-amd64", "linux-image-6.1.0-50-cloud-amd64", "zsh"];
        let near = near("linux-image-6.1.0-50-cloud-amd46", names.map(str::to_owned).to_vec());
        assert_eq!(near[0], "linux-image-6.1.0-50-cloud-amd64");
        assert!(!near.contains(&"zsh".to_owned()));
    }
}
