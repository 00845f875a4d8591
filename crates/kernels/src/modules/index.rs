//! The modules of one kernel, and the order in which some of them are loaded.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::modinfo::entries;
use super::{Modinfo, Module, canonical, name_of_file, read_module};
use crate::KernelError;

/// The modules in a folder `lib/modules/RELEASE`.
///
/// Dependencies are read from `modules.dep` where there is one; else from the modules themselves,
/// and from no more of them than needed. Only a name that is neither a file nor built in makes all
/// modules be read for their aliases.
#[derive(Debug)]
pub struct ModuleIndex {
    dir: PathBuf,
    /// By name; sorted, so that the choice between several is always the same.
    files: BTreeMap<String, PathBuf>,
    built_in: HashSet<String>,
    /// From `modules.dep`: what a module needs, indirect needs included.
    depends: Option<HashMap<String, Vec<String>>>,
}

impl ModuleIndex {
    /// Looks through a folder.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(dir: &Path) -> Result<Self, KernelError> {
        let mut files = BTreeMap::new();
        collect(dir, &mut files)?;
        let text = |name: &str| fs::read_to_string(dir.join(name)).ok();
        let mut built_in: HashSet<String> =
            text("modules.builtin").unwrap_or_default().lines().filter_map(name_of_file).collect();
        // Names of built-in modules stand before their entries: `crc32c_generic.alias=crc32c`.
        let information = fs::read(dir.join("modules.builtin.modinfo")).unwrap_or_default();
        built_in.extend(
            entries(&information)
                .filter(|(key, _)| key.ends_with(".alias"))
                .map(|(_, alias)| canonical(alias)),
        );
        let depends = text("modules.dep").map(|text| parse_dependencies(&text));
        Ok(Self { dir: dir.to_owned(), files, built_in, depends })
    }

    /// The folder.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Whether the kernel image has a module of this name or alias in itself.
    #[must_use]
    pub fn is_built_in(&self, name: &str) -> bool {
        self.built_in.contains(&canonical(name))
    }

    /// Whether there is a module file of this name.
    #[must_use]
    pub fn has_file(&self, name: &str) -> bool {
        self.files.contains_key(&canonical(name))
    }

    /// The modules to load for these names, each once and after what it needs. What is built in
    /// is left out. Names can be aliases; soft dependencies that nothing satisfies are left out.
    ///
    /// # Errors
    /// When a module is missing, or cannot be read.
    pub fn plan(&self, wanted: &[&str]) -> Result<Vec<Module>, KernelError> {
        let mut planner =
            Planner { index: self, aliases: None, seen: HashSet::new(), plan: Vec::new() };
        for name in wanted {
            planner.add(name, &Need::Wanted)?;
        }
        Ok(planner.plan)
    }

    /// All aliases of all modules but patterns of devices; the first of several modules.
    fn aliases(&self) -> Result<HashMap<String, String>, KernelError> {
        let mut aliases = HashMap::new();
        if let Ok(text) = fs::read_to_string(self.dir.join("modules.alias")) {
            for line in text.lines() {
                if let ["alias", alias, module] = line.split(' ').collect::<Vec<_>>()[..] {
                    aliases.entry(canonical(alias)).or_insert_with(|| canonical(module));
                }
            }
            return Ok(aliases);
        }
        for (name, path) in &self.files {
            for alias in self.modinfo(path)?.aliases {
                aliases.entry(canonical(&alias)).or_insert_with(|| name.clone());
            }
        }
        Ok(aliases)
    }

    fn modinfo(&self, path: &Path) -> Result<Modinfo, KernelError> {
        Modinfo::of_elf(&read_module(path)?)
            .map_err(|source| KernelError::Module { path: path.to_owned(), source })
    }
}

/// Why a module is loaded.
enum Need<'a> {
    /// It was asked for.
    Wanted,
    /// This module cannot be loaded without it.
    By(&'a str),
    /// A module is better with it.
    Soft,
}

/// A plan under way.
struct Planner<'a> {
    index: &'a ModuleIndex,
    /// Read when it is needed first.
    aliases: Option<HashMap<String, String>>,
    seen: HashSet<String>,
    plan: Vec<Module>,
}

