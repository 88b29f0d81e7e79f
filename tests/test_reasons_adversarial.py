"""REASONS section 7: what can be swapped for what, and what an answer to a swapped record is: right, kept, followed, passed."""

import json
from functools import cache

import numpy as np
import pandas as pd
import pytest

from factlab import attribution, figures, models, perturb, places, sources, stats
from factlab.studies.reasons import adversarial, swap_outcomes

from letters import embed  # isort: skip

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

LONG = "Deep Residual Learning for Image Recognition"
NEAR = "Deep Residual Learning for Image Segmentation"
FAR = "Quicksort"


def records(*rows, **columns) -> pd.DataFrame:
    """Each row a title and, where given, an abstract; item_id a, b, c, …"""
    rows = [(row, "") if isinstance(row, str) else row for row in rows]
    names = [chr(ord("a") + i) for i in range(len(rows))]
    table = pd.DataFrame(
        {"item_id": names, "cited_title": [r[0] for r in rows], "cited_abstract": [r[1] for r in rows]}
    )
    table["cited_authors"] = [f"Author {name.upper()}" for name in names]
    table["source_id"] = [f"s{i}" for i in range(len(rows))]
    table["domain"], table["source_title"] = "AI", "A Survey of Everything"
    table["sentence"] = [f"As was shown elsewhere ({name})." for name in names]
    return table.assign(**columns)


@cache
def sample() -> pd.DataFrame:
    table = sources.read_table(places.samples("reasons", "citations.csv"))[0].reset_index(drop=True)
    return table.rename(columns={"summary": "cited_abstract"})


def one(table, item, condition):
    found = table[(table["item_id"] == item) & (table["condition"] == condition)]
    assert len(found) == 1
    return found.iloc[0]


ABSTRACTS = (
    "We sort numbers quickly. The pivot is drawn at random. Time falls by half. Memory stays small.",
    "We search graphs widely. The frontier is kept in order. Paths are shortest. Queues grow large.",
    "We fold proteins slowly. The energy is a sum of pairs. Structures are stable. Samples are many.",
)
THREE = [
    ("Sorting Numbers", ABSTRACTS[0]),
    ("Searching Enormous Graphs", ABSTRACTS[1]),
    ("Folding Proteins", ABSTRACTS[2]),
]


# ------------------------------------------------------------------------------------------------ what can be made


def test_nothing_is_lost_and_the_record_itself_is_untouched():
    given = records(*THREE)
    table = adversarial.conditions(given, embed)
    assert table.groupby("condition")["item_id"].apply(list).map(lambda x: x == ["a", "b", "c"]).all()
    assert set(table["kind"]) == set(adversarial.KINDS)
    assert list(table.columns) == adversarial.COLUMNS
    none = table[table["condition"] == "none"]
    assert none["shown_title"].tolist() == given["cited_title"].tolist()
    assert none["shown_abstract"].tolist() == given["cited_abstract"].tolist()
    assert (none["strength"] == 0).all() and none["similarity"].isna().all()
    counts = adversarial.could_be_made(table)
    assert counts["records"].eq(3).all() and counts["made"].sum() == table["status"].eq("made").sum()


def test_only_the_field_is_changed_and_the_authors_stay():
    given = records(*THREE).set_index("item_id")
    table = adversarial.conditions(given.reset_index(), embed)
    for row in table[table["status"] == "made"].itertuples():
        assert row.shown_authors == given.loc[row.item_id, "cited_authors"]
        for field in ("title", "abstract"):
            same = getattr(row, f"shown_{field}") == given.loc[row.item_id, f"cited_{field}"]
            assert same == (field != row.field), (row.condition, field)


def test_what_was_not_made_shows_nothing_so_that_nobody_asks_it():
    table = adversarial.conditions(records(*THREE))
    missing = table[table["status"] != "made"]
    assert len(missing) and (missing[["shown_title", "shown_abstract", "shown_authors"]] == "").all(axis=None)
    assert (missing["strength"] == 0).all()


