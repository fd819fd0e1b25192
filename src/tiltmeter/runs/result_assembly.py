"""From what models said to the result of a run: scores, measures and manifest."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from tiltmeter.errors import ModelError
from tiltmeter.runs.answer_table import without_replies
from tiltmeter.runs.conditions import conditions_to_dicts
from tiltmeter.runs.data_notes import describe_data_problems, list_omitted_rows
from tiltmeter.runs.manifest import build_manifest
from tiltmeter.runs.measurement import collect_measure_notes, measure_scores
from tiltmeter.runs.model_output import ModelOutput
from tiltmeter.runs.portions import select_measure_module
from tiltmeter.runs.preparation import PreparedRun
from tiltmeter.runs.result import Result
from tiltmeter.runs.run_items import build_item_table, describe_omitted_texts

_NO_TOKENS = "No tokens were kept: --keep-tokens is for sentence pairs whose texts a run may keep."


def assemble_result(prepared: PreparedRun, runs: Sequence[ModelOutput], seconds: float) -> Result:
    """The result of a run whose models took so many seconds; a ModelError if nothing could be scored."""
    chosen = prepared.chosen
    scores = [table for run in runs for table in run.scores if not table.empty]
    refused, skipped = [e for run in runs for e in run.refused], [e for run in runs for e in run.skipped]
    if not scores:
        raise ModelError(_explain_empty_result(refused, skipped))
    table = pd.concat(scores, ignore_index=True)
    scores.clear()
    for run in runs:
        run.scores.clear()  # they are in the table now, and there may be very many
    askings = [asking for run in runs for asking in run.askings]
    replied = [answers_table for run in runs for answers_table in run.answers]
    kept = [tokens for run in runs for tokens in run.tokens]
    families = {p.name: select_measure_module(p, chatting=prepared.is_chat) for p in chosen}
    margins = prepared.request.get("margins", {})
    return Result(
        scores=table,
        records=measure_scores(table, families, askings, margins),
        manifest=build_manifest(
            prepared.request,
            models=[run.model for run in runs],
            data=[
                {**portion.describe(), "available": len(all_items.items)}
                for portion, all_items in zip(chosen, prepared.available, strict=True)
            ],
            asked=conditions_to_dicts(askings),
            left_out=list_omitted_rows(prepared.available),
            refused=refused,
            skipped=skipped,
            flagged=[entry for run in runs for entry in run.flagged],
            notes=[
                *describe_data_problems(prepared.available, chosen),
                *dict.fromkeys(note for run in runs for note in run.notes),
                *([_NO_TOKENS] if prepared.settings.keep_tokens and not kept else []),
                *collect_measure_notes(table, families),
                *describe_omitted_texts(chosen),
            ],
            margins=margins,
            seconds=seconds,
        ),
        texts=build_item_table(chosen),
        answers=without_replies(pd.concat(replied, ignore_index=True)) if replied else None,
        tokens=pd.concat(kept, ignore_index=True) if kept else None,
    )


def _explain_empty_result(refused: Sequence[Mapping[str, Any]], skipped: Sequence[Mapping[str, Any]]) -> str:
    reasons = [str(entry["reason"]) for entry in refused]
    reasons += [f"No item could be scored, because {entry['reason']}." for entry in skipped]
    return " ".join(dict.fromkeys(reasons)) or "No item could be scored."
