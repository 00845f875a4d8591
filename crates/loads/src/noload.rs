//! `noload`: nothing in the background; the reference that every ratio is taken against.

use std::convert::Infallible;
use std::time::Duration;

use crate::desc::{
    Desc, Dose, Plan, Progress, Setting, Unsupported, Work, WorkError, nothing_to_finish,
    nothing_to_prepare,
};

pub(crate) const LOAD: Desc = Desc {
    name: "noload",
    version: 1,
    about: "nothing in the background: the reference",
    totals: &[],
    dose_unit: "",
    plan,
    prepare: nothing_to_prepare,
    work,
    warm,
    dose,
    finish: nothing_to_finish,
};

fn plan(_: &Setting) -> Result<Plan, Unsupported> {
    Ok(Plan::default())
}

fn work(_: &Work<'_>) -> Result<Infallible, WorkError> {
    loop {
        std::thread::sleep(Duration::from_secs(3600));
    }
}

fn warm(_: &Progress<'_>) -> bool {
    true
}

fn dose(_: &Progress<'_>) -> Dose {
    Dose { intended: 0, delivered: 0 }
}
