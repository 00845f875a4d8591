//! Kinds, policies and settings whose values have names in files and on the command line.

/// An enum whose values are read and written by their names. Its users need `serde`.
#[macro_export]
macro_rules! named {
    (
        $(#[$about:meta])*
        pub enum $name:ident { $($(#[$of:meta])* $variant:ident = $word:literal,)* }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub enum $name { $($(#[$of])* #[serde(rename = $word)] $variant,)* }

        impl $name {
            /// All of them, in their order.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Its name, as files spell it.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            /// The one of a name. Fails when none has this name; lists the names that there are.
            pub fn named(name: &str) -> Result<Self, String> {
                let found = Self::ALL.iter().find(|value| value.name() == name);
                found.copied().ok_or_else(|| {
                    let names: Vec<&str> = Self::ALL.iter().map(|value| value.name()).collect();
                    format!("{name:?} is none of {}", names.join(", "))
                })
            }
        }
    };
}
