"""A figure on a page or in a file: its description, PNG, SVG, and the output of a notebook cell."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from factlab.figures import drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def describe(figure: Figure) -> str:
    """The text that stands for a figure where it cannot be seen, built from its numbers.

    Parameters
    ----------
    figure : Figure
        Made by a function of this module.

    Returns
    -------
    str
        Empty for any other figure.
    """
    return str(figure.get_label() or "")


def png(figure: Figure, dpi: int = 144) -> bytes:
    """A figure as PNG. The same figure gives the same bytes; its description is in the file's metadata."""
    return _saved(figure, "png", {"Software": None, "Description": describe(figure)}, dpi=dpi)


def svg(figure: Figure) -> bytes:
    """A figure as SVG, its text kept as text. The same figure gives the same bytes."""
    return _saved(figure, "svg", {"Date": None, "Creator": None, "Description": describe(figure)})


def _saved(figure: Figure, kind: str, metadata: Mapping[str, Any], **settings: Any) -> bytes:
    out = io.BytesIO()
    with drawing.style():
        figure.savefig(out, format=kind, metadata=metadata, facecolor="white", **settings)
    return out.getvalue()


def show(figure: Figure, caption: str = "", picture: bytes | None = None) -> None:
    """Show a figure in a notebook, with its description as alternative text.

    Parameters
    ----------
    figure : Figure
    caption : str
        A line to stand below it on a published page.
    picture : bytes, optional
        What `png` returned for it before, so that it is not drawn twice.

    Notes
    -----
    The picture is exactly what `png` returns; the description is in the output's metadata, where nbconvert looks for
    it.
    """
    from IPython.display import display

    said = {"alt": describe(figure)} | ({"caption": caption} if caption else {})
    display(
        {"image/png": picture or png(figure), "text/plain": describe(figure)}, metadata={"image/png": said}, raw=True
    )
