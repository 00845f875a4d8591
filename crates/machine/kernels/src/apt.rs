//! Debian's archives through apt, without installing anything.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use crate::KernelError;
use crate::package::deb::{field, kernel_parts};

const NEAR_COUNT: usize = 4;
/// The package of a kernel's configuration, where it is apart from the image.
const BASE: &str = "linux-base-";
/// The folder of indexes for other architectures, and how long one is good for.
pub(crate) const INDEX_DIR: &str = ".apt";
/// The folder of an index's lists.
pub(crate) const LISTS: &str = "lists";
const INDEX_KEPT_FOR: Duration = Duration::from_secs(86_400);
const AGE_HINT: &str = "if the index is old, run `apt-get update` as root";
/// The file of sources in an index's folder.
const SOURCES: &str = "sources.list";
/// Where Debian's suites are: those that are supported, and old ones.
const MIRRORS: [&str; 2] = ["http://deb.debian.org", "http://archive.debian.org"];
/// The keys that sign Debian's suites.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

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

/// Packages of one architecture in archives: those that apt is set up for, or a suite of Debian.
#[derive(Default)]
pub(crate) struct Archive {
    /// Apt's configuration, where it is not that of this machine.
    config: Option<PathBuf>,
    /// What follows a package's name in the text of its kernel: `:arm64@sid`.
    pub(crate) place: String,
    suite: Option<String>,
}

impl Archive {
    /// Archives for an architecture and a suite of Debian; `None` = this machine's architecture, and
    /// what apt is set up for. Others have an index of their own in a folder of `cache_dir`, so that
    /// nothing of this machine has to be changed for them. Fails when the index cannot be fetched.
    pub(crate) fn of(
        architecture: Option<&str>,
        suite: Option<&str>,
        cache_dir: &Path,
    ) -> Result<Self, KernelError> {
        if architecture.is_none() && suite.is_none() {
            return Ok(Self::default());
        }
        let own = own_architecture();
        let dir = cache_dir.join(INDEX_DIR).join(folder_name(architecture.unwrap_or(own), suite));
        for part in [&format!("{LISTS}/partial"), "archives/partial"] {
            let dir = dir.join(part);
            fs::create_dir_all(&dir).map_err(KernelError::io(&dir))?;
        }
        let config = dir.join("apt.conf");
        let text = configuration(architecture.unwrap_or(own), suite.is_some(), &dir);
        fs::write(&config, text).map_err(KernelError::io(&config))?;
        let mark = |mark: char, word: Option<&str>| word.map(|word| format!("{mark}{word}"));
        let place = [mark(':', architecture), mark('@', suite)].into_iter().flatten().collect();
        let suite = suite.map(str::to_owned);
        let archive = Self { config: Some(config), place, suite };
        archive.refresh(&dir)?;
        Ok(archive)
    }

