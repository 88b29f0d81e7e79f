"""Every figure: drawn without a trace, described, whole on the page. Artists and data, not pixels.

The files `test_figures_*.py` test what each one shows, with the helpers defined here.
"""

import re
import subprocess
import sys
from functools import partial

import numpy as np
import pandas as pd
import pytest

from factlab import figures, stats, units


def categories(**columns):
    table = pd.DataFrame(
        {
            "category": ["Heart", "Skin", "Bone", "Lung"],
            "value": pd.array([0.5, 0.9, None, 0.2], dtype="Float64"),
            "low": pd.array([0.4, 0.8, None, None], dtype="Float64"),
            "high": pd.array([0.6, 1.0, None, None], dtype="Float64"),
            "n": [40, 9, 0, 1],
        }
    )
    return table.assign(**columns)


def texts(figure):
    """Every text of a figure with its position: its titles, labels and annotations."""
    from matplotlib.text import Text

    return [t.get_text() for t in figure.findobj(Text) if t.get_text() and t.get_visible()]


def ticks(figure):
    return [t.get_text() for t in figure.axes[0].get_yticklabels()]


def lines(figure, marker):
    return [line for line in figure.axes[0].lines if line.get_marker() == marker]


def written(figure, *, outside=True):
    """The annotations of a figure with their boxes on the page, in pixels; those within the axes only: outside=False."""
    from matplotlib.text import Annotation, Text

    figure.draw_without_rendering()
    frame = figure.axes[0].get_window_extent()
    found = [t for t in figure.axes[0].texts if isinstance(t, Annotation)]
    boxes = {t.get_text(): Text.get_window_extent(t) for t in found}
    return {text: box for text, box in boxes.items() if outside or frame.x0 <= box.x0 <= frame.x1}


def overlaps(boxes):
    """The pairs of texts that lie on each other."""
    named = list(boxes.items())
    return [(a, b) for i, (a, one) in enumerate(named) for b, two in named[i + 1 :] if one.overlaps(two)]


def bars(figure):
    return [(p.get_x(), p.get_width(), p.get_height()) for p in figure.axes[0].patches]


# ---------------------------------------------------------------- all of them

