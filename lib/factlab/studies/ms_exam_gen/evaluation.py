"""What a panel answers to a locked bank, within a limit of cost (50_lock_and_evaluate).

MS-Exam-Gen, sections III.D, IV and V. The counting is that of `factlab.exam`; this module asks the panel, joins recorded answers,
and says in words what the numbers do and do not show.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from factlab import exam, places
from factlab.exam import Item, choices
from factlab.models.base import ModelError
from factlab.stats.resampling import FEW
from factlab.studies.ms_exam_gen import endpoints as panels
from factlab.studies.ms_exam_gen.endpoints import Endpoint

if TYPE_CHECKING:
    import pandas as pd

    from factlab.runs import Workspace

CHANCE = 1 / len(exam.LETTERS)
NOT_GIVEN = "no answer was recorded"
_SAMPLE = "ms_exam_gen"


def plan(
    panel: Sequence[Endpoint],
    items: Sequence[Item],
    passages: Mapping[str, str],
    *,
    max_tokens: int = 16,
    orders: int = 1,
    max_cost_usd: float | None = None,
    mode: str = "cache",
) -> pd.DataFrame:
    """What the panel would be sent and would cost, before anything is.

    Parameters
    ----------
    panel, items, passages : as for `evaluate`.
    max_tokens : longest reply.
    orders : in how many orders each item is asked.
    max_cost_usd : limit for the whole panel.
    mode : of `models.load`.

    Returns
    -------
    DataFrame
        One row an endpoint: endpoint, calls, prompt_tokens, usd (at most; missing where no price is known), note.

    Raises
    ------
    ModelError : the panel may cost more than the limit, or that cannot be known.
    """
    import pandas as pd

    from factlab import models

    rows = []
    for endpoint in panel:
        row: dict[str, Any] = {
            "endpoint": endpoint.name,
            "calls": 0,
            "prompt_tokens": 0,
            "usd": 0.0,
            "note": "nothing is asked",
        }
        if endpoint.is_model:
            texts = [panels.message(endpoint, item, passages.get(item.id, "")) for item in items] * orders
            cost = models.load(endpoint.model, mode=mode).estimate(texts, max_tokens=max_tokens)
            row |= {"calls": cost.calls, "prompt_tokens": cost.prompt_tokens, "usd": cost.usd, "note": cost.note}
        elif endpoint.scoring == "similarity":
            row["note"] = "embeddings of stems or passages, and of options"
        rows.append(row)
    table = pd.DataFrame(rows, columns=["endpoint", "calls", "prompt_tokens", "usd", "note"]).astype({"usd": "Float64"})
    if max_cost_usd is not None:
        unknown = table[table["usd"].isna()]
        if len(unknown):
            raise ModelError(
                f"max_cost_usd is {max_cost_usd:g}, but the cost of {unknown['endpoint'].iloc[0]} cannot be estimated: "
                f"{unknown['note'].iloc[0]}"
            )
        if (total := float(table["usd"].sum())) > max_cost_usd:
            raise ModelError(
                f"stopped before sending: the panel of {len(panel)} endpoints may cost {total:.2f} USD for {len(items)} items; the limit "
                f"max_cost_usd is {max_cost_usd:g}. Raise it, or take fewer endpoints or items"
            )
    return table


def evaluate(
    panel: Sequence[Endpoint],
    items: Sequence[Item],
    passages: Mapping[str, str],
    *,
    orders: Sequence[int] = (0,),
    mode: str = "cache",
    **settings: Any,
) -> pd.DataFrame:
    """Every endpoint's answers to every item.

    Parameters
    ----------
    panel : endpoints; a model that stands in several is loaded once.
    items : the bank, in its own order of options.
    passages : from `gold_passages`.
    orders : rotations in which each item is asked: (0,) for the exam, (0, 1, 2, 3) for the study of option order.
    mode : of `models.load`.
    settings : temperature, max_tokens, seed of `endpoints.ask`.

    Returns
    -------
    DataFrame : the rows of `endpoints.ask`, endpoint by endpoint.
    """
    import pandas as pd

    from factlab import models

    loaded: dict[tuple[str, bool], Any] = {}
    turned = [(exam.cyclic_orders(item)[r], r) for r in orders for item in items]
    frames = []
    for endpoint in panel:
        key = endpoint.model, endpoint.is_model
        if key not in loaded and endpoint.scoring != "longest":
            loaded[key] = (models if endpoint.is_model else models.embed).load(endpoint.model, mode=mode)
        told = {"orders": [r for _, r in turned], "passages": passages, **settings}
        frames.append(panels.ask(endpoint, loaded.get(key), [item for item, _ in turned], **told))
    return pd.concat(frames, ignore_index=True) if frames else panels.typed(pd.DataFrame(columns=list(panels.COLUMNS)))


def gather(
    run: Workspace,
    lines: Sequence[str],
    items: Sequence[Item],
    passages: Mapping[str, str],
    *,
    recorded: str = "",
    orders: Sequence[int] = (0,),
    mode: str = "cache",
    **settings: Any,
) -> tuple[pd.DataFrame, list[Endpoint]]:
    """The answers of a panel that may have recorded endpoints, and its endpoints.

    Parameters
    ----------
    run : Workspace, to record the file of answers.
    lines : of the panel, see `endpoints`; `recorded` stands for all endpoints of the table, `recorded/<name>` for one.
    recorded : table of answers (`endpoints.read_recorded`); empty: the sample.
    items, passages, orders, mode, settings : as for `evaluate`.

    Returns
    -------
    The rows as `evaluate` gives them, and the endpoints. ``attrs["notes"]`` of the rows says what of the table was not used.

    Raises
    ------
    ModelError : a line cannot be read, a name stands twice, or nobody is in the panel.
    """
    import pandas as pd

    panel = panels.read_panel(lines)
    wanted = [line.strip().removeprefix("recorded").lstrip("/") for line in lines if panels.is_recorded(line)]
    frames, sat, notes = [], [], []
    if wanted:
        path = run.used(recorded or places.samples(_SAMPLE, "results.csv"))
        answers, known = panels.read_recorded(path, items)
        strangers = _strangers(run, answers.attrs["strangers"])
        if strangers:
            notes.append(
                f"{len(strangers)} {'row' if len(strangers) == 1 else 'rows'} of {path.name} {'is' if len(strangers) == 1 else 'are'} about no item "
                f"of this bank and {'was' if len(strangers) == 1 else 'were'} not used (first: {strangers[0]})."
            )
        answers = answers[answers["order"].isin(list(orders))]
        if unknown := [name for name in wanted if name and name not in {e.name for e in known}]:
            raise ModelError(
                f"panel: {path} has no answers of {unknown[0]!r} to this bank; it has {', '.join(e.name for e in known) or 'none'}"
            )
        if not known:
            raise ModelError(
                f"panel: {path} has no answer to any item of this bank; its item_id must be the ids of the bank's file or those of its lock "
                f"({_either(items[0])}, …), not {(answers.attrs['strangers'] or ['empty'])[0]!r}. Or name endpoints to ask"
            )
        # For the study of order only those who answered in all of the orders.
        whole = answers.groupby("endpoint")["order"].nunique()
        named = [e for e in known if "" in wanted or e.name in wanted]
        sat = [e for e in named if whole.get(e.name, 0) == len(set(orders))]
        if lacking := [e.name for e in named if e not in sat]:
            which = (
                f"in order {orders[0]}" if len(orders) == 1 else f"in all of the orders {', '.join(map(str, orders))}"
            )
            notes.append(f"{path.name} has no answers {which} of {', '.join(lacking)}.")
        frames.append(answers[answers["endpoint"].isin([e.name for e in sat])])
    if twice := sorted({e.name for e in sat} & {e.name for e in panel}):
        raise ModelError(f"panel: {twice[0]!r} is recorded and asked; give the one that is asked another name")
    frames.append(evaluate(panel, items, passages, orders=orders, mode=mode, **settings))
    if not sat and not panel:
        said = " ".join(notes) or "Name endpoints, or recorded (see studies/ms_exam_gen/endpoints.py)"
        raise ModelError(f"panel: nobody sits the exam. {said}")
    frames = [f for f in frames if len(f)]
    whole = pd.concat(frames, ignore_index=True)
    whole.attrs = {"notes": notes}
    return whole, [*sat, *panel]


def _strangers(run: Workspace, ids: Sequence[str]) -> list[str]:
    """Of ids that are no item's of the bank those that the audit of the run did not leave out either."""
    out = run.read("screen") if run.has("screen") else None
    audited = set() if out is None else {*out["item_id"], *out.get("own_id", [])}
    return [name for name in ids if name not in audited]


