"""CheckEmbed section 4.2: what becomes of k replies to a question, and whether stable answers are true ones.

A text here is embedded as the count of its letters: "ab" and "ba" are the same, "ab" and "cd" have nothing in common.
"""

import json
import math
import re
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import pytest

from factlab import comparability, runs, stability
from factlab.studies import checkembed

from letters import embed, encode  # isort: skip

UNDEFINED = re.compile(r"\b[Nn]a[Nn]\b|None|<NA>|\binf\b|-0\.0+\b")
pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


def replies(**items) -> pd.DataFrame:
    """One row a reply; None is a call that failed."""
    rows = [
        (item, i, "" if text is None else text, "error" if text is None else "")
        for item, texts in items.items()
        for i, text in enumerate(texts)
    ]
    return pd.DataFrame(rows, columns=["item_id", "sample", "reply", "status"])


def decided(table, truth=None, **settings):
    texts = checkembed.texts_of(table, truth or {})
    return checkembed.decisions(checkembed.matrices(texts, embed), **settings)


def row(table, item):
    return table.set_index("item_id").loc[item]


# ---------------------------------------------------------------- texts and matrices


def test_the_replies_to_a_question_stand_in_order_with_the_truth_last():
    table = replies(a=["one", "two"], b=["three"]).sample(frac=1, random_state=1)
    found = checkembed.texts_of(table, {"a": "truth"})
    assert found == {"a": ["one", "two", "truth"], "b": ["three", ""]}


def test_an_empty_reply_is_empty_and_a_failed_call_is_nothing():
    table = replies(a=["one", "", None])
    table.loc[len(table)] = ["a", 3, "", "truncated"]
    table.loc[len(table)] = ["a", 4, None, ""]
    assert checkembed.texts_of(table, {})["a"] == ["one", "", None, "", "", ""]


def test_replies_without_a_status_are_all_replies():
    """As the recorded sample has it, with numbers read from text."""
    table = pd.DataFrame({"item_id": ["a", "a"], "sample": pd.array([1.0, 0.0], "Float64"), "reply": ["two", "one"]})
    assert checkembed.texts_of(table, {"a": "t"}) == {"a": ["one", "two", "t"]}


def test_all_questions_are_embedded_together():
    asked = []

    def counting(texts):
        asked.append(list(texts))
        return embed(texts)

    found = checkembed.matrices({"a": ["ab", "ba", "cd"], "b": ["ab", "abc"]}, counting)
    assert asked == [["ab", "ba", "cd", "ab", "abc"]]
    assert found["a"] == pytest.approx(np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1]]))
    assert found["b"][0, 1] == pytest.approx(2 / math.sqrt(6))


def test_bertscore_stands_beside_with_empty_and_wordless_texts_missing():
    with pytest.warns(UserWarning, match="undefined"):
        found = checkembed.bertscore_matrices({"a": ["ab", "abcd", "", None, "...", "ab"]}, encode)["a"]
    # Of "ab" against "abcd": precision 1, recall 1/2.
    assert found[0, 1] == pytest.approx(2 / 3) and found[0, 5] == pytest.approx(1)
    missing = np.isnan(found)
    assert missing[2:5].all() and missing[:, 2:5].all() and not missing[np.ix_([0, 1, 5], [0, 1, 5])].any()
    assert np.isnan(checkembed.bertscore_matrices({"a": ["", ""]}, encode)["a"]).all()


# ---------------------------------------------------------------- decisions


def test_a_question_whose_replies_agree_is_accepted():
    found = decided(replies(same=["ab", "ba", "ab"], other=["ab", "cd", "ab"]), {"same": "abc", "other": "ab"})
    same, other = row(found, "same"), row(found, "other")
    assert (same["k"], same["accepted"]) == (3, True) and [same["level"], same["spread"]] == pytest.approx([1, 0])
    assert same["truth_similarity"] == pytest.approx(2 / math.sqrt(6))
    # Pairs 0, 0, 1: mean 1/3, population standard deviation √2/3.
    assert other["level"] == pytest.approx(1 / 3) and other["spread"] == pytest.approx(math.sqrt(2) / 3)
    assert not other["accepted"] and other["truth_similarity"] == pytest.approx(2 / 3)
    assert (other["read_first"], other["typical"]) == (1, 2)