def test_the_threshold_decides_and_the_nearest_needs_none():
    ratio = perturb.ratio(LONG, NEAR)
    given = records(LONG, NEAR, FAR)
    at = adversarial.conditions(given, threshold=ratio, kinds=["title", "title_nearest"])
    above = adversarial.conditions(given, threshold=ratio + 1e-9, kinds=["title", "title_nearest"])
    assert one(at, "a", "title")["status"] == "made" and one(at, "a", "title")["shown_title"] == NEAR
    assert one(above, "a", "title")["status"] == "no near enough text"
    assert one(above, "a", "title")["similarity"] == ratio
    assert one(at, "c", "title")["status"] == "no near enough text"
    assert one(above, "a", "title_nearest")["shown_title"] == NEAR
    assert one(at, "c", "title_nearest")["status"] == "made"


def test_similarity_is_that_of_the_text_that_is_shown():
    table = adversarial.conditions(records(LONG, NEAR, FAR), kinds=["title_nearest"])
    own = dict(zip("abc", [LONG, NEAR, FAR], strict=True))
    for row in table.itertuples():
        assert row.similarity == perturb.ratio(own[row.item_id], row.shown_title)


@pytest.mark.parametrize(
    "other",
    [
        {"cited_title": ["Deep Residual Learning", "DEEP RESIDUAL\n  LEARNING.", FAR]},
        {"cited_title": ["Deep Residual Learning", "Deep Residual Nets", FAR], "cited_id": ["1512.03385", "1512.03385", ""]},
        {"cited_title": ["Deep Residual Learning", "Deep Residual Nets", FAR], "cited_abstract": ["We go deep.", "We go  deep", "We sort."]},
    ],
    ids=["same title", "same identifier", "same abstract"],
)  # fmt: skip
def test_a_work_is_never_replaced_by_itself(other):
    table = adversarial.conditions(records("x", "y", "z", **other), embed, kinds=["title_nearest", "title_embedding"])
    shown = table[table["item_id"].isin(["a", "b"])]["shown_title"]
    assert (shown == FAR).all()


def test_works_are_told_apart_where_nothing_joins_them():
    given = records("Deep Residual Learning", "Deep Residual Nets", FAR, cited_id=["", "", ""])
    table = adversarial.conditions(given, kinds=["title_nearest"])
    assert one(table, "a", "title_nearest")["shown_title"] == "Deep Residual Nets"
    assert one(table, "a", "title_nearest")["other_item"] == "b"


def test_identity_reaches_along_a_chain():
    given = records("One Title", "One title", "Another Name", FAR, cited_id=["", "7", "7", ""])
    table = adversarial.conditions(given, kinds=["title_nearest"])
    assert (table[table["item_id"] != "d"]["shown_title"] == FAR).all()


def test_no_text_of_its_own_and_nobody_to_borrow_from():
    table = adversarial.conditions(records(("Sorting", ""), ("Searching", "We search.")))
    assert one(table, "a", "abstract_nearest")["status"] == "no abstract"
    assert one(table, "b", "abstract_nearest")["status"] == "no other text"
    assert one(table, "a", "title_nearest")["status"] == "made"
    alone = adversarial.conditions(records(("Sorting", "We sort.")))
    assert alone[alone["kind"] != "none"]["status"].eq("no other text").all()
    assert len(adversarial.conditions(records("x").head(0))) == 0


def test_a_pool_lends_its_texts():
    pool = pd.concat([records(LONG), records(NEAR).assign(item_id="p")])
    table = adversarial.conditions(records(LONG), kinds=["title"], pool=pool)
    row = one(table, "a", "title")
    assert (row["shown_title"], row["other_item"], row["other_title"]) == (NEAR, "p", NEAR)


def test_by_embedding_the_vectors_decide():
    vectors = {LONG: [1, 0.1], NEAR: [0, 1], FAR: [1, 0]}
    given = records(LONG, NEAR, FAR)
    table = adversarial.conditions(
        given, lambda texts: np.array([vectors[t] for t in texts]), kinds=["title_embedding"]
    )
    row = one(table, "a", "title_embedding")
    assert row["shown_title"] == FAR
    assert row["similarity"] == pytest.approx(1 / np.hypot(1, 0.1))


def test_without_an_embedder_there_is_nothing_by_embedding():
    assert not adversarial.conditions(records(*THREE))["kind"].str.endswith("embedding").any()
    with pytest.raises(ValueError, match="embed"):
        adversarial.conditions(records(*THREE), kinds=["title_embedding"])


