"""Writing of figures to SVG, PNG and PDF files."""

import json
from collections.abc import Iterable
from pathlib import Path

import vl_convert

from tiltmeter.files import reject_unwritable_folder, write_atomically
from tiltmeter.reports.figures import Figure

_SCALE = 2  # pixels per point in PNG files; 2 gives sharp prints


def save_figures(figures: Iterable[tuple[str, Figure]], folder: Path) -> list[Path]:
    """Write each figure as SVG, PNG and PDF files, and return their paths.

    `figures` are pairs (name of the benchmark, figure).
    """
    reject_unwritable_folder(folder)
    written = []
    for benchmark, figure in figures:
        svg = vl_convert.vegalite_to_svg(json.dumps(figure.build_combined_spec()), allowed_base_urls=[])
        for suffix, content in (
            ("svg", svg.encode()),
            ("png", vl_convert.svg_to_png(svg, scale=_SCALE)),
            ("pdf", vl_convert.svg_to_pdf(svg)),
        ):
            path = folder / f"{benchmark}-{figure.slug}.{suffix}"
            with write_atomically(path) as part:
                part.write_bytes(content)
            written.append(path)
    return written
