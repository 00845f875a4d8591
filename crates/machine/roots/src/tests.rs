//! Roots from end to end: what their archive contains.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::layer::tests::tar_of;
use crate::{Root, RootError, prepare};

use model::Architecture;

const PC: Architecture = Architecture::X86_64;

fn root(name: &Path, cache: &Path) -> Result<Root, RootError> {
    root_for(PC, name, cache)
}

fn root_for(architecture: Architecture, name: &Path, cache: &Path) -> Result<Root, RootError> {
    prepare(&name.display().to_string(), architecture, cache, &mut |_| {}, &|| false)
}

/// Paths, and content or the target of a link after `->`.
fn listed(root: &Root) -> Vec<(String, String)> {
    let mut archive = tar::Archive::new(File::open(&root.archive).unwrap());
    let entries = archive.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().display().to_string();
        let mut content = String::new();
        entry.read_to_string(&mut content).unwrap();
        if let Some(target) = entry.link_name().unwrap() {
            content = format!("->{}", target.display());
        }
        (path, content)
    });
    entries.collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Writes a blob of a layout; returns its digest.
fn put(layout: &Path, bytes: &[u8]) -> String {
    let folder = layout.join("blobs/sha256");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(hex(bytes)), bytes).unwrap();
    format!("sha256:{}", hex(bytes))
}