def test_both_limits_are_strict_and_can_be_moved():
    matrix = np.array([[1, 0.9, 0.5], [0.9, 1, 0.5], [0.5, 0.5, 1]])
    accepted = [bool(checkembed.decisions({"a": matrix}, level=x)["accepted"][0]) for x in (0.9, 0.89)]
    assert accepted == [False, True]


def test_the_released_variant_takes_the_root_mean_square():
    matrix = np.array([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]])
    level = [checkembed.decisions({"a": matrix}, variant=v)["level"][0] for v in ("paper", "released")]
    assert level == pytest.approx([1 / 3, math.sqrt(1 / 3)])


@pytest.mark.parametrize(
    ("texts", "k", "missing", "said"),
    [
        (["ab"], 1, 0, "one reply"),
        (["ab", "", None], 1, 2, "one reply"),
        (["", None, " "], 0, 3, "no reply"),
    ],
)
def test_without_two_replies_nothing_is_decided(texts, k, missing, said):
    found = row(decided(replies(a=texts)), "a")
    assert (found["status"], found["k"], found["missing"], found["accepted"]) == ("undefined", k, missing, False)
    assert said in found["reason"] and pd.isna(found["level"]) and pd.isna(found["truth_similarity"])
    assert found["read_first"] == 0 if k else pd.isna(found["read_first"])


def test_missing_replies_are_neither_read_first_nor_typical():
    found = row(decided(replies(a=["", "ab", None, "abc", "ab"])), "a")
    assert (found["k"], found["missing"], found["read_first"], found["typical"]) == (3, 2, 3, 4)


def test_equal_replies_keep_their_order():
    found = row(decided(replies(a=["ab", "ab", "ab"])), "a")
    assert (found["read_first"], found["typical"]) == (0, 2)


def test_no_questions_are_a_table_without_rows():
    found = checkembed.decisions({})
    assert len(found) == 0 and {"item_id", "accepted", "read_first"} <= set(found)
    assert checkembed.extremes(found) == [] and len(checkembed.rejected_texts(found, replies())) == 0
    assert not UNDEFINED.search(str(checkembed.acceptance(found)))


def test_the_most_and_the_least_stable_question_are_shown():
    table = replies(mid=["ab", "ac"], low=["ab", "cd"], high=["ab", "ab"], none=[""])
    assert checkembed.extremes(decided(table)) == ["high", "low"]
    assert checkembed.extremes(decided(replies(only=["ab", "ab"]))) == ["only"]
    assert len(set(checkembed.extremes(decided(replies(x=["ab", "ab"], y=["c", "c"]))))) == 2


def test_of_a_rejected_question_the_reply_least_like_the_others_is_read_first():
    table = replies(good=["ab", "ab"], odd=["ab", "cd", "ab"], gone=["", None])
    found = checkembed.rejected_texts(decided(table), table)
    assert found["item_id"].tolist() == ["gone", "odd"] and found["reply"].tolist() == ["", "cd"]


def test_what_is_read_first_does_not_depend_on_how_replies_are_numbered():
    table = replies(odd=["ab", "cd", "ab"])
    later = table.assign(sample=table["sample"] + 20)
    doubled = table.assign(sample=pd.array(table["sample"], "Float64")).iloc[::-1]
    for one in (later, doubled):
        assert checkembed.rejected_texts(decided(one), one)["reply"].tolist() == ["cd"]


