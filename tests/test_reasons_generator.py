"""REASONS' trained generator: whole papers are held out, prompts are those that are asked, differences are paired by sentence."""

import numpy as np
import pandas as pd
import pytest

from factlab import attribution, sources, stats
from factlab.models import ModelError, finetune
from factlab.models.base import Reply
from factlab.studies.reasons import generator, query


@pytest.fixture(scope="module")
def records():
    return sources.read_citations()[0]


@pytest.fixture(scope="module")
def papers(records):
    return generator.held_out_papers(records)


def encode(texts):
    """Bags of letters as vectors of length 1."""
    counts = np.array([[text.lower().count(chr(97 + i)) for i in range(26)] for text in texts], dtype=float)
    return counts / np.linalg.norm(counts, axis=1, keepdims=True)


# -- the split --------------------------------------------------------------------------------------------------------


def test_whole_papers_are_held_out_the_same_each_time(records, papers):
    assert len(papers) == 11 and generator.held_out_papers(records) == papers
    assert generator.held_out_papers(records, seed=1) != papers
    table = generator.split_table(records, papers).set_index("side")
    assert table["source papers"].tolist() == [25, 11] and table["sentences"].sum() == len(records)


def test_an_identical_sentence_is_on_one_side(records):
    copied = records.copy()
    copied.loc[0, "sentence"] = copied.loc[95, "sentence"]
    for seed in range(5):
        papers = generator.held_out_papers(copied, seed=seed)
        assert (copied.loc[0, "source_id"] in papers) == (copied.loc[95, "source_id"] in papers)


@pytest.mark.parametrize("share", [0, 1, -0.1])
def test_a_share_that_leaves_one_side_empty_is_an_error(records, share):
    with pytest.raises(ValueError, match="share of source papers"):
        generator.held_out_papers(records, share)
    with pytest.raises(ValueError, match="1 source papers"):
        generator.held_out_papers(records[records["source_id"] == records["source_id"].iloc[0]])


def test_works_seen_in_training_are_marked(records, papers):
    test, none = generator.tested(records, papers)
    trained = set(records.loc[~records["source_id"].isin(papers), "cited_title"])
    assert none is None
    assert [t in trained for t in test["cited_title"]] == (test["work_seen"] == "yes").tolist()


# -- what is trained on -----------------------------------------------------------------------------------------------


def test_training_takes_the_prompts_that_are_asked_and_no_held_out_paper(records, papers, monkeypatch):
    seen = {}
    monkeypatch.setattr(
        finetune, "finetune", lambda name, prompts, targets, **more: seen.update(more, prompts=prompts, targets=targets)
    )
    passages, _ = generator.retrieve(records, encode, 2)
    generator.train("local/smollm2", records, papers, "indirect_retrieved", passages, epochs=2)
    rows = [i for i, source in enumerate(records["source_id"]) if source not in papers]
    asked, system = query.messages(records, "indirect_retrieved", passages=passages)
    assert seen["prompts"] == [asked[i] for i in rows] and seen["system"] == system and seen["epochs"] == 2
    assert seen["targets"] == [records["cited_title"].iloc[i] for i in rows]
    assert not set(seen["groups"]) & set(papers) and seen["held_out"] == set(papers)


def test_nothing_left_to_train_on_is_an_error(records):
    with pytest.raises(ModelError, match="nothing to train on"):
        generator.train("local/smollm2", records, set(records["source_id"]), "indirect")


def test_ranks_are_those_of_the_cited_work(records):
    passages, ranks = generator.retrieve(records, encode, 3)
    for i, (found, rank) in enumerate(zip(passages, ranks, strict=True)):
        titles = [text[: len(records["cited_title"].iloc[i])] for text in found]
        assert len(found) == 3 and (titles.index(records["cited_title"].iloc[i]) + 1 if rank else 0) == rank
        assert rank or records["cited_title"].iloc[i] not in titles
    assert 0 < sum(r > 0 for r in ranks) < len(ranks)


# -- before and after -------------------------------------------------------------------------------------------------


def answers(records, replies, mode="indirect"):
    class Said:
        def chat(self, prompts, about=None, **settings):
            return [Reply(text) for text in replies]

    return query.ask(Said(), records, mode)


@pytest.fixture(scope="module")
def arms(records):
    rng = np.random.default_rng(0)
    words = np.array(["graph", "neural", "search", "learning", "quantum", "cells", "light", "robots"])
    noise = [" ".join(rng.choice(words, 4)).title() for _ in records["cited_title"]]
    after = [t if rng.random() < 0.3 else n for t, n in zip(records["cited_title"], noise, strict=True)]
    before = ["pass" if rng.random() < 0.2 else n for n in noise]
    return answers(records, before), answers(records, after)