/// Adds an image of one layer for an architecture; returns the digest of its manifest.
fn put_image(layout: &Path, architecture: &str) -> String {
    let layer = put(layout, &tar_of(&[("architecture", architecture)]));
    let config = put(layout, format!(r#"{{"architecture":"{architecture}"}}"#).as_bytes());
    let manifest =
        format!(r#"{{"config":{{"digest":"{config}"}},"layers":[{{"digest":"{layer}"}}]}}"#);
    put(layout, manifest.as_bytes())
}

/// A layout of two layers, the upper one compressed.
fn make_layout(layout: &Path) -> String {
    let lower = put(layout, &tar_of(&[("etc/a", "1"), ("etc/b", "2"), ("bin", "->usr/bin")]));
    let upper = tar_of(&[("etc/.wh.a", ""), ("bin/tool", "3")]);
    let upper = put(layout, &zstd::encode_all(&upper[..], 1).unwrap());
    let config = put(layout, br#"{"config":{"Env":["PATH=/x","A=b=c"]},"architecture":"amd64"}"#);
    let manifest = format!(
        r#"{{"config":{{"digest":"{config}"}},"layers":[{{"digest":"{lower}"}},{{"digest":"{upper}"}}]}}"#
    );
    let manifest = put(layout, manifest.as_bytes());
    let other = r#"{"digest":"sha256:0","platform":{"os":"linux","architecture":"arm64"}}"#;
    let index = format!(
        r#"{{"manifests":[{other},{{"digest":"{manifest}","platform":{{"os":"linux","architecture":"amd64"}}}}]}}"#
    );
    fs::write(layout.join("oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#).unwrap();
    fs::write(layout.join("index.json"), index).unwrap();
    upper
}

const OF_LAYOUT: [(&str, &str); 6] = [
    ("bin", "->usr/bin"),
    ("etc", ""),
    ("etc/b", "2"),
    ("usr", ""),
    ("usr/bin", ""),
    ("usr/bin/tool", "3"),
];

#[test]
fn a_layout_is_its_layers_with_its_variables() {
    let folder = tempfile::tempdir().unwrap();
    let (layout, cache) = (folder.path().join("image"), folder.path().join("cache"));
    let upper = make_layout(&layout);
    let found = root(&layout, &cache).unwrap();
    assert_eq!(listed(&found), pairs(&OF_LAYOUT));
    let variables = [("PATH", "/x"), ("A", "b=c")];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(found.contents.environment, variables);

    // A tar file of the image is read like its folder.
    let packed = folder.path().join("image.tar");
    let mut builder = tar::Builder::new(File::create(&packed).unwrap());
    builder.append_dir_all(".", &layout).unwrap();
    builder.into_inner().unwrap();
    assert_eq!(root(&packed, &cache).unwrap().contents, found.contents);

    // A layer that is not what the manifest names.
    let blob = layout.join("blobs/sha256").join(&upper["sha256:".len()..]);
    let damaged = zstd::encode_all(&tar_of(&[("x", "y")])[..], 1).unwrap();
    fs::write(&blob, damaged).unwrap();
    fs::remove_dir_all(&cache).unwrap();
    let error = root(&layout, &cache).unwrap_err().to_string();
    assert!(error.contains("damaged") && error.contains(&upper), "{error}");
    assert!(fs::read_dir(&cache).unwrap().next().is_none(), "nothing unfinished stays");
}

#[test]
fn of_an_image_for_several_architectures_a_guest_has_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let (layout, cache) = (folder.path().join("image"), folder.path().join("cache"));
    let images = ["amd64", "arm64"].map(|architecture| {
        let digest = put_image(&layout, architecture);
        format!(
            r#"{{"digest":"{digest}","platform":{{"os":"linux","architecture":"{architecture}"}}}}"#
        )
    });
    fs::write(layout.join("oci-layout"), "{}").unwrap();
    let index = |images: &[String]| format!(r#"{{"manifests":[{}]}}"#, images.join(","));
    fs::write(layout.join("index.json"), index(&images)).unwrap();
    let has = |architecture| listed(&root_for(architecture, &layout, &cache).unwrap());
    // The second one is not taken from the cache of the first.
    assert_eq!(has(PC), pairs(&[("architecture", "amd64")]));
    assert_eq!(has(Architecture::Aarch64), pairs(&[("architecture", "arm64")]));

    fs::write(layout.join("index.json"), index(&images[1..])).unwrap();
    let error = root(&layout, &cache).unwrap_err().to_string();
    for words in ["is for ", "/arm64", "the guest is linux/amd64", "a kernel for arm64"] {
        assert!(error.contains(words), "{words:?} is not in {error}");
    }
}

#[test]
fn a_layout_needs_no_declaration_no_platform_and_may_have_tags() {
    let folder = tempfile::tempdir().unwrap();
    let (layout, cache) = (folder.path().join("image"), folder.path().join("cache"));
    let images = ["amd64", "arm64"].map(|architecture| {
        let digest = put_image(&layout, architecture);
        let tag = format!("docker.io/tool:{architecture}-1");
        format!(
            r#"{{"digest":"{digest}","annotations":{{"org.opencontainers.image.ref.name":"{tag}"}}}}"#
        )
    });
    let index = format!(r#"{{"manifests":[{}]}}"#, images.join(","));
    fs::write(layout.join("index.json"), index).unwrap();
    let has = |found: Root| listed(&found);
    assert_eq!(has(root(&layout, &cache).unwrap()), pairs(&[("architecture", "amd64")]));
    let tagged = |tag: &str| root(Path::new(&format!("{}:{tag}", layout.display())), &cache);
    assert_eq!(has(tagged("amd64-1").unwrap()), pairs(&[("architecture", "amd64")]));
    let whole = tagged("docker.io/tool:amd64-1").unwrap();
    assert_eq!(has(whole), pairs(&[("architecture", "amd64")]));
    let error = tagged("arm64-1").unwrap_err().to_string();
    assert!(error.contains("the guest is linux/amd64"), "{error}");
    let error = tagged("9").unwrap_err().to_string();
    assert!(error.contains("has no tag \"9\"; choose from docker.io/tool:amd64-1"), "{error}");
}

#[test]
fn bad_images_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let (layout, cache) = (folder.path().join("image"), folder.path().join("cache"));
    fs::create_dir(&layout).unwrap();
    fs::write(layout.join("oci-layout"), "{}").unwrap();
    for (index, why) in [
        ("{\"manifests\":[", "line 1"),
        ("{\"manifests\":[]}", "none of them for linux/amd64"),
        ("{\"manifests\":[{\"digest\":\"sha256:../../etc\"}]}", "not a digest"),
        ("{\"manifests\":[{\"digest\":\"md5:00\"}]}", "not a digest"),
    ] {
        fs::write(layout.join("index.json"), index).unwrap();
        let error = root(&layout, &cache).unwrap_err().to_string();
        assert!(error.contains(why) && error.contains("image"), "{index}: {error}");
    }
}

#[test]
fn a_saved_image_is_its_layers() {
    let folder = tempfile::tempdir().unwrap();
    let (saved, cache) = (folder.path().join("saved.tar"), folder.path().join("cache"));
    let layer = tar_of(&[("etc/b", "2")]);
    let config = format!(r#"{{"rootfs":{{"diff_ids":["sha256:{}"]}}}}"#, hex(&layer));
    let make_as = |config_name: &str, config: &str| {
        let manifest = format!(
            r#"[{{"Config":"{config_name}","RepoTags":["a:1"],"Layers":["l/layer.tar"]}}]"#
        );
        let mut builder = tar::Builder::new(File::create(&saved).unwrap());
        for (name, bytes) in [
            (config_name, config.as_bytes()),
            ("l/layer.tar", &layer[..]),
            ("manifest.json", manifest.as_bytes()),
        ] {
            let mut header = tar::Header::new_gnu();
            header.set_size(bytes.len() as u64);
            builder.append_data(&mut header, name, bytes).unwrap();
        }
        builder.into_inner().unwrap();
    };
    let make = |config: &str| make_as("c.json", config);
    make(&config);
    assert_eq!(listed(&root(&saved, &cache).unwrap()), pairs(&[("etc", ""), ("etc/b", "2")]));
    make(&config.replace(&hex(&layer), &hex(b"")));
    let error = root(&saved, &cache).unwrap_err().to_string();
    assert!(error.contains("l/layer.tar does not have the hash"), "{error}");

    // docker names the config by its hash.
    let name = format!("{}.json", hex(config.as_bytes()));
    make_as(&name, &config);
    assert!(root(&saved, &cache).is_ok());
    make_as(&name, &format!("{config} "));
    let error = root(&saved, &cache).unwrap_err().to_string();
    assert!(error.contains(&format!("{name} does not have the hash")), "{error}");

    let arm = config.replacen('{', r#"{"os":"linux","architecture":"arm64","#, 1);
    make(&arm);
    let error = root(&saved, &cache).unwrap_err().to_string();
    assert!(error.contains("the image is for linux/arm64"), "{error}");
    let zero = config.replacen('{', r#"{"config":{"Env":["A=x\u0000y"]},"#, 1);
    make(&zero);
    let error = root(&saved, &cache).unwrap_err().to_string();
    assert!(error.contains("variable \"A\" has a zero byte"), "{error}");
}

#[test]
fn a_folder_and_a_tar_file_are_the_same_root() {
    let folder = tempfile::tempdir().unwrap();
    let (tree, cache) = (folder.path().join("tree"), folder.path().join("cache"));
    fs::create_dir_all(tree.join("dev")).unwrap();
    fs::write(tree.join("dev/null"), "of the kernel").unwrap();
    fs::write(tree.join("file"), "text").unwrap();
    fs::hard_link(tree.join("file"), tree.join("other")).unwrap();
    symlink("file", tree.join("link")).unwrap();
    let first = root(&tree, &cache).unwrap();
    let expected = [("dev", ""), ("file", "text"), ("link", "->file"), ("other", "->file")];
    assert_eq!(listed(&first), pairs(&expected));
    let packed = folder.path().join("tree.tar.gz");
    let file = File::create(&packed).unwrap();
    let gzip = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    let mut builder = tar::Builder::new(gzip);
    builder.follow_symlinks(false);
    for name in ["dev", "file", "link"] {
        builder.append_path_with_name(tree.join(name), name).unwrap();
    }
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Link);
    header.set_size(0);
    header.set_mode(0o644);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    builder.append_link(&mut header, "other", "file").unwrap();
    builder.into_inner().unwrap().finish().unwrap();
    assert_eq!(listed(&root(&packed, &cache).unwrap()), pairs(&expected));
    // What is kept is found again, until something changes.
    let mut said = Vec::new();
    let name = tree.display().to_string();
    let mut again =
        || prepare(&name, PC, &cache, &mut |text| said.push(text.to_owned()), &|| false);
    assert_eq!(again().unwrap(), first);
    fs::write(tree.join("new"), "").unwrap();
    assert_ne!(again().unwrap().contents.blake3, first.contents.blake3);
    assert_eq!(said.len(), 1, "{said:?}");
}

#[test]
fn what_is_no_root_is_named_with_the_next_step() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let place = |name: &str| folder.path().join(name);
    fs::create_dir(place("empty")).unwrap();
    fs::write(place("text"), "no tar file").unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(place("socket")).unwrap();
    fs::write(place("bzip2"), "BZh91AY").unwrap();
    for (name, why) in [
        ("missing", "No such file"),
        ("socket", "neither a folder nor a file"),
        ("empty", "it is empty"),
        ("text", "not a tar file, or damaged: entry 1"),
        ("bzip2", "use gzip, xz or zstd"),
    ] {
        let error = root(&place(name), &cache).unwrap_err().to_string();
        assert!(error.contains(why) && error.contains(name), "{name}: {error}");
    }
    let stopped = prepare(&place("text").display().to_string(), PC, &cache, &mut |_| {}, &|| true);
    assert!(matches!(stopped, Err(RootError::Interrupted)));
}
