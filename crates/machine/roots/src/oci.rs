//! Container images: a layout on disk (`image-layout.md` of the OCI image specification), the same in
//! a tar file, or what `docker save` writes (`manifest.json`). Hashes that an image names are checked.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::RootError;
use crate::compression;
use crate::layer::{self, Building};
use crate::spool::{MOST_BYTES, Part};

const LAYOUT: &str = "oci-layout";
const INDEX: &str = "index.json";
const BLOBS: &str = "blobs/sha256";
/// The annotation with the tag of an image.
const TAG: &str = "org.opencontainers.image.ref.name";
const SAVED: &str = "manifest.json";
/// The system that guests have.
const SYSTEM: &str = "linux";
const MOST_JSON_BYTES: u64 = 16 << 20;
/// Indexes within indexes.
const MOST_INDEXES: usize = 4;
const MOST_LAYERS: usize = 1000;
/// Entries of a saved image: files of layers, not what is in them.
const MOST_FILES: usize = 100_000;

/// The files of an image by name.
pub(crate) enum Image {
    /// A layout, and the tag of one of its images.
    Folder(PathBuf, Option<String>),
    Tar {
        path: PathBuf,
        file: File,
        files: HashMap<String, (u64, u64)>,
    },
}

#[derive(Deserialize)]
struct Index {
    manifests: Vec<Descriptor>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    #[serde(default)]
    media_type: String,
    digest: String,
    platform: Option<Platform>,
    #[serde(default)]
    annotations: HashMap<String, String>,
}

#[derive(Deserialize)]
struct Platform {
    os: String,
    architecture: String,
}

#[derive(Deserialize)]
struct Manifest {
    config: Descriptor,
    layers: Vec<Descriptor>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SavedImage {
    config: String,
    layers: Vec<String>,
    #[serde(default)]
    repo_tags: Option<Vec<String>>,
}

#[derive(Default, Deserialize)]
struct Config {
    #[serde(default)]
    config: Option<ProgramConfig>,
    rootfs: Option<RootFs>,
    #[serde(default)]
    os: String,
    #[serde(default)]
    architecture: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ProgramConfig {
    #[serde(default)]
    env: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct RootFs {
    diff_ids: Vec<String>,
}

/// A file of layers, and the hash of it or of what it contains.
struct Layer {
    file: String,
    sha256: String,
    is_hash_of_content: bool,
}

impl Image {
    /// The folder, if it is an image; some programs omit the file that declares a layout.
    pub(crate) fn of_folder(folder: &Path) -> Option<Self> {
        let has_contents = folder.join(LAYOUT).is_file() || folder.join(BLOBS).is_dir();
        let is_image = folder.join(INDEX).is_file() && has_contents;
        is_image.then(|| Self::Folder(folder.to_owned(), None))
    }

    /// The image of a name `FOLDER:TAG`, if the folder is a layout.
    pub(crate) fn of_tag(name: &str) -> Option<Self> {
        // A tag may have the name of its repository, `docker.io/tool:1`.
        let parts = name.rmatch_indices(':').map(|(at, _)| (&name[..at], &name[at + 1..]));
        let mut parts = parts.filter(|(folder, tag)| !folder.is_empty() && !tag.is_empty());
        parts.find_map(|(folder, tag)| match Self::of_folder(Path::new(folder))? {
            Self::Folder(folder, _) => Some(Self::Folder(folder, Some(tag.to_owned()))),
            Self::Tar { .. } => None,
        })
    }

    /// The tar file, if it is an image and not compressed. Fails when it cannot be read.
    pub(crate) fn of_tar(path: &Path) -> io::Result<Option<Self>> {
        let mut files = HashMap::new();
        let mut archive = tar::Archive::new(File::open(path)?);
        // Anything else is reported where it is read as a tar file.
        for entry in archive.entries_with_seek()?.take(MOST_FILES) {
            let Ok(entry) = entry else { return Ok(None) };
            let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            let name = name.strip_prefix("./").map(str::to_owned).unwrap_or(name);
            if entry.header().entry_type().is_file() {
                files.insert(name, (entry.raw_file_position(), entry.size()));
            } else if let Some(target) = entry.link_name_bytes() {
                // Layers that are the same in older files: `ID/layer.tar -> ../OTHER/layer.tar`.
                let target = String::from_utf8_lossy(&target).into_owned();
                let target = target.trim_start_matches("../");
                if let Some(place) = files.get(target).copied() {
                    files.insert(name, place);
                }
            }
        }
        let is_image =
            files.contains_key(SAVED) || files.contains_key(LAYOUT) && files.contains_key(INDEX);
        let file = File::open(path)?;
        Ok(is_image.then(|| Self::Tar { path: path.to_owned(), file, files }))
    }

    fn path(&self) -> &Path {
        match self {
            Self::Folder(path, _) | Self::Tar { path, .. } => path,
        }
    }

    fn has(&self, name: &str) -> bool {
        match self {
            Self::Folder(folder, _) => folder.join(name).is_file(),
            Self::Tar { files, .. } => files.contains_key(name),
        }
    }

    /// A file of it, by a name that was checked.
    fn open(&self, name: &str) -> Result<Box<dyn Read + '_>, String> {
        match self {
            Self::Folder(folder, _) => {
                let file = File::open(folder.join(name));
                Ok(Box::new(file.map_err(|error| format!("{name}: {error}"))?))
            }
            Self::Tar { file, files, .. } => {
                let place = files.get(name).ok_or_else(|| format!("{name} is not in it"))?;
                Ok(Box::new(Part { file, offset: place.0, left_bytes: place.1 }))
            }
        }
    }

    fn json(&self, name: &str, sha256: Option<&str>) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        let read = self.open(name)?.take(MOST_JSON_BYTES).read_to_end(&mut bytes);
        read.map_err(|error| format!("{name}: {error}"))?;
        match sha256.filter(|expected| hex(&Sha256::digest(&bytes)) != **expected) {
            Some(expected) => Err(wrong_hash(name, expected)),
            None => Ok(bytes),
        }
    }

