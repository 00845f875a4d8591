//! A state of a source and of a configuration as a kernel.
//!
//! All states of a search are built in one folder, one after the other, so that `make` compiles only
//! what changed. Finished kernels are kept like unpacked packages, under a hash of what they were made
//! from. Their bytes name neither a folder nor a time nor a user.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use keep::{Scratch, Shelf, in_path, key_of};

use crate::build_run::BuildControl;
use crate::config::{KernelOption, needed, read_options, write_options};
use crate::error::{BuildError, Result};
use crate::history::SourceState;

/// Where kernels are built, in the cache's folder of kernels.
const BUILDS: &str = ".builds";
/// Programs and a header of Debian's packages that a build needs.
const TOOLS: [(&str, &str); 8] = [
    ("make", "make"),
    ("gcc", "gcc"),
    ("ld", "binutils"),
    ("flex", "flex"),
    ("bison", "bison"),
    ("bc", "bc"),
    ("perl", "perl"),
    ("tar", "tar"),
];
const HEADER: (&str, &str) = ("gelf.h", "libelf-dev");
/// Modules that are needed wherever those of disks are: the sums of ext4.
const ALWAYS: [&str; 2] = ["crc32c_generic", "crc32c_intel"];
/// What would be in the kernel's version, if it were not fixed.
const FIXED: [(&str, &str); 4] = [
    ("KBUILD_BUILD_TIMESTAMP", "1970-01-01"),
    ("KBUILD_BUILD_USER", "thrashlab"),
    ("KBUILD_BUILD_HOST", "thrashlab"),
    ("KBUILD_BUILD_VERSION", "1"),
];
/// A program that keeps what was compiled, used where it is installed.
const COMPILER_CACHE: &str = "ccache";
/// Lets it know a file by the headers that the compiler names, so that what is new to it need not be
/// preprocessed for it and again for the compiler.
const CACHE_BY_HEADERS: (&str, &str) = ("CCACHE_DEPEND", "1");

/// What one architecture of kernels needs.
struct Target {
    /// The option that names it.
    option: &'static str,
    /// The name of its folder in the source.
    folder: &'static str,
    /// What `make` makes, and where.
    image: (&'static str, &'static str),
    /// What the names of its compiler begin with on other machines, and whether this is one of its own.
    prefix: &'static str,
    is_here: bool,
}

const TARGETS: [Target; 2] = [
    Target {
        option: "X86_64",
        folder: "x86",
        image: ("bzImage", "arch/x86/boot/bzImage"),
        prefix: "x86_64-linux-gnu-",
        is_here: cfg!(target_arch = "x86_64"),
    },
    Target {
        option: "ARM64",
        folder: "arm64",
        image: ("Image", "arch/arm64/boot/Image"),
        prefix: "aarch64-linux-gnu-",
        is_here: cfg!(target_arch = "aarch64"),
    },
];

/// A state that is built: one of the source, with options that differ from the builder's configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelState {
    /// The state of the source.
    pub source: SourceState,
    /// Options that replace those of the configuration.
    pub options: Vec<KernelOption>,
}

impl KernelState {
    /// A state of a source with the builder's configuration.
    pub fn of(source: &SourceState) -> Self {
        Self { source: source.clone(), options: Vec::new() }
    }
}

/// Builds states of one repository, with what a guest needs of one configuration.
pub struct KernelBuilder {
    repository: PathBuf,
    base: Vec<KernelOption>,
    modules: Vec<String>,
    target: &'static Target,
    /// The compiler, in its own words.
    compiler: String,
    shelf: Shelf,
    folder: PathBuf,
    jobs: u32,
}

impl KernelBuilder {
    /// The folder for sources and repositories in the cache's folder of kernels.
    pub fn folder(kernels_dir: &Path) -> PathBuf {
        kernels_dir.join(BUILDS)
    }

