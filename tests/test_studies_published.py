"""DAHL Table 2 and the numbers of the text against each other, and a run beside them."""

import math
import re

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from factlab import comparability, places, runs, stats
from factlab.studies import published

TABLE = comparability.published("dahl", "table2")
CLAIMS = comparability.published("dahl", "claims")
UNDEFINED = re.compile(r"\bnan\b|None|<NA>|\binf\b", re.IGNORECASE)
PLAIN = stats.estimate(
    [0.2, 0.4, 0.6, 0.5, 0.3], parts={"subject": "recorded local/smollm2", "checker": "reference"}, name="dahl"
)


@pytest.fixture
def make(tmp_path, monkeypatch):
    """A run's folder with such parameters and such a headline of 30_score."""
    monkeypatch.chdir(tmp_path)

    def made(parameters: dict | None = None, headline=None, metrics: dict | None = None):
        run = runs.open("one", "dahl/30_score")
        if parameters is not None:
            places.write_json(run.folder / "run.json", {"parameters": parameters})
        if headline is not None or metrics is not None:
            run.finish(headline=headline, metrics=metrics)
        return runs.open("one", "dahl/90_published")

    return made


def table(*rows: tuple) -> pd.DataFrame:
    columns = ["model", "family", "size_b", "average_characters", "score"]
    return pd.DataFrame(rows, columns=columns).convert_dtypes()


# ---------------------------------------------------------------- a run's own score and settings


def test_the_runs_score_stands_with_its_interval_and_size(make):
    row = published.own_score(make({"subject": "recorded"}, PLAIN))
    assert row == {"name": "recorded local/smollm2", "size_b": 0.135, "value": 0.4, "low": PLAIN.low, "high": PLAIN.high, "n": 5, "level": 0.95}  # fmt: skip


NAMES = [
    # (signature's subject, parameters, size_b, label, name, size)
    ("openai/gpt-4o", {}, None, "", "openai/gpt-4o", None),
    ("local/smollm2", {}, 1.7, "mine", "mine", 1.7),
    (None, {"subject": "hf/x/y"}, None, "", "hf/x/y", None),
    (None, {"subject": ""}, None, "", "your run", None),
    (None, None, None, "", "your run", None),  # no run.json
]


@pytest.mark.parametrize(("signed", "parameters", "size_b", "label", "name", "size"), NAMES)
def test_what_the_subject_is_called(make, signed, parameters, size_b, label, name, size):
    score = stats.estimate([0.1, 0.2], parts={"subject": signed}, name="dahl")
    row = published.own_score(make(parameters, score), size_b, label)
    assert (row["name"], row["size_b"]) == (name, size)
    assert row["low"] is None  # two values have no interval


@pytest.mark.parametrize("headline", [None, stats.estimate([])])
def test_a_run_without_a_score_has_no_row(make, headline):
    assert published.own_score(make({"subject": "x"}, headline)) is None
    assert published.own_score(make({"subject": "x"}, headline, {})) is None


def test_the_settings_of_a_run_like_the_papers_are_comparable(make):
    given = {"questions": "data/dahl/questions_with_source_paper.csv", "splitter": "openai/gpt-4o", "unknown": "exclude-response",
             "checker": "pplx-api on Llama-3-8b-instruct", "evidence": "online search", "temperature": 0.6, "max_tokens": 256,
             "variant": "paper", "seed": 3}  # fmt: skip
    ours = published.own_settings(make(given))
    assert (ours["prompts"], ours["questions"]) == ("our own words", "DAHL benchmark")  # how many, 30_score knows
    printed = comparability.published("dahl", "settings")
    assert comparability.verdict(ours, printed)[1].startswith("Not comparable")
    same = published.own_settings(make(given, metrics={"funnel": [{"stage": "asked", "n": 8573}]}), same_prompts=True)
    assert same["questions"] == "DAHL benchmark, 8,573" and "seed" not in same
    assert comparability.verdict(same, printed)[1].startswith("Comparable: ")