def _either(item: Item) -> str:
    return f"{item.own_id} or {item.id}" if item.own_id else item.id


def mark(answers: pd.DataFrame, items: Sequence[Item], sat: pd.DataFrame) -> pd.DataFrame:
    """Answers marked by `exam.mark`, what overlaps with the builders marked from the table of endpoints; an item without an answer says so."""
    marked = exam.mark(answers[answers["order"] == 0], items, sat.loc[sat["overlap"].astype(bool), "endpoint"])
    added = marked["order"].isna()
    marked = panels.typed(marked)
    marked.loc[added, "error"] = NOT_GIVEN
    return marked


def results(run: Workspace, items: Sequence[Item]) -> pd.DataFrame:
    """The marked answers that 50 wrote; in a notebook opened by hand with none, the recorded sample, with a banner."""
    table = run.read("results")
    if "correct" in table.columns and run.has("results"):
        return exam.mark(panels.typed(table), items, table.loc[table["overlap"].astype(bool), "endpoint"].unique())
    answers, sat = panels.read_recorded(run.used(places.samples(_SAMPLE, "results.csv")), items)
    return mark(answers, items, panels.endpoint_table(sat))


def endpoint_models(run: Workspace, items: Sequence[Item]) -> pd.DataFrame:
    """The table of endpoints of the run, or of the recorded sample."""
    if run.has("endpoints"):
        return run.read("endpoints")
    return panels.endpoint_table(panels.read_recorded(places.samples(_SAMPLE, "results.csv"), items)[1])


