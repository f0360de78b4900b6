"""Pure grading: assertions, scoring, statistics, judge parsing, gate."""
