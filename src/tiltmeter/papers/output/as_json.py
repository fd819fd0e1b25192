"""A reproduction as JSON: every number with its place, what was found, and why it differs or is not there."""

import json
from typing import Any

from tiltmeter.papers.crosschecks import cross_check
from tiltmeter.papers.output.layout import by_reason, evidence, reason_of, summary
from tiltmeter.papers.reproduction import Reproduction


def to_json(found: Reproduction) -> str:
    """The whole reproduction."""
    content: dict[str, Any] = {
        "holds": found.holds,
        "papers": {
            paper.key: {"citation": paper.citation, "captions": dict(paper.captions)} for paper in found.papers()
        },
        "summary": [
            {"paper": line.paper, "table": line.table, "kind": line.kind, **line.counts} for line in summary(found)
        ],
        "numbers": [
            {
                "paper": outcome.printed.paper.key,
                "table": outcome.printed.table,
                **outcome.printed.place,
                "kind": outcome.printed.kind,
                "printed": outcome.printed.text,
                "ours": outcome.ours,
                "status": outcome.status,
                "source": outcome.source,
                "reason": outcome.reason.id if outcome.reason else None,
                "note": outcome.note or None,
            }
            for outcome in found.outcomes
        ],
        "reasons": _reasons(found),
        "remarks": [
            {"paper": one.paper, "tables": list(one.tables), "text": one.text, "evidence": one.evidence}
            for one in found.remarks()
        ],
        "cross_checks": [
            {
                "name": check.name,
                "numbers": check.numbers,
                "contradictions": [
                    {
                        "paper": wrong.number.paper.key,
                        "table": wrong.number.table,
                        **wrong.number.place,
                        "printed": wrong.number.text,
                        "but": wrong.other,
                    }
                    for wrong in check.contradictions
                ],
            }
            for check in cross_check([outcome.printed for outcome in found.outcomes])
        ],
        "files": [{"file": name, "hash_checked": checked} for name, checked in sorted(found.files.items())],
    }
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)


def _reasons(found: Reproduction) -> list[dict[str, Any]]:
    return [
        {
            "paper": paper,
            "id": name,
            "numbers": len(outcomes),
            "summary": reason_of(outcomes).summary,
            "evidence": evidence(outcomes),
        }
        for (paper, name), outcomes in by_reason(found).items()
    ]
