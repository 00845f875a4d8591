//! Switching a swap area on and off (needs the privilege to administer the system).

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Switches swapping to an area on. Fails without privilege, header, or with holes.
pub fn swap_on(path: &Path) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: `path` is a NUL-terminated string that outlives the call.
    crate::done(unsafe { libc::swapon(path.as_ptr(), 0) })
}

/// Switches swapping off. The area is read back first, which can take long; no signal interrupts
/// it. Fails without the privilege, when it is not in use, or if memory is too small.
pub fn swap_off(path: &Path) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: `path` is a NUL-terminated string that outlives the call.
    crate::done_in_the_end(|| unsafe { libc::swapoff(path.as_ptr()) })
}
