//! Result files of the Phoronix Test Suite (`composite.xml`). A result is a response, and a system a
//! level. A trial has the first values of all results of a system, the next one the second values,
//! and so on: the suite repeats each test before the next one.

use std::collections::{BTreeMap, BTreeSet};

use analysis::Direction;
use analysis::quantity::Quantity;
use model::Environment;
use roxmltree::{Document, Node, ParsingOptions};
use serde_json::Value;

use crate::dataset::{Imported, Options, Refusal, fact, measure};
use crate::measurement::{ForeignMeasurement, ForeignTrial};
use crate::results::ForeignResults;

const ROOT: &str = "PhoronixTestSuite";
const SYSTEM: &str = "system";
/// Elements and attributes of a file; more are refused, so that memory stays bounded.
const MOST_NODES: u32 = 4_000_000;

/// Names of components in lists like `OS: Debian 12, Kernel: 6.1.0 (x86_64)`, and those of facts.
const COMPONENTS: [(&str, &str); 4] =
    [("Kernel", "kernel"), ("Processor", "cpu_model"), ("OS", "os"), ("Memory", "memory")];

/// Names in the JSON of a system, and those of facts.
const DETAILS: [(&str, &str); 3] = [
    ("cpu-scaling-governor", "governor"),
    ("transparent-huge-pages", "thp"),
    ("kernel-parameters", "cmdline"),
];
/// A result may differ by this part from the range of its single values, as it is rounded.
const ROUNDING: f64 = 0.1;

/// Whether this is XML with the root of such a file.
pub(super) fn looks_right(text: &str) -> bool {
    text.trim_start().starts_with('<') && text.contains("<PhoronixTestSuite")
}

pub(super) fn read(text: &str, options: &Options) -> Imported {
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
        results: ForeignResults::named_by([SYSTEM]),
        systems: systems(root),
        trials: BTreeMap::new(),
        counts: BTreeMap::new(),
    };
    let mut without_meaning = BTreeSet::new();
    for result in elements(root, "Result") {
        match meaning(result)? {
            Some(meaning) => found.push_result(result, &meaning)?,
            None => drop(without_meaning.insert(title(result)?)),
        }
    }
    let mut results = found.results;
    if !without_meaning.is_empty() {
        results.notes.push(format!(
            "left out, without a direction (HIB or LIB): {}",
            without_meaning.into_iter().collect::<Vec<_>>().join("; ")
        ));
    }
    if results.trials.is_empty() {
        return Err(refused(root, "no <Result> has a number and a direction".to_owned()));
    }
    results.notes.push(
        "the Phoronix Test Suite repeats a test before the next one: the values of different \
         results in a trial are not of the same time"
            .to_owned(),
    );
    results.finish(options)
}

/// Unit and direction of a result.
struct Meaning {
    unit: String,
    direction: Direction,
}

/// What was read of a file.
struct Found {
    results: ForeignResults,
    /// Facts of the systems, by name.
    systems: BTreeMap<String, Environment>,
    /// The positions of the trials in `results`, by system in order of their values.
    trials: BTreeMap<String, Vec<usize>>,
    /// How many values a system has of a response.
    counts: BTreeMap<(String, String), usize>,
}

