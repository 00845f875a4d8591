//! Names of loads and probes as they are typed.

use experiment::known_name;

pub(crate) fn load_name(text: &str) -> Result<String, String> {
    known_name(text, "load", workloads::loads_and_provocations().map(|load| load.name))
}

pub(crate) fn probe_name(text: &str) -> Result<String, String> {
    known_name(text, "probe", workloads::probes().map(|probe| probe.name))
}
