//! Curves side by side.

use analysis::sweep::{Curve, Grid, Point, Settings};
use stats::Shape;

#[test]
fn curves_of_other_levels_become_one_map_with_a_shape_a_row() {
    let curve = |levels: &[f64], knee: f64| Curve {
        parameter: "vmtest.process_size".to_owned(),
        level_unit: "MB".to_owned(),
        cost_unit: "ns".to_owned(),
        points: levels
            .iter()
            .map(|level| {
                let cost = if *level < knee { 10.0 } else { 50.0 };
                Point { level: *level, cost: Some(cost), ..Point::default() }
            })
            .collect(),
        ..Curve::default()
    };
    let curves = [
        ("10/s".to_owned(), curve(&[2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0], 10.0)),
        ("40/s".to_owned(), curve(&[2.0, 4.0, 6.0, 8.0, 16.0, 32.0], 1e9)),
    ];
    let grid = Grid::new("vmtest.switch_rate", &curves, &Settings::default());
    assert_eq!(grid.columns, [2.0, 4.0, 6.0, 8.0, 16.0, 32.0, 64.0, 128.0]);
    assert_eq!(grid.rows[0].costs[2], None);
    assert_eq!(grid.rows[0].costs[4], Some(50.0));
    assert_eq!(grid.rows[1].costs[7], None);
    let Shape::Knee(knee) = &grid.rows[0].shape else { panic!("{:?}", grid.rows[0]) };
    assert_eq!((knee.capacity, knee.beyond), (8.0, 16.0));
    assert!(matches!(grid.rows[1].shape, Shape::NoKnee(_)));
    let (row, column) = (&grid.row_parameter, &grid.column_parameter);
    assert_eq!((row.as_str(), column.as_str()), ("vmtest.switch_rate", "vmtest.process_size"));
}
