"""REASONS' queries: what the prompts show, what leaks, SID's two phases, scores by mode."""

import pandas as pd
import pytest

from factlab import models, places, sources
from factlab.models.base import ModelError
from factlab.studies.reasons import domains, query

TITLES = ["On the Colour of Deep Lakes", "A Slow Route to Fast Trains", "Why Bees Count"]


@pytest.fixture
def records():
    return pd.DataFrame(
        {
            "item_id": ["a", "b", "c"],
            "domain": ["Optics", "Rail", "Rail"],
            "source_id": ["s1", "s2", "s2"],
            "source_title": ["Mirrors", "Timetables", "Timetables"],
            "sentence": ["Water absorbs red first.", "Speed was gained\nby waiting.", "Insects know numbers."],
            "cited_title": TITLES,
            "cited_abstract": ["Lakes are blue.", "Trains wait.", ""],
            "cited_authors": ["Ada Lund; Bo Ek", "Cy Dahl", "Di Moe; Ed Fox"],
        }
    )


def table(**replies):
    """A recorded model: {"a/indirect": "reply"} given as a__indirect."""
    rows = [(name.replace("__", "/"), text) for name, text in replies.items()]
    return models.load("recorded", table=pd.DataFrame(rows, columns=["item_id", "reply"]))


def everything(records, mode, reply):
    return table(**{f"{item}__{mode}": reply for item in records["item_id"]})


# -- what a prompt shows ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [m for m in query.MODES if m != "sid"])
def test_each_mode_shows_what_it_says_and_nothing_of_the_answer_beside(records, mode):
    passages = [["First found.", "Second found."]] * 3
    asked, system = query.messages(records, mode, passages=passages)
    text = asked[0] + (system or "")
    assert ("Lakes are blue." in text) == (query.MODES[mode].published not in ("", "retrieved documents"))
    assert ("Water absorbs red first." in text) == (query.MODES[mode].asks == "title")
    assert ("Second found." in text) == mode.endswith("retrieved")
    gold = TITLES[0] if query.MODES[mode].asks == "title" else ["Ada Lund", "Bo Ek"]
    assert query.holds(text, gold) == (mode in ("direct_metadata", "verify"))


def test_the_printed_prompt_gives_no_authors(records):
    asked, _ = query.messages(records, "direct_metadata", metadata="abstract")
    assert "Ada Lund" not in asked[0] and "Lakes are blue." in asked[0]


def test_a_text_cannot_begin_a_line_of_the_prompt(records):
    asked, _ = query.messages(records, "indirect")
    assert 'Sentence: "Speed was gained by waiting."' in asked[1].split("\n")


def test_an_unknown_abstract_is_said(records):
    assert "Abstract: (not known)" in query.messages(records, "indirect_metadata")[0][2]


def test_shown_replaces_the_record_and_not_the_gold(records):
    shown = records.iloc[[1, 0, 0]].reset_index(drop=True)
    asked, _ = query.messages(records, "verify", shown=shown)
    assert TITLES[1] in asked[0] and TITLES[0] not in asked[0]
    answers = query.ask(everything(records, "verify", TITLES[1]), records, "verify", shown=shown)
    assert answers["gold"].tolist() == TITLES and answers["holds_gold"].tolist() == [False, False, False]


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"mode": "sid"}, "no single prompt"),
        ({"mode": "direct_metadata", "metadata": "authors"}, "metadata is 'authors'"),
        ({"mode": "indirect_retrieved"}, "needs the passages"),
        ({"mode": "indirect_retrieved", "passages": [["x"]]}, "3 records, but {'passages': 1}"),
    ],
)
def test_bad_settings_are_told(records, kwargs, message):
    with pytest.raises(ModelError, match=message):
        query.messages(records, kwargs.pop("mode"), **kwargs)


# -- leaks ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prompt", "gold", "held"),
    [
        ("as in {ON} the COLOUR of deep-lakes, we", TITLES[0], True),
        ("as in on the colour of lakes", TITLES[0], False),
        ("the robert model", "BERT", False),
        ("Lund, Ada and Ek, Bo", ["Ada Lund", "Bo Ek"], False),
        ("Ada Lund met Bo Ek", ["Bo Ek", "Ada Lund"], True),
        ("Ada Lund", ["Ada Lund", "Bo Ek"], False),
        ("anything", "", False),
        ("anything", [], False),
    ],
)
def test_holds(prompt, gold, held):
    assert query.holds(prompt, gold) is held


def test_a_closed_book_that_holds_the_answer_stops_before_anything_is_sent(records):
    class Silent:
        def chat(self, *_, **__):
            raise AssertionError("something was sent")

    records.loc[1, "sentence"] = "As A slow route to fast trains has shown, waiting helps."
    with pytest.raises(query.LeakError, match=r"1 closed-book prompts hold their own answer \(indirect: b\)"):
        query.ask(Silent(), records, "indirect")
    with pytest.raises(query.LeakError):
        query.ask(Silent(), records, "sid")
    query.check_closed_book(records, ["direct", "direct_metadata", "verify"])
    records.loc[2, "cited_title"] = "Why Di Moe and Ed Fox Count"
    with pytest.raises(query.LeakError, match=r"2 closed-book prompts .*\(direct: c; indirect: b\)"):
        query.check_closed_book(records, ["direct", "sid", "verify"])


