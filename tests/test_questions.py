"""Building a benchmark: what the rules catch, what a person decides, and what is read from a model's replies.

The seven examples of DAHL's appendices A and B are given in our own paraphrase.
"""

import pandas as pd
import pytest

from factlab import places, questions, sources
from factlab.sources import CATEGORIES, SourceError

APPENDIX = [
    # A.1, the/this/that + study/analysis/paper
    ("Which ethical points do the authors address with regard to their findings?", "the study", "drop"),
    ("What does the study suggest for practice?", "the study", "drop"),
    # A.2, mentioned/inferred/addressed
    (
        "Which patterns by tissue were observed when intronic sites were compared with those in exons?",
        "mentioned",
        "drop",
    ),
    (
        "What is difficult about the protocol described in the study, and which remedies are suggested?",
        "mentioned",
        "drop",
    ),
    # A.3, was/were + used
    ("Which method was used to assess how accurate the models for one context are?", "was used", "drop"),
    # B.1 and B.2, found by hand
    ("Explain why functional validation matters in the context of this research.", "based on", None),
    ("Which of the methods was found to need the least computation?", "was", "keep"),
]


@pytest.mark.parametrize(("question", "rule", "decision"), APPENDIX)
def test_the_examples_of_the_appendices_are_caught_by_their_rule(question, rule, decision):
    found = questions.flag([question])
    assert rule in found["rule"][0].split("; ")
    assert decision is None or found["decision"][0] == decision


@pytest.mark.parametrize(
    ("question", "rules", "found"),
    [
        # "this + analysis" is the paper's own family, whatever kind of analysis it is.
        ("What are the limits of this meta-analysis?", "the study", "this meta-analysis"),
        (
            "Who was left out of this retrospective cohort study?",
            "the study; was",
            "this retrospective cohort study; was",
        ),
        ("How old is the child in the case report?", "the study", "the case report"),
        ("Which drug helps in this case?", "the study", "this case"),
        ("Which topics does the Special Issue cover?", "the study", "the Special Issue"),
        ("Which cells does the aforementioned virus use?", "mentioned", "aforementioned"),
        ("What do these trials show about aspirin?", "the study", "these trials"),
        ("What did the present study measure?", "the study; was", "the present study; did"),
        ("Which genes were subsequently identified?", "was used", "were subsequently identified"),
        ("Which genes were\n  not   identified?", "was used", "were not identified"),
        ("Who WAS USED as a control?", "was used", "WAS USED"),
        ("What is the role of research in dentistry?", "", ""),
        ("Which cells does the virus use?", "", ""),
        ("How is the dose chosen according to kidney function?", "based on", "according to"),
        ("How are wasting and wereguilds related?", "", ""),
        ("Why do we speak of an unmentioned or restudied drug?", "", ""),
        # What names a field, an act, a literature or a source stands alone.
        ("Why are twins helpful in the study of genes?", "", ""),
        ("Which consent does the publication of case reports need?", "", ""),
        ("How do two tests differ in their results?", "", ""),
        ("Iron is lost. This results in anaemia. Why?", "", ""),
        ("How would you explain this result?", "the study", "this result"),
        ("How does this drug alter results in trials?", "", ""),
        ("What is the proposed mechanism of action of lithium?", "", ""),
        ("What is the proposed method good for?", "mentioned", "proposed"),
        ("What is the reported incidence of gout?", "", ""),
        ("What was reported about mortality?", "was used", "was reported"),
        ("Which reactions have been observed after vaccination?", "", ""),
        ("Which reactions were observed after vaccination?", "mentioned; was", "observed; were"),
        ("Which are the hallmarks of cancer described by Hanahan and Weinberg?", "", ""),
        (
            "Which are the hallmarks of cancer described by the authors?",
            "the study; mentioned",
            "the authors; described",
        ),
        ("Which illnesses are presented with fever?", "", ""),
        ("How reliable are self-reported weights?", "", ""),
        ("", "", ""),
    ],
)
def test_rules_catch_whole_expressions_only(question, rules, found):
    row = questions.flag([question]).iloc[0]
    assert (row["rule"], row["found"]) == (rules, found)


def test_shares_count_each_rule_and_what_no_other_catches():
    asked = ["What does the study show?", "What is mentioned in the study?", "Why is blood red?", "Who was it?"]
    table = questions.rule_shares(asked).set_index("rule")
    assert table["questions"].to_dict() == {
        "the study": 2, "mentioned": 1, "was used": 0, "based on": 0, "was": 1, "any automatic rule": 2
    }  # fmt: skip
    assert table.loc["the study", ["share", "only"]].tolist() == [0.5, 1]
    assert table.loc["mentioned", "only"] == 0
    assert questions.rule_shares([])["share"].isna().all()


