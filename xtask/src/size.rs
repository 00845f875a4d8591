//! How large the product is: lines by crate, tests apart.

use std::collections::BTreeMap;

use crate::product::Product;

/// Lines of one crate.
#[derive(Clone, Copy, Default)]
struct Lines {
    product: usize,
    code: usize,
    tests: usize,
}

/// A table with a row a crate, the largest first, and the sum.
///
/// `product` counts all lines that are compiled outside tests, `code` those of them that are
/// neither empty nor comments, `tests` the rest.
pub(crate) fn table(product: &Product) -> String {
    let mut crates: BTreeMap<&str, Lines> = BTreeMap::new();
    for file in &product.files {
        let lines = crates.entry(&file.crate_name).or_default();
        lines.product += file.text.lines().count();
        lines.code += file.text.lines().filter(|line| is_code(line)).count();
    }
    for (name, tests) in &product.test_lines {
        crates.entry(name).or_default().tests = *tests;
    }
    let mut rows: Vec<(&str, Lines)> = crates.into_iter().collect();
    rows.sort_by_key(|(name, lines)| (std::cmp::Reverse(lines.product), *name));
    let sum = rows.iter().fold(Lines::default(), |sum, (_, lines)| Lines {
        product: sum.product + lines.product,
        code: sum.code + lines.code,
        tests: sum.tests + lines.tests,
    });
    rows.push(("sum", sum));
    let mut text = format!("{:<24} {:>8} {:>8} {:>8}\n", "crate", "product", "code", "tests");
    for (name, lines) in rows {
        let Lines { product, code, tests } = lines;
        text += &format!("{name:<24} {product:>8} {code:>8} {tests:>8}\n");
    }
    text
}

fn is_code(line: &str) -> bool {
    let line = line.trim_start();
    !line.is_empty() && !line.starts_with("//")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::SourceFile;

    #[test]
    fn comments_and_tests_are_no_code() {
        let file = |path: &str, text: &str| SourceFile {
            path: path.to_owned(),
            text: Some(text.to_owned()),
        };
        let files = [
            file("crates/w/a/src/lib.rs", "//! Why.\n\nfn a() {}\n#[cfg(test)]\nmod tests {\n}\n"),
            file("crates/w/b/src/lib.rs", "fn b() {\n    1;\n}\nfn c() {}\n"),
            file("crates/w/b/tests/t.rs", "x\n"),
        ];
        let rows: Vec<String> = table(&Product::of(&files)).lines().map(str::to_owned).collect();
        let rows: Vec<Vec<&str>> =
            rows.iter().map(|row| row.split_whitespace().collect()).collect();
        assert_eq!(
            rows[1..],
            [vec!["w/b", "4", "4", "1"], vec!["w/a", "3", "1", "3"], vec!["sum", "7", "5", "4"]]
        );
    }
}