ASPECTS = [
    # (parameters, aspect, what is said of it)
    ({"questions": ""}, "questions", "the sample questions, 58"),
    ({"questions": "mine.csv"}, "questions", "mine.csv, 58"),
    ({"questions": "", "responses": "answers.csv"}, "questions", "answers.csv, 58"),
    ({"checker": "openai/sonar@https://x", "evidence": ""}, "evidence", "online search"),
    ({"checker": "reference", "evidence": ""}, "evidence", "none"),
    ({"checker": "reference", "evidence": "articles"}, "evidence", "articles"),
    ({"checker": "openai/gpt-4o"}, "checker", "gpt-4o"),
    ({"checker": "x"}, "evidence", None),
    ({"splitter": None, "x": 1}, "splitter", None),
    ({}, "prompts", None),
    (None, "prompts", None),
]


@pytest.mark.parametrize(("given", "aspect", "said"), ASPECTS)
def test_what_is_said_of_a_setting(make, given, aspect, said):
    run = make(given, metrics={"funnel": [{"stage": "asked", "n": 58}]})
    assert published.own_settings(run).get(aspect) == said


# ---------------------------------------------------------------- what the text concludes


def test_the_steps_of_table_2_by_hand():
    found = published.size_claims(TABLE).set_index(["family", "from_b"])
    assert len(found) == 5  # Llama-3.1 has two sizes, Gemma-2 two, Qwen-2 four; the others one, and gpt-4o none
    assert found.loc[("Llama-3.1", 8), ["to_b", "gain", "per_doubling", "beyond"]].tolist() == [
        70, pytest.approx(0.0106), pytest.approx(0.0106 / math.log2(70 / 8)), True]  # fmt: skip
    assert found.loc[("Gemma-2", 2), ["to_b", "gain"]].tolist() == [9, pytest.approx(0.0367)]
    assert found.loc["Qwen-2", "gain"].tolist() == pytest.approx([0.0541, 0.0719, 0.0127])
    assert found["beyond"].tolist() == [True, False, False, False, True]


def test_steps_need_two_sizes_and_two_scores():
    odd = table(
        ("b", "f", 2, 1, 0.6),
        ("a", "f", 1, 1, 0.5),
        ("c", "f", 2, 1, 0.7),
        ("d", "f", 4, 1, None),
        ("e", "f", None, 1, 0.9),
        ("g", "g", 3, 1, 0.9),
    )
    assert published.size_claims(odd)[["from_b", "to_b", "gain"]].values.tolist() == [[1, 2, pytest.approx(0.1)]]
    assert len(published.size_claims(TABLE.head(0))) == 0
    assert published.size_claims(TABLE, threshold=8.5)["beyond"].sum() == 0


def test_the_sentence_follows_the_numbers():
    said = published.gain_sentence(published.size_claims(TABLE))
    below = np.mean([0.0367 / math.log2(4.5), 0.0541 / math.log2(3), 0.0719 / math.log2(7 / 1.5)])
    above = np.mean([0.0106 / math.log2(70 / 8), 0.0127 / math.log2(72 / 7)])
    assert f"by {below:+.3f} on average in the 3 steps" in said and f"by {above:+.3f} in the 2" in said
    assert ": as the paper says, but from 5 steps of 3 families" in said
    other = table(("a", "f", 1, 1, 0.5), ("b", "f", 8, 1, 0.5), ("c", "f", 64, 1, 0.9))
    assert ": not as the paper says, from 2 steps of 1 families" in published.gain_sentence(
        published.size_claims(other)
    )


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_too_few_steps(rows):
    assert published.gain_sentence(published.size_claims(TABLE.head(rows))) == "Too few steps to say anything."


def test_rank_correlations_as_scipy_does():
    said = published.rank_sentence(TABLE)
    sized = TABLE.dropna(subset="size_b")
    for column, rows in (("size_b", sized), ("average_characters", TABLE)):
        rho = spearmanr(rows[column].astype(float), rows["score"].astype(float)).statistic
        assert re.search(rf"{rho:.2f} \[-?\d\.\d\d, \d\.\d\d\] \(n = {len(rows)}\)", said)
    assert [len(sized), len(TABLE)] == [12, 13]


