//! `thrashlab reference`, and published results as `thrashlab show` prints them.

use render::{Block, Cell, Document, Table};
use store::reference::{ALL, Kind, Reference};

/// A published result for people: title, source, and the table (resp1 outputs in their layout).
pub(crate) fn document(reference: &Reference) -> Document<'static> {
    let block = match reference.kind {
        Kind::Resp1 => {
            reference.resp1().map(|table| Block::Verbatim(formats::resp1::printed(&table)))
        }
        Kind::Csv => reference.cells().map(|cells| Block::Table(table(&cells))),
    };
    // All embedded texts parse (checked by a test); else they are shown verbatim.
    let block = block.unwrap_or_else(|_| Block::Verbatim(reference.text.to_owned()));
    let Reference { name, title, source, .. } = reference;
    Document {
        title: format!("{name}: {title}"),
        facts: vec![("From".to_owned(), (*source).to_owned())],
        ..Document::of(vec![block])
    }
}

fn table(cells: &[Vec<&str>]) -> Table {
    let mut rows = cells.iter();
    let mut table = Table::new("", rows.next().into_iter().flatten().copied());
    for row in rows {
        table.row(row.iter().map(|text| Cell::parsed(text)));
    }
    table
}

/// All published results, a row each: name and title.
pub(crate) fn list() -> Document<'static> {
    let rows = ALL.iter().map(|reference| [reference.name, reference.title]);
    Document::of(vec![Block::Table(Table::of("", ["name", "what it shows"], rows))])
}

#[cfg(test)]
mod tests {
    use render::plain_text;
    use store::reference::find;

    use super::*;

    #[test]
    fn outputs_are_shown_in_their_own_layout() {
        let found = find("resp1/2.4.20").expect("it is published");
        let text = plain_text(&document(found));
        insta::assert_snapshot!(text, @r#"
        resp1/2.4.20: Response under seven loads, Linux 2.4.20, P-II 350 MHz, 96 MB

        From  Bill Davidsen, "Response testing on 2.6.0-test11 variants", posting, 17
              December 2003

        Starting 1 CPU run with 93 MB RAM, minimum 5 data points at 20 sec intervals
                            _____________ delay ms. ____________   ___ Ratio ___
         Test               low       high     median    average     raw    S.D.
         noload         229.901    282.459    233.232    243.299   1.000   1.000
         smallwrite     404.531   5640.602    458.907   1935.987   7.957   1.871
         largewrite     363.251  14025.380    397.479   4361.725  17.927   1.652
         cpuload        559.621    698.061    597.186    615.075   2.528   2.545
         spawnload      719.436    880.521    782.215    783.246   3.219   3.250
         8ctx-mem       583.971   8523.321    726.046   3272.639  13.451   2.827
         2ctx-mem       653.283   7927.200   1012.727   2675.856  10.998   5.837
        "#);
    }

    #[test]
    fn tables_are_shown_aligned() {
        let found = find("multics/experiment1").expect("it is published");
        let text = plain_text(&document(found));
        insta::assert_snapshot!(text, @r#"
        multics/experiment1: Mean CPU time of six scripted users, Multics 17.11 and 18.9

        From  Douglas H. Hunt, "Performance comparison of systems 17.11 and 18.9",
              Project MAC, Computer Systems Research Division, Request for Comments No.
              17, 9 May 1973

        trial  system  cpu_s
            1   17.11    128
            1    18.9    212
            2   17.11    137
            2    18.9    191
            3   17.11    131
            3    18.9    194
            4   17.11    137
        "#);
    }

    #[test]
    fn the_list_has_a_line_for_each() {
        let text = plain_text(&list());
        assert_eq!(text.lines().count(), 1 + ALL.len());
        for (line, reference) in text.lines().skip(1).zip(ALL) {
            assert!(line.starts_with(reference.name) && line.ends_with(reference.title), "{line}");
        }
    }
}