def test_the_share_of_accepted_questions_leaves_out_what_is_undefined():
    share = checkembed.acceptance(decided(replies(a=["ab", "ab"], b=["ab", "cd"], c=["ab"], d=[""])))
    assert (share.value, share.n, share.counts) == (0.5, 2, {"undefined": 2})
    nothing = checkembed.acceptance(decided(replies(c=["ab"])))
    assert nothing.value is None and not UNDEFINED.search(str(nothing))


@pytest.mark.parametrize("texts", [["ab", ""], ["ab", "ab"], [""]])
def test_warnings_are_sentences(texts):
    notes = checkembed.warnings(decided(replies(a=texts)), "local/minilm", True)
    assert any("0.9 and 0.05" in n for n in notes) and any("135 million" in n for n in notes)
    assert any("replies: 1" in n for n in notes) == ("" in texts)
    assert not [n for n in notes if UNDEFINED.search(n)]
    many = decided(replies(**{f"q{i}": ["ab", "ab"] for i in range(10)}))
    assert checkembed.warnings(many, "openai/large", False) == []


def test_who_wrote_the_replies_is_read_from_a_run_or_a_sample():
    assert checkembed.written_by(pd.DataFrame({"subject": ["tiny", "tiny"]})) == {"tiny"}
    assert checkembed.written_by(pd.DataFrame({"model": ["served", None, ""]})) == {"served"}
    assert checkembed.written_by(pd.DataFrame({"reply": ["x"]})) == set()


# ---------------------------------------------------------------- empty replies


def test_by_the_released_rule_empty_replies_agree_with_each_other_alone():
    texts = checkembed.texts_of(replies(a=["ab", "", "", "ab"]), {"a": "ab"})
    found = checkembed.matrices(texts, embed)
    left = checkembed.decisions(checkembed.with_empty_rule(found, texts, "leave-out"))
    released = checkembed.decisions(checkembed.with_empty_rule(found, texts, "released"))
    assert left["level"][0] == pytest.approx(1) and (left["k"][0], left["missing"][0]) == (2, 2)
    # Six pairs: two are 1, four are -1.
    assert (released["level"][0], released["k"][0]) == (pytest.approx(-1 / 3), 4)
    assert released["truth_similarity"][0] == pytest.approx(0, abs=1e-6)


def test_neither_a_failed_call_nor_a_missing_truth_counts_as_an_empty_reply():
    texts = checkembed.texts_of(replies(a=["ab", None, "ab", None]), {})
    found = checkembed.with_empty_rule(checkembed.matrices(texts, embed), texts, "released")
    one = checkembed.decisions(found).iloc[0]
    assert one["level"] == pytest.approx(1) and (one["k"], one["missing"]) == (2, 2)
    assert pd.isna(one["truth_similarity"])


def test_an_unknown_rule_is_refused():
    with pytest.raises(ValueError, match="'drop' is neither leave-out nor released"):
        checkembed.with_empty_rule({}, {}, "drop")


# ---------------------------------------------------------------- asking again


class Subject:
    """Gives texts by item and round, and remembers which numbers it was asked for."""

    def __init__(self, **texts):
        self.texts, self.numbers = texts, []

    def __call__(self, wanted, number):
        self.numbers += [(item, number) for item in wanted]
        return replies(**{item: self.texts[item][number - 1] for item in wanted})


def test_what_is_not_accepted_is_asked_again_until_it_is():
    first = decided(replies(good=["ab", "ab"], soon=["ab", "cd"], late=["ab", "cd"], never=["ab", "cd"]))
    subject = Subject(
        soon=[["ab", "ab"]], late=[["ab", "cd"], ["ab", "ab"]], never=[["ab", "cd"], ["", None], ["ab", "cd"]]
    )
    found = checkembed.ask_until_accepted(first, subject, {}, embed, 3)
    assert found[["item_id", "round"]].values.tolist() == [
        ["soon", 1], ["late", 1], ["never", 1], ["late", 2], ["never", 2], ["never", 3]
    ]  # fmt: skip
    assert found["accepted"].tolist() == [True, False, False, True, False, False]
    assert len(subject.numbers) == len(set(subject.numbers)) == 6


