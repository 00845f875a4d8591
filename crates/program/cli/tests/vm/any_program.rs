//! Servers, language runtimes and compilers of Debian in guests: each twice, the second time next to
//! busy processes, and the same bytes. It takes many minutes, so it skips itself in `make test`.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::busy::Busy;
use crate::lab::{Lab, is_long};
use crate::skip::skip;

/// The roots; the second one has the largest program alone.
const SERVERS: &str = "debian:13,apache2-utils,fzf,gcc,libc6-dev,nginx-light,postgresql,python3,\
                       redis-server,redis-tools";
const JAVA: &str = "debian:13,default-jdk-headless";

struct Program {
    name: &'static str,
    root: &'static str,
    /// What follows `run`, up to the command.
    options: &'static [&'static str],
    command: &'static [&'static str],
}

const PROGRAMS: [Program; 7] = [
    Program {
        name: "python",
        root: SERVERS,
        options: &[],
        command: &[
            "python3",
            "-c",
            "import json, random; d = {str(random.random()): i for i in range(20000)}; \
             print(len(json.dumps(sorted(d))))",
        ],
    },
    Program {
        name: "gcc",
        root: SERVERS,
        options: &[
            "--setup",
            "printf '#include <stdio.h>\\nint main(void){puts(\"built\");}' > a.c",
        ],
        command: &["sh", "-c", "gcc -O2 a.c -o a && ./a"],
    },
    Program {
        name: "go",
        root: SERVERS,
        options: &[],
        command: &["sh", "-c", "seq 50000 | fzf --filter 77 | tail -n 1"],
    },
    Program {
        name: "redis",
        root: SERVERS,
        options: &[
            "--service",
            "redis-server --save '' --appendonly no",
            "--ready",
            "6379",
            "--metric",
            "GET: ([0-9.]+) requests per second",
        ],
        command: &["redis-benchmark", "-q", "-n", "2000", "-c", "10", "-t", "set,get"],
    },
    Program {
        name: "nginx",
        root: SERVERS,
        options: &[
            "--service",
            "nginx -g 'daemon off;'",
            "--ready",
            "80",
            "--metric",
            "Requests per second: +([0-9.]+)",
        ],
        command: &["ab", "-q", "-n", "500", "-c", "10", "http://127.0.0.1/"],
    },
    Program {
        name: "postgresql",
        root: SERVERS,
        options: &[
            "--setup",
            "install -d -o postgres /run/postgresql",
            "--service",
            "runuser -u postgres -- /usr/lib/postgresql/17/bin/postgres \
             -D /var/lib/postgresql/17/main -c config_file=/etc/postgresql/17/main/postgresql.conf",
            "--ready",
            "output:ready to accept connections",
            "--metric",
            "tps = ([0-9.]+)",
        ],
        command: &[
            "runuser",
            "-u",
            "postgres",
            "--",
            "sh",
            "-c",
            "pgbench -i -q && pgbench -c 4 -t 50",
        ],
    },
    Program {
        name: "java",
        root: JAVA,
        options: &[
            "--setup",
            "printf 'class A { public static void main(String[] a) { long s = 0; \
             for (int i = 0; i < 1000000; i++) s += Integer.toString(i).hashCode(); \
             System.out.println(s); } }' > A.java",
        ],
        command: &["java", "A.java"],
    },
];

/// Runs a program; returns the bytes of its run.
fn bytes(lab: &Lab, program: &Program, output: &str) -> Vec<u8> {
    let machine = lab.machine().replace("machine=micro", "machine=small-cloud");
    let subject = format!("vm:{machine},root={}", program.root);
    let output = lab.fixture.path().join(output).display().to_string();
    let usual = ["run", "--no-cache", "--load", "noload", "--runs", "2", "--subject", &subject];
    let arguments = [&usual[..], &["--output", &output], program.options, &["--"]].concat();
    lab.command(&[&arguments, program.command].concat()).expect(0, &[]);
    fs::read(Path::new(&output).join("001-noload-seed1.run.jsonl")).unwrap()
}

#[test]
fn programs_of_debian_are_the_same_bytes() {
    const NAME: &str = "programs_of_debian_are_the_same_bytes";
    let Some(lab) = Lab::new(NAME) else { return };
    if !is_long(NAME, "make test-distro") {
        return;
    }
    if Command::new("mmdebstrap").arg("--version").output().is_err() {
        skip(NAME, "mmdebstrap is not installed");
        return;
    }
    for program in &PROGRAMS {
        let begun = Instant::now();
        let quiet = bytes(&lab, program, &format!("{}-quiet", program.name));
        let busy = Busy::new();
        let pressed = bytes(&lab, program, &format!("{}-busy", program.name));
        drop(busy);
        assert!(quiet == pressed, "{}: the bytes differ", program.name);
        let run = model::Run::parse(&quiet).unwrap();
        assert_eq!(run.status(), model::EndStatus::Complete, "{}", program.name);
        // For the log of the night.
        eprintln!("{}: {} equal bytes, {:?}", program.name, quiet.len(), begun.elapsed());
    }
}
