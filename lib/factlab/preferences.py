"""From scored answers to preference data: of several answers to one question the better is chosen, the worse rejected.

DAHL (sections 1 and 6) proposes its score as a label for alignment tuning. The pairs come out as JSON lines in the form that TRL's
preference trainers read (`prompt`, `chosen`, `rejected`).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

PAIRINGS = ("extremes", "all")
FORMS = ("conversational", "standard")
COLUMNS = (
    "question_id",
    "question",
    "chosen",
    "rejected",
    "chosen_score",
    "rejected_score",
    "chosen_run",
    "rejected_run",
)
_ROUNDING = 1e-9  # 0.6 - 0.5 is a little less than 0.1
# JSON leaves these as they are, but some readers end a line at them.
_LINE_ENDS = str.maketrans({"\x85": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def rank(answers: pd.DataFrame, pairing: str = "extremes", min_gap: float = 0.0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Pairs of answers to the same question, the better one first.

    Parameters
    ----------
    answers : DataFrame
        One row an answer: question_id, question, answer (text), precision (0..1, missing unless scored), status, and optionally run.
    pairing : {"extremes", "all"}
        One pair a question, of its best and its worst answer; or every pair with different scores.
    min_gap : float
        Pairs whose scores differ by less are left out, as noise; in [0, 1].

    Returns
    -------
    pairs : DataFrame
        The columns of `COLUMNS`, in the order of the questions.
    counts : DataFrame
        outcome, questions: how many questions gave at least one pair, and why the others gave none. The outcomes exclude each other
        and add up to the number of questions.

    Raises
    ------
    ValueError
        If a column is missing, the pairing is not known, or the gap is outside [0, 1].

    Notes
    -----
    Equal scores are ties and give no pair, whatever the texts. Of answers with the same text, apart from white space, only the first
    counts; an answer without text does not. Where several share the best (or the worst) score, the first in the table is taken.
    Answers are compared only where id and text of the question are the same.
    """
    import pandas as pd

    if pairing not in PAIRINGS:
        raise ValueError(f"pairing {pairing!r} is none of {', '.join(PAIRINGS)}")
    if not 0 <= min_gap <= 1:
        raise ValueError(f"min_gap {min_gap!r} is not within 0 and 1")
    missing = [c for c in ("question_id", "question", "answer", "precision", "status") if c not in answers.columns]
    if missing:
        raise ValueError(f"answers have no column {missing[0]!r}; they have {', '.join(map(str, answers.columns))}")
    table = (answers if "run" in answers.columns else answers.assign(run="")).reset_index(drop=True)
    outcomes = dict.fromkeys(
        ["a pair", "fewer than two scored answers", "the same answer each time", "a tie", "too close to call"], 0
    )
    rows = []
    for (question_id, question), group in table.groupby(["question_id", "question"], sort=False, dropna=False):
        words = group["answer"].fillna("").str.split().str.join(" ")
        scored = group[(group["status"] == "scored") & group["precision"].notna() & (words != "")]
        distinct = scored[~words[scored.index].duplicated()]
        found = _pairs(distinct, pairing, min_gap)
        if found:
            outcomes["a pair"] += 1
        elif len(scored) < 2:
            outcomes["fewer than two scored answers"] += 1
        elif len(distinct) < 2:
            outcomes["the same answer each time"] += 1
        elif distinct["precision"].max() - distinct["precision"].min() < _ROUNDING:
            outcomes["a tie"] += 1
        else:
            outcomes["too close to call"] += 1
        for better, worse in found:
            scores = (float(better.precision), float(worse.precision))
            rows.append((question_id, question, better.answer, worse.answer, *scores, better.run, worse.run))
    counts = pd.DataFrame({"outcome": list(outcomes), "questions": list(outcomes.values())})
    pairs = pd.DataFrame(rows, columns=list(COLUMNS))
    return pairs.astype({"chosen_score": float, "rejected_score": float}), counts


def _pairs(distinct: pd.DataFrame, pairing: str, min_gap: float) -> list[tuple]:
    """Pairs of one question's answers, (better, worse)."""
    ordered = list(distinct.sort_values("precision", ascending=False, kind="stable").itertuples())
    if len(ordered) < 2:
        return []
    if pairing == "extremes":
        lowest = next(a for a in ordered if a.precision == ordered[-1].precision)
        candidates = [(ordered[0], lowest)]
    else:
        candidates = [(a, b) for i, a in enumerate(ordered) for b in ordered[i + 1 :]]
    smallest = max(min_gap, 2 * _ROUNDING) - _ROUNDING
    return [(a, b) for a, b in candidates if a.precision - b.precision >= smallest]


def to_jsonl(pairs: pd.DataFrame, form: str = "conversational") -> str:
    """Preference pairs as JSON lines.

    Parameters
    ----------
    pairs : from `rank`.
    form : {"conversational", "standard"}
        Lists of messages ({"role", "content"}), to which a trainer applies the model's chat template; or plain texts.

    Returns
    -------
    str
        One object a line, the same keys and types in each: prompt, chosen, rejected, and question_id, chosen_score, rejected_score,
        which trainers pass over. Empty where there are no pairs.

    Raises
    ------
    ValueError
        If the form is not known.
    """
    if form not in FORMS:
        raise ValueError(f"form {form!r} is none of {', '.join(FORMS)}")

    def said(role: str, text: str) -> str | list[dict[str, str]]:
        return [{"role": role, "content": text}] if form == "conversational" else text

    lines = [
        json.dumps(
            {
                "prompt": said("user", pair.question),
                "chosen": said("assistant", pair.chosen),
                "rejected": said("assistant", pair.rejected),
                "question_id": str(pair.question_id),
                "chosen_score": float(pair.chosen_score),
                "rejected_score": float(pair.rejected_score),
            },
            ensure_ascii=False,
        )
        for pair in pairs.itertuples()
    ]
    return "".join(line.translate(_LINE_ENDS) + "\n" for line in lines)


def length_sentence(pairs: pd.DataFrame) -> str:
    """Whether the chosen answers are longer, which a trainer would learn instead."""
    if not len(pairs):
        return "no pairs"
    longer, _ = _longer_and_shorter(pairs)
    return f"the chosen answer is the longer one in {longer} of {len(pairs)} pairs"


def _longer_and_shorter(pairs: pd.DataFrame) -> tuple[int, int]:
    """In how many pairs the chosen answer is the longer one, in characters, and in how many the shorter."""
    difference = pairs["chosen"].str.len() - pairs["rejected"].str.len()
    return int((difference > 0).sum()), int((difference < 0).sum())


def warnings(pairs: pd.DataFrame, answers: pd.DataFrame) -> list[str]:
    """What a reader should distrust in a set of pairs.

    Parameters
    ----------
    pairs : from `rank`.
    answers : what was ranked, with checker where it is known.
    """
    from factlab import stats

    notes = []
    if not len(pairs):
        return ["No pairs: ask for several answers to each question (samples, or a grid of temperatures)."]
    longer, shorter = _longer_and_shorter(pairs)
    share = stats.proportion(longer, longer + shorter, unit="pairs")
    if share.low is not None and (share.low > 0.5 or share.high < 0.5):
        which, count = ("longer", longer) if share.low > 0.5 else ("shorter", shorter)
        notes.append(
            f"The chosen answers are mostly the {which} ones ({count} of {len(pairs)}): a model trained on them may learn length."
        )
    if "checker" in answers.columns and "local/smollm2" in set(answers["checker"].dropna()):
        notes.append(
            "The judge is the built-in model, which is no judge: the pairs show the form of the file and are not for training."
        )
    return notes