def primary(results: pd.DataFrame) -> pd.DataFrame:
    """The answers of endpoints that did not build the bank and gave any answer: a call that fails says nothing of what is known.

    Raises
    ------
    ValueError : there is no such endpoint.
    """
    kept = results[~results["overlap"].astype(bool) & ~results["endpoint"].isin(silent(results)["endpoint"])]
    if not len(kept):
        built = results.loc[results["overlap"].astype(bool), "endpoint"].unique()
        said = [f"{r.endpoint}: {r.calls} of {r.calls} calls failed ({r.error})" for r in silent(results).itertuples()]
        raise ValueError(
            f"no endpoint of the panel can be scored. {'; '.join([*said, *(f'{name} built the bank' for name in built)])}"
        )
    return kept


def silent(results: pd.DataFrame) -> pd.DataFrame:
    """Endpoints that gave no answer at all: endpoint, calls, error (the first)."""
    failed = (results["status"] == "error").groupby(results["endpoint"], sort=False).all()
    own = panels.typed(results[results["endpoint"].isin(failed.index[failed])]).groupby("endpoint", sort=False)
    return own["error"].agg(calls="size", error="first").reset_index()


def against_chance(results: pd.DataFrame, alpha: float = 0.05) -> pd.DataFrame:
    """Which endpoints know more than a guess would.

    Parameters
    ----------
    results : from `mark`.
    alpha : level of `above`.

    Returns
    -------
    DataFrame
        One row an endpoint: endpoint, correct, n, value, p (binomial, one-sided, against 1 in 4; items taken as independent), p_holm
        (over endpoints), above (p_holm < alpha; missing below ten items).
    """
    import pandas as pd
    from scipy.stats import binom

    from factlab import stats

    rows = []
    for endpoint, own in results.groupby("endpoint", sort=False):
        n, right = len(own), int(own["correct"].sum())
        rows.append((endpoint, right, n, right / n, float(binom.sf(right - 1, n, CHANCE)) if n >= FEW else None))
    table = pd.DataFrame(rows, columns=["endpoint", "correct", "n", "value", "p"])
    corrected = stats.holm(table["p"].tolist()) if len(table) else []
    table["p_holm"] = pd.array([None if math.isnan(p) else float(p) for p in corrected], dtype="Float64")
    table["p"] = table["p"].astype("Float64")
    return table.assign(above=(table["p_holm"] < alpha).astype("boolean"))


