"""Comparison of texts without regard to case."""


def fold_case(text: str) -> str:
    """The text for comparison without regard to case; the Turkish İ and i, and ß and SS, are the same.

    >>> fold_case("BRİTANYA") == fold_case("Britanya"), fold_case("GROSS") == fold_case("groß")
    (True, True)
    """
    return text.casefold().replace("i\u0307", "i")


def find_folded(text: str, part: str) -> tuple[int, int] | None:
    """Where `part` occurs first in `text` without regard to case, as start and end; None if it does not.

    >>> find_folded("EIN GROSSER KOCH", "großer")
    (4, 11)
    """
    folded, places = "", []
    for place, character in enumerate(text):
        piece = fold_case(character)
        folded += piece
        places += [place] * len(piece)
    wanted = fold_case(part)
    start = folded.find(wanted)
    if start < 0 or not wanted:
        return None
    return places[start], places[start + len(wanted) - 1] + 1
