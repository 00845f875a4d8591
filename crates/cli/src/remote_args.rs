//! How other machines are measured, as it is typed.

use std::path::{Path, PathBuf};

use clap::Args;
use model::units::parse_duration_ns;
use remote::RemoteOptions;

/// How a subject on another machine (`ssh://HOST`) is reached.
#[derive(Args)]
pub(crate) struct RemoteArgs {
    /// With ssh://: the ssh command with arguments, as a shell reads it [default: $THRASHLAB_SSH,
    /// else ssh]
    #[arg(long, value_name = "COMMAND")]
    ssh: Option<String>,

    /// With ssh://: wait for a host that somebody else measures
    #[arg(long)]
    wait: bool,

    /// With ssh://: how long to try when the connection broke
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = parse_duration_ns)]
    reconnect: u64,

    /// With ssh://: how long the host keeps finished runs that could not be fetched
    #[arg(long, value_name = "TIME", default_value = "1440m", value_parser = parse_duration_ns)]
    keep: u64,

    /// With ssh://: the program for the other machine, where it is of another architecture
    /// [default: this one]
    #[arg(long, value_name = "FILE")]
    remote_program: Option<PathBuf>,
}

impl RemoteArgs {
    /// The options of sessions for a purpose.
    pub(crate) fn options(&self, purpose: &Path) -> RemoteOptions {
        let named = || std::env::var("THRASHLAB_SSH").ok().filter(|command| !command.is_empty());
        RemoteOptions {
            ssh: self.ssh.clone().or_else(named).unwrap_or_else(|| "ssh".to_owned()),
            program: self.remote_program.clone(),
            wait: self.wait,
            reconnect_ns: self.reconnect,
            keep_ns: self.keep,
            purpose: purpose.to_owned(),
            work_dir: None,
            swap_bytes: None,
            freeze: None,
        }
    }
}
