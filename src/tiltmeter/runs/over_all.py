"""The numbers of a run over all items, without those of groups of items, read fast."""


def only_over_all(text: bytes) -> bytes:
    """The text of measures.json with only the rows over all items, which are few; most others are not parsed.

    That needs the layout in which `Result.save` writes it: a line for each field, and rows that begin and end with a
    space. A line break in a string is escaped, so that the lines are those of the layout. Any other text is unchanged.
    """
    if not text.startswith(b"[\n {\n") or not text.endswith(b"\n }\n]\n"):
        return text
    kept, end = [], 0
    while (field := text.find(b'\n  "view": "all",\n', end)) >= 0:
        start, end = text.rfind(b"\n {\n", 0, field), text.find(b"\n }", field)
        kept.append(text[start:end])
    return b"[" + b"},".join(kept) + b"}]" if kept else b"[]"
