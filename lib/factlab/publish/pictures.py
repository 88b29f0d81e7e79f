"""Figures on a page: the element with its description and files, and what may pass as a picture at all."""

from __future__ import annotations

import html
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

NO_ALT = "Figure without a description"


@dataclass(frozen=True)
class Figures:
    """The figures a run saved: sha256 of a PNG to its name, and the kinds of file each name has."""

    by_hash: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def figure(
    address: str,
    alt: str,
    caption: str = "",
    name: str = "",
    kinds: tuple[str, ...] = (),
    pixels: tuple[int, int] | None = None,
    folder: str = "figures/",
) -> str:
    """A figure element: the image, its caption, a note where the description is missing, links to its files.

    Parameters
    ----------
    address : str
        Where the page finds the image.
    alt, caption : str
        Description for those who cannot see it; line below the figure.
    name, kinds : str, tuple of str
        The run's name for the figure, and which of png, svg, csv exist of it.
    pixels : (int, int), optional
        Width and height, so that the page does not jump while it loads.
    """
    shape = f' width="{pixels[0]}" height="{pixels[1]}"' if pixels else ""
    lines = [html.escape(caption)] if caption else []
    if not alt:
        lines.append('<span class="no-alt">This figure has no description for readers who cannot see it.</span>')
    if kinds:
        words = {"png": "PNG", "svg": "SVG", "csv": "data (CSV)"}
        links = " · ".join(
            f'<a href="{folder}{quote(name)}.{k}" download>{words[k]}</a>' for k in ("png", "svg", "csv") if k in kinds
        )
        lines.append(f'<span class="files">{links}</span>')
    below = f"<figcaption>{' '.join(lines)}</figcaption>" if lines else ""
    return f'<figure><img src="{address}" alt="{html.escape(alt or NO_ALT)}"{shape}>{below}</figure>'


def png_size(octets: bytes) -> tuple[int, int] | None:
    """Width and height in pixels from a PNG's header; None for anything else."""
    if octets[:8] != b"\x89PNG\r\n\x1a\n" or len(octets) < 24:
        return None
    width, height = struct.unpack(">II", octets[16:24])
    return (width, height) if 0 < width < 50_000 and 0 < height < 50_000 else None


def safe_svg(octets: bytes) -> bool:
    """Whether an SVG is a drawing only: no script, no handler, no foreign content, nothing loaded from elsewhere."""
    text = re.sub(r"\s+", " ", octets.decode("utf-8", "replace"))
    active = r"(?i)<\s*(?:\w+:)?(?:script|foreignobject|iframe|embed|object|animate|set|handler)\b|\son\w+\s*=|javascript\s*:"
    loads = r"(?i)(?:href|src)\s*+=\s*+[\"']?+\s*+(?!#|data:image/(?:png|jpeg);)|url\(\s*+[\"']?+(?!#)|@import|<!ENTITY|<\?xml-st"
    return not re.search(active, text) and not re.search(loads, text)
