//! From the name of a kernel to its files.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use keep::{Scratch, Shelf};

use crate::apt::{AptPackage, Archive};
use crate::names::{Names, short_hash};
use crate::package::{deb, is_image_name, visit_package};
use crate::version::compare;
use crate::{Kernel, KernelArg, KernelError, KernelSource};

const SHELF_HEAD: &str = "thrashlab kernel 2";

/// Finds a kernel; packages are unpacked into `cache_dir` once per version. Fails with the next
/// step.
pub fn locate(arg: &KernelArg, cache_dir: &Path) -> Result<Kernel, KernelError> {
    match &arg.sources[..] {
        [KernelSource::Host] => host(),
        [KernelSource::Path(path)] if !is_package(path) => at(path, cache_dir),
        sources => from_packages(&arg.to_string(), sources, &shelf(cache_dir)),
    }
}

/// The kernels in a cache folder, each with its image in `boot/`, under its package or what it was made from.
pub fn shelf(cache_dir: &Path) -> Shelf {
    Shelf::at(cache_dir.to_owned(), SHELF_HEAD)
}

/// Fetches a package with the source of a kernel, and unpacks its archive into a folder. Fails when
/// there is no such package, or no archive in it.
pub fn source_archive(source: &KernelSource, folder: &Path) -> Result<PathBuf, KernelError> {
    let package = match source {
        KernelSource::Path(path) => path.clone(),
        KernelSource::Host => {
            let why = "host: the running kernel has no source here; name a package, deb:NAME";
            return Err(KernelError::NoKernel(why.to_owned()));
        }
        KernelSource::Debian { name, architecture, suite, version } => {
            let archive = Archive::of(architecture.as_deref(), suite.as_deref(), folder)?;
            let found = archive.resolve(name, version.as_deref())?;
            let files = archive.download(&found, folder)?;
            files.into_iter().next().ok_or_else(|| no_source(source))?
        }
    };
    let bytes = fs::read(&package).map_err(KernelError::io(&package))?;
    let mut unpacked = None;
    deb::each_file(&bytes, "data.tar", &mut |path, content| {
        let name = Path::new(OsStr::from_bytes(path)).file_name().unwrap_or_default();
        if is_source_archive(path) {
            let target = folder.join(name);
            io::copy(content, &mut File::create(&target)?)?;
            unpacked = Some(target);
        }
        Ok(())
    })
    .map_err(KernelError::io(&package))?;
    unpacked.ok_or_else(|| no_source(source))
}

fn no_source(source: &KernelSource) -> KernelError {
    KernelError::NoKernel(format!(
        "{source}: no archive of a source in usr/src; the packages are named linux-source-6.12"
    ))
}

fn is_source_archive(path: &[u8]) -> bool {
    let path = Path::new(OsStr::from_bytes(path));
    let name = path.file_name().unwrap_or_default().as_bytes();
    path.parent().is_some_and(|folder| folder.ends_with("usr/src"))
        && name.starts_with(b"linux-source-")
        && name.windows(4).any(|part| part == b".tar")
}

fn host() -> Result<Kernel, KernelError> {
    let release_path = Path::new("/proc/sys/kernel/osrelease");
    let release = fs::read_to_string(release_path).map_err(KernelError::io(release_path))?;
    let release = release.trim();
    let candidates = [
        format!("/boot/vmlinuz-{release}"),
        format!("/lib/modules/{release}/vmlinuz"),
        format!("/boot/vmlinux-{release}"),
        format!("/boot/Image-{release}"),
    ];
    let found = candidates.iter().find(|path| Path::new(path).is_file()).ok_or_else(|| {
        let looked = candidates.join(", ");
        let next = "a container has none: use deb:NAME or a file";
        KernelError::no_image("host", &format!(" (looked for {looked}); {next}"))
    })?;
    Kernel::read(Path::new(found))
}

/// The kernel in a file, a folder, or a folder of packages.
fn at(path: &Path, cache_dir: &Path) -> Result<Kernel, KernelError> {
    if !fs::metadata(path).map_err(KernelError::io(path))?.is_dir() {
        return Kernel::read(path);
    }
    if let Some(image_path) = image_in(path) {
        return Kernel::read(&image_path);
    }
    let mut packages: Vec<PathBuf> = names_in(path).into_iter().filter(|p| is_package(p)).collect();
    packages.sort();
    if packages.is_empty() {
        let hint = " (looked for boot/vmlinuz-*, vmlinuz*, bzImage, Image, vmlinux, \
                    lib/modules/*/vmlinuz, *.deb, *.rpm)";
        return Err(KernelError::no_image(path.display(), hint));
    }
    let sources: Vec<_> = packages.into_iter().map(KernelSource::Path).collect();
    from_packages(&path.display().to_string(), &sources, &shelf(cache_dir))
}

