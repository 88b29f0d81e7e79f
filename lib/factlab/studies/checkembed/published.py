"""CheckEmbed's printed and released numbers (90_published): what follows from what, and a run beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from factlab import stability
from factlab.studies.checkembed.reliability import released_matrices

if TYPE_CHECKING:
    import pandas as pd

    from factlab.runs import Workspace


def runtime_factor(times: pd.DataFrame) -> str:
    """How much faster CheckEmbed is by the released run times, in words."""
    totals = times.set_index("method")["total"].astype(float)
    own = totals[[m for m in totals.index if m.startswith("CheckEmbed")]]
    ratios = {
        other: (totals[other] / own.max(), totals[other] / own.min())
        for other in totals.index
        if other not in own.index
    }
    said = ", ".join(f"{other} takes {low:.1f} to {high:.0f} times as long" for other, (low, high) in ratios.items())
    parts = times["embedding"].fillna(0) + times["comparison"].fillna(0)
    off = times[(parts > 0) & ((parts - times["total"]).abs() > 0.05)]
    return (
        said + (f"; the total of {', '.join(off['method'])} does not follow from its parts" if len(off) else "") + "."
    )


def text_example(claims: pd.DataFrame) -> pd.DataFrame:
    """The text's example of a very certain answer against the text's own rule.

    Returns
    -------
    DataFrame : claim, printed, and for the verdict whether the rule accepts the example.
    """
    value = claims.set_index("claim")["value"].astype(float)
    mean, std, level, spread = (value[name] for name in claims["claim"][:4])
    summary = stability.Summary(mean, std, np.nan, np.nan, 10, "scored")
    table = claims[["claim", "value", "source"]].rename(columns={"value": "printed"}).astype({"printed": object})
    accepted = stability.accept(summary, level, spread)
    table["printed"] = table["printed"].map("{:g}".format)
    table.loc[len(table)] = ["the rule accepts the example", "yes" if accepted else "no", "follows"]
    return table


def recomputed(folder: Path | None) -> pd.DataFrame:
    """Every released summary beside the one that its matrix gives (variant 'released').

    Parameters
    ----------
    folder : `results` of the authors' data, or a part of it; None: an empty table.

    Returns
    -------
    DataFrame, one row a file and field: file, field, matrices, worst_level, worst_spread (largest absolute difference).

    Raises
    ------
    ValueError : the folder holds no such files.
    """
    import pandas as pd

    rows = []
    for path in sorted(folder.rglob("*.json")) if folder is not None else []:
        content = json.loads(path.read_text(encoding="utf-8"))
        records = content.get("data", []) if isinstance(content, dict) else []
        names = {"cosine_sim": "_cosine_sim", "pearson_corr": "_pearson_corr", "result": ""}
        for field, ending in names.items():
            if not records or field not in records[0] or np.ndim(records[0][field]) != 2:
                continue
            # Descriptions have two replies and no ground truth; legal documents have one in the last row.
            truth = len(records[0][field]) > 2
            printed = [
                (r.get(f"frob_norm{ending}", r.get("frobenius_norm")), r.get(f"std_dev{ending}", r.get("std_dev")))
                for r in records
            ]
            found = [stability.summarise(m, truth=truth, variant="released") for m in released_matrices(path, field)]
            levels = [abs(f.level - p[0]) for f, p in zip(found, printed, strict=True)]
            spreads = [abs(f.spread - p[1]) for f, p in zip(found, printed, strict=True)]
            worst = float(np.max(levels)), float(np.max(spreads))
            rows.append((path.relative_to(folder).as_posix(), field, len(found), *worst))
    if folder is not None and not rows:
        raise ValueError(f"{folder}: no released results in it; give the folder `results` of the authors' data")
    return pd.DataFrame(rows, columns=["file", "field", "matrices", "worst_level", "worst_spread"])


def recomputed_sentence(table: pd.DataFrame, tolerance: float = 1e-6) -> str:
    """How many released summaries follow from their matrices, in words."""
    if not len(table):
        return "No released results were given."
    good = (table["worst_level"] <= tolerance) & (table["worst_spread"] <= tolerance)
    said = f"{int(good.sum())} of {len(table)} sets of summaries ({int(table['matrices'].sum()):,} matrices) follow from their matrices to {tolerance:g}"
    off = table[~good]
    return said + (f"; not so: {', '.join(off['file'] + ' ' + off['field'])}." if len(off) else ".")


def own_settings(run: Workspace) -> dict[str, Any]:
    """What the run did, by the aspects of `published/checkembed/settings.csv`."""
    given = run.parameters()
    names = {
        "embedder": "embedder",
        "token encoder": "token_encoder",
        "k": "k",
        "temperature": "temperature",
        "variant": "variant",
    }
    found = {aspect: given[name] for aspect, name in names.items() if name in given}
    if "texts" in given:
        found["questions"] = given["texts"] or "the sample texts"
    return found


def published_warnings(times: pd.DataFrame, verdict: str) -> list[str]:
    """What a reader should distrust."""
    notes = [verdict] if verdict else []
    notes.append(
        "The released run times are single measurements on other hardware, one of them of a server over the network."
    )
    return notes
