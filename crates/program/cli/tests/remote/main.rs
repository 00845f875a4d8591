//! Subjects on another machine, as users and enemies see them: a real sshd on the loopback device,
//! whose connections are cut.
//!
//! Where there is no sshd, every test that needs one is skipped.
#![expect(clippy::unwrap_used, reason = "all of this is a test")]

#[path = "../system/left.rs"]
#[expect(dead_code, reason = "shared with the system tests")]
mod left;
#[path = "../../../../../tests/skip.rs"]
mod skip;
#[path = "../system/support.rs"]
#[expect(dead_code, reason = "shared with the system tests")]
mod support;

mod broken;
mod copied;
mod far;
mod leased;
mod measured;
mod refused;
mod server;
mod two_hosts;
