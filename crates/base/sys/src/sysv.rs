//! SysV message queues, the token ring of the context-switching loads, and shared memory segments.

use std::io;

use crate::memory::Mapping;

/// A SysV message queue, known by its key, until [`MessageQueue::remove`].
#[derive(Clone, Copy, Debug)]
pub struct MessageQueue {
    id: libc::c_int,
}

/// A message: its type selects the receiver, its body is one word.
#[repr(C)]
struct Message {
    kind: libc::c_long,
    body: u64,
}

impl MessageQueue {
    /// Makes a queue for this user under a key. Fails when it is in use, or no more are allowed.
    pub fn create(key: i32) -> io::Result<Self> {
        Self::get(key, libc::IPC_CREAT | libc::IPC_EXCL | 0o600)
    }

    /// Opens the queue that exists under a key, if there is one of ours.
    pub fn open(key: i32) -> io::Result<Self> {
        Self::get(key, 0o600)
    }

    fn get(key: i32, flags: libc::c_int) -> io::Result<Self> {
        // SAFETY: takes two integers.
        let id = unsafe { libc::msgget(key, flags) };
        if id < 0 { Err(io::Error::last_os_error()) } else { Ok(Self { id }) }
    }

    /// Sends a word to the receiver `kind` (from 1); waits for room. Fails when the queue is gone or
    /// the kind is not positive.
    pub fn send(&self, kind: i32, body: u64) -> io::Result<()> {
        let message = Message { kind: libc::c_long::from(kind), body };
        let from = (&raw const message).cast();
        // SAFETY: `message` begins with the long of msgsnd, and the size is that of the body.
        crate::done_in_the_end(|| unsafe { libc::msgsnd(self.id, from, size_of::<u64>(), 0) })
    }

    /// Waits for a word sent to the receiver `kind` (from 1). Fails when the queue was removed.
    pub fn receive(&self, kind: i32) -> io::Result<u64> {
        let mut message = Message { kind: 0, body: 0 };
        let (to, kind) = ((&raw mut message).cast(), libc::c_long::from(kind));
        crate::done_in_the_end(|| {
            // SAFETY: `message` has room for the long and a body of exactly this size.
            let got = unsafe { libc::msgrcv(self.id, to, size_of::<u64>(), kind, 0) };
            if got < 0 { -1 } else { 0 }
        })?;
        Ok(message.body)
    }

    /// Removes the queue; waiting processes get an error. Fails when it is gone or another user's.
    pub fn remove(&self) -> io::Result<()> {
        // SAFETY: IPC_RMID takes no buffer.
        crate::done(unsafe { libc::msgctl(self.id, libc::IPC_RMID, std::ptr::null_mut()) })
    }
}

/// A SysV shared memory segment, known by its key, until [`SharedSegment::remove`].
#[derive(Clone, Copy, Debug)]
pub struct SharedSegment {
    id: libc::c_int,
    size_bytes: usize,
}

impl SharedSegment {
    /// Creates a segment under an unused key, for this user only, without reserving swap; with
    /// `huge` of whole reserved huge pages (`SHM_HUGETLB`). Fails when the key is in use, the size
    /// exceeds `kernel.shmmax` or `kernel.shmall`, or huge pages or SysV IPC are missing.
    pub fn create(key: i32, size_bytes: usize, huge: bool) -> io::Result<Self> {
        let pages = if huge { libc::SHM_HUGETLB } else { 0 };
        let flags = libc::IPC_CREAT | libc::IPC_EXCL | libc::SHM_NORESERVE | pages | 0o600;
        Self::get(key, size_bytes, flags)
    }

    /// Opens the segment of a key in order to remove it. Fails without one, or for another user's.
    pub fn open(key: i32) -> io::Result<Self> {
        Self::get(key, 0, 0o600)
    }

    fn get(key: i32, size_bytes: usize, flags: libc::c_int) -> io::Result<Self> {
        // SAFETY: takes three integers.
        let id = unsafe { libc::shmget(key, size_bytes, flags) };
        if id < 0 { Err(io::Error::last_os_error()) } else { Ok(Self { id, size_bytes }) }
    }

    /// Maps the segment; children forked later share it. Fails when it is gone or does not fit.
    pub fn attach(&self) -> io::Result<Mapping> {
        // SAFETY: at an address of the kernel's choice it overlaps no memory that Rust knows.
        let start = unsafe { libc::shmat(self.id, std::ptr::null(), 0) };
        if start as isize == -1 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has mapped the segment, readable and writable, at `start`, and only
        // here; unmapping all of it detaches it.
        unsafe { Mapping::from_raw(start, self.size_bytes) }
    }

    /// Removes the segment at its last detach. Fails when it does not exist or is not ours.
    pub fn remove(&self) -> io::Result<()> {
        // SAFETY: IPC_RMID takes no buffer.
        crate::done(unsafe { libc::shmctl(self.id, libc::IPC_RMID, std::ptr::null_mut()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_arrive_at_their_receiver_and_removal_is_final() {
        let key = 0x7417_0000 | (std::process::id() as i32 & 0xffff);
        let Ok(queue) = MessageQueue::create(key) else { panic!("no SysV message queue") };
        assert!(MessageQueue::create(key).is_err(), "a key in use is refused");
        queue.send(2, 22).unwrap();
        queue.send(1, 11).unwrap();
        assert_eq!(queue.receive(1).unwrap(), 11);
        assert_eq!(MessageQueue::open(key).unwrap().receive(2).unwrap(), 22);
        assert!(queue.send(0, 1).is_err());
        queue.remove().unwrap();
        assert!(queue.receive(1).is_err());
        assert!(MessageQueue::open(key).is_err());
    }

    #[test]
    fn a_removed_segment_stays_with_who_has_it_and_is_found_by_nobody() {
        let key = 0x7418_0000 | (std::process::id() as i32 & 0xffff);
        let segment = SharedSegment::create(key, 8192, false).unwrap();
        assert!(SharedSegment::create(key, 8192, false).is_err(), "a key in use is refused");
        let (one, other) = (segment.attach().unwrap(), segment.attach().unwrap());
        SharedSegment::open(key).unwrap().remove().unwrap();
        assert!(SharedSegment::open(key).is_err());
        one.write(8191, 3);
        assert_eq!(other.scan(0..8192), 3);
        drop((one, other));
        assert!(segment.attach().is_err(), "gone with the last");
    }
}
