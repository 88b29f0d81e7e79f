"""CheckEmbed sections 4.1, 4.3 and 4.4: pairs of passages, passages with forced errors, and run times.

A text here is embedded as the count of its letters, and each letter is a token: see `letters`.
"""

import re

import numpy as np
import pandas as pd
import pytest

from factlab.stability import tasks
from factlab.studies import checkembed

from letters import embed, encode  # isort: skip

UNDEFINED = re.compile(r"\b[Nn]a[Nn]\b|None|<NA>|\binf\b|-0\.0+\b")
METHODS = ["CheckEmbed", "BERTScore", "SelfCheckGPT"]
pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


def pairs(*rows) -> pd.DataFrame:
    """(setting, kind, text_1, text_2) a row."""
    table = pd.DataFrame(rows, columns=["setting", "kind", "text_1", "text_2"])
    table.insert(0, "pair_id", [f"p{i}" for i in range(len(table))])
    return table


def scored(**settings) -> pd.DataFrame:
    """Scores as `pair_scores` gives them: by method, lists of (setting, score) or of scores, similar ones first."""
    rows = []
    for method, groups in settings.items():
        both = [("similar", s) for s in groups[0]] + [("different", s) for s in groups[1]]
        rows += [(f"p{i}", setting, "precise", method, score) for i, (setting, score) in enumerate(both)]
    return pd.DataFrame(rows, columns=["pair_id", "setting", "kind", "method", "score"]).astype({"score": float})


def wide(table, column="score"):
    return table.pivot(index="pair_id", columns="method", values=column)


# ---------------------------------------------------------------- how alike two passages are


def test_each_pair_has_a_score_by_every_method():
    found = checkembed.pair_scores(pairs(("similar", "x", "abc", "cba"), ("different", "x", "ab", "cd")), embed, encode)
    assert found["method"].tolist() == [m for m in METHODS for _ in range(2)]
    assert wide(found).loc["p0"].tolist() == pytest.approx([1, 1, 1])
    assert wide(found).loc["p1"].tolist() == pytest.approx([0, 0, 0])


def test_bertscore_and_selfcheckgpt_of_passages_that_share_a_part():
    """One sentence of two is found again: F1 of (1, 1/2) against the whole; by sentences 1 one way, 1/2 the other."""
    found = wide(checkembed.pair_scores(pairs(("similar", "x", "Abab.", "Abab. Cdcd.")), embed, encode))
    assert found.loc["p0", "BERTScore"] == pytest.approx(2 / 3)
    assert found.loc["p0", "SelfCheckGPT"] == pytest.approx(0.75)


def test_which_passage_comes_first_is_no_matter():
    texts = ("Abc de. Fgh.", "Abc. Dx, efg!")
    there, back = (
        wide(checkembed.pair_scores(pairs(("similar", "x", *two)), embed, encode)) for two in (texts, texts[::-1])
    )
    assert there.loc["p0"].tolist() == pytest.approx(back.loc["p0"].tolist())


def test_selfcheckgpt_encodes_each_distinct_sentence_once():
    asked = []

    def counting(texts):
        asked.extend(texts)
        return encode(texts)

    table = pairs(("similar", "x", "Ab. Cd.", "Cd."), ("different", "x", "Ab. Cd.", "Ef."))
    checkembed.pair_scores(table, embed, counting)
    assert sorted(asked) == sorted(["Ab. Cd.", "Cd.", "Ef."] + ["Ab.", "Cd.", "Ef."]), "texts once, sentences once"


@pytest.mark.parametrize("texts", [("", "ab"), ("ab", " "), ("", "")])
def test_a_pair_with_an_empty_passage_has_no_score_by_any_method(texts):
    found = wide(checkembed.pair_scores(pairs(("similar", "x", *texts), ("similar", "x", "a", "a")), embed, encode))
    assert found.loc["p0"].isna().all() and found.loc["p1"].tolist() == pytest.approx([1, 1, 1])


def test_no_pairs_and_no_token_encoder():
    assert len(checkembed.pair_scores(pairs(), embed, encode)) == 0
    found = checkembed.pair_scores(pairs(("similar", "x", "ab", "ab")), embed)
    assert found["method"].tolist() == ["CheckEmbed"]


