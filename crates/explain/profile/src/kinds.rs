//! How a kernel function is entered, by its name.

use crate::plan::Kind;

/// The first instructions of interrupts; each has a few bytes in here.
const STUBS: [&str; 2] = ["irq_entries_start", "spurious_entries_start"];
/// What the processor enters: exceptions, interrupts, system calls.
const ENTRIES: [&str; 5] = [
    "entry_SYSCALL_64",
    "entry_SYSCALL_compat",
    "entry_SYSENTER_compat",
    "entry_INT80_compat",
    "asm_int80_emulation",
];
const ENTRY_PREFIXES: [&str; 2] = ["asm_exc_", "asm_sysvec_"];
/// Where a new task begins; kernels with the first one call a C function of the other name.
const STARTS: [&str; 2] = ["ret_from_fork_asm", "ret_from_fork"];
const SWITCH: &str = "__switch_to_asm";
/// Arguments: a task, states.
const WAKE: &str = "try_to_wake_up";
/// Argument: a task.
const NEW: &str = "wake_up_new_task";
/// What gives a task another program; older kernels have the other name.
const EXEC: [&str; 2] = ["begin_new_exec", "flush_old_exec"];
/// Argument: a mapping that was added.
const MAP: &str = "perf_event_mmap";
/// What saves all registers above its return address.
const MOVING: [&str; 2] = ["error_entry", "paranoid_entry"];
/// Labels within the entries; a jump to one stays in the entry.
const PARTS: [&str; 10] = [
    "common_interrupt_return",
    "entry_SYSCALL_64_after_hwframe",
    "entry_SYSCALL_64_safe_stack",
    "error_return",
    "native_iret",
    "native_irq_return_iret",
    "native_irq_return_ldt",
    "restore_regs_and_return_to_kernel",
    "swapgs_restore_regs_and_return_to_usermode",
    "syscall_return_via_sysret",
];
/// Trampolines of calls and returns.
const PART_PREFIXES: [&str; 5] = ["__x86_", "__SCT__", "srso_", "retbleed_", "its_"];
/// What compilers move out of the way of a function.
const COLD: &str = ".cold";
/// The least distance of the stubs of two interrupts.
pub(crate) const STUB_BYTES: u64 = 8;

/// Whether these are the stubs of interrupts, any of which is an entry.
pub(crate) fn is_stubs(name: &str) -> bool {
    STUBS.contains(&name)
}

/// How functions of a kernel are entered.
pub(crate) struct Kinds {
    start: &'static str,
}

impl Kinds {
    /// For a kernel with these functions.
    pub(crate) fn of<'a>(mut names: impl Iterator<Item = &'a str>) -> Self {
        let start = if names.any(|name| name == STARTS[0]) { STARTS[0] } else { STARTS[1] };
        Self { start }
    }

    pub(crate) fn kind(&self, name: &str) -> Kind {
        let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
        match name {
            SWITCH => Kind::Switch,
            WAKE => Kind::Wake,
            NEW => Kind::New,
            MAP => Kind::Map,
            _ if EXEC.contains(&name) => Kind::Exec,
            _ if MOVING.contains(&name) => Kind::Moving,
            _ if name == self.start => Kind::Start,
            _ if is_stubs(name) || ENTRIES.contains(&name) || begins(&ENTRY_PREFIXES) => {
                Kind::Entry
            }
            _ if PARTS.contains(&name) || begins(&PART_PREFIXES) || name.contains(COLD) => {
                Kind::Part
            }
            _ => Kind::Function,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_decide_how_functions_are_entered() {
        let kinds = Kinds::of(["a", "ret_from_fork"].into_iter());
        for (name, kind) in [
            ("asm_exc_page_fault", Kind::Entry),
            ("irq_entries_start", Kind::Entry),
            ("asm_common_interrupt", Kind::Function),
            ("asm_load_gs_index", Kind::Function),
            ("entry_SYSCALL_64_after_hwframe", Kind::Part),
            ("ret_from_fork", Kind::Start),
            ("__switch_to_asm", Kind::Switch),
            ("try_to_wake_up", Kind::Wake),
            ("wake_up_new_task", Kind::New),
            ("begin_new_exec", Kind::Exec),
            ("perf_event_mmap", Kind::Map),
            ("error_entry", Kind::Moving),
            ("do_fault.cold", Kind::Part),
            ("__x86_return_thunk", Kind::Part),
            ("shrink_node", Kind::Function),
        ] {
            assert_eq!(kinds.kind(name), kind, "{name}");
        }
        let newer = Kinds::of(["ret_from_fork_asm"].into_iter());
        assert_eq!(newer.kind("ret_from_fork"), Kind::Function);
    }
}