@pytest.mark.parametrize(
    ("wrong", "says"),
    [({"kinds": ["titles"]}, "titles"), ({"shares": [1.0]}, "shares"), ({"terms": [0]}, "terms")],
)
def test_wrong_settings_are_named(wrong, says):
    with pytest.raises(ValueError, match=says):
        adversarial.conditions(records(*THREE), **wrong)


def test_an_item_that_repeats_is_refused():
    with pytest.raises(ValueError, match="'a'"):
        adversarial.conditions(records(*THREE, item_id=["a", "a", "b"]))


# ------------------------------------------------------------------------------------------------ edits


def test_edits_replace_so_many_sentences_by_those_of_the_nearest_abstract():
    table = adversarial.conditions(records(*THREE), kinds=["abstract_edited"])
    for row in table.itertuples():
        own = ABSTRACTS["abc".index(row.item_id)].split(". ")
        other = ABSTRACTS["abc".index(row.other_item)]
        new = [
            s.rstrip(".") for s in row.shown_abstract.split(". ") if s.rstrip(".") not in [o.rstrip(".") for o in own]
        ]
        assert row.status == "made" and all(s in other for s in new)
        assert len(new) / 4 == row.strength == int(row.condition[-2:]) / 100


def test_strengths_that_come_to_the_same_are_made_once():
    two = [(title, ". ".join(text.split(". ")[:2])) for title, text in THREE]
    table = adversarial.conditions(records(*two), kinds=["abstract_edited"], shares=[0.25, 0.5, 0.75])
    by = table.groupby("condition")["status"].unique().map(list)
    assert by["abstract_edited_25"] == ["same as abstract_edited_50"]
    assert by["abstract_edited_50"] == ["made"]
    assert by["abstract_edited_75"] == ["nothing of its own left"]


def test_terms_are_words_of_the_other_title_and_not_of_the_own():
    given = records(*THREE)
    table = adversarial.conditions(given, kinds=["abstract_terms"], terms=[1, 3])
    for row in table[table["status"] == "made"].itertuples():
        own = given.set_index("item_id").loc[row.item_id]
        rest = row.shown_abstract.split()
        new = [w for w in rest if w not in own["cited_abstract"].split()]
        assert new and all(w in row.other_title.casefold() for w in new)
        assert not set(new) & set(own["cited_title"].casefold().split())
        assert [w for w in rest if w not in new] == own["cited_abstract"].split()
        assert row.strength == pytest.approx(len(new) / len(rest))


def test_a_title_without_a_long_word_lends_none():
    table = adversarial.conditions(records(("On It", ABSTRACTS[0]), ("At X", ABSTRACTS[1])), kinds=["abstract_terms"])
    assert (table["status"] == "nothing to change").all()


def test_the_same_seed_gives_the_same_texts():
    given = records(*THREE)
    first, again, other = (adversarial.conditions(given, seed=seed) for seed in (0, 0, 1))
    pd.testing.assert_frame_equal(first, again)
    edited = first["kind"].isin(["abstract_edited", "abstract_terms"])
    assert (first[edited]["shown_abstract"] != other[edited]["shown_abstract"]).any()
    pd.testing.assert_frame_equal(first[~edited], other[~edited])


def test_draw_keeps_the_shares_of_the_domains():
    given = records(*[f"Title {i}" for i in range(20)], domain=["AI"] * 15 + ["CV"] * 5)
    drawn = adversarial.draw(given, 8, seed=3)
    assert drawn["domain"].value_counts().to_dict() == {"AI": 6, "CV": 2}
    assert adversarial.draw(given, 8, seed=3)["item_id"].tolist() == drawn["item_id"].tolist()
    assert len(adversarial.draw(given, 200)) == 20
    with pytest.raises(ValueError, match="count"):
        adversarial.draw(given, 0)


def test_examples_are_the_nearest_pairs():
    given = records(LONG, NEAR, FAR)
    shown = adversarial.examples(adversarial.conditions(given, kinds=["none", "title_nearest"]), given, count=1)
    assert shown[["condition", "own", "shown"]].values.tolist() == [["title_nearest", LONG, NEAR]]


def test_the_sample_has_no_pair_at_the_published_threshold():
    counts = adversarial.could_be_made(of_sample()).set_index("condition")
    assert counts.loc[["title", "abstract"], "made"].tolist() == [0, 0]
    assert counts.loc[["none", "title_nearest", "abstract_nearest"], "made"].tolist() == [96, 96, 96]
    assert counts["highest"]["title_nearest"] == pytest.approx(0.625)


