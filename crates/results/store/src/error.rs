//! The error of a text that a reader refused.

use formats::Refusal;
use results::ResultsError;

pub(crate) type Result<T> = std::result::Result<T, ResultsError>;

/// Adds the name of what was read to a refusal.
pub(crate) fn refused(name: impl Into<String>) -> impl FnOnce(Refusal) -> ResultsError {
    let name = name.into();
    move |refusal| ResultsError::Refused(format!("{name}: {refusal}"))
}
