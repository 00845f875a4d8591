//! Result files of the Phoronix Test Suite (`composite.xml`). A result is a response, and a system a
//! level. A trial has the first values of all results of a system, the next one the second values,
//! and so on: the suite repeats each test before the next one.

use std::collections::{BTreeMap, BTreeSet};

use analysis::{Dataset, Response, Trial, Values};
use model::Environment;
use roxmltree::{Document, Node, ParsingOptions};

use super::{Imported, Options, Refusal, add, measure, response, varied};

const ROOT: &str = "PhoronixTestSuite";
const SYSTEM: &str = "system";
/// Elements and attributes of a file; more are refused, so that memory stays bounded.
const MOST_NODES: u32 = 4_000_000;

/// Names of components in lists like `OS: Debian 12, Kernel: 6.1.0 (x86_64)`, and those of facts.
const COMPONENTS: [(&str, &str); 4] =
    [("Kernel", "kernel"), ("Processor", "cpu_model"), ("OS", "os"), ("Memory", "memory")];

/// Whether this is XML with the root of such a file.
pub(super) fn looks_right(text: &str) -> bool {
    text.trim_start().starts_with('<') && text.contains("<PhoronixTestSuite")
}

pub(super) fn read(text: &str, _: &Options) -> Imported {
    let limits = ParsingOptions { nodes_limit: MOST_NODES, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, limits).map_err(|error| {
        let place = error.pos();
        Refusal::cell(place.row as usize, place.col, format!("not XML: {error}"))
    })?;
    let root = document.root_element();
    if !root.has_tag_name(ROOT) {
        let name = root.tag_name().name();
        return Err(refused(root, format!("the root is <{name}>, not <{ROOT}>")));
    }
    let mut found = Found {
        set: varied([SYSTEM]),
        systems: systems(root),
        trials: BTreeMap::new(),
        counts: BTreeMap::new(),
    };
    let mut without_meaning = BTreeSet::new();
    for result in elements(root, "Result") {
        match meaning(result)? {
            Some(meaning) => found.push_result(result, meaning)?,
            None => drop(without_meaning.insert(title(result)?)),
        }
    }
    let mut set = found.set;
    if !without_meaning.is_empty() {
        set.notes.push(format!(
            "left out, without a direction (HIB or LIB): {}",
            without_meaning.into_iter().collect::<Vec<_>>().join("; ")
        ));
    }
    if set.trials.is_empty() {
        return Err(refused(root, "no <Result> has a number and a direction".to_owned()));
    }
    set.notes.push(
        "the Phoronix Test Suite repeats a test before the next one: the values of different \
         results in a trial are not of the same time"
            .to_owned(),
    );
    Ok(set)
}

/// What was read of a file.
struct Found {
    set: Dataset,
    /// Facts of the systems, by name.
    systems: BTreeMap<String, Environment>,
    /// The positions of the trials in `set`, by system in order of their values.
    trials: BTreeMap<String, Vec<usize>>,
    /// How many values a system has of a response.
    counts: BTreeMap<(String, String), usize>,
}

impl Found {
    fn push_result(&mut self, result: Node, meaning: Response) -> Result<(), Refusal> {
        let mut name = title(result)?;
        // Sensors that were read during a test share its name.
        if self.set.responses.get(&name).is_some_and(|known| *known != meaning) {
            let (unit, way) = (&meaning.unit, if meaning.more_is_better { "HIB" } else { "LIB" });
            name = format!("{name} ({unit}, {way})");
        }
        let mut has_values = false;
        for entry in elements(result, "Data").flat_map(|data| elements(data, "Entry")) {
            let only = || self.systems.keys().next().filter(|_| self.systems.len() == 1);
            let system = text_of(entry, "Identifier").or_else(|| only().map(String::as_str));
            let Some(system) = system.map(str::to_owned) else {
                self.note(format!("{name}: a value left out, it names no system"));
                continue;
            };
            match values(entry) {
                Ok((values, note)) => {
                    has_values = true;
                    for value in values {
                        self.push(&system, &name, value);
                    }
                    note.into_iter().for_each(|why| self.note(format!("{name}: {system} {why}")));
                }
                Err(why) => self.note(format!("{name}: {system} left out, {why}")),
            }
        }
        if has_values {
            self.set.responses.entry(name).or_insert(meaning);
        }
        Ok(())
    }

    /// Adds a value to the first trial of its system that has none of this response.
    fn push(&mut self, system: &str, name: &str, value: f64) {
        let trials = self.trials.entry(system.to_owned()).or_default();
        let count = self.counts.entry((system.to_owned(), name.to_owned())).or_default();
        if *count == trials.len() {
            let run = format!("{system}, run {}", trials.len() + 1);
            let trial = add(&mut self.set, run, [(SYSTEM, system.to_owned())], []);
            trial.environment = self.systems.get(system).cloned().unwrap_or_default();
            trial.meaning = measure("phoronix");
            trials.push(self.set.trials.len() - 1);
        }
        let trial: &mut Trial = &mut self.set.trials[trials[*count]];
        trial.values.push(Values::exact(None, name, &[value]));
        *count += 1;
    }