/// What an entry has.
enum EntryResult {
    /// Its single values, or its only result with a remark.
    Values(Vec<f64>, Option<&'static str>),
    /// Nothing: the test failed.
    Failed(String),
    /// A result that is not a figure: why.
    NotAFigure(&'static str),
}

impl Found {
    fn push_result(&mut self, result: Node, meaning: &Meaning) -> Result<(), Refusal> {
        let name = response_name(result, meaning)?;
        for entry in elements(result, "Data").flat_map(|data| elements(data, "Entry")) {
            let only = || self.systems.keys().next().filter(|_| self.systems.len() == 1);
            let system = text_of(entry, "Identifier").or_else(|| only().map(String::as_str));
            let Some(system) = system.map(str::to_owned) else {
                self.note(format!("{name}: a value left out, it names no system"));
                continue;
            };
            if self.counts.contains_key(&(system.clone(), name.clone())) {
                self.note(format!(
                    "{name}: several results of {system} have this name: they count as one"
                ));
            }
            let facts = details(entry);
            match values(entry)? {
                EntryResult::Values(values, note) => {
                    for value in values {
                        let one = figure(&name, meaning, value);
                        let trial = self.next_trial(&system, &name);
                        trial.measurements.push(one);
                        trial.environment.extend(facts_of_result(&facts, &name));
                    }
                    note.into_iter().for_each(|why| self.note(format!("{name}: {system} {why}")));
                }
                EntryResult::Failed(why) => {
                    let Meaning { unit, direction } = meaning;
                    let one = ForeignMeasurement::failed(&name, unit, *direction, &why);
                    self.next_trial(&system, &name).measurements.push(one);
                    self.note(format!("{name}: {system} failed, {why}"));
                }
                EntryResult::NotAFigure(why) => {
                    self.note(format!("{name}: {system} left out, {why}"));
                }
            }
        }
        Ok(())
    }

    /// The first trial of a system that has nothing of this response.
    fn next_trial(&mut self, system: &str, name: &str) -> &mut ForeignTrial {
        let trials = self.trials.entry(system.to_owned()).or_default();
        let count = self.counts.entry((system.to_owned(), name.to_owned())).or_default();
        if *count == trials.len() {
            let run = format!("{system}, run {}", trials.len() + 1);
            let identity = [(SYSTEM, system.to_owned())];
            let mut trial = ForeignTrial::of_file(run, identity, Vec::new());
            trial.environment = self.systems.get(system).cloned().unwrap_or_default();
            trial.meaning = measure("phoronix");
            trial.session = Some(system.to_owned());
            trials.push(self.results.trials.len());
            self.results.trials.push(trial);
        }
        let at = trials[*count];
        *count += 1;
        &mut self.results.trials[at]
    }

    fn note(&mut self, note: String) {
        if !self.results.notes.contains(&note) {
            self.results.notes.push(note);
        }
    }
}

fn figure(name: &str, Meaning { unit, direction }: &Meaning, value: f64) -> ForeignMeasurement {
    ForeignMeasurement::figure(name, unit, *direction, value)
}

/// The name of a result, which depends on nothing else in the file: its test, options and
/// arguments, and its scale and direction unless it is a time of which less is better.
fn response_name(result: Node, meaning: &Meaning) -> Result<String, Refusal> {
    let quantity = Quantity::of_unit(&meaning.unit);
    let unit = quantity.usual_unit().unwrap_or_else(|| meaning.unit.clone());
    let is_time = quantity.dimension == "time";
    let (is_less, is_known) = (meaning.direction == Direction::LessIsBetter, !unit.is_empty());
    let mut name = title(result)?;
    if let Some(arguments) = text_of(result, "Arguments") {
        name = format!("{name} [{arguments}]");
    }
    Ok(match (is_time, is_less) {
        (true, true) => name,
        (false, false) if is_known => format!("{name} ({unit})"),
        (false, false) => name,
        (true, false) => format!("{name} ({unit}, HIB)"),
        (false, true) if is_known => format!("{name} ({unit}, LIB)"),
        (false, true) => format!("{name} (LIB)"),
    })
}

/// The facts in the JSON of a system or an entry.
fn details(of: Node) -> Environment {
    let json = text_of(of, "JSON").and_then(|text| serde_json::from_str::<Value>(text).ok());
    let Some(Value::Object(all)) = json else { return Environment::new() };
    let named = |(name, value): (&String, &Value)| {
        let known = DETAILS.iter().find(|(key, _)| key == name);
        let name = known.map_or_else(|| name.replace('-', "_"), |(_, fact)| (*fact).to_owned());
        (name, fact(value))
    };
    all.iter().filter(|(_, value)| !value.is_null()).map(named).collect()
}

/// The facts of an entry that are about how its test was built.
fn facts_of_result(facts: &Environment, name: &str) -> Environment {
    let of_build = facts.iter().filter(|(fact, _)| fact.starts_with("compiler"));
    of_build.map(|(fact, value)| (format!("{fact} of {name}"), value.clone())).collect()
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
        facts.extend(details(system));
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
fn meaning(result: Node) -> Result<Option<Meaning>, Refusal> {
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
    let unit = match unit.to_lowercase().as_str() {
        "seconds" | "second" | "sec" | "s" => "s",
        "milliseconds" | "ms" => "ms",
        "microseconds" | "us" | "usec" => "us",
        "nanoseconds" | "ns" => "ns",
        _ => unit,
    };
    let direction = Direction::from_more(more_is_better);
    Ok(Some(Meaning { unit: unit.to_owned(), direction }))
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

/// What an entry has. Fails when its result does not follow from its single values.
fn values(entry: Node) -> Result<EntryResult, Refusal> {
    let single = text_of(entry, "RawString").unwrap_or_default();
    let single: Option<Vec<f64>> =
        single.split(':').filter(|it| !it.trim().is_empty()).map(number).collect();
    let Some(single) = single else {
        return Ok(EntryResult::NotAFigure("one of its single values is not a number"));
    };
    let Some(result) = text_of(entry, "Value") else {
        let error = details(entry).remove("error");
        return Ok(match single.is_empty() {
            true => EntryResult::Failed(error.unwrap_or_else(|| "it has no result".to_owned())),
            false => EntryResult::Values(single, None),
        });
    };
    let value = number(result);
    if single.is_empty() {
        return Ok(match value {
            Some(value) => EntryResult::Values(
                vec![value],
                Some("has no single values, its result is used as one"),
            ),
            None => EntryResult::NotAFigure("its result is not one number"),
        });
    }
    let (least, most) = (
        single.iter().copied().fold(f64::INFINITY, f64::min),
        single.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    );
    let slack = |end: f64| ROUNDING * end.abs();
    if value.is_some_and(|value| value < least - slack(least) || value > most + slack(most)) {
        let why = format!(
            "<Value> is {result}, outside its single values {least} to {most}: the file \
             contradicts itself"
        );
        return Err(refused(entry, why));
    }
    Ok(EntryResult::Values(single, None))
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
        crate::dataset("x", text, None, &Options::default())
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
        let expected = analysis::Response {
            unit: "s".to_owned(),
            direction: Direction::LessIsBetter,
            additive: false,
        };
        assert_eq!(set.responses[name], expected);
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
