"""HTML: what a reader of the page sees, as Markdown. Scripts, navigation and hidden elements are left out."""

from __future__ import annotations

import re
from collections.abc import Iterator

from selectolax.lexbor import LexborHTMLParser, LexborNode

from kgsvc.documents.reading.formats import DocumentText, ReadingLimits, UnreadFile, decoded
from kgsvc.documents.reading.markdown import Container, Markdown, item, quote

_UNSEEN = frozenset(
    """head script style template noscript iframe object embed svg math canvas audio video map select datalist
    button input textarea nav -comment""".split()  # noqa: SIM905
)
_INVISIBLE = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
_BLOCKS = frozenset(
    """address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption
    figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main ol p pre search section
    summary ul""".split()  # noqa: SIM905
)
_CELLS = frozenset({"br", "td", "th"})
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_CONTAINERS = frozenset({"li", "dd", "blockquote"})
_HEAD = 2_048  # bytes in which a page names its charset
_DECLARED = re.compile(  # by a whole word: the head may end within it
    rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]+)(?=[\"'\s/>;])"
    rb"|^<\?xml[^>]{0,100}encoding\s*=\s*[\"']([\w.:-]+)",
    re.IGNORECASE,
)


def read_html(data: bytes, charset: str, limits: ReadingLimits) -> DocumentText:
    """The visible text of a page, and its title. `charset`: as its sender named it. Raises Refused."""
    declared = _DECLARED.search(data[:_HEAD])
    named = next(filter(None, declared.groups())).decode() if declared else ""
    if named.lower().startswith("utf-16"):
        named = ""  # it was read as bytes of ASCII just now, so it is not
    page = seen(decoded(data, charset or named), limits)
    if not page.text:
        raise UnreadFile("holds no text that a reader would see")
    return page


def seen(source: str, limits: ReadingLimits) -> DocumentText:
    """What a reader sees of a page with this source, and its title. Raises UnreadFile: too much."""
    tree = LexborHTMLParser(source)
    page = _Page(limits.text_chars)
    if tree.root is not None:
        page.read(tree.root)
    title = tree.css_first("head > title")
    return DocumentText(page.out.text(), title=" ".join(title.text().split()) or None if title else None)


class _Page:
    """Goes through a page once, from its start to its end."""

    def __init__(self, most_chars: int) -> None:
        self.out = Markdown(most_chars)
        self._words: list[str] = []  # of the block that is open
        self._containers: list[Container] = []
        self._numbers: list[int | None] = []  # of the last item of each open list; None: bullets
        self._rows: list[list[str]] = []
        self._tables = 0  # open ones, each in a cell of the one before
        self._verbatim = 0  # open <pre>

    def read(self, root: LexborNode) -> None:
        """Write everything below `root`."""
        for opens, node in _walk(root):
            tag = node.tag or ""
            if tag == "-text":
                self._words.append((node.text_content or "") if opens else "")
            elif tag == "table":
                self._table(opens)
            elif self._tables:
                self._in_table(tag, opens)
            elif opens:
                self._open(tag, node)
            else:
                self._close(tag, node)
        self._flush()

    def _open(self, tag: str, node: LexborNode) -> None:
        if tag == "br":
            self._words.append("\n" if self._verbatim else "\x1e")
        elif tag == "img":
            self._words.append(f" {node.attributes.get('alt') or ''} ")
        elif tag == "code" and not self._verbatim:
            self._words.append("`")
        elif tag in _BLOCKS:
            self._flush()
        if tag == "pre":
            self._verbatim += 1
        elif tag in {"ul", "ol"}:
            self._numbers.append(_start(node) - 1 if tag == "ol" else None)
        elif tag in _CONTAINERS:
            self._containers.append(quote() if tag == "blockquote" else item(self._marker(tag)))

    def _close(self, tag: str, node: LexborNode) -> None:
        if tag == "code" and not self._verbatim:
            self._words.append("`")
        elif tag in _HEADINGS:
            self.out.heading(_HEADINGS[tag], self._taken())
        elif tag == "dt":
            term = self._taken()
            self.out.paragraph(f"{term}:" if term[-1:].isalnum() else term, self._containers)
        elif tag == "pre":
            self._verbatim -= 1
            text = "".join(self._words)
            self._words = []
            self.out.code(text, _language(node), self._containers)
        elif tag in _BLOCKS:
            self._flush()
        if tag in {"ul", "ol"}:
            self._numbers.pop()
        elif tag in _CONTAINERS:
            self._containers.pop()

    def _marker(self, tag: str) -> str:
        if tag == "dd" or not self._numbers or self._numbers[-1] is None:
            return "-"
        self._numbers[-1] += 1
        return f"{self._numbers[-1]}."

    def _table(self, opens: bool) -> None:
        if opens and not self._tables:
            self._flush()
        self._tables += 1 if opens else -1
        if not opens and not self._tables:
            self._words = []
            self.out.table(self._rows, self._containers)
            self._rows = []

    def _in_table(self, tag: str, opens: bool) -> None:
        """Cells hold a line of text each, whatever is in them; a list or a table in one is its text."""
        if self._tables > 1 or tag not in {"tr", "td", "th", "caption"}:
            ends = (tag == "li" and not opens) or (tag in {"td", "th"} and not opens)
            self._words.append("; " if ends else " " if tag in _BLOCKS | _CELLS else "")
        elif tag == "tr" and opens:
            self._rows.append([])
        elif opens:
            self._words = []
        elif tag == "caption":
            self.out.paragraph(self._taken(), self._containers)
        elif tag in {"td", "th"}:
            self._rows[-1].append(self._taken().rstrip("; "))

    def _flush(self) -> None:
        if not self._verbatim:
            self.out.paragraph(self._taken(), self._containers)

    def _taken(self) -> str:
        """The words since the last block: white space is one space, and <br> a new line."""
        lines = "".join(self._words).split("\x1e")
        self._words = []
        return "\n".join(" ".join(line.split()) for line in lines)


def _walk(root: LexborNode) -> Iterator[tuple[bool, LexborNode]]:
    """Every node that a reader sees, when it opens and when it closes; without recursion, however deep."""
    node = root
    while True:
        seen = not _hidden(node)
        if seen:
            yield True, node
            if (child := node.first_child) is not None:
                node = child
                continue
            yield False, node
        while (after := node.next) is None or node.mem_id == root.mem_id:
            if node.mem_id == root.mem_id or node.parent is None:
                return
            node = node.parent
            yield False, node
        node = after


def _hidden(node: LexborNode) -> bool:
    tag = node.tag or ""
    if tag == "-text":
        return False
    if tag in _UNSEEN:
        return True
    attributes = node.attributes
    return bool(attributes) and (
        "hidden" in attributes or bool(_INVISIBLE.search(attributes.get("style") or ""))
    )


def _start(node: LexborNode) -> int:
    given = node.attributes.get("start") or ""
    return int(given) if re.fullmatch(r"\d{1,6}", given) else 1


def _language(pre: LexborNode) -> str:
    """The language of a code block, from the class that most pages give it."""
    code = pre.first_child
    classes = " ".join(node.attributes.get("class") or "" for node in (pre, code) if node is not None)
    found = re.search(r"(?:language|lang)-([\w+#-]{1,30})", classes)
    return found[1] if found else ""
