"""One executed notebook as the body of a page: nbconvert's basic template with every output made safe first.

Outputs of all kinds (tables, figures, streams, errors) are turned into HTML here, one small function a kind, so that the template
has one thing to print. Figures go to files beside the page, and nothing that could run (scripts, widgets) is kept.
"""

from __future__ import annotations

import ast
import base64
import binascii
import functools
import hashlib
import html
import io
import re
import sys
import tokenize
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

# nbformat's JSON schema checker compiles a grammar of international web addresses on import, which takes seconds and which
# no notebook needs; where the package for it seems absent, it goes without.
_hidden = "rfc3987_syntax" not in sys.modules
if _hidden:
    sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]
import nbformat  # noqa: E402

if _hidden:
    del sys.modules["rfc3987_syntax"]
from nbconvert import HTMLExporter  # noqa: E402
from nbconvert.filters import ansi2html, markdown2html  # noqa: E402

from factlab.publish import clean  # noqa: E402
from factlab.publish.pictures import Figures, figure, png_size, safe_svg  # noqa: E402
from factlab.publish.redact import Redactor  # noqa: E402
from factlab.publish.words import plain, plural  # noqa: E402

_LONGEST_TEXT = 100_000  # characters of a stream or text output
_NO_VALUE = re.compile(r"(?m)(?<=\s\s)( *)(NaN|NaT|<NA>|None|nan)(?=\s*$)")
_RUNS_CODE = ("application/javascript", "text/javascript", "application/vnd.jupyter.widget-view+json")


@dataclass(frozen=True)
class Body:
    """A notebook ready for its page.

    Attributes
    ----------
    title : str
        Its first heading, or "".
    html : str
        Everything after that heading.
    contents : tuple of (int, str, str)
        Level (2 or 3), text and id of each heading.
    warnings : tuple of str
        What a reader should know: figures without a description, outputs left out.
    images : dict
        File name to bytes, for figures that the run did not save itself.
    """

    title: str = ""
    html: str = ""
    contents: tuple[tuple[int, str, str], ...] = ()
    warnings: tuple[str, ...] = ()
    images: dict[str, bytes] = field(default_factory=dict)


def read(path: Path) -> nbformat.NotebookNode:
    """The notebook, in the current format; raises ValueError with the file's name where it cannot be read."""
    try:
        return nbformat.read(path, as_version=4)
    except Exception as error:  # nbformat raises many kinds for a half-written file
        raise ValueError(f"{path.name}: not a notebook that can be read ({type(error).__name__})") from error


def body(
    notebook: nbformat.NotebookNode,
    step: str,
    redactor: Redactor,
    figures: Figures | None = None,
    pages: frozenset[str] = frozenset(),
    parameters: Mapping[str, Any] | None = None,
) -> Body:
    """Turn an executed notebook into the body of its page.

    Parameters
    ----------
    notebook : NotebookNode
        As papermill left it; not changed.
    step : str
        Name of the step, for the names of its images.
    redactor : Redactor
        Applied to every string first.
    figures : Figures, optional
        Files the run saved, to link a figure to its PNG, SVG and data.
    pages : frozenset of str
        Pages that a link between notebooks may lead to.
    parameters : mapping, optional
        Values the run gave to the parameters; else they are read from the notebook.
    """
    work = _Work(step, redactor, figures or Figures())
    nb = nbformat.from_dict(redactor.texts(notebook))
    kept, defaults, given = [], "", dict(parameters or {})
    for cell in nb.cells:
        tags = cell.get("metadata", {}).get("tags") or []
        if any(str(tag).startswith("papermill-error") for tag in tags):
            continue  # papermill's own banner; the page has a better one
        if "injected-parameters" in tags:
            given = {**{name: value for name, value, _ in declared(cell.get("source", ""))}, **given}
            continue
        cell.setdefault("metadata", {})
        cell.setdefault("source", "")
        cell.metadata.anchor = _anchor(cell.get("id"))
        if cell.cell_type == "code":
            if "parameters" in tags:
                defaults = cell.source
                cell.metadata.parameters_table = True
            cell.metadata.summary = plural(len(cell.source.strip().splitlines()), "line")
            cell.outputs = [
                nbformat.v4.new_output("display_data", data={"text/html": shown})
                for shown in work.outputs(cell.get("outputs", []), cell.metadata)
            ]
        kept.append(cell)
    for cell in kept:
        if cell.metadata.get("parameters_table"):
            cell.metadata.parameters_table = parameter_table(defaults, given)
    nb.cells = kept
    nb.metadata.pop("widgets", None)

    exporter = _exporter()
    exporter.register_filter("safe_prose", lambda source: clean.prose(source, work.heading, pages))
    shown, _ = exporter.from_notebook_node(nb)
    shown = re.sub(r"<h1 id=\"title\">.*?</h1>", "", shown, count=1, flags=re.DOTALL)
    return Body(work.title, shown, tuple(work.contents), tuple(work.warnings), work.images)


