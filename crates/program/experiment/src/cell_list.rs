//! Cells to run elsewhere: the list of what a plan still needs, and running the cells of a list.
//!
//! A list is JSON lines: machines first, then cells, each under the hash of all its inputs. The
//! maker recomputes that hash, so another version of thrashlab cannot make a cell under a wrong
//! name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use keep::{Cache, Cells};
use model::{EndStatus, Spec, SubjectSpec};
use serde::{Deserialize, Serialize};
use subject::Outcome;
use vm::{IN_GUEST, PackedMachine, Stop, Vm, VmError, VmOptions};

use crate::deterministic::Deterministic;
use crate::error::{ExperimentError, Result};
use crate::laboratory::Laboratory;
use crate::plan::{CellPlan, label};

/// A line of a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum Listed {
    /// A booted machine that cells resume.
    Machine(Box<PackedMachine>),
    Cell(Box<ListedCell>),
}

/// A cell to run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct ListedCell {
    /// The hash of all its inputs, which names its file.
    key: String,
    /// Its first run in the plan, for people.
    run_id: String,
    /// The key of its machine; none for a simulation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    machine: Option<String>,
    spec: Spec,
}

/// The result of a cell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CellResult {
    key: String,
    /// How its run ended; none without a run. Only a complete one is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<EndStatus>,
    /// Whether it was found.
    cached: bool,
    /// Why it is not complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

/// Why no other host can run a plan's cells: those that measure their host or do not repeat.
pub(crate) fn bound_to_host(cells: &[CellPlan]) -> Vec<String> {
    let mut reasons = BTreeMap::new();
    for cell in cells.iter().filter(|cell| !cell.is_deterministic()) {
        let reason = match &cell.subject {
            Some(crate::SubjectArg::Vm(_)) => {
                "accel=kvm is not deterministic, so each host would run it differently; use \
                 accel=tcg"
            }
            _ => {
                "it measures the host that it runs on, so another host would measure itself; run \
                 it without a fleet, on this host or on one of your choice \
                 (subject = \"ssh://HOST\", docs/remote.md)"
            }
        };
        reasons.entry(reason).or_insert_with(|| label(&cell.named));
    }
    reasons.into_iter().map(|(reason, label)| format!("cell {label}: {reason}")).collect()
}

impl Laboratory {
    /// What the plan needs and `folder` lacks, as JSON lines: machines, then cells, each once.
    /// Fails when a run file of the folder cannot be read, or a spec cannot be written.
    pub fn list(&self, folder: &Path) -> Result<String> {
        let mut cells = Vec::new();
        let (mut keys, mut machines) = (BTreeSet::new(), BTreeMap::new());
        for order in self.orders() {
            // What measures its host is refused before a laboratory is set up.
            let Some(maker) = self.machines.deterministic(order.at) else { continue };
            let (key, guest) = (maker.key(&order.spec)?, self.machines.guest(order.at));
            if keys.contains(&key) || self.has_finished(&order, folder)? {
                continue;
            }
            keys.insert(key.clone());
            if let Some(vm) = guest.filter(|vm| !machines.contains_key(vm.key())) {
                machines.insert(vm.key().to_owned(), Listed::Machine(Box::new(vm.packed())));
            }
            cells.push(Listed::Cell(Box::new(ListedCell {
                key,
                run_id: order.run_id,
                machine: guest.map(|vm| vm.key().to_owned()),
                spec: order.spec,
            })));
        }
        let mut text = String::new();
        for line in machines.into_values().chain(cells) {
            let line = serde_json::to_string(&line)
                .map_err(|error| ExperimentError::NotMeasured(format!("list a cell: {error}")))?;
            text += &(line + "\n");
        }
        Ok(text)
    }
}

/// Runs the cells of a list.
pub struct CellMaker {
    cells: Cells,
    /// Folder of machine files, each in a folder named by the machine's key.
    machines_folder: PathBuf,
    options: VmOptions,
    /// The machines of the list so far, or why there is none.
    machines: BTreeMap<String, Result<Vm, String>>,
}

impl CellMaker {
    /// A maker that stores its cells in `cells`.
    pub fn new(cells: Cells, machines_folder: PathBuf, options: &VmOptions) -> Self {
        let cache = Cache { cells: cells.clone(), ..options.cache.clone() };
        let options = VmOptions { cache, ..options.clone() };
        Self { cells, machines_folder, options, machines: BTreeMap::new() }
    }

