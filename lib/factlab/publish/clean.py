"""HTML that came out of a notebook, made safe and readable.

A text/html output may hold what a model wrote, so nothing in it is trusted: only plain text markup and tables survive.
Links lead nowhere outside the page, pictures are inline or absent, and bleach has the last word over every string.
Text of our own Markdown cells may also link to the web.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Container

import bleach
import lxml.etree
import lxml.html

MISSING = frozenset({"–", "NaN", "nan", "None", "NaT", "<NA>", "inf", "-inf"})
LONGEST_HTML = 400_000  # characters; a longer output is a table that nobody reads on a page

_TAGS = frozenset(
    re.findall(
        r"\w+",
        "a abbr b blockquote br caption code col colgroup dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i img ins kbd li"
        " mark ol p pre s samp small span strong sub summary sup table tbody td tfoot th thead tr u ul var",
    )
)
_DROPPED = frozenset(
    re.findall(
        r"\w+",
        "applet audio base button canvas embed frame frameset head iframe input link marquee math meta noembed noframes"
        " noscript object picture plaintext portal script select source style svg template textarea title track video xmp",
    )
)
_CLASS = re.compile(r"estimate|factlab-[\w-]+|dataframe|num|date|missing|scroll|left-out|highlight|long")
_PICTURE = re.compile(r"data:image/(?:png|jpeg|gif);base64,[A-Za-z0-9+/=\s]+")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_DATE = re.compile(r"\d{4}-\d\d-\d\d.*")
_LONG = 50  # characters; a cell with more keeps a width at which it can be read
_COUNTER = re.compile(r"\d+|\.{3}|…")  # an ellipsis stands for the rows that pandas leaves out
_NUMBER = re.compile(r"[-−+]?[\d\s,\u202f]*\.?\d+(?:[eE][-+]?\d+)?\s*%?")


def outputs(source: str) -> str:
    """Markup of a cell's output, safe to place in a page; headings become bold lines and links become text."""
    return _clean(source, trusted=False)


def prose(source: str, heading: Callable[[int, str], str], pages: Container[str] = ()) -> str:
    """Markup of one of our own Markdown cells, safe to place in a page.

    Parameters
    ----------
    source : str
        HTML rendered from the Markdown.
    heading : callable
        Called with level and text of every heading; returns its id.
    pages : container of str
        Files that a relative link may lead to; a link to any other file becomes text.
    """
    return _clean(source, trusted=True, heading=heading, pages=pages)


def text(source: str) -> str:
    """What a reader sees of a piece of HTML, without its markup."""
    try:
        return lxml.html.fragment_fromstring(source, create_parent="div").text_content()
    except (lxml.etree.LxmlError, ValueError):
        return re.sub(r"<[^>]*>", "", source)


def _clean(
    source: str, trusted: bool, heading: Callable[[int, str], str] | None = None, pages: Container[str] = ()
) -> str:
    source = source.replace("\x1b", "")
    if not source.strip():
        return ""
    try:
        tree = lxml.html.fragment_fromstring(source, create_parent="div")
        _drop(tree)
        _links(tree, trusted, pages)
        _pictures(tree)
        _headings(tree, heading)
        _tables(tree)
        inner = html.escape(tree.text or "") + "".join(lxml.html.tostring(child, encoding="unicode") for child in tree)
        return bleach.clean(
            inner,
            tags=_TAGS,
            attributes=_attributes(trusted),
            protocols={"http", "https", "mailto", "data"} if trusted else {"data"},
            strip=True,
            strip_comments=True,
        )
    except (lxml.etree.LxmlError, ValueError, RecursionError):
        return f"<pre>{html.escape(source)}</pre>"  # not HTML that anyone can read: shown as the text it is


def _drop(tree: lxml.html.HtmlElement) -> None:
    """Take out what has no place in a page, with its content: bleach alone would leave a script's text standing."""
    lxml.etree.strip_tags(tree, lxml.etree.Comment, lxml.etree.ProcessingInstruction)
    for element in [e for e in tree.iter() if e.tag in _DROPPED]:
        if element.getparent() is not None:
            element.drop_tree()
    for element in tree.iter():
        kept = [c for c in (element.get("class") or "").split() if _CLASS.fullmatch(c)]
        if kept:
            element.set("class", " ".join(kept))
        else:
            element.attrib.pop("class", None)


def _links(tree: lxml.html.HtmlElement, trusted: bool, pages: Container[str]) -> None:
    for link in list(tree.iter("a")):
        target = "".join((link.get("href") or "").split())
        if trusted:
            name = target.partition("#")[0].rpartition("/")[2]
            if name.endswith(".ipynb") and name.removesuffix(".ipynb") + ".html" in pages:
                link.set("href", name.removesuffix(".ipynb") + ".html")
                continue
            if target.startswith(("http://", "https://", "mailto:")):
                link.set("rel", "noopener noreferrer")
                continue
        if not target.startswith("#"):
            link.drop_tag()


