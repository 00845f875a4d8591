//! A current Debian as most users have it: systemd, control groups version 2, two CPUs, swap,
//! ordinary users. It runs in QEMU, and its root file system comes from `tools/distro-guest`.
//!
//! They take minutes, so they skip themselves in `make test` and are run by `make test-distro`.
#![cfg(target_arch = "x86_64")]
#![expect(clippy::unwrap_used, reason = "all of this is a test")]

#[path = "../../../../tests/skip.rs"]
mod skip;

mod answer;
mod conditions;
mod guest;
mod killed;
mod machine;
mod root;
mod user;
