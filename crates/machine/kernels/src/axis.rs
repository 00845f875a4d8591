//! Several kernels in the order of their versions: named one by one, by a pattern, as a folder of
//! packages, or as all that Debian offers.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::apt::{Archive, own_architecture};
use crate::locate::{image_in, is_package, locate, names_in};
use crate::survey::{KernelPlace, images, in_archive, survey};
use crate::version::compare;
use crate::{Kernel, KernelArg, KernelError, KernelSource};

/// All small kernels that the archives and the cache have.
const DEBIAN: &str = "debian";
const SCHEME: &str = "deb:";
const IMAGE: &str = "linux-image-";
/// How packages of one kernel begin, before its release.
const PARTS: [&str; 4] = ["linux-image-", "linux-modules-", "linux-binary-", "linux-base-"];
/// What precedes the version of a package in the text of its kernel.
const VERSION_MARK: &str = " Debian ";

/// A kernel of an ordered list.
#[derive(Debug)]
pub struct OrderedKernel {
    /// Its version, unique in the list: `6.1.192-2`; the release where that is ambiguous.
    pub name: String,
    /// What to give to [`locate`](crate::locate()); a package with its version.
    pub arg: KernelArg,
    /// Its files, or why there are none.
    pub found: Result<Kernel, KernelError>,
}

/// The kernels that these texts name, each once: `debian`, `deb:` with `*` and `?`, also of another
/// suite (`deb:*-cloud-amd64@trixie-backports`), a pattern of files, a folder of packages or kernels,
/// or what a [`KernelArg`] is. Fails for a text that names none.
pub fn named_kernels(texts: &[String], cache_dir: &Path) -> Result<Vec<KernelArg>, KernelError> {
    let mut all: Vec<KernelArg> = Vec::new();
    for text in texts {
        let named = match text.as_str() {
            DEBIAN => packages(cache_dir, |name| name.ends_with(&small_suffix())),
            text => match (text.strip_prefix(SCHEME), is_pattern(text)) {
                (_, false) => named_by(text)?,
                (Some(pattern), true) => match pattern.split_once('@') {
                    Some((pattern, suite)) => of_suite(pattern, suite, cache_dir)?,
                    None => packages(cache_dir, |name| matches(pattern, name)),
                },
                (None, true) => files(Path::new(text)),
            },
        };
        if named.is_empty() {
            return Err(KernelError::NoKernel(format!(
                "{text}: no kernel of this name; `thrashlab vm kernels --all` lists what the \
                 archives have, and `apt-get update` refreshes them"
            )));
        }
        all.extend(named.into_iter().filter(|arg| !all.contains(arg)).collect::<Vec<_>>());
    }
    Ok(all)
}

/// Finds all kernels, and orders them by version; `step` is called before each with its name, and
/// ends the search if it is false.
pub fn in_order(
    args: Vec<KernelArg>,
    cache_dir: &Path,
    step: &mut dyn FnMut(&KernelArg) -> bool,
) -> Option<Vec<OrderedKernel>> {
    let mut all = Vec::new();
    for arg in args {
        if !step(&arg) {
            return None;
        }
        let found = locate(&arg, cache_dir);
        let name = found.as_ref().map_or_else(|_| guessed_release(&arg), version);
        let arg = with_version(arg, &name, found.is_ok());
        all.push(OrderedKernel { name, arg, found });
    }
    Some(ordered(all))
}

/// The order of two kernels by their names in a list.
pub fn compare_names(one: &str, other: &str) -> Ordering {
    compare(one, other)
}

/// Kernels by version, each once, with unique names.
fn ordered(mut all: Vec<OrderedKernel>) -> Vec<OrderedKernel> {
    let hash = |it: &OrderedKernel| it.found.as_ref().map(|kernel| kernel.image_hash.clone()).ok();
    let mut seen = Vec::new();
    all.retain(|it| {
        let key = hash(it).unwrap_or_else(|| it.arg.to_string());
        let is_new = !seen.contains(&key);
        seen.push(key);
        is_new
    });
    let mut uses: BTreeMap<String, usize> = BTreeMap::new();
    for it in &all {
        *uses.entry(it.name.clone()).or_default() += 1;
    }
    all.sort_by(|one, other| {
        let by_name = compare_names(&one.name, &other.name);
        by_name.then_with(|| one.arg.to_string().cmp(&other.arg.to_string()))
    });
    for it in all.iter_mut().filter(|it| uses[&it.name] > 1) {
        let release = it.found.as_ref().map(|kernel| kernel.release.clone());
        it.name =
            release.map_or_else(|_| it.arg.to_string(), |release| format!("{} {release}", it.name));
    }
    all
}

