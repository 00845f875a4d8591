//! What the kernel executes for whom: the areas of a profile.

use serde::{Deserialize, Serialize};

use crate::plan::Kind;

/// On whose behalf an instruction is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Area {
    /// Programs.
    User,
    /// System calls.
    SystemCall,
    /// Page faults and other exceptions.
    Exception,
    /// Interrupts, and what they preempt a task for.
    Interrupt,
    /// Deferred work of interrupts.
    Softirq,
    /// Kernel threads.
    Thread,
    /// A CPU without work.
    Idle,
}

impl Area {
    /// All, in the order of tables, which is that of their numbers.
    pub const ALL: [Self; 7] = [
        Self::User,
        Self::SystemCall,
        Self::Exception,
        Self::Interrupt,
        Self::Softirq,
        Self::Thread,
        Self::Idle,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user code",
            Self::SystemCall => "system calls",
            Self::Exception => "page faults and exceptions",
            Self::Interrupt => "interrupts",
            Self::Softirq => "softirqs",
            Self::Thread => "kernel threads",
            Self::Idle => "idle",
        }
    }

    /// Its number in a plan; 0 is that of the caller.
    pub(crate) fn number(self) -> u8 {
        self as u8 + 1
    }

    /// The area with this number in a plan.
    pub(crate) fn of_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number).checked_sub(1)?).copied()
    }

    /// The area that begins with a function; `None` if it belongs to its caller's.
    pub(crate) fn of(name: &str, kind: Option<Kind>) -> Option<Self> {
        match name {
            "__do_softirq" | "handle_softirqs" => Some(Self::Softirq),
            "do_idle" | "cpu_startup_entry" => Some(Self::Idle),
            "asm_common_interrupt" | "asm_spurious_interrupt" => Some(Self::Interrupt),
            _ if kind != Some(Kind::Entry) => None,
            _ if name.starts_with("asm_exc_") => Some(Self::Exception),
            _ if name.starts_with("entry_") || name.starts_with("asm_int80") => {
                Some(Self::SystemCall)
            }
            _ => Some(Self::Interrupt),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{AREAS, OF_CALLER, SYSTEM_CALL_AREA, THREAD_AREA, USER_AREA};

    #[test]
    fn the_plugin_knows_the_areas_by_number() {
        for (area, number) in [
            (Area::User, USER_AREA),
            (Area::SystemCall, SYSTEM_CALL_AREA),
            (Area::Thread, THREAD_AREA),
            (Area::Idle, AREAS as u8 - 1),
        ] {
            assert_eq!(area.number(), number);
            assert_eq!(Area::of_number(number), Some(area));
        }
        assert_eq!((Area::of_number(OF_CALLER), Area::of_number(AREAS as u8)), (None, None));
    }
}
