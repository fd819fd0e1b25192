"""`tiltmeter run`: measure models."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from tiltmeter.cli.option_parameters import add_option_parameters
from tiltmeter.cli.output import print_result
from tiltmeter.errors import UsageError
from tiltmeter.options import ChatOptions, ModelOptions, RunSettings

# A default for the parameters that `add_option_parameters` replaces; Python requires one, because earlier parameters
# have defaults.
_GROUP: Any = None


@add_option_parameters
def run(
    context: typer.Context,
    models: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MODEL",
            help="The models: hub ids (`id` or `id@revision`), folders, .gguf files, `embedded` (the default: the "
            "built-in model SmolLM2-135M-Instruct), "
            "adapters (`FOLDER` or `BASE+ADAPTER`), servers (`openai:MODEL@URL`) or chat models (`chat:MODEL@URL`, "
            "`chat:FOLDER_OR_ID`, `anthropic:MODEL`). See docs/how-to/models.md.",
        ),
    ] = None,
    on: Annotated[
        list[str] | None,
        typer.Option(
            "--on",
            metavar="BENCHMARK",
            help="The data set or file of items: `stereoset:en,de`, `stereoset/intrasentence`, `my.jsonl`; repeat the "
            "option for more.",
        ),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD=COLUMN,…",
            help="The columns of a CSV, TSV or Excel file of items, if their names are not recognised: "
            "`more=sentence1,less=sentence2`.",
            rich_help_panel="Items and statistics",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Save the run to this folder.")] = None,
    settings: RunSettings = _GROUP,
    options: ModelOptions = _GROUP,
    chat: ChatOptions = _GROUP,
    edition: Annotated[
        str | None,
        typer.Option(
            help="The edition of GEST: `1.1` (the default), or `1.0` as in the published results.",
            rich_help_panel="Items and statistics",
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite the run that the folder --out already contains.")
    ] = False,
    report: Annotated[
        bool | None,
        typer.Option(
            "--report/--no-report",
            help="Whether to write `report.html` to the folder of --out; the default is --report.",
        ),
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print errors only: no progress, notes or results.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print all values as JSON instead of tables.")] = False,
    log_to: Annotated[
        list[str] | None,
        typer.Option(
            "--log-to",
            metavar="TRACKER",
            help="Also log the numbers to `mlflow`, `trackio` or `wandb`; repeat the option for more.",
        ),
    ] = None,
    translator: Annotated[
        str | None,
        typer.Option(
            metavar="SYSTEM",
            help="Measure a translation system: `nllb:MODEL`, `amazon`, `deepl`, `google`, `apertium:eng-spa`, "
            "`apy:URL` or `libretranslate:URL`.",
            rich_help_panel="Translation systems",
        ),
    ] = None,
    translations: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv",
            help="Measure translations from a file with the columns `from` and `to`.",
            rich_help_panel="Translation systems",
        ),
    ] = None,
    system: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The name of the translation system in the results.",
            rich_help_panel="Translation systems",
        ),
    ] = None,
    gender_from: Annotated[
        str,
        typer.Option(
            "--gender-from",
            help="How to detect gender in translations: `rules`, `stanza`, or a CoNLL-U file.",
            rich_help_panel="Translation systems",
        ),
    ] = "rules",
    beams: Annotated[
        int | None,
        typer.Option(
            help="The number of beams of `nllb:MODEL`; the default is the number in the model's config.",
            rich_help_panel="Translation systems",
        ),
    ] = None,
    yes: Annotated[
        bool,
        typer.Option(
            "--yes",
            help="Accept the cost: of a paid translation service, or of chat models above --max-cost; without this "
            "option, only the cost is printed.",
            rich_help_panel="Before the run",
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Print items, requests, tokens, cost and time of the run, and the bias that its items can show; run "
            "nothing.",
            rich_help_panel="Before the run",
        ),
    ] = False,
    effect: Annotated[
        float | None,
        typer.Option(
            min=0.1,
            max=50,
            help="With --dry-run: the bias of interest in points, for which the number of items is computed; the "
            "default is the margin.",
            rich_help_panel="Before the run",
        ),
    ] = None,
) -> None:
    """Measure the stereotypical bias of language models, or of a translation system.

    Answers of models are stored, so the same command continues a run that was interrupted.

    **Examples**

    `tiltmeter run`: the built-in model (SmolLM2-135M-Instruct, Q4_1) on the starter set

    `tiltmeter run bert-base-cased gpt2 --on stereoset:en --out runs/english`

    `tiltmeter run ./my-model --on stereoset/intrasentence:de,fr --limit 200`

    `tiltmeter run ./my-model --on stereoset:de --until-conclusive --out runs/de`

    `tiltmeter run model.gguf --on my-items.jsonl --protocol in-context`

    `tiltmeter run gpt2 --on pairs.csv:pl --columns more=sentence1,less=sentence2`

    `tiltmeter run gpt2+./my-lora --on crows-pairs`

    `tiltmeter run openai:my-model@http://localhost:8000/v1 --tokenizer ./my-model --on stereoset/intrasentence:en`

    `tiltmeter run chat:my-model@http://localhost:8000/v1 --on stereoset:en,de --limit 200 --max-requests 5000`

    `tiltmeter run chat:my-model@http://localhost:8000/v1 --on stereoset:en --price-in 0.15 --price-out 0.6 --dry-run`

    `tiltmeter run chat:embedded --on starter-pairs:en`

    `tiltmeter run --translations deepl-sk.csv --system DeepL --on gest-mt:sk`

    `tiltmeter run --translator nllb:facebook/nllb-200-distilled-600M --on gest-mt:sk,uk`

    `tiltmeter run ./my-model --on crows-pairs --json > numbers.json`

    `tiltmeter run ./my-model --on stereoset:en --log-to mlflow`
    """
    from tiltmeter.cli.output import ignore_note, parse_choice, print_note
    from tiltmeter.cli.run_options import reject_unused_run_options
    from tiltmeter.cli.run_translations import run_translations
    from tiltmeter.datasets.column_mapping import add_columns
    from tiltmeter.datasets.dataset_loader import describe_table
    from tiltmeter.datasets.dataset_spec import replace_edition
    from tiltmeter.models.model_opener import is_chat_model
    from tiltmeter.progress.progress import hide_progress
    from tiltmeter.progress.terminal_progress import show_in_terminal
    from tiltmeter.reports.run_trackers import TRACKERS, log_result, reject_missing_trackers
    from tiltmeter.runs.evaluate import measure_models
    from tiltmeter.runs.run_timings import RunTimer
    from tiltmeter.runs.translation.translation_tasks import is_translation_benchmark

    if report and out is None:
        raise UsageError("--report needs a folder for the run; give one with --out.")
    if quiet and as_json:
        raise UsageError("--quiet and --json cannot be combined; choose one of them.")
    if quiet and out is None:
        raise UsageError("--quiet prints no results, so it needs a folder for the run; give one with --out.")
    trackers = [name for text in log_to or [] if (name := parse_choice(text, list(TRACKERS), "--log-to"))]
    reject_missing_trackers(trackers)
    if effect is not None and not dry_run:
        raise UsageError("--effect is for --dry-run; add --dry-run, or leave out --effect.")
    show = partial(print_result, out=out, report=out is not None and report is not False, quiet=quiet, as_json=as_json)
    watch = hide_progress if quiet else show_in_terminal
    translating = bool(translator or translations or any(map(is_translation_benchmark, on or [])))
    reject_unused_run_options(context, translating=translating, finished=translations is not None)
    if yes and not translating and not any(map(is_chat_model, models or [])):
        raise UsageError(
            "--yes is for chat models and paid translation systems, but this run has neither; leave out --yes."
        )
    chat = replace(chat, accept_cost=yes)
    on = add_columns(on or [], columns or [])
    if not quiet:
        for sentence in filter(None, map(describe_table, on)):
            print_note(sentence)
    if dry_run:
        from tiltmeter.cli.run_dry import print_forecast, print_translation_forecast

        if translating:
            print_translation_forecast(on or [], edition, settings.limit, as_json=as_json)
        else:
            specs = replace_edition(on or ["starter"], edition)
            chosen = replace(settings, chat=chat)
            print_forecast(models or ["embedded"], specs, chosen, options, effect, as_json=as_json)
        return
    if translating:
        result = run_translations(
            translator,
            translations,
            models=models or [],
            on=on or [],
            system=system,
            edition=edition,
            gender_from=gender_from,
            limit=settings.limit,
            beams=beams,
            device=options.device,
            dtype=options.dtype,
            trust_remote_code=options.trust_remote_code,
            yes=yes,
            margins=dict(settings.margins),
            family=settings.family,
            fixed=settings.fixed,
            out=out,
            force=force,
            watch=watch,
        )
        show(result)
        log_result(result, trackers)
        return
    timer = RunTimer(watch)
    result = measure_models(
        models or ["embedded"],
        replace_edition(on or ["starter"], edition),
        replace(settings, chat=chat),
        options,
        out=out,
        force=force,
        watch=timer.watch_progress,
        tell=ignore_note if quiet else print_note,
    )
    show(result)
    log_result(result, trackers)
    timer.save(result)
