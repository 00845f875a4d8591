//! Sweeps as text and as plans.

use analysis::sweep::{Purpose, Spacing};
use proptest::prelude::*;

use super::*;
use crate::plan::label;

const GRID: &str = r#"
name = "switching"

[base]
subject = "sandbox:mem=256M"
job = "touch"
touch.pattern = "chase"

[sweep]
range = "1M..64M"
coarse = 4
passes = 3
budget = 99
resolution = "10%"
least_rise = 2.0
present = "8M"

[sweep.by]
name = "pages"
parameter = "touch.pages"
levels = ["small", "thp"]
"#;

fn sweep(text: &str) -> Result<SweepPlan, PlanError> {
    parse_sweep(text)
}

#[test]
fn a_plan_of_a_sweep_is_read_and_written() {
    let plan = sweep(GRID).unwrap();
    assert_eq!(plan.over, "touch.footprint", "what a job usually has");
    assert_eq!(plan.range.spacing, Spacing::Geometric);
    assert_eq!(plan.settings.resolution, 0.1);
    assert_eq!(plan.settings.find.present, Some(8_388_608.0));
    assert_eq!(plan.rows(), ["small", "thp"]);
    let again = sweep(&plan.text()).unwrap();
    assert_eq!(again, plan);
    assert_eq!(again.text(), plan.text());
    let cells = plan.cells(Path::new("")).unwrap();
    let levels: Vec<String> = cells.iter().map(|cell| label(&cell.named)).collect();
    assert_eq!(levels[..4], ["1M-small", "4M-small", "16M-small", "64M-small"]);
    assert_eq!(levels.len(), 8);
}

#[test]
fn a_batch_is_a_plan_that_goes_up_and_down() {
    let plan = sweep(GRID).unwrap();
    let levels = vec![1_048_576.0, 1_052_672.0];
    let batch = Batch { levels, first_pass: 2, passes: 2, purpose: Purpose::Refine };
    let runs = plan.plan(1, &batch, true).runs();
    assert_eq!(
        runs.iter().map(|(_, run)| run.run_id.as_str()).collect::<Vec<_>>(),
        ["02-1M-thp-seed3", "02-1028K-thp-seed3", "02-1028K-thp-seed4", "02-1M-thp-seed4"]
    );
    // In the order in which the batch is measured.
    let measured = batch.measurements().map(|(pass, level)| (pass, plan.quantity.format(level)));
    let planned = runs.iter().map(|(_, run)| (run.block, run.levels[&plan.over].clone()));
    assert_eq!(planned.collect::<Vec<_>>(), measured.collect::<Vec<_>>());
    assert_eq!((runs[3].1.block, runs[3].1.seed), (3, 4));
    assert_eq!(runs[3].1.levels["pages"], "thp");
    // One seed that gives the same again is the seed of all levels.
    let one = SweepPlan { settings: SearchSettings { passes: 1, ..plan.settings }, ..plan };
    let batch = Batch { passes: 1, ..batch };
    assert_eq!(
        (one.plan(0, &batch, true).seeds, one.plan(0, &batch, false).seeds),
        (vec![1], vec![3])
    );
}

#[test]
fn irlams_loops_are_calibrated_once_for_the_largest_level() {
    let text = "name = \"x\"\n[base]\njob = \"vmtest\"\n[sweep]\nrange = \"96M..2M\"\n";
    let plan = sweep(text).unwrap();
    assert!(plan.needs_loops());
    let cells = plan.calibration().cells(Path::new("")).unwrap();
    let model::Measure::Memory(job) = &cells[0].measure else { panic!("a job") };
    assert_eq!((cells.len(), job.params["size"], job.params["of_size"]), (1, 2 << 20, 96 << 20));
    let ready = plan.clone().with_loops(7);
    assert!(!ready.needs_loops());
    assert_eq!(ready.loops(), Some(7));
    assert!(!ready.measures_as(&plan) && ready.measures_as(&plan.with_loops(7)));
}

