//! Kinds that have a name in run files.

/// An enum whose variants are written by their names.
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

            /// Its name, as run files spell it.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }
        }
    };
}
