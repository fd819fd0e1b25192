"""Comparison of runs item by item, and rules that a run is checked against."""

from tiltmeter.comparing.comparison import compare
from tiltmeter.comparing.config import Config, read_config
from tiltmeter.comparing.gate_rules import Rule, parse_rule
from tiltmeter.comparing.judge import check
from tiltmeter.comparing.paired_difference import Comparison, Difference
from tiltmeter.comparing.rule_verdict import Outcome, RuleVerdict

__all__ = [
    "Comparison",
    "Config",
    "Difference",
    "Outcome",
    "Rule",
    "RuleVerdict",
    "check",
    "compare",
    "parse_rule",
    "read_config",
]
