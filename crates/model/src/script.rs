//! What the users of a session do.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A script: commands that every user issues in an order of their own, thinking in between.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Script {
    /// Its name.
    pub name: String,
    /// Version of its meaning: results of different versions must not be compared.
    pub version: u32,
    /// How many users work at the same time.
    pub users: u32,
    /// Mean time that a user thinks before a command, in ns.
    pub think_ns: u64,
    /// Longest time that a command may take, in ns; a longer one is given up and kept as censored.
    pub limit_ns: u64,
    /// Whose programs the commands run.
    #[serde(default)]
    pub tools: Tools,
    /// Values that stand for `{name}` in the arguments of commands.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, String>,
    /// The commands; each must be possible at any time, whatever was issued before.
    pub commands: Vec<Command>,
}

impl Script {
    /// Longest time of one pass, in ns: thoughts of 1.5 times the mean, commands of the limit.
    pub fn longest_pass_ns(&self) -> u64 {
        let thought_ns = self.think_ns.saturating_add(self.think_ns / 2);
        let command_ns = thought_ns.saturating_add(self.limit_ns);
        command_ns.saturating_mul(self.commands.len() as u64)
    }

    /// How many commands the first passes of all users have.
    pub fn first_passes(&self) -> u64 {
        u64::from(self.users) * self.commands.len() as u64
    }
}

named! {
    /// Whose programs the commands of a script run.
    #[derive(Default)]
    pub enum Tools {
        /// The subject's if it has all of them, else our own wherever there is one.
        #[default]
        Auto = "auto",
        /// Those of the subject.
        System = "system",
        /// Our own wherever there is one.
        Builtin = "builtin",
    }
}

/// A command of a script: arguments without a shell in between.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// Its name in tables.
    pub name: String,
    /// A program of the subject and its arguments; empty = there is only our own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub run: Vec<String>,
    /// Our own program for the same purpose and its arguments; empty = there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub builtin: Vec<String>,
}