def test_a_leaking_prompt_can_be_left_out_and_is_counted(records):
    records.loc[1, "sentence"] = "As A slow route to fast trains has shown, waiting helps."
    answers = query.ask(everything(records, "indirect", "pass"), records, "indirect", leaks="leave out")
    assert answers["status"].tolist() == ["refused", "undefined", "refused"]
    assert "not sent" in answers["error"][1]
    assert query.score(answers)[["n", "left_out"]].iloc[0].tolist() == [2, 1]


def test_no_sample_sentence_gives_its_work_away():
    records, _ = sources.read_citations(places.samples("reasons", "citations.csv"))
    for mode in ("direct", "indirect"):
        answers = query.ask(everything(records, mode, "pass"), records, mode)
        assert len(answers) == 96 and not answers["holds_gold"].any()


# -- replies ----------------------------------------------------------------------------------------------------------


def test_every_record_keeps_a_row_whatever_came_back(records):
    model = table(a__direct='["Ada Lund", "Bo Ek"]', b__direct='["pass"]')
    answers = query.ask(model, records, "direct")
    assert answers["status"].tolist() == ["scored", "refused", "error"]
    assert answers["predicted"].tolist() == ["Ada Lund; Bo Ek", "", ""]
    assert "no row" in answers["error"][2]
    scored = query.score(answers).iloc[0]
    assert (scored["pp"], scored["n"], scored["left_out"]) == (0.5, 2, 1)


def test_a_record_without_a_gold_answer_is_undefined(records):
    records.loc[0, "cited_authors"] = ""
    answers = query.ask(everything(records, "direct", '["Ada Lund"]'), records, "direct")
    assert answers["status"].tolist() == ["undefined", "scored", "scored"]


def test_recorded_replies_are_found_by_item_mode_and_condition(tmp_path):
    path = tmp_path / "replies.csv"
    path.write_text("item_id,mode,condition,reply\na,verify,title,one\na,indirect,,two\n", encoding="utf-8")
    assert query.recorded(path)["item_id"].tolist() == ["a/verify/title", "a/indirect"]


def test_a_recorded_sid_reply_stands_for_both_queries(tmp_path, records):
    path = tmp_path / "replies.csv"
    path.write_text(
        f"item_id,mode,reply\na,sid,pass\nb,sid,{TITLES[1]}\nc,sid,{TITLES[2]}\nc,indirect,pass\n", encoding="utf-8"
    )
    answers = query.ask(models.load("recorded", table=query.recorded(path)), records, "sid")
    assert answers["status"].tolist() == ["refused", "scored", "scored"]
    assert answers["phase"].tolist() == [2, 1, 2]


def test_an_unknown_mode_is_told_with_those_there_are(tmp_path):
    path = tmp_path / "replies.csv"
    path.write_text("item_id,mode,reply\na,indirekt,one\n", encoding="utf-8")
    with pytest.raises(sources.SourceError, match="no mode called 'indirekt'; there are direct, "):
        query.recorded(path, check=True)


# -- SID --------------------------------------------------------------------------------------------------------------

PASSES = {"a__indirect": "pass", "b__indirect": TITLES[1], "c__indirect": "Why Wasps Sing"}
SECOND = {f"{i}__indirect_metadata": t for i, t in zip("abc", TITLES, strict=True)}


def test_sid_asks_again_after_a_pass(records):
    answers = query.ask(table(**PASSES, **SECOND), records, "sid")
    assert answers["phase"].tolist() == [2, 1, 1]
    assert answers["predicted"].tolist() == [TITLES[0], TITLES[1], "Why Wasps Sing"]
    assert set(answers["mode"]) == {"sid"}


def test_sid_with_an_oracle_asks_again_after_a_wrong_answer_too(records):
    answers = query.ask(table(**PASSES, **SECOND), records, "sid", escalate="oracle")
    assert answers["phase"].tolist() == [2, 1, 2]
    assert answers["predicted"].tolist() == TITLES
    steps = domains.escalation(answers).set_index("step")["queries"].tolist()
    assert steps == [3, 1, 2, 2, 0]


def test_sid_does_not_ask_again_after_a_failed_call(records):
    answers = query.ask(table(a__indirect="pass"), records, "sid", escalate="oracle")
    assert answers["status"].tolist() == ["error", "error", "error"]
    assert answers["phase"].tolist() == [2, 1, 1]


