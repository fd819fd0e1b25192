"""Layouts: the forms of the tables of papers, each declared by one TOML file in this folder."""

from tiltmeter.reports.layouts.layout import Layout, list_layouts, load_layout
from tiltmeter.reports.layouts.layout_table import BOLD_RULES, lay_out_runs

__all__ = ["BOLD_RULES", "Layout", "lay_out_runs", "list_layouts", "load_layout"]