impl Planner<'_> {
    /// Adds a module after what it needs, unless it is there already.
    fn add(&mut self, name: &str, need: &Need<'_>) -> Result<(), KernelError> {
        let Some((name, path)) = self.file(name, need)? else { return Ok(()) };
        // Marked before its dependencies are looked at, so that a circle has an end.
        if !self.seen.insert(name.clone()) {
            return Ok(());
        }
        let mut modinfo = self.index.modinfo(&path)?;
        if let Some(listed) = self.index.depends.as_ref().and_then(|table| table.get(&name)) {
            modinfo.depends.clone_from(listed);
        }
        for soft in &modinfo.soft_before {
            self.add(soft, &Need::Soft)?;
        }
        for needed in &modinfo.depends {
            self.add(needed, &Need::By(&name))?;
        }
        self.plan.push(Module { name, path });
        for soft in &modinfo.soft_after {
            self.add(soft, &Need::Soft)?;
        }
        Ok(())
    }

    /// The module file for a name or alias; nothing if it is built in, or not to be had and only
    /// softly needed.
    fn file(
        &mut self,
        name: &str,
        need: &Need<'_>,
    ) -> Result<Option<(String, PathBuf)>, KernelError> {
        let found = |name: &str| {
            self.index.files.get_key_value(name).map(|(name, path)| (name.clone(), path.clone()))
        };
        let name = canonical(name);
        if let Some(file) = found(&name) {
            return Ok(Some(file));
        }
        if self.index.built_in.contains(&name) {
            return Ok(None);
        }
        let by_alias = match self.likely(&name)? {
            Some(module) => Some(module),
            None => self.by_alias(&name)?,
        };
        match (by_alias.and_then(|module| found(&module)), need) {
            (Some(file), _) => Ok(Some(file)),
            (None, Need::Soft) => Ok(None),
            (None, need) => Err(KernelError::NoModule {
                name,
                needed_by: match need {
                    Need::By(module) => format!(", which {module} needs"),
                    Need::Wanted | Need::Soft => String::new(),
                },
                modules_dir: self.index.dir.clone(),
            }),
        }
    }

    /// A module whose name begins with the alias, as `crc32c_generic` does: to read these first
    /// mostly saves reading all.
    fn likely(&self, alias: &str) -> Result<Option<String>, KernelError> {
        let candidates = self.index.files.range(alias.to_owned()..);
        for (name, path) in candidates.take_while(|(name, _)| name.starts_with(alias)) {
            if self.index.modinfo(path)?.aliases.iter().any(|other| canonical(other) == alias) {
                return Ok(Some(name.clone()));
            }
        }
        Ok(None)
    }

    fn by_alias(&mut self, alias: &str) -> Result<Option<String>, KernelError> {
        let aliases = match &mut self.aliases {
            Some(aliases) => aliases,
            unread => unread.insert(self.index.aliases()?),
        };
        Ok(aliases.get(alias).cloned())
    }
}

/// Collects module files in a folder and below; links are not followed.
fn collect(dir: &Path, files: &mut BTreeMap<String, PathBuf>) -> Result<(), KernelError> {
    for entry in fs::read_dir(dir).map_err(KernelError::io(dir))? {
        let entry = entry.map_err(KernelError::io(dir))?;
        let path = entry.path();
        if entry.file_type().map_err(KernelError::io(&path))?.is_dir() {
            collect(&path, files)?;
        } else if let Some(name) = entry.file_name().to_str().and_then(name_of_file) {
            // Of two files of one name the one that is first in order, whatever the disk says.
            let kept = files.entry(name).or_insert_with(|| path.clone());
            if path < *kept {
                *kept = path;
            }
        }
    }
    Ok(())
}

/// Reads `modules.dep`: `kernel/a.ko: kernel/b.ko kernel/c.ko`, where `c` comes before `b`.
fn parse_dependencies(text: &str) -> HashMap<String, Vec<String>> {
    let line = |line: &str| {
        let (path, needed) = line.split_once(':')?;
        let needed = needed.split_ascii_whitespace().rev().filter_map(name_of_file).collect();
        Some((name_of_file(path)?, needed))
    };
    text.lines().filter_map(line).collect()
}