fn from_packages(
    place: &str,
    sources: &[KernelSource],
    cache: &Shelf,
) -> Result<Kernel, KernelError> {
    let origins: Vec<Origin> =
        sources.iter().map(|source| Origin::find(source, cache)).collect::<Result<_, _>>()?;
    let keys: Vec<&str> = origins.iter().map(|origin| origin.key.as_str()).collect();
    let key = match keys[..] {
        [key] => key.to_owned(),
        _ => format!("merged-{}", short_hash(keys.join("\n").as_bytes())),
    };
    let dir = match cache.find(&key) {
        Some(dir) => dir,
        None => unpack(place, &origins, cache, &key)?,
    };
    let image_path = image_in(&dir).ok_or_else(|| KernelError::no_image(place, ""))?;
    Kernel::read(&image_path)
}

/// Fetches packages and unpacks them into one cache folder, if they contain an image.
fn unpack(
    place: &str,
    origins: &[Origin],
    cache: &Shelf,
    key: &str,
) -> Result<PathBuf, KernelError> {
    let scratch = || Scratch::make(&cache.folder, "").map_err(KernelError::io(&cache.folder));
    let (downloads, unpacked) = (scratch()?, scratch()?);
    let mut packages = Vec::new();
    for (index, origin) in origins.iter().enumerate() {
        packages.extend(origin.file.clone());
        if !origin.to_fetch.is_empty() {
            let dir = downloads.path().join(index.to_string());
            fs::create_dir_all(&dir).map_err(KernelError::io(&dir))?;
            packages.extend(origin.archive.download(&origin.to_fetch, &dir)?);
        }
    }
    let mut files = Vec::new();
    for package in &packages {
        let bytes = fs::read(package).map_err(KernelError::io(package))?;
        visit_package(&bytes, &mut |path, content| {
            let target = unpacked.path().join(path);
            fs::create_dir_all(target.parent().unwrap_or(unpacked.path()))?;
            io::copy(content, &mut File::create(&target)?)?;
            files.push(path.to_owned());
            Ok(())
        })
        .map_err(|error| {
            let next = "is the file complete, and is there space on the disk?";
            KernelError::Unavailable(format!(
                "{} cannot be unpacked: {error}; {next}",
                package.display()
            ))
        })?;
    }
    if image_in(unpacked.path()).is_none() {
        return Err(KernelError::no_image(place, &hint(&packages)));
    }
    cache.put(&unpacked, files, key).map_err(KernelError::io(&cache.folder))
}

/// Where package files come from; neither if they are cached.
struct Origin {
    /// The cache key, by content.
    key: String,
    file: Option<PathBuf>,
    to_fetch: Vec<AptPackage>,
    archive: Archive,
}

impl Origin {
    fn find(source: &KernelSource, cache: &Shelf) -> Result<Self, KernelError> {
        let (to_fetch, archive) = (Vec::new(), Archive::default());
        let (name, architecture, suite, version) = match source {
            KernelSource::Path(path) if is_package(path) => {
                let bytes = fs::read(path).map_err(KernelError::io(path))?;
                let stem = path.file_stem().unwrap_or_default().to_string_lossy();
                let key = format!("{stem}-{}", short_hash(&bytes));
                return Ok(Self { key, file: Some(path.clone()), to_fetch, archive });
            }
            KernelSource::Path(_) | KernelSource::Host => {
                return Err(KernelError::NoKernel(format!(
                    "{source}: only packages (deb:NAME, .deb, .rpm) can be in a list"
                )));
            }
            KernelSource::Debian { name, architecture, suite, version } => {
                (name, architecture.as_deref(), suite.as_deref(), version.as_deref())
            }
        };
        // A cached package is not looked up again: its name stays the same kernel.
        let start = match version {
            Some(version) => format!("{name}_{version}_"),
            None => format!("{name}_"),
        };
        if let Some(key) = newest(cache, &start, architecture) {
            return Ok(Self { key, file: None, to_fetch, archive });
        }
        let archive = Archive::of(architecture, suite, &cache.folder)?;
        let names = Names::of(&cache.folder);
        let [of, from] = [architecture, suite].map(Option::unwrap_or_default);
        let asked = format!("{start}{of}@{from}");
        if let Some(key) = names.find(&asked).filter(|key| cache.find(key).is_some()) {
            return Ok(Self { key, file: None, to_fetch, archive });
        }
        let to_fetch = archive.resolve(name, version)?;
        let image = to_fetch.iter().find(|package| package.name.contains("-image-"));
        let key = image.or(to_fetch.first()).map(AptPackage::key).unwrap_or_default();
        names.remember(&asked, &key);
        Ok(Self { key, file: None, to_fetch, archive })
    }
}

