//! From which NUMA node the pages of a mapping come.

use std::io;
use std::ops::Range;

use crate::done;
use crate::memory::Mapping;

/// What `mbind` is given as the size of a mask of 64 nodes: it reads one bit fewer than it is given
/// (`get_nodes` in the kernel's `mm/mempolicy.c`).
const MASK_BITS: libc::c_ulong = 64 + 1;

/// Where the pages of a part of a mapping come from (`mbind(2)`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// As the process has it. Without a policy of its own the kernel takes pages of the node that
    /// first touches them, and may move them later (`kernel.numa_balancing`).
    OfProcess,
    /// The node that first touches them; the kernel leaves them there, and those that are there
    /// already where they are.
    Local,
    /// This node, from 0 to 63, as far as there is one and it has free memory.
    Prefer(u32),
}

impl Mapping {
    /// Says where the pages of a part of the mapping come from that are touched from now on; those
    /// that are there already stay where they are.
    ///
    /// # Errors
    /// When the range does not begin at a page or reaches beyond the mapping, the node's
    /// number is above 63, or the kernel knows no nodes.
    pub fn place(&self, part: Range<usize>, placement: Placement) -> io::Result<()> {
        let (mode, nodes) = match placement {
            Placement::OfProcess => (libc::MPOL_DEFAULT, 0),
            Placement::Local => (libc::MPOL_LOCAL, 0),
            Placement::Prefer(node) => {
                let mask = 1_u64.checked_shl(node).filter(|mask| *mask != 0);
                let beyond = || io::Error::new(io::ErrorKind::InvalidInput, "no such node");
                (libc::MPOL_PREFERRED, mask.ok_or_else(beyond)?)
            }
        };
        let (start, length) = self.part(part)?;
        let mask: *const u64 = if nodes == 0 { std::ptr::null() } else { &raw const nodes };
        let bits = if nodes == 0 { 0 } else { MASK_BITS };
        // SAFETY: part of a live mapping, whose content stays; the mask lives across the call and
        // has as many bits as are named.
        done(unsafe {
            libc::syscall(libc::SYS_mbind, start, length, mode, mask, bits, 0) as libc::c_int
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_node_is_everywhere_and_the_65th_cannot_be_named() {
        let page = rustix::param::page_size();
        let mapping = Mapping::anonymous(2 * page).unwrap();
        let known = match mapping.place(0..page, Placement::Prefer(0)) {
            Ok(()) => true,
            // A kernel without nodes, or a sandbox that does not let anybody ask for one.
            Err(error) => {
                let code = error.raw_os_error();
                assert!([Some(libc::ENOSYS), Some(libc::EPERM)].contains(&code), "{error}");
                false
            }
        };
        // The kernel refuses a node that is not there, so it has seen the last bit of the mask.
        let last = mapping.place(0..page, Placement::Prefer(63));
        let nodes = std::fs::read_to_string("/sys/devices/system/node/possible");
        if known && nodes.is_ok_and(|nodes| nodes.trim() == "0") {
            assert_eq!(last.unwrap_err().raw_os_error(), Some(libc::EINVAL));
        }
        mapping.write(0, 3);
        assert_eq!(mapping.place(0..page, Placement::OfProcess).is_ok(), known);
        assert!(mapping.place(0..page, Placement::Prefer(64)).is_err());
        assert!(mapping.place(0..9 * page, Placement::OfProcess).is_err());
        assert_eq!(mapping.read(0), 3);
    }
}
