//! Names of loads and probes as they are typed.

pub(crate) fn load_name(text: &str) -> Result<String, String> {
    known(text, "load", workloads::loads_and_provocations().map(|load| load.name))
}

pub(crate) fn probe_name(text: &str) -> Result<String, String> {
    known(text, "probe", workloads::probes().map(|probe| probe.name))
}

pub(crate) fn known<'a>(
    text: &str,
    what: &str,
    names: impl Iterator<Item = &'a str>,
) -> Result<String, String> {
    let names: Vec<&str> = names.collect();
    if names.contains(&text) {
        return Ok(text.to_owned());
    }
    Err(format!("no {what} is named {text:?}; there are {}", names.join(", ")))
}
