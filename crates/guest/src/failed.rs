//! Errors of a guest.

/// Why a guest cannot continue, with the step.
pub(crate) type Failed = String;

/// For `map_err`: names the step.
pub(crate) fn at<E: std::fmt::Display>(step: impl std::fmt::Display) -> impl FnOnce(E) -> Failed {
    move |error| format!("{step}: {error}")
}