def test_values_are_those_of_the_scores(arms):
    table = generator.paired(*arms).set_index("measure")
    for arm, frame in zip(("before", "after"), arms, strict=True):
        scored = attribution.score(frame, (), clusters="source_id").iloc[0]
        for name in ("hr", "f1", "bleu", "pp"):
            assert table.loc[generator.METRICS[name], arm] == pytest.approx(scored[name])
    assert (table["n"] == 96).all() and (table["papers"] == 36).all() and (table["left_out"] == 0).all()


def test_the_interval_is_that_of_a_paired_comparison(arms):
    row = generator.paired(*arms).set_index("measure").loc["F1"]
    f1 = [attribution.score_items(frame)["f1"].fillna(0.0).to_numpy(float) for frame in arms]
    other = stats.compare(f1[1], f1[0], clusters=arms[0]["source_id"].tolist()).iloc[0]
    assert row["difference"] == pytest.approx(other["difference"])
    assert [row["low"], row["high"]] == pytest.approx([other["low"], other["high"]], abs=0.02)
    back = generator.paired(*arms[::-1]).set_index("measure").loc["F1"]
    assert [back["low"], back["high"]] == pytest.approx([-row["high"], -row["low"]], abs=0.02)


def test_no_difference_few_papers_and_only_passes_are_said(records, arms):
    same = generator.paired(arms[0], arms[0])
    assert (same["difference"] == 0).all() and same["low"].isna().all() and same["note"].str.contains("same").all()
    few = records["source_id"].isin(records["source_id"].unique()[:3]).to_numpy()
    assert generator.paired(*(arm[few] for arm in arms))["note"].str.contains("3 source papers").all()
    silent = generator.paired(answers(records, ["pass"] * 96), arms[1]).set_index("measure")
    assert (
        pd.isna(silent.loc["hallucination rate", "difference"])
        and "no answer" in silent.loc["hallucination rate", "note"]
    )
    assert silent.loc["F1", "before"] == 0 and silent.loc["pass percentage", "before"] == 1


def test_unreadable_answers_are_left_out_of_both_arms(records, arms):
    broken = answers(records, [""] * 10 + arms[0]["reply"].tolist()[10:])
    table = generator.paired(broken, arms[1])
    assert (table["left_out"] == 10).all() and (table["n"] == 86).all()
    with pytest.raises(ValueError, match="same records"):
        generator.paired(arms[0], arms[1].iloc[::-1])


def test_words_follow_from_the_interval(records, papers, arms):
    both = pd.concat([arms[0].assign(arm="before"), arms[1].assign(arm="after")], ignore_index=True)
    compared = generator.compare_arms(both)
    assert "indirect: " in generator.summary(compared) and "higher (difference +" in generator.summary(compared)
    turned = pd.concat([arms[1].assign(arm="before"), arms[0].assign(arm="after")], ignore_index=True)
    assert "lower (difference -" in generator.summary(generator.compare_arms(turned))
    flat = pd.concat([arms[0].assign(arm=arm) for arm in ("before", "after")], ignore_index=True)
    assert "no interval" in generator.summary(generator.compare_arms(flat))
    assert generator.score_arms(both)["arm"].tolist() == ["indirect, before", "indirect, after"]
    test, _ = generator.tested(records, papers)
    trained = {"indirect": finetune.Finetuned("hf/x", None, pd.DataFrame(), 63, 800, 2, 60.0, True)}
    notes = generator.generator_warnings(test, compared, trained, records, [1] * 96, "local/smollm2")
    said = " ".join(notes)
    assert "63 pairs" in said and "2 pairs do not fit" in said and "passes less than before" in said
    assert "135 million" in said and "among what was found" not in said
    trained = {"indirect_retrieved": trained["indirect"]}
    said = " ".join(generator.generator_warnings(test, compared, trained, records, [1] * 96, "local/smollm2"))
    assert f"right for {len(test)} of {len(test)}" in said and f"found for 0 of {len(test)}" in said


def test_examples_show_what_changed_most(records, arms):
    both = pd.concat([arms[0].assign(arm="before"), arms[1].assign(arm="after")], ignore_index=True)
    shown = generator.examples(records, both, "indirect", 4)
    assert (
        len(shown) == 4 and (shown["after"] == shown["cited title"]).all() and (shown["before"] != shown["after"]).all()
    )