def test_figure_1_shows_a_whole_pair_of_each_setting_precise_ones_first():
    table = pairs(
        ("similar", "generic", "a", "b"), ("similar", "precise", "", "b"), ("similar", "precise", "c", "d"),
        ("different", "generic", "e", "f"), ("different", "generic", "g", "h"),
    )  # fmt: skip
    assert checkembed.figure_one(table).set_index("setting")["text_1"].to_dict() == {"similar": "c", "different": "e"}
    assert len(checkembed.figure_one(table.head(0))) == 0


# ---------------------------------------------------------------- telling pairs apart


def test_a_method_that_separates_all_pairs_and_one_that_is_wrong_in_all():
    found = checkembed.separations(scored(good=([0.9, 0.8], [0.1, 0.2]), bad=([0.1, 0.2], [0.8, 0.9])))
    assert found["kind"].tolist() == ["all", "precise"] * 2 and found["auroc"].tolist() == [1, 1, 0, 0]
    assert found["overlap"].tolist()[0] == 0 and found["cut"][0] == pytest.approx(0.5) and (found["n"] == 4).all()


def test_equal_scores_separate_nothing():
    found = checkembed.separations(scored(flat=([0.5] * 3, [0.5] * 3))).iloc[0]
    assert (found["auroc"], found["overlap"], found["shared"]) == (0.5, 1, 1)


def test_pairs_without_a_score_are_not_counted():
    found = checkembed.separations(scored(m=([0.9, np.nan], [0.1]))).iloc[0]
    assert found["n"] == 2 and found["auroc"] == 1


@pytest.mark.parametrize("groups", [([], []), ([0.5], []), ([np.nan], [0.5])])
def test_with_one_group_alone_nothing_is_told_apart(groups):
    found = checkembed.separations(scored(m=groups))
    said = [checkembed.pairs_summary(found), *checkembed.violin_notes(found).values()]
    said += checkembed.pair_warnings(found, True, "local/minilm")
    assert found["auroc"].isna().all() and not [text for text in said if UNDEFINED.search(text)], said
    assert checkembed.pairs_summary(found.head(0)) == "no pairs"


def test_notes_and_summary_of_what_was_told_apart():
    found = checkembed.separations(scored(good=([0.9, 0.8], [0.1, 0.2])))
    assert checkembed.violin_notes(found, "precise") == {"good": "AUROC 1.00, overlap 0.00"}
    assert checkembed.pairs_summary(found).startswith("AUROC good 1.00")
    assert checkembed.pair_warnings(found, False, "openai/x") == ["Fewer than 20 pairs stand behind 2 of the 2 AUROCs."]
    many = checkembed.separations(scored(good=([0.9] * 10, [0.1] * 10)))
    assert checkembed.pair_warnings(many, False, "openai/x") == []


def test_methods_are_compared_on_the_same_pairs():
    table = scored(a=([0.9, 0.8, 0.7], [0.1, 0.2]), b=([0.1, 0.2, 0.3], [0.8, 0.9]), c=([0.9, 0.8, None], [0.1, 0.2]))
    found = checkembed.compare_methods(table, replicates=50).set_index(["a", "b"])
    assert found.loc[("a", "b"), ["auroc_a", "auroc_b", "difference", "low", "high", "n"]].tolist() == [
        1,
        0,
        1,
        1,
        1,
        5,
    ]
    assert found.loc[("a", "c"), "difference"] == 0 and found.loc[("a", "c"), "n"] == 4


def test_the_interval_of_a_difference_holds_it_and_is_repeatable():
    rng = np.random.default_rng(0)
    table = scored(a=(rng.normal(1, 1, 20), rng.normal(0, 1, 20)), b=(rng.normal(0.2, 1, 20), rng.normal(0, 1, 20)))
    one, two = (checkembed.compare_methods(table, seed=1, replicates=200).iloc[0] for _ in range(2))
    assert one["low"] < one["difference"] < one["high"] and one.equals(two)
    told = checkembed.separations(table).query("kind == 'all'").set_index("method")["auroc"]
    assert one["auroc_a"] == pytest.approx(told["a"]) and one["auroc_b"] == pytest.approx(told["b"])


def test_ties_count_half_when_methods_are_compared():
    table = scored(a=([0.5, 0.5], [0.5, 0.1]), b=([0.5, 0.5], [0.5, 0.5]))
    assert checkembed.compare_methods(table, replicates=9)["auroc_a"][0] == 0.75


