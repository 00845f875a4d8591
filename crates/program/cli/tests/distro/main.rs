//! A current Debian as most users have it: systemd, control groups version 2, two CPUs, swap,
//! ordinary users. It runs in QEMU, and its root file system comes from `tools/distro-guest`.
//!
//! What takes minutes skips itself in `make test` and is run by `make test-distro`;
//! `make test-aarch64` runs all of it in a guest of that architecture.
#![cfg(target_arch = "x86_64")]
#![expect(clippy::unwrap_used, reason = "all of this is a test")]

#[path = "../../../../../tests/skip.rs"]
mod skip;

mod answer;
mod architecture;
mod black_box;
mod commands;
mod conditions;
mod guest;
mod killed;
mod machine;
mod root;
mod unit;
mod user;
