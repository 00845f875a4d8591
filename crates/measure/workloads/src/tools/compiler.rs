//! A compiler of the toy language, a subset of C with `int` only, into code of a stack machine.

use std::collections::BTreeMap;

/// Deepest nesting of statements and expressions.
const DEEPEST: usize = 200;

/// Instructions; operands of four bytes follow the first six.
#[repr(u8)]
#[derive(Clone, Copy)]
enum Op {
    Push,
    Load,
    Store,
    JumpIfZero,
    Jump,
    Call,
    Add,
    Subtract,
    Multiply,
    Divide,
    Greater,
    Less,
    Return,
}

/// The operators by precedence, the lowest first.
const OPERATORS: [[(&str, Op); 2]; 3] = [
    [(">", Op::Greater), ("<", Op::Less)],
    [("+", Op::Add), ("-", Op::Subtract)],
    [("*", Op::Multiply), ("/", Op::Divide)],
];

/// A compiled source: code, definitions, and unresolved calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Object {
    pub(super) code: Vec<u8>,
    /// Offsets of functions in `code`.
    pub(super) symbols: BTreeMap<String, u32>,
    /// Offsets of operands that need the address of a function.
    pub(super) relocations: Vec<(u32, String)>,
}

impl Object {
    /// The object file: symbols, relocations and code, each preceded by its count.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = b"TOYOBJ1\n".to_vec();
        let relocations = self.relocations.iter().map(|(offset, name)| (name, offset));
        let tables = [self.symbols.iter().collect::<Vec<_>>(), relocations.collect()];
        for table in tables {
            bytes.extend((table.len() as u32).to_le_bytes());
            for (name, offset) in table {
                bytes.extend(offset.to_le_bytes());
                bytes.extend((name.len() as u32).to_le_bytes());
                bytes.extend(name.as_bytes());
            }
        }
        bytes.extend((self.code.len() as u32).to_le_bytes());
        bytes.extend(&self.code);
        bytes
    }
}

pub(super) fn compile(source: &str) -> Result<Object, String> {
    let mut compiler = Compiler {
        tokens: tokens(source)?,
        next: 0,
        depth: 0,
        locals: Vec::new(),
        object: Object::default(),
    };
    while compiler.next < compiler.tokens.len() {
        compiler.function()?;
    }
    Ok(compiler.object)
}

struct Compiler<'a> {
    /// The tokens of the source with their line numbers, from 1.
    tokens: Vec<(usize, &'a str)>,
    next: usize,
    depth: usize,
    /// The variables of this function by slot.
    locals: Vec<&'a str>,
    object: Object,
}

impl<'a> Compiler<'a> {
    fn wrong(&self, wanted: &str) -> String {
        match self.tokens.get(self.next) {
            Some((line, token)) => format!("line {line}: {wanted} expected, not {token:?}"),
            None => format!("end of the file: {wanted} expected"),
        }
    }

    fn is_next(&self, word: &str) -> bool {
        self.tokens.get(self.next).is_some_and(|(_, found)| *found == word)
    }

    fn takes(&mut self, sign: &str) -> bool {
        let found = self.is_next(sign);
        self.next += usize::from(found);
        found
    }

    fn expect(&mut self, sign: &str) -> Result<(), String> {
        if self.takes(sign) { Ok(()) } else { Err(self.wrong(sign)) }
    }

