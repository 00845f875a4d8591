//! The table that a simulation is compared with.

use analysis::published::Condition;
use analysis::sweep::Curve;
use curves::{CurveOptions, Curves};
use model::MmuSpec;

use crate::{OrWrong, Result};

const REFERENCE: &str = "reference:";
/// Units of the levels of tables, and what they are in bytes.
const UNITS: [(&str, f64); 4] =
    [("bytes", 1.0), ("KB", 1024.0), ("MB", 1_048_576.0), ("GB", 1_073_741_824.0)];

pub(super) struct Published {
    /// What it is and who published it.
    pub(super) title: String,
    pub(super) curve: Curve,
    /// What a simulation of it has to meet.
    pub(super) conditions: Vec<Condition>,
}

impl Published {
    /// Reads a table; of one with several curves that of the simulated system.
    pub(super) fn read(what: &str, mmu: &MmuSpec) -> Result<Self> {
        let wrong = |why: String| wrong!("--compare {what}: {why}");
        let curves = store::curves(what, &CurveOptions::default()).or_wrong("--compare")?;
        let mut curve = chosen(&curves, mmu).map_err(wrong)?;
        let Some((_, bytes)) = UNITS.iter().find(|(unit, _)| *unit == curve.level_unit) else {
            return Err(wrong(format!(
                "its levels ({}) are not sizes: name the column like virtual_mb",
                curve.parameter
            )));
        };
        for point in &mut curve.points {
            point.level *= bytes;
        }
        curve.level_unit = "bytes".to_owned();
        let name = what.strip_prefix(REFERENCE);
        Ok(Self {
            title: if curves.place.is_empty() { what.to_owned() } else { curves.place },
            conditions: name.map_or_else(Vec::new, store::reference::acceptance),
            curve,
        })
    }

    /// Its levels in bytes, from low to high.
    pub(super) fn levels(&self) -> Vec<u64> {
        let mut levels: Vec<u64> =
            self.curve.points.iter().map(|point| point.level as u64).collect();
        levels.sort_unstable();
        levels.dedup();
        levels
    }
}

fn chosen(curves: &Curves, mmu: &MmuSpec) -> Result<Curve, String> {
    if let [(_, curve)] = &curves.rows[..] {
        return Ok(curve.clone());
    }
    let hat = mmu.settings.get("hat").map_or("", String::as_str);
    let found = curves.rows.iter().find(|(label, _)| label == hat);
    found.map(|(_, curve)| curve.clone()).ok_or_else(|| {
        let labels: Vec<&str> = curves.rows.iter().map(|(label, _)| label.as_str()).collect();
        format!(
            "it has curves of {}, and the system is {hat}: choose with --hat",
            labels.join(", ")
        )
    })
}
