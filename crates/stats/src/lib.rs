//! Estimators and intervals.