    fn name(&mut self) -> Result<&'a str, String> {
        let is_name = |word: &&str| word.starts_with(is_letter) && !WORDS.contains(word);
        let name = self.tokens.get(self.next).map(|(_, word)| *word).filter(is_name);
        self.next += usize::from(name.is_some());
        name.ok_or_else(|| self.wrong("a name"))
    }

    /// `int name(int a, int b) { … }`, or `;` instead of the body.
    fn function(&mut self) -> Result<(), String> {
        self.expect("int")?;
        let name = self.name()?;
        self.expect("(")?;
        self.locals.clear();
        if !self.takes("void") {
            loop {
                self.expect("int")?;
                let parameter = self.name()?;
                self.locals.push(parameter);
                if !self.takes(",") {
                    break;
                }
            }
        }
        self.expect(")")?;
        if self.takes(";") {
            return Ok(());
        }
        let at = self.object.code.len() as u32;
        if self.object.symbols.insert(name.to_owned(), at).is_some() {
            return Err(format!("{name:?} is defined twice"));
        }
        self.block()
    }

    fn block(&mut self) -> Result<(), String> {
        self.expect("{")?;
        while !self.takes("}") {
            self.deeper(Self::statement)?;
        }
        Ok(())
    }

    fn deeper(&mut self, part: fn(&mut Self) -> Result<(), String>) -> Result<(), String> {
        if self.depth == DEEPEST {
            return Err(self.wrong("less nesting"));
        }
        self.depth += 1;
        let done = part(self);
        self.depth -= 1;
        done
    }

    fn statement(&mut self) -> Result<(), String> {
        if self.takes("return") {
            self.deeper(Self::expression)?;
            self.emit(Op::Return);
            return self.expect(";");
        }
        if self.takes("if") {
            self.condition()?;
            let skip = self.emit_with(Op::JumpIfZero, 0);
            self.block()?;
            self.patch(skip);
            return Ok(());
        }
        if self.takes("while") {
            let top = self.object.code.len() as u32;
            self.condition()?;
            let skip = self.emit_with(Op::JumpIfZero, 0);
            self.block()?;
            self.emit_with(Op::Jump, top);
            self.patch(skip);
            return Ok(());
        }
        let is_new = self.takes("int");
        let name = self.name()?;
        if is_new {
            self.locals.push(name);
        }
        self.expect("=")?;
        self.deeper(Self::expression)?;
        let slot = self.slot(name)?;
        self.emit_with(Op::Store, slot);
        self.expect(";")
    }

    fn condition(&mut self) -> Result<(), String> {
        self.expect("(")?;
        self.deeper(Self::expression)?;
        self.expect(")")
    }

    fn expression(&mut self) -> Result<(), String> {
        self.operations(&OPERATORS)
    }

    /// Operands joined by operators of the first level; each may contain those of the other levels.
    fn operations(&mut self, levels: &[[(&str, Op); 2]]) -> Result<(), String> {
        let Some((level, tighter)) = levels.split_first() else { return self.factor() };
        self.operations(tighter)?;
        while let Some((_, op)) = level.iter().find(|(sign, _)| self.takes(sign)) {
            self.operations(tighter)?;
            self.emit(*op);
        }
        Ok(())
    }

    /// A number, a variable, a call, or an expression in parentheses.
    fn factor(&mut self) -> Result<(), String> {
        if let Some((line, word)) = self.tokens.get(self.next)
            && word.starts_with(|first: char| first.is_ascii_digit())
        {
            let number = word.parse::<i32>();
            let number = number.map_err(|_| format!("line {line}: {word:?} is not a number"))?;
            self.next += 1;
            self.emit_with(Op::Push, number as u32);
            return Ok(());
        }
        if self.is_next("(") {
            return self.condition();
        }
        let name = self.name()?;
        if !self.takes("(") {
            let slot = self.slot(name)?;
            self.emit_with(Op::Load, slot);
            return Ok(());
        }
        while !self.takes(")") {
            self.deeper(Self::expression)?;
            if !self.is_next(")") {
                self.expect(",")?;
            }
        }
        let operand = self.emit_with(Op::Call, 0);
        self.object.relocations.push((operand, name.to_owned()));
        Ok(())
    }

    fn slot(&self, name: &str) -> Result<u32, String> {
        let slot = self.locals.iter().position(|local| *local == name);
        slot.map(|slot| slot as u32)
            .ok_or_else(|| self.wrong(&format!("a variable, not {name:?},")))
    }

    fn emit(&mut self, op: Op) {
        self.object.code.push(op as u8);
    }

    /// Adds an instruction with its operand; returns the operand's offset.
    fn emit_with(&mut self, op: Op, operand: u32) -> u32 {
        self.emit(op);
        let at = self.object.code.len() as u32;
        self.object.code.extend(operand.to_le_bytes());
        at
    }

    fn patch(&mut self, operand: u32) {
        let here = (self.object.code.len() as u32).to_le_bytes();
        self.object.code[operand as usize..][..here.len()].copy_from_slice(&here);
    }
}

/// Reserved words.
const WORDS: [&str; 5] = ["int", "void", "if", "while", "return"];

fn is_letter(part: char) -> bool {
    part.is_ascii_alphabetic() || part == '_'
}

/// Splits a source into tokens with their line numbers, from 1.
fn tokens(source: &str) -> Result<Vec<(usize, &str)>, String> {
    let mut found = Vec::new();
    for (line, text) in source.lines().enumerate() {
        let mut rest = text.trim_start();
        while let Some(first) = rest.chars().next() {
            let is_part = |part: char| is_letter(part) || part.is_ascii_digit();
            let length = match first {
                first if is_part(first) => rest.find(|part| !is_part(part)).unwrap_or(rest.len()),
                first if "(){};,=+-*/<>".contains(first) => 1,
                other => return Err(format!("line {}: unexpected {other:?}", line + 1)),
            };
            let (word, behind) = rest.split_at(length);
            found.push((line + 1, word));
            rest = behind.trim_start();
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_becomes_code_with_its_calls_open() {
        let source = "int g(int a);\nint f(int a) {\n int x = a + 2;\n return g(x);\n}\n";
        let object = compile(source).unwrap();
        assert_eq!(object.symbols, [("f".to_owned(), 0)].into());
        assert_eq!(object.relocations.len(), 1);
        let [load, push, add, store, call] =
            [Op::Load, Op::Push, Op::Add, Op::Store, Op::Call].map(|op| op as u8);
        let mut expected = vec![load, 0, 0, 0, 0, push, 2, 0, 0, 0, add, store, 1, 0, 0, 0];
        expected.extend([load, 1, 0, 0, 0, call, 0, 0, 0, 0, Op::Return as u8]);
        assert_eq!(object.code, expected);
    }

    #[test]
    fn wrong_sources_are_refused_with_their_line() {
        for (source, reason) in [
            ("int f(int a) {\n return b;\n}\n", "line 2"),
            ("int f(int a) {\n a = ;\n}\n", "line 2"),
            ("int f(void) { return 1; }\nint f(void) { return 1; }", "twice"),
            ("int f(int a) {", "end of the file"),
            ("int f(int a) { a = 99999999999; }", "not a number"),
            ("# include", "unexpected"),
        ] {
            let error = compile(source).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
        let deep = format!("int f(int a) {{ a = {}1{}; }}", "(".repeat(999), ")".repeat(999));
        assert!(compile(&deep).unwrap_err().contains("nesting"));
    }
}
