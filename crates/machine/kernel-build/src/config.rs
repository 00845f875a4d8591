//! Configurations of kernels: what a guest needs of one, and what differs between two.

use std::collections::BTreeMap;

/// Options that no guest needs, by what they are for; they are half of what a build takes.
const UNNEEDED: &str = include_str!("unneeded.txt");
/// Options that are set instead, with their values: no debug information, no keys of the distribution,
/// an image that is soon packed, and a release that is the same for equal sources.
const FIXED: [(&str, &str); 6] = [
    ("DEBUG_INFO_NONE", "y"),
    ("SYSTEM_TRUSTED_KEYS", "\"\""),
    ("MODULE_SIG_KEY", "\"\""),
    ("LOCALVERSION_AUTO", "n"),
    ("BUILD_SALT", "\"\""),
    ("KERNEL_GZIP", "y"),
];
const PREFIX: &str = "CONFIG_";
const UNSET: &str = " is not set";
const OFF: &str = "n";

/// An option of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelOption {
    /// Its name, without `CONFIG_`.
    pub name: String,
    /// Its value as in the file; `n` where it is not set.
    pub value: String,
}

/// The options of a configuration file, in its order; other lines are comments.
pub fn read_options(text: &str) -> Vec<KernelOption> {
    let option = |line: &str| {
        let (name, value) = match line.strip_prefix("# ") {
            Some(comment) => (comment.strip_suffix(UNSET)?, OFF),
            None => line.split_once('=')?,
        };
        let name = name.strip_prefix(PREFIX)?.to_owned();
        Some(KernelOption { name, value: value.to_owned() })
    };
    text.lines().map(str::trim_end).filter_map(option).collect()
}

/// A configuration file of these options; later ones replace earlier ones of the same name.
pub(crate) fn write_options<'o>(options: impl IntoIterator<Item = &'o KernelOption>) -> String {
    let mut places = BTreeMap::new();
    let mut lines: Vec<String> = Vec::new();
    for KernelOption { name, value } in options {
        let line = match value.as_str() {
            OFF => format!("# {PREFIX}{name}{UNSET}\n"),
            value => format!("{PREFIX}{name}={value}\n"),
        };
        match places.get(name) {
            Some(place) => lines[*place] = line,
            None => {
                places.insert(name, lines.len());
                lines.push(line);
            }
        }
    }
    lines.concat()
}

/// The options of a configuration that a guest needs, with those in `more`.
pub(crate) fn needed(options: &[KernelOption], more: &[KernelOption]) -> Vec<KernelOption> {
    let off = |name: &str| KernelOption { name: name.to_owned(), value: OFF.to_owned() };
    let fixed = FIXED.map(|(name, value)| KernelOption { name: name.into(), value: value.into() });
    let unneeded = UNNEEDED.lines().map(|line| line.split('#').next().unwrap_or_default());
    let unneeded = unneeded.flat_map(str::split_whitespace).map(off);
    options.iter().cloned().chain(unneeded).chain(fixed).chain(more.iter().cloned()).collect()
}

/// The options of `after` whose values differ in `before`, in their order; what only `before` has is
/// off after it.
pub fn differences(before: &[KernelOption], after: &[KernelOption]) -> Vec<KernelOption> {
    let by_name = |options: &[KernelOption]| -> BTreeMap<String, String> {
        options.iter().map(|option| (option.name.clone(), option.value.clone())).collect()
    };
    let (old, new) = (by_name(before), by_name(after));
    let value = |values: &BTreeMap<String, String>, name: &str| {
        values.get(name).cloned().unwrap_or_else(|| OFF.to_owned())
    };
    let gone = before.iter().filter(|option| !new.contains_key(&option.name));
    let gone = gone.map(|option| KernelOption { value: OFF.to_owned(), ..option.clone() });
    let changed = after.iter().cloned().chain(gone);
    changed.filter(|option| value(&old, &option.name) != option.value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "#\n# Automatically generated\n#\nCONFIG_A=y\n# CONFIG_B is not set\n\
                        CONFIG_NAME=\"a=b\"\nCONFIG_HZ=250\n";

    #[test]
    fn options_are_read_and_written() {
        let options = read_options(TEXT);
        let named: Vec<_> =
            options.iter().map(|it| (it.name.as_str(), it.value.as_str())).collect();
        assert_eq!(named, [("A", "y"), ("B", "n"), ("NAME", "\"a=b\""), ("HZ", "250")]);
        assert_eq!(read_options(&write_options(&options)), options);
        let later = KernelOption { name: "A".to_owned(), value: "n".to_owned() };
        let text = write_options(options.iter().chain([&later]));
        assert!(text.starts_with("# CONFIG_A is not set\n# CONFIG_B"), "{text}");
    }

    #[test]
    fn differences_turn_one_configuration_into_another() {
        let before = read_options("CONFIG_A=y\nCONFIG_B=m\nCONFIG_OLD=y\n");
        let after = read_options("CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_NEW=1\n");
        let found = write_options(&differences(&before, &after));
        assert_eq!(found, "# CONFIG_B is not set\nCONFIG_NEW=1\n# CONFIG_OLD is not set\n");
        assert!(differences(&before, &before).is_empty());
        let off = read_options("CONFIG_A=y\nCONFIG_B=m\nCONFIG_OLD=y\n# CONFIG_C is not set\n");
        assert!(differences(&before, &off).is_empty(), "what is missing is off");
    }

    #[test]
    fn a_guest_needs_no_sound_and_what_is_requested_stays() {
        let options = read_options("CONFIG_SOUND=y\nCONFIG_MEMCG=y\nCONFIG_FTRACE=y\n");
        let more = [KernelOption { name: "FTRACE".to_owned(), value: "y".to_owned() }];
        let text = write_options(&needed(&options, &more));
        assert!(text.contains("# CONFIG_SOUND is not set") && text.contains("CONFIG_MEMCG=y"));
        assert!(text.contains("CONFIG_FTRACE=y\n"), "{text}");
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_and_what_was_written_is_read_the_same(
            text in "((# )?CONFIG_[A-Z]{1,3}(=[ymn0-9\"]{0,3}| is not set)?\n|.{0,20}\n){0,12}"
        ) {
            let options = read_options(&text);
            let again = read_options(&write_options(&options));
            assert!(differences(&options, &again).is_empty());
        }
    }
}