@pytest.mark.parametrize("printed", [TABLE.head(0), TABLE.head(3), TABLE.assign(size_b=7.0), TABLE.assign(score=0.5)])
def test_a_rank_correlation_that_is_undefined_says_why(printed):
    said = published.rank_sentence(printed)
    assert not UNDEFINED.search(said.replace("undefined", "")) and "undefined (" in said


def test_a_perfect_rank_correlation_has_no_interval():
    perfect = table(*((str(i), "f", i, i, i / 10) for i in range(1, 6)))
    assert published.rank_sentence(perfect).startswith(
        "Spearman's rank correlation of the score with size 1.00 (n = 5) and"
    )


# ---------------------------------------------------------------- the run beside the table


def test_the_run_stands_in_its_place():
    found = published.beside(TABLE, {"name": "mine", "size_b": None, "value": 0.86})
    assert len(found) == 14 and found["score"].is_monotonic_decreasing
    assert found.loc[found["whose"] == "this run", ["model", "score"]].values.tolist() == [["mine", 0.86]]
    assert found["model"].tolist().index("mine") == 7  # below Llama-3.1 8B with 0.8627
    assert found.dtypes.astype(str)[["size_b", "score"]].tolist() == ["Float64", "Float64"]
    assert published.beside(TABLE, None)["whose"].unique().tolist() == ["DAHL Table 2"]
    assert published.beside(TABLE.head(0), {"name": "mine", "size_b": 1, "value": 0.5})["model"].tolist() == ["mine"]


def test_the_numbers_of_the_text():
    found = published.checks(CLAIMS, TABLE).set_index("claim")
    assert found["agrees"].tolist() == [True, True, True, True, False]
    assert found.loc["p of r = 0.5508, n = 99", "printed"] == "3.4927e-09"
    assert found.loc["p of r = 0.5508, n = 99", "follows"].startswith(f"{stats.pearson_p(0.5508, 99):.4e}, from ")
    assert found.loc["pairs among 5 samples", "follows"] == "10"
    assert found.loc["questions in a tenth of 8,573", "follows"] == "857"
    assert found.loc["models in the abstract", "follows"] == "13"
    assert "8 families" in found.loc["models in the abstract", "how"]


WRONG = [
    (0, "value", 0.56),
    (1, "value", 3.6e-9),
    (1, "value", 3.4e-9),
    (2, "value", 9),
    (2, "n", 6),
    (3, "value", 0.2),
]


@pytest.mark.parametrize(("row", "column", "value"), WRONG)
def test_a_number_that_does_not_follow_is_found(row, column, value):
    claims = CLAIMS.astype({"value": float, "n": float})
    claims.loc[row, column] = value
    assert published.checks(claims, TABLE)["agrees"].tolist().count(False) == 2


def test_another_best_model_is_found():
    better = TABLE.assign(score=TABLE["score"].where(TABLE["model"] != "Mpt 7B", 0.99))
    found = published.checks(CLAIMS, better).set_index("claim").loc["gpt-4o outperforms all"]
    assert (found["follows"], found["agrees"]) == ("Mpt 7B", False)


# ---------------------------------------------------------------- in words

YOURS = {"name": "mine", "value": 0.407}


@pytest.mark.parametrize(
    ("yours", "verdict", "summary"),
    [
        (None, "Not comparable with the printed numbers: …", "published: 0.74 to 0.94 (13 models)"),
        (YOURS, "Not comparable with the printed numbers: checker (x; printed: y).", "mine 0.41; published: 0.74 to 0.94 (13 models). Not comparable with the printed numbers"),
        (YOURS, "Comparable with care; what differs: temperature (1; printed: 0.6).", "mine 0.41; published: 0.74 to 0.94 (13 models). Comparable with care"),
        (YOURS, "Comparable: everything that the paper fixes is the same.", "mine 0.41; published: 0.74 to 0.94 (13 models). Comparable"),
    ],
)  # fmt: skip
def test_the_summary_gives_the_verdict_in_short(yours, verdict, summary):
    assert published.summary(yours, verdict, TABLE) == summary
    notes = published.warnings(yours, verdict)
    assert (verdict in notes) == (yours is not None) and "without intervals" in notes[-1]
