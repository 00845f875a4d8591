//! `noload`: no background load; the reference of every ratio.

use std::time::Duration;

use crate::{Load, LoadVolume, Plan, Work, Workload};

pub(crate) const LOAD: Workload = Workload {
    name: "noload",
    about: "nothing in the background: the reference",
    ..Workload::new(Work::Load(Load::new(
        |_| Ok(Plan::default()),
        |_| loop {
            std::thread::sleep(Duration::from_secs(3600));
        },
        |_| LoadVolume { intended: 0, delivered: 0 },
    )))
};