@pytest.mark.released
def test_on_the_authors_data_hardly_a_title_and_no_abstract_reaches_it(released):
    table = sources.read_reasons(released / "reasons" / "Adversarial.json").rename(columns={"row_id": "item_id"})
    table["cited_authors"] = table["cited_authors"].map("; ".join)
    made = adversarial.conditions(table)
    counts = adversarial.could_be_made(made).set_index("condition")
    assert counts["records"].eq(159).all()
    assert counts.loc[["title", "abstract"], "made"].tolist() == [4, 0]
    swapped = made[(made["status"] == "made") & (made["kind"] != "none")]
    gold = swapped["item_id"].map(table.set_index("item_id")["cited_title"])
    assert not any(attribution.same_title(a, b) for a, b in zip(gold, swapped["other_title"], strict=True))


# ------------------------------------------------------------------------------------------------ outcomes


def answers(*rows, gold="Right Paper") -> pd.DataFrame:
    """Each row a condition, an answer and, where it is none, a status."""
    table = pd.DataFrame([(*row, "scored")[:3] for row in rows], columns=["condition", "predicted", "status"])
    constant = {"item_id": "a", "domain": "AI", "source_id": "s", "mode": "verify", "gold": gold, "holds_gold": False}
    return table.assign(**constant, reply=table["predicted"])


def swapped(condition="title", other="Other Paper") -> pd.DataFrame:
    rows = [("a", "none", "", "none", 0.0, None, ""), ("a", condition, "title", condition, 1.0, 0.8, other)]
    return pd.DataFrame(
        rows, columns=["item_id", "condition", "field", "kind", "strength", "similarity", "other_title"]
    )


def judged(before, after):
    """What becomes of an answer, given the one without a swap (None: there is none)."""
    base = answers(("none", *before)) if before is not None else answers()
    return swap_outcomes.outcome(answers(("title", *after)), base, swapped()).iloc[0]


@pytest.mark.parametrize(
    ("before", "after", "outcome", "kept", "followed"),
    [
        (["Right Paper"], ["RIGHT paper."], "right", True, False),
        (["Third Paper"], ["Right Paper"], "right", False, False),
        (["Third Paper"], ["third paper"], "keeps", True, False),
        (["Third Paper"], ["Fourth Paper"], "other", False, False),
        (["Right Paper"], ["Other Paper"], "follows", False, True),
        (["Right Paper"], ["{Other} Paper"], "follows", False, True),
        (["Right Paper"], ["Another Paper"], "other", False, False),
        (
            ["Other Paper"],
            ["Other Paper"],
            "keeps",
            True,
            True,
        ),  # named without the swap already: the swap did not do it
        (["Right Paper"], ["", "refused"], "passes", False, False),
        (["", "refused"], ["", "refused"], "passes", True, False),
        (["", "refused"], ["Other Paper"], "follows", False, True),
        (["", "refused"], ["Third Paper"], "other", False, False),
        (["Right Paper"], ["", "unparsable"], "unreadable", None, None),
        (["Right Paper"], ["", "truncated"], "unreadable", None, None),
        (["Right Paper"], ["", "error"], "error", None, None),
        (["", "error"], ["Right Paper"], "right", None, False),
        (["", "unparsable"], ["Other Paper"], "follows", None, True),
        (None, ["Third Paper"], "other", None, False),
    ],
)
def test_each_answer_is_one_thing(before, after, outcome, kept, followed):
    found = judged(before, after)
    assert found["outcome"] == outcome
    for value, wanted in ((found["kept"], kept), (found["followed"], followed)):
        assert pd.isna(value) if wanted is None else value == wanted


def test_what_was_named_without_the_swap_is_told():
    assert judged(["Other Paper"], ["Other Paper"])["followed_before"]
    assert not judged(["", "refused"], ["Other Paper"])["followed_before"]
    assert pd.isna(judged(["", "error"], ["Other Paper"])["followed_before"])
    assert judged(None, ["Third Paper"])["base_status"] == "missing"


def test_without_a_swap_there_is_nothing_to_keep_or_follow():
    base = answers(("none", "Third Paper"))
    found = swap_outcomes.outcome(base, base, swapped()).iloc[0]
    assert found["outcome"] == "other" and pd.isna(found["kept"]) and pd.isna(found["followed"])


