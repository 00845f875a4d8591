//! The functions of two runs that are compared.

use crate::call_stacks::{CallStacks, FunctionCounts};
use crate::profile::{Profile, Selection};

impl Profile {
    /// The part of the run that is compared with another run's in place of this one, and by what its counts
    /// are divided. Of a whole run that repeats commands these are the commands that completed, and their
    /// number, as another run may have others; else it is the part itself.
    pub fn compared(&self, selection: &Selection) -> (Selection, u64) {
        if self.responses.are_commands && matches!(selection, Selection::Run) {
            let complete = self.responses.complete();
            if !complete.is_empty() {
                let count = complete.len() as u64;
                return (Selection::Responses(complete), count);
            }
        }
        (selection.clone(), 1)
    }

    /// The functions of [`Self::compared`], each count the mean of what is divided.
    pub fn comparable_functions(&self, selection: &Selection) -> Vec<FunctionCounts> {
        let (selection, count) = self.compared(selection);
        let mut functions = self.functions(&self.select(&selection));
        for function in &mut functions {
            for sum in [&mut function.own, &mut function.with_callees, &mut function.entries] {
                *sum = (*sum + count / 2) / count;
            }
        }
        functions
    }

    /// Whether [`Self::compared`] is a mean of commands.
    pub fn is_mean(&self, selection: &Selection) -> bool {
        self.responses.are_commands && matches!(self.compared(selection).0, Selection::Responses(_))
    }
}