def test_was_used_is_not_counted_as_was_too():
    """Flags and shares are the same rules: else nothing that "was used" catches would be caught by it alone."""
    asked = ["Which method was used?", "Who was it?"]
    table = questions.rule_shares(asked).set_index("rule")
    assert table.loc[["was used", "was"], ["questions", "only"]].values.tolist() == [[1, 1], [1, 1]]
    assert questions.flag(asked)["rule"].tolist() == ["was used", "was"]


def test_no_sample_question_is_dropped():
    asked = sources.read_questions(places.samples("dahl", "questions.csv"))["question"]
    assert questions.flag(asked)["rule"].tolist() == [""] * 58


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("1. What is anaemia?\n2. Why is blood red?", ["What is anaemia?", "Why is blood red?"]),
        ("Here are the questions:\n- What is anaemia?\n- Explain how iron is absorbed.", ["What is anaemia?", "Explain how iron is absorbed."]),
        ('["What is anaemia?", "Why is blood red?"]', ["What is anaemia?", "Why is blood red?"]),
        ("**Question 1:** What is anaemia?\nAnswer: A lack of haemoglobin.", ["What is anaemia?"]),
        ("Q1. What is anaemia? (5 marks)", ["What is anaemia?"]),
        ("In adults, how is anaemia graded?", ["In adults, how is anaemia graded?"]),
        ("In adults, explain how anaemia is graded.", ["In adults, explain how anaemia is graded."]),
        ("In adults, anaemia is common.", []),
        ("Iron, which is absorbed in the gut, helps.", []),
        ("The article is a good example of an article.", []),
        ("Anaemia is common.\nIron helps.", []),
        ("", []),
    ],
)  # fmt: skip
def test_questions_are_read_from_a_reply_and_remarks_are_not(reply, expected):
    parsed = questions.parse_questions(reply)
    assert parsed.value == expected
    assert parsed.status == ("scored" if expected else "unparsable")


def test_a_refusal_to_write_is_told_from_a_bad_list():
    assert questions.parse_questions("I'm sorry, but I can't help with that.").status == "refused"


@pytest.mark.parametrize(
    ("reply", "category", "status"),
    [
        ("Cardiology", "Cardiology", "scored"),
        ("cardiology.", "Cardiology", "scored"),
        ("**Category:** Obstetrics and Gynaecology", "O&G", "scored"),
        ("Field: O&G", "O&G", "scored"),
        ("The question belongs to Forensic Medicine.", "Forensic Medicine", "scored"),
        ("Pediatrics or Cardiology", None, "unknown"),
        ("Ambiguous", None, "unknown"),
        ("It is an internal medicine topic.", None, "unparsable"),
        ("Some other field", None, "unparsable"),
        ("I cannot help with that.", None, "refused"),
        ("<think>Cardiology or", None, "truncated"),
        ("<think>Cardiology?</think>Neurology", "Neurology", "scored"),
    ],
)
def test_a_category_is_one_whole_name_or_none(reply, category, status):
    parsed = questions.parse_category(reply, CATEGORIES)
    assert (parsed.value, parsed.status) == (category, status)


# -- review ------------------------------------------------------------------------------------------------------------

WRITTEN = pd.DataFrame(
    {
        "question": ["Why is blood red?", "why is blood  red", "What does the study show?", "Who was Wernicke?", "What is iron?"],
        "source": ["a", "b", "a", "b", "b"],
    }
)  # fmt: skip


def flagged() -> pd.DataFrame:
    once = questions.distinct(WRITTEN)
    return once.join(questions.flag(once["question"]))


def decided(review=None, categories=("Physiology", "", "Neurology", "Medicine")) -> pd.DataFrame:
    table = questions.decide(flagged(), review)
    table["category"] = list(categories)
    table["category_status"] = ["scored" if c else "unknown" for c in categories]
    return table


def test_copies_are_left_in_once_with_the_first_source():
    once = questions.distinct(WRITTEN)
    assert once["question"].tolist() == [WRITTEN["question"][i] for i in (0, 2, 3, 4)]
    assert once["copies"].tolist() == [2, 1, 1, 1] and once["source"][0] == "a"


def test_a_sign_of_quantity_makes_another_question():
    asked = ["What do CD4+ cells do?", "What do CD4- cells do?", "Is a rate > 60 normal?", "Is a rate < 60 normal?"]
    written = pd.DataFrame({"question": asked, "source": "a"})
    assert questions.distinct(written)["question"].tolist() == asked


def test_without_a_review_the_rules_decide():
    made = questions.benchmark(decided())
    assert made["question"].tolist() == ["Why is blood red?", "Who was Wernicke?", "What is iron?"]
    assert list(made.columns) == ["question_id", "question", "category", "source"]
    assert made["question_id"].is_unique and made["source"].tolist() == ["a", "b", "b"]


