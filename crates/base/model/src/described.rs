//! Structures that descriptions are read into and that results are written from. Code that is also
//! compiled into a plugin, which has no `serde`, declares them with these macros; the plugin has
//! macros of the same names without it.

/// A structure that is read from a description, which has no other fields. Its users need `serde`.
#[macro_export]
macro_rules! described {
    (
        $(#[$about:meta])*
        pub struct $name:ident { $($(#[$of:meta])* pub $field:ident: $type:ty,)* }
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name { $($(#[$of])* pub $field: $type,)* }
    };
}

/// A structure of counts that begin at zero. Its users need `serde`.
#[macro_export]
macro_rules! counted {
    (
        $(#[$about:meta])*
        pub struct $name:ident { $($(#[$of:meta])* pub $field:ident: $type:ty,)* }
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
        pub struct $name { $($(#[$of])* pub $field: $type,)* }
    };
}
