//! `/proc/self/mountinfo`: what is mounted where.

use std::path::PathBuf;

#[derive(Debug, PartialEq)]
pub(crate) struct Mount {
    /// Major and minor number of the device, `8:1`.
    pub(crate) numbers: String,
    /// The part of the file system that is mounted.
    pub(crate) root: PathBuf,
    pub(crate) point: PathBuf,
    pub(crate) options: String,
    pub(crate) filesystem: String,
    pub(crate) device: String,
    pub(crate) super_options: String,
}

/// Reads `/proc/self/mountinfo` (`Documentation/filesystems/proc.rst`, 3.5).
pub(crate) fn mounts(mountinfo: &str) -> impl Iterator<Item = Mount> {
    mountinfo.lines().filter_map(|line| {
        let (left, right) = line.split_once(" - ")?;
        let mut left = left.split(' ').skip(2);
        let mut right = right.split(' ');
        Some(Mount {
            numbers: left.next()?.to_owned(),
            root: unescaped(left.next()?).into(),
            point: unescaped(left.next()?).into(),
            options: left.next()?.to_owned(),
            filesystem: right.next()?.to_owned(),
            device: unescaped(right.next().unwrap_or_default()),
            super_options: right.next().unwrap_or_default().to_owned(),
        })
    })
}

fn unescaped(text: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\043", "#"), ("\\134", "\\")]
        .iter()
        .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_that_are_none_stay() {
        assert_eq!(unescaped("a\\040b\\134c\\043"), "a b\\c#");
        assert_eq!(unescaped("\\04"), "\\04");
        assert_eq!(unescaped("\\é9"), "\\é9");
        assert_eq!(unescaped("\\777"), "\\777");
        assert_eq!(unescaped("\\134040"), "\\040");
    }
}
