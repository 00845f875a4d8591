//! A job's description, and its spec: default parameters, and changed ones.

use model::JobSpec;

use crate::param::{Number, Param, Value};

/// A job.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    /// Name on the command line, in run files and in the documents.
    pub name: &'static str,
    /// Version of its meaning.
    pub version: u32,
    /// One line for `--help`.
    pub about: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    /// The values of a pass, with units.
    pub measures: &'static [&'static str],
}

impl Job {
    /// A parameter that can be set to a number.
    pub fn number(&self, name: &str) -> Option<&'static Number> {
        self.params.iter().find(|param| param.name == name).and_then(|param| match &param.value {
            Value::Number(number) => Some(number),
            Value::Choice(_) | Value::Text => None,
        })
    }

    /// The job with default parameters.
    pub fn spec(&self) -> JobSpec {
        let mut job = JobSpec::new(self.name, self.version);
        for param in self.params {
            let name = param.name.to_owned();
            match param.value {
                Value::Number(number) => drop(job.params.insert(name, number.default)),
                Value::Choice(names) => drop(job.choices.insert(name, names[0].to_owned())),
                Value::Text => {}
            }
        }
        job
    }

    /// Sets a parameter of a job. Fails, with the valid ones, for an unknown parameter or value.
    pub fn set(&self, job: &mut JobSpec, name: &str, value: &str) -> Result<(), String> {
        let Some(param) = self.params.iter().find(|param| param.name == name) else {
            let names: Vec<&str> = self.params.iter().map(|param| param.name).collect();
            return Err(format!("{} has no {name:?}; it has {}", self.name, names.join(", ")));
        };
        match param.value {
            Value::Number(number) => {
                let set = number.kind.parse(value)?;
                if !(number.least..=number.most).contains(&set) {
                    let [least, most] =
                        [number.least, number.most].map(|limit| number.kind.format(limit));
                    return Err(format!("{value} is not from {least} to {most}"));
                }
                job.params.insert(name.to_owned(), set);
            }
            Value::Text if value.contains('\0') => {
                return Err("a text cannot hold a NUL character".to_owned());
            }
            Value::Text => drop(job.choices.insert(name.to_owned(), value.to_owned())),
            Value::Choice(names) if names.contains(&value) => {
                job.choices.insert(name.to_owned(), value.to_owned());
            }
            Value::Choice(names) => {
                return Err(format!("{value:?} is not one of {}", names.join(", ")));
            }
        }
        Ok(())
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
                let Some(number) = job.number(param.name) else { continue };
                let text = number.kind.format(number.default);
                job.set(&mut spec, param.name, &text).unwrap();
                assert_eq!(spec.params[param.name], number.default, "{}", param.name);
            }
        }
    }
}
