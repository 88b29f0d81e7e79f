"""Metadata that are no longer the right ones (40_adversarial_swaps): the prompts' texts, what became of the answers, Table 3.

REASONS, section 7. For each citing sentence the record of the cited work is shown with its title or its abstract replaced by those of
another work, and the model is asked what the sentence cites. Records go in; one row a record and condition comes out, whether or not
it could be made. The partly changed abstracts are what section 8 leaves to the future.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from factlab import perturb, stats
from factlab.attribution.forms import squeezed
from factlab.studies.reasons import query

if TYPE_CHECKING:
    import pandas as pd

    from factlab.models import Model

Embed = Callable[[Sequence[str]], np.ndarray]

KINDS = (
    "none",
    "title",
    "abstract",
    "title_nearest",
    "abstract_nearest",
    "title_embedding",
    "abstract_embedding",
    "abstract_edited",
    "abstract_terms",
)
MADE, TOO_FAR = "made", "no near enough text"
COLUMNS = [
    "item_id",
    "condition",
    "field",
    "kind",
    "strength",
    "similarity",
    "other_item",
    "other_title",
    "shown_title",
    "shown_abstract",
    "shown_authors",
    "status",
]
_EVERYDAY = frozenset(
    ("about", "after", "among", "based", "between", "their", "these", "through", "toward", "towards", "under", "using", "where",
     "which", "while", "without")
)  # fmt: skip


def draw(records: pd.DataFrame, count: int, seed: int = 0) -> pd.DataFrame:
    """So many records at random, each domain with its share; all of them where there are no more (published: 200 sentences)."""
    if count < 1:
        raise ValueError(f"count is {count}; at least one sentence is needed")
    if count >= len(records):
        return records.reset_index(drop=True)
    rows = stats.stratified_sample(records["domain"].tolist(), count / len(records), seed)
    return records.iloc[rows].reset_index(drop=True)


def conditions(
    records: pd.DataFrame,
    embed: Embed | None = None,
    threshold: float = 0.70,
    kinds: Sequence[str] | None = None,
    seed: int = 0,
    *,
    pool: pd.DataFrame | None = None,
    shares: Sequence[float] = (0.25, 0.5, 0.75),
    terms: Sequence[int] = (2, 5),
) -> pd.DataFrame:
    """What each record is shown as, under every condition.

    Parameters
    ----------
    records : item_id, cited_title, cited_abstract, cited_authors and, where there is one, cited_id; item_id is unique.
    embed : gives one vector for each text; needed for the kinds that end in `_embedding`.
    threshold : Ratcliff–Obershelp similarity that `title` and `abstract` must reach; 0.70 as published.
    kinds : what to make, of `KINDS`; left out: all, those by embedding only where there is `embed`.

        none
            The true record.
        title, abstract
            The nearest other one by Ratcliff–Obershelp, where it reaches the threshold (section 7).
        title_nearest, abstract_nearest
            The nearest, whatever its similarity: a deviation from the paper, on whose own data hardly any title reaches 0.70.
        title_embedding, abstract_embedding
            The nearest by the cosine of embeddings, whatever it is.
        abstract_edited
            A share of the sentences replaced by sentences of the nearest abstract: conditions `abstract_edited_25` and so on.
        abstract_terms
            So many words of the title of the work with the nearest abstract inserted: conditions `abstract_terms_2` and so on.
    seed : which sentences and which words, and where.
    pool : table like `records` that texts are taken from; left out: the records themselves.
    shares, terms : strengths of `abstract_edited` (shares of the sentences, above 0 and below 1) and `abstract_terms` (numbers of words).

    Returns
    -------
    DataFrame, one row a record and condition, by condition: item_id, condition, field ('title', 'abstract', ''), kind, strength (share of
    the field that is not its own, in [0, 1]), similarity (of the field to the text that was, or would have been, put in; missing where
    there is none), other_item and other_title (the work that this text is of), shown_title, shown_abstract, shown_authors (empty where the
    condition was not made), status: 'made', 'no near enough text', 'no title' or 'no abstract' (of its own), 'no other text', 'nothing
    to change', 'nothing of its own left' (an edit that replaces every sentence is a swap), 'same as …' (two strengths come to the same
    text; the one nearest to what was done is kept).

    Raises
    ------
    ValueError : an unknown kind, an embedding without `embed`, an item_id that repeats.

    Notes
    -----
    A work is never replaced by itself: rows with one title (`attribution.same_title`), one cited_id or one abstract are one work. The
    authors shown are always the true ones.
    """
    import pandas as pd

    kinds = [k for k in KINDS if embed or not k.endswith("_embedding")] if kinds is None else list(kinds)
    if unknown := [k for k in kinds if k not in KINDS]:
        raise ValueError(f"no kind of swap called {unknown[0]!r}; there are {', '.join(KINDS)}")
    if embed is None and any(k.endswith("_embedding") for k in kinds):
        raise ValueError("swaps by embedding need `embed`, which gives a vector for each text")
    if not all(0 < share < 1 for share in shares) or not all(count >= 1 for count in terms):
        raise ValueError(f"shares must lie between 0 and 1 and terms be at least 1, got {shares} and {terms}")
    records = records.reset_index(drop=True)
    if records["item_id"].duplicated().any():
        raise ValueError(
            f"item {records['item_id'][records['item_id'].duplicated()].iloc[0]!r} stands twice in the records"
        )
    near = _Near(records, records if pool is None else pool.reset_index(drop=True), embed)
    frames = [pd.DataFrame(columns=COLUMNS)]
    for kind in [k for k in KINDS if k in kinds]:
        field = kind.split("_")[0] if kind != "none" else ""
        if kind == "none":
            frames.append(_frame(records, kind, kind, field, None, records["cited_title"], [MADE] * len(records), 0.0))
        elif kind == "abstract_edited":
            frames += _graded(near, kind, [(f"{kind}_{round(100 * s)}", s) for s in shares], _edited, seed)
        elif kind == "abstract_terms":
            frames += _graded(near, kind, [(f"{kind}_{count}", count) for count in terms], _salted, seed)
        else:
            found = near.of(field, "embedding" if kind.endswith("_embedding") else "letters")
            far = found["ratio"].lt(threshold) & (kind == field)
            status = found["status"].where(~far | (found["status"] != MADE), TOO_FAR)
            frames.append(_frame(records, kind, kind, field, found, found["text"], status, 1.0))
    kinds_of = {"strength": "Float64", "similarity": "Float64"}
    return pd.concat([f for f in frames if len(f)] or frames, ignore_index=True).astype(kinds_of)


def _frame(records, condition, kind, field, found, texts, status, strength) -> pd.DataFrame:
    """The rows of one condition; `texts` stand in the place of `field`."""
    import pandas as pd

    table = records[["item_id"]].assign(condition=condition, field=field, kind=kind, strength=strength)
    for column, source in {"similarity": "ratio", "other_item": "other_item", "other_title": "other_title"}.items():
        table[column] = found[source] if found is not None else (np.nan if column == "similarity" else "")
    for name in ("title", "abstract", "authors"):
        table[f"shown_{name}"] = list(texts) if name == field else records[f"cited_{name}"]
    table["status"] = list(status)
    made = table["status"] == MADE
    table.loc[~made, "strength"] = 0.0
    shown = ["shown_title", "shown_abstract", "shown_authors"]
    table[shown] = table[shown].astype(object).where(made, "").astype("str")
    return pd.DataFrame(table[COLUMNS])


class _Near:
    """For each record the work with the nearest title or abstract, found once."""

    def __init__(self, records: pd.DataFrame, pool: pd.DataFrame, embed: Embed | None) -> None:
        import pandas as pd

        self.records, self.embed = records, embed
        labels = _works(pd.concat([records, pool], ignore_index=True))
        self.own = labels[: len(records)]
        pool = pool.assign(work=labels[len(records) :])
        self.pools = {
            field: pool[pool[f"cited_{field}"].str.strip() != ""].drop_duplicates("work").reset_index(drop=True)
            for field in ("title", "abstract")
        }
        self._found: dict[tuple[str, str], pd.DataFrame] = {}

    def of(self, field: str, measure: str) -> pd.DataFrame:
        """One row a record: match (row of the pool, -1: none), ratio, text, other_item, other_title, status."""
        if (field, measure) not in self._found:
            self._found[field, measure] = self._search(field, measure)
        return self._found[field, measure]

    def _search(self, field: str, measure: str) -> pd.DataFrame:
        import pandas as pd

        pool, column = self.pools[field], f"cited_{field}"
        there = np.flatnonzero(self.records[column].str.strip() != "")
        texts, others = self.records[column].iloc[there].tolist(), pool[column].tolist()
        keys = [self.own[i] for i in there], pool["work"].tolist()
        match, ratio = np.full(len(self.records), -1), np.full(len(self.records), np.nan)
        if len(texts) and len(others):
            if measure == "letters":
                found = perturb.nearest(texts, others, 0.0, keys=keys)
            else:
                vectors = np.asarray(self.embed([*texts, *others]), dtype=float)
                found = perturb.nearest_vector(vectors[: len(texts)], vectors[len(texts) :], -1.0, keys=keys)
            match[there], ratio[there] = found["match"], found["ratio"]
        status = np.where(match >= 0, MADE, "no other text").astype(object)
        status[np.setdiff1d(np.arange(len(match)), there)] = f"no {field}"
        taken = [pool.iloc[row] if row >= 0 else None for row in match]
        named = {"text": column, "other_item": "item_id", "other_title": "cited_title"}
        columns = {name: [row[of] if row is not None else "" for row in taken] for name, of in named.items()}
        return pd.DataFrame({"match": match, "ratio": ratio, **columns, "status": status})


def _works(table: pd.DataFrame) -> list[int]:
    """A number for each row, the same for rows of one work: one title, one identifier or one abstract, however far the chain."""
    parent = list(range(len(table)))

    def first(row: int) -> int:
        while parent[row] != row:
            parent[row] = parent[parent[row]]
            row = parent[row]
        return row

    columns = [table["cited_title"].map(squeezed), table["cited_abstract"].map(squeezed)]
    if "cited_id" in table:
        columns.append(table["cited_id"].fillna("").astype(str).str.strip())
    for column in columns:
        seen: dict[str, int] = {}
        for row, value in enumerate(column):
            if value:
                parent[first(row)] = first(seen.setdefault(value, row))
    return [first(row) for row in range(len(parent))]


def _edited(near: _Near, found: pd.DataFrame, share: float, seed: int) -> pd.DataFrame:
    pool = near.pools["abstract"]["cited_abstract"].tolist()
    return perturb.replace_sentences(
        near.records["cited_abstract"].tolist(), pool, found["match"].tolist(), share, seed
    )


def _salted(near: _Near, found: pd.DataFrame, count: int, seed: int) -> pd.DataFrame:
    titles = near.records["cited_title"]
    words = [_misleading(own, other) for own, other in zip(titles, found["other_title"], strict=True)]
    return perturb.insert_terms(near.records["cited_abstract"].tolist(), words, count, seed)


def _misleading(own: str, other: str) -> list[str]:
    """Words of another work's title that may stand in a text: of five letters or more, none of the own title's, in lower case but for names
    that are written with capitals throughout."""
    known = set(re.findall(r"\w+", own.casefold()))
    words = re.findall(r"[^\W\d_][\w-]{4,}", other)
    lower = [w.lower() if w[1:].islower() else w for w in words]
    return [w for w in dict.fromkeys(lower) if w.casefold() not in known | _EVERYDAY]


def _graded(
    near: _Near,
    kind: str,
    strengths: Sequence[tuple[str, float]],
    change: Callable[[_Near, pd.DataFrame, Any, int], pd.DataFrame],
    seed: int,
) -> list[pd.DataFrame]:
    """One frame a strength; of strengths that give one text, that which is nearest to what was done is kept."""
    found = near.of("abstract", "letters")
    changed = {name: change(near, found, amount, seed) for name, amount in strengths}
    # A number of words is compared with the number that was inserted, a share of sentences with the share that was replaced.
    done = {
        name: [
            strength if kind == "abstract_edited" else len(text.split()) - len(own.split())
            for strength, text, own in zip(
                table["strength"], table["text"], near.records["cited_abstract"], strict=True
            )
        ]
        for name, table in changed.items()
    }
    frames = []
    for name, _ in strengths:
        status = []
        for row, possible in enumerate(found["status"]):
            text, strength = changed[name]["text"].iloc[row], changed[name]["strength"].iloc[row]
            same = [
                (abs(amount - done[n][row]), amount, n)
                for n, amount in strengths
                if changed[n]["text"].iloc[row] == text
            ]
            best = min(same)[2]
            if possible != MADE:
                status.append(possible)
            elif strength == 0:
                status.append("nothing to change")
            elif kind == "abstract_edited" and strength == 1:
                status.append("nothing of its own left")
            else:
                status.append(MADE if best == name else f"same as {best}")
        table = changed[name]
        frames.append(
            _frame(near.records, name, kind, "abstract", found, table["text"], status, table["strength"].to_numpy())
        )
    return frames


def could_be_made(table: pd.DataFrame) -> pd.DataFrame:
    """How many of each condition could be made, and why not the others.

    Returns
    -------
    DataFrame : condition, records, made, why_not (in words), similarity, lowest, highest (mean and range over those made; missing for
    none), nearest (mean over all records that have any other text), strength (mean over those made).
    """
    import pandas as pd

    rows = []
    for condition, group in table.groupby("condition", sort=False):
        made = group[group["status"] == MADE]
        others = group.loc[group["status"] != MADE, "status"].value_counts()
        near = made["similarity"].dropna()
        rows.append(
            {
                "condition": condition,
                "records": len(group),
                "made": len(made),
                "why_not": ", ".join(f"{count} {why}" for why, count in others.items()),
                "similarity": near.mean() if len(near) else None,
                "lowest": near.min() if len(near) else None,
                "highest": near.max() if len(near) else None,
                "nearest": group["similarity"].mean() if group["similarity"].notna().any() else None,
                "strength": made["strength"].mean() if len(made) else None,
            }
        )
    floats = dict.fromkeys(["similarity", "lowest", "highest", "nearest", "strength"], "Float64")
    return pd.DataFrame(rows, columns=["condition", "records", "made", "why_not", *floats]).astype(floats)


def examples(table: pd.DataFrame, records: pd.DataFrame, count: int = 1, characters: int = 200) -> pd.DataFrame:
    """The nearest pairs of each kind: condition, similarity, own (the record's text), shown (what stands there now), other_title.

    Parameters
    ----------
    table : from `conditions`, of which the `count` most similar of each condition are shown; records that it was made from.
    characters : longer texts are cut.
    """
    made = table[(table["status"] == MADE) & (table["kind"] != "none")]
    ranked = made.sort_values("similarity", ascending=False, kind="stable").groupby("condition", sort=False).head(count)
    order = {name: place for place, name in enumerate(dict.fromkeys(table["condition"]))}
    ranked = ranked.sort_values("condition", key=lambda c: c.map(order), kind="stable")
    own = records.set_index("item_id")

    def short(text: str) -> str:
        return text if len(text) <= characters else text[: characters - 1].rsplit(" ", 1)[0] + " …"

    pairs = [
        (short(own.loc[row.item_id, f"cited_{row.field}"]), short(getattr(row, f"shown_{row.field}")))
        for row in ranked.itertuples()
    ]
    ranked = ranked.assign(own=[a for a, _ in pairs], shown=[b for _, b in pairs])
    return ranked[["condition", "similarity", "own", "shown", "other_title"]].reset_index(drop=True)


def ask(model: Model, records: pd.DataFrame, table: pd.DataFrame, **settings: Any) -> pd.DataFrame:
    """Which paper does the sentence cite? Asked once for each record and condition that could be made.

    Parameters
    ----------
    model : the subject; `recorded` looks replies up as 'item_id/verify/condition'.
    records : that `table` was made from.
    table : from `conditions`.
    settings : as in `query.ask`.

    Returns
    -------
    DataFrame : what `query.ask` returns, with `condition` after item_id. Conditions that show the same text ask the same, and share a
    reply where the model has a cache.
    """
    made, asked, shown = _shown(records, table[table["status"] == MADE])
    names = made["item_id"] + "/verify/" + made["condition"]
    answers = query.ask(model, asked, "verify", shown=shown, about=names.tolist(), **settings)
    answers.insert(1, "condition", made["condition"].to_numpy())
    return answers


def a_prompt(records: pd.DataFrame, table: pd.DataFrame) -> str:
    """One message as it is sent, to be read: that of the nearest swap of a title, or of whatever could be made."""
    made = table[table["status"] == MADE]
    order = (
        made["similarity"]
        .fillna(-1)
        .where(made["field"] == "title", -1)
        .sort_values(ascending=False, kind="stable")
        .index
    )
    if not len(order):
        return "nothing could be made"
    _, asked, shown = _shown(records, made.loc[order[:1]])
    return query.messages(asked, "verify", shown=shown)[0][0]


def _shown(records: pd.DataFrame, made: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Row by row: the conditions, their records, and the records with what is shown in place of the true metadata."""
    made = made.reset_index(drop=True)
    asked = records.set_index("item_id", drop=False).loc[made["item_id"]].reset_index(drop=True)
    return made, asked, asked.assign(**{f"cited_{n}": made[f"shown_{n}"] for n in ("title", "abstract", "authors")})