FRAME = categories()
VERDICTS = pd.DataFrame({"group": ["a"], "true": [1], "false": [2]})
QUESTIONS = pd.DataFrame({"category": ["Heart", None, "x " * 60], "questions": [3, 0, None]})
A, B = np.arange(12) / 12, (np.arange(12) % 5) / 5
LINES = pd.DataFrame(
    [
        (t, m, 0.6 - 0.1 * t, 0.5 - 0.1 * t, 0.7 - 0.1 * t, 8 + t)
        for m in ("a", "b with a rather long name of its own", "$c$")
        for t in (0, 1, 2)
    ],
    columns=["temperature", "subject", "value", "low", "high", "n"],
)
GAPS = LINES.assign(
    temperature=[0, None, *LINES["temperature"][2:]], value=[None, 0.5, None, *LINES["value"][3:]], low=None, n=None
)
# DAHL Table 2: model, size in billions, score
SIZES = pd.DataFrame(
    [("gpt-4o", None, 0.9365), ("Llama-3", 8, 0.8638), ("Llama-3.1", 8, 0.8627), ("Llama-3.1", 70, 0.8733)]
    + [("Gemma-2", 2, 0.8398), ("Gemma-2", 9, 0.8765), ("Qwen-2", 0.5, 0.7610), ("Qwen-2", 1.5, 0.8151)]
    + [("Qwen-2", 7, 0.8870), ("Qwen-2", 72, 0.8997), ("Mistral-Nemo-Base-2407", 12, 0.8087)]
    + [("Dolly-v2", 3, 0.8250), ("Mpt", 7, 0.7355)],
    columns=["family", "size_b", "score"],
)
SMALL_MODEL = {"name": "SmolLM2-135M-Instruct", "size_b": 0.135, "value": 0.41, "low": 0.35, "high": 0.47, "n": 58}
UNSIZED = pd.DataFrame({"name": ["mine", "one more"], "value": [0.93, 0.91], "low": [0.9, None], "high": [0.96, None]})
LENGTHS = pd.DataFrame({"n_units": [1, 2], "precision": [0.5, 1]})
ALL = {
    "categories": lambda **s: figures.score_by_category(FRAME, **s),
    "no categories": lambda **s: figures.score_by_category(FRAME.iloc[:0], **s),
    "one category": lambda **s: figures.score_by_category(FRAME.iloc[:1], **s),
    "nothing scored": lambda **s: figures.score_by_category(FRAME.iloc[2:3], overall=stats.estimate([]), **s),
    "units": lambda **s: figures.units_per_answer([1, 2, 3], **s),
    "equal units": lambda **s: figures.units_per_answer([0, 0], **s),
    "no answers": lambda **s: figures.units_per_answer([], **s),
    "funnel": lambda **s: figures.outcomes(units.funnel(["scored", "refused"]), **s),
    "nothing asked": lambda **s: figures.outcomes(units.funnel([]), **s),
    "all refused": lambda **s: figures.outcomes(units.funnel(["refused"] * 3), **s),
    "verdicts": lambda **s: figures.verdict_shares(VERDICTS, **s),
    "no verdicts": lambda **s: figures.verdict_shares(VERDICTS.iloc[:0], **s),
    "lengths": lambda **s: figures.score_against_length(LENGTHS, **s),
    "no lengths": lambda **s: figures.score_against_length(LENGTHS.iloc[:0], **s),
    "counts": lambda **s: figures.counts(QUESTIONS, **s),
    "no counts": lambda **s: figures.counts(QUESTIONS.iloc[:0], **s),
    "one count": lambda **s: figures.counts(QUESTIONS.iloc[2:], **s),
    "agreement": lambda **s: figures.bland_altman(A, B, **s),
    "agreement of few": lambda **s: figures.bland_altman([0.5, None], [0.5, 1], **s),
    "agreement of none": lambda **s: figures.bland_altman([], [], **s),
    "pairs": lambda **s: figures.pairs(A, B, note="r = 0.12", **s),
    "one pair": lambda **s: figures.pairs([7, None], [3, 1], names=("x " * 30, "y"), **s),
    "no pairs": lambda **s: figures.pairs([], [], **s),
    "lines": lambda **s: figures.score_lines(LINES, mark=0.6, **s),
    "lines with gaps": lambda **s: figures.score_lines(GAPS, **s),
    "one dot": lambda **s: figures.score_lines(LINES.iloc[:1], **s),
    "no lines": lambda **s: figures.score_lines(LINES.iloc[:0], **s),
    "sizes": lambda **s: figures.score_by_size(SIZES, SMALL_MODEL, **s),
    "unknown sizes": lambda **s: figures.score_by_size(SIZES, UNSIZED, **s),
    "one size": lambda **s: figures.score_by_size(SIZES.iloc[1:2], **s),
    "no sizes": lambda **s: figures.score_by_size(SIZES.iloc[:0], {"name": None, "value": None}, **s),
}


@pytest.mark.parametrize("make", ALL.values(), ids=ALL)
def test_every_figure(make):
    import matplotlib

    before = dict(matplotlib.rcParams)
    figure, table = make(figsize=(6, 4))
    image, drawing = figures.png(figure), figures.svg(figure)
    assert dict(matplotlib.rcParams) == before
    assert tuple(figure.get_size_inches()) == (6, 4)
    assert isinstance(table, pd.DataFrame)
    assert (figures.png(figure), figures.svg(figure)) == (image, drawing)
    assert figures.png(make(figsize=(6, 4))[0]) == image  # made anew: the same bytes
    assert figures.describe(figure).endswith(".")
    said = [*texts(figure), figures.describe(figure)]
    assert not any(re.search(r"\bnan\b|NaN|None|<NA>", text) for text in said), said


