//! Comparisons of published and imported results, from the file to the text.
#![expect(clippy::unwrap_used, reason = "all of this is a test")]

use analysis::comparison::{Request, compare};
use render::plain_text;
use report::{comparison_document, dataset_document};
use store::observations;

/// The text of a comparison of inputs, or of the levels of a factor.
fn text(inputs: &[&str], factor: Option<&str>) -> String {
    let sets: Vec<_> = inputs.iter().map(|input| observations(input).unwrap()).collect();
    let request = Request { factor: factor.map(str::to_owned), ..Request::default() };
    plain_text(&comparison_document(&compare(&sets, &request).unwrap()))
}

/// A file by its path from the crate's folder, in which its tests run: lines are broken by the
/// length of the name.
fn foreign(name: &str) -> String {
    format!("tests/foreign/{name}")
}

#[test]
fn the_first_experiment_of_1973_is_a_regression_that_no_rank_test_sees() {
    let text = text(&["reference:multics/experiment1"], Some("system"));
    let all_words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "×1.49 [1.33, 1.67] regression Welch on log",
        "The rank test could not have reached 0.05 with 4 v 3 values: the smallest possible p is \
         0.0571",
        "exact permutation test of the means, p 0.0286",
    ] {
        assert!(all_words.contains(words), "{text}");
    }
    insta::assert_snapshot!("experiment1", text);
}

#[test]
fn the_other_experiments_in_the_shape_of_their_source() {
    for (name, experiment) in [("experiment2", 2), ("experiment3", 3), ("experiment4", 4)] {
        let input = format!("reference:multics/experiment{experiment}");
        insta::assert_snapshot!(name, text(&[&input], Some("system")));
    }
}

#[test]
fn two_kernels_by_resp1_have_verdicts_where_their_points_are_determined() {
    let text = text(&["reference:resp1/2.4.20", "reference:resp1/2.6.0-test11"], None);
    insta::assert_snapshot!("resp1", text);
}

#[test]
fn commands_of_one_export_of_hyperfine() {
    let file = foreign("hyperfine.json");
    let text = text(&[&file], Some("command"));
    insta::assert_snapshot!("hyperfine", text);
}

#[test]
fn go_benchmarks_against_themselves_are_equivalent() {
    let file = foreign("go.txt");
    let text = text(&[&file, &file], None);
    insta::assert_snapshot!("go", text);
}

#[test]
fn what_was_understood_of_a_file() {
    let file = foreign("google.json");
    let text = plain_text(&dataset_document(&observations(&file).unwrap()));
    insta::assert_snapshot!("google", text);
    insta::assert_snapshot!(
        "imported_experiment3",
        plain_text(&dataset_document(&observations("reference:multics/experiment3").unwrap()))
    );
}