    /// A builder of a repository's states with the text of a configuration, for guests that load these
    /// modules. Fails when a program that builds need is missing.
    pub fn new(
        repository: &Path,
        config: &str,
        modules: &[String],
        kernels_dir: &Path,
    ) -> Result<Self> {
        let base = read_options(config);
        let is_on = |target: &&Target| {
            base.iter().any(|option| option.name == target.option && option.value == "y")
        };
        let target = TARGETS.iter().find(is_on).ok_or_else(|| {
            let names = TARGETS.map(|target| target.option).join(" and ");
            BuildError::Unusable(format!("a configuration with neither {names}; name another one"))
        })?;
        let compiler = check_tools(target)?;
        let repository = repository.canonicalize().map_err(BuildError::io(repository))?;
        let modules: Vec<String> =
            modules.iter().cloned().chain(ALWAYS.map(str::to_owned)).collect();
        let name = key_of(&[repository.as_os_str().as_encoded_bytes(), target.folder.as_bytes()]);
        let folder = Self::folder(kernels_dir).join(&name[..16]);
        let shelf = kernels::shelf(kernels_dir);
        let jobs = sys::process::usable_cpus();
        Ok(Self { repository, base, modules, target, compiler, shelf, folder, jobs })
    }

    /// Where the kernel of a state is, once it is built.
    pub fn place(&self, state: &KernelState) -> PathBuf {
        self.shelf.folder.join(self.key(state))
    }

    fn key(&self, state: &KernelState) -> String {
        let options = write_options(&needed(&self.base, &state.options));
        let parts = [&state.source.tree, &options, &self.modules.join(" "), &self.compiler];
        format!("built-{}", &key_of(&parts.map(String::as_bytes))[..24])
    }

    /// Builds a state, unless it is kept. Fails with [`BuildError::Broken`] where only this state
    /// cannot be built.
    pub fn build(&self, state: &KernelState, control: &mut BuildControl<'_>) -> Result<PathBuf> {
        let key = self.key(state);
        if let Some(folder) = self.shelf.find(&key) {
            return Ok(folder);
        }
        let _lock = self.prepare(state, control)?;
        self.configure(&state.options, control)?;
        let images = [self.target.image.0, "modules"];
        self.make(&images, control)?;
        self.keep(&key)
    }

    /// The options of a state as they are built, after what they depend on. Fails as [`Self::build`].
    pub fn options(
        &self,
        state: &KernelState,
        control: &mut BuildControl<'_>,
    ) -> Result<Vec<KernelOption>> {
        let _lock = self.prepare(state, control)?;
        self.configure(&state.options, control)?;
        let config = self.config_file();
        Ok(read_options(&fs::read_to_string(&config).map_err(BuildError::io(&config))?))
    }

    fn source(&self) -> PathBuf {
        self.folder.join("source")
    }

    fn objects(&self) -> PathBuf {
        self.folder.join("objects")
    }

    fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    fn config_file(&self) -> PathBuf {
        self.objects().join(".config")
    }

    /// Brings the files of a state into the folder, which others leave alone until the lock is dropped.
    fn prepare(&self, state: &KernelState, control: &mut BuildControl<'_>) -> Result<fs::File> {
        let objects = self.objects();
        fs::create_dir_all(&objects).map_err(BuildError::io(&objects))?;
        let lock = fs::File::open(&self.folder).map_err(BuildError::io(&self.folder))?;
        if lock.try_lock().is_err() {
            control.say("waiting for another build of this source");
            lock.lock().map_err(BuildError::io(&self.folder))?;
        }
        let _ = fs::remove_file(self.log());
        let source = self.source();
        if !source.join(".git").is_dir() {
            let mut clone = Command::new("git");
            clone.args(["clone", "--quiet", "--shared", "--no-checkout"]);
            control.run(clone.arg(&self.repository).arg(&source), &self.log())?;
        }
        let mut checkout = Command::new("git");
        checkout.arg("-C").arg(&source);
        checkout.args(["checkout", "--quiet", "--force", "--detach", &state.source.commit]);
        control.run(&mut checkout, &self.log())?;
        Ok(lock)
    }

    /// Writes the configuration: the base, without modules that the guest does not load, without what
    /// it does not need, and with these options.
    fn configure(&self, options: &[KernelOption], control: &BuildControl<'_>) -> Result<()> {
        let config = self.config_file();
        let write = |options: &[KernelOption]| {
            fs::write(&config, write_options(options)).map_err(BuildError::io(&config))
        };
        write(&self.base)?;
        let list = self.folder.join("modules");
        let lines: String = self.modules.iter().map(|name| format!("{name} 1 0\n")).collect();
        fs::write(&list, format!("Module Size Used by\n{lines}")).map_err(BuildError::io(&list))?;
        let list = format!("LSMOD={}", list.display());
        self.make(&[&list, "localmodconfig"], control)?;
        let text = fs::read_to_string(&config).map_err(BuildError::io(&config))?;
        write(&needed(&read_options(&text), options))?;
        self.make(&["olddefconfig"], control)
    }

