//! Which definition of the standard deviation the tables that resp1 printed in 2003 allow.
//!
//! Only low, median, high and average were printed. With five points, two are unknown and their
//! sum is not, so one number is free: the tests walk it over everything it can be.
//!
//! # What the published tables decide
//! The program that printed them (resp1, 2003) was not found; its manual speaks of one S.D. only
//! and not the divisor of the S.D. The raw delays were not published either, so a printed row can
//! only be tested for feasibility: with five points, low, median, high and average leave one
//! number free. The files here hold the tables and these findings.
//!
//! * The S.D. column of the manual's first table decides for the divisor n - 1: five of its seven
//!   rows are feasible with it and five points; with divisor n none is, with deviation around the
//!   median at most one. The other two rows, `smallwrite` and `largewrite`, are feasible with none
//!   of these, so they had more points ("minimum 5 data points"); with n - 1, seven will do.
//! * The S.D. ratios of the six later tables (36, one baseline to a table) do not decide. With
//!   five points to every row, n - 1 reproduces 16, n 16, deviation around the median 14 (n - 1
//!   and n). All six ratios of the table `2.6.0-test11-mm1` need n - 1 or, around the median, n.
//!   Nearly none of the tables `wli-2` and `manual-second-format` is reproduced by any; one more
//!   point in its noload row explains four of six in the latter.
//! * Undecided: how many points each row had, and whether "within" includes a point exactly one
//!   S.D. away. Given five to nine points to a row, a random search met nearly every ratio with
//!   n - 1 and with n alike.

mod deviation;
mod five_points;
mod ratios;
mod recovery;