    fn parsed<T: for<'a> Deserialize<'a>>(
        &self,
        name: &str,
        sha256: Option<&str>,
    ) -> Result<T, String> {
        // serde_json names line and column.
        serde_json::from_slice(&self.json(name, sha256)?).map_err(|why| format!("{name}: {why}"))
    }

    /// Applies all layers of the image for an architecture, as images name it; returns the variables
    /// that it sets.
    pub(crate) fn read(
        &self,
        architecture: &str,
        building: &mut Building<'_>,
    ) -> Result<Vec<(String, String)>, RootError> {
        self.layers(architecture)
            .and_then(|(config, layers)| {
                check_platform(&config, architecture)?;
                let environment = environment(config)?;
                for layer in &layers {
                    building.tree.next_layer();
                    self.apply(layer, building)?;
                }
                Ok(environment)
            })
            .map_err(|why| RootError::unfit(self.path().display(), why))
    }

    fn layers(&self, architecture: &str) -> Result<(Config, Vec<Layer>), String> {
        if self.has(INDEX) && (self.has(LAYOUT) || matches!(self, Self::Folder(..))) {
            return self.oci_layers(architecture);
        }
        let images: Vec<SavedImage> = self.parsed(SAVED, None)?;
        let [image] = &images[..] else {
            let tags = images.iter().flat_map(|image| image.repo_tags.iter().flatten());
            let tags: Vec<&str> = tags.map(String::as_str).collect();
            return Err(format!(
                "{SAVED} names {} images ({}); save one of them alone",
                images.len(),
                tags.join(", ")
            ));
        };
        let config: Config = self.parsed(&image.config, hash_in_name(&image.config))?;
        let ids = config.rootfs.as_ref().map_or(&[][..], |rootfs| &rootfs.diff_ids);
        if ids.len() != image.layers.len() || ids.len() > MOST_LAYERS {
            let (files, ids) = (image.layers.len(), ids.len());
            return Err(format!("{SAVED} names {files} layers, {} has {ids}", image.config));
        }
        let layers = image.layers.iter().zip(ids).map(|(file, id)| {
            let sha256 = sha256_of(id)?.to_owned();
            Ok(Layer { file: file.clone(), sha256, is_hash_of_content: true })
        });
        let layers = layers.collect::<Result<Vec<_>, String>>()?;
        Ok((config, layers))
    }

