//! Other forms in which programs write the same results: text and CSV of perf, cyclictest's text,
//! schbench's JSON, the events of `go test`, and thrashlab's own observations.

use super::writers::{Content, FILE_END, NAMES, USUAL, Work, Writer, as_folder, go};

pub(crate) const OTHER_FORMS: [Writer; 6] = [
    Writer {
        name: "perf text",
        write: perf_text,
        units: &[("msec", 1.0), ("ns", 1e-6)],
        has_failures: true,
        ..USUAL
    },
    Writer {
        name: "perf CSV",
        write: perf_csv,
        units: &[("msec", 1.0), ("ns", 1e-6)],
        has_failures: true,
        ..USUAL
    },
    Writer {
        name: "cyclictest text",
        write: cyclictest_text,
        names: ["thread 0", "thread 1"],
        knows_copies: false,
        units: &[("us", 1.0)],
        ..USUAL
    },
    Writer {
        name: "schbench JSON",
        write: schbench_json,
        read: as_folder,
        names: ["request_latency_p50", "wakeup_latency_p50"],
        units: &[("us", 1.0)],
        ..USUAL
    },
    Writer {
        name: "go events",
        write: go_events,
        units: &[("ms/op", 1.0), ("ns/op", 1e-6)],
        has_failures: true,
        ..USUAL
    },
    Writer {
        name: "observations",
        write: observations,
        // Its trials have names of their own.
        knows_copies: false,
        units: &[("ms", 1.0), ("us", 1e-3), ("s", 1e3), ("MiB", 0.0)],
        has_failures: true,
        ..USUAL
    },
];

/// The values of all works by repetition.
fn repetitions(content: &Content) -> impl Iterator<Item = (usize, Vec<(&Work, Option<f64>)>)> {
    let most = content.works.iter().map(|work| work.values.len()).max().unwrap_or(0);
    let of = |index: usize| content.works.iter().map(move |work| (work, work.values.get(index)));
    (0..most)
        .map(move |index| (index, of(index).map(|(work, value)| (work, value.copied())).collect()))
}

fn perf_text(content: &Content) -> String {
    let mut text = String::new();
    for (_, works) in repetitions(content) {
        text += "\n Performance counter stats for 'prog':\n\n";
        for (work, value) in works {
            text += &match value {
                Some(value) => {
                    format!("   {value} {} {}-time   #  0.9 x\n", content.unit, work.name)
                }
                None => format!("   <not counted> {} {}-time\n", content.unit, work.name),
            };
        }
        text += "\n       1.300000000 seconds time elapsed\n\n";
    }
    text
}

fn perf_csv(content: &Content) -> String {
    let mut text = String::new();
    for (index, works) in repetitions(content) {
        text += &format!("# started on Mon Nov  1 10:00:0{index} 2026\n\n");
        for (work, value) in works {
            let value = value.map_or("<not counted>".to_owned(), |value| value.to_string());
            text += &format!("{value},{},{}-time,1234560000,100.00,,\n", content.unit, work.name);
        }
    }
    text
}

/// A column for each work in the order of their names, where what has no values has no delays, and
/// one more: a single one is the whole.
fn cyclictest_text(content: &Content) -> String {
    let of_name = |name: &&str| {
        let work = content.works.iter().find(|work| work.name == *name);
        let values = work.map_or(&[][..], |work| &work.values);
        values.iter().map(|value| value.round() as u64).collect::<Vec<u64>>()
    };
    let threads: Vec<Vec<u64>> = NAMES.iter().map(of_name).chain([vec![80; 3]]).collect();
    let last = threads.iter().flatten().max().copied().unwrap_or(0);
    let mut text = String::from("# Histogram\n");
    for bucket in 0..=last {
        let count = |delays: &Vec<u64>| delays.iter().filter(|it| **it == bucket).count();
        let counts: Vec<String> =
            threads.iter().map(|delays| format!("{:06}", count(delays))).collect();
        text += &format!("{bucket:06} {}\n", counts.join("\t"));
    }
    let line = |name: &str, value: fn(&[u64]) -> u64| {
        let values: Vec<String> = threads.iter().map(|it| format!("{:05}", value(it))).collect();
        format!("# {name}: {}\n", values.join(" "))
    };
    text += &line("Total", |delays| delays.len() as u64);
    text += &line("Min Latencies", |delays| delays.iter().min().copied().unwrap_or(0));
    text +=
        &line("Avg Latencies", |delays| delays.iter().sum::<u64>() / delays.len().max(1) as u64);
    text += &line("Max Latencies", |delays| delays.iter().max().copied().unwrap_or(0));
    text + &line("Histogram Overflows", |_| 0)
}

fn schbench_json(content: &Content) -> String {
    let kind = |work: &Work| if work.name == NAMES[0] { "request" } else { "wakeup" };
    let mut text = String::new();
    for (_, works) in repetitions(content) {
        let figures = works.iter().filter_map(|(work, value)| {
            let (kind, value) = (kind(work), ((*value)? * 4.0).round());
            let (least, most) = (value / 2.0, value * 4.0);
            Some(format!(
                "\"{kind}_latency_pct50.0\": {value}, \"{kind}_latency_pct99.0\": {}, \
                 \"{kind}_latency_min\": {least}, \"{kind}_latency_max\": {most}",
                value * 3.0
            ))
        });
        let figures: Vec<String> = figures.collect();
        text += &format!("{{\"normal\": {{}}, \"int\": {{{}}}}}\n", figures.join(", "));
        text += FILE_END;
    }
    text
}

fn go_events(content: &Content) -> String {
    let event = |line: &str| {
        let output = serde_json::Value::from(format!("{line}\n"));
        format!("{{\"Action\":\"output\",\"Package\":\"example\",\"Output\":{output}}}\n")
    };
    go(content).lines().map(event).collect()
}

fn observations(content: &Content) -> String {
    let mut text = String::from(
        "trial,block,seed,part,response,unit,level_test,sample,value,lower_bound,lower_bounds,\
         problem,better,session,outcome\n",
    );
    for work in &content.works {
        let (name, unit) = (work.name, content.unit);
        if work.values.is_empty() {
            text += &format!("{name} 1,,,,time,{unit},{name},,,,0,,less,the file,failed: no\n");
        }
        for (index, value) in work.values.iter().enumerate() {
            text += &format!(
                "{name} {index},,,,time,{unit},{name},0,{value},0,0,,less,the file,completed\n"
            );
        }
    }
    text
}
