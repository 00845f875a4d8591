//! The tools of the toy language: compile a source, link sources into a program.

use std::collections::BTreeMap;
use std::io::Write;

use super::compiler::{Object, compile as compiled};
use super::{Done, read_text, write};

pub(super) fn compile(source: &str, object: &str) -> Done {
    write(object, object_of(source)?.encode())
}

/// Links sources into one program, as `cc -o` does.
pub(super) fn link(program: &str, sources: &[String], _: &mut dyn Write) -> Done {
    let objects = sources.iter().map(|path| object_of(path)).collect::<Result<Vec<_>, _>>()?;
    write(program, linked(&objects).map_err(|reason| format!("{program}: {reason}"))?)
}

fn object_of(path: &str) -> Result<Object, String> {
    compiled(&read_text(path)?).map_err(|reason| format!("{path}: {reason}"))
}

fn linked(objects: &[Object]) -> Result<Vec<u8>, String> {
    let mut addresses: BTreeMap<&str, u32> = BTreeMap::new();
    let mut code = Vec::new();
    let mut bases = Vec::new();
    for object in objects {
        let base = code.len() as u32;
        for (name, offset) in &object.symbols {
            if addresses.insert(name, base + offset).is_some() {
                return Err(format!("{name:?} is defined in two sources"));
            }
        }
        bases.push(base);
        code.extend(&object.code);
    }
    for (object, base) in objects.iter().zip(bases) {
        for (offset, name) in &object.relocations {
            let address =
                addresses.get(name.as_str()).ok_or_else(|| format!("{name:?} is not defined"))?;
            code[(base + offset) as usize..][..4].copy_from_slice(&address.to_le_bytes());
        }
    }
    Ok(code)
}

#[cfg(test)]
mod tests {
    use super::super::compiler::compile;
    use super::*;

    #[test]
    fn calls_are_bound_across_sources_and_missing_functions_named() {
        let caller = compile("int f(int a) { return g(a); }").unwrap();
        let callee = compile("int g(int a) { return a; }").unwrap();
        let code = linked(&[caller.clone(), callee.clone()]).unwrap();
        let at = caller.relocations[0].0 as usize;
        assert_eq!(code[at..at + 4], (caller.code.len() as u32).to_le_bytes());
        assert!(linked(&[caller]).unwrap_err().contains("\"g\" is not defined"));
        assert!(linked(&[callee.clone(), callee]).unwrap_err().contains("two sources"));
    }
}
