//! Why a guest cannot go on.

/// A guest that cannot go on; the text says at what.
pub(crate) type Failed = String;

/// A closure for `map_err` that names the step.
pub(crate) fn at<E: std::fmt::Display>(step: impl std::fmt::Display) -> impl FnOnce(E) -> Failed {
    move |error| format!("{step}: {error}")
}
