"""A run's own exam beside MS-Exam-Gen's printed numbers (90_published).

The folder of a run goes in (`results` of 50_lock_and_evaluate, `order_effects` of 70_option_order, its parameters), tables come out. Shares are
in percent as printed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from factlab import exam
from factlab.studies.ms_exam_gen import audit, banks, difficulty, evaluation, option_orders, published

if TYPE_CHECKING:
    import pandas as pd

    from factlab.runs import Workspace

_SETTINGS = ("store", "chunk_chars", "overlap", "per_query", "k", "synthesis_k", "per_source", "snippets", "temperature", "repair_temperature", "near", "cosine", "replicates", "order_items")  # fmt: skip


def own_results(run: Workspace) -> pd.DataFrame | None:
    """The marked answers of the run's primary endpoints (as `evaluation.primary`) in the bank's order of options; None where 50_lock_and_evaluate has not run."""
    if not run.has("results"):
        return None
    found = run.read("results")
    for column, kept in (("order", 0), ("overlap", False)):
        if column in found.columns:
            found = found[found[column].fillna(kept) == kept]
    if "status" in found.columns:
        found = found[~found["endpoint"].isin(evaluation.silent(found)["endpoint"])]
    return found.reset_index(drop=True) if len(found) and "correct" in found.columns else None


def flag_at(run: Workspace, endpoints: int) -> int:
    """How many endpoints must miss an item to flag it: the run's `t`, or a third of the panel, as 4 of 12."""
    return int(run.parameters().get("t") or 0) or difficulty.threshold(endpoints)


def table(run: Workspace, results: pd.DataFrame | None) -> pd.DataFrame:
    """The run's numbers beside the printed ones.

    Parameters
    ----------
    results : from `own_results`.

    Returns
    -------
    DataFrame : measure, printed, this run, n (what this run's is of). Shares in percent.
    """
    import pandas as pd

    at = audit.numbers()
    rows: list[tuple[str, str, str, str]] = []
    if results is None:
        return pd.DataFrame(rows, columns=["measure", "printed", "this run", "n"])
    correct = exam.correct_matrix(results)
    n, m = correct.shape
    t = flag_at(run, m)
    accuracy = correct.mean()
    of = f"{n:,} items, {m} endpoints"
    rows = [
        ("highest accuracy", f"{at[audit.BEST]:.2f} %", f"{100 * accuracy.max():.2f} % ({accuracy.idxmax()})", of),
        ("lowest accuracy", f"{at[audit.WORST]:.2f} %", f"{100 * accuracy.min():.2f} % ({accuracy.idxmin()})", of),
        ("range", f"{at['accuracy range']:.1f} points", f"{100 * (accuracy.max() - accuracy.min()):.1f} points", of),
        ("missed by none or one", f"{at['missed by 0–1']:.1f} %", f"{100 * float((exam.difficulty(correct) <= 1).mean()):.1f} %", of),
        ("missed by a third of the panel", f"{at['missed by 4+']:.1f} % (4 of 12)", f"{100 * float((exam.difficulty(correct) >= t).mean()):.1f} % ({t} of {m})", of),
    ]  # fmt: skip
    loo = exam.leave_one_out(correct, t)
    for name, column, printed in (("correlation without an endpoint, smallest (Pearson)", "pearson", None), ("the same (Spearman)", "spearman", None), ("agreement of flags, smallest", "agreement", f"at least {at['leave-one-out agreement']:g} %")):  # fmt: skip
        known = loo[column].dropna()
        value = "undefined" if not len(known) else f"{100 * float(known.min()):.1f} %" if column == "agreement" else f"{float(known.min()):.3f}"  # fmt: skip
        rows.append(
            (name, printed or f"at least {at['leave-one-out correlation']:g}, of one kind or the other", value, of)
        )
    unread = int((results["status"] != "scored").sum()) if "status" in results.columns else 0
    rows.append(("unresolved answers", "0 of 36,696", f"{unread:,} of {len(results):,}", of))
    return pd.DataFrame([*rows, *_own_order(run, at)], columns=["measure", "printed", "this run", "n"])


def _own_order(run: Workspace, at: dict[str, float]) -> list[tuple[str, str, str, str]]:
    if not run.has("order_effects") or not len(effects := run.read("order_effects")):
        return []
    found = exam.order_study(option_orders.movable(effects))
    if not found["endpoints"]:
        return []
    of = f"{int(effects['items'].max())} items, {found['endpoints']} endpoints"
    rho = "undefined" if found["spearman"] is None else f"{found['spearman']:.3f}"
    return [
        ("rank correlation of orders", f"{at['order correlation']:g}", rho, of),
        ("mean change with order", f"{at['order change']:g} points", f"{100 * found['mean_change']:.2f} points", of),
        ("same option in every order", f"{at['order stability']:g} %", f"{100 * found['stable']:.1f} %", of),
        ("position effects", "9 of 11", f"{found['position_effects']} of {found['tested']}", of),
    ]


def own_misses(run: Workspace, results: pd.DataFrame | None) -> pd.DataFrame | None:
    """The printed bands and the run's own below each other, for `figures.miss_distribution`; None where there is no run, or its panel has not 12
    endpoints: miss counts of panels of other sizes are not of one kind.
    """
    import pandas as pd

    if results is None:
        return None
    correct = exam.correct_matrix(results)
    if correct.shape[1] != int(audit.numbers()["primary endpoints"]):
        return None
    own = exam.difficulty_bands(exam.difficulty(correct)).value_counts(normalize=True, sort=False)
    shares = pd.DataFrame({"missed": own.index.astype(str), "share": own.to_numpy(), "whose": "this run"})
    return pd.concat([published.misses().assign(whose="printed"), shares], ignore_index=True)


def own_settings(run: Workspace, results: pd.DataFrame | None, same_prompt: bool = False) -> dict[str, Any]:
    """What the run did, by the aspects of `published/ms_exam_gen/settings.csv`; empty where it has no record of its parameters.

    Parameters
    ----------
    results : from `own_results`.
    same_prompt : whether the prompt was the authors', which no record tells.
    """
    given = run.parameters()
    if not given:
        return {}
    found: dict[str, Any] = {
        "bank": given.get("bank") or _bank(run),
        "prompt": "standardised A-D only" if same_prompt else "our own words",
        "unresolved": "not correct",
    }
    if results is not None:
        m = results["endpoint"].nunique()
        found |= {"items": results["item_id"].nunique(), "panel": f"{m} endpoints of its own", "t": flag_at(run, m)}
    for name, printed in (("builder", "GPT-5 mini"), ("retriever", "text-embedding-3-large")):
        if model := str(given.get(name) or ""):
            found[name] = printed if model.split("/")[-1].replace("-mini", " mini").casefold() == printed.casefold() else model  # fmt: skip
    found |= {name: given[name] for name in _SETTINGS if name in given}
    if run.has("order_effects") and len(effects := run.read("order_effects")):
        found["order_items"] = int(effects["items"].max())  # fewer than asked for where the bank had no more
    return found


def _bank(run: Workspace) -> str:
    """Whose items a run without a bank file used."""
    if not run.has("bank"):
        return "the run's own items, or the sample bank"
    return (
        "sample bank" if banks.made_by(exam.from_table(run.read("bank"), "the table bank")) else "the run's own items"
    )