    fn note(&mut self, note: String) {
        if !self.set.notes.contains(&note) {
            self.set.notes.push(note);
        }
    }
}

/// Facts of the systems, by name.
fn systems(root: Node) -> BTreeMap<String, Environment> {
    let environment = |system: Node| {
        let mut facts = Environment::new();
        for list in ["Hardware", "Software"].iter().filter_map(|list| text_of(system, list)) {
            facts.extend(components(list));
        }
        for (element, name) in [("Notes", "notes"), ("TestClientVersion", "phoronix_test_suite")] {
            facts.extend(text_of(system, element).map(|fact| (name.to_owned(), fact.to_owned())));
        }
        Some((text_of(system, "Identifier")?.to_owned(), facts))
    };
    elements(root, "System").filter_map(environment).collect()
}

/// The facts of a list of components; a comma may also be in the value of one.
fn components(list: &str) -> Environment {
    let mut found: Vec<(&str, String)> = Vec::new();
    for piece in list.split(", ") {
        match piece.split_once(": ") {
            Some((name, value)) => found.push((name.trim(), value.trim().to_owned())),
            None => {
                if let Some((_, value)) = found.last_mut() {
                    value.push_str(", ");
                    value.push_str(piece);
                }
            }
        }
    }
    let named = |(name, value): (&str, String)| {
        let known = COMPONENTS.iter().find(|(component, _)| *component == name);
        let name = known.map_or_else(
            || name.to_lowercase().replace([' ', '-'], "_"),
            |(_, fact)| (*fact).to_owned(),
        );
        // The architecture follows the version.
        let value = match (name.as_str(), value.split_once(" (")) {
            ("kernel", Some((version, _))) => version.to_owned(),
            _ => value,
        };
        (name, value)
    };
    found.into_iter().map(named).collect()
}

/// The unit and direction of a result, if it has one.
fn meaning(result: Node) -> Result<Option<Response>, Refusal> {
    let unit = text_of(result, "Scale").unwrap_or_default();
    let more_is_better = match text_of(result, "Proportion") {
        Some("HIB") => true,
        Some("LIB") => false,
        None => return Ok(None),
        Some(other) => {
            let why = format!("<Proportion> is {other:?}; known are HIB and LIB");
            return Err(refused(result, why));
        }
    };
    Ok(Some(match unit.to_lowercase().as_str() {
        "seconds" | "second" | "sec" | "s" => response("s", more_is_better),
        "milliseconds" | "ms" => response("ms", more_is_better),
        "microseconds" | "us" | "usec" => response("us", more_is_better),
        "nanoseconds" | "ns" => response("ns", more_is_better),
        _ => response(unit, more_is_better),
    }))
}

/// The test with its version, and its options.
fn title(result: Node) -> Result<String, Refusal> {
    let test = text_of(result, "Identifier").or_else(|| text_of(result, "Title"));
    let test =
        test.ok_or_else(|| refused(result, "without <Identifier> and <Title>".to_owned()))?;
    Ok(match text_of(result, "Description") {
        Some(options) => format!("{test}: {options}"),
        None => test.to_owned(),
    })
}

/// The single values of an entry, else its only one, with a remark. The error is why it has none.
fn values(entry: Node) -> Result<(Vec<f64>, Option<&'static str>), &'static str> {
    let single = text_of(entry, "RawString").unwrap_or_default();
    let single: Option<Vec<f64>> =
        single.split(':').filter(|it| !it.trim().is_empty()).map(number).collect();
    let single = single.ok_or("one of its single values is not a number")?;
    if !single.is_empty() {
        return Ok((single, None));
    }
    let value = text_of(entry, "Value").ok_or("it has no result")?;
    let value = number(value).ok_or("its result is not one number")?;
    Ok((vec![value], Some("has no single values, its result is used as one")))
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| number.is_finite())
}

fn elements<'a, 'input>(
    of: Node<'a, 'input>,
    name: &'static str,
) -> impl Iterator<Item = Node<'a, 'input>> {
    of.children().filter(move |child| child.has_tag_name(name))
}

/// The text of the first element of this name, unless it is blank.
fn text_of<'a>(of: Node<'a, '_>, name: &str) -> Option<&'a str> {
    let element = of.children().find(|child| child.has_tag_name(name))?;
    element.text().map(str::trim).filter(|text| !text.is_empty())
}

