//! A measured value that may be a lower bound only.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// One measurement: a value or its lower bound, so that the reader must decide what a bound means.
///
/// In JSON a value is a number, and a bound an object: `{"at_least": 2.5}`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// The value, or the bound, in the unit of its response.
    pub value: f64,
    /// Whether the true value may be larger.
    pub is_lower_bound: bool,
}

impl Observation {
    /// A value that was measured to its end.
    pub const fn exact(value: f64) -> Self {
        Self { value, is_lower_bound: false }
    }

    /// What stands before the value in print: `≥ ` of a lower bound, else nothing.
    pub const fn mark(&self) -> &'static str {
        if self.is_lower_bound { "≥ " } else { "" }
    }

    /// A value that is at least this.
    pub const fn at_least(value: f64) -> Self {
        Self { value, is_lower_bound: true }
    }
}

impl Serialize for Observation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !self.is_lower_bound {
            return serializer.serialize_f64(self.value);
        }
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry("at_least", &self.value)?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_a_number_and_a_bound_is_marked() {
        let both = [Observation::exact(1.5), Observation::at_least(2.5)];
        assert_eq!(serde_json::to_string(&both).unwrap(), r#"[1.5,{"at_least":2.5}]"#);
    }
}
