"""Comparison of runs item by item, and checks of runs against rules."""

from tiltmeter.comparing.comparison import compare
from tiltmeter.comparing.gate_check import check
from tiltmeter.comparing.gate_config import GateConfig, read_gate_config
from tiltmeter.comparing.gate_rules import Rule, parse_rule
from tiltmeter.comparing.gate_verdict import RuleOutcome, RuleVerdict
from tiltmeter.comparing.paired_difference import Comparison, Difference

__all__ = [
    "Comparison",
    "Difference",
    "GateConfig",
    "Rule",
    "RuleOutcome",
    "RuleVerdict",
    "check",
    "compare",
    "parse_rule",
    "read_gate_config",
]
