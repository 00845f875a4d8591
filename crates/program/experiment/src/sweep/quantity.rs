//! What can be swept: numeric parameters, and how their levels are written.

use jobs::Kind;
use model::units::{exact_duration, exact_size, parse_duration_ns, parse_size_bytes};

use crate::plan::short;
use crate::simulated::mmu_spec;
use crate::typed::{Setting, last};

/// A page, in bytes: the smallest step of memory.
const PAGE_BYTES: f64 = 4096.0;
/// The smallest step of a machine's memory, in bytes.
const MACHINE_BYTES: f64 = 1_048_576.0;
const US_NS: f64 = 1e3;
const MS_NS: f64 = 1e6;
/// Whole numbers up to this are exact.
const LARGEST: f64 = 9_007_199_254_740_992.0;

/// A parameter as a quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantity {
    /// How its values are written.
    pub form: Form,
    /// Values are multiples of it; 0 = any number.
    pub quantum: f64,
}

/// How values of a quantity are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A size such as `24M`; as a number, bytes.
    Size,
    /// A time such as `20ms`; as a number, ns.
    Duration,
    /// A whole number.
    Count,
    /// Any number.
    Number,
}

impl Quantity {
    /// The unit of its values as numbers: `bytes`, `ns`, or none.
    pub fn unit(&self) -> &'static str {
        match self.form {
            Form::Size => "bytes",
            Form::Duration => "ns",
            Form::Count | Form::Number => "",
        }
    }

    /// A value as a number in [`Quantity::unit`]. The error states what is expected instead.
    pub fn parse(&self, text: &str) -> Result<f64, String> {
        let value = match self.form {
            Form::Size => parse_size_bytes(text)? as f64,
            Form::Duration => parse_duration_ns(text)? as f64,
            Form::Count => {
                text.parse::<i64>().map_err(|_| format!("{text:?} is not a whole number"))? as f64
            }
            Form::Number => match text.parse::<f64>() {
                Ok(value) if value.is_finite() => value,
                _ => return Err(format!("{text:?} is not a number")),
            },
        };
        match value.abs() < LARGEST {
            true => Ok(value),
            false => Err(format!("{text:?} is too large")),
        }
    }

    /// A value as it is typed: [`Quantity::parse`] reads the same number from it.
    pub fn format(&self, value: f64) -> String {
        match self.form {
            Form::Size => exact_size(value.max(0.0) as u64),
            Form::Duration => exact_duration(value.max(0.0) as u64),
            Form::Count => (value as i64).to_string(),
            Form::Number => value.to_string(),
        }
    }

    /// The quantity of a parameter in a plan with these settings. The two values of `range`
    /// determine script variables. Fails for an unknown or non-numeric parameter.
    pub(crate) fn new(parameter: &str, base: &[Setting], range: [&str; 2]) -> Result<Self, String> {
        let made = |form, quantum| Ok(Self { form, quantum });
        match parameter {
            "memory" => return Self::of_subject("mem", base, parameter, range),
            "swap" => return made(Form::Size, PAGE_BYTES),
            "load.intensity" => return made(Form::Number, number_quantum(range)),
            "interval" | "warmup" | "timeout" => return made(Form::Duration, US_NS),
            "points" => return made(Form::Count, 1.0),
            _ => {}
        }
        match parameter.split_once('.') {
            Some(("subject" | "machine" | "sandbox", name)) => {
                Self::of_subject(short(name), base, parameter, range)
            }
            Some(("mmu", "memory" | "mem")) => made(Form::Size, PAGE_BYTES),
            Some(("mmu", name)) if is_count(name) => made(Form::Count, 1.0),
            Some(("sysctl", _)) => made(Form::Count, 1.0),
            Some(("session", "users")) => made(Form::Count, 1.0),
            Some(("session", "think" | "limit")) => made(Form::Duration, MS_NS),
            Some(("session", name)) if !matches!(name, "script" | "tools") => {
                let whole = range.iter().all(|end| end.parse::<i64>().is_ok());
                match whole {
                    true => made(Form::Count, 1.0),
                    false => made(Form::Number, number_quantum(range)),
                }
            }
            Some((job, name)) => {
                Self::of_job(job, name, base, range).unwrap_or_else(|| none(parameter))
            }
            None => none(parameter),
        }
    }

    fn of_subject(
        name: &str,
        base: &[Setting],
        parameter: &str,
        range: [&str; 2],
    ) -> Result<Self, String> {
        let subject = last(base, "subject").unwrap_or_default();
        let is_machine = parameter.starts_with("machine.") || subject.starts_with("vm");
        // A second disk has the same settings.
        let name = &name.replacen("disk2.", "disk.", 1);
        let (form, quantum) = match name.as_str() {
            "mem" | "kernel_mem" if is_machine && !parameter.starts_with("sandbox.") => {
                (Form::Size, MACHINE_BYTES)
            }
            "mem" | "sandbox.mem" | "kernel_mem" | "swap" | "disk.size" | "disk.rate" | "high"
            | "sandbox.high" | "max" => (Form::Size, PAGE_BYTES),
            "cpus" | "sandbox.cpus" => (Form::Number, number_quantum(range)),
            "pids" | "sandbox.pids" | "shift" | "disk.queue" | "disk.iops" | "disk.burst_iops"
            | "disk.burst_credits" => (Form::Count, 1.0),
            "disk.delay" => (Form::Duration, US_NS),
            "disk.read_delay" | "disk.write_delay" => (Form::Duration, MS_NS),
            _ if name.starts_with("sysctl.") => (Form::Count, 1.0),
            _ => return none(parameter),
        };
        Ok(Self { form, quantum })
    }

    /// A parameter of a job; `None` if there is none of this name.
    fn of_job(
        job: &str,
        name: &str,
        base: &[Setting],
        range: [&str; 2],
    ) -> Option<Result<Self, String>> {
        let desc = workloads::find_job(job)?;
        let param = desc.number(name)?;
        let (form, quantum) = match param.kind {
            // Irlam's program is a whole number of processes.
            Kind::Size if (job, name) == (jobs::VMTEST.name, "size") => {
                let process = desc.number("process_size")?;
                let text = last(base, "vmtest.process_size");
                let bytes = text.map_or(Ok(process.default), |text| process.kind.parse(text));
                match bytes {
                    Ok(bytes) => (Form::Size, bytes as f64),
                    Err(why) => return Some(Err(format!("vmtest.process_size: {why}"))),
                }
            }
            Kind::Size => (Form::Size, PAGE_BYTES.min(param.least.max(1) as f64)),
            Kind::Count => (Form::Count, 1.0),
            Kind::Time => (Form::Duration, US_NS),
            Kind::Thousandths => (Form::Number, number_quantum(range).max(0.001)),
        };
        Some(Ok(Self { form, quantum }))
    }
}