def test_answers_to_unknown_conditions_and_double_bases_are_refused():
    with pytest.raises(ValueError, match="'abstract'"):
        swap_outcomes.outcome(answers(("abstract", "x")), answers(("none", "x")), swapped())
    with pytest.raises(ValueError, match="'a'"):
        swap_outcomes.outcome(answers(("title", "x")), answers(("none", "x"), ("none", "y")), swapped())


def asked(given, table, reply):
    """Answers of a model that replies `reply(row of conditions)`."""
    made = table[table["status"] == "made"]
    names = made["item_id"] + "/verify/" + made["condition"]
    known = pd.DataFrame({"item_id": names, "reply": [reply(row) for row in made.itertuples()]})
    return adversarial.ask(models.load("recorded", table=known), given, table, progress=False)


@cache
def of_sample() -> pd.DataFrame:
    return adversarial.conditions(sample(), embed)


def run(given, reply):
    table = of_sample() if given is sample() else adversarial.conditions(given, embed)
    found = asked(given, table, reply)
    return table, found, swap_outcomes.outcome(found, found[found["condition"] == "none"], table)


def test_every_condition_that_was_made_is_asked_once():
    given = sample()
    table, found, outcomes = run(given, lambda row: "pass")
    made = table[table["status"] == "made"]
    assert found[["item_id", "condition"]].values.tolist() == made[["item_id", "condition"]].values.tolist()
    assert (found["status"] == "refused").all() and (outcomes["outcome"] == "passes").all()
    assert outcomes["kept"].dropna().all()


def test_the_prompt_holds_the_cited_title_unless_it_is_swapped():
    _, found, _ = run(sample(), lambda row: "pass")
    held = found.groupby("condition")["holds_gold"].mean()
    assert (held[[c for c in held.index if not c.startswith("title")]] == 1).all()
    assert (held[["title_nearest", "title_embedding"]] == 0).all()


def test_a_model_that_copies_the_title_it_is_shown_follows_every_title_swap():
    _, found, outcomes = run(sample(), lambda row: row.shown_title)
    is_title = outcomes["field"] == "title"
    assert is_title.sum() == 192
    assert (outcomes[is_title]["outcome"] == "follows").all() and not outcomes[is_title]["kept"].any()
    assert (outcomes[~is_title]["outcome"] == "right").all()
    changed = swap_outcomes.changes(outcomes).set_index(["measure", "condition"])["difference"]
    assert changed["right", "title_nearest"] == -1 and changed["names the other work", "title_nearest"] == 1
    assert changed["right", "abstract_nearest"] == 0 and changed["passes", "title_nearest"] == 0
    scores = swap_outcomes.table3(found).set_index("condition")
    assert scores.loc["none", "f1"] == 1 and scores.loc["none", "hr"] == 0 and scores.loc["title_nearest", "hr"] > 0.5


def test_a_model_that_ignores_the_record_always_keeps_its_answer():
    stubborn = {row.item_id: f"A Paper of the Year {i}" for i, row in enumerate(sample().itertuples())}
    _, _, outcomes = run(sample(), lambda row: stubborn[row.item_id])
    rest = outcomes[outcomes["condition"] != "none"]
    assert (rest["outcome"] == "keeps").all() and rest["kept"].all()
    changed = swap_outcomes.changes(outcomes)
    assert (changed["difference"] == 0).all() and (changed["p_holm"] == 1).all()


def test_shares_count_every_answer():
    replies = iter(["pass", "A Third Paper", "1. One\n2. Two", ""] * 1000)
    _, _, outcomes = run(sample(), lambda row: next(replies))
    table = swap_outcomes.shares(outcomes)
    assert (table["n"] + table["error"]).sum() == len(outcomes) and table["unreadable"].sum() > 0
    assert table[list(swap_outcomes.OUTCOMES)].sum(axis=1).tolist() == (table["n"] + table["error"]).tolist()
    assert table["condition"].tolist() == list(dict.fromkeys(outcomes["condition"]))


