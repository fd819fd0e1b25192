"""Gates: rules that a run must meet, judged on the ends of its intervals."""

from tiltmeter.checks.config import Config, read_config
from tiltmeter.checks.judge import check
from tiltmeter.checks.rules import Rule, parse_rule
from tiltmeter.checks.verdict import Outcome, RuleVerdict

__all__ = ["Config", "Outcome", "Rule", "RuleVerdict", "check", "parse_rule", "read_config"]