def spread(scores: pd.DataFrame) -> dict[str, Any]:
    """Best and worst of a panel from `exam.accuracy`: best, highest, worst, lowest, range (section V: 42.8 points)."""
    kept = scores[scores["value"].notna()]
    if not len(kept):
        return dict.fromkeys(("best", "highest", "worst", "lowest", "range"))
    top, low = kept.loc[kept["value"].astype(float).idxmax()], kept.loc[kept["value"].astype(float).idxmin()]
    high, least = float(top["value"]), float(low["value"])
    return {"best": top["endpoint"], "highest": high, "worst": low["endpoint"], "lowest": least, "range": high - least}


def sentence(scores: pd.DataFrame, chance: pd.DataFrame) -> str:
    """The panel in one line."""
    found, n = spread(scores), int(scores["n"].max()) if len(scores) else 0
    if found["best"] is None:
        return "no endpoint has a score"
    above = int(chance["above"].fillna(False).sum())
    lowest = f"{100 * found['lowest']:.1f} % ({found['worst']}) to " if found["best"] != found["worst"] else ""
    said = f"{len(scores)} endpoint{'s' * (len(scores) != 1)}, {n} item{'s' * (n != 1)}: {lowest}{100 * found['highest']:.1f} % "
    return f"{said}({found['best']}); {above} above chance (25 %) after Holm's correction"


def pair_sentence(pairs: pd.DataFrame) -> str:
    """How many pairs of endpoints differ, in one line."""
    tested = pairs["differs"].notna()
    if not tested.any():
        return "No pair of endpoints was tested."
    return f"{int(pairs.loc[tested, 'differs'].astype(bool).sum())} of {int(tested.sum())} pairs of endpoints differ after Holm's correction."