    fn oci_layers(&self, architecture: &str) -> Result<(Config, Vec<Layer>), String> {
        let mut name = INDEX.to_owned();
        let mut sha256 = None;
        for _ in 0..MOST_INDEXES {
            let index: Index = self.parsed(&name, sha256.as_deref())?;
            let manifests = if name == INDEX { self.tagged(index)? } else { index.manifests };
            let chosen = self.chosen(&name, &manifests, architecture)?;
            let digest = sha256_of(&chosen.digest)?.to_owned();
            name = blob(&digest);
            sha256 = Some(digest);
            if chosen.media_type.contains("index") || chosen.media_type.contains("list") {
                continue;
            }
            let manifest: Manifest = self.parsed(&name, sha256.as_deref())?;
            let digest = sha256_of(&manifest.config.digest)?;
            let config: Config = self.parsed(&blob(digest), Some(digest))?;
            if manifest.layers.len() > MOST_LAYERS {
                return Err(format!("{name}: more than {MOST_LAYERS} layers"));
            }
            let layers = manifest.layers.iter().map(|layer| {
                let sha256 = sha256_of(&layer.digest)?.to_owned();
                Ok(Layer { file: blob(&sha256), sha256, is_hash_of_content: false })
            });
            return Ok((config, layers.collect::<Result<_, String>>()?));
        }
        Err(format!("{INDEX} leads to more than {MOST_INDEXES} indexes"))
    }

    /// The images of an index that have the requested tag. Fails with the tags that there are.
    fn tagged(&self, index: Index) -> Result<Vec<Descriptor>, String> {
        let Self::Folder(_, Some(tag)) = self else { return Ok(index.manifests) };
        let name = |it: &Descriptor| it.annotations.get(TAG).cloned();
        let tags: Vec<String> = index.manifests.iter().filter_map(name).collect();
        let has_tag = |it: &Descriptor| name(it).is_some_and(|name| is_tag(&name, tag));
        let found: Vec<Descriptor> = index.manifests.into_iter().filter(has_tag).collect();
        match found.is_empty() {
            true => Err(format!("{INDEX} has no tag {tag:?}; choose from {}", tags.join(", "))),
            false => Ok(found),
        }
    }

    /// The manifest for the guest's platform. A descriptor without one is judged by the image's own
    /// configuration.
    fn chosen<'a>(
        &self,
        name: &str,
        manifests: &'a [Descriptor],
        architecture: &str,
    ) -> Result<&'a Descriptor, String> {
        if let [only] = manifests {
            return Ok(only);
        }
        let fits = |found: &&Descriptor| {
            let is = |found: &Platform| found.os == SYSTEM && found.architecture == architecture;
            match &found.platform {
                Some(platform) => is(platform),
                None => self.platform(found).is_some_and(|platform| is(&platform)),
            }
        };
        let mut fitting = manifests.iter().filter(fits);
        let platform = format!("{SYSTEM}/{architecture}");
        match (fitting.next(), fitting.next()) {
            (Some(only), None) => Ok(only),
            (Some(_), Some(_)) => Err(format!(
                "{name} names several images for {platform}: choose one by its tag (FOLDER:TAG), or \
                 copy one of them alone"
            )),
            _ => {
                Err(format!("{name} names {} images, none of them for {platform}", manifests.len()))
            }
        }
    }

    /// The platform in the configuration of an image, if it has one.
    fn platform(&self, of: &Descriptor) -> Option<Platform> {
        let digest = sha256_of(&of.digest).ok()?;
        let manifest: Manifest = self.parsed(&blob(digest), Some(digest)).ok()?;
        let digest = sha256_of(&manifest.config.digest).ok()?;
        let Config { os, architecture, .. } = self.parsed(&blob(digest), Some(digest)).ok()?;
        let os = if os.is_empty() { SYSTEM.to_owned() } else { os };
        Some(Platform { os, architecture })
    }

    fn apply(&self, layer: &Layer, building: &mut Building<'_>) -> Result<(), String> {
        let failed = |why: &dyn std::fmt::Display| format!("{}: {why}", layer.file);
        let text = |error: io::Error| failed(&error);
        let mut packed = HashingReader { from: self.open(&layer.file)?, hasher: Sha256::new() };
        let of_content = {
            let buffered = BufReader::with_capacity(1 << 16, &mut packed);
            let from = compression::reader(buffered).map_err(text)?;
            let mut content = HashingReader { from, hasher: Sha256::new() };
            layer::apply(&mut content, true, building).map_err(|why| failed(&why))?;
            // A tar file ends before its padding.
            io::copy(&mut (&mut content).take(MOST_BYTES), &mut io::sink()).map_err(text)?;
            content.hasher.finalize()
        };
        io::copy(&mut packed, &mut io::sink()).map_err(text)?;
        let of_file = packed.hasher.finalize();
        let found = if layer.is_hash_of_content { of_content } else { of_file };
        match hex(&found) == layer.sha256 {
            true => Ok(()),
            false => Err(wrong_hash(&layer.file, &layer.sha256)),
        }
    }
}

