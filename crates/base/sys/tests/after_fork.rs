//! What runs between fork and exec allocates nothing: another thread may have held the allocator's
//! lock when the process was forked, and nobody is left to give it back.
#![expect(unsafe_code, reason = "an allocator that counts")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call is handed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps the rules of this function, which are the same there.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn binding_a_child_to_its_parent_allocates_nothing_even_if_the_parent_is_dead() {
    let before = ALLOCATIONS.get();
    let outcomes =
        [sys::process::die_with_parent(u32::MAX), sys::process::die_with_parent(u32::MAX - 1)];
    let after = ALLOCATIONS.get();
    assert_eq!(after, before);
    assert!(outcomes.iter().all(Result::is_err));
}
