"""The study: tables of scores, comparisons of suites, and trends over the mutants' parameters."""
