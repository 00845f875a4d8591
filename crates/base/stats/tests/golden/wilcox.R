# Writes wilcox.json: Hodges and Lehmann's ratio and its interval by R's wilcox.test on logarithms.
# Run in this directory: Rscript wilcox.R   (base R alone; no values are tied, as `exact` requires)
set.seed(1987)
baselines <- list(c(128, 137, 131, 137.5), c(10, 12, 11, 13, 200), round(exp(rnorm(10, 5, 0.5)), 3))
treateds <- list(c(212, 191, 194), c(15, 17.5, 16, 310, 21), round(exp(rnorm(8, 5.3, 0.5)), 3))
number <- function(x) paste(sprintf("%.17g", x), collapse = ", ")
cases <- c()
for (i in seq_along(baselines)) {
  for (confidence in c(0.8, 0.9, 0.95)) {
    # When the level cannot be attained wilcox.test gives the full range, and may not say so.
    found <- suppressWarnings(wilcox.test(log(treateds[[i]]), log(baselines[[i]]),
      conf.int = TRUE, exact = TRUE, conf.level = confidence))
    cases <- c(cases, sprintf(
      '{"baseline": [%s], "treated": [%s], "confidence": %s, "ratio": %s, "low": %s, "high": %s, "p": %s}',
      number(baselines[[i]]), number(treateds[[i]]), number(confidence),
      number(exp(found$estimate)), number(exp(found$conf.int[1])), number(exp(found$conf.int[2])),
      number(found$p.value)))
  }
}
writeLines(c("[", paste(cases, collapse = ",\n"), "]"), "wilcox.json")
