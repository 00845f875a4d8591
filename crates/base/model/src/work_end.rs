//! How one issued command ended, with the evidence, and what its time shows therefore.

use crate::{Observation, Values, WorkEnd, WorkRecord};

/// How failures begin in files that have no [`WorkEnd`].
const NOT_STARTED: &str = "cannot be started: ";
const AT_LIMIT: [&str; 2] =
    ["not done within the limit", "not done when the time of the job was up"];

impl WorkRecord {
    /// How it ended. Files of older versions say so only in the words of the failure.
    pub fn end(&self) -> WorkEnd {
        if let Some(end) = &self.ended {
            return end.clone();
        }
        let failure = self.failure.as_deref().unwrap_or_default();
        let number = |before: &str| {
            let rest = failure.strip_prefix(before)?;
            rest.split(':').next()?.parse().ok()
        };
        match self.completed_ns {
            Some(_) => match number("ended by signal ") {
                Some(signal) => WorkEnd::Signalled { signal },
                None => WorkEnd::Exited { code: number("exit code ").unwrap_or(0) },
            },
            None => match failure.strip_prefix(NOT_STARTED) {
                Some(reason) => WorkEnd::NotStarted { reason: reason.to_owned() },
                None if failure.is_empty() || AT_LIMIT.contains(&failure) => WorkEnd::AtLimit,
                None => WorkEnd::EndedByUs,
            },
        }
    }

    /// Elapsed time in ns: a lower bound if it ran into its limit. `None` if it has none, because
    /// it never started, or was ended before.
    pub fn elapsed_ns(&self) -> Option<Observation> {
        let since = |end_ns: u64| end_ns.saturating_sub(self.started_ns) as f64;
        if let Some(completed_ns) = self.completed_ns {
            return Some(Observation::exact(since(completed_ns)));
        }
        let end_ns = self.censored_at_ns.unwrap_or(self.at_ns);
        (self.end() == WorkEnd::AtLimit).then(|| Observation::at_least(since(end_ns)))
    }

    /// Whether it failed. What ran into its limit did not: its time is a lower bound.
    pub fn is_failed(&self) -> bool {
        self.failure.is_some() && self.end() != WorkEnd::AtLimit
    }

    /// CPU time in user mode and in the kernel, in ns: of all its processes if they were counted,
    /// else of those that were waited for.
    pub fn cpu_ns(&self) -> Option<[u64; 2]> {
        cpu_ns(&self.usage)
    }
}

/// Usage: CPU time of all processes of a command, also of those that nobody waited for, as its
/// control group counted it.
pub const CPU_OF_ALL: [&str; 2] = ["all_user_ns", "all_system_ns"];
/// Usage: CPU time of the processes that were waited for.
pub const CPU_OF_WAITED_FOR: [&str; 2] = ["user_ns", "system_ns"];

/// The times of these two names in a usage, in ns; `None` unless it has both.
pub fn cpu_ns_of(usage: &Values, names: [&str; 2]) -> Option<[u64; 2]> {
    let [user, system] = names.map(|name| usage.get(name).copied());
    Some([user?, system?])
}

/// CPU time in user mode and in the kernel, in ns: of all processes if a usage has it, else of those
/// that were waited for.
pub fn cpu_ns(usage: &Values) -> Option<[u64; 2]> {
    cpu_ns_of(usage, CPU_OF_ALL).or_else(|| cpu_ns_of(usage, CPU_OF_WAITED_FOR))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(completed_ns: Option<u64>, failure: &str) -> WorkRecord {
        let failure = (!failure.is_empty()).then(|| failure.to_owned());
        let censored_at_ns = completed_ns.is_none().then_some(700);
        WorkRecord { completed_ns, censored_at_ns, failure, ..WorkRecord::default() }
    }

    #[test]
    fn a_lower_bound_is_of_what_ran_into_a_limit_only() {
        let late = record(None, "not done within the limit");
        assert_eq!(late.elapsed_ns(), Some(Observation::at_least(700.0)));
        assert!(!late.is_failed());
        for why in ["cannot be started: no such file", "its service ended"] {
            let ended = record(None, why);
            assert_eq!(ended.elapsed_ns(), None, "{why}");
            assert!(ended.is_failed(), "{why}");
        }
        let stopped = WorkRecord {
            ended: Some(WorkEnd::StoppedByTerminal { signal: 21 }),
            ..record(None, "not done within the limit")
        };
        assert_eq!((stopped.elapsed_ns(), stopped.is_failed()), (None, true));
    }

    #[test]
    fn older_files_say_in_words_how_a_command_ended() {
        let end = |completed_ns, failure| record(completed_ns, failure).end();
        assert_eq!(end(Some(5), ""), WorkEnd::Exited { code: 0 });
        assert_eq!(end(Some(5), "exit code 3: no luck"), WorkEnd::Exited { code: 3 });
        assert_eq!(end(Some(5), "ended by signal 9: x"), WorkEnd::Signalled { signal: 9 });
        let reason = "no such file".to_owned();
        assert_eq!(end(None, "cannot be started: no such file"), WorkEnd::NotStarted { reason });
        assert_eq!(end(None, "not done when a user died"), WorkEnd::EndedByUs);
    }

    #[test]
    fn the_time_of_all_processes_goes_before_that_of_those_waited_for() {
        let usage = [("user_ns", 1), ("system_ns", 2)];
        let mut work = record(Some(5), "");
        work.usage = usage.map(|(name, value)| (name.into(), value)).into();
        assert_eq!(work.cpu_ns(), Some([1, 2]));
        work.usage.extend(CPU_OF_ALL.map(|name| (name.into(), 9)));
        assert_eq!(work.cpu_ns(), Some([9, 9]));
    }
}
