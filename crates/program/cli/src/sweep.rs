//! `thrashlab sweep`: the cost of a unit of work over the levels of a parameter, and its knee.

use std::path::{Path, PathBuf};

use analysis::sweep::{Curve, Grid, PricedLevel, Settings, SweepResult, find};
use anyhow::anyhow;
use clap::Args;
use curves::{Amounts, CurveOptions, Curves, SweepRow, SweepView, sweep_document};
use experiment::{
    Form, Quantity, SearchArgs, Sweep, SweepPlan, is_in_this_folder, parameter_of, parse_sweep,
};
use serde_json::{Value, json};

use crate::command::CommandArgs;
use crate::failed_start::ResultsStart;
use crate::laboratory::{LabArgs, drive, failure};
use crate::output::{FormatArgs, show_in};
use crate::work::{UsualSubject, WorkArgs};
use crate::{Failure, OrWrong, Result, observed_level, print};

const EXAMPLES: &str = "\
Examples:
  thrashlab sweep vmtest --range 2M..96M
                                 Irlam's program over active virtual memory
  thrashlab sweep touch --over sandbox.memory --range 56M..20M \\
      --set touch.footprint=48M --set touch.backing=file \\
      --set touch.pattern=uniform
                                 a limit that shrinks under a file mapping
  thrashlab sweep touch --range 1M..1G --set touch.pattern=chase \\
      --by touch.pages=small,thp
                                 two curves side by side
  thrashlab sweep session --range 1..24
                                 users at work at the same time
  thrashlab sweep cpuload --range 0.1..4 --probe wake
                                 the volume of a load, and how a probe responds
  thrashlab sweep --over sandbox.cpus --range 4..0.5 -- make
                                 a command of your own
  thrashlab sweep plan.toml                         the plan of a sweep
  thrashlab sweep --from reference:sun4/vmtest-sparcstation1-old-hat
                                 the table of 1990: where is its knee?
  thrashlab sweep --from FOLDER  print the result of a finished sweep again

To resume an interrupted sweep, run the same command again. Options, how to read
the result, and how reliable it is: docs/sweeps.md.";

/// Suffix of plans.
const PLAN: &str = ".toml";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SweepArgs {
    /// What is measured: a job (vmtest, touch, session), a probe, a load, or the plan of a sweep
    /// (*.toml); not with a command, --job, --probe or --load
    #[arg(required_unless_present_any = ["from", "timed", "probe", "load"])]
    what: Option<String>,

    #[command(flatten)]
    search: SearchArgs,

    #[command(flatten)]
    work: WorkArgs,

    #[command(flatten)]
    source: SourceArgs,

    /// Folder for the run files; existing runs are not repeated [default: named after the sweep, in
    /// the user's data directory]
    #[arg(long, short, value_name = "DIR", conflicts_with = "from")]
    output: Option<PathBuf>,

    /// Print the plan as it is understood and run nothing
    #[arg(long, conflicts_with = "from")]
    dry_run: bool,

    #[command(flatten)]
    lab: LabArgs,

    #[command(flatten)]
    format: FormatArgs,
}

#[derive(Args)]
struct SourceArgs {
    /// Read this instead of measuring: a folder of runs, `reference:NAME`, or a CSV (- is standard
    /// input)
    #[arg(long, value_name = "WHAT", conflicts_with_all = ["what", "CommandArgs", "subject", "unit", "pid", "cgroup", "load", "probe", "job", "set"])]
    from: Option<String>,

    /// With --from: the column of a CSV that is the level [default: by its name]
    #[arg(long, value_name = "COLUMN", requires = "from", conflicts_with = "over")]
    level: Option<String>,

    /// With --from: the column that is the cost [default: by its name]
    #[arg(long, value_name = "COLUMN", requires = "from", conflicts_with = "response")]
    cost: Option<String>,

    /// With --from: the column that the cost is divided by [default: the level, for elapsed times]
    #[arg(long, value_name = "COLUMN", requires = "from")]
    work: Option<String>,
}