    /// Fetches the index unless that of this folder is new.
    fn refresh(&self, dir: &Path) -> Result<(), KernelError> {
        // Apt refuses when another process fetches the same index.
        let lock = File::open(dir).and_then(|folder| folder.lock().map(|()| folder));
        let _lock = lock.map_err(KernelError::io(dir))?;
        let fetched = dir.join("fetched");
        let age = fs::metadata(&fetched).and_then(|facts| facts.modified());
        if age.is_ok_and(|at| at.elapsed().is_ok_and(|age| age < INDEX_KEPT_FOR)) {
            return Ok(());
        }
        let tried = match &self.suite {
            None => self.update(&[], AGE_HINT),
            Some(suite) => self.update_suite(suite, dir),
        };
        match tried {
            Ok(()) => fs::write(&fetched, []).map_err(KernelError::io(&fetched)),
            // An older one is better than none.
            Err(_) if fetched.exists() => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// What is no longer supported is in the archive of old releases.
    fn update_suite(&self, suite: &str, dir: &Path) -> Result<(), KernelError> {
        let hint = format!(
            "is {suite} a suite of Debian, and is debian-archive-keyring installed ({KEYRING})?"
        );
        let sources = dir.join(SOURCES);
        let mut tries = MIRRORS.iter().map(|mirror| {
            fs::write(&sources, source(suite, mirror)).map_err(KernelError::io(&sources))?;
            // Without this, a suite that a mirror does not have is only a warning.
            self.update(&["--error-on=any"], &hint)
        });
        let first = tries.next().unwrap_or(Ok(()));
        if first.is_ok() || tries.any(|later| later.is_ok()) { Ok(()) } else { first }
    }

    fn update(&self, options: &[&str], hint: &str) -> Result<(), KernelError> {
        let mut command = self.command("apt-get");
        command.arg("update").args(options);
        let output = run(&mut command, &self.place)?;
        if output.status.success() { Ok(()) } else { Err(failed(&command, &output, hint)) }
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
                if found.iter().any(|package| package.name == part) {
                    continue;
                }
                match self.show(&part, None) {
                    // In 6.18 this is only a name that the package of the image provides.
                    Err(KernelError::NoKernel(_)) if part.starts_with(BASE) => {}
                    other => found.push(other?),
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
            return Err(failed(&command, &output, AGE_HINT));
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
            let version = version.map_or_else(String::new, |version| format!("={version}"));
            let near = match near(name, self.image_names()) {
                near if near.is_empty() => String::new(),
                near => format!("near: {}; ", near.join(", ")),
            };
            let next = match (&self.suite, &self.config, foreign(name)) {
                (Some(suite), ..) => format!("{suite} may have none of it"),
                (None, Some(_), _) => {
                    "the archives that apt is set up for may have none of it".to_owned()
                }
                (None, None, Some(other)) => {
                    format!("a package for {other} on another machine is deb:{name}:{other}")
                }
                (None, None, None) => "run `apt-get update` as root if the index is old, or \
                                       name another suite, as in deb:NAME@trixie-backports"
                    .to_owned(),
            };
            KernelError::NoKernel(format!(
                "deb:{name}{}{version}: no such package; {near}{next}",
                self.place
            ))
        })
    }
}

/// The name of an index's folder.
fn folder_name(architecture: &str, suite: Option<&str>) -> String {
    suite.map_or_else(|| architecture.to_owned(), |suite| format!("{suite}_{architecture}"))
}

/// The line of apt's sources for a suite of Debian on one of [`MIRRORS`].
fn source(suite: &str, mirror: &str) -> String {
    let archive = if suite.ends_with("-security") { "debian-security" } else { "debian" };
    format!("deb [signed-by={KEYRING}] {mirror}/{archive} {suite} main\n")
}

/// What lets apt see the packages of one architecture only, with its files in a folder; of a suite,
/// with sources of its own.
fn configuration(architecture: &str, has_sources: bool, dir: &Path) -> String {
    let dir = dir.display();
    let sources = match has_sources {
        true => format!(
            "Dir::Etc::sourcelist \"{dir}/{SOURCES}\";\nDir::Etc::sourceparts \"/dev/null\";\n\
             Acquire::Check-Valid-Until \"false\";\nAcquire::Languages \"none\";\n"
        ),
        false => String::new(),
    };
    format!(
        "APT::Architecture \"{architecture}\";\nAPT::Architectures {{ \"{architecture}\"; }};\n\
         Dir::State::lists \"{dir}/{LISTS}\";\nDir::State::status \"/dev/null\";\n\
         Dir::Cache::archives \"{dir}/archives\";\nDir::Cache::pkgcache \"\";\n\
         Dir::Cache::srcpkgcache \"\";\n{sources}"
    )
}

/// This machine's architecture, as Debian names it.
pub(crate) const fn own_architecture() -> &'static str {
    if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" }
}

/// The architecture at the end of a kernel's name, where it is not this machine's.
fn foreign(name: &str) -> Option<&str> {
    let mut known = ["amd64", "arm64"].into_iter();
    known.find(|known| *known != own_architecture() && name.ends_with(known))
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

fn failed(command: &Command, output: &Output, hint: &str) -> KernelError {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let command = words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
    let complaints = String::from_utf8_lossy(&output.stderr);
    let errors = complaints.lines().filter_map(|line| line.strip_prefix("E: "));
    let message = errors.collect::<Vec<_>>().join("; ");
    let message = if message.is_empty() { output.status.to_string() } else { message };
    KernelError::Unavailable(format!("`{command}` failed: {message}; {hint}"))
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
        let text = configuration("arm64", false, Path::new("/cache/.apt/arm64"));
        assert!(text.starts_with("APT::Architecture \"arm64\";\n"), "{text}");
        assert!(text.contains("Dir::State::lists \"/cache/.apt/arm64/lists\";\n"), "{text}");
        assert_eq!(foreign("linux-image-virtual"), None);
        assert_eq!(
            foreign("linux-image-cloud-amd64").or(foreign("linux-image-cloud-arm64")),
            Some(if cfg!(target_arch = "aarch64") { "amd64" } else { "arm64" })
        );
    }

    #[test]
    fn a_suite_has_sources_of_its_own() {
        let text = configuration("amd64", true, Path::new("/cache/.apt/sid_amd64"));
        assert!(text.contains("sourcelist \"/cache/.apt/sid_amd64/sources.list\";\n"), "{text}");
        assert!(text.contains("Dir::Etc::sourceparts \"/dev/null\";\n"), "{text}");
        let [of_suite, of_security] =
            ["sid", "bullseye-security"].map(|suite| source(suite, MIRRORS[0]));
        assert!(of_suite.ends_with("] http://deb.debian.org/debian sid main\n"), "{of_suite}");
        assert!(of_security.contains("/debian-security bullseye-security "), "{of_security}");
        assert_eq!(folder_name("amd64", Some("sid")), "sid_amd64");
    }

    #[test]
    fn near_names_are_suggested_best_first() {
        let names = ["linux-image-6.1.0-50-amd64", "linux-image-6.1.0-50-cloud-amd64", "zsh"];
        let near = near("linux-image-6.1.0-50-cloud-amd46", names.map(str::to_owned).to_vec());
        assert_eq!(near[0], "linux-image-6.1.0-50-cloud-amd64");
        assert!(!near.contains(&"zsh".to_owned()));
    }
}
