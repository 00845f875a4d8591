//! Switching a swap area on and off (needs the privilege to administer the system).

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Switches swapping to a prepared file or device on. Fails without the privilege, or when the area
/// has no swap header or has holes.
pub fn swap_on(path: &Path) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: `path` is a NUL-terminated string that outlives the call.
    crate::done(unsafe { libc::swapon(path.as_ptr(), 0) })
}

/// Switches swapping off; what lies in the area is read back first, which can take long. A signal
/// does not end it half done. Fails without the privilege, when the area is not in use, or when
/// memory is too small for its pages.
pub fn swap_off(path: &Path) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: `path` is a NUL-terminated string that outlives the call.
    crate::done_in_the_end(|| unsafe { libc::swapoff(path.as_ptr()) })
}
