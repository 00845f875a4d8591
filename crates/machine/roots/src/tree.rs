//! A tree of files in memory, without their content: what layers of an image are applied to, so that
//! nothing of them touches a file system. Paths never lead out of the tree.

use std::collections::BTreeMap;

/// Directories above an entry that has none of its own.
const IMPLIED: Attributes = Attributes { mode: 0o755, uid: 0, gid: 0, modified_s: 0 };
/// Symbolic links that a path may lead through, as in Linux.
const MOST_LINKS: usize = 40;
const MOST_PATH_BYTES: usize = 4096;
const MOST_NAME_BYTES: usize = 255;
const MOST_ENTRIES: usize = 4 << 20;

/// Mode, owner and time of an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Attributes {
    /// The lower 12 bits: permissions, set-user-ID and so on.
    pub(crate) mode: u32,
    pub(crate) uid: u64,
    pub(crate) gid: u64,
    pub(crate) modified_s: u64,
}

/// The time of a file as a root has it: a time before 1970, which is a negative number in tar files,
/// becomes 0, and none is later than a 32-bit number can say.
pub(crate) fn clamped_s(time_s: u64) -> u64 {
    match i64::try_from(time_s) {
        Ok(_) => time_s.min(u32::MAX.into()),
        Err(_) => 0,
    }
}

/// The content of a file: bytes of the spool, and what distinguishes it from other files. Hard links
/// have the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Content {
    pub(crate) number: u64,
    pub(crate) offset: u64,
    pub(crate) size_bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Directory,
    File(Content),
    Link(Vec<u8>),
    Fifo,
    Device { is_block: bool, major: u32, minor: u32 },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) kind: Kind,
    pub(crate) attributes: Attributes,
    /// Number of the layer that it is from.
    layer: u32,
}

/// Entries by path, without `/` at the beginning or end; the root itself has none. In the order of
/// paths a directory precedes what is in it.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    entries: BTreeMap<Vec<u8>, Entry>,
    layer: u32,
}

