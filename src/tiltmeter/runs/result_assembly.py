"""Build the result of a run (scores, measures and manifest) from the output of its models."""

from collections.abc import Sequence

import pandas as pd

from tiltmeter.errors import ModelError
from tiltmeter.measures.looks import Look
from tiltmeter.runs.answer_table import drop_restricted_replies
from tiltmeter.runs.data_notes import describe_data_problems, list_omitted_rows
from tiltmeter.runs.fixed_factors import read_fixed_factors
from tiltmeter.runs.manifest import RefusedPart, UnscoredItem, build_manifest, build_model_entry
from tiltmeter.runs.measurement import collect_measure_notes, measure_scores, read_families
from tiltmeter.runs.model_output import ModelOutput
from tiltmeter.runs.portions import select_measure_module
from tiltmeter.runs.result import Result
from tiltmeter.runs.run_items import build_item_table, describe_omitted_texts
from tiltmeter.runs.run_preparation import PreparedRun

_NO_TOKENS = "No tokens were stored: --keep-tokens works only for sentence pairs with a stated licence."


def assemble_result(
    prepared: PreparedRun, runs: Sequence[ModelOutput], looks: Sequence[Look], seconds: float
) -> Result:
    """Return the result of a run that took `seconds`; raise a ModelError if nothing could be scored.

    `looks` are the tests of this run; each lists the earlier tests of the same items.
    """
    chosen = prepared.chosen
    scores = [table for run in runs for table in run.scores if not table.empty]
    refused, skipped = [e for run in runs for e in run.refused], [e for run in runs for e in run.skipped]
    if not scores:
        raise ModelError(_explain_empty_result(refused, skipped))
    table = pd.concat(scores, ignore_index=True)
    scores.clear()
    for run in runs:
        run.scores.clear()  # free memory: `table` contains these scores
    conditions = [entry for run in runs for entry in run.conditions]
    answers = [answers_table for run in runs for answers_table in run.answers]
    tokens = [tokens_table for run in runs for tokens_table in run.tokens]
    measure_modules = {p.name: select_measure_module(p, is_chat=prepared.is_chat) for p in chosen}
    margins, families = prepared.request.get("margins", {}), read_families(prepared.settings.family)
    fixed = read_fixed_factors(prepared.settings.fixed, {portion.form for portion in chosen})
    return Result(
        scores=table,
        records=measure_scores(
            table, measure_modules, conditions, margins, skipped, families=families, fixed=fixed, looks=looks
        ),
        manifest=build_manifest(
            prepared.request,
            models=[build_model_entry(run.model) for run in runs],
            data=[
                portion.describe(len(all_items.items), is_chat=prepared.is_chat)
                for portion, all_items in zip(chosen, prepared.available, strict=True)
            ],
            asked=conditions,
            left_out=list_omitted_rows(prepared.available),
            refused=refused,
            skipped=skipped,
            flagged=[entry for run in runs for entry in run.flagged],
            notes=[
                *describe_data_problems(prepared.available, chosen),
                *dict.fromkeys(note for run in runs for note in run.notes),
                *([_NO_TOKENS] if prepared.settings.keep_tokens and not tokens else []),
                *collect_measure_notes(table, measure_modules),
                *describe_omitted_texts(chosen),
            ],
            looks=looks,
            margins=margins,
            families=families,
            fixed=fixed,
            seconds=seconds,
        ),
        texts=build_item_table(chosen),
        answers=drop_restricted_replies(pd.concat(answers, ignore_index=True)) if answers else None,
        tokens=pd.concat(tokens, ignore_index=True) if tokens else None,
    )


def _explain_empty_result(refused: Sequence[RefusedPart], skipped: Sequence[UnscoredItem]) -> str:
    reasons = [entry.reason for entry in refused]
    reasons += [f"No item could be scored, because {entry.reason}." for entry in skipped]
    return " ".join(dict.fromkeys(reasons)) or "No item could be scored."