fn refused(node: Node, why: String) -> Refusal {
    let place = node.document().text_pos_at(node.range().start);
    Refusal::cell(place.row as usize, place.col, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Imported {
        super::super::dataset("x", text, None, &Options::default())
    }

    fn file(results: &str) -> String {
        format!(
            "<?xml version=\"1.0\"?>\n<PhoronixTestSuite>\n<System><Identifier>old</Identifier>\
             <Software>OS: Debian, testing, Kernel: 6.1.0 (x86_64)</Software></System>{results}</PhoronixTestSuite>\n"
        )
    }

    fn result(proportion: &str, entries: &str) -> String {
        format!(
            "<Result><Identifier>local/pack-1.0</Identifier><Title>Pack</Title>\
             <Description>Level: 3, Threads: 2</Description><Scale>Seconds</Scale>\
             <Proportion>{proportion}</Proportion><Data>{entries}</Data></Result>"
        )
    }

    fn entry(system: &str, value: &str, single: &str) -> String {
        format!(
            "<Entry><Identifier>{system}</Identifier><Value>{value}</Value>\
             <RawString>{single}</RawString></Entry>"
        )
    }

    #[test]
    fn single_values_are_trials_of_a_system() {
        let entries = entry("old", "2", "1.5:2.5") + &entry("new", "9", "");
        let set = read_text(&file(&result("LIB", &entries))).unwrap();
        assert_eq!(set.factors[0].levels, ["old", "new"]);
        let name = "local/pack-1.0: Level: 3, Threads: 2";
        assert_eq!(set.responses[name], response("s", false));
        let values: Vec<f64> = set.trials.iter().map(|it| it.values[0].samples[0].value).collect();
        assert_eq!(values, [1.5, 2.5, 9.0]);
        let facts = &set.trials[0].environment;
        assert_eq!((&*facts["kernel"], &*facts["os"]), ("6.1.0", "Debian, testing"));
        let note = format!("{name}: new has no single values, its result is used as one");
        assert!(set.notes.contains(&note), "{:?}", set.notes);
    }

    #[test]
    fn a_trial_has_one_value_of_each_result() {
        let other = result("HIB", &entry("old", "7", "6:7:8")).replace("pack", "unpack");
        let set = read_text(&file(&(result("LIB", &entry("old", "2", "1:3")) + &other))).unwrap();
        let counts: Vec<usize> = set.trials.iter().map(|it| it.values.len()).collect();
        assert_eq!(counts, [2, 2, 1]);
        assert_eq!(set.trials[2].name, "old, run 3");
        assert_eq!(set.trials[1].values[1].at_bounds(), [7.0]);
    }

    #[test]
    fn an_entry_without_a_name_is_of_the_only_system() {
        let unnamed = "<Entry><Identifier></Identifier><Value>2</Value></Entry>";
        let set = read_text(&file(&result("LIB", unnamed))).unwrap();
        assert_eq!(set.trials[0].levels["system"], "old");
        let two = "<System><Identifier>new</Identifier></System>".to_owned();
        let entries = entry("old", "1", "1") + unnamed;
        let set = read_text(&file(&(two + &result("LIB", &entries)))).unwrap();
        assert_eq!(set.trials.len(), 1);
        assert!(set.notes[0].ends_with("a value left out, it names no system"), "{:?}", set.notes);
    }

    #[test]
    fn what_is_no_number_or_has_no_direction_is_noted() {
        let graph = result("HIB", &entry("old", "1,2,3", ""));
        let text = file(&(graph + &result("", &entry("old", "1", "1"))));
        assert!(read_text(&text).unwrap_err().to_string().contains("a number and a direction"));
        let more =
            result("HIB", &entry("old", "PASS", "")) + &result("LIB", &entry("old", "1", "1"));
        let set = read_text(&file(&more)).unwrap();
        assert_eq!(set.trials.len(), 1);
        assert!(set.notes.iter().any(|note| note.ends_with("its result is not one number")));
        let entries = entry("old", "1", "1:x") + &entry("new", "1", "1");
        let set = read_text(&file(&result("LIB", &entries))).unwrap();
        assert_eq!(set.factors[0].levels, ["new"]);
        assert!(set.notes[0].ends_with("one of its single values is not a number"));
    }

    #[test]
    fn contradictions_are_refused_with_line_and_column() {
        let refused = |text: &str| read_text(text).unwrap_err().to_string();
        let why = refused(&file(&result("UP", "")));
        assert!(why.starts_with("line 3, column 110: <Proportion> is \"UP\""), "{why}");
        assert!(refused("<PhoronixTestSuite><Result>").contains("not XML"));
        let bomb = "<!DOCTYPE a [<!ENTITY b \"c\">]><PhoronixTestSuite>&b;</PhoronixTestSuite>";
        assert!(refused(bomb).contains("not XML"));
    }
}