impl Tree {
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&[u8], &Entry)> {
        self.entries.iter().map(|(path, entry)| (path.as_slice(), entry))
    }

    pub(crate) fn entries_mut(&mut self) -> impl Iterator<Item = (&[u8], &mut Entry)> {
        self.entries.iter_mut().map(|(path, entry)| (path.as_slice(), entry))
    }

    pub(crate) fn get(&self, path: &[u8]) -> Option<&Entry> {
        self.entries.get(path)
    }

    /// What follows belongs to another layer, above the last one.
    pub(crate) fn next_layer(&mut self) {
        self.layer += 1;
    }

    /// Adds an entry, in the place of an older one; the entry of the root itself is ignored. Fails
    /// for a path that leads out of the tree or through something else than directories.
    pub(crate) fn add(
        &mut self,
        path: &[u8],
        kind: Kind,
        attributes: Attributes,
    ) -> Result<(), String> {
        let Some(path) = self.place(path)? else { return Ok(()) };
        let is_directory = kind == Kind::Directory;
        let stays =
            is_directory && self.entries.get(&path).is_some_and(|old| old.kind == Kind::Directory);
        if !stays {
            self.remove_below(&path, |_| true);
        }
        if self.entries.len() >= MOST_ENTRIES {
            return Err(format!("more than {MOST_ENTRIES} files"));
        }
        self.insert(path, kind, attributes);
        Ok(())
    }

    /// What is above the entry belongs to this layer, too, so that no whiteout of it removes that.
    fn insert(&mut self, path: Vec<u8>, kind: Kind, attributes: Attributes) {
        let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        for (end, _) in slashes {
            if let Some(above) = self.entries.get_mut(&path[..end]) {
                above.layer = self.layer;
            }
        }
        self.entries.insert(path, Entry { kind, attributes, layer: self.layer });
    }

    /// Adds another name of a file. Fails as [`Self::add`], and without that file.
    pub(crate) fn link(
        &mut self,
        path: &[u8],
        target: &[u8],
        attributes: Attributes,
    ) -> Result<(), String> {
        let there = self.place(target)?.and_then(|target| self.entries.get(&target));
        match there.map(|entry| entry.kind.clone()) {
            Some(Kind::Directory) | None => {
                Err(format!("a hard link to {}, which is not a file before it", shown(target)))
            }
            Some(kind) => self.add(path, kind, attributes),
        }
    }

    /// Removes an entry of lower layers, with all below it. Fails as [`Self::add`].
    pub(crate) fn white_out(&mut self, path: &[u8]) -> Result<(), String> {
        let Some(path) = self.place(path)? else { return Ok(()) };
        let layer = self.layer;
        self.remove_below(&path, |entry| entry.layer < layer);
        if self.entries.get(&path).is_some_and(|entry| entry.layer < layer) {
            self.entries.remove(&path);
        }
        Ok(())
    }

    /// Removes what lower layers have in a directory; an empty path is the root. Fails as
    /// [`Self::add`].
    pub(crate) fn empty(&mut self, path: &[u8]) -> Result<(), String> {
        let layer = self.layer;
        match self.place(path)? {
            Some(path) => self.remove_below(&path, |entry| entry.layer < layer),
            None => self.entries.retain(|_, entry| entry.layer >= layer),
        }
        Ok(())
    }

    fn remove_below(&mut self, path: &[u8], gone: impl Fn(&Entry) -> bool) {
        let (from, to) = ([path, b"/"].concat(), [path, b"0"].concat());
        let below: Vec<Vec<u8>> = self
            .entries
            .range(from..to)
            .filter(|(_, entry)| gone(entry))
            .map(|(path, _)| path.clone())
            .collect();
        for path in below {
            self.entries.remove(&path);
        }
    }

    /// Where an entry goes: its path after symbolic links in the tree, whose directories exist
    /// afterwards. `None` is the root.
    fn place(&mut self, path: &[u8]) -> Result<Option<Vec<u8>>, String> {
        let parts = parts(path)?;
        let Some((name, above)) = parts.split_last() else { return Ok(None) };
        let mut place = self.directory(above)?;
        if !place.is_empty() {
            place.push(b'/');
        }
        place.extend(*name);
        check_length(&place)?;
        Ok(Some(place))
    }

    /// The path of a directory after symbolic links, which cannot lead above the root.
    fn directory(&mut self, parts: &[&[u8]]) -> Result<Vec<u8>, String> {
        let mut left: Vec<Vec<u8>> = parts.iter().rev().map(|part| part.to_vec()).collect();
        let mut at: Vec<u8> = Vec::new();
        let mut links = 0;
        while let Some(part) = left.pop() {
            if part == b".." {
                let parent = at.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
                at.truncate(parent);
                continue;
            }
            let next = if at.is_empty() { part } else { [&at[..], b"/", &part].concat() };
            check_length(&next)?;
            match self.entries.get(&next).map(|entry| &entry.kind) {
                Some(Kind::Directory) => at = next,
                Some(Kind::Link(target)) => {
                    links += 1;
                    if links > MOST_LINKS {
                        return Err(format!("{} is a loop of symbolic links", shown(&next)));
                    }
                    if target.starts_with(b"/") {
                        at.clear();
                    }
                    let words = target.split(|byte| *byte == b'/');
                    let words = words.filter(|word| !matches!(word, [] | [b'.']));
                    left.extend(words.rev().map(<[u8]>::to_vec));
                }
                Some(_) => return Err(format!("{} is not a directory", shown(&next))),
                None => {
                    self.insert(next.clone(), Kind::Directory, IMPLIED);
                    at = next;
                }
            }
        }
        Ok(at)
    }
}

/// The names in a path. `/` at the beginning and `.` do not count.
fn parts(path: &[u8]) -> Result<Vec<&[u8]>, String> {
    let parts: Vec<&[u8]> =
        path.split(|byte| *byte == b'/').filter(|part| !matches!(part, [] | [b'.'])).collect();
    for part in &parts {
        if *part == b".." {
            return Err(format!(
                "the path {} leads out of its folder; do not trust this file",
                shown(path)
            ));
        }
        if part.len() > MOST_NAME_BYTES {
            return Err(format!("a name of more than {MOST_NAME_BYTES} bytes: {}", shown(part)));
        }
        if part.contains(&0) {
            return Err(format!("a name with a zero byte: {}", shown(part)));
        }
    }
    Ok(parts)
}

fn check_length(path: &[u8]) -> Result<(), String> {
    match path.len() < MOST_PATH_BYTES {
        true => Ok(()),
        false => Err(format!("a path of {} bytes; Linux has at most 4095", path.len())),
    }
}