def test_methods_without_enough_pairs_are_not_compared():
    for groups in (([0.9], [0.1, 0.2]), ([None, None], [0.1, 0.2]), ([], [])):
        assert len(checkembed.compare_methods(scored(a=([0.9, 0.8], [0.1, 0.2]), b=groups))) == 0


def test_similar_pairs_below_a_different_one_are_shown_lowest_first():
    table = pairs(*[("similar", "x", f"s{i}", "t") for i in range(3)], ("different", "x", "d", "e"))
    found = checkembed.misjudged(scored(CheckEmbed=([0.3, 0.9, 0.1], [0.5])), table)
    assert found["text_1"].tolist() == ["s2", "s0"] and list(found) == ["pair_id", "score", "text_1", "text_2"]
    assert len(checkembed.misjudged(scored(CheckEmbed=([0.9, 0.8, 0.7], [0.5])), table)) == 0
    assert len(checkembed.misjudged(scored(CheckEmbed=([0.5], [])), table)) == 0


def test_pairs_of_one_name_in_both_settings_stay_apart():
    table = pairs(("similar", "x", "s", "t"), ("different", "x", "d", "e")).assign(pair_id="same")
    found = checkembed.misjudged(scored(CheckEmbed=([0.3], [0.5])).assign(pair_id="same"), table)
    assert found["text_1"].tolist() == ["s"]


# ---------------------------------------------------------------- forced errors


def lines(passages=2, sentences=3):
    """Passages of sentences of one letter each; false ones have another letter."""
    rows = [
        (f"p{p}", "t", s + 1, f"{chr(97 + s) * (p + 2)}.", f"{chr(105 + s) * (p + 2)}.")
        for p in range(passages)
        for s in range(sentences)
    ]
    return pd.DataFrame(rows, columns=["passage_id", "topic", "sentence_no", "sentence", "false_sentence"]).astype(str)


def error_scores(passages=2, sentences=3, counts=(0, 1, 2, 3), versions=2):
    return checkembed.error_scores(tasks.with_errors(lines(passages, sentences), counts, versions), embed, encode)


def test_each_passage_is_compared_with_itself_without_errors():
    found = error_scores()
    mean = found.groupby(["method", "errors"])["score"].mean().unstack("errors")
    # Of three equally long sentences with letters of their own, m are others: the cosine is 1 - m / 3, and so are the others.
    for method in METHODS:
        assert mean.loc[method].tolist() == pytest.approx([1, 2 / 3, 1 / 3, 0], abs=1e-6)
    assert list(found) == ["passage_id", "errors", "version", "method", "score"]
    assert found.groupby("method").size().tolist() == [2 * (1 + 2 + 2 + 1)] * 3


def test_a_passage_without_its_true_version_is_an_error():
    made = tasks.with_errors(lines(), (0, 1))
    with pytest.raises(ValueError, match="passage 'p1' has no version without errors"):
        checkembed.error_scores(made[(made["passage_id"] != "p1") | (made["errors"] > 0)], embed)


def test_the_fall_is_measured_passage_by_passage():
    found = checkembed.told_apart(error_scores(passages=10)).set_index(["method", "errors"]).loc["CheckEmbed"]
    assert found["drop"].tolist() == pytest.approx([0, 1 / 3, 2 / 3, 1], abs=1e-6) and (found["n"] == 10).all()
    assert found["below"].tolist()[1:] == [1, 1, 1] and pd.isna(found["below"][0])
    assert found["against_one"].tolist()[2:] == pytest.approx([-1 / 3, -2 / 3], abs=1e-6)
    # All ten passages fall: 2 / 2^10 of the sign flips are as far, twice by Holm for the smaller of two.
    assert found["p_holm"].tolist()[2:] == pytest.approx([2 * 2 / 2**10] * 2) and found["p_holm"][:2].isna().all()


def test_no_errors_have_no_interval_since_nothing_is_measured():
    found = checkembed.told_apart(error_scores()).set_index(["method", "errors"])
    assert found.loc[("BERTScore", 0), "mean"] == pytest.approx(1) and pd.isna(found.loc[("BERTScore", 0), "low"])


