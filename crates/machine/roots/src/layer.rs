//! A tar file, applied to a tree: the whole of a root, or one layer of an image.

use std::io::Read;

use tar::{Archive, EntryType};

use crate::spool::{STOPPED, Spool};
use crate::tree::{Attributes, Kind, Tree, clamped_s, shown};

/// Prefix of the names that remove others (`layer.md` of the OCI image specification).
const WHITEOUT: &[u8] = b".wh.";
/// It removes whatever lower layers have in its directory.
const OPAQUE: &[u8] = b".wh..wh..opq";

/// Where a root and its layers end up.
pub(crate) struct Building<'a> {
    pub(crate) tree: &'a mut Tree,
    pub(crate) spool: &'a mut Spool,
    /// Polled; whether the user wants to stop.
    pub(crate) stop: &'a dyn Fn() -> bool,
}

/// Applies a tar file. Whiteouts are only understood in layers. The error has the number of the
/// entry, its offset and its name.
pub(crate) fn apply(
    tar: impl Read,
    is_layer: bool,
    building: &mut Building<'_>,
) -> Result<(), String> {
    let mut archive = Archive::new(tar);
    let damaged = |number: usize, why: &dyn std::fmt::Display| format!("entry {number}: {why}");
    let entries = archive.entries().map_err(|why| damaged(1, &why))?;
    for (index, entry) in entries.enumerate() {
        if (building.stop)() {
            return Err(STOPPED.to_owned());
        }
        let mut entry = entry.map_err(|why| damaged(index + 1, &why))?;
        let (offset, path) = (entry.raw_header_position(), entry.path_bytes().into_owned());
        apply_entry(&mut entry, &path, is_layer, building).map_err(|why| {
            let number = index + 1;
            format!("entry {number} at byte {offset}, {}: {why}", shown(&path))
        })?;
    }
    Ok(())
}

fn apply_entry(
    entry: &mut tar::Entry<'_, impl Read>,
    path: &[u8],
    is_layer: bool,
    Building { tree, spool, stop }: &mut Building<'_>,
) -> Result<(), String> {
    let text = |error: std::io::Error| error.to_string();
    let name_start = path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    let (folder, name) = path.split_at(name_start);
    if is_layer && name == OPAQUE {
        return tree.empty(folder);
    }
    if let Some(hidden) = name.strip_prefix(WHITEOUT).filter(|_| is_layer) {
        return match hidden {
            // Others of this prefix are AUFS's own.
            [b'.', b'w', b'h', b'.', ..] => Ok(()),
            [] => Err("a whiteout without a name".to_owned()),
            _ => tree.white_out(&[folder, hidden].concat()),
        };
    }
    let header = entry.header();
    let attributes = Attributes {
        mode: header.mode().map_err(text)? & 0o7777,
        uid: header.uid().map_err(text)?,
        gid: header.gid().map_err(text)?,
        modified_s: clamped_s(header.mtime().map_err(text)?),
    };
    let device = |is_block| {
        let major = header.device_major().map_err(text)?.unwrap_or(0);
        let minor = header.device_minor().map_err(text)?.unwrap_or(0);
        Ok::<_, String>(Kind::Device { is_block, major, minor })
    };
    let kind = match header.entry_type() {
        EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse => {
            Kind::File(spool.keep(entry, stop).map_err(text)?)
        }
        EntryType::Directory => Kind::Directory,
        EntryType::Symlink | EntryType::Link => {
            let is_hard = header.entry_type() == EntryType::Link;
            let target = entry.link_name_bytes().ok_or("a link without a target")?.into_owned();
            if is_hard {
                return tree.link(path, &target, attributes);
            }
            if target.is_empty() || target.len() > 4095 || target.contains(&0) {
                return Err(format!("no symbolic link can lead to {}", shown(&target)));
            }
            Kind::Link(target)
        }
        EntryType::Fifo => Kind::Fifo,
        EntryType::Char => device(false)?,
        EntryType::Block => device(true)?,
        // Comments of archivers.
        EntryType::XGlobalHeader => return Ok(()),
        other => return Err(format!("an entry of the unknown type {:?}", other.as_byte() as char)),
    };
    tree.add(path, kind, attributes)
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A tar file of these: path, and content or the target of a link after `->`.
    pub(crate) fn tar_of(files: &[(&str, &str)]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (path, content) in files {
            let mut header = tar::Header::new_gnu();
            header.set_mode(0o755);
            header.set_mtime(7);
            header.set_uid(3);
            header.set_gid(4);
            // `set_path` would refuse what these tests are about.
            header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
            match content.strip_prefix("->") {
                Some(target) => {
                    header.set_entry_type(EntryType::Symlink);
                    header.set_link_name_literal(target).unwrap();
                    header.set_size(0);
                }
                None if path.ends_with('/') => {
                    header.set_entry_type(EntryType::Directory);
                    header.set_size(0);
                }
                None => header.set_size(content.len() as u64),
            }
            header.set_cksum();
            let content = if header.size().unwrap() > 0 { content.as_bytes() } else { b"" };
            builder.append(&header, content).unwrap();
        }
        builder.into_inner().unwrap()
    }

    pub(crate) fn applied(tars: &[Vec<u8>]) -> Result<Vec<String>, String> {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::create(&folder.path().join("spool")).unwrap();
        let mut tree = Tree::default();
        for tar in tars {
            tree.next_layer();
            let stop: &dyn Fn() -> bool = &|| false;
            let mut building = Building { tree: &mut tree, spool: &mut spool, stop };
            apply(&tar[..], true, &mut building)?;
        }
        Ok(tree.entries().map(|(path, _)| String::from_utf8_lossy(path).into_owned()).collect())
    }

    #[test]
    fn whiteouts_remove_what_lower_layers_have() {
        let lower = tar_of(&[("etc/", ""), ("etc/a", "1"), ("etc/b", "2"), ("opt/c", "3")]);
        let upper = tar_of(&[("etc/.wh.a", ""), ("opt/new", "4"), ("opt/.wh..wh..opq", "")]);
        let paths = applied(&[lower, upper]).unwrap();
        assert_eq!(paths, ["etc", "etc/b", "opt", "opt/new"]);
    }

    #[test]
    fn bad_entries_are_named_with_their_place() {
        let error = applied(&[tar_of(&[("a", "1"), ("../b", "2")])]).unwrap_err();
        assert!(error.starts_with("entry 2 at byte 1024, \"../b\": "), "{error}");
        let escape = tar_of(&[("out", "->/../.."), ("out/etc/passwd", "x")]);
        assert_eq!(applied(&[escape]).unwrap(), ["etc", "etc/passwd", "out"]);
        let mut cut = tar_of(&[("a", "1"), ("b", "2")]);
        cut.truncate(1100);
        assert!(applied(&[cut]).unwrap_err().contains("entry 2"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_layer_or_refused(
            bytes in proptest::collection::vec(any::<u8>(), 0..2000),
            place in 0..1500usize,
        ) {
            let mut tar = tar_of(&[("a/b", "1"), ("c", "->a"), ("c/d", "2")]);
            let end = (place + bytes.len()).min(tar.len());
            let place = place.min(end);
            tar[place..end].copy_from_slice(&bytes[..end - place]);
            let _ = applied(&[tar, bytes]);
        }
    }
}
