//! `thrashlab vm`: the deterministic machine itself, apart from measurements.

mod boot;
mod host_load;
mod kernels;
mod machines;
mod shell;
mod verify;

use crate::Failure;
use crate::vm_args::{VmArgs, VmCommand};

/// Does what is asked.
pub(crate) fn vm(args: &VmArgs) -> Result<(), Failure> {
    match &args.command {
        VmCommand::Kernels(args) => kernels::kernels(args),
        VmCommand::Machines(args) => machines::machines(args),
        VmCommand::Boot(args) => boot::boot(args),
        VmCommand::Shell(args) => shell::shell(args),
        VmCommand::Verify(args) => verify::verify(args),
    }
}