/// The newest complete cache entry with this prefix, of an architecture if one is named.
fn newest(cache: &Shelf, start: &str, architecture: Option<&str>) -> Option<String> {
    let of = |key: &str| architecture.is_none_or(|name| key.ends_with(&format!("_{name}")));
    let mut keys = cache.keys();
    keys.retain(|key| key.starts_with(start) && of(key) && cache.find(key).is_some());
    keys.into_iter().max_by(|left, right| compare(left, right))
}

/// Advice for packages without an image.
fn hint(packages: &[PathBuf]) -> String {
    let mut parts = packages.iter().filter_map(|path| {
        let bytes = fs::read(path).ok()?;
        deb::kernel_parts(&deb::depends(&bytes)).into_iter().next()
    });
    match parts.next() {
        Some(part) => format!("; it only leads to another package, use deb:{part}"),
        None => "; add the package with the image, separated by a comma".to_owned(),
    }
}

pub(crate) fn image_in(dir: &Path) -> Option<PathBuf> {
    let modules = ["lib/modules", "usr/lib/modules"].map(|modules| names_in(&dir.join(modules)));
    let mut folders = vec![dir.join("boot"), dir.to_owned()];
    folders.extend(modules.into_iter().flatten());
    folders.push(dir.join("arch/x86/boot"));
    folders.push(dir.join("arch/arm64/boot"));
    // A bare vmlinux comes last: the file next to it is usually meant for booting.
    let images = |is_vmlinux: bool| {
        folders.iter().find_map(|folder| {
            let mut names = names_in(folder);
            names.retain(|path| {
                let name = path.file_name().unwrap_or_default();
                let is_bare = name.to_string_lossy().starts_with("vmlinux");
                is_image_name(name) && is_vmlinux == is_bare && path.is_file()
            });
            names
                .into_iter()
                .max_by(|left, right| compare(&left.to_string_lossy(), &right.to_string_lossy()))
        })
    };
    images(false).or_else(|| images(true))
}

pub(crate) fn names_in(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
}

