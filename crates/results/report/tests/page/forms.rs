//! A report as HTML, Markdown, text and JSON.

use model::{Header, Measure, SandboxSpec, Script, SessionSpec, SubjectSpec, Tools};
use render::Document;
use report::page::{Material, report};

use super::made_up::{folder, run, two_kernels, written};

fn html(document: &Document<'_>) -> String {
    written("html", document)
}

fn markdown(document: &Document<'_>) -> String {
    written("markdown", document)
}

fn text(document: &Document<'_>) -> String {
    written("text", document)
}

/// What may be in the name of a kernel.
const HOSTILE: &str = "</script><img src=x onerror=alert(1)>|`*";

fn hostile() -> Material<'static> {
    let quiet = run("001-noload", "noload", HOSTILE, &[4.0, 4.1, 4.2]);
    let loaded = run("002-cpuload", "cpuload", HOSTILE, &[9.0, 9.1, 9.2]);
    let inputs = vec![folder(HOSTILE, vec![quiet, loaded])];
    Material { inputs, notes: vec![HOSTILE.to_owned()], ..Material::default() }
}

#[test]
fn the_same_results_give_the_same_bytes() {
    let [first, second] = [(), ()].map(|()| {
        let material = two_kernels();
        let made = report(&material);
        [html(&made), markdown(&made), text(&made), written("json", &made)]
    });
    assert_eq!(first, second);
}

#[test]
fn a_page_needs_nothing_else_and_forbids_it() {
    let page = html(&report(&two_kernels()));
    assert!(page.contains("content=\"default-src 'none'; script-src 'unsafe-inline'"));
    let before_scripts = page.split("<script>").next().unwrap();
    for loads in ["src=", "@import", "url(", "<link rel=\"stylesheet\""] {
        assert!(!before_scripts.contains(loads), "{loads}");
    }
    assert!(page.len() < 1_500_000);
}

#[test]
fn what_a_result_says_stays_text() {
    let material = hostile();
    let made = report(&material);
    let page = html(&made);
    assert!(!page.contains("<img"), "markup of a result is in the page");
    // Charts, Vega and our own script: nothing else ends a script.
    assert_eq!(page.matches("</script").count(), 3);
    let text = markdown(&made);
    // Text in a fence is not markup.
    let outside: String = text.split("```").step_by(2).collect();
    assert!(!outside.contains("<img"), "{outside}");
    assert!(outside.contains(r"&lt;img") && outside.contains(r"\|\`\*"), "{outside}");
}

#[test]
fn a_pull_request_gets_the_verdicts_first() {
    let material = two_kernels();
    let made = report(&material);
    let text = markdown(&made);
    let head: String = text.lines().take(13).map(|line| format!("{line}\n")).collect();
    insta::assert_snapshot!(head);
    assert!(text.contains("<details><summary>"));
}

#[test]
fn the_text_has_all_tables() {
    insta::assert_snapshot!(text(&report(&two_kernels())));
}

#[test]
fn the_commands_make_the_results_again() {
    let material = two_kernels();
    let made = text(&report(&material));
    let command = "thrashlab run --subject sandbox:mem=512M --probe response --load largewrite --quick --seed 7";
    assert_eq!(made.matches(command).count(), 2, "{made}");
    assert!(made.contains("thrashlab report before after -o report.html"), "{made}");
}

/// What "How to reproduce" lists for a run.
fn reproduced(change: impl Fn(&mut Header)) -> String {
    let mut run = run("002-cpuload", "cpuload", "6.1.0", &[9.0, 9.1, 9.2]);
    change(run.header.as_mut().expect("a header"));
    let inputs = vec![folder("results", vec![run])];
    let material = Material { inputs, ..Material::default() };
    let made = text(&report(&material));
    let (_, section) = made.split_once("How to reproduce").expect("the section");
    let (section, _) = section.split_once("This report, from the same files:").expect("its end");
    section.trim_matches(|c: char| c == '=' || c.is_whitespace()).to_owned()
}

