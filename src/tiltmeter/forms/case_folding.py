"""Case-insensitive comparison of texts."""


def fold_case(text: str) -> str:
    """Return a text for case-insensitive comparison; the Turkish İ equals i, and ß equals SS.

    >>> fold_case("BRİTANYA") == fold_case("Britanya"), fold_case("GROSS") == fold_case("groß")
    (True, True)
    """
    return text.casefold().replace("i\u0307", "i")


def find_folded(text: str, part: str) -> tuple[int, int] | None:
    """Return start and end of the first case-insensitive occurrence of `part` in `text`, or None.

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
