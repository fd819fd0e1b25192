"""`tiltmeter run`: measure models."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from tiltmeter.cli.output import parse_choice, parse_margins, parse_sizes, print_result
from tiltmeter.errors import UsageError


def run(
    context: typer.Context,
    models: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MODEL",
            help="A hub id (`id@revision`), a folder, a .gguf file, `embedded`, an adapter or `BASE+ADAPTER`, "
            "`openai:MODEL@URL`, or a chat model (`chat:MODEL@URL`, `chat:FOLDER_OR_ID`); docs/models.md has them all.",
        ),
    ] = None,
    on: Annotated[
        list[str] | None,
        typer.Option(
            "--on",
            metavar="BENCHMARK",
            help="A data set or file: `stereoset:en,de`, `stereoset/intrasentence`, `my.jsonl` …",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The folder to write the run to.")] = None,
    protocol: Annotated[
        str,
        typer.Option(help="How models are asked: `published`, `in-context` …; `tiltmeter protocols` lists all."),
    ] = "published",
    edition: Annotated[
        str | None, typer.Option(help="The edition of `gest`: `1.1`, or `1.0` as in the published results.")
    ] = None,
    perturb: Annotated[
        str | None,
        typer.Option(help="Change all items: `lower-case`, `quoted`, of pairs `drop-final-character` …"),
    ] = None,
    keep_tokens: Annotated[
        bool, typer.Option("--keep-tokens", help="Keep what is said of each token of sentence pairs, for the report.")
    ] = False,
    limit: Annotated[int | None, typer.Option(help="The largest number of items of each part and language.")] = None,
    kind: Annotated[
        str | None, typer.Option(help="The kind of model, if its config does not say: `masked`, `causal` or `seq2seq`.")
    ] = None,
    device: Annotated[str, typer.Option(help="`auto`, `cpu`, `cuda`, `cuda:1` …")] = "auto",
    devices: Annotated[
        str | None, typer.Option(metavar="D,D…", help="Several devices at once: `0,1` for two GPUs, or `cpu,cpu`.")
    ] = None,
    dtype: Annotated[str, typer.Option(help="`auto`, `float32`, `float16` or `bfloat16`.")] = "auto",
    margin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MEASURE=NUMBER", help="A margin of equivalence instead of the measure's default: `SS=3`."
        ),
    ] = None,
    batch_tokens: Annotated[int | None, typer.Option(help="Tokens per batch; chosen automatically by default.")] = None,
    trust_remote_code: Annotated[
        bool,
        typer.Option("--trust-remote-code", help="Run code that comes with the model; only for models that you trust."),
    ] = False,
    tokenizer: Annotated[
        str | None, typer.Option(metavar="FOLDER_OR_ID", help="The tokenizer, if it is not the model's own.")
    ] = None,
    quantize: Annotated[
        str | None, typer.Option(metavar="8bit|4bit", help="Quantise the weights while they are loaded.")
    ] = None,
    split: Annotated[
        bool,
        typer.Option("--split", help="Split the model over all GPUs, main memory and disk; done if it does not fit."),
    ] = False,
    max_memory: Annotated[
        str | None,
        typer.Option(metavar="D=SIZE,…", help="Split it with at most so much on each: `0=10GiB,cpu=4GiB`."),
    ] = None,
    chat_template: Annotated[
        bool,
        typer.Option("--chat-template", help="Put every text into the model's chat template, as the assistant's turn."),
    ] = False,
    concurrency: Annotated[int, typer.Option(help="Of a server: requests at a time.")] = 16,
    per_minute: Annotated[int | None, typer.Option(help="Of a server: requests a minute at most.")] = None,
    timeout: Annotated[float, typer.Option(help="Of a server: seconds to wait for a reply.")] = 300.0,
    full_design: Annotated[
        bool,
        typer.Option(
            "--full-design", help="Of a chat model: all orders and wordings, with and without a neutral option."
        ),
    ] = False,
    samples: Annotated[int, typer.Option(help="Of a chat model: answers to each message.")] = 1,
    temperature: Annotated[
        float | None, typer.Option(help="Of a chat model: 0 by default, 1 for several samples.")
    ] = None,
    max_tokens: Annotated[int, typer.Option(help="Of a chat model: the longest answer.")] = 64,
    max_requests: Annotated[int | None, typer.Option(help="Of a chat model: refuse a run that sends more.")] = None,
    max_cost: Annotated[float | None, typer.Option(help="Of a chat model: refuse a run that may cost more.")] = None,
    price_in: Annotated[float | None, typer.Option(help="The price of a million tokens of messages.")] = None,
    price_out: Annotated[float | None, typer.Option(help="The price of a million tokens of answers.")] = None,
    plain: Annotated[
        bool, typer.Option("--plain", help="Without speed-ups, all answers computed anew: slower, the same numbers.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite another run in the folder.")] = False,
    report: Annotated[
        bool | None,
        typer.Option(
            "--report/--no-report", help="Write `report.html` into the folder, or not; by default it is written."
        ),
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print nothing but errors: no progress, notes or results.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print all numbers as JSON instead of tables.")] = False,
    translator: Annotated[
        str | None,
        typer.Option(
            metavar="SYSTEM",
            help="Measure a translation system: `nllb:MODEL`, `amazon`, `deepl`, `google`, `apertium:eng-spa`, "
            "`apy:URL` or `libretranslate:URL`.",
        ),
    ] = None,
    translations: Annotated[
        Path | None,
        typer.Option(metavar="FILE.csv", help="Measure translations from a file with the columns `from` and `to`."),
    ] = None,
    system: Annotated[
        str | None, typer.Option(metavar="NAME", help="The name of the translation system in the results.")
    ] = None,
    gender_from: Annotated[
        str,
        typer.Option(
            "--gender-from", help="How the gender in translations is found: `rules`, `stanza`, or a CoNLL-U file."
        ),
    ] = "rules",
    beams: Annotated[
        int | None, typer.Option(help="The number of beams for `nllb:MODEL`; by default that of its config.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Go on with a paid service, after its cost was shown.")] = False,
) -> None:
    """Measure the stereotypical bias of language models, or of a translation system.

    **Examples**

    `tiltmeter run`: the embedded model (SmolLM2-135M-Instruct, Q4_1) on the starter set

    `tiltmeter run bert-base-cased gpt2 --on stereoset:en --out runs/english`

    `tiltmeter run ./my-model --on stereoset/intrasentence:de,fr --limit 200`

    `tiltmeter run model.gguf --on my-items.jsonl --protocol in-context`

    `tiltmeter run gpt2+./my-lora --on crows-pairs`

    `tiltmeter run openai:my-model@http://localhost:8000/v1 --tokenizer ./my-model --on stereoset/intrasentence:en`

    `tiltmeter run chat:my-model@http://localhost:8000/v1 --on stereoset:en,de --limit 200 --max-requests 5000`

    `tiltmeter run chat:embedded --on starter-pairs:en`

    `tiltmeter run --translations deepl-sk.csv --system DeepL --on gest-mt:sk`

    `tiltmeter run --translator nllb:facebook/nllb-200-distilled-600M --on gest-mt:sk,uk`

    `tiltmeter run ./my-model --on crows-pairs --json > numbers.json`

    Answers are stored, so a run that was stopped continues where it was.
    """
    from tiltmeter.cli.output import ignore_note, print_note
    from tiltmeter.cli.progress import hide_progress, show_answer_progress
    from tiltmeter.cli.run_options import reject_unused_run_options
    from tiltmeter.cli.run_translations import is_for_translators, run_translations
    from tiltmeter.datasets.dataset_spec import with_edition
    from tiltmeter.questions import KINDS
    from tiltmeter.runs.chat_budget import ChatOptions
    from tiltmeter.runs.evaluate import evaluate

    if report and out is None:
        raise UsageError("A report goes into the folder of its run; name one with --out.")
    if quiet and as_json:
        raise UsageError("--quiet prints nothing, and --json the numbers; choose one of them.")
    if quiet and out is None:
        raise UsageError("With --quiet nothing is printed, so name a folder for the run with --out.")
    show = partial(print_result, out=out, report=out is not None and report is not False, quiet=quiet, as_json=as_json)
    watch = hide_progress if quiet else show_answer_progress
    translating = bool(translator or translations or is_for_translators(on or []))
    reject_unused_run_options(context, translating=translating, finished=translations is not None)
    if translating:
        result = run_translations(
            translator,
            translations,
            models=models or [],
            on=on or [],
            system=system,
            edition=edition,
            gender_from=gender_from,
            limit=limit,
            beams=beams,
            device=device,
            dtype=dtype,
            trust_remote_code=trust_remote_code,
            yes=yes,
            margins=parse_margins(margin),
            out=out,
            force=force,
            watch=watch,
        )
        show(result)
        return
    result = evaluate(
        models or ["embedded"],
        with_edition(on or ["starter"], edition),
        protocol=protocol,
        perturb=perturb,
        keep_tokens=keep_tokens,
        limit=limit,
        kind=parse_choice(kind, KINDS, "--kind"),
        device=device,
        devices=[f"cuda:{name}" if name.isdigit() else name for name in (devices or "").split(",") if name],
        dtype=dtype,
        batch_tokens=batch_tokens,
        trust_remote_code=trust_remote_code,
        tokenizer=tokenizer,
        quantize=quantize,
        split=split,
        max_memory=parse_sizes(max_memory),
        chat_template=chat_template,
        concurrency=concurrency,
        per_minute=per_minute,
        timeout=timeout,
        plain=plain,
        chat=ChatOptions(
            full=full_design,
            samples=samples,
            temperature=temperature,
            max_tokens=max_tokens,
            max_requests=max_requests,
            max_cost=max_cost,
            price_in=price_in,
            price_out=price_out,
        ),
        margins=parse_margins(margin),
        out=out,
        force=force,
        watch=watch,
        tell=ignore_note if quiet else print_note,
    )
    show(result)