/// Whether a setting of a simulated machine is a number.
fn is_count(name: &str) -> bool {
    let usual = mmu_spec(&[]).map(|spec| spec.settings).unwrap_or_default();
    usual.get(name).is_some_and(|value| value.parse::<u64>().is_ok())
}

/// The power of ten that is at most a hundredth of the smaller end, so that levels are short; 0
/// where no end is above 0.
fn number_quantum(range: [&str; 2]) -> f64 {
    let ends = range.iter().filter_map(|end| end.parse::<f64>().ok());
    let smallest = ends.map(f64::abs).filter(|end| *end > 0.0 && end.is_finite());
    let Some(smallest) = smallest.reduce(f64::min) else { return 0.0 };
    // The text of a power of ten is the nearest number to it; a product of tens would not be.
    let digits = (smallest.log10() - 2.0).floor();
    format!("1e{digits}").parse().unwrap_or(0.0)
}

fn none(parameter: &str) -> Result<Quantity, String> {
    Err(format!(
        "{parameter} is not a number that can be swept; there are sizes, counts, times and volumes \
         such as vmtest.size, touch.footprint, sandbox.memory, load.intensity, session.users"
    ))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(parameter: &str) -> Quantity {
        Quantity::new(parameter, &[], ["1", "2"]).unwrap()
    }

    #[test]
    fn every_kind_of_number_can_be_swept_and_nothing_else() {
        for (parameter, form, quantum) in [
            ("vmtest.size", Form::Size, 2_097_152.0),
            ("touch.footprint", Form::Size, 4096.0),
            ("touch.step", Form::Size, 8.0),
            ("touch.processes", Form::Count, 1.0),
            ("touch.skew", Form::Number, 0.01),
            ("touch.think", Form::Duration, 1e3),
            ("sandbox.memory", Form::Size, 4096.0),
            ("machine.memory", Form::Size, 1_048_576.0),
            ("subject.disk.delay", Form::Duration, 1e3),
            ("subject.disk2.queue", Form::Count, 1.0),
            ("sysctl.vm.swappiness", Form::Count, 1.0),
            ("load.intensity", Form::Number, 0.01),
            ("session.users", Form::Count, 1.0),
            ("session.cost", Form::Count, 1.0),
            ("swap", Form::Size, 4096.0),
            ("interval", Form::Duration, 1e3),
        ] {
            assert_eq!(of(parameter), Quantity { form, quantum }, "{parameter}");
        }
        for bad in ["subject", "kernel", "touch.pages", "touch.speed", "load", "session.tools", "x"]
        {
            let told = Quantity::new(bad, &[], ["1", "2"]).unwrap_err();
            assert!(told.contains(bad), "{told}");
        }
        let base = |parameter: &str, value: &str| (parameter.to_owned(), value.to_owned());
        let small = [base("vmtest.process_size", "64K")];
        let size = Quantity::new("vmtest.size", &small, ["1M", "2M"]).unwrap();
        assert_eq!(size.quantum, 65536.0);
        let guest = [base("subject", "vm:machine=micro")];
        let memory = Quantity::new("subject.mem", &guest, ["64M", "32M"]).unwrap();
        assert_eq!(memory.quantum, MACHINE_BYTES);
        assert_eq!(Quantity::new("session.cost", &[], ["1", "2.5"]).unwrap().form, Form::Number);
    }

    proptest! {
        #[test]
        fn a_level_is_read_back_from_its_text(value in 0u64..1 << 53, small in -1e6..1e6f64) {
            for form in [Form::Size, Form::Duration, Form::Count] {
                let quantity = Quantity { form, quantum: 1.0 };
                prop_assert_eq!(quantity.parse(&quantity.format(value as f64)), Ok(value as f64));
            }
            let number = Quantity { form: Form::Number, quantum: 0.0 };
            prop_assert_eq!(number.parse(&number.format(small)), Ok(small));
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".{0,20}") {
            for form in [Form::Size, Form::Duration, Form::Count, Form::Number] {
                let _ = Quantity { form, quantum: 0.0 }.parse(&text);
            }
            let _ = Quantity::new(&text, &[], ["1", &text]);
        }
    }
}
