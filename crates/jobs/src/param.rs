//! What of a job can be set: numbers with their limits, and choices among named things.

use model::JobSpec;
use model::units::{parse_duration_ns, parse_size_bytes};

use crate::Desc;

/// How the value of a parameter is written and kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A size such as `2M`, kept in bytes.
    Size,
    /// A number.
    Count,
    /// A time such as `100ms`, kept in ns.
    Time,
    /// A fraction such as `0.99`, kept in thousandths.
    Thousandths,
}

/// A number that a job can be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param {
    /// Its name.
    pub name: &'static str,
    /// How it is written.
    pub kind: Kind,
    /// Its value if none is given.
    pub default: u64,
    /// The smallest that is allowed.
    pub least: u64,
    /// The largest that is allowed.
    pub most: u64,
    /// One line for `--help` and documents.
    pub about: &'static str,
}

/// A choice among named things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Its name.
    pub name: &'static str,
    /// What there is; the first one is taken if nothing is said.
    pub of: &'static [&'static str],
    /// One line for `--help` and documents.
    pub about: &'static str,
}

impl Kind {
    /// Reads a value.
    ///
    /// # Errors
    /// When the text is not of this kind, with what is expected.
    pub fn parse(self, text: &str) -> Result<u64, String> {
        match self {
            Self::Size => parse_size_bytes(text).map_err(|error| error.to_string()),
            Self::Time => parse_duration_ns(text).map_err(|error| error.to_string()),
            Self::Count => text.parse().map_err(|_| format!("{text:?} is not a whole number")),
            Self::Thousandths => match text.parse::<f64>() {
                Ok(value) if value.is_finite() && (0.0..1e12).contains(&value) => {
                    Ok((value * 1000.0).round() as u64)
                }
                _ => Err(format!("{text:?} is not a number such as 0.99")),
            },
        }
    }

    /// A value as it would be typed.
    #[must_use]
    pub fn format(self, value: u64) -> String {
        match self {
            Self::Size => model::units::format_size(value),
            Self::Time => model::units::format_duration(value),
            Self::Count => value.to_string(),
            Self::Thousandths => format!("{}", value as f64 / 1000.0),
        }
    }
}

impl Desc {
    /// The job with all its parameters at their defaults.
    #[must_use]
    pub fn spec(&self) -> JobSpec {
        let owned = |text: &str| text.to_owned();
        JobSpec {
            name: owned(self.name),
            version: self.version,
            params: self.params.iter().map(|param| (owned(param.name), param.default)).collect(),
            choices: self
                .choices
                .iter()
                .filter_map(|choice| Some((owned(choice.name), owned(choice.of.first()?))))
                .collect(),
            script: None,
        }
    }

    /// Sets a parameter or choice of a job of this kind.
    ///
    /// # Errors
    /// When there is no such parameter, or the value is none of its own, with what there is.
    pub fn set(&self, job: &mut JobSpec, name: &str, value: &str) -> Result<(), String> {
        if let Some(param) = self.params.iter().find(|param| param.name == name) {
            let number = param.kind.parse(value)?;
            if !(param.least..=param.most).contains(&number) {
                let (least, most) = (param.kind.format(param.least), param.kind.format(param.most));
                return Err(format!("{value} is not from {least} to {most}"));
            }
            job.params.insert(name.to_owned(), number);
            return Ok(());
        }
        if let Some(choice) = self.choices.iter().find(|choice| choice.name == name) {
            if !choice.of.contains(&value) {
                return Err(format!("{value:?} is none of {}", choice.of.join(", ")));
            }
            job.choices.insert(name.to_owned(), value.to_owned());
            return Ok(());
        }
        let params = self.params.iter().map(|param| param.name);
        let names: Vec<&str> =
            params.chain(self.choices.iter().map(|choice| choice.name)).collect();
        Err(format!("{} has no {name:?}; it has {}", self.name, names.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use crate::{TOUCH, VMTEST};

    #[test]
    fn what_is_set_stands_in_the_job_and_nothing_else_is_taken() {
        let mut job = TOUCH.spec();
        TOUCH.set(&mut job, "footprint", "3M").unwrap();
        TOUCH.set(&mut job, "skew", "0.5").unwrap();
        TOUCH.set(&mut job, "pattern", "chase").unwrap();
        assert_eq!((job.params["footprint"], job.params["skew"]), (3 << 20, 500));
        assert_eq!(job.choices["pattern"], "chase");
        for (name, value) in
            [("footprint", "x"), ("footprint", "1"), ("pattern", "zigzag"), ("colour", "red")]
        {
            assert!(TOUCH.set(&mut job, name, value).is_err(), "{name}");
        }
    }

    #[test]
    fn every_default_is_within_its_limits_and_is_read_back() {
        for job in [VMTEST, TOUCH] {
            let mut spec = job.spec();
            for param in job.params {
                let text = param.kind.format(param.default);
                job.set(&mut spec, param.name, &text).unwrap();
                assert_eq!(spec.params[param.name], param.default, "{}", param.name);
            }
        }
    }
}