#[test]
fn what_makes_no_sense_is_refused_with_the_place() {
    let of = |sweep: &str| format!("name = \"x\"\n[base]\njob = \"touch\"\n[sweep]\n{sweep}\n");
    for (text, why) in [
        ("name = ".to_owned(), "line 1"),
        ("name = \"x\"\n[sweep]\nrange = \"1..2\"\n".to_owned(), "what is swept"),
        (of(""), "range"),
        (of("range = \"1M-2M\""), "FIRST..LAST"),
        (of("range = \"1M..2X\""), "2X"),
        (of("range = \"1M..1M\""), "one level"),
        (of("range = \"1M..2M\"\nspeed = 1"), "speed"),
        (of("range = \"1M..2M\"\nspacing = \"random\""), "geometric"),
        (of("range = \"1M..2M\"\nresolution = 0"), "sweep.resolution"),
        (of("range = \"1M..2M\"\npresent = \"x\""), "present"),
        (of("range = \"1M..2M\"\nbudget = 3"), "too few"),
        (of("range = \"1M..2M\"\ncoarse = 1000000000"), "at most 1000 coarse levels"),
        (of("over = \"touch.pages\"\nrange = \"1..2\""), "touch.pages is not a number"),
        (of("range = \"1M..2M\"\n[sweep.by]\nname = \"b\"\nlevels = [1, 1]"), "parameter"),
        (
            of("range = \"1M..2M\"\n[sweep.by]\nname = \"b\"\nparameter = \"points\"\n\
                levels = [1, 1]"),
            "twice",
        ),
    ] {
        let told = sweep(&text).unwrap_err().to_string();
        assert!(told.contains(why), "{text}: {told}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in ".{0,200}", at in 0usize..500) {
        let cut: String = GRID.chars().take(at).chain(text.chars()).collect();
        for text in [text, cut] {
            if let Ok(plan) = sweep(&text) {
                let _ = plan.cells(Path::new(""));
                prop_assert_eq!(sweep(&plan.text()).unwrap(), plan);
            }
        }
    }

    #[test]
    fn any_range_is_read_or_refused(range in "[0-9.MKGms-]{0,12}", over in "(touch.footprint|load.intensity|touch.think|sysctl.x)") {
        let search = SearchArgs { over: Some(over), range: Some(range), ..SearchArgs::default() };
        if let Ok(plan) = SweepPlan::new(None, Vec::new(), search) {
            for level in plan.search().unwrap().coarse_levels() {
                let text = plan.quantity.format(level);
                prop_assert_eq!(plan.quantity.parse(&text), Ok(level), "{}", text);
            }
        }
    }
}

#[test]
fn a_search_for_a_price_does_not_wait_for_a_command_far_below_its_need() {
    let plan = |of_command: &str, price: &str| {
        sweep(&format!(
            "name = \"limit\"\n[base]\njob = \"command\"\ncommand.run = \"sort big\"\n{of_command}\n\
             [sweep]\nover = \"sandbox.memory\"\nrange = \"1G..16M\"\n{price}"
        ))
        .unwrap()
    };
    let point = |level: f64, pass: u32, elapsed_ns: f64| {
        let figures = [("elapsed_ns".to_owned(), elapsed_ns)].into();
        analysis::sweep::Point { level, pass, figures, ..Default::default() }
    };
    let first = f64::from(1 << 30);
    let batch = |level: f64| Batch {
        levels: vec![level],
        first_pass: 3,
        passes: 1,
        purpose: Purpose::Coarse,
    };
    // The first run decides, so that a continued search has the same limit.
    let points = vec![point(first, 1, 2.5e9), point(first, 0, 2.0e9), point(first / 4.0, 2, 9.0e9)];
    let curve = Curve { points, ..Curve::default() };
    let limit = |plan: &SweepPlan| plan.patience(&batch(first / 4.0), &curve);
    let patience = |time: &str| Some(("command.limit".to_owned(), time.to_owned()));
    let usual = plan("", "price = 0.05\nmost = 8.0");
    assert_eq!(limit(&usual), patience("16s"));
    assert_eq!(
        usual.patience(&batch(first), &curve),
        None,
        "without a limit it takes what it takes"
    );
    assert_eq!(limit(&plan("", "price = 0.05\nmost = 1e15")), patience("86400s"));
    assert_eq!(limit(&plan("command.limit = \"1m\"", "price = 0.05\nmost = 8.0")), None);
    assert_eq!(limit(&plan("", "")), None);
    let before = plan("", "price = 0.05").patience(&batch(first), &Curve::default());
    assert_eq!(before, None, "nothing is known yet");
}
