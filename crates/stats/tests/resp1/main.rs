//! Which definition of the standard deviation the tables that resp1 printed in 2003 allow.
//!
//! Only low, median, high and average were printed. With five points, two are unknown and their
//! sum is not, so one number is free: the tests walk it over everything it can be.

mod deviation;
mod five_points;
mod ratios;
mod recovery;
