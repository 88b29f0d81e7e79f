"""DAHL Table 2 and the numbers of its text: what they say, whether they agree, and a run beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from factlab import stats

if TYPE_CHECKING:
    import pandas as pd

    from factlab.runs import Workspace

SCORE_STEP = "30_score"
BUILTIN = {"local/smollm2": 0.135}  # billions of parameters
TEXT_SCORES_AGREE = 0.02  # a printed p and one from the printed r may differ by the rounding of r


def own_score(run: Workspace, size_b: float | None = None, label: str = "") -> dict[str, Any] | None:
    """The run's headline score as a row beside Table 2; None where the run has none."""
    headline = run.earlier(SCORE_STEP).get("headline") or {}
    if headline.get("value") is None:
        return None
    subject = _subject(run)
    known = next((b for name, b in BUILTIN.items() if name in subject), None)
    row: dict[str, Any] = {"name": label or subject, "size_b": size_b if size_b is not None else known}
    return row | {key: headline.get(key) for key in ("value", "low", "high", "n", "level")}


def _subject(run: Workspace) -> str:
    signature = (run.earlier(SCORE_STEP).get("headline") or {}).get("signature") or ""
    named = [part.removeprefix("subject:") for part in signature.split("|") if part.startswith("subject:")]
    return named[0] if named else run.parameters().get("subject", "your run")


def own_settings(run: Workspace, same_prompts: bool = False) -> dict[str, Any]:
    """What the run did, by the aspects of `published/dahl/settings.csv`."""
    given = run.parameters()
    if not given:
        return {}
    asked = (run.earlier(SCORE_STEP).get("metrics") or {}).get("funnel") or [{}]
    questions = f"{given.get('questions') or 'the sample questions'}, {asked[0].get('n', 0):,}"
    if "questions_with_source_paper" in questions or questions.startswith("data/dahl/questions"):
        questions = f"DAHL benchmark, {asked[0].get('n', 0):,}"

    def short(name: str) -> str:
        return name.removeprefix("openai/")

    found = {"questions": questions, "prompts": "as in Figures 8 to 10" if same_prompts else "our own words"}
    found |= {role: short(given[role]) for role in ("splitter", "checker") if role in given}
    if "evidence" in given:
        found["evidence"] = given["evidence"] or ("online search" if "sonar" in given.get("checker", "") else "none")
    return found | {key: given[key] for key in ("unknown", "temperature", "max_tokens", "variant") if key in given}


def size_claims(printed: pd.DataFrame, threshold: float = 8.0) -> pd.DataFrame:
    """Within each family, what the next larger model gains, and whether the step starts above a size.

    Parameters
    ----------
    printed : Table 2: family, size_b, score.
    threshold : billions of parameters; the paper says that beyond 7 to 8 little is gained.

    Returns
    -------
    DataFrame, one row a step: family, from_b, to_b, gain (of the score), per_doubling (gain for each doubling of the size), beyond (whether
    it starts at 7 billion or more).
    """
    import pandas as pd

    rows = []
    for family, group in printed[printed["size_b"].notna()].groupby("family", sort=False):
        ordered = group.sort_values("size_b")
        for (_, small), (_, large) in zip(ordered.iloc[:-1].iterrows(), ordered.iloc[1:].iterrows(), strict=True):
            gain = float(large["score"] - small["score"])
            doublings = _log2(float(large["size_b"]) / float(small["size_b"]))
            rows.append(
                (family, small["size_b"], large["size_b"], gain, gain / doublings, small["size_b"] >= threshold - 1)
            )
    return pd.DataFrame(rows, columns=["family", "from_b", "to_b", "gain", "per_doubling", "beyond"])


def _log2(x: float) -> float:
    import math

    return math.log2(x)


def gain_sentence(claims: pd.DataFrame) -> str:
    """What the steps say about the paper's claim."""
    below, beyond = claims[~claims["beyond"].astype(bool)], claims[claims["beyond"].astype(bool)]
    if not len(below) or not len(beyond):
        return "Too few steps to say anything."
    return (
        f"Per doubling of the size the score rises by {below['per_doubling'].mean():+.3f} in the {len(below)} steps that start below 7 billion "
        f"and by {beyond['per_doubling'].mean():+.3f} in the {len(beyond)} that start at 7 or 8: as the paper says, but from "
        f"{len(claims)} steps of {claims['family'].nunique()} families, printed without intervals."
    )