def test_when_all_are_accepted_nobody_is_asked():
    subject = Subject()
    found = checkembed.ask_until_accepted(decided(replies(a=["ab", "ab"])), subject, {}, embed, 3)
    assert subject.numbers == [] and len(found) == 0 and {"round", "accepted"} <= set(found)
    assert len(checkembed.ask_until_accepted(decided(replies(a=["ab", "cd"])), subject, {}, embed, 0)) == 0


def test_later_rounds_are_judged_by_the_same_rules():
    texts = {"a": [["ab", "abc", "ab", ""]]}
    first = decided(replies(a=["ab", "cd"]))
    how = [
        {},
        {"level": 0.8, "spread": 0.1},
        {"level": 0.8, "spread": 0.1, "empty": "released"},
        {"variant": "released"},
    ]
    found = [checkembed.ask_until_accepted(first, Subject(**texts), {"a": "ab"}, embed, 1, **h).iloc[0] for h in how]
    assert [bool(f["accepted"]) for f in found] == [False, True, False, False]
    assert found[2]["k"] == 4 and found[3]["level"] > found[0]["level"]
    pearson = checkembed.ask_until_accepted(first, Subject(**texts), {}, embed, 1, metric="pearson")["level"][0]
    assert pearson != pytest.approx(found[0]["level"])


# ---------------------------------------------------------------- stable and true?


def known(levels, truths, accepted=None):
    n = len(levels)
    table = pd.DataFrame({"item_id": [f"q{i}" for i in range(n)], "level": levels, "truth_similarity": truths})
    table["accepted"] = accepted if accepted is not None else [x > 0.9 for x in levels]
    return table.assign(spread=0.01, status="scored").astype({"level": "Float64", "truth_similarity": "Float64"})


def test_correlation_is_over_questions_that_have_both_numbers():
    table = known([0.1, 0.2, 0.3, 0.4, 0.9], [0.2, 0.1, 0.4, 0.3, None])
    table.loc[5] = ["q5", pd.NA, 0.5, False, 0.0, "undefined"]
    found = checkembed.reliability(table).set_index("coefficient")
    assert found.loc["pearson", "n"] == 4 and found.loc["pearson", "value"] == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("levels", "truths", "said"),
    [
        ([], [], "mine: correlation undefined (n too small)"),
        ([0.1, 0.2, 0.3], [0.3, 0.2, 0.1], "mine: correlation undefined (n too small)"),
        ([0.5] * 6, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], "mine: correlation undefined (constant input)"),
        ([0.1, 0.2, 0.3, 0.4, 0.5], [0.2, 0.4, 0.6, 0.8, 1.0], "mine: r = 1.00 over 5 questions"),
    ],
)
def test_the_sentence_says_why_there_is_no_interval(levels, truths, said):
    sentence = checkembed.reliability_sentence(checkembed.reliability(known(levels, truths)), "mine")
    assert sentence == said


def test_a_correlation_that_may_be_nought_is_called_so():
    table = known([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0.3, 0.1, 0.4, 0.1, 0.5, 0.2])
    found = checkembed.reliability(table)
    assert "not shown to differ from 0" in checkembed.reliability_sentence(found)
    notes = checkembed.reliability_warnings({"mine": table}, found.assign(data="mine"))
    assert "fewer than 30 questions (6)" in notes[0] and notes[1].endswith("in: mine.")
    strong = known(np.linspace(0, 1, 30).tolist(), (np.linspace(0, 1, 30) ** 2).tolist())
    assert checkembed.reliability_warnings({"s": strong}, checkembed.all_correlations({"s": strong})) == []


