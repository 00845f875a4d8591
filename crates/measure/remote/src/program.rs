//! The agents for measured hosts: each is copied there once through ssh and named by its hash.

use instrument::Agent;
use model::Architecture;

const FOLDER: &str = "${XDG_CACHE_HOME:-$HOME/.cache}/thrashlab/bin";
/// Exit code of a host for which there is no agent; it is not one of ssh.
const FAILED: i32 = 65;
/// The system and the machine (`uname -sm`) of each architecture.
const MACHINES: [(&str, Architecture); 2] =
    [("Linux x86_64", Architecture::X86_64), ("Linux aarch64", Architecture::Aarch64)];

/// The agents of this build.
#[derive(Clone, Debug)]
pub(crate) struct Agents {
    /// Each with the `uname -sm` of its machines.
    agents: Vec<(&'static str, &'static Agent)>,
}

impl Agents {
    /// All that this build has.
    pub(crate) fn of_this_build() -> Self {
        let agents = MACHINES.iter().filter_map(|(machine, architecture)| {
            Agent::of(*architecture).ok().map(|agent| (*machine, agent))
        });
        Self { agents: agents.collect() }
    }

    /// The agent for a machine, as `uname -sm` printed it.
    pub(crate) fn of_machine(&self, machine: &str) -> Option<&'static Agent> {
        let (_, agent) = self.agents.iter().find(|(known, _)| *known == machine)?;
        Some(agent)
    }

    /// The machines for which there is one, for people.
    pub(crate) fn machines(&self) -> String {
        let machines: Vec<&str> = self.agents.iter().map(|(machine, _)| *machine).collect();
        machines.join(" and ")
    }

    /// The command that starts or resumes a session with the agent for its machine, for any login
    /// shell.
    pub(crate) fn attach(&self) -> String {
        let choices: String = self
            .agents
            .iter()
            .map(|(machine, agent)| format!("\"{machine}\") h={};; ", agent.hash))
            .collect();
        in_sh(&format!(
            "case \"$(uname -sm)\" in {choices}*) exit {FAILED};; esac; exec \"{FOLDER}/$h\" {} {}",
            lease::ROLE,
            lease::ATTACH
        ))
    }
}

/// The command that prints the system and the machine, on standard error.
pub(crate) fn ask_machine() -> String {
    in_sh("uname -sm >&2")
}

/// The command that installs an agent from standard input, atomically.
pub(crate) fn install(agent: &Agent) -> String {
    let (hash, size_bytes) = (agent.hash, agent.bytes.len());
    let (role, verify) = (lease::ROLE, lease::VERIFY);
    in_sh(&format!(
        "set -eu; umask 077; \
         d=\"{FOLDER}\"; mkdir -p \"$d\"; t=\"$d/.{hash}.$$\"; trap \"rm -f \\\"$t\\\"\" EXIT; \
         cat >\"$t\"; n=$(($(wc -c <\"$t\"))); \
         if [ $n -ne {size_bytes} ]; then echo \"$n bytes of {size_bytes} arrived\" >&2; exit 66; fi; \
         chmod 700 \"$t\"; \"$t\" {role} {verify} {hash}; mv -f \"$t\" \"$d/{hash}\"",
    ))
}

/// Runs a script in sh from any login shell, without single quotes, `!` or newlines.
fn in_sh(script: &str) -> String {
    format!("exec sh -c '{script}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_build_has_the_agent_for_this_machine_and_none_for_others() {
        let agents = Agents::of_this_build();
        let here = format!("Linux {}", std::env::consts::ARCH);
        assert_eq!(agents.of_machine(&here).unwrap().hash, Agent::here().unwrap().hash);
        assert!(agents.of_machine("Linux ppc64le").is_none());
        assert!(agents.machines().contains(&here));
    }

    #[test]
    fn scripts_have_nothing_that_a_login_shell_would_read() {
        let agents = Agents::of_this_build();
        let install = install(Agent::here().unwrap());
        for script in [agents.attach(), install, ask_machine()] {
            let inner = script.strip_prefix("exec sh -c '").unwrap().strip_suffix('\'').unwrap();
            assert!(!inner.contains(['\'', '!', '\n']), "{inner}");
        }
    }
}
