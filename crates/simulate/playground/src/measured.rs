//! Sweeps of simulated machines, as `thrashlab sweep vmtest --subject mmu:…` measures them.

use analysis::sweep::{
    Curve, End, OfRun, Point, Range, Search, SearchSettings, Settings, Spacing, of_run,
};
use jobs::VMTEST;
use model::units::{exact_size, parse_size_bytes};
use model::{Header, MmuSpec, Run};
use simulated::{mmu_spec, simulated_run, spec_of};

use crate::choices::text_of;
use crate::request::{MachineRequest, SweepRequest};

/// What is varied.
const PARAMETER: &str = "vmtest.size";
/// Ranges with at least this ratio of their ends are spaced geometrically.
const FAR_APART: f64 = 4.0;
/// Largest size: more processes than this take a page too long.
const MOST_BYTES: u64 = 256 << 20;
const MOST_PASSES: u32 = 9;

/// A machine with what was measured on it.
#[derive(Debug)]
pub(crate) struct Measured {
    /// Its name in the chart.
    pub(crate) label: String,
    /// The measurements.
    pub(crate) curve: Curve,
    /// The headers of its runs.
    pub(crate) headers: Vec<Header>,
    /// Whether its search has ended.
    pub(crate) done: bool,
    mmu: MmuSpec,
}

/// A sweep that is measured batch by batch.
#[derive(Debug)]
pub(crate) struct Sweep {
    /// The machines in the order of the request.
    pub(crate) machines: Vec<Measured>,
    /// How the search for the knee reads the curves.
    pub(crate) settings: Settings,
    search: Search,
    passes: u32,
}

impl Sweep {
    /// Reads a request. Fails with what is wrong, or unknown.
    pub(crate) fn new(request: &SweepRequest) -> Result<Self, String> {
        let process_bytes = VMTEST.number("process_size").map_or(0, |number| number.default);
        let ends = [("first", &request.first), ("last", &request.last)];
        let ends = ends.map(|(name, text)| match parse_size_bytes(text) {
            Ok(bytes) if (process_bytes..=MOST_BYTES).contains(&bytes) => Ok(bytes as f64),
            Ok(_) => {
                let [least, most] = [process_bytes, MOST_BYTES].map(exact_size);
                Err(format!("{name}: {text} is not from {least} to {most}"))
            }
            Err(why) => Err(format!("{name}: {why}")),
        });
        let [first, last] = ends;
        let (first, last) = (first?, last?);
        if !(1..=MOST_PASSES).contains(&request.passes) {
            return Err(format!("passes: {} is not from 1 to {MOST_PASSES}", request.passes));
        }
        let spacing = match last / first >= FAR_APART || first / last >= FAR_APART {
            true => Spacing::Geometric,
            false => Spacing::Linear,
        };
        let range = Range { first, last, spacing, quantum: process_bytes as f64 };
        let plateau = Some(if first <= last { End::Low } else { End::High });
        let standard = SearchSettings::default();
        let settings = Settings { plateau, ..standard.find };
        let search = SearchSettings { passes: request.passes, find: settings, ..standard };
        let machines = request.machines.iter().map(machine).collect::<Result<_, _>>()?;
        let search = Search::new(range, search)?;
        Ok(Self { machines, settings, search, passes: request.passes })
    }

    /// Measures the next batch of each machine; `false` if all searches have ended. Fails when this
    /// build cannot simulate one.
    pub(crate) fn step(&mut self) -> Result<bool, String> {
        for machine in self.machines.iter_mut().filter(|machine| !machine.done) {
            let mut ended = true;
            if let Some(batch) = self.search.next(&machine.curve) {
                for (pass, level) in batch.measurements() {
                    // The seed of a pass is its number from 1; with one pass all have that one.
                    let seed = if self.passes == 1 { 1 } else { u64::from(pass) + 1 };
                    ended &= !machine.measure(level, pass, seed)?;
                }
            }
            machine.done = ended;
        }
        Ok(self.machines.iter().any(|machine| !machine.done))
    }
}

fn machine(request: &MachineRequest) -> Result<Measured, String> {
    let settings: Vec<(String, String)> =
        request.chosen().map(|(name, value)| (name.clone(), value.clone())).collect();
    let curve = Curve {
        name: "playground".to_owned(),
        parameter: PARAMETER.to_owned(),
        level_unit: "bytes".to_owned(),
        deterministic: true,
        ..Curve::default()
    };
    let mmu = mmu_spec(&settings, text_of)?;
    Ok(Measured { label: request.label.clone(), curve, headers: Vec::new(), done: false, mmu })
}

impl Measured {
    /// Simulates a size, unless it was in this pass before; whether it was simulated now.
    fn measure(&mut self, level: f64, pass: u32, seed: u64) -> Result<bool, String> {
        let size = exact_size(level as u64);
        // As a run of the command line is named: equal size and seed are the same run.
        let name = format!("01-{size}-seed{seed}");
        if self.curve.points.iter().any(|point| point.name == name) {
            return Ok(false);
        }
        let mut job = VMTEST.spec();
        VMTEST.set(&mut job, "size", &size)?;
        let bytes = simulated_run(&spec_of(self.mmu.clone(), job, seed), &name)?;
        let run = Run::parse(&bytes).map_err(|error| error.to_string())?;
        let OfRun { point, response, unit } = of_run(&run, None);
        (self.curve.response, self.curve.cost_unit) = (response, unit);
        self.curve.points.push(Point { level, name, pass, ..point });
        self.headers.extend(run.header);
        Ok(true)
    }
}
