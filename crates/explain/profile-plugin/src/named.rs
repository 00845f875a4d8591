//! The macros of the crate `model` for code that is compiled into the plugin, without `serde`.

macro_rules! named {
    (
        $(#[$about:meta])*
        pub enum $name:ident { $($(#[$of:meta])* $variant:ident = $word:literal,)* }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$of])* $variant,)* }

        impl $name {
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            pub fn named(name: &str) -> Result<Self, String> {
                let found = Self::ALL.iter().find(|value| value.name() == name);
                found.copied().ok_or_else(|| name.to_owned())
            }
        }
    };
}

// What the fields say is for `serde`.
macro_rules! described {
    (
        $(#[$about:meta])*
        pub struct $name:ident { $($(#[$of:meta])* pub $field:ident: $type:ty,)* }
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name { $(pub $field: $type,)* }
    };
}

macro_rules! counted {
    (
        $(#[$about:meta])*
        pub struct $name:ident { $($(#[$of:meta])* pub $field:ident: $type:ty,)* }
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct $name { $(pub $field: $type,)* }
    };
}

pub(crate) use {counted, described, named};
