"""Does a model choose an answer, or a place? Items asked in four cyclic orders of their options (MS-Exam-Gen, sections IV and V).

Over the four orders every option stands once in every place. A model that reads the options chooses the same words in all of
them; one that favours a place chooses another option each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from factlab.exam.items import Item, cyclic_orders
from factlab.stats import correlation, holm
from factlab.stats.resampling import FEW

if TYPE_CHECKING:
    import pandas as pd


def order_sheet(items: Sequence[Item]) -> pd.DataFrame:
    """What to ask: every item in each of its cyclic orders.

    Returns
    -------
    DataFrame
        One row an item and order: item_id, rotation (0 is the order of the bank), question, option_a …, key (in this order).
    """
    import pandas as pd

    rows = []
    for item in items:
        for rotation, turned in enumerate(cyclic_orders(item)):
            offered = {
                f"option_{a.casefold()}": option for a, option in zip(turned.letters, turned.options, strict=True)
            }
            rows.append(
                {"item_id": item.id, "rotation": rotation, "question": item.question, **offered, "key": turned.key}
            )
    return pd.DataFrame(rows)


def mark_orders(replies: pd.DataFrame, items: Sequence[Item]) -> pd.DataFrame:
    """Answers to `order_sheet`, marked.

    Parameters
    ----------
    replies : DataFrame
        One row an item, rotation and endpoint: item_id, rotation, endpoint, choice (letter in this order; missing where none
        was read), status.
    items : sequence of Item
        In the order of the bank.

    Returns
    -------
    DataFrame
        In the order of items, endpoints and rotations: item_id, endpoint, rotation, choice, status, place (of the choice, from 0;
        missing where there is none), option (number of the chosen option in the order of the bank), key_place (where the key stands in this order),
        correct (0 or 1). Rotations that were not answered are added with status `error`.

    Raises
    ------
    ValueError
        As `panel.mark`; also for a rotation that an item does not have.
    """
    import pandas as pd

    absent = [c for c in ("item_id", "rotation", "endpoint", "choice", "status") if c not in replies.columns]
    if absent:
        raise ValueError(
            f"replies: no column {', '.join(absent)}; the table has {', '.join(map(str, replies.columns))}"
        )
    by_id = {item.id: item for item in items}
    given: dict[tuple, tuple[Any, str]] = {}
    for item_id, rotation, endpoint, choice, status in replies[
        ["item_id", "rotation", "endpoint", "choice", "status"]
    ].itertuples(index=False):
        if item_id not in by_id:
            raise ValueError(f"replies: item {item_id!r} is not in the bank of {len(by_id)} items")
        item = by_id[item_id]
        if rotation not in range(len(item.options)):
            raise ValueError(
                f"replies: {endpoint}, item {item_id}: rotation {rotation!r}, expected 0 to {len(item.options) - 1}"
            )
        if (item_id, endpoint, int(rotation)) in given:
            raise ValueError(f"replies: {endpoint} answers {item_id}, rotation {rotation}, twice; keep one answer")
        if status == "scored" and (not isinstance(choice, str) or len(choice) != 1 or choice not in item.letters):
            raise ValueError(
                f"replies: {endpoint}, item {item_id}: choice {choice!r} is not one of {', '.join(item.letters)}"
            )
        given[item_id, endpoint, int(rotation)] = choice, status
    asked = set(replies["item_id"])
    rows = []
    for item in items:
        k = len(item.options)
        for endpoint in dict.fromkeys(replies["endpoint"]) if item.id in asked else ():
            for rotation in range(k):
                choice, status = given.get((item.id, endpoint, rotation), (None, "error"))
                place = item.letters.index(choice) if status == "scored" else None
                option = None if place is None else (place + rotation) % k
                row = {
                    "item_id": item.id,
                    "endpoint": endpoint,
                    "rotation": rotation,
                    "choice": choice if place is not None else None,
                }
                row |= {"status": status, "place": place, "option": option}
                rows.append(
                    {**row, "key_place": (item.key_number - rotation) % k, "correct": int(option == item.key_number)}
                )
    columns = ["item_id", "endpoint", "rotation", "choice", "status", "place", "option", "key_place", "correct"]
    frame = pd.DataFrame(rows, columns=columns)
    for name in ("place", "option"):
        frame[name] = (
            pd.array(frame[name].tolist() if rows else [], dtype="Int64")
            if not rows
            else pd.array([None if pd.isna(v) else int(v) for v in frame[name]], dtype="Int64")
        )
    return frame


def order_effects(
    marked: pd.DataFrame, *, permutations: int = 4000, seed: int = 0, alpha: float = 0.05
) -> pd.DataFrame:
    """How much each endpoint is moved by the order of the options.

    Parameters
    ----------
    marked : DataFrame
        From `mark_orders`; four options an item.
    permutations, seed : int
        Of the test.
    alpha : float
        Level of `position_effect`.

    Returns
    -------
    DataFrame
        One row an endpoint: endpoint, items, accuracy_bank (rotation 0), accuracy_mean (over all rotations), lowest and highest (of
        the rotations), change (accuracy_mean − accuracy_bank), stable (share of items with the same option chosen in every
        rotation; an unresolved answer is not the same), stable_correct (share with the key in every rotation), place_a … place_d
        (shares of the letters chosen, of what was read), unresolved, statistic, p (position test), p_holm, position_effect (p_holm
        < alpha; missing where not tested), status, reason.

    Notes
    -----
    Position test: without an effect of place, which of its answers an endpoint gives in which rotation is chance. The answers (as
    options) of each item are permuted over its rotations, and the chi-square of the letters chosen against equal shares is
    compared with that of the permutations: p = (1 + as large) / (1 + permutations). A chi-square table would not do, since the
    four answers to an item depend on each other: an endpoint that never changes its mind chooses every letter equally often.
    The paper counts endpoints with position effects without saying by which test. Fewer than ten items are not tested.
    """
    import pandas as pd

    k = 4
    if len(marked) and int(marked["rotation"].max()) != k - 1:
        raise ValueError(f"order_effects: expected {k} rotations, got {int(marked['rotation'].max()) + 1}")
    rows = []
    for endpoint, answers in marked.groupby("endpoint", sort=False):
        ids = list(dict.fromkeys(answers["item_id"]))
        table = {name: _wide(answers, name, ids, k) for name in ("option", "place", "correct")}
        option, correct = table["option"], table["correct"]
        by_rotation = correct.mean(axis=0)
        read = option >= 0
        same = (option == option[:, :1]).all(axis=1) & read.all(axis=1)
        letters = np.bincount(table["place"][read].astype(int), minlength=k)
        row: dict[str, Any] = {"endpoint": endpoint, "items": len(ids), "accuracy_bank": by_rotation[0]}
        row |= {"accuracy_mean": correct.mean(), "lowest": by_rotation.min(), "highest": by_rotation.max()}
        row |= {
            "change": correct.mean() - by_rotation[0],
            "stable": same.mean(),
            "stable_correct": correct.all(axis=1).mean(),
        }
        shares = letters / letters.sum() if letters.sum() else [None] * k
        row |= {f"place_{a}": share for a, share in zip("abcd", shares, strict=True)}
        row |= {"unresolved": int((~read).sum()), "statistic": None, "p": None, "status": "scored", "reason": ""}
        if len(ids) < FEW:
            row |= {"status": "undefined", "reason": f"{len(ids)} items: too few to test, {FEW} needed"}
        elif not letters.sum():
            row |= {"status": "undefined", "reason": "no answer could be read"}
        else:
            row["statistic"], row["p"] = _position_test(option, permutations, seed)
        rows.append(row)
    for row, corrected in zip(rows, holm([row["p"] for row in rows]), strict=True):
        tested = not np.isnan(corrected)
        row |= {"p_holm": corrected if tested else None, "position_effect": bool(corrected < alpha) if tested else None}
    columns = [
        "endpoint",
        "items",
        "accuracy_bank",
        "accuracy_mean",
        "lowest",
        "highest",
        "change",
        "stable",
        "stable_correct",
    ]
    columns += ["place_a", "place_b", "place_c", "place_d", "unresolved", "statistic", "p", "p_holm", "position_effect"]
    frame = pd.DataFrame(rows, columns=[*columns, "status", "reason"])
    floats = [c for c in columns if c not in ("endpoint", "items", "unresolved", "position_effect")]
    for name in floats:
        frame[name] = pd.array([None if pd.isna(v) else float(v) for v in frame[name]], dtype="Float64")
    frame["position_effect"] = pd.array(frame["position_effect"].tolist(), dtype="boolean")
    return frame


def _wide(answers: pd.DataFrame, name: str, ids: list[str], k: int) -> np.ndarray:
    """(items, rotations); −1 for what is missing."""
    wide = answers.pivot(index="item_id", columns="rotation", values=name).reindex(index=ids, columns=range(k))
    return wide.astype("Int64").fillna(-1).to_numpy(dtype=int)


def _position_test(option: np.ndarray, permutations: int, seed: int) -> tuple[float, float]:
    """Chi-square of the letters against equal shares, and its p over permutations of each item's answers."""
    n, k = option.shape
    rng = np.random.default_rng(seed)
    rotation = np.arange(k)

    def statistic(answers: np.ndarray) -> np.ndarray:
        """(…, items, rotations) of options to chi-squares."""
        place = np.where(answers >= 0, (answers - rotation) % k, k)
        counts = np.stack([(place == a).sum(axis=(-2, -1)) for a in range(k)], axis=-1)
        total = counts.sum(axis=-1, keepdims=True)
        return ((counts - total / k) ** 2).sum(axis=-1) / (total[..., 0] / k)

    observed = float(statistic(option))
    hits, block = 0, max(1, 2_000_000 // (n * k))
    for start in range(0, permutations, block):
        size = min(block, permutations - start)
        order = rng.random((size, n, k)).argsort(axis=-1)
        drawn = np.take_along_axis(np.broadcast_to(option, (size, n, k)), order, axis=-1)
        hits += int((statistic(drawn) >= observed - 1e-9).sum())
    return observed, (1 + hits) / (1 + permutations)


def order_study(effects: pd.DataFrame) -> dict[str, Any]:
    """What the order of options does to a whole panel.

    MS-Exam-Gen, section V: rho = 0.991, a mean absolute change of 2.82 points, stability of 56.9 %, effects in 9 of 11 endpoints.

    Parameters
    ----------
    effects : DataFrame
        From `order_effects`.

    Returns
    -------
    dict
        endpoints; spearman (rank correlation of accuracy_bank and accuracy_mean over endpoints; None where undefined); mean_change (mean of
        |accuracy_mean − accuracy_bank|, 0..1); mean_range (mean of highest − lowest); stable (mean over endpoints); position_effects,
        tested (how many endpoints); reason (why something is None).

    Notes
    -----
    The paper does not say which scores it correlates and subtracts; that of the bank's order against the mean of all orders is our reading.
    """
    found: dict[str, Any] = {
        "endpoints": len(effects),
        "spearman": None,
        "mean_change": None,
        "mean_range": None,
        "stable": None,
    }
    tested = effects["position_effect"].dropna()
    found |= {"position_effects": int(tested.sum()), "tested": len(tested), "reason": ""}
    if not len(effects):
        return {**found, "reason": "no endpoint"}
    ranks = correlation(effects["accuracy_bank"], effects["accuracy_mean"]).set_index("coefficient").loc["spearman"]
    if ranks["status"] == "scored":
        found["spearman"] = float(ranks["value"])
    else:
        found["reason"] = f"spearman: {ranks['reason']}"
    found["mean_change"] = float(effects["change"].abs().mean())
    found["mean_range"] = float((effects["highest"] - effects["lowest"]).mean())
    found["stable"] = float(effects["stable"].mean())
    return found