def test_surprises_are_accepted_and_far_from_the_truth():
    tables = {"a": known([0.95, 0.96, 0.99, 0.1], [0.8, 0.2, None, 0.0]), "b": known([0.1], [0.1])}
    found = checkembed.all_surprises(tables)
    assert found[["data", "item_id", "truth_similarity"]].values.tolist() == [["a", "q1", 0.2], ["a", "q0", 0.8]]
    assert len(checkembed.surprises(tables["a"], most=1)) == 1


def test_risk_is_how_far_answers_lie_from_the_truth():
    tables = {"a": known([0.9, 0.5, 0.5], [1.0000001, 0.6, 0.2]), "none": known([], [])}
    found = checkembed.risk_curves(tables)
    assert found["method"].tolist() == ["a", "a"] and found["coverage"].tolist() == pytest.approx([1 / 3, 1])
    assert found["risk"].tolist() == pytest.approx([0, 0.4])
    areas = checkembed.risk_areas(tables)
    assert list(areas) == ["a"] and areas["a"].value == pytest.approx(found["area"].iloc[-1])
    assert {"coverage", "risk", "n", "area", "method"} <= set(checkembed.risk_curves({"none": tables["none"]}))


# ---------------------------------------------------------------- the authors' data


def released_folder(tmp_path, matrices, summaries=None, name="gpt_gpt-embedding-large"):
    folder = tmp_path / "results" / "legal_definitions" / "CheckEmbed"
    folder.mkdir(parents=True, exist_ok=True)
    found = [stability.summarise(np.array(m), truth=True, variant="released") for m in matrices]
    records = [
        {"cosine_sim": m, "frob_norm_cosine_sim": f.level + off, "std_dev_cosine_sim": f.spread}
        for m, f, off in zip(matrices, found, summaries or [0] * len(matrices), strict=True)
    ]
    (folder / f"{name}_results.json").write_text(json.dumps({"data": records}))
    return tmp_path / "results"


AGREED = [[1, 0.95, 0.4], [0.95, 1, 0.2], [0.4, 0.2, 1]]
NO_TRUTH = [[1, 0.9, -1], [0.9, 1, -1], [-1, -1, -1]]


def test_released_documents_without_a_ground_truth_are_left_out(tmp_path):
    folder = released_folder(tmp_path, [NO_TRUTH, AGREED])
    (name, table), *more = checkembed.released_decisions(folder).items()
    assert name == "released, gpt" and more == [] and table["item_id"].tolist() == ["document 1"]
    assert table["accepted"].tolist() == [True] and table["truth_similarity"][0] == pytest.approx(0.3)


def test_one_model_with_two_embedders_gives_two_tables(tmp_path):
    released_folder(tmp_path, [AGREED])
    folder = released_folder(tmp_path, [AGREED], name="gpt_sfr")
    assert list(checkembed.released_decisions(folder)) == ["released, gpt", "released, gpt_sfr"]


def test_without_a_released_folder_there_are_no_tables_and_a_wrong_one_is_told(tmp_path):
    assert checkembed.released_decisions(None) == {} and len(checkembed.recomputed(None)) == 0
    assert checkembed.recomputed_sentence(checkembed.recomputed(None)) == "No released results were given."
    for wrong in (tmp_path, tmp_path / "nowhere"):
        for function in (checkembed.released_decisions, checkembed.recomputed):
            with pytest.raises(ValueError, match="give the folder `results`"):
                function(wrong)


@pytest.mark.parametrize("content", ["[]", "{}", '{"data": [{"result": 0.5}]}', "no json"])
def test_a_file_that_holds_no_matrices_is_told(tmp_path, content):
    path = tmp_path / "x.json"
    path.write_text(content)
    with pytest.raises(ValueError, match="x.json: not a file of released results with result"):
        checkembed.released_matrices(path, "result")