def test_the_review_table_is_edited_by_a_person_and_read_back(tmp_path):
    path = tmp_path / "review.csv"
    shown = questions.review_table(decided(categories=["Physiology", "", "Neurology", ""]))
    assert list(shown.columns) == list(questions.REVIEW)
    assert shown[["question", "decision"]].values.tolist() == [
        ["What does the study show?", "drop"],
        ["Who was Wernicke?", "keep"],
        ["What is iron?", "keep"],
    ]
    assert "dropped by rule" in shown["note"][0] and "no clear category" in shown["note"][2]
    # The person keeps the first, drops the second, gives the third a category, and drops one that no rule caught.
    shown["decision"] = ["KEEP ", "drop", ""]
    shown["category"] = ["Bio-Statistics", "", "biochemistry"]
    shown.loc[3] = ["Why is blood red?", "", "", "", "drop", "", "too easy"]
    sources.write_table(shown, path)
    review = questions.read_review(path)
    table = decided(review, categories=["Physiology", "Cardiology", "Neurology", ""])
    assert table["decision"].tolist() == ["drop", "keep", "drop", "keep"]
    assert table["decided_by"].tolist() == ["person", "person", "person", "rules"]
    assert table["own_category"].tolist() == ["", "Bio-Statistics", "", "Biochemistry"]


def test_what_a_person_decided_stays_in_the_next_review_table():
    """Also where only a category was given, which no rule asks for; and what is still to be done is said first."""
    review = pd.DataFrame(
        {"question": ["Why is blood red?", "What is iron?"], "decision": ["", "keep"], "category": ["Biochemistry", ""]}
    )
    placed = questions.with_categories(
        questions.decide(flagged(), review),
        pd.DataFrame({"category": ["Medicine", "", ""], "status": ["scored", "scored", "unknown"]}, index=[0, 2, 3]),
    )
    assert placed["category"].tolist() == ["Biochemistry", "", "", ""]
    notes = questions.review_table(placed).set_index("question")["note"]
    assert notes["Why is blood red?"] == "decided by a person"
    assert notes["What is iron?"].startswith("no clear category")
    assert notes["What does the study show?"] == "dropped by rule"


def test_decisions_about_questions_that_nobody_wrote_are_told():
    review = pd.DataFrame({"question": ["What is iron", "Gone?"], "decision": ["drop", "drop"], "category": ["", ""]})
    assert questions.unused(review, WRITTEN["question"]) == ["Gone?"]
    assert questions.unused(None, WRITTEN["question"]) == []


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("A?,yes,\n", "row 2: decision 'yes'"),
        ("A?,keep,Heart\n", "row 2: category 'Heart'"),
        ("A?,keep,\na ?,drop,\n", "rows 2 and 3: the same question with different decisions"),
        ("A?,,Anatomy\na ?,,Surgery\n", "rows 2 and 3: the same question with different categories"),
    ],
)
def test_a_fault_in_an_edited_review_is_told_with_its_row(tmp_path, rows, words):
    path = tmp_path / "review.csv"
    path.write_text("question,decision,category\n" + rows)
    with pytest.raises(SourceError, match=words):
        questions.read_review(path)


def test_the_funnel_adds_up():
    review = pd.DataFrame({"question": ["Who was Wernicke?"], "decision": ["drop"], "category": [""]})
    funnel = questions.build_funnel(len(WRITTEN), decided(review, categories=["Physiology", "", "", ""]))
    assert funnel["n"].tolist() == [5, 4, 3, 2, 1]
    assert funnel["left_out"].tolist() == [0, 1, 1, 1, 1]


# -- the released benchmark ---------------------------------------------------------------------------------------------


@pytest.mark.released
def test_the_released_benchmark_has_been_filtered_by_such_rules(released):
    """A finished benchmark should hold few questions that the automatic rules would have caught."""
    asked = sources.read_questions(released / "dahl" / "questions.csv")
    assert len(asked) == 8573 and asked["category"].nunique() == 29
    counts = asked["category"].value_counts()
    assert (counts.max(), counts.idxmax(), counts.min(), counts.idxmin()) == (969, "Public Health", 7, "PSM")
    assert asked["question"].nunique() == 8505
    shares = questions.rule_shares(asked["question"]).set_index("rule")["share"]
    # Most of what the first family still finds is "the case report" and "this case", which that filter passed over.
    assert shares["the study"] < 0.015 and shares["was used"] < 0.01
    assert 0.015 < shares["mentioned"] < 0.03
    assert shares["any automatic rule"] < 0.05