impl SweepArgs {
    /// The sweep of a plan with what was typed, or of what was typed alone.
    fn planned(&self) -> Result<Sweep> {
        let (what, output) = (self.what.as_deref(), self.output.as_deref());
        let plan = what.filter(|what| what.ends_with(PLAN)).map(Path::new);
        // A plan is complete by itself: what is the user's default is not for it.
        let usual = match plan {
            Some(_) => UsualSubject::Needed(None),
            None => UsualSubject::Preferred(None),
        };
        let work = what.filter(|_| plan.is_none()).map(|what| {
            let parameter = parameter_of(what).map_err(failure)?;
            Ok::<_, Failure>((parameter.to_owned(), what.to_owned()))
        });
        let base = self.work.settings_with_load(usual, work.transpose()?)?;
        let sweep = match plan {
            Some(plan) => Sweep::of_file(plan, base, &self.search, output),
            None => Sweep::new(base, self.search.clone(), output),
        };
        sweep.map_err(failure)
    }
}

pub(crate) fn sweep(args: &SweepArgs) -> Result<()> {
    if let Some(what) = &args.source.from {
        return redraw(args, what);
    }
    let sweep = args.planned()?;
    if args.dry_run {
        return print(&plan_text(&sweep.plan));
    }
    carry_out(sweep, &args.work.command, &args.lab, &args.format, false)
}

/// Measures, and prints what was found; it may continue an earlier one.
///
/// With `observes`, a run at a limit that costs more than the price is observed at the end. After
/// Ctrl-C, what is left of the command that is timed is removed.
pub(crate) fn carry_out(
    sweep: Sweep,
    command: &CommandArgs,
    lab: &LabArgs,
    format: &FormatArgs,
    observes: bool,
) -> Result<()> {
    let is_in_this_folder = is_in_this_folder(&sweep.plan.base);
    let outcome = measure(sweep, lab, format, observes);
    if matches!(outcome, Err(Failure::Interrupted)) {
        command.clean_up(is_in_this_folder);
    }
    outcome
}

fn measure(mut sweep: Sweep, lab: &LabArgs, format: &FormatArgs, observes: bool) -> Result<()> {
    let start = ResultsStart::at(&sweep.folder);
    sweep.open().map_err(failure)?;
    let mut progress = lab.progress()?;
    let mut outcome = drive(&lab.options, &mut progress, |driver| sweep.run(driver));
    let curves = sweep.curves().map_err(failure)?;
    if let Some(costly) = costly_level(&curves, &sweep.plan.settings.find).filter(|_| observes)
        && outcome.is_ok()
    {
        outcome = observed_level::observe(&mut sweep, costly.level, lab, &mut progress);
    }
    let is_known = curves.rows.iter().any(|(_, curve)| has_costs(curve));
    if is_known {
        show(format, &curves, &sweep.plan.settings.find, Some(&sweep.folder))?;
    }
    let folder = sweep.folder.display();
    match outcome {
        Err(Failure::Interrupted) => {
            progress.say(&format!("stopped; run the same command again to resume it ({folder})"));
            Err(Failure::Interrupted)
        }
        Err(failure) if start.remove_if_failed() => {
            progress.say(&start.text());
            Err(failure)
        }
        Err(failure) => {
            progress.say(&format!("what was measured before is in {folder}"));
            Err(failure)
        }
        Ok(()) if !is_known => {
            let points = curves.rows.iter().flat_map(|(_, curve)| &curve.points);
            let mut reasons: Vec<&str> =
                points.filter_map(|point| point.problem.as_deref()).collect();
            reasons.sort_unstable();
            reasons.dedup();
            if start.remove_if_failed() {
                progress.say(&start.text());
            }
            Err(Failure::NotMeasured(anyhow!("no level has a cost: {}", reasons.join("; "))))
        }
        Ok(()) => {
            progress.say(&format!("run files: {folder}"));
            progress.say(&format!("print it again: thrashlab sweep --from {folder}"));
            Ok(())
        }
    }
}

pub(crate) fn has_costs(curve: &Curve) -> bool {
    curve.points.iter().any(|point| point.cost.is_some())
}

/// Prints existing measurements.
fn redraw(args: &SweepArgs, what: &str) -> Result<()> {
    let options = CurveOptions {
        over: args.source.level.clone().or_else(|| args.search.over.clone()),
        cost: args.source.cost.clone().or_else(|| args.search.response.clone()),
        work: args.source.work.clone(),
    };
    let curves = store::curves(what, &options).or_wrong("read the measurements")?;
    if !curves.rows.iter().any(|(_, curve)| has_costs(curve)) {
        return Err(wrong!("{what}: no level has a cost"));
    }
    let mut settings = settings_of(&curves);
    if let Some(least_rise) = args.search.least_rise {
        settings.knee.least_rise = least_rise;
    }
    if let Some(text) = args.search.present.as_ref().and_then(|level| level.as_str()) {
        let unit = curves.rows.first().map_or("", |(_, curve)| curve.level_unit.as_str());
        let form = match unit {
            "bytes" => Form::Size,
            "ns" => Form::Duration,
            _ => Form::Number,
        };
        let present = Quantity { form, quantum: 0.0 }.parse(text);
        let present = present.map_err(|why| wrong!("--present: {why}"))?;
        settings.present = Some(present);
    }
    show(&args.format, &curves, &settings, Some(Path::new(what)))
}