def test_a_summary_that_does_not_follow_is_named(tmp_path):
    folder = released_folder(tmp_path, [AGREED, AGREED], [0, 0.01])
    (folder / "notes.json").write_text("[1, 2]")
    released_folder(tmp_path, [AGREED], name="gpt4_x")
    table = checkembed.recomputed(folder)
    assert table["matrices"].tolist() == [1, 2] and table["worst_level"].tolist() == pytest.approx([0, 0.01])
    said = checkembed.recomputed_sentence(table)
    assert said.startswith("1 of 2 sets of summaries (3 matrices) follow") and "gpt_gpt-embedding" in said


def test_an_undefined_summary_does_not_pass_for_one_that_follows(tmp_path):
    table = checkembed.recomputed(released_folder(tmp_path, [AGREED, np.full((3, 3), math.nan).tolist(), AGREED]))
    assert "not so: legal_definitions" in checkembed.recomputed_sentence(table)


@pytest.mark.released
def test_released_matrices_are_ten_replies_and_the_truth(released):
    path = released / "checkembed/results/legal_definitions/CheckEmbed/gpt_gpt-embedding-large_results.json"
    found = checkembed.released_matrices(path)
    assert len(found) == 22 and {m.shape for m in found} == {(11, 11)}
    first = stability.summarise(found[0], truth=True, variant="released")
    assert (first.level, first.spread) == pytest.approx((0.9325, 0.0603), abs=5e-5)
    assert not stability.accept(first), "the paper's own example fails the paper's own rule"
    bert = checkembed.released_matrices(path.parents[1] / "BertScore" / "gpt_bert.json", "result")
    assert len(bert) == 22 and all(m.ndim == 2 for m in bert)


@pytest.mark.released
def test_stability_hardly_predicts_closeness_in_the_authors_data(released):
    """17 of 22 documents have a ground truth; correlations and the stable, wrong document as measured on the released matrices."""
    tables = checkembed.released_decisions(released / "checkembed" / "results", variant="released")
    assert {name: len(t) for name, t in tables.items()} == {"released, gpt": 17, "released, gpt4-turbo": 17}
    found = checkembed.all_correlations(tables)
    pearson = found[found["coefficient"] == "pearson"].set_index("data")["value"]
    assert pearson.to_dict() == pytest.approx({"released, gpt": 0.39, "released, gpt4-turbo": 0.28}, abs=0.005)
    worst = checkembed.all_surprises(tables, most=1)
    assert (worst["item_id"] == "document 18").any()
    assert worst.set_index("item_id").loc["document 18", "truth_similarity"].min() == pytest.approx(0.23, abs=0.01)
    missing = {f"document {i}" for i in (5, 10, 17, 19, 20)}
    assert not missing & set(tables["released, gpt"]["item_id"])


@pytest.mark.released
def test_released_summaries_follow_from_their_matrices(released):
    """All but Pearson's of the legal documents, whose level has the ground truth in it and whose deviation has not."""
    table = checkembed.recomputed(released / "checkembed" / "results")
    assert len(table) == 33
    good = (table["worst_level"] <= 1e-6) & (table["worst_spread"] <= 1e-6)
    off = table[~good]
    assert len(off) == 2 and (off["field"] == "pearson_corr").all() and off["file"].str.startswith("legal").all()
    assert (off["worst_spread"] <= 1e-6).all()
    assert checkembed.recomputed_sentence(table).startswith("31 of 33 sets of summaries")


# ---------------------------------------------------------------- printed numbers


def printed(name):
    return comparability.published("checkembed", name)


def test_figure_8_says_how_much_faster_and_which_total_is_off():
    said = checkembed.runtime_factor(printed("figure8"))
    assert said == (
        "BERTScore takes 6.4 to 32 times as long, SelfCheckGPT takes 2.5 to 13 times as long; the total of CheckEmbed, GTE does not "
        "follow from its parts."
    )


@pytest.mark.released
def test_figure_8_is_what_was_released(released):
    there = pd.read_csv(released / "checkembed/results/runtime_data.csv")
    assert printed("figure8")["total"].astype(float).tolist() == there["total"].tolist()
    assert printed("figure8")["embedding"].fillna(0).astype(float).tolist() == there["embedding"].tolist()


