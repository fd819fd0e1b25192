"""A reproduction as JSON: every number with its cell, recomputed value, and the reason if it differs or is missing."""

from typing import Any

from tiltmeter.papers.consistency_checks import check_consistency
from tiltmeter.papers.output.reproduction_tables import list_explained_numbers, summarize_tables
from tiltmeter.papers.reproduction import Reproduction
from tiltmeter.printable_text import format_json


def to_json(reproduction: Reproduction) -> str:
    """Return the whole reproduction as JSON."""
    content: dict[str, Any] = {
        "holds": reproduction.has_only_known_differences,
        "papers": {
            paper.key: {
                "citation": paper.citation,
                "captions": dict(paper.captions),
                "not_recomputed": {omitted.place: omitted.reason for omitted in paper.left_out},
            }
            for paper in reproduction.list_papers()
        },
        "summary": [
            {
                "paper": line.paper,
                "table": line.table,
                "kind": line.kind,
                "printed": line.number_count,
                "not printed": line.unprinted_count,
                **line.counts,
            }
            for line in summarize_tables(reproduction)
        ],
        "numbers": [
            {
                "paper": outcome.printed.paper.key,
                "table": outcome.printed.table,
                **outcome.printed.cell,
                "kind": outcome.printed.kind,
                "printed": outcome.printed.text,
                "ours": outcome.ours,
                "status": outcome.status,
                "source": outcome.source,
                "reason": outcome.reason.id if outcome.reason else None,
                "note": outcome.note or None,
                "missing_file": outcome.missing_file or None,
            }
            for outcome in reproduction.outcomes
        ],
        "reasons": [
            {
                "paper": group.paper,
                "id": group.reason,
                "tolerance": group.is_tolerance,
                "numbers": len(group.outcomes),
                "summary": group.summary,
                "evidence": group.evidence,
            }
            for group in list_explained_numbers(reproduction)
        ],
        "remarks": [
            {
                "paper": remark.paper,
                "tables": list(remark.tables),
                "text": remark.text,
                "evidence": remark.evidence,
            }
            for remark in reproduction.list_remarks()
        ],
        "cross_checks": [
            {
                "name": check.name,
                "numbers": check.numbers,
                "contradictions": [
                    {
                        "paper": contradiction.number.paper.key,
                        "table": contradiction.number.table,
                        **contradiction.number.cell,
                        "printed": contradiction.number.text,
                        "but": contradiction.other,
                    }
                    for contradiction in check.contradictions
                ],
            }
            for check in check_consistency([outcome.printed for outcome in reproduction.outcomes])
        ],
        "files": [
            {"file": name, "hash_checked": used.known, "sha256": used.sha256}
            for name, used in sorted(reproduction.files.items())
        ],
    }
    return format_json(content)
