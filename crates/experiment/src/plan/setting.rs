//! A parameter with its value.

/// A parameter and its value, as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The parameter.
    pub parameter: String,
    /// The value.
    pub value: String,
}