fn plan_of(curves: &Curves) -> Option<SweepPlan> {
    parse_sweep(curves.plan.as_deref()?).ok()
}

/// The settings of the curves' plan, if they have one.
pub(crate) fn settings_of(curves: &Curves) -> Settings {
    plan_of(curves).map_or_else(Settings::default, |plan| plan.settings.find)
}

/// The curves as they are shown; with the folder of their runs also what was observed.
pub(crate) fn view<'a>(
    curves: &'a Curves,
    settings: &Settings,
    folder: Option<&Path>,
) -> SweepView<'a> {
    let plan = plan_of(curves);
    let search = plan.as_ref().and_then(|plan| plan.search().ok());
    let ended_by_budget = |curve: &Curve| search.and_then(|search| search.ended_by_budget(curve));
    let row = |(label, curve): &'a (String, Curve)| SweepRow {
        label: label.clone(),
        curve,
        found: SweepResult { ended_by_budget: ended_by_budget(curve), ..find(curve, settings) },
    };
    let rows: Vec<SweepRow<'_>> = curves.rows.iter().map(row).collect();
    let observed =
        folder.zip(plan.as_ref()).and_then(|(folder, plan)| observed(folder, plan, &rows));
    SweepView {
        place: curves.place.clone(),
        settings: plan.map(|plan| plan.base).unwrap_or_default(),
        by: curves.by.clone(),
        rows,
        grid: curves.by.as_ref().map(|by| Grid::new(by, &curves.rows, settings)),
        observed,
        least_rise: settings.knee.least_rise,
    }
}

/// The level of a single curve to look at for what the work lacks, if there is a price.
fn costly_level(curves: &Curves, settings: &Settings) -> Option<PricedLevel> {
    let [(_, curve)] = &curves.rows[..] else { return None };
    find(curve, settings).priced?.costly().copied()
}

/// What a run at that level did, if one was observed.
fn observed(folder: &Path, plan: &SweepPlan, rows: &[SweepRow<'_>]) -> Option<String> {
    let [SweepRow { curve, found, .. }] = rows else { return None };
    let costly = found.priced.as_ref()?.costly()?;
    let (name, level) = (plan.observed_name(costly.level), Amounts::new(curve).level(costly.level));
    observed_level::sentence(folder, &name, &level, costly)
}

fn show(
    format: &FormatArgs,
    curves: &Curves,
    settings: &Settings,
    folder: Option<&Path>,
) -> Result<()> {
    let view = view(curves, settings, folder);
    let document = sweep_document(&view).with_json(|| as_json(&view));
    show_in(&document, format)
}

fn as_json(view: &SweepView<'_>) -> Value {
    if let ([SweepRow { curve, found, .. }], None) = (&view.rows[..], &view.grid) {
        let mut data = json!({ "place": view.place, "curve": curve, "found": found });
        if let Some(observed) = &view.observed {
            data["observed"] = json!(observed);
        }
        return data;
    }
    let row = |SweepRow { label, curve, found }: &SweepRow<'_>| json!({ "level": label, "curve": curve, "found": found });
    let rows: Vec<Value> = view.rows.iter().map(row).collect();
    json!({ "place": view.place, "by": view.by, "rows": rows, "grid": view.grid })
}

/// The plan as it is understood, and what would be measured first.
fn plan_text(plan: &SweepPlan) -> String {
    let rows = plan.rows();
    let levels = plan.search().map(|search| search.coarse_levels()).unwrap_or_default();
    let levels: Vec<String> = levels.iter().map(|level| plan.quantity.format(*level)).collect();
    let settings = &plan.settings;
    let each =
        if rows.len() > 1 { format!(" for each of {}", rows.join(", ")) } else { String::new() };
    let loops = if plan.needs_loops() { "# The loops are calibrated first.\n" } else { "" };
    format!(
        "{}\n# First the coarse levels {}, in {} passes, every second one on the way back{each}.\n\
         # Then refinement; at most {} measurements{each}.\n{loops}",
        plan.text(),
        levels.join(", "),
        settings.passes,
        settings.budget,
    )
}
