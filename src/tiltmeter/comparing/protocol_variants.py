"""Variants of a comparison: one for each protocol by which the models of the runs were measured."""

from collections.abc import Iterator, Sequence

from tiltmeter.comparing.cells import Cell


def list_protocol_variants(cells: Sequence[Cell]) -> Iterator[tuple[str, list[Cell]]]:
    """Yield each protocol with the cells of its variant.

    A variant has the cells with its protocol. Models that were not measured by this protocol are represented by their
    main protocol, the one with the shortest name: some protocols exist only for one kind of model.
    """
    places: dict[tuple[str, str], dict[str, Cell]] = {}
    for cell in sorted(cells, key=lambda cell: (len(cell.protocol), cell.protocol)):
        places.setdefault((cell.model, cell.location), {}).setdefault(cell.protocol, cell)
    main = [min(of_place.values(), key=lambda cell: len(cell.protocol)) for of_place in places.values()]
    seen = [{id(cell) for cell in main}]
    yield _name_protocols(main), main
    for protocol in dict.fromkeys(cell.protocol for cell in cells):
        chosen = [of_place.get(protocol, first) for of_place, first in zip(places.values(), main, strict=True)]
        identity = {id(cell) for cell in chosen}
        if identity not in seen:
            seen.append(identity)
            yield protocol, chosen


def _name_protocols(cells: Sequence[Cell]) -> str:
    return ", ".join(sorted({cell.protocol for cell in cells}, key=lambda name: (len(name), name)))
