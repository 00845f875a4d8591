//! A kernel on disk, and its facts.

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

use crate::compression::decompressed;
use crate::image::{self, ImageFacts, X86_64};
use crate::modules::{has, plan};
use crate::{ConfigFacts, KernelError, Module};

/// A kernel that is at hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Its release, as `uname -r` shows it: `6.1.0-50-cloud-amd64`.
    pub release: String,
    /// Release, builder and time of the build, if the image has it.
    pub version_text: Option<String>,
    /// The processor it is for, as [`ImageFacts`] has it.
    pub architecture: Cow<'static, str>,
    /// The image.
    pub image_path: PathBuf,
    /// BLAKE3 of the image, in hexadecimal.
    pub image_hash: String,
    /// Its folder `lib/modules/RELEASE`.
    pub modules_dir: Option<PathBuf>,
    /// Its configuration.
    pub config_path: Option<PathBuf>,
    /// The configuration, or the part of it that is built into the kernel.
    pub facts: ConfigFacts,
}

impl Kernel {
    /// The image, as QEMU's `-kernel` takes it. Fails when it cannot be read.
    pub fn image(&self) -> Result<Vec<u8>, KernelError> {
        fs::read(&self.image_path).map_err(KernelError::io(&self.image_path))
    }

    /// The image without compression around all of it, so that a guest need not unpack it. Fails when
    /// it cannot be read, or is damaged.
    pub fn bare_image(&self) -> Result<Vec<u8>, KernelError> {
        image::bare(&self.image()?).map_err(KernelError::image(&self.image_path))
    }

    /// Whether it has a module of this name (not an alias), or is built with it.
    pub fn has_module(&self, name: &str) -> bool {
        self.modules_dir.as_ref().is_some_and(|dir| has(dir, name))
    }

    /// The ELF file inside the image. Fails when the image is unreadable, damaged, or has none.
    pub fn vmlinux(&self) -> Result<Vec<u8>, KernelError> {
        image::vmlinux(&self.image()?).map_err(KernelError::image(&self.image_path))
    }

    /// Modules for names or aliases, in load order, without built-in ones. Fails when the
    /// kernel has no modules, or one is missing or cannot be read.
    pub fn modules(&self, wanted: &[&str]) -> Result<Vec<Module>, KernelError> {
        let dir = self.modules_dir.as_ref().ok_or_else(|| {
            KernelError::Unavailable(format!(
                "{}: no folder lib/modules/{} next to it; give the package of this kernel, or a \
                 folder with boot/ and lib/modules/",
                self.image_path.display(),
                self.release
            ))
        })?;
        plan(dir, wanted)
    }

    /// Reads an image and finds its modules and configuration.
    pub(crate) fn read(image_path: &Path) -> Result<Self, KernelError> {
        let bytes = fs::read(image_path).map_err(KernelError::io(image_path))?;
        let facts = ImageFacts::parse(&bytes).map_err(KernelError::image(image_path))?;
        let release = release(&facts, image_path);
        let modules_dir = modules_dir(image_path, &release);
        let config_path = config_path(image_path, modules_dir.as_deref(), &release);
        let config = match &config_path {
            Some(path) => fs::read(path)
                .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
                .map_err(KernelError::io(path))?,
            None => embedded_config(&bytes, modules_dir.as_deref()).unwrap_or_default(),
        };
        let mut config = ConfigFacts::parse(&config);
        // Only PCs boot by it.
        config.missing.retain(|it| it.config != "PVH" || facts.architecture == X86_64);
        Ok(Self {
            release,
            version_text: facts.version_text,
            architecture: facts.architecture,
            image_path: image_path.to_owned(),
            image_hash: blake3::hash(&bytes).to_hex().to_string(),
            modules_dir,
            config_path,
            facts: config,
        })
    }
}

/// The release in the image, else in its file name, else the folder's name.
fn release(facts: &ImageFacts, image_path: &Path) -> String {
    let named = facts.version_text.as_deref().and_then(|text| text.split_whitespace().next());
    if let Some(release) = named {
        return release.to_owned();
    }
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let file_name = name(image_path).unwrap_or_default();
    match file_name.split_once('-') {
        Some((_, release)) => release.to_owned(),
        None => image_path.parent().and_then(name).unwrap_or(file_name),
    }
}

/// The image's folder if it is `lib/modules/RELEASE`, else such a folder below it or its parent.
fn modules_dir(image_path: &Path, release: &str) -> Option<PathBuf> {
    let has_modules = |dir: &&Path| {
        dir.parent().is_some_and(|parent| parent.ends_with("lib/modules"))
            || ["modules.builtin", "modules.dep"].iter().any(|name| dir.join(name).is_file())
    };
    let beside = image_path.parent().filter(has_modules).map(Path::to_owned);
    let mut below = image_path.ancestors().skip(1).take(2).flat_map(|root| {
        ["lib/modules", "usr/lib/modules"].map(|modules| root.join(modules).join(release))
    });
    beside.or_else(|| below.find(|dir| dir.is_dir()))
}

fn config_path(image_path: &Path, modules_dir: Option<&Path>, release: &str) -> Option<PathBuf> {
    let dir = image_path.parent()?;
    let beside = [format!("config-{release}"), "config".to_owned(), ".config".to_owned()];
    let mut candidates: Vec<PathBuf> = beside.iter().map(|name| dir.join(name)).collect();
    candidates.extend(modules_dir.map(|dir| dir.join("config")));
    candidates.into_iter().find(|path| path.is_file())
}

/// The configuration in the kernel, or in its module `configs`.
fn embedded_config(image: &[u8], modules_dir: Option<&Path>) -> Option<String> {
    let in_image = || image::embedded_config(&image::vmlinux(image).ok()?);
    let in_module = || {
        let dir = modules_dir?.join("kernel/kernel");
        let packed = ["configs.ko", "configs.ko.xz", "configs.ko.zst", "configs.ko.gz"]
            .iter()
            .find_map(|name| fs::read(dir.join(name)).ok())?;
        image::embedded_config(&decompressed(&packed).ok()?)
    };
    in_image().or_else(in_module)
}
