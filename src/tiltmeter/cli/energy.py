"""`tiltmeter energy`: print hours, energy and emissions of runs and trainings."""

from pathlib import Path
from typing import Annotated

import typer

from tiltmeter.printable_text import create_plain_console, format_json


def energy(
    folders: Annotated[
        list[Path], typer.Argument(metavar="FOLDER", help="The folders of runs, or of heads that Tiltmeter trained.")
    ],
    carbon_intensity: Annotated[
        float | None,
        typer.Option(
            "--carbon-intensity",
            metavar="G_PER_KWH",
            min=0,
            help="Also print emissions, for electricity with this carbon intensity in g CO2eq/kWh.",
        ),
    ] = None,
    watts: Annotated[
        float | None,
        typer.Option(
            metavar="W",
            min=0,
            help="If the energy was not measured, estimate it from this power of each device, such as its TDP.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Print hardware, hours and energy of runs and trainings, and their emissions for a given carbon intensity.

    The energy of a GPU is measured by its driver. There is no default for the carbon intensity, because it depends on
    the place and the time; your electricity supplier or a public map gives the value.

    **Example**

    `tiltmeter energy runs/bert --watts 65 --carbon-intensity 350`
    """
    from rich.table import Table

    from tiltmeter.reports.energy_use import list_energy_uses
    from tiltmeter.reports.formatting import format_four_digits

    uses = [
        use for folder in folders for use in list_energy_uses(folder, watts=watts, carbon_intensity=carbon_intensity)
    ]
    if as_json:
        typer.echo(
            format_json({"carbon_intensity_g_per_kwh": carbon_intensity, "uses": [use.to_json() for use in uses]})
        )
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("folder", "model", "hardware", "hours", "Wh", "kgCO2eq", "source of the energy"):
        table.add_column(heading, justify="right" if heading in ("hours", "Wh", "kgCO2eq") else "left")
    for use in uses:
        numbers = (use.hours, use.energy_wh, use.kg_co2eq)
        cells = ["" if number is None else format_four_digits(number) for number in numbers]
        table.add_row(use.folder, use.name, ", ".join(use.hardware), *cells, use.source)
    energies, emissions = [use.energy_wh for use in uses], [use.kg_co2eq for use in uses]
    console = create_plain_console()
    console.print(table)
    if len(uses) > 1 and None not in energies:
        total = sum(energy for energy in energies if energy is not None)
        emitted = sum(emission for emission in emissions if emission is not None)
        end = "" if carbon_intensity is None else f", {format_four_digits(emitted)} kgCO2eq"
        hours = format_four_digits(sum(use.hours for use in uses))
        console.print(f"total: {hours} hours, {format_four_digits(total)} Wh{end}", highlight=False)
