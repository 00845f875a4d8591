//! Modules of a kernel: files and load order.

mod modinfo;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

pub use modinfo::Modinfo;
use modinfo::entries;

use crate::KernelError;
use crate::compression::decompressed;

/// One module that is to be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// Its name as the kernel shows it, with `_`.
    pub name: String,
    /// Its ELF file, decompressed.
    pub bytes: Vec<u8>,
}

/// Modules from `lib/modules/RELEASE` for names or aliases, in load order, without built-in ones
/// and unsatisfied soft dependencies.
///
/// Dependencies come from `modules.dep`, else from the modules themselves, of which only the
/// necessary ones are read. All are read only to resolve an unknown alias.
pub(crate) fn plan(dir: &Path, wanted: &[&str]) -> Result<Vec<Module>, KernelError> {
    let mut planner = Planner::read(dir)?;
    for name in wanted {
        planner.add(name, Some(""))?;
    }
    Ok(planner.plan)
}

/// Whether there is a module of this name in `lib/modules/RELEASE`, or built in.
pub(crate) fn has(dir: &Path, name: &str) -> bool {
    let name = canonical(name);
    Planner::read(dir)
        .is_ok_and(|all| all.files.contains_key(&name) || all.built_in.contains(&name))
}

#[derive(Default)]
struct Planner {
    dir: PathBuf,
    /// Sorted, for a deterministic choice.
    files: BTreeMap<String, PathBuf>,
    built_in: HashSet<String>,
    /// From `modules.dep`, with indirect dependencies.
    depends: HashMap<String, Vec<String>>,
    aliases: Option<HashMap<String, String>>,
    seen: HashSet<String>,
    plan: Vec<Module>,
}

impl Planner {
    fn read(dir: &Path) -> Result<Self, KernelError> {
        let mut files = BTreeMap::new();
        collect(dir, &mut files)?;
        let text = |name: &str| fs::read_to_string(dir.join(name)).ok();
        let mut built_in: HashSet<String> =
            text("modules.builtin").unwrap_or_default().lines().filter_map(name_of_file).collect();
        // Names of built-in modules come before their entries: `crc32c_generic.alias=crc32c`.
        let information = fs::read(dir.join("modules.builtin.modinfo")).unwrap_or_default();
        built_in.extend(
            entries(&information)
                .filter(|(key, _)| key.ends_with(".alias"))
                .map(|(_, alias)| canonical(alias)),
        );
        let depends = parse_dependencies(&text("modules.dep").unwrap_or_default());
        Ok(Self { dir: dir.to_owned(), files, built_in, depends, ..Self::default() })
    }

    /// Adds a module and what it needs. If it is missing, `needed_by` ends the error's sentence;
    /// `None` leaves it out, as it is only softly needed.
    fn add(&mut self, name: &str, needed_by: Option<&str>) -> Result<(), KernelError> {
        let Some((name, path)) = self.file(name, needed_by)? else { return Ok(()) };
        // Marked first, to end cycles.
        if !self.seen.insert(name.clone()) {
            return Ok(());
        }
        let (bytes, mut modinfo) = read_module(&path)?;
        if let Some(listed) = self.depends.get(&name) {
            modinfo.depends.clone_from(listed);
        }
        for soft in &modinfo.soft_before {
            self.add(soft, None)?;
        }
        let needed_by = format!(", which {name} needs");
        for needed in &modinfo.depends {
            self.add(needed, Some(&needed_by))?;
        }
        self.plan.push(Module { name, bytes });
        for soft in &modinfo.soft_after {
            self.add(soft, None)?;
        }
        Ok(())
    }

    /// The file for a name or alias; `None` if it is built in, or missing and only softly needed.
    fn file(
        &mut self,
        name: &str,
        needed_by: Option<&str>,
    ) -> Result<Option<(String, PathBuf)>, KernelError> {
        let found = |planner: &Self, name: String| {
            planner.files.get(&name).cloned().map(|path| (name, path))
        };
        let name = canonical(name);
        if let Some(file) = found(self, name.clone()) {
            return Ok(Some(file));
        }
        if self.built_in.contains(&name) {
            return Ok(None);
        }
        let by_alias = match self.likely(&name)? {
            Some(module) => Some(module),
            None => self.by_alias(&name)?,
        };
        let file = by_alias.and_then(|module| found(self, module));
        let Some(needed_by) = needed_by.filter(|_| file.is_none()) else { return Ok(file) };
        Err(KernelError::Unavailable(format!(
            "{}: no module {name}{needed_by}; another kernel package may have it",
            self.dir.display()
        )))
    }

