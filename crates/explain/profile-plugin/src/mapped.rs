//! Mappings of programs, as the kernel describes them (`vm_area_struct`).

use crate::guest::Guest;
use crate::plan::{Field, Fields};
use crate::reference::PAGE_SHIFT;
use crate::spaces::Mapped;

/// The right to execute (`VM_EXEC`).
const EXECUTE: u64 = 4;
/// A path has at most so many names, each of at most so many bytes.
const MOST_FOLDERS: usize = 64;
const NAME_BYTES: usize = 256;

/// The mapping at an address of the kernel's, if it is a part of a file that can be executed.
pub(crate) fn read(mapping: u64, guest: &mut Guest, fields: &Fields) -> Option<Mapped> {
    let mut word = |field| guest.field(mapping, fields.offset(field)).map(u64::from_le_bytes);
    let (start, end) = (word(Field::Start)?, word(Field::End)?);
    let (page, file) = (word(Field::Page)?, word(Field::File)?);
    if file == 0 || word(Field::Rights)? & EXECUTE == 0 {
        return None;
    }
    Some(Mapped { start, end, offset: page << PAGE_SHIFT, path: path(file, guest, fields)? })
}

/// The path of a file in its file system.
fn path(file: u64, guest: &mut Guest, fields: &Fields) -> Option<Vec<u8>> {
    let mut place = u64::from_le_bytes(guest.field(file, fields.offset(Field::Place))?);
    let mut names = Vec::new();
    for _ in 0..MOST_FOLDERS {
        let folder = u64::from_le_bytes(guest.field(place, fields.offset(Field::Folder))?);
        if folder == place {
            break;
        }
        let text = u64::from_le_bytes(guest.field(place, fields.offset(Field::Text))?);
        names.push(guest.text::<NAME_BYTES>(text)?);
        place = folder;
    }
    let mut path = Vec::new();
    for name in names.iter().rev() {
        path.push(b'/');
        path.extend(name);
    }
    Some(path)
}