def warnings(
    results: pd.DataFrame, scores: pd.DataFrame, chance: pd.DataFrame, sat: pd.DataFrame, bank: str
) -> list[str]:
    """What to distrust about an evaluation, from its numbers.

    Parameters
    ----------
    results, scores, chance : of `mark`, and of `primary` of it `exam.accuracy` and `against_chance`.
    sat : from `endpoints.endpoint_table`.
    bank : who made the bank, in words; empty: not known.
    """
    notes = [bank] if bank else []
    n = int(scores["n"].max()) if len(scores) else 0
    for row in silent(results).itertuples():
        notes.append(
            f"{row.endpoint} has no score: {row.calls} of {row.calls} calls failed ({row.error or 'no reason given'})."
        )
    results = panels.typed(results[results["endpoint"].isin(scores["endpoint"])])
    failed = results["status"] == "error"
    if failed.any():
        worst = results.loc[failed, "endpoint"].value_counts()
        notes.append(
            f"{int(failed.sum())} of {len(results)} answers are missing and count as not correct ({worst.index[0]}: {int(worst.iloc[0])}, first "
            f"reason: {results.loc[failed & (results['endpoint'] == worst.index[0]), 'error'].iloc[0] or 'none given'})."
        )
    unread = results[~failed & (results["status"] != "scored")]
    if len(unread):
        worst = unread["endpoint"].value_counts().index[0]
        kinds = unread.loc[unread["endpoint"] == worst, "status"].value_counts()
        notes.append(
            f"{len(unread)} of {len(results)} answers could not be read and count as not correct ({worst}: "
            f"{', '.join(f'{count:,} {name}' for name, count in kinds.items())}); the score without them stands beside."
        )
    none = chance[~chance["above"].fillna(False)]
    if len(none) == len(chance) and len(chance):
        notes.append(
            "No endpoint is told from guessing (25 %): differences between them, difficulties and discriminations are noise here."
        )
    elif len(none):
        told = chance.loc[chance["above"].fillna(False), "endpoint"]
        # The shorter list: with most of a panel at chance, those that are above it.
        said = (
            f"only {', '.join(told)} {'is' if len(told) == 1 else 'are'}"
            if len(told) < len(none)
            else ", ".join(none["endpoint"])
        )
        notes.append(f"{len(none)} of {len(chance)} endpoints are not told from guessing (25 %): {said}.")
    asked = sat[~sat["scoring"].isin(["similarity", "longest"]) & ~sat["model"].isin(["", "recorded"])]
    shared = asked["model"].map(panels.same_model).value_counts()
    if len(shared) and shared.iloc[0] > 1:
        notes.append(
            f"{int(shared.iloc[0])} endpoints are one model ({shared.index[0]}) asked in several ways: the panel has fewer voices than rows."
        )
    if said := leaning(results):
        notes.append(said)
    if len(opened := sat[sat["book"] == "open"]):
        notes.append(
            f"{len(opened)} endpoint{'s' * (len(opened) != 1)} saw the passages that the items were written from, which the paper's did not."
        )
    if sat["overlap"].any():
        names = ", ".join(sat.loc[sat["overlap"], "endpoint"])
        notes.append(f"Built or screened the bank, and left out of primary results: {names}.")
    few = results["batch"].nunique()
    if 0 < few < 16:
        notes.append(f"{few} batch{'es' * (few != 1)}: the paper has 16. Intervals over few batches are rough.")
    wide = ((scores["high"] - scores["low"]).astype("Float64") / 2).dropna()
    if 0 < n < 400 and len(wide):
        notes.append(f"{n} item{'s' * (n != 1)}: intervals reach up to {100 * wide.max():.0f} points either way.")
    return notes


def leaning(results: pd.DataFrame) -> str:
    """Which endpoints answer mostly with one letter, in a sentence; empty where none does.

    Such an endpoint is right where the key stands at its letter: its accuracy is near the share of keys there, and so are the items that
    it misses.
    """
    read = results[results["choice"].notna()]
    counts = read.groupby(["endpoint", "choice"], sort=False).size().unstack(fill_value=0)
    shares = counts.div(counts.sum(axis=1), axis=0)[counts.sum(axis=1) >= FEW]
    shares = shares[shares.max(axis=1) > 0.5]
    if not len(shares):
        return ""
    most = shares.max(axis=1).sort_values(ascending=False, kind="stable")
    named = [f"{name} {shares.loc[name].idxmax()} in {100 * share:.0f} %" for name, share in most.items()]
    keys = results.drop_duplicates("item_id")["key"].value_counts(normalize=True)
    letters = sorted(set(shares.idxmax(axis=1)))
    panel = results["endpoint"].nunique()
    places_of = ", ".join(f"{letter} {100 * keys.get(letter, 0):.0f} %" for letter in letters)
    return (
        f"{len(shares)} of {panel} endpoint{'s' * (panel != 1)} choose{'s' * (len(shares) == 1)} one letter for more than half of the answers "
        f"({', '.join(named)}): {'it is' if len(shares) == 1 else 'they are'} right mostly where the key stands there (keys at {places_of}), and the "
        f"items that {'it misses' if len(shares) == 1 else 'they miss'} are those with another key."
    )