pub(crate) fn is_package(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "deb" || extension == "rpm")
        && !path.is_dir()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compression::tests::zstd;
    use crate::image::tests::bzimage_of;
    use crate::package::deb::tests::deb_of;
    use crate::package::rpm::tests::rpm_of;

    const CONFIG: &[u8] = b"CONFIG_PSI=y\nCONFIG_PSI_DEFAULT_DISABLED=y\n";

    fn located(text: &str, dir: &Path) -> Result<Kernel, KernelError> {
        locate(&text.parse().unwrap(), &dir.join("cache"))
    }

    fn written(dir: &Path, name: &str, bytes: &[u8]) -> String {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn debian(dir: &Path) -> String {
        let package = deb_of(
            "kmod",
            &[
                ("./boot/vmlinuz-6.1.0-9-amd64", &bzimage_of("6.1.0-9-amd64")),
                ("./boot/config-6.1.0-9-amd64", CONFIG),
                ("./lib/modules/6.1.0-9-amd64/modules.builtin", b"kernel/fs/ext4/ext4.ko\n"),
            ],
        );
        written(dir, "linux-image.deb", &package)
    }

    #[test]
    fn a_debian_package_becomes_a_kernel() {
        let dir = tempfile::tempdir().unwrap();
        let package = debian(dir.path());
        let kernel = located(&package, dir.path()).unwrap();
        assert_eq!(kernel.release, "6.1.0-9-amd64");
        assert_eq!(kernel.facts.words[0], ("PSI", "off".to_owned()));
        assert!(kernel.image_path.ends_with("boot/vmlinuz-6.1.0-9-amd64"));
        assert!(kernel.modules(&["ext4"]).unwrap().is_empty(), "it is built in");
        let again = located(&package, dir.path()).unwrap();
        assert_eq!(again, kernel);
        let unpacked = kernel.image_path.ancestors().nth(2).unwrap().to_str().unwrap();
        assert_eq!(located(unpacked, dir.path()).unwrap(), kernel, "an unpacked folder will do");
    }

    #[test]
    fn what_is_damaged_in_the_cache_is_unpacked_again() {
        let dir = tempfile::tempdir().unwrap();
        let package = debian(dir.path());
        let kernel = located(&package, dir.path()).unwrap();
        let list = kernel.image_path.ancestors().nth(2).unwrap().join("contents");
        let damages: [&dyn Fn(); 4] = [
            &|| fs::write(&kernel.image_path, "").unwrap(),
            &|| fs::remove_file(kernel.config_path.as_ref().unwrap()).unwrap(),
            &|| fs::write(&list, &fs::read(&list).unwrap()[..90]).unwrap(),
            &|| fs::remove_file(&list).unwrap(),
        ];
        for damage in damages {
            damage();
            assert_eq!(located(&package, dir.path()).unwrap(), kernel);
        }
        let left: Vec<_> = names_in(&dir.path().join("cache"));
        assert_eq!(left.len(), 1, "nothing else is left: {left:?}");
    }

    #[test]
    fn several_packages_make_one_kernel() {
        let dir = tempfile::tempdir().unwrap();
        let release = "6.17.1-300.fc43.x86_64";
        let image_path = format!("./lib/modules/{release}/vmlinuz");
        let config_path = format!("./lib/modules/{release}/config");
        let core = [(image_path.as_str(), &*bzimage_of(release)), (config_path.as_str(), CONFIG)];
        let core = written(dir.path(), "rpms/kernel-core.rpm", &rpm_of(&core, zstd));
        let module_path = format!("./usr/lib/modules/{release}/kernel/zram.ko.xz");
        let modules = rpm_of(&[(&module_path, b"zram")], zstd);
        let modules = written(dir.path(), "rpms/kernel-modules-core.rpm", &modules);
        let folder = dir.path().join("rpms").to_str().unwrap().to_owned();
        for text in [format!("{core},{modules}"), folder] {
            let kernel = located(&text, dir.path()).unwrap();
            assert_eq!(kernel.release, release);
            assert_eq!(kernel.facts.words[0], ("PSI", "off".to_owned()));
            let error = kernel.modules(&["zram"]).unwrap_err().to_string();
            assert!(error.contains("zram.ko.xz: "), "it exists, but is not a module: {error}");
        }
        let error = located(&modules, dir.path()).unwrap_err().to_string();
        assert!(error.contains("add the package with the image"), "{error}");
    }

    #[test]
    fn a_metapackage_names_what_it_leads_to() {
        let dir = tempfile::tempdir().unwrap();
        let package = deb_of("linux-image-6.1.0-9-amd64 (= 6.1)", &[]);
        let package = written(dir.path(), "meta.deb", &package);
        let error = located(&package, dir.path()).unwrap_err().to_string();
        assert!(error.contains("use deb:linux-image-6.1.0-9-amd64"), "{error}");
        assert!(names_in(&dir.path().join("cache")).is_empty());
    }

    #[test]
    fn a_way_out_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let package = deb_of("", &[("./boot/vmlinuz-6", b"x"), ("lib/modules/../../../out", b"x")]);
        let package = written(dir.path(), "bad.deb", &package);
        let error = located(&package, dir.path()).unwrap_err();
        assert!(error.to_string().contains("leads out of its folder"), "{error}");
        assert!(names_in(&dir.path().join("cache")).is_empty());
        assert_eq!(names_in(dir.path()).len(), 2, "the package and the cache");
    }

    #[test]
    fn images_are_found_in_folders_and_the_newest_is_taken() {
        let dir = tempfile::tempdir().unwrap();
        for release in ["6.1.0-9", "6.1.0-47"] {
            written(dir.path(), &format!("vmlinuz-{release}"), &bzimage_of(release));
        }
        written(dir.path(), "vmlinuz.old", b"");
        let kernel = located(dir.path().to_str().unwrap(), dir.path()).unwrap();
        assert_eq!(kernel.release, "6.1.0-47");
        assert_eq!(kernel.facts.words[0].1, "on", "from the configuration in the image");
        let error = kernel.modules(&[]).unwrap_err().to_string();
        assert!(error.contains("lib/modules/6.1.0-47"), "{error}");
        let folder = tempfile::tempdir().unwrap();
        let error = located(folder.path().to_str().unwrap(), dir.path()).unwrap_err().to_string();
        assert!(error.contains("no kernel image"), "{error}");
        let text = written(folder.path(), "text", b"text");
        let error = located(&text, dir.path()).unwrap_err().to_string();
        assert!(error.contains("text: not a kernel image"), "{error}");
        let list = format!("{text},{text}");
        assert!(located(&list, dir.path()).unwrap_err().to_string().contains("only packages"));
    }
}
