"""Numbers, times and sizes as a reader wants them, and the interval bar. Nothing here ever prints NaN or None."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any

DASH = "–"
NOT_RECORDED = "not recorded"

# What each outcome means to a reader; the vocabulary is that of the tables' `status` columns.
OUTCOMES = {
    "refused": "refused",
    "truncated": "cut off",
    "unparsable": "unreadable",
    "unknown": "unknown",
    "no_units": "without a unit",
    "undefined": "undefined",
    "error": "failed or empty",
}


def finite(value: Any) -> float | None:
    """The value as a float, or None for whatever is not a finite number (booleans included)."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def number(value: Any, digits: int = 2) -> str:
    """A number with a fixed count of decimals and thin spaces between thousands; a dash for what is not a number."""
    exact = finite(value)
    if exact is None:
        return DASH
    if isinstance(value, int):
        digits = 0
    return f"{round(exact, digits) + 0.0:,.{digits}f}".replace(",", "\u202f").replace("-", "−")


def count(value: Any) -> str:
    """A whole number with thin spaces between thousands; a dash for what is not a number."""
    value = finite(value)
    return DASH if value is None else f"{round(value):,}".replace(",", "\u202f")


def digits_for(low: float | None, high: float | None) -> int:
    """Decimals worth printing: as many as it takes to tell the ends of the interval apart, two to four."""
    if low is None or high is None:
        return 2
    return next((digits for digits in (2, 3) if abs(high - low) >= 2 * 10.0**-digits), 4)


def duration(seconds: Any) -> str:
    """Seconds as `0.4 s`, `12 s`, `3 min 5 s` or `2 h 10 min`."""
    seconds = finite(seconds)
    if seconds is None or seconds < 0:
        return NOT_RECORDED
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def moment(value: Any) -> datetime | None:
    """An ISO time (or seconds since 1970) as a datetime; None where it is neither."""
    try:
        if isinstance(value, str):
            return datetime.fromisoformat(value.replace("Z", "+00:00"))
        seconds = finite(value)
        return None if seconds is None else datetime.fromtimestamp(seconds).astimezone()
    except (ValueError, OverflowError, OSError):
        return None


def when(value: datetime | None) -> str:
    """A time as `3 June 2025, 14:05` with its zone where it is known."""
    if value is None:
        return NOT_RECORDED
    zone = value.tzname() or ""
    return f"{value.day} {value:%B %Y, %H:%M} {zone}".strip()


def money(value: Any) -> str:
    """US dollars; small amounts keep enough digits to be told from zero."""
    value = finite(value)
    if value is None:
        return NOT_RECORDED
    return f"${value:.2f}" if value == 0 or value >= 0.01 else f"${value:.4f}"


def size(octets: int) -> str:
    """A file size in kB or MB (powers of ten)."""
    if octets < 1000:
        return f"{octets} bytes"
    return f"{octets / 1000:.0f} kB" if octets < 999_500 else f"{octets / 1e6:.1f} MB"


def plural(n: float, noun: str) -> str:
    """`1 answer`, `58 answers`."""
    if finite(n) == 1 or not noun:
        return f"{count(n)} {noun}".strip()
    ending = (
        "ies" if noun.endswith("y") and noun[-2:-1] not in "aeiou" else "es" if noun.endswith(("s", "x", "ch")) else "s"
    )
    return f"{count(n)} {noun[:-1] if ending == 'ies' else noun}{ending}"


def plain(value: Any) -> str:
    """A parameter's value in words: `not set` for None and the empty string, yes and no for booleans."""
    if value is None or value == "" or value != value:
        return "not set"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(plain(v) for v in value) or "none"
    if isinstance(value, Mapping):
        return ", ".join(f"{k}: {plain(v)}" for k, v in value.items()) or "none"
    return str(value)


def left_out(counts: Mapping[str, Any]) -> tuple[int, str]:
    """How many were asked but not scored, and why: `(9, "6 refused, 3 unknown")`, the largest group first."""
    rest = {k: int(finite(v) or 0) for k, v in counts.items() if k not in ("scored", "asked", "total", "n")}
    rest = {k: v for k, v in sorted(rest.items(), key=lambda pair: (-pair[1], pair[0])) if v > 0}
    return sum(rest.values()), ", ".join(f"{count(v)} {OUTCOMES.get(k, k.replace('_', ' '))}" for k, v in rest.items())


def interval_bar(value: float | None, low: float | None, high: float | None, label: str) -> str:
    """An inline SVG: the interval and the value on an axis from 0 to 1; empty where a number lies outside of it.

    Parameters
    ----------
    value, low, high : float or None
        Shares in [0, 1]; without an interval only the value is drawn.
    label : str
        What the drawing says, for readers who cannot see it.
    """
    drawn = [x for x in (value, low, high) if x is not None]
    if value is None or not all(0 <= x <= 1 for x in drawn):
        return ""
    left, width, y = 8.0, 304.0, 14.0
    at = lambda x: f"{left + width * x:.1f}"  # noqa: E731 - one line reads better here
    ticks = "".join(
        f'<line class="tick" x1="{at(x)}" x2="{at(x)}" y1="{y - (6 if x in (0, 1) else 3)}" y2="{y + (6 if x in (0, 1) else 3)}"/>'
        for x in (0, 0.25, 0.5, 0.75, 1)
    )
    names = "".join(
        f'<text x="{at(x)}" y="36" text-anchor="{anchor}">{name}</text>'
        for x, name, anchor in ((0, "0", "middle"), (0.5, "0.5", "middle"), (1, "1", "middle"))
    )
    band = ""
    if low is not None and high is not None:
        start, end = sorted((low, high))
        band = f'<rect class="band" x="{at(start)}" y="{y - 6}" width="{max(width * (end - start), 1.5):.1f}" height="12" rx="2"/>'
    return (
        f'<svg class="interval" viewBox="0 0 320 40" role="img" aria-label="{html.escape(label)}">'
        f'<line class="axis" x1="{at(0)}" x2="{at(1)}" y1="{y}" y2="{y}"/>{ticks}{band}'
        f'<rect class="mark-value" x="{left + width * value - 1.5:.1f}" y="{y - 9}" width="3" height="18" rx="1.5"/>{names}</svg>'
    )
