//! Result files and folders of other programs, as their users have them, through the program.

use std::fs;
use std::path::Path;

use crate::support::{Finished, Fixture};

fn thrashlab(fixture: &Fixture, arguments: &str) -> Finished {
    fixture.finish(fixture.thrashlab(arguments))
}

/// Writes a file and the folders above it.
fn write(fixture: &Fixture, name: &str, text: &str) {
    let path = fixture.path().join(name);
    fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).unwrap();
    fs::write(path, text).unwrap();
}

/// A result file of the Phoronix Test Suite with these systems and their single values.
fn phoronix(systems: &[(&str, &str, &str)]) -> String {
    let mut text = "<?xml version=\"1.0\"?>\n<!--Phoronix Test Suite v10.8.4-->\n\
                    <PhoronixTestSuite>\n"
        .to_owned();
    let mut entries = String::new();
    for (system, kernel, single) in systems {
        text += &format!(
            "<System><Identifier>{system}</Identifier><Hardware>Processor: Some CPU</Hardware>\
             <Software>OS: Debian 12, Kernel: {kernel} (x86_64)</Software></System>\n"
        );
        entries += &format!(
            "<Entry><Identifier>{system}</Identifier><Value>1</Value>\
             <RawString>{single}</RawString></Entry>\n"
        );
    }
    text + "<Result><Identifier>pts/build-linux-kernel-1.15.0</Identifier>\
            <Description>Build: defconfig</Description><Scale>Seconds</Scale>\
            <Proportion>LIB</Proportion><Data>\n"
        + &entries
        + "</Data></Result>\n</PhoronixTestSuite>\n"
}

#[test]
fn systems_of_the_phoronix_test_suite_get_a_verdict_in_one_file_in_two_and_in_a_folder() {
    let fixture = Fixture::new();
    let old = ("v6.1", "6.1.0", "70.1:70.4:69.9:70.2:70.0");
    let new = ("v6.12", "6.12.9", "80.3:80.1:80.6:80.2:80.5");
    write(&fixture, "both.xml", &phoronix(&[old, new]));
    write(&fixture, "f/1.xml", &phoronix(&[old]));
    write(&fixture, "f/2.xml", &phoronix(&[new]));
    for arguments in
        ["compare both.xml --factor system", "compare f/1.xml f/2.xml", "compare f --factor system"]
    {
        let found = thrashlab(&fixture, arguments);
        found.expect(0, &[]);
        assert!(found.stdout.contains("×1.15") && found.stdout.contains("regression"), "{found:?}");
        assert!(found.stdout.contains("kernel") && found.stdout.contains("6.12.9"), "{found:?}");
    }
    let others = [("a", "6.1.0", "1:2"), ("b", "6.2.0", "1:2")];
    write(&fixture, "others.xml", &phoronix(&others));
    let apart = thrashlab(&fixture, "compare both.xml others.xml");
    apart.expect(2, &["both.xml has v6.1, v6.12; others.xml has a, b", "--factor system"]);
    write(&fixture, "cut.xml", &phoronix(&[old])[..200]);
    thrashlab(&fixture, "show cut.xml").expect(2, &["cut.xml: line ", "not XML"]);
}