/// The version of the package that a kernel is from, else its release.
fn version(kernel: &Kernel) -> String {
    let text = kernel.version_text.as_deref().unwrap_or_default();
    let word =
        text.rsplit_once(VERSION_MARK).and_then(|(_, after)| after.split_whitespace().next());
    let is_version = |word: &&str| word.starts_with(|first: char| first.is_ascii_digit());
    word.filter(is_version).map_or_else(|| kernel.release.clone(), str::to_owned)
}

/// The release that the name of a missing kernel suggests.
fn guessed_release(arg: &KernelArg) -> String {
    let text = arg.to_string();
    let name = text.rsplit('/').next().unwrap_or(&text);
    let name = name.strip_prefix(SCHEME).unwrap_or(name);
    name.strip_prefix(IMAGE).unwrap_or(name).to_owned()
}

/// A package with the version that was found, so that its name stays the same kernel.
fn with_version(mut arg: KernelArg, version: &str, is_found: bool) -> KernelArg {
    if let [KernelSource::Debian { version: known @ None, architecture: None, .. }] =
        &mut arg.sources[..]
        && is_found
        && version.contains('-')
        && !version.ends_with(own_architecture())
    {
        *known = Some(version.to_owned());
    }
    arg
}

/// How the names of small kernels for this machine end.
fn small_suffix() -> String {
    format!("-cloud-{}", own_architecture())
}

/// Packages with an image of one version whose name fits, those of the cache with their versions.
fn packages(cache_dir: &Path, is_wanted: impl Fn(&str) -> bool) -> Vec<KernelArg> {
    let mut found: Vec<KernelArg> = Vec::new();
    let mut names = Vec::new();
    for kernel in survey(cache_dir, &[]) {
        if !matches!(kernel.place, KernelPlace::Cache | KernelPlace::Archive) {
            continue;
        }
        let [KernelSource::Debian { name, version, .. }] = &kernel.arg.sources[..] else {
            continue;
        };
        // The archive's is the one that the cache has, or a newer one of the same name.
        if is_wanted(name) && !(version.is_none() && names.contains(name)) {
            names.push(name.clone());
            found.push(kernel.arg.clone());
        }
    }
    found
}

/// Packages of a suite with an image of one version whose name fits.
fn of_suite(pattern: &str, suite: &str, cache_dir: &Path) -> Result<Vec<KernelArg>, KernelError> {
    // The suite is a word, as in the name of one package.
    format!("{SCHEME}x@{suite}").parse::<KernelArg>().map_err(KernelError::NoKernel)?;
    let archive = Archive::of(None, Some(suite), cache_dir)?;
    let fits = |arg: &KernelArg| match &arg.sources[..] {
        [KernelSource::Debian { name, .. }] => matches(pattern, name),
        _ => false,
    };
    let all = in_archive(&archive).into_iter().map(|kernel| kernel.arg);
    Ok(all.filter(fits).collect())
}

/// What a text without a pattern names: a folder may hold several kernels.
fn named_by(text: &str) -> Result<Vec<KernelArg>, KernelError> {
    let path = Path::new(text);
    if text.starts_with(SCHEME) || !path.is_dir() {
        return text.parse().map(|arg| vec![arg]).map_err(KernelError::NoKernel);
    }
    let of_packages = grouped_packages(path);
    if !of_packages.is_empty() {
        return Ok(of_packages);
    }
    if image_in(path).is_some_and(|image| image.parent() != Some(path)) {
        return Ok(vec![KernelSource::Path(path.to_owned()).into()]);
    }
    Ok(images(path, KernelPlace::Folder).into_iter().map(|found| found.arg).collect())
}

/// The kernels of the packages in a folder: packages of one release and version are one kernel.
fn grouped_packages(folder: &Path) -> Vec<KernelArg> {
    let mut groups: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for path in names_in(folder).into_iter().filter(|path| is_package(path)) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let release = PARTS.iter().find_map(|part| name.strip_prefix(part));
        groups.entry(release.unwrap_or(&name).to_owned()).or_default().push(path);
    }
    let group = |mut paths: Vec<PathBuf>| {
        paths.sort();
        KernelArg { sources: paths.into_iter().map(KernelSource::Path).collect() }
    };
    groups.into_values().map(group).collect()
}

/// Files and folders of a folder whose names fit the last part of a pattern.
fn files(pattern: &Path) -> Vec<KernelArg> {
    let folder = pattern.parent().filter(|folder| !folder.as_os_str().is_empty());
    let name = pattern.file_name().unwrap_or_default().to_string_lossy();
    let entries = fs::read_dir(folder.unwrap_or(Path::new("."))).into_iter().flatten().flatten();
    let fitting = entries.filter(|entry| matches(&name, &entry.file_name().to_string_lossy()));
    let mut paths: Vec<PathBuf> = fitting.map(|entry| entry.path()).collect();
    paths.sort();
    paths.into_iter().map(|path| KernelSource::Path(path).into()).collect()
}

fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?'])
}

/// Whether a name fits a pattern, in which `*` is any text and `?` any character.
fn matches(pattern: &str, name: &str) -> bool {
    let mut letters = pattern.chars();
    match letters.next() {
        None => name.is_empty(),
        Some('*') => {
            let ends = name.char_indices().map(|(at, _)| at).chain([name.len()]);
            ends.into_iter().any(|at| matches(letters.as_str(), &name[at..]))
        }
        Some(letter) => {
            let mut rest = name.chars();
            let first = rest.next();
            first.is_some_and(|first| letter == '?' || letter == first)
                && matches(letters.as_str(), rest.as_str())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(folder: &Path, name: &str) {
        fs::write(folder.join(name), "").unwrap();
    }

    fn texts(args: &[KernelArg], folder: &Path) -> Vec<String> {
        let prefix = format!("{}/", folder.display());
        args.iter().map(|arg| arg.to_string().replace(&prefix, "")).collect()
    }

    #[test]
    fn patterns_fit_names() {
        for (pattern, name) in
            [("*", ""), ("a*c", "abbc"), ("?b*", "ab"), ("*-cloud-*", "6-cloud-x")]
        {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("", "a"), ("a?", "a"), ("a*c", "abb"), ("?", "")] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn packages_of_one_release_are_one_kernel() {
        let dir = tempfile::tempdir().unwrap();
        for name in [
            "linux-image-6.1.0-9-amd64_6.1.27-1_amd64.deb",
            "linux-image-6.19.1-amd64_6.19.1-1_amd64.deb",
            "linux-modules-6.19.1-amd64_6.19.1-1_amd64.deb",
        ] {
            file(dir.path(), name);
        }
        let found = named_kernels(&[dir.path().display().to_string()], dir.path()).unwrap();
        assert_eq!(
            texts(&found, dir.path()),
            [
                "linux-image-6.1.0-9-amd64_6.1.27-1_amd64.deb",
                "linux-image-6.19.1-amd64_6.19.1-1_amd64.deb,\
                 linux-modules-6.19.1-amd64_6.19.1-1_amd64.deb"
            ]
        );
    }

    #[test]
    fn folders_and_patterns_name_their_kernels_once() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["vmlinuz-6.1.0-9", "vmlinuz-6.1.0-10", "config-6.1.0-9"] {
            file(dir.path(), name);
        }
        let folder = dir.path().display().to_string();
        let all =
            named_kernels(&[folder.clone(), format!("{folder}/vmlinuz-*")], dir.path()).unwrap();
        let mut found = texts(&all, dir.path());
        found.sort();
        assert_eq!(found, ["vmlinuz-6.1.0-10", "vmlinuz-6.1.0-9"]);
        let error =
            named_kernels(&[format!("{folder}/none-*")], dir.path()).unwrap_err().to_string();
        assert!(error.contains("none-*: no kernel") && error.contains("vm kernels"), "{error}");
    }

    #[test]
    fn kernels_that_are_missing_have_their_place() {
        let dir = tempfile::tempdir().unwrap();
        let named = ["/no/vmlinuz-6.2", "/no/vmlinuz-6.12.1", "/no/vmlinuz-6.2"];
        let args = named.iter().map(|text| text.parse().unwrap()).collect();
        let found = in_order(args, dir.path(), &mut |_| true).unwrap();
        let names: Vec<&str> = found.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["vmlinuz-6.2", "vmlinuz-6.12.1"]);
        assert!(found.iter().all(|it| it.found.is_err()));
        assert!(in_order(vec!["a".parse().unwrap()], dir.path(), &mut |_| false).is_none());
    }

    #[test]
    fn a_package_keeps_the_version_that_was_found() {
        let arg = |text: &str| text.parse::<KernelArg>().unwrap();
        let with = |text, version| with_version(arg(text), version, true).to_string();
        assert_eq!(with("deb:linux-image-x", "6.1.192-2"), "deb:linux-image-x=6.1.192-2");
        assert_eq!(with("deb:linux-image-x=1-1", "6.1.192-2"), "deb:linux-image-x=1-1");
        assert_eq!(with("/boot/vmlinuz-6", "6.1.192-2"), "/boot/vmlinuz-6");
        assert_eq!(guessed_release(&arg("deb:linux-image-6.1.0-50-amd64")), "6.1.0-50-amd64");
    }
}
