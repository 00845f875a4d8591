//! Simulated runs as a folder that `sweep --from`, `compare` and `show` read.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use experiment::{TypedSweep, parse_sweep};
use model::units::exact_size;
use model::{MANIFEST_SCHEMA, Manifest, ManifestFactor, ManifestRun, ManifestSweep};
use store::results::RunFile;

use super::{Asked, Made};
use crate::Failure;

/// Writes the runs and their manifest into a folder that has none.
pub(super) fn write(folder: &Path, asked: &Asked, made: &[Made]) -> Result<(), Failure> {
    let has_runs = store::results::read_runs(folder).is_ok();
    if has_runs || store::manifest::read(folder).is_ok_and(|found| found.is_some()) {
        return Err(wrong!(
            "{} holds runs already; name a new folder with -o DIR",
            folder.display()
        ));
    }
    for run in made {
        let mut file = RunFile::create(folder, &run.run_id).context("write a run")?;
        file.line(&run.bytes).context("write a run")?;
    }
    Ok(store::manifest::write(&manifest(asked, made), folder).context("write the manifest")?)
}

fn manifest(asked: &Asked, made: &[Made]) -> Manifest {
    let parameter = &asked.parameter;
    let levels = asked.levels.iter().map(|(level, _)| exact_size(*level)).collect();
    let run = |made: &Made| ManifestRun {
        run_id: made.run_id.clone(),
        levels: BTreeMap::from([(parameter.clone(), exact_size(made.level))]),
        block: made.block,
        seed: made.seed,
    };
    Manifest {
        schema: MANIFEST_SCHEMA,
        thrashlab: env!("CARGO_PKG_VERSION").to_owned(),
        name: format!("mmu-{}", asked.mmu.machine),
        factors: vec![ManifestFactor { name: parameter.clone(), levels }],
        responses: Vec::new(),
        aliases: Vec::new(),
        runs: made.iter().map(run).collect(),
        sweep: Some(ManifestSweep { unit: "bytes".to_owned(), refused: BTreeMap::new() }),
        plan: plan(asked),
    }
}

/// The plan of a sweep over the same; empty for a single size.
fn plan(asked: &Asked) -> String {
    let (Some((first, job)), Some((last, _))) = (asked.levels.first(), asked.levels.last()) else {
        return String::new();
    };
    let mut settings = vec![format!("mmu:machine={}", asked.mmu.machine)];
    settings.extend(asked.mmu.asked.iter().map(|(name, value)| format!("{name}={value}")));
    let range = format!("{}..{}", exact_size(*first), exact_size(*last));
    let plan = serde_json::json!({
        "name": format!("mmu-{}", job.name),
        "base": {"job": job.name, "subject": settings.join(",")},
        "sweep": {"over": asked.parameter, "range": range, "passes": asked.seeds.len()},
    });
    let text = toml::to_string(&plan).unwrap_or_default();
    parse_sweep(&text, TypedSweep::default()).map_or_else(|_| String::new(), |plan| plan.text())
}