def test_the_texts_example_fails_the_texts_rule():
    example = checkembed.text_example(printed("claims"))
    assert example["printed"].tolist()[:4] == ["0.93", "0.06", "0.9", "0.05"]
    assert example.iloc[-1]["printed"] == "no"


def test_table_6_has_the_printed_sizes():
    table = printed("table6").set_index("model")
    assert table["dimensions"].tolist() == [3072, 4096, 4096, 4096, 1024, 1024]
    assert (
        table["parameters_b"].tolist()[1:] == [7.11, 7.11, 7.72, 0.75, 0.355] and table["parameters_b"].isna().iloc[0]
    )


@pytest.mark.parametrize(
    ("given", "questions"), [({"texts": ""}, "the sample texts"), ({"texts": "own.csv"}, "own.csv"), ({}, None)]
)
def test_a_runs_settings_are_told_by_the_papers_aspects(tmp_path, given, questions):
    (tmp_path / "run.json").write_text(json.dumps({"parameters": {"embedder": "local/minilm", "k": 10, **given}}))
    found = checkembed.own_settings(runs.open(str(tmp_path), "checkembed/90_published"))
    assert found["embedder"] == "local/minilm" and found["k"] == 10 and found.get("questions") == questions
    table, sentence = comparability.verdict(found, printed("settings"))
    assert table.set_index("aspect").loc["k", "same"] and sentence.startswith("Not comparable")


def test_what_is_not_comparable_comes_first():
    assert checkembed.published_warnings(printed("figure8"), "Not comparable.")[0] == "Not comparable."
    assert len(checkembed.published_warnings(printed("figure8"), "")) == 1


# ---------------------------------------------------------------- samples


class Run:
    """A run's folder with some tables; it remembers its banners and what data it used."""

    def __init__(self, **tables):
        self.tables, self.banners, self.data = tables, [], []

    def has(self, name):
        return name in self.tables

    def read(self, name):
        return self.tables[name]

    def banner(self, text):
        self.banners.append(text)

    def used(self, path):
        self.data.append(path.name)
        return path


def test_without_tables_of_its_own_a_notebook_shows_the_samples_and_says_so():
    run = Run()
    items, pairs, passages = checkembed.items_of(run), checkembed.pairs_of(run), checkembed.passages_of(run, versions=1)
    assert run.data == ["legal_chunks.csv", "descriptions.csv", "passages.csv"]
    assert len(run.banners) == 3 and all("recorded sample" in b for b in run.banners)
    assert len(items) == 12 and (items["truth"] == "").sum() == 2 and len(pairs) == 80
    assert passages.groupby("passage_id").size().unique().tolist() == [11]
    assert checkembed.are_sample_pairs(pairs) and checkembed.are_sample_pairs(pairs.head(3))


def test_tables_of_the_run_come_before_samples():
    own = pd.DataFrame({"text_1": ["a"], "text_2": ["b"]})
    run = Run(items=own, pairs=own, passages=own)
    assert all(f(run) is own for f in (checkembed.items_of, checkembed.pairs_of, checkembed.passages_of))
    assert run.banners == [] and run.data == [] and not checkembed.are_sample_pairs(own)
    assert not checkembed.are_sample_pairs(own.head(0))


# ---------------------------------------------------------------- notebooks


def test_no_notebook_writes_over_what_another_wrote():
    """A table or figure of the same name would be the later one's, and the earlier step would be run again each time."""
    folder = Path(__file__).resolve().parents[1] / "notebooks" / "checkembed"
    for kind in ("write", "figure"):
        names = []
        for path in sorted(folder.glob("*.ipynb")):
            source = "\n".join(c.source for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code")
            names += sorted(set(re.findall(rf'run\.{kind}\(\s*"(\w+)"', source)))
        assert names and [n for n in names if names.count(n) > 1] == []