NARROW = list(ALL.values())[list(ALL).index("counts") :]  # the older ones leave the size to the caller


@pytest.mark.parametrize("make", [*ALL.values(), *[partial(make, figsize=(4.2, 3.6)) for make in NARROW]])
def test_nothing_is_cut_off(make):
    figure, _ = make()
    figure.draw_without_rendering()
    drawn, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    assert drawn.x0 >= 0 and drawn.y0 >= 0
    assert drawn.x1 <= width and drawn.y1 <= height


def test_the_callers_settings_do_not_change_a_figure():
    import matplotlib

    plain = figures.png(ALL["categories"]()[0])
    with matplotlib.rc_context({"axes.facecolor": "black", "font.size": 30, "axes.grid": True}):
        assert figures.png(ALL["categories"]()[0]) == plain


def test_description_is_built_from_the_numbers():
    figure, _ = figures.score_by_category(categories(), overall=stats.estimate([1] * 30 + [0] * 20, unit="answers"))
    assert figures.describe(figure) == (
        "Dot plot of the score in 4 categories. Highest Skin 0.90 [0.80, 1.00], n = 9; lowest Lung 0.20, n = 1. "
        "All answers: 0.60 [0.46, 0.72], 50 answers. 2 with fewer than 10 answers. 1 without an interval. 1 not scored."
    )


def test_shown_in_a_notebook_with_its_description(monkeypatch):
    import IPython.display

    shown = []
    monkeypatch.setattr(IPython.display, "display", lambda data, **settings: shown.append((data, settings)))
    figure, _ = ALL["units"]()
    figures.show(figure, caption="Units")
    (data, settings), said = shown[0], figures.describe(figure)
    assert data == {"image/png": figures.png(figure), "text/plain": said}
    assert settings == {"metadata": {"image/png": {"alt": said, "caption": "Units"}}, "raw": True}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: figures.score_by_category(FRAME, value="f1"), "no column 'f1'; the table has category"),
        (lambda: figures.outcomes(FRAME), "no column 'step', 'left_out'"),
        (lambda: figures.verdict_shares(FRAME), "no column 'group'"),
        (lambda: figures.score_against_length(FRAME), "no column 'precision', 'n_units'"),
        (lambda: figures.counts(FRAME), "no column 'questions'"),
        (lambda: figures.score_lines(FRAME), "no column 'temperature', 'subject'"),
        (lambda: figures.score_by_size(FRAME), "no column 'family', 'size_b', 'score'"),
        (lambda: figures.score_by_size(SIZES, {"value": 1}), "no column 'name'"),
        (lambda: figures.bland_altman([1], [1], limits=FRAME), "no column 'line'"),
    ],
)
def test_a_missing_column_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_pyplot_is_never_imported():
    code = (
        "import sys; from factlab import figures; assert 'matplotlib' not in sys.modules; "
        "figures.png(figures.units_per_answer([1, 2])[0]); assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_hundreds_of_groups_are_drawn_as_the_largest_ones_and_kept_in_the_table():
    n = 300
    table = pd.DataFrame(
        {"category": [f"c{i}" for i in range(n)], "value": 0.5, "low": 0.4, "high": 0.6, "n": range(1, n + 1)}
    )
    figure, kept = figures.score_by_category(table)
    assert len(kept) == n and f"{n - figures.MOST} smaller ones are not drawn" in figures.describe(figure)
    assert len(figure.axes[0].get_yticks()) == figures.MOST and "c299" in figures.describe(figure)
    counts = pd.DataFrame({"group": table["category"], "true": table["n"], "false": 1})
    figure, kept = figures.verdict_shares(counts)
    assert len(kept) == n and "smaller ones are not drawn" in figures.describe(figure)