def test_sid_counts_the_tokens_of_both_phases(records):
    class Counting:
        def chat(self, prompts, **_):
            return [models.Reply("pass", prompt_tokens=10, completion_tokens=2, seconds=0.5) for _ in prompts]

    answers = query.ask(Counting(), records, "sid")
    assert answers["prompt_tokens"].tolist() == [20] * 3 and answers["seconds"].tolist() == [1.0] * 3
    whole = query.ask(Counting(), records, "indirect_metadata")
    both = pd.concat([answers, whole])
    assert domains.saved(domains.tokens(both)).startswith("SID costs 100% more tokens (72 against 36")
    times = domains.seconds_by_domain(both).set_index(["mode", "domain"])
    assert times.loc[("sid", "Rail"), ["seconds", "n", "untimed"]].tolist() == [2.0, 2, 0]


# -- scores -----------------------------------------------------------------------------------------------------------


def test_scores_by_mode_and_domain_with_mean_and_sd(records):
    right = query.ask(everything(records, "indirect", TITLES[1]), records, "indirect")
    names = query.ask(everything(records, "direct", '["Cy Dahl"]'), records, "direct")
    scores = query.score(pd.concat([right, names]), ("mode", "domain"))
    assert scores["mode"].tolist() == ["indirect"] * 4 + ["direct"] * 4
    assert scores["domain"].tolist() == ["Optics", "Rail", "Mean", "SD"] * 2
    by_mode = query.score(pd.concat([right, names])).set_index("mode")
    assert by_mode.loc["indirect", "not_exact"] == pytest.approx(2 / 3)
    assert by_mode.loc["direct", "not_exact"] == pytest.approx(2 / 3)
    assert by_mode.loc["indirect", "clusters"] == 2


def test_what_is_made_up_is_neither_right_nor_a_pass(records):
    model = table(a__indirect=TITLES[0].upper(), b__indirect="pass", c__indirect="Why Wasps Sing")
    found = query.measured(query.ask(model, records, "indirect"))
    assert found[["right", "made_up", "passed"]].astype(float).to_numpy().tolist() == [[1, 0, 0], [0, 0, 1], [0, 1, 0]]
    assert found["f1"][1] == 0
    counted = domains.outcomes(query.ask(model, records, "indirect")).iloc[0]
    assert counted[["right", "other", "passes", "unreadable"]].tolist() == [1, 1, 1, 0]


def test_between_modes_pairs_the_same_sentences():
    n = 24
    records = pd.DataFrame(
        {
            "item_id": [str(i) for i in range(n)], "domain": "d", "source_id": [f"s{i // 2}" for i in range(n)],
            "source_title": "t", "sentence": "s", "cited_title": [f"Work number {i}" for i in range(n)],
            "cited_abstract": "", "cited_authors": "Ada Lund",
        }
    )  # fmt: skip
    closed = query.ask(everything(records, "indirect", "Something else"), records, "indirect")
    opened = closed.assign(mode="indirect_metadata", predicted=closed["gold"])
    found = domains.between_modes(pd.concat([closed, opened.sample(frac=1, random_state=0)])).set_index("measure")
    assert found["difference"].astype(float).to_dict() == {
        "right": 1,
        "made up": -1,
        "passed": 0,
        "f1": pytest.approx(0.9, abs=0.3),
    }
    assert found.loc["right", "p_holm"] < 0.01 and found.loc["right", "n"] == n


def test_domain_sizes_and_extremes():
    scores = pd.DataFrame(
        {
            "mode": ["m"] * 5, "domain": ["a", "b", "c", "Mean", "SD"], "hr": [0.1, 0.5, 0.9, 0.5, 0.4], "f1": [0.9, 0.5, 0.1, 0.5, 0.4],
            "pp": [0.0] * 5, "hr_low": [0.0, 0.4, 0.8, None, None], "hr_high": [0.2, 0.6, 1.0, None, None], "n": [20, 20, 5, 45, 45],
        }
    )  # fmt: skip
    answers = pd.DataFrame({"domain": list("aabbbcccc"), "item_id": [str(i) for i in range(9)]})
    sized = domains.with_sizes(scores, answers)
    assert sized["sentences"].tolist() == [2, 3, 4]
    given = domains.with_sizes(scores, answers, pd.DataFrame({"domain": list("abc"), "sentences": [9, 8, 7]}))
    assert given["sentences"].tolist() == [9, 8, 7]
    ends = domains.extremes(scores)
    assert ends.iloc[0].tolist() == ["m", "c 0.90 [0.80, 1.00]", "a 0.10 [0.00, 0.20]", True]
    effect = domains.size_effect(sized)
    assert effect["rho"].isna().sum() >= 1  # the passes do not vary
    assert any("fewer than ten queries" in note for note in domains.domain_warnings(scores, effect))


def test_answers_read_from_a_file_have_their_types_again(records, tmp_path):
    answers = query.ask(everything(records, "indirect", TITLES[0]), records, "indirect")
    answers.to_csv(tmp_path / "a.csv", index=False)
    back = query.typed(sources.read_table(tmp_path / "a.csv")[0].drop(columns="problem"))
    assert back["holds_gold"].dtype == bool and back["phase"].dtype == "int64"
    assert query.score(back).equals(query.score(answers))
