//! What the users of a session do.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A script: commands that every user issues in their own order, with think times between.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Script {
    /// Its name.
    pub name: String,
    /// Version of its meaning; results of different versions must not be compared.
    pub version: u32,
    /// Number of concurrent users.
    pub users: u32,
    /// Mean think time before a command, in ns.
    pub think_ns: u64,
    /// Longest time of a command, in ns; a longer one is abandoned and censored.
    pub limit_ns: u64,
    /// Which programs the commands run.
    #[serde(default)]
    pub tools: Tools,
    /// Values of `{name}` in the arguments of commands.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, String>,
    /// The commands; each must be possible at any time, whatever came before.
    pub commands: Vec<Command>,
}

impl Script {
    /// Longest time of one pass, in ns: think times of 1.5 times the mean, commands of the limit.
    pub fn longest_pass_ns(&self) -> u64 {
        let thought_ns = self.think_ns.saturating_add(self.think_ns / 2);
        let command_ns = thought_ns.saturating_add(self.limit_ns);
        command_ns.saturating_mul(self.commands.len() as u64)
    }

    /// Number of commands in the first passes of all users.
    pub fn first_passes(&self) -> u64 {
        u64::from(self.users) * self.commands.len() as u64
    }
}

named! {
    /// Which programs the commands of a script run.
    #[derive(Default)]
    pub enum Tools {
        /// The subject's if it has all of them, else built-in ones where available.
        #[default]
        Auto = "auto",
        /// The subject's.
        System = "system",
        /// Built-in ones where available.
        Builtin = "builtin",
    }
}

/// A command of a script: arguments without a shell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// Its name in tables.
    pub name: String,
    /// A program of the subject and its arguments; empty = only a built-in one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub run: Vec<String>,
    /// A built-in program for the same purpose and its arguments; empty = none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub builtin: Vec<String>,
}
