//! The name of a kernel as typed.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// A kernel by one source, or several packages that form one kernel, separated by commas: `host`,
/// `deb:NAME`, `deb:NAME=VERSION`, `deb:NAME:ARCHITECTURE`, `deb:NAME@SUITE`,
/// `/boot/vmlinuz-6.1.0-50-amd64`, `unpacked/`, `a.rpm,b.rpm`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KernelArg {
    /// In the order given; never empty.
    pub sources: Vec<KernelSource>,
}

/// One place that a kernel, or a part of it, comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum KernelSource {
    /// The kernel that is running.
    Host,
    /// A package of the Debian archives that apt is set up for, or of another suite of Debian.
    Debian {
        /// Name of the package.
        name: String,
        /// The architecture, as Debian names it; else that of this machine.
        architecture: Option<String>,
        /// The suite, such as `trixie-backports`; else those that apt is set up for.
        suite: Option<String>,
        /// Its version; else the one that apt would install.
        version: Option<String>,
    },
    /// A kernel image, a `.deb`, a `.rpm`, or a folder, whatever characters are in its path.
    Path(PathBuf),
}

impl From<KernelSource> for KernelArg {
    fn from(source: KernelSource) -> Self {
        Self { sources: vec![source] }
    }
}

impl FromStr for KernelArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let sources: Vec<_> = text.split(',').map(str::parse).collect::<Result<_, _>>()?;
        if sources.len() > 1 && sources.contains(&KernelSource::Host) {
            return Err(refused(text, "the running kernel cannot be merged with packages"));
        }
        Ok(Self { sources })
    }
}

impl fmt::Display for KernelArg {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sources: Vec<String> = self.sources.iter().map(ToString::to_string).collect();
        formatter.write_str(&sources.join(","))
    }
}

impl FromStr for KernelSource {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.is_empty() {
            return Err(refused(text, "it is empty"));
        }
        if text == "host" {
            return Ok(Self::Host);
        }
        let Some(package) = text.strip_prefix("deb:") else {
            return Ok(Self::Path(PathBuf::from(text)));
        };
        let mut words = package.splitn(2, '=');
        let (name, version) = (words.next().unwrap_or_default(), words.next());
        let (name, suite) = divided(name, '@');
        let (name, architecture) = divided(name, ':');
        if !architecture.is_none_or(|architecture| is_word(architecture, "-")) {
            return Err(refused(text, "an architecture is a word such as arm64"));
        }
        if !suite.is_none_or(|suite| is_word(suite, "-")) {
            return Err(refused(text, "a suite is a word such as trixie-backports"));
        }
        if !is_word(name, "+-.") {
            return Err(refused(text, "a package name has letters, digits, '+', '-' and '.'"));
        }
        if !version.is_none_or(|version| is_word(version, "+-.:~")) {
            return Err(refused(text, "a version has letters, digits, '+', '-', '.', ':' and '~'"));
        }
        let name = name.to_owned();
        let [architecture, suite, version] =
            [architecture, suite, version].map(|it| it.map(str::to_owned));
        Ok(Self::Debian { name, architecture, suite, version })
    }
}

impl fmt::Display for KernelSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host => formatter.write_str("host"),
            Self::Debian { name, architecture, suite, version } => {
                write!(formatter, "deb:{name}")?;
                architecture.iter().try_for_each(|it| write!(formatter, ":{it}"))?;
                suite.iter().try_for_each(|it| write!(formatter, "@{it}"))?;
                version.iter().try_for_each(|it| write!(formatter, "={it}"))
            }
            Self::Path(path) => path.display().fmt(formatter),
        }
    }
}

fn refused(text: &str, why: &str) -> String {
    format!("{text:?} names no kernel: {why}; use host, deb:NAME, a file or a folder")
}

/// What is before and after a mark.
fn divided(text: &str, mark: char) -> (&str, Option<&str>) {
    text.split_once(mark).map_or((text, None), |(before, after)| (before, Some(after)))
}

/// Whether a word starts with a letter or digit, so is neither an option nor a way out.
fn is_word(text: &str, marks: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text.chars().all(|mark| mark.is_ascii_alphanumeric() || marks.contains(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_name_sources() {
        let text = "deb:linux-image-6.12.1+deb12-amd64=6.12~1,deb:x:arm64@sid=7,a/b.rpm";
        let arg: KernelArg = text.parse().unwrap();
        assert_eq!(
            arg.sources,
            [
                KernelSource::Debian {
                    name: "linux-image-6.12.1+deb12-amd64".to_owned(),
                    architecture: None,
                    suite: None,
                    version: Some("6.12~1".to_owned()),
                },
                KernelSource::Debian {
                    name: "x".to_owned(),
                    architecture: Some("arm64".to_owned()),
                    suite: Some("sid".to_owned()),
                    version: Some("7".to_owned()),
                },
                KernelSource::Path(PathBuf::from("a/b.rpm")),
            ]
        );
        assert_eq!("host".parse::<KernelArg>().unwrap().sources, [KernelSource::Host]);
    }

    #[test]
    fn options_ways_out_and_nothing_are_refused() {
        for text in [
            "",
            "a,,b",
            "deb:",
            "deb:-o",
            "deb:../x",
            "deb:a=-b",
            "deb:a=",
            "deb:a:",
            "deb:a:b:c",
            "deb:a@",
            "deb:a@../sid",
            "deb:a@sid:arm64",
            "host,a.deb",
        ] {
            let error = text.parse::<KernelArg>().unwrap_err();
            assert!(error.contains("deb:NAME"), "{text}: {error}");
        }
    }

    proptest::proptest! {
        #[test]
        fn what_was_read_is_printed_as_it_was(text in "(deb:[a-z=0-9.:@]{0,9}|host|[a-z/,.]{0,9})") {
            if let Ok(arg) = text.parse::<KernelArg>() {
                assert_eq!(arg.to_string(), text);
            }
        }
    }
}