    /// Processes a line: remembers a machine, runs a cell. Fails when it is not a line of a list,
    /// or the user stopped it. Problems of a cell or its machine are part of the result.
    pub fn take(&mut self, line: &str, stop: Stop<'_>) -> Result<Option<CellResult>> {
        let listed: Listed = serde_json::from_str(line).map_err(|error| {
            ExperimentError::WrongUse(format!("no cell and no machine: {error}"))
        })?;
        match listed {
            Listed::Machine(packed) => {
                let key = &packed.key;
                let opened = match is_key(key) {
                    true => Vm::unpack(&packed, &self.machines_folder.join(key), &self.options)
                        .map_err(|why| why.to_string()),
                    false => Err(format!("{key:?} is not a hash")),
                };
                self.machines.insert(packed.key, opened);
                Ok(None)
            }
            Listed::Cell(cell) => {
                let made = match self.make(&cell, stop) {
                    // Only this cell fails.
                    Err(ExperimentError::NotMeasured(why)) => {
                        CellResult { why: Some(why), ..CellResult::default() }
                    }
                    made => made?,
                };
                Ok(Some(CellResult { key: cell.key, ..made }))
            }
        }
    }

    fn make(&self, cell: &ListedCell, stop: Stop<'_>) -> Result<CellResult> {
        let cannot = ExperimentError::NotMeasured;
        let maker = match cell.machine.as_ref().and_then(|key| self.machines.get(key)) {
            _ if !matches!(cell.spec.subject, SubjectSpec::Vm(_)) => {
                Deterministic::Simulator(Some(&self.cells))
            }
            Some(Ok(vm)) => Deterministic::Guest(vm),
            Some(Err(why)) => return Err(cannot(why.clone())),
            None => return Err(cannot("its machine is not listed before it".to_owned())),
        };
        let here = maker.key(&cell.spec)?;
        if cell.key != here {
            let listed = &cell.key;
            return Err(cannot(format!(
                "it was listed as {listed}, and is {here} here: use the same thrashlab everywhere"
            )));
        }
        // It is kept among the cells; nobody reads it here.
        let made = maker.run(&cell.spec, IN_GUEST, stop, &mut |_, _| Ok(()))?;
        let (Outcome { status, death }, cached) = (made.outcome, made.finished.is_some());
        match status {
            EndStatus::Interrupted => Err(VmError::Interrupted.into()),
            _ => {
                Ok(CellResult { status: Some(status), cached, why: death, ..CellResult::default() })
            }
        }
    }
}

