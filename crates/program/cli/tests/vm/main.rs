//! Guests of the deterministic machine, as users and enemies see them: real kernels in QEMU.
//!
//! They run the static program, which `make test` builds. Where there is no QEMU or no kernel
//! package, every test of a guest is skipped.
#![cfg(target_arch = "x86_64")]
#![expect(clippy::unwrap_used, reason = "all of this is a test")]

#[path = "../system/left.rs"]
mod left;
#[path = "../../../../../tests/skip.rs"]
mod skip;
#[path = "../system/support.rs"]
#[expect(dead_code, reason = "shared with the system tests")]
mod support;

mod aarch64;
mod action;
mod any_program;
mod broken;
mod busy;
mod cells;
mod commands;
mod debug;
mod disks;
mod doctor;
mod engine;
mod experiments;
mod explained;
mod freeze;
mod history;
mod inside;
mod kernels;
mod killed;
mod lab;
mod memory_clock;
mod memory_jobs;
mod profile;
mod profile_memory;
mod repeat;
mod roots;
mod session;
mod sweep;
