"""Extraction of the paragraphs and list items of an HTML page."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

# Elements whose text is extracted.
_TEXT = frozenset({"p", "li", "dd", "blockquote"})
# Other elements that start and end a block of text.
# fmt: off
_BLOCKS = frozenset({
    "address", "article", "body", "caption", "center", "details", "div", "dl", "dt", "fieldset", "figcaption",
    "figure", "h1", "h2", "h3", "h4", "h5", "h6", "hgroup", "hr", "html", "legend", "main", "ol", "section",
    "summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul",
})
# fmt: on
# Elements that are skipped with all their content: scripts, navigation, forms, code, formulas.
# fmt: off
_OMITTED = frozenset({
    "applet", "aside", "audio", "button", "canvas", "datalist", "dialog", "embed", "footer", "form", "head",
    "header", "iframe", "input", "label", "link", "map", "math", "menu", "meta", "nav", "noscript", "object", "pre",
    "script", "select", "style", "svg", "template", "textarea", "title", "video",
})
# fmt: on
_SPACE = frozenset({"br", "img", "wbr"})


def extract_html_blocks(html: str) -> list[str]:
    """Return the texts of paragraphs and list items in the order of the page.

    If all alternatives of a text are hidden (for example tabs that a script shows), only the last alternative is
    extracted, because it is the default.

    >>> extract_html_blocks("<nav><p>Home</p></nav><ul><li>One <b>list</b> item.<pre>x = 1</pre></ul><p>Text.")
    ['One list item.', 'Text.']
    """
    from selectolax.lexbor import LexborHTMLParser

    body = LexborHTMLParser(html).body
    if body is None:
        return []
    blocks: list[str] = []
    pieces: list[str] = []

    def end_block() -> None:
        if text := " ".join("".join(pieces).split()):
            blocks.append(text)
        pieces.clear()

    # A stack of the open elements. Each entry has the remaining children, whether the text of the element is extracted,
    # and whether the element ends a block. A stack is used because pages can be nested deeper than Python's recursion
    # limit.
    stack = [(_list_children(body), False, False)]
    while stack:
        children, is_text, ends_block = stack[-1]
        child = next(children, None)
        if child is None:
            stack.pop()
            if ends_block:
                end_block()
            continue
        tag = child.tag or ""
        if tag == "-text":
            if is_text:
                pieces.append(child.text_content or "")
        elif tag in _TEXT or tag in _BLOCKS:
            end_block()
            if not _is_code(child):
                stack.append((_list_children(child), tag in _TEXT, True))
        elif tag in _SPACE:
            pieces.append(" ")
        elif tag not in _OMITTED:
            stack.append((_list_children(child), is_text, False))
    return blocks


def _list_children(node: "LexborNode") -> "Iterator[LexborNode]":
    """Return the text nodes and visible child elements; if all child elements are hidden, include the last one."""
    children = [child for child in node.iter(include_text=True) if child.tag == "-text" or child.is_element_node]
    hidden = [child for child in children if child.is_element_node and "hidden" in child.attributes]
    if hidden and len(hidden) == sum(child.is_element_node for child in children):
        hidden.pop()
    omitted = {child.mem_id for child in hidden}
    return (child for child in children if child.mem_id not in omitted)


def _is_code(node: "LexborNode") -> bool:
    return "code" in (node.attributes.get("class") or "").lower()
