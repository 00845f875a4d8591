//! What is where in the address spaces of programs: their functions, and the files that have these.

use std::collections::HashMap;

use crate::records::{FIRST_USER_FUNCTION, Mapping};

/// Beyond these nothing is recorded any more, and the file says so.
const MOST_FUNCTIONS: usize = 16 << 20;
const MOST_MAPPINGS: usize = 4 << 20;

/// A part of a file in an address space, as it is read from the guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mapped {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) offset: u64,
    /// The path of the file in its file system.
    pub(crate) path: Vec<u8>,
}

/// All of them.
#[derive(Default)]
pub(crate) struct Spaces {
    /// Program and address of each function of user code.
    pub(crate) functions: Vec<(u32, u64)>,
    numbers: HashMap<(u32, u64), u32>,
    pub(crate) mappings: Vec<Mapping>,
    pub(crate) paths: Vec<Vec<u8>>,
    path_numbers: HashMap<Vec<u8>, u32>,
    pub(crate) is_full: bool,
}

impl Spaces {
    /// The number of a function.
    pub(crate) fn function(&mut self, program: u32, address: u64) -> u32 {
        let functions = &mut self.functions;
        let is_full = functions.len() == MOST_FUNCTIONS;
        let number = *self.numbers.entry((program, address)).or_insert_with(|| {
            if !is_full {
                functions.push((program, address));
            }
            functions.len() as u32 - 1
        });
        self.is_full |= is_full;
        FIRST_USER_FUNCTION + number
    }

    /// A part of a file was added to a program.
    pub(crate) fn map(&mut self, program: u32, mapped: Mapped) {
        self.is_full |= self.mappings.len() == MOST_MAPPINGS;
        if !self.is_full {
            let Mapped { start, end, offset, path } = mapped;
            let path = self.path_number(path);
            self.mappings.push(Mapping { program, path, start, end, offset });
        }
    }

    fn path_number(&mut self, path: Vec<u8>) -> u32 {
        let paths = &mut self.paths;
        *self.path_numbers.entry(path).or_insert_with_key(|path| {
            paths.push(path.clone());
            paths.len() as u32 - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_and_paths_have_one_number_each() {
        let mut spaces = Spaces::default();
        assert_eq!(spaces.function(1, 16), FIRST_USER_FUNCTION);
        assert_eq!(spaces.function(2, 16), FIRST_USER_FUNCTION + 1);
        assert_eq!(spaces.function(1, 16), FIRST_USER_FUNCTION);
        let mapped = Mapped { start: 0, end: 32, offset: 4096, path: b"/bin/true".to_vec() };
        spaces.map(1, mapped.clone());
        spaces.map(2, mapped);
        let paths: Vec<u32> = spaces.mappings.iter().map(|it| it.path).collect();
        assert_eq!((paths, spaces.paths.len()), (vec![0, 0], 1));
    }
}
