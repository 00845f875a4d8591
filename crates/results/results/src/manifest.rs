//! The manifest of an experiment (`experiment.json`): which run has which levels.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use model::{MANIFEST_SCHEMA, Manifest};

use crate::error::ResultsError;

/// Name of the manifest in the folder of an experiment.
pub const FILE: &str = "experiment.json";

/// Reads a folder's manifest, if it has one. Fails, with the place, when it cannot be read.
pub fn read(folder: &Path) -> Result<Option<Manifest>, ResultsError> {
    let path = folder.join(FILE);
    let text = match fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(ResultsError::io(path)(error)),
    };
    parse(&text, path).map(Some)
}

/// Parses a manifest of this path. Fails with the place, or when its schema is newer.
pub fn parse(bytes: &[u8], path: PathBuf) -> Result<Manifest, ResultsError> {
    #[derive(serde::Deserialize)]
    struct Schema {
        schema: u32,
    }
    let refused = |why: String| ResultsError::Refused(format!("{}: {why}", path.display()));
    let none = |error| refused(format!("not the manifest of an experiment: {error}"));
    // Checked first: a newer manifest may lack fields of this schema.
    let Schema { schema } = serde_json::from_slice(bytes).map_err(none)?;
    if schema > MANIFEST_SCHEMA {
        return Err(refused(format!(
            "schema {schema} is newer than this build knows ({MANIFEST_SCHEMA}): update thrashlab"
        )));
    }
    serde_json::from_slice(bytes).map_err(none)
}

/// Writes a manifest atomically. Fails when the folder cannot be created or written.
pub fn write(manifest: &Manifest, folder: &Path) -> Result<(), ResultsError> {
    let path = folder.join(FILE);
    let write = || -> io::Result<()> {
        fs::create_dir_all(folder)?;
        let mut text = serde_json::to_vec_pretty(manifest)?;
        text.push(b'\n');
        keep::out_file::write_whole(&path, &text)
    };
    write().map_err(ResultsError::io(&path))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use model::{ManifestFactor, ManifestRun};

    use super::*;

    #[test]
    fn a_manifest_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read(folder.path()).unwrap(), None);
        let manifest = Manifest {
            schema: MANIFEST_SCHEMA,
            thrashlab: "0.1.0".to_owned(),
            name: "x".to_owned(),
            factors: vec![ManifestFactor {
                name: "system".to_owned(),
                levels: vec!["17.11".to_owned(), "18.9".to_owned()],
            }],
            responses: Vec::new(),
            aliases: Vec::new(),
            runs: vec![ManifestRun {
                run_id: "01-17.11-seed1".to_owned(),
                levels: BTreeMap::from([("system".to_owned(), "17.11".to_owned())]),
                block: 0,
                seed: 1,
            }],
            sweep: None,
            ab: None,
            plan: "name = \"x\"\n".to_owned(),
        };
        let below = folder.path().join("below");
        write(&manifest, &below).unwrap();
        assert_eq!(read(&below).unwrap(), Some(manifest));
        fs::write(below.join(FILE), "{\"schema\": 1}").unwrap();
        let error = read(&below).unwrap_err().to_string();
        assert!(error.contains("experiment.json") && error.contains("line 1"), "{error}");
        fs::write(below.join(FILE), "{\"schema\": 999, \"other\": []}").unwrap();
        let error = read(&below).unwrap_err().to_string();
        assert!(error.contains("999 is newer") && error.contains("update"), "{error}");
    }
}