    /// A module whose name starts with the alias (`crypto-crc32c`: `crc32c_generic`), to save time.
    fn likely(&self, alias: &str) -> Result<Option<String>, KernelError> {
        let start = alias.strip_prefix("crypto_").unwrap_or(alias);
        let candidates = self.files.range(start.to_owned()..);
        for (name, path) in candidates.take_while(|(name, _)| name.starts_with(start)) {
            if read_module(path)?.1.aliases.iter().any(|other| canonical(other) == alias) {
                return Ok(Some(name.clone()));
            }
        }
        Ok(None)
    }

    fn by_alias(&mut self, alias: &str) -> Result<Option<String>, KernelError> {
        if self.aliases.is_none() {
            self.aliases = Some(self.all_aliases()?);
        }
        Ok(self.aliases.as_ref().and_then(|aliases| aliases.get(alias).cloned()))
    }

    /// All aliases, with the first module of each.
    fn all_aliases(&self) -> Result<HashMap<String, String>, KernelError> {
        let mut aliases = HashMap::new();
        if let Ok(text) = fs::read_to_string(self.dir.join("modules.alias")) {
            for line in text.lines() {
                if let ["alias", alias, module] = line.split(' ').collect::<Vec<_>>()[..] {
                    aliases.entry(canonical(alias)).or_insert_with(|| canonical(module));
                }
            }
            return Ok(aliases);
        }
        for (name, modinfo) in self.all_modinfos()? {
            for alias in modinfo.aliases {
                aliases.entry(canonical(&alias)).or_insert_with(|| name.clone());
            }
        }
        Ok(aliases)
    }

