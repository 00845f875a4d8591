//! The functions of a guest's kernel as a file for debuggers: an ELF executable (System V ABI, "Object
//! Files") with symbols alone.

use crate::Symbols;

/// Names of sections, each at its offset.
const SECTION_NAMES: &[u8] = b"\0.text\0.symtab\0.strtab\0";
const TEXT_NAME: u32 = 1;
const SYMBOLS_NAME: u32 = 7;
const STRINGS_NAME: u32 = 15;
/// The section of code, and the one with the names of symbols.
const TEXT: u16 = 1;
const STRINGS: u32 = 3;
const SECTIONS: u16 = 5;
/// Types of sections.
const SYMBOL_TABLE: u32 = 2;
const STRING_TABLE: u32 = 3;
const WITHOUT_CONTENT: u32 = 8;
/// In memory, and executable.
const CODE_FLAGS: u64 = 2 | 4;
const HEADER_BYTES: u16 = 64;
const SECTION_BYTES: u16 = 64;
const SYMBOL_BYTES: u16 = 24;
const GLOBAL_FUNCTION: u8 = 1 << 4 | 2;

#[derive(Default)]
struct Section {
    name: u32,
    kind: u32,
    flags: u64,
    address: u64,
    offset: u64,
    size: u64,
    link: u32,
    info: u32,
    entry_bytes: u64,
}

impl Symbols {
    /// An ELF file for x86-64 with the functions, whose code is that of the machine.
    pub fn to_elf(&self) -> Vec<u8> {
        let functions: Vec<(&str, u64)> = self.functions().collect();
        let last = functions.last().map_or(0, |(_, address)| address + 1);
        let ends = functions.iter().skip(1).map(|(_, address)| *address).chain([last]);
        // The first symbol and the first name are empty.
        let (mut symbols, mut strings) = (vec![0; usize::from(SYMBOL_BYTES)], vec![0]);
        for ((name, address), end) in functions.iter().zip(ends) {
            symbols.extend((strings.len() as u32).to_le_bytes());
            symbols.extend([GLOBAL_FUNCTION, 0]);
            symbols.extend(TEXT.to_le_bytes());
            symbols.extend(address.to_le_bytes());
            symbols.extend((end - address).to_le_bytes());
            strings.extend(name.split(' ').next().unwrap_or(name).bytes());
            strings.push(0);
        }
        let first = functions.first().map_or(0, |(_, address)| *address);
        let text = Section {
            name: TEXT_NAME,
            kind: WITHOUT_CONTENT,
            flags: CODE_FLAGS,
            address: first,
            size: last - first,
            ..Section::default()
        };
        file(&text, &symbols, &strings)
    }
}

fn file(text: &Section, symbols: &[u8], strings: &[u8]) -> Vec<u8> {
    let symbols_at = u64::from(HEADER_BYTES);
    let strings_at = symbols_at + symbols.len() as u64;
    let names_at = strings_at + strings.len() as u64;
    let of_strings = |offset, content: &[u8]| Section {
        name: STRINGS_NAME,
        kind: STRING_TABLE,
        offset,
        size: content.len() as u64,
        ..Section::default()
    };
    let table = Section {
        name: SYMBOLS_NAME,
        kind: SYMBOL_TABLE,
        offset: symbols_at,
        size: symbols.len() as u64,
        link: STRINGS,
        // The first global symbol.
        info: 1,
        entry_bytes: u64::from(SYMBOL_BYTES),
        ..Section::default()
    };
    let (names, strings_section) =
        (of_strings(names_at, SECTION_NAMES), of_strings(strings_at, strings));
    let mut file = header(names_at + SECTION_NAMES.len() as u64);
    file.extend([symbols, strings, SECTION_NAMES].concat());
    for section in [&Section::default(), text, &table, &strings_section, &names] {
        section.write(&mut file);
    }
    file
}

/// The ELF header of an executable for x86-64 with its section headers at this offset.
fn header(sections_at: u64) -> Vec<u8> {
    let mut header = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x3e\0\x01\0\0\0".to_vec();
    // No entry, no segments.
    header.extend([0; 16]);
    header.extend(sections_at.to_le_bytes());
    header.extend([0; 4]);
    for number in [HEADER_BYTES, 0, 0, SECTION_BYTES, SECTIONS, SECTIONS - 1] {
        header.extend(number.to_le_bytes());
    }
    header
}

impl Section {
    fn write(&self, to: &mut Vec<u8>) {
        to.extend([self.name, self.kind].map(u32::to_le_bytes).concat());
        let numbers = [self.flags, self.address, self.offset, self.size];
        to.extend(numbers.map(u64::to_le_bytes).concat());
        to.extend([self.link, self.info].map(u32::to_le_bytes).concat());
        let alignment = u64::from(self.kind != 0);
        to.extend([alignment, self.entry_bytes].map(u64::to_le_bytes).concat());
    }
}

#[cfg(test)]
mod tests {
    use object::{Object, ObjectSymbol};

    use super::*;
    use crate::symbols::PRINTED;

    #[test]
    fn a_debugger_finds_the_functions() {
        let symbols = Symbols::parse(PRINTED.as_bytes()).unwrap();
        let elf = symbols.to_elf();
        let file = object::File::parse(&elf[..]).unwrap();
        let found: Vec<(&str, u64)> =
            file.symbols().map(|symbol| (symbol.name().unwrap(), symbol.address())).collect();
        assert_eq!(found.len(), symbols.count());
        assert_eq!(found[1], ("global", 0xffff_ffff_8100_0010));
        assert_eq!(found[5], ("scsi", 0xffff_ffff_c000_0000));
    }
}
