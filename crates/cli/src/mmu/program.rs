//! A simulated program as typed: `vmtest`, `vmtest:24M`, `vmtest:process_size=4M,loops=100`.

use std::path::Path;
use std::str::FromStr;

use model::{JobSpec, Measure};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProgramText {
    pub(super) name: String,
    /// The parameter that is its size.
    pub(super) size: &'static str,
    pub(super) settings: Vec<(String, String)>,
}

/// What a bare value sets.
const SIZES: [(&str, &str); 2] = [("vmtest", "size"), ("touch", "footprint")];

impl FromStr for ProgramText {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, settings) = text.split_once(':').unwrap_or((text, ""));
        let Some((_, size)) = SIZES.iter().find(|(known, _)| *known == name) else {
            let names: Vec<&str> = SIZES.iter().map(|(name, _)| *name).collect();
            return Err(format!(
                "no program is named {name:?}; there are {}, such as vmtest:24M",
                names.join(", ")
            ));
        };
        let setting = |part: &str| match part.split_once('=') {
            Some((name, value)) => (name.to_owned(), value.to_owned()),
            None => ((*size).to_owned(), part.to_owned()),
        };
        let parts = settings.split(',').filter(|part| !part.is_empty());
        Ok(Self { name: name.to_owned(), size, settings: parts.map(setting).collect() })
    }
}

impl ProgramText {
    pub(super) fn has(&self, name: &str) -> bool {
        workloads::find_job(&self.name)
            .is_some_and(|job| job.params.iter().any(|param| param.name == name))
    }

    pub(super) fn job(&self, further: &[(String, String)]) -> Result<JobSpec, String> {
        let settings: Vec<(String, String)> =
            self.settings.iter().chain(further).cloned().collect();
        match experiment::job(&self.name, &settings, Path::new(""))? {
            Measure::Job(job) => Ok(*job),
            Measure::Probe(probe) => Err(format!("{} is no program", probe.name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_have_a_size_and_settings() {
        let program: ProgramText = "vmtest:24M,loops=7".parse().unwrap();
        let job = program.job(&[]).unwrap();
        assert_eq!((job.params["size"], job.params["loops"]), (24 << 20, 7));
        assert!(program.has("process_size") && !program.has("victim"));
        let job = program.job(&[("size".to_owned(), "4M".to_owned())]).unwrap();
        assert_eq!(job.params["size"], 4 << 20, "what comes later counts");
        for (text, why) in [("gzip", "vmtest"), ("", "vmtest"), ("session", "no program")] {
            assert!(text.parse::<ProgramText>().unwrap_err().contains(why), "{text}");
        }
        let odd = "vmtest:3M".parse::<ProgramText>().unwrap().job(&[]).unwrap_err();
        assert!(odd.contains("multiple"), "{odd}");
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(vmtest:|touch:)?.{0,30}") {
            if let Ok(program) = text.parse::<ProgramText>() {
                let _ = program.job(&[]);
            }
        }
    }
}