def statuses(results: pd.DataFrame) -> pd.DataFrame:
    """What became of the answers: endpoint, scored, one column for each other status, A to D (how often each letter was chosen)."""
    import pandas as pd

    kinds = results.groupby(["endpoint", "status"], sort=False).size().unstack(fill_value=0)
    letters = results[results["choice"].notna()].groupby(["endpoint", "choice"]).size().unstack(fill_value=0)
    order = list(dict.fromkeys(results["endpoint"]))
    columns = [*sorted(kinds.columns, key=lambda name: (name != "scored", name))]
    table = pd.concat([kinds[columns], letters.reindex(columns=list(exam.LETTERS))], axis=1).reindex(order)
    return table.fillna(0).astype("int64").rename_axis("endpoint").rename_axis(columns=None).reset_index()


def first_prompts(panel: Sequence[Endpoint], items: Sequence[Item], passages: Mapping[str, str]) -> pd.DataFrame:
    """What each way of asking looks like for the first item: endpoint (the first asked so), first prompt; one row a prompt.

    Recorded endpoints are passed over whose prompt is not at hand.
    """
    import pandas as pd

    rows: dict[str, str] = {}
    for endpoint in [e for e in panel if e.prompt] if items else []:
        try:
            text = panels.message(endpoint, items[0], passages.get(items[0].id, ""))
        except (ModelError, KeyError, FileNotFoundError):
            continue
        rows.setdefault(text, endpoint.name)
    return pd.DataFrame({"endpoint": list(rows.values()), "first prompt": list(rows)})


def ways(sat: pd.DataFrame) -> pd.DataFrame:
    """How the endpoints of a panel answer: scoring, what it means, endpoints (how many)."""
    import pandas as pd

    counts = sat["scoring"].value_counts()
    rows = [(name, said, int(counts[name])) for name, said in panels.SCORINGS.items() if name in counts]
    rows += [(name, "not said", int(n)) for name, n in counts.items() if name not in panels.SCORINGS]
    return pd.DataFrame(rows, columns=["scoring", "what it means", "endpoints"])


def with_kind(scores: pd.DataFrame, sat: pd.DataFrame) -> pd.DataFrame:
    """Scores with a column `kind`, for a figure: whether a language model answers, and whether it saw the passages of the item."""
    kinds = {
        row.endpoint: ("no language model" if row.scoring in ("similarity", "longest") else "language model")
        + (", open book" if row.book == "open" else "")
        for row in sat.itertuples()
    }
    return scores.assign(kind=scores["endpoint"].map(kinds).fillna("not known"))


def unread(results: pd.DataFrame, items: Sequence[Item]) -> pd.DataFrame:
    """The answers in which no choice was read, by reason: endpoint, status, why, answers (how many), example (a reply)."""
    import pandas as pd

    by_id = {item.id: item for item in items}
    rows = []
    for row in results[results["status"] != "scored"].itertuples():
        own = by_id[row.item_id]
        why = row.error or choices.why_unread(row.reply, own.options, cut=row.finish_reason == "length")
        rows.append((row.endpoint, row.status, why or row.status, row.reply))
    groups = pd.DataFrame(rows, columns=["endpoint", "status", "why", "reply"]).groupby(
        ["endpoint", "status", "why"], sort=False
    )["reply"]
    return groups.agg(answers="size", example="first").reset_index()


def by_label(results: pd.DataFrame, *, replicates: int = 4000, seed: int = 0) -> pd.DataFrame:
    """`exam.accuracy` by construction label, from easy to synthesis."""
    import pandas as pd

    table = exam.accuracy(results, by="label", replicates=replicates, seed=seed)
    order = [*exam.LABELS, *sorted(set(table["label"]) - set(exam.LABELS))]
    places_of = pd.Categorical(table["label"], categories=order, ordered=True)
    return table.iloc[places_of.codes.argsort(kind="stable")].reset_index(drop=True)
