//! Debian packages: an `ar` archive with `control.tar` and `data.tar`, each compressed or not.

use std::io::{self, Read};

use object::read::archive::ArchiveFile;

use super::{RawVisitor, damaged};
use crate::compression::reader;

pub(crate) const MAGIC: &[u8] = b"!<arch>\n";

/// The package's dependencies; empty if unreadable, as they only serve as a hint.
pub(crate) fn depends(bytes: &[u8]) -> String {
    let mut control = String::new();
    let read = each_file(bytes, "control.tar", &mut |path, file| {
        if path.ends_with(b"control") {
            file.take(1 << 20).read_to_string(&mut control)?;
        }
        Ok(())
    });
    read.ok().and_then(|()| field(&control, "Depends")).unwrap_or_default().to_owned()
}

/// A field of a control file or the first paragraph of a package index.
pub(crate) fn field<'a>(paragraph: &'a str, name: &str) -> Option<&'a str> {
    paragraph
        .lines()
        .take_while(|line| !line.is_empty())
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':').map(str::trim))
}

/// Kernel packages in a list of dependencies; the first of alternatives. Since Linux 6.19 Debian has
/// the list of what is built in, and the configuration, in a `linux-base-` package of the same version.
pub(crate) fn kernel_parts(depends: &str) -> Vec<String> {
    depends
        .split(',')
        .filter_map(|part| part.trim().split([' ', '(', '|', ':']).next())
        .filter(|name| {
            ["linux-image-", "linux-modules-", "linux-binary-", "linux-base-"]
                .iter()
                .any(|prefix| name.starts_with(prefix))
        })
        .map(str::to_owned)
        .collect()
}

/// Calls `visit` with every regular file of the tar member.
pub(crate) fn each_file(
    bytes: &[u8],
    member: &'static str,
    visit: &mut RawVisitor<'_>,
) -> io::Result<()> {
    let packed = member_of(bytes, member).ok_or_else(|| damaged(member))?;
    let mut archive = tar::Archive::new(reader(packed)?);
    for entry in archive.entries()? {
        let mut entry = entry?;
        if entry.header().entry_type().is_file() {
            let path = entry.path_bytes().into_owned();
            visit(&path, &mut entry)?;
        }
    }
    Ok(())
}

/// The member of this name, perhaps with a compression suffix.
fn member_of<'a>(bytes: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let archive = ArchiveFile::parse(bytes).ok()?;
    let mut members = archive.members().filter_map(Result::ok);
    let member = members.find(|member| member.name().starts_with(name.as_bytes()))?;
    member.data(bytes).ok()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::visit_package;
    use super::*;
    use crate::compression::tests::{Pack, gzip, xz, zstd};

    /// A tar archive of these files; paths are written as they are, ways out included.
    fn tar_of(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (path, bytes) in files {
            let mut header = tar::Header::new_gnu();
            header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
            header.set_size(bytes.len() as u64);
            header.set_mode(0o644);
            header.set_cksum();
            builder.append(&header, *bytes).unwrap();
        }
        builder.into_inner().unwrap()
    }

    fn ar_of(members: &[(&str, &[u8])]) -> Vec<u8> {
        let mut archive = MAGIC.to_vec();
        for (name, bytes) in members {
            let length = bytes.len();
            archive.extend(
                format!("{name:<16}{:<12}{0:<6}{0:<6}{:<8}{length:<10}`\n", 0, 644).bytes(),
            );
            archive.extend_from_slice(bytes);
            if length % 2 == 1 {
                archive.push(b'\n');
            }
        }
        archive
    }

    /// A Debian package of these files.
    pub(crate) fn deb_of(depends: &str, files: &[(&str, &[u8])]) -> Vec<u8> {
        packed(depends, files, "data.tar.xz", xz)
    }

    fn packed(depends: &str, files: &[(&str, &[u8])], name: &str, pack: Pack) -> Vec<u8> {
        let control = format!("Package: x\nDepends: {depends}\nDescription: y\n");
        let control = gzip(&tar_of(&[("./control", control.as_bytes())]));
        let data = pack(&tar_of(files));
        ar_of(&[("debian-binary", b"2.0\n"), ("control.tar.gz", &control), (name, &data)])
    }

    #[test]
    fn files_are_read_from_every_compression() {
        let files: &[(&str, &[u8])] = &[
            ("./boot/vmlinuz-6", b"image"),
            ("./usr/share/x", b"no"),
            ("./lib/modules/6/a", b"a"),
        ];
        let packs: [(&str, Pack); 4] = [
            ("data.tar.xz", xz),
            ("data.tar.zst", zstd),
            ("data.tar.gz", gzip),
            ("data.tar", <[u8]>::to_vec),
        ];
        for (name, pack) in packs {
            let package = packed("", files, name, pack);
            let mut found = Vec::new();
            visit_package(&package, &mut |path, file| {
                let mut text = String::new();
                file.read_to_string(&mut text)?;
                found.push(format!("{}={text}", path.display()));
                Ok(())
            })
            .unwrap();
            assert_eq!(found, ["boot/vmlinuz-6=image", "lib/modules/6/a=a"], "{name}");
            for length in [package.len() - 30, 200, 70, 10] {
                let cut = visit_package(&package[..length], &mut |_, _| Ok(()));
                assert!(cut.is_err() || name == "data.tar", "{name}: cut at {length}");
            }
        }
    }

    #[test]
    fn a_way_out_is_refused() {
        let package = deb_of("", &[("lib/modules/../../../etc/passwd", b"root")]);
        let error = visit_package(&package, &mut |_, _| Ok(())).unwrap_err();
        assert!(error.to_string().contains("leads out of its folder"), "{error}");
    }

    #[test]
    fn dependencies_on_parts_of_kernels_are_found() {
        let text = "kmod, linux-base (>= 4.3), linux-image-6.1.0-56-cloud-amd64 (= 6.1.192-2), \
                    linux-base-7.3.4-amd64 (= 7.3.4-1), linux-modules-6:any | x";
        let package = deb_of(text, &[]);
        let parts = kernel_parts(&depends(&package));
        let all = ["linux-image-6.1.0-56-cloud-amd64", "linux-base-7.3.4-amd64", "linux-modules-6"];
        assert_eq!(parts, all);
        assert_eq!(depends(b"!<arch>\n"), "");
    }
}