/// Whether a text is a hash, and so only a file name.
fn is_key(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use keep::Cache;
    use proptest::prelude::*;

    use super::*;
    use crate::plan::parse_plan;
    use simulated::simulated_run;

    const PLAN: &str = r#"
        name = "p"
        blocks = 1
        [base]
        subject = "mmu:machine=sparcstation1"
        job = "vmtest"
        vmtest.process_size = "512K"
        vmtest.loops = 4
        [[factor]]
        name = "hat"
        parameter = "mmu.hat"
        levels = ["old", "new"]
    "#;

    fn cells(text: &str) -> Vec<CellPlan> {
        parse_plan(text).unwrap().cells(Path::new("")).unwrap()
    }

    /// The list of the plan's cells.
    fn lines() -> Vec<String> {
        cells(PLAN)
            .iter()
            .map(|cell| {
                let Some(crate::SubjectArg::Mmu(mmu)) = &cell.subject else { panic!("no mmu") };
                let spec = cell.spec(SubjectSpec::Mmu(mmu.clone()), 1, 0, 0);
                let key = Deterministic::Simulator(None).key(&spec).unwrap();
                let cell = ListedCell { key, run_id: label(&cell.named), machine: None, spec };
                serde_json::to_string(&Listed::Cell(Box::new(cell))).unwrap()
            })
            .collect()
    }

    fn maker(folder: &Path) -> CellMaker {
        let options = VmOptions {
            cache: Cache::at(folder.join("cache")),
            reuse_cells: true,
            silence: Duration::from_secs(60),
            qemu: None,
            freeze: None,
        };
        CellMaker::new(Cells { folder: folder.join("cells") }, folder.join("machines"), &options)
    }

    #[test]
    fn a_listed_cell_is_the_run_that_is_made_without_a_list() {
        let folder = tempfile::tempdir().unwrap();
        let mut maker = maker(folder.path());
        for cached in [false, true] {
            for line in lines() {
                let made = maker.take(&line, &|| false).unwrap().unwrap();
                assert_eq!((made.status, made.cached), (Some(EndStatus::Complete), cached));
                let Listed::Cell(cell) = serde_json::from_str(&line).unwrap() else { panic!() };
                let mut named = Vec::new();
                let mut sink = |bytes: &[u8], _: Option<&model::Line>| {
                    named.extend_from_slice(bytes);
                    Ok(())
                };
                let simulator = Deterministic::Simulator(Some(&maker.cells));
                let again = simulator.run(&cell.spec, "01-old-seed1", &|| false, &mut sink);
                let read = model::Run::parse(&named).unwrap();
                assert_eq!(again.unwrap().finished.as_deref(), Some(&read));
                assert_eq!(named, simulated_run(&cell.spec, "01-old-seed1").unwrap());
                let cells = &maker.cells.folder;
                assert!(cells.join(format!("{}.run.jsonl", made.key)).is_file());
            }
        }
    }

    #[test]
    fn a_cell_under_a_wrong_name_is_not_made() {
        let folder = tempfile::tempdir().unwrap();
        let mut maker = maker(folder.path());
        let line = lines()[0].replace("\"seed\":1", "\"seed\":2");
        let made = maker.take(&line, &|| false).unwrap().unwrap();
        assert_eq!(made.status, None);
        assert!(made.why.unwrap().contains("use the same thrashlab everywhere"));
        assert!(!maker.cells.folder.exists());
    }

    #[test]
    fn a_guest_without_its_machine_is_not_made() {
        let folder = tempfile::tempdir().unwrap();
        let text = PLAN.replace("mmu:machine=sparcstation1", "vm:machine=micro,kernel=deb:none");
        let text = text
            .replace("mmu.hat", "subject.thp")
            .replace("\"old\", \"new\"", "\"always\", \"never\"");
        let cell = &cells(&text)[0];
        let Some(crate::SubjectArg::Vm(request)) = &cell.subject else { panic!("no guest") };
        let (vm, _) = crate::subject_arg::vm_spec(request);
        let spec = cell.spec(SubjectSpec::Vm(Box::new(vm)), 1, 0, 0);
        let machine = Some("0".repeat(64));
        let cell = ListedCell { key: "1".repeat(64), run_id: "r".to_owned(), machine, spec };
        let line = serde_json::to_string(&Listed::Cell(Box::new(cell))).unwrap();
        let made = maker(folder.path()).take(&line, &|| false).unwrap().unwrap();
        assert_eq!(made.status, None);
        assert!(made.why.unwrap().contains("is not listed before it"));
    }

    #[test]
    fn what_measures_its_host_stays_there() {
        assert_eq!(bound_to_host(&cells(PLAN)), [""; 0]);
        let host = bound_to_host(&cells(
            "name = \"h\"\n[[factor]]\nname = \"load\"\nparameter = \"load\"\n\
             levels = [\"noload\", \"cpuload\"]",
        ));
        assert_eq!(host.len(), 1);
        assert!(host[0].starts_with("cell noload: ") && host[0].contains("ssh://"), "{host:?}");
        let kvm = bound_to_host(&cells(
            "name = \"k\"\n[base]\nsubject = \"vm:machine=micro\"\n[[factor]]\nname = \"a\"\n\
             parameter = \"subject.accel\"\nlevels = [\"tcg\", \"kvm\"]",
        ));
        assert_eq!(kvm.len(), 1);
        assert!(kvm[0].starts_with("cell kvm: ") && kvm[0].contains("accel=tcg"), "{kvm:?}");
    }

    proptest! {
        /// A damaged line makes no cell under the name of another one, and nothing falls over.
        #[test]
        fn damaged_lists_are_refused(at in 0_usize..5000, byte in 32_u8..127, cut in any::<bool>()) {
            let folder = tempfile::tempdir().unwrap();
            let mut maker = maker(folder.path());
            let mut bytes = lines().remove(0).into_bytes();
            let at = at % bytes.len();
            let original = bytes[at];
            if cut { bytes.truncate(at) } else { bytes[at] = byte }
            prop_assume!(cut || byte != original);
            let line = String::from_utf8_lossy(&bytes).into_owned();
            match maker.take(&line, &|| false) {
                Err(error) => prop_assert!(error.to_string().starts_with("no cell and no ")),
                Ok(Some(made)) if made.status.is_some() => {
                    // Only what nobody depends on was damaged: the name for people.
                    let read: Listed = serde_json::from_str(&line).unwrap();
                    let original: Listed = serde_json::from_str(&lines()[0]).unwrap();
                    let (Listed::Cell(mut read), Listed::Cell(original)) = (read, original) else {
                        panic!("a cell became a machine")
                    };
                    read.run_id.clone_from(&original.run_id);
                    read.machine.clone_from(&original.machine);
                    prop_assert_eq!(read, original);
                }
                Ok(made) => prop_assert!(made.is_none_or(|made| made.why.is_some())),
            }
        }
    }
}