def test_fewer_than_ten_passages_are_not_tested():
    told = checkembed.told_apart(error_scores(passages=9))
    assert told["p_holm"].isna().all() and told["against_one"].notna().any()
    fewest = checkembed.smallest(told)
    assert fewest["from_one"].isna().all() and (fewest["from_none"] == 1).all()
    assert (
        "Fewer than ten passages (9)"
        in checkembed.error_warnings(told, checkembed.cost_of_an_error(told), told.head(0))[1]
    )


def table_of(**columns):
    n = len(columns["errors"])
    given = {
        "method": ["m"] * n,
        "mean": [0.5] * n,
        "p_holm": [None] * n,
        "below": [None] * n,
        "against_one": [None] * n,
    }
    table = pd.DataFrame(given | columns)
    return table.astype(dict.fromkeys(["mean", "p_holm", "below", "against_one"], "Float64"))


def test_the_smallest_number_that_is_noticed():
    told = table_of(
        errors=[0, 1, 2, 3, 4], below=[None, 0.9, 1, 1, 1], against_one=[None, None, 0.1, -0.1, -0.2],
        p_holm=[None, None, 0.01, 0.01, 0.06],
    )  # fmt: skip
    assert checkembed.smallest(told).values.tolist() == [["m", 2, 3]]
    assert checkembed.smallest(told, threshold=0.9)["from_none"][0] == 1
    assert checkembed.smallest(told, alpha=0.001)["from_one"].isna()[0]


@pytest.mark.parametrize(
    ("errors", "means", "per_error", "first"),
    [
        ([0, 1, 2], [1, 0.8, 0.6], 0.2, 0.2),
        ([0, 2, 4], [1, 0.8, 0.6], 0.1, None),
        ([0, 1, 2], [1, None, 0.5], 0.25, None),
        ([0], [1], None, None),
        ([1, 2], [0.5, 0.6], -0.1, None),
    ],
)
def test_the_cost_of_an_error_is_a_slope(errors, means, per_error, first):
    found = checkembed.cost_of_an_error(table_of(errors=errors, mean=means)).iloc[0]
    for got, wanted in ((found["per_error"], per_error), (found["first"], first)):
        assert pd.isna(got) if wanted is None else got == pytest.approx(wanted)


def test_equal_scores_are_never_told_apart():
    scores = error_scores(passages=12).assign(score=0.5)
    told = checkembed.told_apart(scores)
    fewest, cost = checkembed.smallest(told), checkembed.cost_of_an_error(told)
    assert fewest[["from_none", "from_one"]].isna().all().all()
    said = checkembed.errors_summary(fewest, cost)
    assert "CheckEmbed: none told apart in every passage" in said and not UNDEFINED.search(said)


def test_without_passages_there_is_nothing_to_tell():
    told = checkembed.told_apart(pd.DataFrame(columns=["passage_id", "errors", "version", "method", "score"]))
    fewest, cost = checkembed.smallest(told), checkembed.cost_of_an_error(told)
    assert len(told) == len(fewest) == len(cost) == 0
    assert checkembed.errors_summary(fewest, cost) == "nothing was compared"
    spread = pd.DataFrame({"method": [], "spread": []}).astype({"method": str})
    assert not [n for n in checkembed.error_warnings(told, cost, spread) if UNDEFINED.search(n)]


@pytest.mark.parametrize("counts", [(0,), (0, 2), (0, 1), (0, 1, 2, 3)])
def test_sentences_about_errors_hold_no_undefined_number(counts):
    scores = error_scores(passages=3, counts=counts)
    told = checkembed.told_apart(scores)
    fewest, cost = checkembed.smallest(told), checkembed.cost_of_an_error(told)
    spread = scores.groupby(["method", "errors"])["score"].std().groupby("method").mean().rename("s").reset_index()
    said = [checkembed.errors_summary(fewest, cost), *checkembed.error_warnings(told, cost, spread)]
    assert not [text for text in said if UNDEFINED.search(text)], said


def test_an_error_that_costs_less_than_passages_differ_is_said():
    cost = pd.DataFrame({"method": ["a", "b", "c"], "per_error": [0.01, 0.2, None], "first": [None] * 3})
    spread = pd.DataFrame({"method": ["a", "b", "c"], "spread": [0.05, 0.05, 0.05]})
    notes = checkembed.error_warnings(table_of(errors=[0]).assign(n=12), cost, spread)
    assert [n.split(":")[0] for n in notes[1:]] == ["a"] and "(0.0100)" in notes[1]