    fn make(&self, targets: &[&str], control: &BuildControl<'_>) -> Result<()> {
        let mut make = Command::new("make");
        make.arg("-C").arg(self.source()).arg(format!("O={}", self.objects().display()));
        make.arg(format!("-j{}", self.jobs)).arg(format!("ARCH={}", self.target.folder));
        let prefix = self.target.compiler_prefix();
        if !prefix.is_empty() {
            make.arg(format!("CROSS_COMPILE={prefix}"));
        }
        if in_path(COMPILER_CACHE).is_some() {
            make.arg(format!("CC={COMPILER_CACHE} {prefix}gcc"));
            make.env(CACHE_BY_HEADERS.0, CACHE_BY_HEADERS.1);
        }
        make.args(targets).envs(FIXED);
        control.run(&mut make, &self.log())
    }

    /// Copies what a guest needs of a finished build to the kernels that are kept.
    fn keep(&self, key: &str) -> Result<PathBuf> {
        let objects = self.objects();
        let path = objects.join("include/config/kernel.release");
        let release = fs::read_to_string(&path).map_err(BuildError::io(&path))?;
        let release = release.trim();
        let kernels = &self.shelf.folder;
        let made = Scratch::make(kernels, "built").map_err(BuildError::io(kernels))?;
        let modules = Path::new("lib/modules").join(release);
        let mut files = vec![
            (objects.join(self.target.image.1), format!("boot/vmlinuz-{release}").into()),
            (self.config_file(), format!("boot/config-{release}").into()),
        ];
        for name in ["modules.builtin", "modules.builtin.modinfo"] {
            let file = objects.join(name);
            // Older kernels have only the first of them.
            if file.is_file() {
                files.push((file, modules.join(name)));
            }
        }
        let mut found = Vec::new();
        modules_in(&objects, &mut found).map_err(BuildError::io(&objects))?;
        for module in found {
            let place = module.strip_prefix(&objects).unwrap_or(&module);
            files.push((module.clone(), modules.join("kernel").join(place)));
        }
        for (from, to) in &files {
            let to = made.path().join(to);
            let folder = to.parent().unwrap_or(made.path());
            fs::create_dir_all(folder).map_err(BuildError::io(folder))?;
            fs::copy(from, &to).map_err(BuildError::io(from))?;
        }
        let names = files.into_iter().map(|(_, to)| to);
        self.shelf.put(&made, names, key).map_err(BuildError::io(kernels))
    }
}

impl Target {
    fn compiler_prefix(&self) -> &'static str {
        if self.is_here { "" } else { self.prefix }
    }
}

/// All modules below a folder, sorted.
fn modules_in(folder: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let mut entries: Vec<_> = fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            modules_in(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "ko") {
            found.push(path);
        }
    }
    Ok(())
}

/// The first line of the compiler's `--version`. Fails with the packages of what is missing.
fn check_tools(target: &Target) -> Result<String> {
    let compiler = format!("{}gcc", target.compiler_prefix());
    let mut missing: Vec<&str> = TOOLS
        .iter()
        .filter(|(program, _)| in_path(program).is_none())
        .map(|(_, package)| *package)
        .collect();
    let includes = ["-E", "-include", HEADER.0, "-x", "c", "/dev/null"];
    // The header is of this machine, whatever the kernel is for.
    let header = Command::new("gcc").args(includes).stdin(Stdio::null()).output();
    if !header.is_ok_and(|output| output.status.success()) && !missing.contains(&"gcc") {
        missing.push(HEADER.1);
    }
    let mut version = Command::new(&compiler);
    let version = version.arg("--version").env("LC_ALL", "C").stdin(Stdio::null()).output().ok();
    if version.is_none() && !target.is_here {
        missing.push("gcc-aarch64-linux-gnu (or the compiler of the kernel's architecture)");
    }
    match version {
        Some(version) if missing.is_empty() => {
            let text = String::from_utf8_lossy(&version.stdout);
            Ok(text.lines().next().unwrap_or_default().to_owned())
        }
        _ => Err(BuildError::Unusable(format!(
            "kernels cannot be built here; install as root: apt-get install {}",
            missing.join(" ")
        ))),
    }
}
