//! The files on which a user's commands work.

use std::fs;
use std::io;
use std::path::Path;

use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

use super::text::Author;

/// Approximate disk space of one user's files after all default commands, in bytes.
pub const CORPUS_BYTES: u64 = 5 << 20;

const REPORT_BYTES: usize = 512 << 10;
const WORDS_BYTES: usize = 256 << 10;
/// Functions of the large source, and of the two small ones.
const PROGRAM_FUNCTIONS: usize = 60;
const PART_FUNCTIONS: usize = 6;
const TREE_FOLDERS: usize = 8;
const FOLDER_FILES: usize = 12;
const SMALL_FILE_BYTES: usize = 600;

/// Fills a user's directory from seed and user number. Fails with the path of a file.
pub fn fill(dir: &Path, seed: u64, user: u32) -> io::Result<()> {
    let own = seed.wrapping_mul(1_000_003).wrapping_add(u64::from(user));
    let mut author = Author::new(Pcg64Mcg::seed_from_u64(own));
    for folder in ["text", "src", "tree"] {
        make(&dir.join(folder))?;
    }
    let report = author.prose(REPORT_BYTES);
    write(&dir.join("text/revised.txt"), &author.revision(&report))?;
    write(&dir.join("text/report.txt"), &report)?;
    write(&dir.join("text/words.txt"), &author.list(WORDS_BYTES))?;
    write(&dir.join("src/program.c"), &author.source("f", PROGRAM_FUNCTIONS))?;
    write(&dir.join("src/part.c"), &author.source("part", PART_FUNCTIONS))?;
    let last = PART_FUNCTIONS - 1;
    let main = format!(
        "int part{last}(int a, int b);\n\n{}int main(void) {{\n    return part{last}(main0(1, 2), 3);\n}}\n",
        author.source("main", PART_FUNCTIONS)
    );
    write(&dir.join("src/main.c"), &main)?;
    for folder in 0..TREE_FOLDERS {
        let folder = dir.join(format!("tree/a{folder}"));
        make(&folder)?;
        for file in 0..FOLDER_FILES {
            let size_bytes = SMALL_FILE_BYTES / 2 + author.below(SMALL_FILE_BYTES);
            write(&folder.join(format!("b{file:02}.txt")), &author.prose(size_bytes))?;
        }
    }
    Ok(())
}

fn make(path: &Path) -> io::Result<()> {
    fs::create_dir(path).map_err(at(path))
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    fs::write(path, text).map_err(at(path))
}

fn at(path: &Path) -> impl Fn(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("write {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All files of a corpus, hashed in the order of their names.
    fn hash(seed: u64, user: u32) -> String {
        let dir = tempfile::tempdir().unwrap();
        fill(dir.path(), seed, user).unwrap();
        let mut hasher = blake3::Hasher::new();
        let mut folders = vec![dir.path().to_owned()];
        while let Some(folder) = folders.pop() {
            let mut paths: Vec<_> =
                fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
            paths.sort();
            for path in paths {
                hasher
                    .update(path.strip_prefix(dir.path()).unwrap().as_os_str().as_encoded_bytes());
                if path.is_dir() {
                    folders.push(path);
                } else {
                    hasher.update(&fs::read(path).unwrap());
                }
            }
        }
        hasher.finalize().to_hex().to_string()
    }

    #[test]
    fn equal_seeds_and_users_give_equal_files() {
        assert_eq!(hash(1, 0), hash(1, 0));
        assert_ne!(hash(1, 0), hash(1, 1));
        assert_ne!(hash(1, 0), hash(2, 0));
    }
}