    /// The information of all modules, sorted by name; read in parallel, since thousands are
    /// compressed.
    fn all_modinfos(&self) -> Result<Vec<(String, Modinfo)>, KernelError> {
        let files: Vec<_> = self.files.iter().collect();
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let share = files.len().div_ceil(processors).max(1);
        let read_share = |files: &[(&String, &PathBuf)]| -> Result<Vec<_>, KernelError> {
            files.iter().map(|(name, path)| Ok(((*name).clone(), read_module(path)?.1))).collect()
        };
        std::thread::scope(|scope| {
            let readers: Vec<_> =
                files.chunks(share).map(|files| scope.spawn(move || read_share(files))).collect();
            let parts = readers.into_iter().map(|reader| {
                reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            Ok(parts.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
        })
    }
}

/// Collects module files recursively, without following links.
fn collect(dir: &Path, files: &mut BTreeMap<String, PathBuf>) -> Result<(), KernelError> {
    for entry in fs::read_dir(dir).map_err(KernelError::io(dir))? {
        let entry = entry.map_err(KernelError::io(dir))?;
        let path = entry.path();
        if entry.file_type().map_err(KernelError::io(&path))?.is_dir() {
            collect(&path, files)?;
        } else if let Some(name) = entry.file_name().to_str().and_then(name_of_file) {
            // The first path of a name counts, whatever the directory order.
            let kept = files.entry(name).or_insert_with(|| path.clone());
            if path < *kept {
                *kept = path;
            }
        }
    }
    Ok(())
}

/// Reads `modules.dep`: `kernel/a.ko: kernel/b.ko kernel/c.ko`, where `c` comes first.
fn parse_dependencies(text: &str) -> HashMap<String, Vec<String>> {
    let line = |line: &str| {
        let (path, needed) = line.split_once(':')?;
        let needed = needed.split_ascii_whitespace().rev().filter_map(name_of_file).collect();
        Some((name_of_file(path)?, needed))
    };
    text.lines().filter_map(line).collect()
}

fn read_module(path: &Path) -> Result<(Vec<u8>, Modinfo), KernelError> {
    let packed = fs::read(path).map_err(KernelError::io(path))?;
    let bytes = decompressed(&packed)
        .map_err(|error| KernelError::module(path)(format!("cannot be decompressed: {error}")))?;
    let modinfo = Modinfo::from_elf(&bytes).map_err(KernelError::module(path))?;
    Ok((bytes, modinfo))
}

/// The kernel's module name, with `_` for `-`.
fn canonical(name: &str) -> String {
    name.replace('-', "_")
}

/// The module in a file such as `kernel/fs/ext4/ext4.ko.xz`.
fn name_of_file(path: &str) -> Option<String> {
    let file = path.rsplit('/').next()?;
    let (name, suffix) = file.split_once(".ko")?;
    ["", ".xz", ".zst", ".gz"].contains(&suffix).then(|| canonical(name))
}

#[cfg(test)]
mod tests {
    use super::modinfo::tests::elf_of;
    use super::*;
    use crate::compression::tests::{gzip, xz, zstd};

    /// A folder of modules, in every compression.
    fn modules(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("kernel/lib")).unwrap();
        for (file, modinfo) in files {
            let elf = elf_of(modinfo.replace(' ', "\0").replace('+', " ").as_bytes());
            let bytes = match file.rsplit('.').next() {
                Some("xz") => xz(&elf),
                Some("zst") => zstd(&elf),
                Some("gz") => gzip(&elf),
                _ => elf,
            };
            fs::write(dir.path().join("kernel/lib").join(file), bytes).unwrap();
        }
        dir
    }

    fn names(plan: &[Module]) -> Vec<&str> {
        plan.iter().map(|module| module.name.as_str()).collect()
    }

    #[test]
    fn a_module_is_there_by_its_name_or_built_in() {
        let dir = modules(&[("null-blk.ko", "alias=fancy")]);
        fs::write(dir.path().join("modules.builtin"), "kernel/ext4.ko\n").unwrap();
        let found = ["null_blk", "ext4", "fancy", "scsi_debug"].map(|name| has(dir.path(), name));
        assert_eq!(found, [true, true, false, false]);
    }

    #[test]
    fn what_is_needed_comes_first_and_once() {
        let dir = modules(&[
            ("ext4.ko", "depends=mbcache,jbd2 softdep=pre:+crypto-crc32c+nowhere+post:+late"),
            ("jbd2.ko.xz", "depends="),
            ("mbcache.ko.zst", "depends=jbd2,built-in-one"),
            ("crc32c_generic.ko.gz", "alias=crc32c alias=crypto-crc32c"),
            ("dm-delay.ko", "depends=dm_mod"),
            ("dm-mod.ko", "depends=dm-delay"),
            ("late.ko", ""),
            ("unwanted.ko", "alias=fancy-name"),
        ]);
        fs::write(dir.path().join("modules.builtin"), "kernel/built_in_one.ko\n").unwrap();
        let builtin_aliases = b"quiet.alias=silent-one\0quiet.license=GPL\0";
        fs::write(dir.path().join("modules.builtin.modinfo"), builtin_aliases).unwrap();
        let found =
            plan(dir.path(), &["ext4", "silent_one", "jbd2", "dm-delay", "fancy-name"]).unwrap();
        assert_eq!(
            names(&found),
            ["crc32c_generic", "jbd2", "mbcache", "ext4", "late", "dm_mod", "dm_delay", "unwanted"]
        );
        assert!(found.iter().all(|module| module.bytes.starts_with(b"\x7fELF")));
    }

    #[test]
    fn the_table_of_dependencies_is_used_where_there_is_one() {
        let dir = modules(&[("a.ko", ""), ("b-b.ko", ""), ("c.ko", ""), ("d.ko", "")]);
        let table = "kernel/lib/a.ko: kernel/lib/b-b.ko kernel/lib/c.ko\nkernel/lib/b-b.ko: kernel/lib/c.ko\n";
        fs::write(dir.path().join("modules.dep"), table).unwrap();
        fs::write(dir.path().join("modules.alias"), "# x\nalias net-d d\nalias x\n").unwrap();
        assert_eq!(names(&plan(dir.path(), &["a", "net_d"]).unwrap()), ["c", "b_b", "a", "d"]);
    }

    #[test]
    fn a_module_that_is_missing_is_named_with_who_needs_it() {
        let dir = modules(&[("a.ko", "depends=gone")]);
        let error = plan(dir.path(), &["a"]).unwrap_err().to_string();
        assert!(error.contains("no module gone, which a needs"), "{error}");
        let error = plan(dir.path(), &["zram"]).unwrap_err().to_string();
        assert!(error.contains("no module zram;"), "{error}");
        fs::write(dir.path().join("kernel/b.ko"), "no ELF file").unwrap();
        let error = plan(dir.path(), &["b"]).unwrap_err().to_string();
        assert!(error.contains("kernel/b.ko: not a kernel module"), "{error}");
    }

    proptest::proptest! {
        #[test]
        fn any_table_is_read(text in "(kernel/a.ko: b.ko|[a-z./: ]{0,9}|\n){0,9}") {
            let _ = parse_dependencies(&text);
        }
    }
}