def rank_sentence(printed: pd.DataFrame) -> str:
    """Rank correlation of score with size and with length of the responses, in words."""
    sized = printed[printed["size_b"].notna()]
    parts = []
    for what, table, column in (("size", sized, "size_b"), ("length of the responses", printed, "average_characters")):
        found = (
            stats.correlation(table[column].astype(float), table["score"].astype(float))
            .set_index("coefficient")
            .loc["spearman"]
        )
        parts.append(f"{what} {found['value']:.2f} [{found['low']:.2f}, {found['high']:.2f}] (n = {found['n']})")
    return f"Spearman's rank correlation of the score with {' and with '.join(parts)}; models of one family are not independent."


def beside(printed: pd.DataFrame, yours: Mapping[str, Any] | None) -> pd.DataFrame:
    """Table 2 in order of the score, the run among them."""
    import pandas as pd

    table = printed[["model", "size_b", "score"]].assign(whose="DAHL Table 2")
    if yours is not None:
        own = {"model": yours["name"], "size_b": yours["size_b"], "score": yours["value"], "whose": "this run"}
        table = pd.concat(
            [table, pd.DataFrame([own]).astype({"size_b": "Float64", "score": "Float64"})], ignore_index=True
        )
    return table.sort_values("score", ascending=False, kind="stable").reset_index(drop=True)


def checks(claims: pd.DataFrame, printed: pd.DataFrame) -> pd.DataFrame:
    """Numbers of the text against what follows from others.

    Returns
    -------
    DataFrame : claim, printed, follows (what it should be), agrees, how.
    """
    import pandas as pd

    value = claims.set_index("claim")["value"].astype(float)
    n = claims.set_index("claim")["n"].astype(float)
    r_name, p_name, pair_name, share_name = claims["claim"]
    p = stats.pearson_p(value[r_name], int(n[r_name]))
    # r is printed to four decimals: the p-values at both ends of its rounding bracket the printed one, or they do not.
    ends = sorted(stats.pearson_p(value[r_name] + d, int(n[r_name])) for d in (-5e-5, 5e-5))
    k = int(n[pair_name])
    best = printed.loc[printed["score"].idxmax(), "model"]
    rows = [
        ("p of r = 0.5508, n = 99", f"{value[p_name]:.4e}", f"{p:.4e}, from {ends[0]:.3e} to {ends[1]:.3e} by the rounding of r",
         ends[0] <= value[p_name] <= ends[1], "two-sided t-test of a Pearson correlation"),
        ("pairs among five samples", f"{value[pair_name]:.0f}", str(k * (k - 1) // 2), value[pair_name] == k * (k - 1) // 2, "5 choose 2"),
        ("questions in a tenth of 8,573", "a tenth", f"{round(value[share_name] * n[share_name]):,}", True, "share times questions"),
        ("gpt-4o outperforms all", "yes", str(best), best == "gpt-4o", "highest score of Table 2"),
        ("models in the abstract", "8", str(len(printed)), len(printed) == 8, "Table 2 has that many rows, of 8 families"),
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["claim", "printed", "follows", "agrees", "how"])


def warnings(yours: Mapping[str, Any] | None, verdict: str) -> list[str]:
    """What a reader should distrust."""
    notes = [
        "Table 2 is printed without intervals or standard errors; differences between neighbouring models may be noise."
    ]
    return ([verdict] if yours is not None else []) + notes


def summary(yours: Mapping[str, Any] | None, verdict: str, printed: pd.DataFrame) -> str:
    """The result in one line."""
    span = f"published: {printed['score'].min():.2f} to {printed['score'].max():.2f} ({len(printed)} models)"
    if yours is None:
        return span
    return f"{yours['name']} {yours['value']:.2f}; {span}. {verdict.split(':')[0].rstrip('.')}"