@functools.cache
def _exporter() -> HTMLExporter:
    template = (Path(__file__).parent / "notebook.html.j2").read_text(encoding="utf-8")
    return HTMLExporter(template_name="basic", raw_template=template, sanitize_html=True, exclude_anchor_links=True)


def declared(source: str) -> list[tuple[str, Any, str]]:
    """Name, value and trailing comment of every parameter that a cell assigns; an expression stands as its text."""
    try:
        tree = ast.parse(source)
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (SyntaxError, tokenize.TokenError, ValueError, RecursionError):
        return []
    comments = {t.start[0]: t.string.lstrip("# ").strip() for t in tokens if t.type == tokenize.COMMENT}
    found = []
    for node in tree.body:
        target = (
            node.target
            if isinstance(node, ast.AnnAssign)
            else node.targets[0]
            if isinstance(node, ast.Assign)
            else None
        )
        if not isinstance(target, ast.Name) or node.value is None:
            continue
        try:
            value = ast.literal_eval(node.value)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            value = ast.get_source_segment(source, node.value) or ""
        found.append((target.id, value, comments.get(node.end_lineno or node.lineno, "")))
    return found


def parameter_table(source: str, given: Mapping[str, Any]) -> str:
    """The parameters of a notebook as a table: name, the value used (marked where it is not the default), meaning."""
    rows, known = [], declared(source)
    for name, default, comment in known + [(n, None, "") for n in given if n not in {k for k, _, _ in known}]:
        value = given.get(name, default)
        changed = name in given and value != default
        rows.append(
            f'<tr><th scope="row"><code>{html.escape(name)}</code></th><td class="value">{_value(value)}'
            + (
                f'<span class="changed" title="default: {html.escape(plain(default))}">set for this run</span>'
                if changed
                else ""
            )
            + f"</td><td>{html.escape(comment)}</td></tr>"
        )
    if not rows:
        return ""
    return (
        '<div class="scroll parameters" role="region" tabindex="0" aria-label="Parameters"><table><caption>Parameters</caption>'
        '<thead><tr><th scope="col">name</th><th scope="col">value</th><th scope="col">meaning</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _value(value: Any) -> str:
    shown = html.escape(plain(value))
    return f'<span class="missing">{shown}</span>' if shown == "not set" else f"<code>{shown}</code>"


def _anchor(cell_id: Any) -> str:
    """`cell-score`: the cell's own id, so that an error in run.json can be linked."""
    name = re.sub(r"[^\w-]+", "-", str(cell_id or "")).strip("-")
    return f"cell-{name}" if name else ""


class _Work:
    """What is gathered while one notebook is converted."""

    def __init__(self, step: str, redactor: Redactor, figures: Figures) -> None:
        self.step, self.redactor, self.figures = step, redactor, figures
        self.title = ""
        self.contents: list[tuple[int, str, str]] = []
        self.warnings: list[str] = []
        self.images: dict[str, bytes] = {}
        self._ids: set[str] = set()

    def heading(self, level: int, text: str) -> str:
        """A unique id for a heading, and its place in the table of contents; the first heading of level 1 is the title."""
        if level == 1 and not self.title:
            self.title = text
            return "title"
        stem = re.sub(r"[^\w]+", "-", text.lower()).strip("-") or "section"
        name, n = f"h-{stem}", 2
        while name in self._ids:
            name, n = f"h-{stem}-{n}", n + 1
        self._ids.add(name)
        if level <= 3:
            self.contents.append((max(level, 2), text, name))
        return name

    def outputs(self, outputs: list[Mapping[str, Any]], metadata: Mapping[str, Any]) -> list[str]:
        """Safe HTML of each output of a cell; pieces of one stream that follow each other are joined."""
        shown: list[str] = []
        stream, held = "", ""

        def flush() -> None:
            if held.strip():
                shown.append(_stream(stream, held))

        for output in outputs:
            kind = output.get("output_type")
            if kind == "stream":
                if output.get("name") != stream:
                    flush()
                    stream, held = str(output.get("name")), ""
                held += _joined(output.get("text"))
                continue
            flush()
            stream, held = "", ""
            if kind == "error":
                shown.append(_error(output))
            elif kind in ("display_data", "execute_result"):
                shown.append(self._display(output, metadata))
        flush()
        return [piece for piece in shown if piece]

    def _display(self, output: Mapping[str, Any], cell: Mapping[str, Any]) -> str:
        data = output.get("data") or {}
        for kind in ("image/png", "image/jpeg", "image/svg+xml"):
            if kind in data:
                return self._figure(kind, _joined(data[kind]), output.get("metadata") or {}, cell)
        if any(kind in data for kind in _RUNS_CODE):
            self.warnings.append("an interactive output is not shown: it would need a script")
            return '<p class="left-out">An interactive output is not shown here; open the notebook to see it.</p>'
        if "text/html" in data:
            source = _joined(data["text/html"])
            if len(source) <= clean.LONGEST_HTML:
                return f'<div class="output">{clean.outputs(source)}</div>'
            self.warnings.append("a very long table is shown as text; see the data")
        elif "text/markdown" in data:
            return (
                f'<div class="output prose">{clean.outputs(str(markdown2html(_joined(data["text/markdown"]))))}</div>'
            )
        for kind in ("text/plain", "text/latex", "application/json"):
            if kind in data:
                text = data[kind] if isinstance(data[kind], str | list) else str(data[kind])
                return _text(_joined(text))
        return ""

    def _figure(self, kind: str, source: str, metadata: Mapping[str, Any], cell: Mapping[str, Any]) -> str:
        def said(
            key: str,
        ) -> str:  # where nbconvert looks too: under the kind of image, then beside it, then on the cell
            inner = metadata.get(kind)
            for place in (inner, metadata, cell):
                if isinstance(place, Mapping) and isinstance(place.get(key), str) and place[key].strip():
                    return place[key].strip()
            return ""

        try:
            octets = source.encode() if kind == "image/svg+xml" else base64.b64decode(source)
        except (binascii.Error, ValueError):
            self.warnings.append("a figure could not be read")
            return '<p class="left-out">A figure could not be read.</p>'
        if kind == "image/svg+xml" and not safe_svg(octets):
            self.warnings.append("a drawing is not shown: it holds more than a drawing")
            return '<p class="left-out">A drawing is not shown: it holds more than a drawing.</p>'
        name = self.figures.by_hash.get(hashlib.sha256(octets).hexdigest(), "") if kind == "image/png" else ""
        if name:
            address = f"figures/{quote(name)}.png"
        else:
            ending = {"image/png": "png", "image/jpeg": "jpg", "image/svg+xml": "svg"}[kind]
            saved = f"{self.step}-{len(self.images) + 1}.{ending}"
            self.images[saved] = octets
            address = f"images/{quote(saved)}"
        alt = said("alt")
        if not alt:
            self.warnings.append(f"figure {name or len(self.images)} has no description (alt text)")
        return figure(address, alt, said("caption"), name, self.figures.kinds.get(name, ()), png_size(octets))


def _joined(text: Any) -> str:
    return "".join(str(part) for part in text) if isinstance(text, list) else str(text or "")


def terminal(text: str) -> str:
    """Text as a terminal would leave it: overwritten progress lines gone, colours as classes, everything escaped."""
    text = re.sub(r"[^\n]*\r(?=[^\n])", "", text.replace("\r\n", "\n"))
    shown = re.sub(r' style="[^"]*"', "", str(ansi2html(text)))
    return shown.replace("\x1b", "")


def _clip(text: str) -> str:
    if len(text) <= _LONGEST_TEXT:
        return text
    return text[:_LONGEST_TEXT] + f"\n… {plural(len(text) - _LONGEST_TEXT, 'character')} more in the notebook"


def _text(text: str) -> str:
    if text.strip() in clean.MISSING:
        return '<div class="output"><p class="missing" title="no value">–</p></div>'
    text = _NO_VALUE.sub(lambda m: m[1] + "–".rjust(len(m[2])), text)
    return f'<div class="output"><pre tabindex="0">{terminal(_clip(text))}</pre></div>'


def _stream(name: str, text: str) -> str:
    shown = terminal(_clip(text)).strip("\n")
    if not shown.strip():
        return ""
    if name == "stderr":
        return f'<details class="log"><summary>messages <span>{plural(shown.count(chr(10)) + 1, "line")}</span></summary><pre tabindex="0">{shown}</pre></details>'
    return f'<div class="output"><pre tabindex="0">{shown}</pre></div>'


def _error(output: Mapping[str, Any]) -> str:
    kind, message = str(output.get("ename") or "Error"), str(output.get("evalue") or "")
    trace = "\n".join(_joined(line) for line in output.get("traceback") or [])
    details = f'<details class="log"><summary>where it happened</summary><pre tabindex="0">{terminal(_clip(trace))}</pre></details>'
    return (
        f'<div class="failure" role="note"><p><strong>{html.escape(kind)}</strong> {terminal(message)}</p>'
        f"{details if trace.strip() else ''}</div>"
    )
