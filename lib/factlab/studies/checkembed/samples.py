"""What a notebook works on: the tables of its run, or the recorded samples where it was opened without one (with a banner)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from factlab import places, sources

if TYPE_CHECKING:
    import pandas as pd

    from factlab.runs import Workspace


def items_of(run: Workspace) -> pd.DataFrame:
    """The texts that were asked about: item_id, text, truth ('' where there is none)."""
    from factlab.models import repeats

    return run.read("items") if run.has("items") else repeats.read_items(_recorded(run, "items", "legal_chunks.csv"))


def pairs_of(run: Workspace) -> pd.DataFrame:
    """Pairs of descriptions: pair_id, setting, kind, text_1, text_2 ('' where a reply held none)."""
    if run.has("pairs"):
        return run.read("pairs")
    return sources.read_table(_recorded(run, "pairs", "descriptions.csv"))[0].reset_index(drop=True)


def passages_of(run: Workspace, versions: int = 4, seed: int = 0) -> pd.DataFrame:
    """Passages with forced errors, as `stability.tasks.with_errors` makes them; versions and seed where they are made here."""
    from factlab.stability import tasks

    if run.has("passages"):
        return run.read("passages")
    return tasks.with_errors(
        sources.read_table(_recorded(run, "passages", "passages.csv"))[0], versions=versions, seed=seed
    )


def are_sample_pairs(pairs: pd.DataFrame) -> bool:
    """Whether all pairs are those that come with the project."""
    sample = sources.read_table(places.samples("checkembed", "descriptions.csv"))[0]
    known = set(zip(sample["text_1"], sample["text_2"], strict=True))
    return len(pairs) > 0 and set(zip(pairs["text_1"], pairs["text_2"], strict=True)) <= known


def _recorded(run: Workspace, name: str, file: str) -> Path:
    run.banner(
        f"There is no table “{name}” from an earlier step, so this page shows the recorded sample (checkembed/{file}). "
        "Run 10_generate_replies, or `factlab run`, to see results of your own."
    )
    return run.used(places.samples("checkembed", file))