def _pictures(tree: lxml.html.HtmlElement) -> None:
    for picture in list(tree.iter("img")):
        alt = (picture.get("alt") or "").strip()
        inline = _PICTURE.fullmatch(picture.get("src") or "")
        if inline and alt:
            continue
        note = lxml.html.Element("span")
        note.set("class", "left-out")
        note.text = f"[picture left out: {alt or 'no description'}]"
        note.tail = picture.tail
        picture.tail = None
        picture.getparent().replace(picture, note)


def _headings(tree: lxml.html.HtmlElement, heading: Callable[[int, str], str] | None) -> None:
    for element in list(tree.iter("h1", "h2", "h3", "h4", "h5", "h6")):
        if heading is None:
            element.tag = "p"
            element.attrib.clear()
            element.set("class", "factlab-heading")
            continue
        element.attrib.clear()
        element.set("id", heading(int(element.tag[1]), " ".join(element.text_content().split())))


def _tables(tree: lxml.html.HtmlElement) -> None:
    """Missing values as a dash, numbers to the right, and a box around each table in which it can scroll."""
    for cell in tree.iter("td", "th"):
        shown = cell.text_content().strip()
        if shown in MISSING and not len(cell):
            cell.text = "∞" if shown == "inf" else "−∞" if shown == "-inf" else "–"
            cell.set("title", "no value" if "inf" not in shown else "infinite")
            cell.set("class", "missing")
        elif cell.tag == "td" and (_NUMBER.fullmatch(shown) or _DATE.fullmatch(shown)):
            cell.set("class", "date" if _DATE.fullmatch(shown) else "num")
        elif cell.tag == "td" and len(shown) > _LONG:
            cell.set("class", "long")
    for table in list(tree.iter("table")):
        if any(parent.tag == "table" for parent in table.iterancestors()):
            continue
        if "dataframe" in (table.get("class") or "").split():
            _without_row_numbers(table)
        _align(table)
        box = lxml.html.Element("div")
        for name, value in (("class", "scroll"), ("role", "region"), ("tabindex", "0"), ("aria-label", "Table")):
            box.set(name, value)
        table.getparent().replace(table, box)
        box.tail, table.tail = table.tail, None
        box.append(table)


def _without_row_numbers(table: lxml.html.HtmlElement) -> None:
    """Take out an index that has no name and counts rows, and headings that count columns: they say nothing to a reader."""
    rows = [list(row) for row in table.iter("tr")]
    heads = [row for row in rows if row and all(cell.tag == "th" for cell in row)]
    body = [row for row in rows if row and row not in heads]
    if len(heads) != 1 or not body or any("rowspan" in c.attrib or "colspan" in c.attrib for row in rows for c in row):
        return  # a named index has a second row of headings
    labels = [row[0] for row in body]
    if any(label.tag != "th" for label in labels) or _said(heads[0][0]):
        return
    if all(_COUNTER.fullmatch(_said(label)) for label in labels):
        for cell in (heads[0][0], *labels):
            cell.drop_tree()
    elif [_said(cell) for cell in heads[0][1:]] == [str(i) for i in range(len(heads[0]) - 1)]:
        heads[0][0].getparent().drop_tree()


def _said(cell: lxml.html.HtmlElement) -> str:
    return cell.text_content().strip()


def _align(table: lxml.html.HtmlElement) -> None:
    """Put the heading of a column of numbers, and its missing values, to the right like the numbers themselves."""
    rows = [list(row) for row in table.iter("tr")]
    body = [row for row in rows if any(cell.tag == "td" for cell in row)]
    heads = [row for row in rows if row and all(cell.tag == "th" for cell in row)]
    for i in range(max(map(len, body), default=0)):
        column = [row[i] for row in body if i < len(row)]
        classes = {cell.get("class") for cell in column}
        if "num" in classes and classes <= {"num", "missing"}:
            for cell in [row[i] for row in heads if i < len(row)] + [c for c in column if c.get("class") == "missing"]:
                cell.set("class", f"{cell.get('class', '')} num".strip())


def _attributes(trusted: bool) -> Callable[[str, str, str], bool]:
    def allowed(tag: str, name: str, value: str) -> bool:
        if name == "class":
            return all(_CLASS.fullmatch(c) for c in value.split())
        if name in ("title", "lang", "dir"):
            return True
        if tag == "a" and name == "href":
            plain = "".join(value.split())
            if plain.startswith("#"):
                return True
            return trusted and (plain.startswith(("http://", "https://", "mailto:")) or not _SCHEME.match(plain))
        if tag == "img":
            return name in ("alt", "width", "height") or (name == "src" and bool(_PICTURE.fullmatch(value)))
        if tag == "div":
            return (name, value) in (("role", "region"), ("tabindex", "0"), ("aria-label", "Table"))
        return (
            (tag in ("td", "th") and name in ("colspan", "rowspan") and value.isdigit())
            or (tag == "th" and name == "scope")
            or (tag == "ol" and name == "start")
            or (tag == "a" and name == "rel")
            or (tag == "details" and name == "open")
            or (trusted and tag in ("h1", "h2", "h3", "h4", "h5", "h6") and name == "id")
        )

    return allowed
