//! Package files, `.deb` and `.rpm`.

pub(crate) mod deb;
pub(crate) mod rpm;

use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

fn damaged(part: &str) -> io::Error {
    io::Error::other(format!("{part} of the package is damaged or cut off; fetch it again"))
}

pub(crate) type Visitor<'a> = dyn FnMut(&Path, &mut dyn Read) -> io::Result<()> + 'a;

/// With the path as in the package.
pub(crate) type RawVisitor<'a> = dyn FnMut(&[u8], &mut dyn Read) -> io::Result<()> + 'a;

/// Calls `visit` with the regular files in `boot/` and `lib/modules/` (or `usr/lib/`) that a guest
/// needs. Paths are relative, have no `..`, and begin with `lib/` where the package has `usr/lib/`;
/// links are left out. Fails when the package is damaged or leads out of its folder, or as `visit`.
pub fn visit_package(bytes: &[u8], visit: &mut Visitor<'_>) -> io::Result<()> {
    let mut visit_needed = |path: &[u8], file: &mut dyn Read| match destination(path)? {
        Some(path) => visit(&path, file),
        None => Ok(()),
    };
    if bytes.starts_with(deb::MAGIC) {
        deb::each_file(bytes, "data.tar", &mut visit_needed)
    } else if bytes.starts_with(rpm::MAGIC) {
        rpm::visit(bytes, &mut visit_needed)
    } else {
        Err(io::Error::other("neither a Debian package nor an RPM; is the download complete?"))
    }
}

/// Where a package's file goes, if a guest needs it.
fn destination(path: &[u8]) -> io::Result<Option<PathBuf>> {
    let path = Path::new(OsStr::from_bytes(path));
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => clean.push(name),
            Component::CurDir | Component::RootDir => {}
            Component::ParentDir | Component::Prefix(_) => {
                return Err(io::Error::other(format!(
                    "the package has a file {path:?}, which leads out of its folder; do not trust it"
                )));
            }
        }
    }
    let clean = clean.strip_prefix("usr").map(Path::to_owned).unwrap_or(clean);
    let is_boot_file = clean.parent() == Some(Path::new("boot"))
        && clean
            .file_name()
            .is_some_and(|name| name.as_bytes().starts_with(b"config") || is_image_name(name));
    let is_module_file = clean.starts_with("lib/modules") && !clean.ends_with("System.map");
    Ok((is_boot_file || is_module_file).then_some(clean))
}

pub(crate) fn is_image_name(name: &OsStr) -> bool {
    let name = name.as_bytes();
    !name.ends_with(b".old")
        && !name.ends_with(b".hmac")
        && [b"vmlinu".as_slice(), b"bzImage", b"Image"].iter().any(|word| name.starts_with(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_guest_needs_is_taken() {
        let to = |path: &str| destination(path.as_bytes()).unwrap();
        assert_eq!(to("./boot/vmlinuz-6.1"), Some(PathBuf::from("boot/vmlinuz-6.1")));
        assert_eq!(to("/boot/config-6.1"), Some(PathBuf::from("boot/config-6.1")));
        assert_eq!(to("usr/lib/modules/6/a.ko"), Some(PathBuf::from("lib/modules/6/a.ko")));
        for path in ["usr/share/doc/x", "boot/System.map-6.1", "boot", "", "boot/.vmlinuz.hmac"] {
            assert_eq!(to(path), None, "{path}");
        }
    }

    #[test]
    fn a_way_out_is_refused() {
        for path in ["../x", "lib/modules/../../x", "./boot/.."] {
            let error = destination(path.as_bytes()).unwrap_err();
            assert!(error.to_string().contains("leads out of its folder"), "{error}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_a_package_or_refused(
            magic in 0usize..3,
            bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..300),
        ) {
            let magic = [deb::MAGIC, rpm::MAGIC, b""][magic];
            let _ = visit_package(&[magic, &bytes].concat(), &mut |_, _| Ok(()));
        }
    }
}
