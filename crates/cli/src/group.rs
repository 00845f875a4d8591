//! A control group that is there already, on the command line.

use std::path::PathBuf;

use clap::Args;

#[derive(Args)]
pub(crate) struct GroupArgs {
    /// A systemd unit that runs already: its control group is measured from outside
    #[arg(long, value_name = "UNIT", conflicts_with_all = ["subject", "pid", "cgroup"])]
    unit: Option<String>,

    /// Measure the control group of this process: also that of a container
    #[arg(long, value_name = "PID", conflicts_with_all = ["subject", "cgroup"])]
    pid: Option<u32>,

    /// A control group: it is there already, and is measured from outside; by its folder or its name
    /// under /sys/fs/cgroup
    #[arg(long, value_name = "PATH", conflicts_with = "subject")]
    cgroup: Option<PathBuf>,
}

impl GroupArgs {
    /// The group as a subject, if one is named.
    pub(crate) fn subject(&self) -> Option<String> {
        let path = self.cgroup.as_ref().map(|path| path.display().to_string());
        let names = [
            ("unit", self.unit.clone()),
            ("pid", self.pid.map(|it| it.to_string())),
            ("path", path),
        ];
        let named = names.into_iter().find_map(|(name, value)| Some((name, value?)));
        named.map(|(name, value)| format!("group:{name}={value}"))
    }
}
