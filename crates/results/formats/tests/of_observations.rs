//! Observations as Go benchmark lines, OpenMetrics and a table.
#![expect(clippy::unwrap_used, reason = "all of this is a test")]

use analysis::{Dataset, Direction, Factor, Response, Trial, Values};
use formats::CsvFile;
use formats::{go, openmetrics};
use model::Observation;
use proptest::prelude::*;

/// Two loads with two runs each, the second of which has a sample that was given up.
fn probe() -> Dataset {
    let loads = ["noload", "2ctx-mem"];
    let mut set = Dataset {
        name: "before".to_owned(),
        factors: vec![Factor {
            name: "load".to_owned(),
            levels: loads.map(str::to_owned).to_vec(),
        }],
        ..Dataset::default()
    };
    let unit = |unit: &str| Response {
        unit: unit.to_owned(),
        direction: Direction::LessIsBetter,
        additive: false,
    };
    set.responses.insert("delay_ns".to_owned(), unit("ns"));
    set.responses.insert("major_faults".to_owned(), unit("faults"));
    for (index, load) in loads.iter().cycle().take(4).enumerate() {
        let base = 1000.0 * (index + 1) as f64;
        set.trials.push(Trial {
            name: format!("00{index}-{load}"),
            levels: [("load".to_owned(), (*load).to_owned())].into(),
            block: Some(index as u64 / 2),
            seed: Some(1),
            started_unix_ns: Some(1_764_000_000_500_000_000),
            values: vec![
                Values {
                    part: None,
                    response: "delay_ns".to_owned(),
                    samples: vec![
                        Observation::exact(base),
                        Observation::exact(base + 1.0),
                        Observation { value: base + 5.0, is_lower_bound: index >= 3 },
                    ],
                },
                Values::exact(Some("sort".to_owned()), "major_faults", &[7.0]),
            ],
            environment: [
                ("cpus_online".to_owned(), "2".to_owned()),
                ("cpu_model".to_owned(), "A \"CPU\"\\of\nits own".to_owned()),
                ("boot_id".to_owned(), "0af3".to_owned()),
                ("clock".to_owned(), index.to_string()),
            ]
            .into(),
            meaning: [("measure".to_owned(), "response version 1".to_owned())].into(),
            problem: (index == 3).then(|| "its load died".to_owned()),
            ..Trial::default()
        });
    }
    set
}

