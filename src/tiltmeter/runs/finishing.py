"""From what models said to the result of a run: scores, measures and manifest."""

from collections.abc import Sequence

import pandas as pd

from tiltmeter.errors import ModelError
from tiltmeter.runs.answer_table import without_replies
from tiltmeter.runs.data_notes import data_notes, left_out_rows
from tiltmeter.runs.items import item_table, text_notes
from tiltmeter.runs.manifest import RefusedPart, SkippedItem, make_manifest, model_entry
from tiltmeter.runs.measuring import measure_scores, measuring_notes
from tiltmeter.runs.model_run import ModelRun
from tiltmeter.runs.portions import measures_of
from tiltmeter.runs.preparing import PreparedRun
from tiltmeter.runs.result import Result

_NO_TOKENS = "No tokens were kept: --keep-tokens is for sentence pairs whose texts a run may keep."


def finished(prepared: PreparedRun, runs: Sequence[ModelRun], seconds: float) -> Result:
    """The result of a run whose models took so many seconds; a ModelError if nothing could be scored."""
    chosen = prepared.chosen
    scores = [table for run in runs for table in run.scores if not table.empty]
    refused, skipped = [e for run in runs for e in run.refused], [e for run in runs for e in run.skipped]
    if not scores:
        raise ModelError(_why_nothing(refused, skipped))
    table = pd.concat(scores, ignore_index=True)
    scores.clear()
    for run in runs:
        run.scores.clear()  # they are in the table now, and there may be very many
    askings = [asking for run in runs for asking in run.askings]
    replied = [answers_table for run in runs for answers_table in run.answers]
    kept = [tokens for run in runs for tokens in run.tokens]
    families = {p.name: measures_of(p, chatting=prepared.is_chat) for p in chosen}
    margins = prepared.request.get("margins", {})
    return Result(
        scores=table,
        records=measure_scores(table, families, askings, margins),
        manifest=make_manifest(
            prepared.request,
            models=[model_entry(run.model) for run in runs],
            data=[
                portion.describe(len(all_items.items), is_chat=prepared.is_chat)
                for portion, all_items in zip(chosen, prepared.available, strict=True)
            ],
            asked=askings,
            left_out=left_out_rows(prepared.available),
            refused=refused,
            skipped=skipped,
            flagged=[entry for run in runs for entry in run.flagged],
            notes=[
                *data_notes(prepared.available, chosen),
                *dict.fromkeys(note for run in runs for note in run.notes),
                *([_NO_TOKENS] if prepared.settings.keep_tokens and not kept else []),
                *measuring_notes(table, families),
                *text_notes(chosen),
            ],
            margins=margins,
            seconds=seconds,
        ),
        texts=item_table(chosen),
        answers=without_replies(pd.concat(replied, ignore_index=True)) if replied else None,
        tokens=pd.concat(kept, ignore_index=True) if kept else None,
    )


def _why_nothing(refused: Sequence[RefusedPart], skipped: Sequence[SkippedItem]) -> str:
    reasons = [entry.reason for entry in refused]
    reasons += [f"No item could be scored, because {entry.reason}." for entry in skipped]
    return " ".join(dict.fromkeys(reasons)) or "No item could be scored."
