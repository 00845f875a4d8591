//! `thrashlab vm`: the deterministic machine itself, apart from measurements.

mod host_load;
mod verify;

use crate::Failure;
use crate::vm_args::{VmArgs, VmCommand};

/// Does what is asked.
pub(crate) fn vm(args: &VmArgs) -> Result<(), Failure> {
    match &args.command {
        VmCommand::Verify(args) => verify::verify(args),
    }
}
