"""Case-insensitive comparison of texts."""


def fold_case(text: str) -> str:
    """Convert a text for case-insensitive comparison; the Turkish İ becomes i, and ß becomes ss.

    >>> fold_case("BRİTANYA") == fold_case("Britanya"), fold_case("GROSS") == fold_case("groß")
    (True, True)
    """
    return text.casefold().replace("i\u0307", "i")


def find_folded(text: str, part: str) -> tuple[int, int] | None:
    """Return start and end index of the first case-insensitive occurrence of `part` in `text`; None if it is missing.

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
