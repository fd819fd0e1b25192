"""`tiltmeter train`: train next-sentence heads."""

import typer

from tiltmeter.cli.train_next_sentence import convert, evaluate, next_sentence
from tiltmeter.cli.train_pairs import pairs

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Train next-sentence heads for models that have none, such as GPT-2 or T5.",
)
app.command("pairs")(pairs)
app.command("next-sentence")(next_sentence)
app.command("evaluate")(evaluate)
app.command("convert")(convert)