def test_the_share_that_follows_has_an_interval_over_source_papers():
    _, _, outcomes = run(sample(), lambda row: row.shown_title if int(row.item_id[-1]) % 2 else "pass")
    table = swap_outcomes.shares(outcomes).set_index("condition")
    row = table.loc["title_nearest"]
    assert (row["follows"], row["passes"], row["n"]) == (48, 48, 96)
    assert 0.3 < row["follows_low"] < 0.5 < row["follows_high"] < 0.7
    assert pd.isna(table.loc["none", "follows_low"])
    found = swap_outcomes.headline(outcomes)
    assert (found.value, found.n, found.clusters) == (0.5, 96, 36) and "swap:title_nearest" in found.signature
    assert swap_outcomes.headline(outcomes[outcomes["field"] != "title"]) is None


def test_one_answer_of_each_outcome_is_shown_to_be_read():
    replies = iter(["pass", "A Third Paper", "1. One\n2. Two"] * 1000)
    table, _, outcomes = run(sample(), lambda row: next(replies))
    shown = swap_outcomes.reading(outcomes, table, sample())
    assert shown["outcome"].tolist() == [
        o for o in swap_outcomes.OUTCOMES if o in set(outcomes[outcomes["kind"] != "none"]["outcome"])
    ]
    assert (shown["shown"] != "").all() and shown["sentence"].isin(sample()["sentence"]).all()


def test_replies_that_are_not_recorded_are_errors():
    given = records(*THREE)
    table = adversarial.conditions(given, kinds=["none", "title_nearest"])
    known = pd.DataFrame({"item_id": ["a/verify/none"], "reply": ["pass"]})
    found = adversarial.ask(models.load("recorded", table=known), given, table, progress=False)
    outcomes = swap_outcomes.outcome(found, found[found["condition"] == "none"], table)
    assert outcomes["outcome"].tolist() == ["passes", *["error"] * 5]
    counted = swap_outcomes.shares(outcomes)
    assert counted["n"].tolist() == [1, 0] and counted["error"].tolist() == [2, 3]
    figures.outcomes_by_swap(counted)


# ------------------------------------------------------------------------------------------------ scores


def test_table_3_leaves_passes_out_as_released_and_counts_them_as_the_text_does():
    given = answers(("none", "Right Paper"), ("none", "", "refused"), ("title", "Wrong Paper"))
    given = given.assign(item_id=["a", "b", "a"], reply=["Right Paper", "pass", "Wrong Paper"])
    released = swap_outcomes.table3(given).set_index("condition")
    assert released.index.tolist() == ["none", "title"]  # no means over conditions
    assert released.loc["none", ["pp", "f1", "hr", "n", "answered"]].tolist() == [0.5, 1.0, 0.0, 2, 1]
    assert released.loc["title", ["pp", "f1", "hr"]].tolist() == [0.0, 0.5, 0.5]
    paper = swap_outcomes.table3(given, "paper").set_index("condition")
    assert paper.loc["none", ["pp", "f1", "hr"]].tolist() == [0.5, 0.5, 0.25]
    # hr of the text: half of (all not exact + 2 of 3 words that do not match)
    assert paper.loc["title", "hr"] == pytest.approx((1 + 2 / 3) / 2)


def test_intervals_of_table_3_resample_source_papers():
    _, found, _ = run(sample(), lambda row: row.shown_title if int(row.item_id[-1]) % 2 else "pass")
    scores = swap_outcomes.table3(found, replicates=200)
    assert (scores["clusters"] == 36).all()
    assert (scores["pp_low"] <= scores["pp"]).all() and (scores["pp"] <= scores["pp_high"]).all()


def test_scores_are_split_by_what_the_prompt_holds():
    given = answers(("none", "Wrong"), ("title", "Wrong"), ("abstract", "Right Paper")).assign(
        holds_gold=[True, False, True]
    )
    table = swap_outcomes.by_gold(given).set_index("prompt")
    assert table["right"].to_dict() == {"holds the title": 1.0, "does not": 0.0} and table["n"].tolist() == [1, 1]
    assert len(swap_outcomes.by_gold(given[given["condition"] == "none"])) == 0


