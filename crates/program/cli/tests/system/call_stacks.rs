//! How far call stacks reach.

use std::fs;

use crate::recorded::compile;
use crate::sampled::{TRUTH, can_sample, profiled, sum_of};
use crate::skip::skip;
use crate::support::{Fixture, is_root};

/// A function that works below a frame of 30 kB, all of which is in memory: only that can be copied.
const DEEP: &str = r#"
#include "products.h"
static volatile unsigned long sum;
__attribute__((noinline)) static void works(long n) PRODUCTS(sum, n, 6364136223846793005)
__attribute__((noinline)) static void deep(void) {
    volatile char frame[30000];
    for (int page = 0; page < 30000; page += 1000) frame[page] = 1;
    works(80000000);
    sum += frame[0];
}
int main(void) {
    for (int round = 0; round < 5; round++) { deep(); sum++; }
    return 0;
}
"#;

/// Starts a program 300 times that hardly does anything.
const SHORT: &str = r#"
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    for (int child = 0; child < 300; child++) {
        if (fork() == 0) { execlp("cat", "cat", "/dev/null", (char *)0); _exit(1); }
        wait(0);
    }
    return 0;
}
"#;

#[test]
fn call_stacks_reach_the_beginning_of_a_deep_one_and_of_the_loader() {
    const NAME: &str = "call_stacks_reach_the_beginning_of_a_deep_one_and_of_the_loader";
    let fixture = Fixture::new();
    if !can_sample(NAME, &fixture) {
        return;
    }
    compile(&fixture, "deep.c", DEEP, &["-O1", "-fomit-frame-pointer"]);
    let stacks = |program: &str| {
        profiled(&fixture, "--collapsed stacks.txt", program);
        fs::read_to_string(fixture.path().join("stacks.txt")).unwrap()
    };
    let of_deep = stacks("deep");
    let [all, whole] =
        ["works_[deep]", "main_[deep];deep_[deep];works_[deep]"].map(|name| sum_of(&of_deep, name));
    // Others have less memory for samples.
    assert!(!is_root() || all > 0.0 && whole > 0.9 * all, "{of_deep}");
    // The time of short programs is mostly that of the dynamic loader.
    compile(&fixture, "short.c", SHORT, &["-O1"]);
    let of_short = stacks("short");
    let loader: Vec<&str> = of_short.lines().filter(|line| line.contains("[ld-")).collect();
    let loader = loader.join("\n");
    let (all, cut) = (sum_of(&loader, "[ld-"), sum_of(&loader, "cut_off"));
    assert!(all > 0.0 && cut < 0.1 * all, "{loader}");
}

#[test]
fn an_ordinary_user_sees_where_own_programs_wait() {
    const NAME: &str = "other_users_see_where_own_programs_wait";
    if !is_root() {
        return skip(NAME, "only root has processes of other users");
    }
    let fixture = Fixture::of_user(65534);
    if !can_sample(NAME, &fixture) {
        return;
    }
    compile(&fixture, "truth.c", TRUTH, &["-O2", "-fomit-frame-pointer", "-pthread"]);
    let (_, measured) = profiled(&fixture, "--waits --collapsed waits.txt", "truth");
    let stacks = fs::read_to_string(fixture.path().join("waits.txt")).unwrap();
    // Where nobody looked in time, that is said.
    let unknown = sum_of(&stacks, "not_recorded");
    for name in ["sleeps", "waits_for_lock"] {
        let seen = sum_of(&stacks, &format!("{name}_[truth]"));
        assert!(seen <= 1.02 * measured[name], "{name}: {measured:?} {stacks}");
        assert!(seen + unknown >= 0.98 * measured[name], "{name}: {measured:?} {stacks}");
    }
}
