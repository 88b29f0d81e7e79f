"""DAHL Table 2 and the numbers of its text: what they say, whether they agree, and a run beside them.

In go the files of `published/dahl` (`comparability.published`) and the folder of a run; out come tables and sentences. Scores are 0..1,
sizes are billions of parameters.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from factlab import stats

if TYPE_CHECKING:
    import pandas as pd

    from factlab.runs import Workspace

SCORE_STEP = "30_score"
BUILTIN = {"local/smollm2": 0.135}  # billions of parameters


def own_score(run: Workspace, size_b: float | None = None, label: str = "") -> dict[str, Any] | None:
    """The run's headline score as a row beside Table 2.

    Parameters
    ----------
    run : in whose folder `30_score` has run.
    size_b : billions of parameters; None: those of a model that is known here.
    label : what to call the model; empty: its name, as the score's signature gives it, or else the run's parameters.

    Returns
    -------
    dict or None : name, size_b, value, low, high, n, level (size_b, low and high may be None). None where the run has no
    score.
    """
    headline = run.earlier(SCORE_STEP).get("headline") or {}
    if headline.get("value") is None:
        return None
    signed = re.search(r"\|subject:([^|]+)", headline.get("signature") or "")
    subject = signed[1] if signed else run.parameters().get("subject") or "your run"
    known = next((b for name, b in BUILTIN.items() if name in subject), None)
    row = {"name": label or subject, "size_b": known if size_b is None else size_b}
    return row | {key: headline.get(key) for key in ("value", "low", "high", "n", "level")}


def own_settings(run: Workspace, same_prompts: bool = False) -> dict[str, Any]:
    """What the run did, by the aspects of `published/dahl/settings.csv`; empty where it has no record of its parameters.

    Parameters
    ----------
    run : the number of questions is known once `30_score` has run.
    same_prompts : whether the prompts were those of Figures 8 to 10, which no record tells.
    """
    given = run.parameters()
    if not given:
        return {}
    questions = given.get("responses") or given.get("questions") or "the sample questions"
    if "questions_with_source_paper" in questions or questions.startswith("data/dahl/questions"):
        questions = "DAHL benchmark"
    funnel = (run.earlier(SCORE_STEP).get("metrics") or {}).get("funnel") or [{}]
    if funnel[0].get("n") is not None:
        questions += f", {funnel[0]['n']:,}"
    found = {"questions": questions, "prompts": "as in Figures 8 to 10" if same_prompts else "our own words"}
    models = {role: given[role] for role in ("splitter", "checker") if given.get(role)}
    found |= {role: name.removeprefix("openai/") for role, name in models.items()}
    if "evidence" in given:
        found["evidence"] = given["evidence"] or ("online search" if "sonar" in models.get("checker", "") else "none")
    return found | {key: given[key] for key in ("unknown", "temperature", "max_tokens", "variant") if key in given}


def size_claims(printed: pd.DataFrame, threshold: float = 7.0) -> pd.DataFrame:
    """Within each family, what the next larger model gains, and whether the step starts at a size or above.

    Parameters
    ----------
    printed : Table 2: family, size_b, score. Models without a size or a score are passed over, and steps between equal sizes.
    threshold : billions of parameters; the paper says that beyond 7 to 8 little is gained.

    Returns
    -------
    DataFrame, one row a step: family, from_b, to_b, gain (of the score), per_doubling (gain for each doubling of the size), beyond (whether
    it starts at the threshold or above).
    """
    import pandas as pd

    rows = []
    for family, group in printed.dropna(subset=["size_b", "score"]).groupby("family", sort=False):
        models = group[["size_b", "score"]].astype(float).sort_values("size_b").to_numpy().tolist()
        for (small, before), (large, after) in itertools.pairwise(models):
            if large > small:
                gain = after - before
                rows.append((family, small, large, gain, gain / math.log2(large / small), small >= threshold))
    return pd.DataFrame(rows, columns=["family", "from_b", "to_b", "gain", "per_doubling", "beyond"])


def gain_sentence(claims: pd.DataFrame) -> str:
    """What the steps say about the paper's claim (abstract, section 5.1): little is gained beyond 7 to 8 billion parameters.

    Parameters
    ----------
    claims : from `size_claims` with a threshold of 7.
    """
    beyond = claims["beyond"].astype(bool)
    below, above = claims[~beyond], claims[beyond]
    if not len(below) or not len(above):
        return "Too few steps to say anything."
    less = above["per_doubling"].mean() < below["per_doubling"].mean()
    return (
        f"Per doubling of the size the score changes by {below['per_doubling'].mean():+.3f} on average in the {len(below)} steps that start "
        f"below 7 billion and by {above['per_doubling'].mean():+.3f} in the {len(above)} that start at 7 or more: "
        f"{'as' if less else 'not as'} the paper says, {'but ' if less else ''}from {len(claims)} steps of "
        f"{claims['family'].nunique()} families, printed without intervals."
    )


def rank_sentence(printed: pd.DataFrame) -> str:
    """Rank correlation of score with size and with length of the responses, in words.

    Parameters
    ----------
    printed : Table 2: size_b, average_characters, score; a model without the one or the other is left out of that correlation.
    """
    parts = []
    for what, column in (("size", "size_b"), ("length of the responses", "average_characters")):
        found = stats.correlation(printed[column], printed["score"]).set_index("coefficient").loc["spearman"]
        missing = found.isna()
        value = f"undefined ({found['reason']})" if missing["value"] else f"{found['value']:.2f}"
        interval = "" if missing["low"] else f" [{found['low']:.2f}, {found['high']:.2f}]"
        parts.append(f"{what} {value}{interval} (n = {found['n']})")
    return f"Spearman's rank correlation of the score with {' and with '.join(parts)}; models of one family are not independent."


def beside(printed: pd.DataFrame, yours: Mapping[str, Any] | None) -> pd.DataFrame:
    """Table 2 in order of the score, the run among them.

    Parameters
    ----------
    printed : Table 2: model, size_b, score.
    yours : from `own_score`.

    Returns
    -------
    DataFrame : model, size_b, score, whose ('DAHL Table 2' or 'this run'); highest score first.
    """
    import pandas as pd

    table = printed[["model", "size_b", "score"]].assign(whose="DAHL Table 2")
    if yours is not None:
        own = {"model": yours["name"], "size_b": yours["size_b"], "score": yours["value"], "whose": "this run"}
        table = pd.concat([table, pd.DataFrame([own])], ignore_index=True)
    table = table.astype({"size_b": "Float64", "score": "Float64"})
    return table.sort_values("score", ascending=False, kind="stable").reset_index(drop=True)


def checks(claims: pd.DataFrame, printed: pd.DataFrame) -> pd.DataFrame:
    """Numbers of the text against what follows from others.

    Parameters
    ----------
    claims : `published/dahl/claims.csv`: claim, value, n; r, its p, the pairs of samples and the share of a sample, in this order.
    printed : Table 2: model, family, score.

    Returns
    -------
    DataFrame : claim, printed, follows (what it should be), agrees, how.
    """
    import pandas as pd

    (r, answers), (p, _), (pairs, samples), (share, questions) = (
        claims[["value", "n"]].astype(float).to_numpy().tolist()
    )
    follows = stats.pearson_p(r, int(answers))
    # r is printed to four decimals: the p-values at both ends of its rounding bracket the printed one, or they do not.
    ends = sorted(stats.pearson_p(r + d, int(answers)) for d in (-5e-5, 5e-5))
    best = printed.loc[printed["score"].idxmax(), "model"]
    families = printed["family"].nunique()
    rows = [
        (f"p of r = {r:g}, n = {answers:g}", f"{p:.4e}", f"{follows:.4e}, from {ends[0]:.3e} to {ends[1]:.3e} by the rounding of r",
         ends[0] <= p <= ends[1], "two-sided t-test of a Pearson correlation"),
        (f"pairs among {samples:g} samples", f"{pairs:g}", f"{math.comb(int(samples), 2)}", pairs == math.comb(int(samples), 2),
         f"{samples:g} choose 2"),
        (f"questions in a tenth of {questions:,.0f}", "a tenth", f"{share * questions:,.0f}", share == 0.1, "share times questions"),
        ("gpt-4o outperforms all", "yes", str(best), best == "gpt-4o", "highest score of Table 2"),
        ("models in the abstract", "8", str(len(printed)), len(printed) == 8, f"Table 2 has that many rows, of {families} families"),
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["claim", "printed", "follows", "agrees", "how"])


def warnings(yours: Mapping[str, Any] | None, verdict: str) -> list[str]:
    """What a reader should distrust.

    Parameters
    ----------
    yours : from `own_score`.
    verdict : from `comparability.verdict`; said where there is a score of one's own.
    """
    notes = [
        "Table 2 is printed without intervals or standard errors; differences between neighbouring models may be noise."
    ]
    return ([verdict] if yours is not None else []) + notes


def summary(yours: Mapping[str, Any] | None, verdict: str, printed: pd.DataFrame) -> str:
    """The result in one line, with the verdict in short (what differs is left to the page)."""
    span = f"published: {printed['score'].min():.2f} to {printed['score'].max():.2f} ({len(printed)} models)"
    if yours is None:
        return span
    return f"{yours['name']} {yours['value']:.2f}; {span}. {re.split('[:;.]', verdict)[0]}"