/// Refuses an image for another platform; what an old image does not say is not checked.
fn check_platform(config: &Config, wanted: &str) -> Result<(), String> {
    let Config { os, architecture, .. } = config;
    let fits = |found: &str, needed: &str| found.is_empty() || found == needed;
    match fits(os, SYSTEM) && fits(architecture, wanted) {
        true => Ok(()),
        false => Err(format!(
            "the image is for {os}/{architecture}, and the guest is {SYSTEM}/{wanted}; fetch it with \
             --platform {SYSTEM}/{wanted}, or name a kernel for {architecture}"
        )),
    }
}

/// The variables of an image. Fails for one that no program can have.
fn environment(config: Config) -> Result<Vec<(String, String)>, String> {
    let texts = config.config.and_then(|config| config.env).unwrap_or_default();
    let pair = |text: &String| {
        text.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()))
    };
    let pairs: Vec<_> =
        texts.iter().filter_map(pair).filter(|(name, _)| !name.is_empty()).collect();
    match pairs.iter().find(|(name, value)| name.contains('\0') || value.contains('\0')) {
        Some((name, _)) => Err(format!("the variable {name:?} has a zero byte")),
        None => Ok(pairs),
    }
}

/// The hexadecimal part of a digest. Other kinds are refused: it becomes the name of a file.
fn sha256_of(digest: &str) -> Result<&str, String> {
    digest
        .strip_prefix("sha256:")
        .filter(|text| is_sha256(text))
        .ok_or_else(|| format!("{digest:?} is not a digest of the kind sha256:HEX"))
}

/// The hash by which docker names the config of an image: `HEX.json` or `blobs/sha256/HEX`.
fn hash_in_name(name: &str) -> Option<&str> {
    let file = name.rsplit('/').next().unwrap_or(name);
    let stem = file.strip_suffix(".json").unwrap_or(file);
    is_sha256(stem).then_some(stem)
}

fn is_sha256(text: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    text.len() == 64 && text.bytes().all(is_digit)
}

fn blob(sha256: &str) -> String {
    format!("blobs/sha256/{sha256}")
}

fn wrong_hash(name: &str, expected: &str) -> String {
    format!("{name} does not have the hash sha256:{expected}: it is damaged, fetch it again")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

struct HashingReader<R> {
    from: R,
    hasher: Sha256,
}

impl<R: Read> Read for HashingReader<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(bytes)?;
        self.hasher.update(&bytes[..count]);
        Ok(count)
    }
}

/// Whether a name is a tag, or ends in it after the name of a repository.
fn is_tag(name: &str, tag: &str) -> bool {
    name == tag || name.strip_suffix(tag).is_some_and(|rest| rest.ends_with(':'))
}

/// What changes when an image in a folder does: its index names everything else by hash, and the
/// tag chooses from it.
pub(crate) fn fingerprint(folder: &Path, tag: Option<&str>) -> Result<Vec<u8>, RootError> {
    let path = folder.join(INDEX);
    let mut bytes = fs::read(&path).map_err(RootError::io(&path))?;
    bytes.extend(tag.into_iter().flat_map(str::bytes));
    Ok(bytes)
}
