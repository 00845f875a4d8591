//! What a script in the guest answered, and the base64 in which it comes.

/// The end of a script, and all that it wrote.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Answer {
    /// Reads `CODE =STDOUT =STDERR`.
    pub(crate) fn parse(text: &str) -> Self {
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [code, stdout, stderr] = fields[..] else { panic!("no answer: {text}") };
        let text = |field: &str| String::from_utf8_lossy(&decoded(&field[1..])).into_owned();
        Self { code: code.parse().unwrap(), stdout: text(stdout), stderr: text(stderr) }
    }

    /// Fails unless it ended with this code and printed all these words on standard error.
    #[track_caller]
    pub(crate) fn expect(&self, code: i32, words: &[&str]) -> &Self {
        assert_eq!(self.code, code, "{self:#?}");
        for word in words {
            assert!(self.stderr.contains(word), "{word:?} is not in\n{}", self.stderr);
        }
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        self
    }

    /// Fails unless these words are on standard output.
    #[track_caller]
    pub(crate) fn prints(&self, words: &[&str]) -> &Self {
        for word in words {
            assert!(self.stdout.contains(word), "{word:?} is not in\n{self:#?}");
        }
        self
    }
}

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Base64 (RFC 4648).
pub(crate) fn encoded(bytes: &[u8]) -> String {
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - group.len()));
        for index in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * index)) as usize & 63];
            text.push(if index <= group.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

fn decoded(text: &str) -> Vec<u8> {
    let values = text.bytes().filter(|byte| *byte != b'=').map(|byte| {
        let position = LETTERS.iter().position(|letter| *letter == byte);
        position.expect("base64 comes from the guest") as u32
    });
    let values: Vec<u32> = values.collect();
    let mut bytes = Vec::new();
    for group in values.chunks(4) {
        let bits = group.iter().fold(0, |bits, value| bits << 6 | value) << (6 * (4 - group.len()));
        bytes.extend(&bits.to_be_bytes()[1..group.len()]);
    }
    bytes
}

#[test]
fn what_is_encoded_is_decoded() {
    assert_eq!(encoded(b"thrash"), "dGhyYXNo");
    for text in ["", "a", "ab", "abc", "\u{e4}\n"] {
        assert_eq!(decoded(&encoded(text.as_bytes())), text.as_bytes());
    }
}
