"""`tiltmeter reproduce`: recompute the published numbers of a paper."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tiltmeter.cli.matrix_engine import (
    Address,
    EngineName,
    EngineOptions,
    Jobs,
    Partition,
    SlurmOptions,
    TimeLimit,
    check_engine_options,
)
from tiltmeter.cli.reproduce_figure import write_data_figure, write_number_figure, write_run_figure
from tiltmeter.cli.run_options import reject_given_options
from tiltmeter.errors import UsageError
from tiltmeter.printable_text import create_plain_console

if TYPE_CHECKING:
    from tiltmeter.papers.reproduction import Reproduction

# Options that have no effect without --from-models; --model-path also names tokenizers for released scores.
_OF_RUNS = (
    *("head_path", "tokenizer", "articles", "device", "devices", "dtype", "limit", "out", "dry_run", "prefetch", "yes"),
    *("engine", "jobs", "address", "partition", "time", "slurm"),
)
PAPERS = (
    "oeztuerk2023, oeztuerk2022, steinborn2022, gest2024, nadeem2021, stereoset-ptbr, strazda2025, grigoreva2024, "
    "bai2025 or all"
)


ModelPaths = Annotated[
    list[str] | None,
    typer.Option(
        "--model-path",
        metavar="NAME=FOLDER",
        help="Load the model NAME (a hub id) from this local folder, or replace a translation system, as in "
        "amazon=nllb:MODEL; repeat the option for more models.",
    ),
]
HeadPaths = Annotated[
    list[str] | None,
    typer.Option(
        "--head-path",
        metavar="NAME=FOLDER",
        help="Load the next-sentence head of the model NAME (a hub id) from this local folder; repeat the option for "
        "more models.",
    ),
]
Tokenizers = Annotated[
    list[str] | None,
    typer.Option(
        "--tokenizer",
        metavar="NAME=FOLDER_OR_ID",
        help="Use this tokenizer for the model NAME (a hub id), such as THUMT/mGPT=models/mt5; repeat the option for "
        "more models. Without --model-path, THUMT/mGPT uses google/mt5-base.",
    ),
]


def reproduce(
    context: typer.Context,
    paper: Annotated[str, typer.Argument(metavar="PAPER", help=f"The paper: {PAPERS}.")],
    table: Annotated[
        str | None,
        typer.Option(
            metavar="N",
            help="Recompute only this table of the paper, such as 2 or 4.1; `text` means the numbers in running text.",
        ),
    ] = None,
    figure: Annotated[
        str | None,
        typer.Option(
            metavar="N",
            help="Draw this figure of the paper. gest2024: `2` to `14`, and `5.1` (the order of stereotypes), with the "
            "printed and the recomputed numbers. steinborn2022: `2`, with --runs RUN. oeztuerk2023: `1` and `2`, with "
            "--runs HEAD. oeztuerk2022: `3.1`, `3.2` and `3.5`; `3.2` to `3.5` of your own project, with --runs "
            "PROJECT; `4.1` to `4.11` and `A.2` to `A.7`, with --runs HEAD.",
        ),
    ] = None,
    figures: Annotated[
        Path, typer.Option(metavar="DIR", help="With --figure: the folder for SVG, PNG and PDF files.")
    ] = Path("figures"),
    runs: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="RUN",
            help="With --figure: draw these runs, or all runs in a folder, instead of the numbers of the paper; for "
            "trainings, the folders of heads; for stages of a data set, projects. Repeat the option for more.",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Recompute only the rows of this model; use the name from the paper's table."
        ),
    ] = None,
    language: Annotated[
        str | None, typer.Option(metavar="CODE", help="Recompute only this language, such as de.")
    ] = None,
    from_models: Annotated[
        bool, typer.Option("--from-models", help="Run the models instead of using released predictions.")
    ] = False,
    model_path: ModelPaths = None,
    head_path: HeadPaths = None,
    tokenizer: Tokenizers = None,
    articles: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LANGUAGE=SOURCE",
            help="With --from-models: train missing next-sentence heads from these articles, as in `tiltmeter train "
            "pairs`; repeat the option for each language.",
        ),
    ] = None,
    device: Annotated[
        str, typer.Option(help="With --from-models: the device, `auto`, `cpu`, `cuda`, `cuda:1` …")
    ] = "auto",
    devices: Annotated[
        str | None,
        typer.Option(metavar="D,D…", help="With --from-models: use several devices in parallel for each model."),
    ] = None,
    dtype: Annotated[
        str,
        typer.Option(
            help="With --from-models: the data type of the weights: `auto`, `float32`, `float16` or `bfloat16`."
        ),
    ] = "auto",
    limit: Annotated[
        int | None,
        typer.Option(
            min=1, help="With --from-models: use at most this many items of each part and language, for a trial."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="With --from-models: keep the runs in this folder; the default is in the cache."
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="With --from-models: print the models, their work and what is missing; run nothing."
        ),
    ] = False,
    yes: Annotated[
        bool,
        typer.Option("--yes", help="With --from-models: accept the cost of paid translation services."),
    ] = False,
    prefetch: Annotated[
        bool,
        typer.Option("--prefetch", help="With --from-models: download models and data for the jobs; run nothing."),
    ] = False,
    engine: EngineName = "local",
    jobs: Jobs = None,
    address: Address = None,
    partition: Partition = None,
    time: TimeLimit = None,
    slurm: SlurmOptions = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print every number as JSON.")] = False,
    markdown: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the results to this Markdown file.")
    ] = None,
) -> None:
    """Recompute the numbers of a paper and compare them with the published ones.

    The exit code is 1 if a difference has no known explanation. The predictions and translations that the authors
    released are downloaded at pinned commits, or read from the cache or a mirror (`TILTMETER_MIRROR`). Numbers whose
    files are missing are counted as not available.

    With --from-models, the models are run as in `tiltmeter matrix`: every model is loaded once, by its own job, and
    every run is kept. If you repeat the command, it skips finished runs and retries failed runs.

    **Examples**

    `tiltmeter reproduce oeztuerk2023`

    `tiltmeter reproduce gest2024 --table 8 --model DeepL --language sk`

    `tiltmeter reproduce steinborn2022 --from-models --dry-run`

    `tiltmeter reproduce steinborn2022 --from-models --out runs/steinborn --markdown steinborn.md`

    `tiltmeter reproduce oeztuerk2023 --table 7 --from-models --head-path t5-base=heads/t5`

    `tiltmeter reproduce gest2024 --figure 2 --figures figures`
    """
    from tiltmeter.files import reject_unwritable_file
    from tiltmeter.papers.figures.paper_figures import list_figure_numbers
    from tiltmeter.papers.reproduction import recompute_numbers, select_numbers
    from tiltmeter.papers.sources.recipe_context import RecipeContext

    if markdown is not None:
        reject_unwritable_file(markdown)
    if figure is None:
        reject_given_options(context, ("figures", "runs"), "for --figure")
        numbers = select_numbers(paper, table=table, model=model, language=language)
    else:
        reject_given_options(context, ("table", "model", "language", "as_json", "markdown"), "not for --figure")
        if runs:
            write_run_figure(paper, figure, figures, runs)
            return
        if write_data_figure(paper, figure, figures):
            return
        numbers = list_figure_numbers(paper, figure)
    model_paths = _parse_pairs("--model-path", model_path)
    recipe_context = RecipeContext(model_paths)
    if from_models:
        from tiltmeter.cli.reproduce_runs import run_models
        from tiltmeter.options.option_values import DEVICES
        from tiltmeter.papers.model_runs.run_choices import RunChoices

        choices = RunChoices(
            model_paths=model_paths,
            head_paths=_parse_pairs("--head-path", head_path),
            tokenizers=_parse_pairs("--tokenizer", tokenizer),
            articles=_parse_pairs("--articles", articles, "LANGUAGE=SOURCE, as in --articles en=help/en/"),
            device=device,
            devices=DEVICES.parse(devices) if devices else (),
            dtype=dtype,
            limit=limit,
            yes=yes,
        )
        chosen = check_engine_options(context, engine, time)
        options: EngineOptions = {
            "jobs": jobs,
            "address": address,
            "partition": partition,
            "time": time,
            "slurm": slurm,
        }
        finished = run_models(numbers, choices, out, chosen, options, dry_run=dry_run, prefetch=prefetch)
        if finished is None:
            return
        recipe_context.runs, recipe_context.samples = finished
    else:
        reject_given_options(context, _OF_RUNS, "for running models, with --from-models")
    reproduction = recompute_numbers(numbers, recipe_context, from_models=from_models)
    if figure is not None:
        write_number_figure(paper, figure, figures, reproduction, recipe_context)
        return
    _print_reproduction(reproduction, markdown, as_json=as_json)
    if not reproduction.has_only_known_differences:
        raise typer.Exit(1)


def _print_reproduction(reproduction: "Reproduction", markdown: Path | None, *, as_json: bool) -> None:
    if markdown is not None:
        from tiltmeter.files import write_text
        from tiltmeter.papers.output.reproduction_markdown import to_markdown

        write_text(markdown, to_markdown(reproduction))
    if as_json:
        from tiltmeter.papers.output.reproduction_json import to_json

        typer.echo(to_json(reproduction))
    else:
        from tiltmeter.papers.output.reproduction_terminal import print_reproduction

        print_reproduction(reproduction, create_plain_console())


def _parse_pairs(option: str, given: list[str] | None, form: str = "") -> dict[str, str]:
    pairs = [text.partition("=") for text in given or []]
    for name, equals, value in pairs:
        if not (name and equals and value):
            expected = form or f"NAME=FOLDER, as in {option} gpt2=models/gpt2"
            raise UsageError(f"{option} {name}{equals}{value} is not {expected}.")
    return {name: value for name, _, value in pairs}