fn go_text(set: &Dataset, each: go::Each) -> String {
    let mut out = Vec::new();
    go::write(set, each, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_trial_is_a_line_with_what_all_trials_share_before_it() {
    insta::assert_snapshot!(go_text(&probe(), go::Each::Usual), @r#"
    cpu: A "CPU"\of its own
    cpus_online: 2
    measure: response version 1
    thrashlab-unit: trial
    # thrashlab-levels: load
    Unit major-faults/op better=lower
    Unit max-ns/op better=lower
    Unit mean-ns/op better=lower

    # thrashlab-session: 000-noload
    BenchmarkResponse/load=noload-2 3 1001 ns/op 1002 mean-ns/op 1005 max-ns/op
    BenchmarkResponse/load=noload/part=sort-2 1 7 major-faults/op
    # thrashlab-session: 001-2ctx-mem
    BenchmarkResponse/load=2ctx-mem-2 3 2001 ns/op 2002 mean-ns/op 2005 max-ns/op
    BenchmarkResponse/load=2ctx-mem/part=sort-2 1 7 major-faults/op
    # thrashlab-session: 002-noload
    BenchmarkResponse/load=noload-2 3 3001 ns/op 3002 mean-ns/op 3005 max-ns/op
    BenchmarkResponse/load=noload/part=sort-2 1 7 major-faults/op
    # thrashlab-session: 003-2ctx-mem
    # 003-2ctx-mem: its load died
    BenchmarkResponse/load=2ctx-mem-2 3 4001 ns/op 4002 mean-ns/op 4005 max-ns/op 1 censored
    BenchmarkResponse/load=2ctx-mem/part=sort-2 1 7 major-faults/op
    "#);
}

#[test]
fn samples_are_lines_where_a_cell_has_one_trial() {
    let mut set = probe();
    set.trials.truncate(2);
    let text = go_text(&set, go::Each::Usual);
    assert!(text.contains("thrashlab-unit: sample\n"), "{text}");
    assert!(text.contains("\nBenchmarkResponse/load=noload-2 1 1005 ns/op\n"), "{text}");
    assert!(go_text(&set, go::Each::Trial).contains("thrashlab-unit: trial\n"));
}

#[test]
fn times_are_ns_rates_are_rates_and_numbers_at_the_end_are_no_cpus() {
    let mut set = probe();
    set.responses = [
        ("elapsed_s", "s", false),
        ("user_s", "s", false),
        ("requests_per_s", "/s", true),
        ("MB/s", "MB/s", true),
    ]
    .map(|(name, unit, more_is_better)| {
        let unit = unit.to_owned();
        (
            name.to_owned(),
            Response { unit, direction: Direction::from_more(more_is_better), additive: false },
        )
    })
    .into();
    let value = |response: &str, value: f64| Values::exact(None, response, &[value]);
    set.trials = vec![Trial {
        levels: [("load".to_owned(), "a b/c=d%-7".to_owned())].into(),
        values: vec![
            value("elapsed_s", 0.5),
            value("user_s", 0.25),
            value("requests_per_s", 9.0),
            value("MB/s", 3.0),
        ],
        ..Trial::default()
    }];
    let text = go_text(&set, go::Each::Usual);
    let line = "BenchmarkTrial/load=a%20b%2Fc%3Dd%25%2D7 1 500000000 ns/op 250000000 user-ns/op \
                9 requests/s 3 MB/s\n";
    assert!(text.ends_with(line), "{text}");
    assert!(text.contains("Unit requests/s better=higher\n"), "{text}");
}

#[test]
fn responses_whose_names_become_equal_share_a_family_and_are_told_apart() {
    let unit = |unit: &str| Response {
        unit: unit.to_owned(),
        direction: Direction::LessIsBetter,
        additive: false,
    };
    let value = |response: &str, samples: &[f64]| Values::exact(None, response, samples);
    let names = ["a-b", "a.b", "a_b", "a_b_count", "delay_us", "delay_ms", "start_time_s"];
    let units = ["", "", "", "", "us", "ms", "s"];
    let responses = names.into_iter().zip(units);
    let set = Dataset {
        name: "names".to_owned(),
        responses: responses.map(|(name, text)| (name.to_owned(), unit(text))).collect(),
        trials: vec![Trial {
            name: "one".to_owned(),
            started_unix_ns: Some(2_000_000_000),
            values: vec![
                value("a_b", &[1.0, 2.0]),
                Values { samples: vec![Observation::at_least(3.0)], ..value("a-b", &[]) },
                value("a.b", &[4.0]),
                value("a_b_count", &[5.0]),
                value("delay_us", &[6.0]),
                value("delay_ms", &[7.0]),
                value("start_time_s", &[8.0]),
            ],
            ..Trial::default()
        }],
        ..Dataset::default()
    };
    insta::assert_snapshot!(openmetrics::text(&set), @r#"
    # TYPE thrashlab_a_b summary
    # HELP thrashlab_a_b a-b, a.b, a_b of the samples of a trial.
    thrashlab_a_b{input="names",trial="one",response="a_b",quantile="0.5"} 1.5
    thrashlab_a_b_count{input="names",trial="one",response="a_b"} 2
    thrashlab_a_b_sum{input="names",trial="one",response="a_b"} 3
    thrashlab_a_b{input="names",trial="one",response="a-b",quantile="0.5"} 3
    thrashlab_a_b_count{input="names",trial="one",response="a-b"} 1
    thrashlab_a_b_sum{input="names",trial="one",response="a-b"} 3
    thrashlab_a_b{input="names",trial="one",response="a.b",quantile="0.5"} 4
    thrashlab_a_b_count{input="names",trial="one",response="a.b"} 1
    thrashlab_a_b_sum{input="names",trial="one",response="a.b"} 4
    # TYPE thrashlab_delay_seconds gauge
    # UNIT thrashlab_delay_seconds seconds
    # HELP thrashlab_delay_seconds delay_ms, delay_us of a trial.
    thrashlab_delay_seconds{input="names",trial="one",response="delay_us"} 0.000006
    thrashlab_delay_seconds{input="names",trial="one",response="delay_ms"} 0.007
    # TYPE thrashlab_response_a_b_count gauge
    # HELP thrashlab_response_a_b_count a_b_count of a trial.
    thrashlab_response_a_b_count{input="names",trial="one"} 5
    # TYPE thrashlab_response_start_time_seconds gauge
    # UNIT thrashlab_response_start_time_seconds seconds
    # HELP thrashlab_response_start_time_seconds start_time_s of a trial.
    thrashlab_response_start_time_seconds{input="names",trial="one"} 8
    # TYPE thrashlab_lower_bounds gauge
    # HELP thrashlab_lower_bounds Samples of which only a lower bound is known.
    thrashlab_lower_bounds{input="names",trial="one",response="a-b"} 1
    # TYPE thrashlab_start_time_seconds gauge
    # UNIT thrashlab_start_time_seconds seconds
    # HELP thrashlab_start_time_seconds When a trial began, in seconds since 1970 UTC.
    thrashlab_start_time_seconds{input="names",trial="one"} 2
    # TYPE thrashlab_trial info
    # HELP thrashlab_trial Facts of the system under test of a trial.
    thrashlab_trial_info{input="names",trial="one"} 1
    # EOF
    "#);
}

#[test]
fn metrics_are_in_seconds_with_every_label_escaped() {
    insta::assert_snapshot!(openmetrics::text(&probe()), @r#"
    # TYPE thrashlab_delay_seconds summary
    # UNIT thrashlab_delay_seconds seconds
    # HELP thrashlab_delay_seconds delay_ns of the samples of a trial.
    thrashlab_delay_seconds{input="before",trial="000-noload",load="noload",block="0",seed="1",quantile="0.5"} 0.000001001
    thrashlab_delay_seconds_count{input="before",trial="000-noload",load="noload",block="0",seed="1"} 3
    thrashlab_delay_seconds_sum{input="before",trial="000-noload",load="noload",block="0",seed="1"} 0.000003006
    thrashlab_delay_seconds{input="before",trial="001-2ctx-mem",load="2ctx-mem",block="0",seed="1",quantile="0.5"} 0.000002001
    thrashlab_delay_seconds_count{input="before",trial="001-2ctx-mem",load="2ctx-mem",block="0",seed="1"} 3
    thrashlab_delay_seconds_sum{input="before",trial="001-2ctx-mem",load="2ctx-mem",block="0",seed="1"} 0.000006006000000000001
    thrashlab_delay_seconds{input="before",trial="002-noload",load="noload",block="1",seed="1",quantile="0.5"} 0.000003001
    thrashlab_delay_seconds_count{input="before",trial="002-noload",load="noload",block="1",seed="1"} 3
    thrashlab_delay_seconds_sum{input="before",trial="002-noload",load="noload",block="1",seed="1"} 0.000009006
    thrashlab_delay_seconds{input="before",trial="003-2ctx-mem",load="2ctx-mem",block="1",seed="1",quantile="0.5"} 0.000004001
    thrashlab_delay_seconds_count{input="before",trial="003-2ctx-mem",load="2ctx-mem",block="1",seed="1"} 3
    thrashlab_delay_seconds_sum{input="before",trial="003-2ctx-mem",load="2ctx-mem",block="1",seed="1"} 0.000012006
    # TYPE thrashlab_major_faults gauge
    # HELP thrashlab_major_faults major_faults of a trial.
    thrashlab_major_faults{input="before",trial="000-noload",load="noload",block="0",seed="1",part="sort"} 7
    thrashlab_major_faults{input="before",trial="001-2ctx-mem",load="2ctx-mem",block="0",seed="1",part="sort"} 7
    thrashlab_major_faults{input="before",trial="002-noload",load="noload",block="1",seed="1",part="sort"} 7
    thrashlab_major_faults{input="before",trial="003-2ctx-mem",load="2ctx-mem",block="1",seed="1",part="sort"} 7
    # TYPE thrashlab_lower_bounds gauge
    # HELP thrashlab_lower_bounds Samples of which only a lower bound is known.
    thrashlab_lower_bounds{input="before",trial="003-2ctx-mem",load="2ctx-mem",block="1",seed="1",response="delay_ns"} 1
    # TYPE thrashlab_start_time_seconds gauge
    # UNIT thrashlab_start_time_seconds seconds
    # HELP thrashlab_start_time_seconds When a trial began, in seconds since 1970 UTC.
    thrashlab_start_time_seconds{input="before",trial="000-noload",load="noload",block="0",seed="1"} 1764000000.5
    thrashlab_start_time_seconds{input="before",trial="001-2ctx-mem",load="2ctx-mem",block="0",seed="1"} 1764000000.5
    thrashlab_start_time_seconds{input="before",trial="002-noload",load="noload",block="1",seed="1"} 1764000000.5
    thrashlab_start_time_seconds{input="before",trial="003-2ctx-mem",load="2ctx-mem",block="1",seed="1"} 1764000000.5
    # TYPE thrashlab_trial info
    # HELP thrashlab_trial Facts of the system under test of a trial.
    thrashlab_trial_info{input="before",trial="000-noload",load="noload",block="0",seed="1",boot_id="0af3",clock="0",cpu_model="A \"CPU\"\\of\nits own",cpus_online="2"} 1
    thrashlab_trial_info{input="before",trial="001-2ctx-mem",load="2ctx-mem",block="0",seed="1",boot_id="0af3",clock="1",cpu_model="A \"CPU\"\\of\nits own",cpus_online="2"} 1
    thrashlab_trial_info{input="before",trial="002-noload",load="noload",block="1",seed="1",boot_id="0af3",clock="2",cpu_model="A \"CPU\"\\of\nits own",cpus_online="2"} 1
    thrashlab_trial_info{input="before",trial="003-2ctx-mem",load="2ctx-mem",block="1",seed="1",boot_id="0af3",clock="3",cpu_model="A \"CPU\"\\of\nits own",cpus_online="2"} 1
    # EOF
    "#);
}

#[test]
fn observations_are_a_row_a_value() {
    let mut out = Vec::new();
    formats::observed(&probe(), |columns| Ok(Box::new(CsvFile::new(columns, &mut out)?))).unwrap();
    let text = String::from_utf8(out).unwrap();
    let rows: Vec<&str> = text.lines().collect();
    assert_eq!(rows.len(), 1 + 4 * (3 + 1));
    assert_eq!(
        rows[0],
        "trial,block,seed,part,response,unit,level_load,sample,value,lower_bound,lower_bounds,problem,better,session,outcome"
    );
    assert_eq!(rows[2], "000-noload,0,1,,delay_ns,ns,noload,1,1001,0,0,,less,000-noload,completed");
    assert_eq!(
        rows[16],
        "003-2ctx-mem,1,1,sort,major_faults,faults,2ctx-mem,0,7,0,0,its load died,less,003-2ctx-mem,\
         completed"
    );
}

proptest! {
    /// Whatever names and facts say, a line of a result is one, and no two levels have one name.
    #[test]
    fn any_names_make_whole_lines(
        loads in proptest::collection::btree_set("[ -~\n\té\u{85}]{0,6}", 2..4),
        fact in "[ -~\n]{0,8}",
        value in "[ -~\n\r\u{85}]{0,8}",
    ) {
        let mut set = probe();
        let loads: Vec<String> = loads.into_iter().collect();
        set.trials.truncate(loads.len());
        for (trial, load) in set.trials.iter_mut().zip(&loads) {
            trial.levels.insert("load".to_owned(), load.clone());
            trial.environment.insert(fact.clone(), value.clone());
        }
        let text = go_text(&set, go::Each::Trial);
        let results: Vec<Vec<&str>> = text
            .lines()
            .filter(|line| line.starts_with("Benchmark"))
            .map(|line| line.split_whitespace().collect())
            .collect();
        prop_assert_eq!(results.len(), 2 * set.trials.len());
        for words in &results {
            prop_assert!(words.len() >= 4 && words.len() % 2 == 0, "{:?}", words);
            prop_assert!(words[2].parse::<f64>().is_ok());
        }
        let names: std::collections::BTreeSet<&str> =
            results.iter().map(|words| words[0]).filter(|name| !name.contains("part=")).collect();
        prop_assert_eq!(names.len(), loads.len());
        let metrics = openmetrics::text(&set);
        prop_assert!(metrics.ends_with("# EOF\n"));
        let sound = metrics.lines().all(|line| line.starts_with("# ") || line.starts_with("thrashlab_"));
        prop_assert!(sound, "{}", metrics);
    }
}