def test_changes_are_paired_with_the_same_sentence():
    half = {row.item_id: i % 2 == 0 for i, row in enumerate(sample().itertuples())}

    def reply(row):  # right without a swap; with one, every other sentence passes, and one is unreadable
        if row.condition == "none":
            return row.shown_title
        return "" if row.item_id == "reasons-02" else "pass" if half[row.item_id] else row.other_title

    _, _, outcomes = run(sample(), reply)
    table = swap_outcomes.changes(outcomes).set_index(["measure", "condition"])
    row = table.loc[("passes", "title_nearest")]
    assert (row["n"], row["left_out"], row["clusters"]) == (95, 1, 36)
    assert (row["with_swap"], row["without"]) == (pytest.approx(48 / 95), 0)
    assert table.loc[("names the other work", "title_nearest"), "difference"] == pytest.approx(47 / 95)
    for measure in swap_outcomes.MEASURES:
        np.testing.assert_allclose(table.loc[measure, "p_holm"].astype(float), stats.holm(table.loc[measure, "p"]))


def test_without_the_true_record_there_is_nothing_to_compare_with():
    given = records(*THREE)
    table = adversarial.conditions(given, kinds=["title_nearest"])
    found = asked(given, table, lambda row: row.shown_title)
    outcomes = swap_outcomes.outcome(found, found[found["condition"] == "none"], table)
    assert (outcomes["outcome"] == "follows").all()
    assert len(swap_outcomes.changes(outcomes)) == 0
    assert swap_outcomes.summary(outcomes) == "title nearest (n = 3): 3 followed"


def test_table_3_stands_beside_the_printed_one_in_its_units():
    _, found, _ = run(sample(), lambda row: row.shown_title)
    printed = pd.DataFrame(
        {"changed": ["title", "abstract"], "model": "G1", "pp": [96.23, 95.6], "bleu": 0.5, "f1": 0.5, "hr": 20.0}
    )
    table = swap_outcomes.beside(swap_outcomes.table3(found, replicates=20), printed, "copier")
    mine = table[table["model"] == "copier"].set_index("condition")
    assert mine.loc["abstract_nearest", "hr"] == 0 and mine.loc["title_nearest", "hr"] > 50
    assert table[table["condition"] == "as printed"]["n"].isna().all() and set(table["changed"]) == {
        "title",
        "abstract",
    }


def test_the_prompt_that_is_shown_is_the_nearest_swap():
    given = records(LONG, NEAR, FAR)
    text = adversarial.a_prompt(given, adversarial.conditions(given))
    assert f"Title: {NEAR}" in text and LONG not in text and "(a)" in text and "Author A" in text
    assert "nothing" in adversarial.a_prompt(given, adversarial.conditions(given).head(0))


def test_who_answered_is_told_for_recorded_replies_too():
    given = answers(("none", "x"), ("title", "", "error")).assign(model=["local/smollm2", "recorded"])
    assert swap_outcomes.answered_by(given, "recorded") == "recorded local/smollm2"
    assert swap_outcomes.answered_by(given.assign(model="recorded"), "recorded") == "recorded"
    assert swap_outcomes.answered_by(given, "openai/gpt-4o") == "openai/gpt-4o"
    assert any(
        "135 million" in note
        for note in swap_outcomes.warnings(
            adversarial.could_be_made(adversarial.conditions(records(*THREE))),
            swap_outcomes.outcome(given.head(1), given.head(1), swapped()),
            "recorded local/smollm2",
        )
    )


def test_warnings_come_from_the_numbers():
    given = sample()
    table, _, outcomes = run(given, lambda row: row.shown_title if row.field == "" else "pass")
    counts = adversarial.could_be_made(table)
    notes = " ".join(swap_outcomes.warnings(counts, outcomes))
    assert "Could not be made at all: title (96 no near enough text)" in notes
    assert "every prompt holds the cited title" in notes and "0.44 on average" in notes
    assert "is right in" not in notes and "could not be read" not in notes
    _, _, wrong = run(given, lambda row: "A Third Paper" if row.field == "" else "1. One\n2. Two")
    notes = " ".join(swap_outcomes.warnings(counts, wrong))
    assert "right in 0 of 96 cases" in notes and "could not be read" in notes
    assert "0 of 96 titles and 0 of 96 abstracts" in swap_outcomes.comparability(counts, "copier", 0.7)


def test_nothing_undefined_is_written_as_a_number():
    _, found, outcomes = run(records(*THREE), lambda row: "pass")
    for table in (
        outcomes,
        swap_outcomes.shares(outcomes),
        swap_outcomes.table3(found),
        swap_outcomes.changes(outcomes),
    ):
        assert "NaN" not in json.dumps(json.loads(table.to_json()))
        for column in [name for name in table if table[name].dtype == np.float64]:
            assert table[column].notna().all(), column