# ---------------------------------------------------------------- run times


def test_each_method_is_measured_for_each_size_and_they_take_turns():
    order = []
    work = {"a": lambda texts: order.append(("a", len(texts))), "b": lambda texts: order.append(("b", len(texts)))}
    found = checkembed.measure(work, list("xyz"), [1, 3], 2)
    assert order == [("a", 1), ("b", 1), ("a", 3), ("b", 3)] * 2
    assert found[["method", "k"]].values.tolist() == [list(o) for o in order] and (found["seconds"] >= 0).all()


def times(**methods):
    rows = [(m, k, 0, s) for m, by in methods.items() for k, s in by.items()]
    return pd.DataFrame(rows, columns=["method", "k", "repeat", "seconds"])


def test_growth_is_a_slope_on_logarithmic_axes():
    found = checkembed.growth(times(linear={2: 1, 4: 2, 8: 4, 16: 8}, square={2: 1, 4: 4, 8: 16, 16: 64}))
    assert found["slope"].tolist() == pytest.approx([1, 2]) and found["times_the_fastest"].tolist() == [1, 8]
    assert checkembed.runtime_summary(found) == "for 16 answers: linear 8.00 s (1.0 ×), square 64.00 s (8.0 ×)"


def test_one_size_has_no_slope_and_no_times_no_summary():
    found = checkembed.growth(times(a={4: 1.0}))
    assert found["slope"].isna().all() and not UNDEFINED.search(checkembed.runtime_summary(found))
    assert checkembed.runtime_summary(checkembed.growth(times())) == "nothing was measured"


def test_repeats_that_differ_and_are_few_are_told():
    wild = pd.concat([times(a={4: 1.0}), times(a={4: 3.0})])
    notes = checkembed.runtime_warnings(wild, 2)
    assert "fewer than three times: 2" in notes[1] and "by up to 3.0 times" in notes[2]
    assert (
        len(checkembed.runtime_warnings(times(a={4: 1.0}), 3)) == 1
        and len(checkembed.runtime_warnings(times(), 3)) == 1
    )


def test_the_papers_operations():
    """Section 3: k embeddings and k² products, against work that grows with sentences and tokens."""
    found = checkembed.operations(10, 3, 5).set_index("method")
    assert found.loc["CheckEmbed"].tolist() == [10, 100, 10]
    assert found.loc["BERTScore", "embeddings"] == 200 and found.loc["SelfCheckGPT", "here_embeddings"] == 30


def test_answers_have_so_many_words_and_differ():
    made = checkembed.mixed_answers([f"a{i} b{i} c{i}." for i in range(9)] + [""], 6, 40)
    assert [len(text.split()) for text in made] == [40] * 6 and len(set(made)) == 6
    assert made == checkembed.mixed_answers([f"a{i} b{i} c{i}." for i in range(9)] + [""], 6, 40)


@pytest.mark.parametrize("sentences", [[], ["", "  "]])
def test_answers_cannot_be_made_of_nothing(sentences):
    with pytest.raises(ValueError, match="no sentence has a word"):
        checkembed.mixed_answers(sentences, 2, 5)


def test_texts_encoded_grow_with_k_and_not_with_its_square():
    answers = checkembed.mixed_answers([f"{chr(65 + i)}b c." for i in range(20)], 4, 30)
    found = checkembed.count_encodings(answers, [2, 4], encode).pivot(index="method", columns="k", values="texts")
    assert found.loc["CheckEmbed"].tolist() == found.loc["BERTScore"].tolist() == [2, 4]
    assert found.loc["SelfCheckGPT", 2] > 4 and found.loc["SelfCheckGPT", 4] <= 2.2 * found.loc["SelfCheckGPT", 2]


def test_lengths_are_measured_like_sizes():
    work = {"a": lambda texts: [len(t.split()) for t in texts]}
    found = checkembed.measure_lengths(work, ["ab cd ef."], 2, [3, 6], 2)
    assert found["words"].tolist() == [3, 3, 6, 6] and list(found) == ["method", "words", "repeat", "seconds"]