#[test]
fn a_command_has_every_limit_the_dose_the_swap_file_and_the_machine_it_was_on() {
    let found = reproduced(|header| {
        header.spec.subject = SubjectSpec::Sandbox(SandboxSpec {
            memory_bytes: 512 << 20,
            high_bytes: Some(400 << 20),
            cpus_milli: Some(1500),
            processes: Some(99),
        });
        header.spec.load.intensity = 0.5;
        header.spec.sysctls.insert("vm.swappiness".to_owned(), "10".to_owned());
        for (fact, value) in [
            ("remote", "ssh://me@box"),
            ("swaps", "/var/tmp/thrashlab-0/swap-71 file 1048572kB priority -2"),
            ("disk_filesystem", "ext4"),
            ("disk_device", "/dev/vda1"),
        ] {
            header.environment.insert(fact.to_owned(), value.to_owned());
        }
    });
    insta::assert_snapshot!(found, @r"
    thrashlab run --subject ssh://me@box,sandbox:mem=512M,high=400M,cpus=1.5,pids=99 --swap 1G --probe response --load cpuload --quick --intensity 0.5 --seed 7

    Which folder the files of loads and measures were in (--work-dir) is not
    recorded; it was on ext4 of /dev/vda1.

    vm.swappiness was set to 10, which a plan does (sysctl.vm.swappiness), but not
    the command.

    Measured with thrashlab 0.1.0.
    ");
}

#[test]
fn a_command_has_the_script_as_a_file_or_what_was_changed_of_the_one_that_ships() {
    let session = |script: Script| {
        reproduced(|header| {
            let script = script.clone();
            header.spec.measure = Measure::Session(Box::new(SessionSpec { version: 1, script }));
        })
    };
    let mut script = workloads::parse_script(workloads::DEFAULT_SCRIPT).unwrap();
    script.users = 12;
    script.think_ns = 500_000_000;
    script.tools = Tools::Builtin;
    insta::assert_snapshot!(session(script.clone()), @r"
    thrashlab run --subject sandbox:mem=512M --job session --set think=500ms --set tools=builtin --users 12 --load cpuload --seed 7

    Which folder the files of loads and measures were in (--work-dir) is not
    recorded.

    Measured with thrashlab 0.1.0.
    ");
    script.commands.truncate(1);
    script.name = "my own".to_owned();
    insta::assert_snapshot!(session(script), @r#"
    thrashlab run --subject sandbox:mem=512M --job session --script my-own.toml --load cpuload --seed 7

    my-own.toml

    name = "my own"
    version = 1
    users = 12
    think = "500ms"
    limit = "60s"
    tools = "builtin"

    [[command]]
    name = "edit"
    run = ["sed", "-n", "-e", 's/\([a-z]*\)ing/<\1>/g', "-e", "s/the/THE/g", "-e", "w {dir}/edited.txt", "{dir}/text/report.txt"]
    builtin = ["edit", "{dir}/text/report.txt", "{dir}/edited.txt"]

    Which folder the files of loads and measures were in (--work-dir) is not
    recorded.

    Measured with thrashlab 0.1.0.
    "#);
}

#[test]
fn doses_have_commands_of_their_own_and_no_load_is_said() {
    let with = |loads: &[(&str, f64)]| {
        let runs = loads.iter().map(|(load, dose)| {
            let mut run = run("001", load, "6.1.0", &[9.0, 9.1, 9.2]);
            run.header.as_mut().unwrap().spec.load.intensity = *dose;
            run
        });
        let inputs = vec![folder("results", runs.collect())];
        let material = Material { inputs, ..Material::default() };
        let made = text(&report(&material));
        let commands = made.lines().map(str::trim).filter(|line| line.starts_with("thrashlab run"));
        commands.map(str::to_owned).collect::<Vec<_>>()
    };
    let start = "thrashlab run --subject sandbox:mem=512M --probe response";
    assert_eq!(
        with(&[("noload", 1.0), ("cpuload", 1.0), ("cpuload", 0.5)]),
        [
            format!("{start} --load cpuload --quick --seed 7"),
            format!("{start} --load cpuload --quick --intensity 0.5 --seed 7")
        ]
    );
    assert_eq!(with(&[("noload", 1.0)]), [format!("{start} --load noload --quick --seed 7")]);
}

#[test]
fn a_command_has_parameters_as_they_are_typed() {
    let found = reproduced(|header| {
        let touch = workloads::find_job("touch").unwrap();
        header.spec.measure = touch.spec().into();
    });
    let (_, command) = found.split_once("--job touch ").unwrap();
    let words = command.lines().next().unwrap().split(" --set ");
    let mut job = workloads::find_job("touch").unwrap().spec();
    let mut settings = 0;
    for word in words.map(|word| word.trim_start_matches("--set ").split(' ').next().unwrap()) {
        let (name, value) = word.split_once('=').unwrap();
        workloads::find_job("touch").unwrap().set(&mut job, name, value).unwrap();
        settings += 1;
    }
    assert_eq!(job, workloads::find_job("touch").unwrap().spec());
    assert_eq!(settings, job.params.len() + job.choices.len());
}

#[test]
fn nothing_is_a_report_too() {
    let material = Material::default();
    let made = report(&material);
    assert!(made.sections.iter().all(|section| section.id == "reproduce"));
    assert!(html(&made).contains("</html>"));
}
