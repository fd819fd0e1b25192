"""`tiltmeter train`: train next-sentence heads."""

import typer

from tiltmeter.cli.train_curves import draw_curves
from tiltmeter.cli.train_next_sentence import convert_head, evaluate_saved_head, train_head
from tiltmeter.cli.train_pairs import create_pairs

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Train next-sentence heads for models that have none, such as GPT-2 or T5.",
)
app.command("pairs")(create_pairs)
app.command("next-sentence")(train_head)
app.command("evaluate")(evaluate_saved_head)
app.command("convert")(convert_head)
app.command("curves")(draw_curves)
