//! The single values, as RFC-17 of Project MAC printed them.

use analysis::comparison::{Cell, Comparison};
use model::Observation;
use render::{Cell as TableCell, Table, format};

use super::View;

const FEW: usize = 12;
const FEW_ROWS: usize = 40;

/// Tables of few values: one per response, with a row per trial and a column per arm.
pub(super) fn trials(view: &View) -> Vec<Table> {
    let most = |cell: &Cell| cell.first.values.len().max(cell.second.values.len());
    let Comparison { cells, responses, .. } = view.comparison;
    if cells.iter().any(|cell| most(cell) > FEW) || cells.iter().all(|cell| most(cell) <= 1) {
        return Vec::new();
    }
    let tables: Vec<Table> =
        responses.keys().filter_map(|response| of_response(view, response)).collect();
    let rows: usize = tables.iter().map(|table| table.rows.len() + 1).sum();
    if rows <= FEW_ROWS { tables } else { Vec::new() }
}

/// The values of one response; `None` if there are none, or the arms have different references.
fn of_response(view: &View, response: &str) -> Option<Table> {
    let Comparison { arms, cells, responses, .. } = view.comparison;
    let unit = &responses[response].unit;
    let of_response = || cells.iter().filter(|cell| cell.response == response);
    let mut places: Vec<&Cell> = Vec::new();
    for cell in of_response() {
        match places.iter().find(|place| is_same_place(place, cell)) {
            // Pairing may leave out different reference trials for each arm.
            Some(place) if place.first.values != cell.first.values => return None,
            Some(_) => {}
            None => places.push(cell),
        }
    }
    let is_labelled = places.len() > 1;
    let mut table = Table::new("", [response.to_owned()]);
    table.head.extend(is_labelled.then(|| "trial".to_owned()));
    table.head.extend((0..arms.len()).map(|index| view.arm(index)));
    for place in &places {
        let second = |arm: usize| {
            let cell = of_response().find(|cell| cell.arm == arm && is_same_place(place, cell));
            cell.map_or(&[][..], |cell| cell.second.values.as_slice())
        };
        let first = [place.first.values.as_slice()].into_iter();
        let sides: Vec<&[Observation]> = first.chain((1..arms.len()).map(second)).collect();
        let most = sides.iter().map(|values| values.len()).max().unwrap_or(0);
        for index in 0..most {
            let value = |values: &&[Observation]| match values.get(index) {
                Some(value) => observed(Some(value), unit),
                None => TableCell::blank(),
            };
            let label = if index == 0 { label(place) } else { String::new() };
            let label = is_labelled.then(|| TableCell::from(label));
            let row = label.into_iter().chain([TableCell::from(index + 1)]);
            table.row(row.chain(sides.iter().map(value)));
        }
    }
    (!table.rows.is_empty()).then_some(table)
}

fn label(place: &Cell) -> String {
    let label = place.label();
    let is_whole = label.is_empty() || place.part.is_none() && place.levels.is_empty();
    if is_whole { "whole".to_owned() } else { label }
}

fn is_same_place(first: &Cell, second: &Cell) -> bool {
    first.levels == second.levels && first.part == second.part
}

pub(super) fn observed(value: Option<&Observation>, unit: &str) -> TableCell {
    match value {
        None => TableCell::absent(),
        Some(value) if unit == "ns" => TableCell::Duration(*value),
        Some(it) => TableCell::Figure(format!("{}{}", it.mark(), format::number(it.value))),
    }
}