/// A path as it is printed.
pub(crate) fn shown(path: &[u8]) -> String {
    let text: String = String::from_utf8_lossy(path).chars().take(200).collect();
    format!("{text:?}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ANY: Attributes = Attributes { mode: 0o644, uid: 0, gid: 0, modified_s: 7 };

    fn file(number: u64) -> Kind {
        Kind::File(Content { number, offset: 0, size_bytes: 0 })
    }

    fn paths(tree: &Tree) -> Vec<String> {
        tree.entries().map(|(path, _)| String::from_utf8_lossy(path).into_owned()).collect()
    }

    #[test]
    fn links_in_a_path_are_followed_inside_of_the_tree() {
        let mut tree = Tree::default();
        let link = |target: &[u8]| Kind::Link(target.to_vec());
        tree.add(b"./usr/bin/", Kind::Directory, ANY).unwrap();
        tree.add(b"bin", link(b"usr/bin"), ANY).unwrap();
        tree.add(b"up", link(b"../../../etc"), ANY).unwrap();
        tree.add(b"absolute", link(b"/usr/./bin"), ANY).unwrap();
        tree.add(b"bin/a", file(1), ANY).unwrap();
        tree.add(b"/up/b", file(2), ANY).unwrap();
        tree.add(b"absolute/c", file(3), ANY).unwrap();
        let expected =
            ["absolute", "bin", "etc", "etc/b", "up", "usr", "usr/bin", "usr/bin/a", "usr/bin/c"];
        assert_eq!(paths(&tree), expected);
        tree.add(b"loop", link(b"loop"), ANY).unwrap();
        let error = tree.add(b"loop/x", file(4), ANY).unwrap_err();
        assert!(error.contains("loop of symbolic links"), "{error}");
    }

    #[test]
    fn times_of_files_are_clamped() {
        assert_eq!(clamped_s(7), 7);
        assert_eq!(clamped_s(-1i64 as u64), 0);
        assert_eq!(clamped_s(i64::MAX as u64), u64::from(u32::MAX));
    }

    #[test]
    fn a_way_out_is_refused() {
        let mut tree = Tree::default();
        for path in [&b"../x"[..], b"a/../../x", b"a/.."] {
            let error = tree.add(path, file(1), ANY).unwrap_err();
            assert!(error.contains("leads out of its folder"), "{error}");
        }
        tree.add(b"f", file(1), ANY).unwrap();
        assert!(tree.add(b"f/x", file(2), ANY).unwrap_err().contains("not a directory"));
        assert!(tree.link(b"g", b"missing", ANY).unwrap_err().contains("\"missing\""));
        assert!(tree.link(b"g", b"../f", ANY).is_err());
    }

    #[test]
    fn layers_replace_and_hide_what_is_below_them() {
        let mut tree = Tree::default();
        for path in ["etc/a", "etc/b", "opt/x/y", "opt-z", "var/old"] {
            tree.add(path.as_bytes(), file(1), ANY).unwrap();
        }
        tree.next_layer();
        tree.add(b"etc/b", file(2), ANY).unwrap();
        tree.white_out(b"etc/a").unwrap();
        tree.white_out(b"etc/b").unwrap();
        tree.add(b"opt", file(3), ANY).unwrap();
        tree.add(b"var/new", file(4), ANY).unwrap();
        tree.empty(b"var").unwrap();
        assert_eq!(paths(&tree), ["etc", "etc/b", "opt", "opt-z", "var", "var/new"]);
        assert_eq!(tree.get(b"etc/b").unwrap().kind, file(2));
        // A layer that hides a folder keeps what it adds below it, in whatever order.
        tree.next_layer();
        tree.add(b"var/deep/x", file(5), ANY).unwrap();
        tree.next_layer();
        tree.add(b"var/deep/y", file(6), ANY).unwrap();
        tree.white_out(b"var").unwrap();
        let below: Vec<String> =
            paths(&tree).into_iter().filter(|path| path.starts_with("var")).collect();
        assert_eq!(below, ["var", "var/deep", "var/deep/y"]);
    }

    #[test]
    fn a_directory_that_a_path_implies_belongs_to_its_layer_with_all_above() {
        let mut tree = Tree::default();
        tree.add(b"a", Kind::Directory, ANY).unwrap();
        tree.next_layer();
        tree.link(b"b", b"a/a/a", ANY).unwrap_err();
        tree.white_out(b"a").unwrap();
        assert_eq!(tree.entries().map(|(path, _)| path).collect::<Vec<_>>(), [&b"a"[..], b"a/a"]);
    }

    proptest! {
        #[test]
        fn a_directory_precedes_what_is_in_it(
            steps in proptest::collection::vec(("[ab./]{0,9}", "[ab./]{0,9}", 0..5u8), 0..40),
        ) {
            let mut tree = Tree::default();
            for (path, target, step) in steps {
                let (path, target) = (path.as_bytes(), target.as_bytes());
                let _ = match step {
                    0 => tree.add(path, Kind::Directory, ANY),
                    1 => tree.add(path, Kind::Link(target.to_vec()), ANY),
                    2 => tree.white_out(path),
                    3 => tree.link(path, target, ANY),
                    _ => { tree.next_layer(); tree.add(path, file(1), ANY) }
                };
            }
            for (path, _) in tree.entries() {
                if let Some(slash) = path.iter().rposition(|byte| *byte == b'/') {
                    let above = tree.get(&path[..slash]);
                    prop_assert!(above.is_some_and(|above| above.kind == Kind::Directory));
                }
            }
        }
    }
}
