"""Items and banks: ids, shuffles, files, locks."""

from collections import Counter
from dataclasses import replace

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.exam_items import bank, item

from factlab import exam
from factlab.exam import Evidence, Item


def test_id_comes_from_what_is_asked_and_offered():
    one = item()
    assert one.id == item().id and one.id.startswith("q") and len(one.id) == 13
    assert one.id == item(label="easy", topic="x", explanation="other", evidence=()).id
    assert one.id == one.reordered([3, 1, 0, 2]).id
    assert one.id == item(question=one.question.replace(" ", "\n  ")).id
    assert item(question="Was it caf\u00e9?").id == item(question="Was it cafe\u0301?").id
    others = [
        item(question=one.question.upper()),
        item(key="A"),
        item(options=(*one.options[:3], "other")),
        item(question="10\u00b2 or more?"),
        item(question="102 or more?"),
    ]
    assert len({one.id, *(other.id for other in others)}) == 6


def test_a_key_that_is_no_letter_stays_as_written():
    assert (
        item(key=" b ").key == "B"
        and item(key=" The cord ").key == "The cord"
        and item(key="the cord").key_number == -1
    )


def test_key_and_distractors():
    one = item(key=" b ")
    assert (one.key, one.key_number) == ("B", 1)
    assert one.distractors == (one.options[0], *one.options[2:])
    for key in ("", "E", "AB", "?"):
        assert item(key=key).key_number == -1
    assert item(label="Very  Hard").label == "synthesis"


@pytest.mark.parametrize("changes", [{"options": "abcd"}, {"options": ["a", 1]}, {"topic": None}, {"evidence": ["x"]}])
def test_fields_of_the_wrong_kind_are_refused(changes):
    with pytest.raises(TypeError):
        item(**changes)


@settings(deadline=None)
@given(st.permutations(range(4)), st.sampled_from("ABCD"))
def test_reordering_keeps_the_right_answer(order, key):
    one = item(key=key)
    other = one.reordered(order)
    assert other.options[other.key_number] == one.options[one.key_number]
    assert sorted(other.options) == sorted(one.options)


def test_reordering_needs_each_option_once():
    with pytest.raises(ValueError, match="each of 0 to 3 once"):
        item().reordered([0, 1, 2, 2])


def test_shuffle_depends_on_seed_and_item_alone():
    items = bank(40)
    first = exam.shuffled(items, 7)
    assert first == exam.shuffled(items, 7)
    assert exam.shuffled(items[5:6], 7) == first[5:6]
    turned = [i.reordered([2, 3, 0, 1]) for i in items]
    assert [i.options for i in exam.shuffled(turned, 7)] == [i.options for i in first]
    assert all(i.order_seed == 7 for i in first)
    assert [i.options for i in exam.shuffled(items, 8)] != [i.options for i in first]
    assert [i.id for i in first] == [i.id for i in items]


def test_shuffle_favours_no_place():
    places = Counter(i.key for i in exam.shuffled([replace(i, key="A") for i in bank(800)], 1))
    assert all(160 < places[letter] < 240 for letter in "ABCD")


def test_cyclic_orders_put_every_option_in_every_place():
    one = item()
    turned = exam.cyclic_orders(one)
    assert turned[0].options == one.options and [t.key for t in turned] == ["B", "A", "D", "C"]
    for place in range(4):
        assert {t.options[place] for t in turned} == set(one.options)
    assert {t.id for t in turned} == {one.id}


# --- files -------------------------------------------------------------------------------------------------------

RICH = item(
    question='Which "sign", so called,\nis it?',
    explanation="é, ; and\ttab",
    evidence=(Evidence("c1", "a, b", 0, 4, "s1"), Evidence("c2", "…", None, None, "s2")),
    mark="planted: longest key",
    order_seed=3,
)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".jsonl", ".json"])
def test_a_bank_survives_its_file(tmp_path, suffix):
    items = [RICH, *bank(3), item(question="", options=("a", "", "", ""), key="", label="")]
    path = tmp_path / f"bank{suffix}"
    exam.write_bank(items, path)
    assert exam.read_bank(path) == items


def test_other_column_names_are_understood():
    table = pd.DataFrame(
        {"Stem": ["Which?"], "A": ["x"], "B": ["y"], "C": ["z"], "D": ["w"], "Answer": ["(C)"], "difficulty": ["Hard"]}
    )
    (one,) = exam.from_table(table)
    assert (one.question, one.options, one.key, one.label) == ("Which?", ("x", "y", "z", "w"), "C", "hard")
    listed = pd.DataFrame({"question": ["Which?"], "options": ['["x", "y", "z", "w"]'], "answer": ["w"]})
    assert exam.from_table(listed)[0].key == "D"


def test_evidence_as_plain_text():
    table = pd.DataFrame({"question": ["q?"] * 3, "options": [list("wxyz")] * 3, "key": ["A"] * 3})
    table = table.assign(
        evidence=["one", "one || two", "a || b || c"], source=["s1", "s1; s2", "s1; s2"], start=["7", "", "3"]
    )
    one, two, three = exam.from_table(table)
    assert one.evidence == (Evidence("s1", "one", 7, 10, "s1"),)
    assert two.evidence == (Evidence("s1", "one", source="s1"), Evidence("s2", "two", source="s2"))
    assert three.evidence[1] == Evidence("s1; s2", "b", source="s1; s2") and three.sources == ("s1", "s2")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"question": ["a"]}, "no column key, option_a"),
        ({"question": ["a"], "options": ["[1"], "key": ["A"]}, "row 1: options: not a JSON list"),
        ({"question": ["a"], "options": ['{"a": 1}'], "key": ["A"]}, "row 1: options: expected a JSON list"),
        (
            {
                "question": ["a", "b"],
                "options": [list("wxyz")] * 2,
                "key": ["A"] * 2,
                "evidence": [None, '[{"text": "x"}]'],
            },
            "row 2: evidence",
        ),
        (
            {"item_id": ["q000000000000"], "question": ["a"], "options": [list("wxyz")], "key": ["A"]},
            "the row was edited",
        ),
    ],
)
def test_what_cannot_be_read_is_named(table, message):
    with pytest.raises(ValueError, match=message):
        exam.from_table(pd.DataFrame(table))


def test_a_file_of_another_kind_is_refused(tmp_path):
    with pytest.raises(ValueError, match="ends in .csv"):
        exam.read_bank(tmp_path / "bank.docx")


# --- locks -------------------------------------------------------------------------------------------------------


def test_one_hash_for_a_bank():
    items = bank(5)
    locked = exam.lock(items)
    assert len(locked.hash) == 64 and str(locked) == locked.hash and len(locked) == 5
    assert exam.lock(items[::-1]).hash == locked.hash
    for changed in (
        replace(items[0], explanation="x"),
        replace(items[0], mark="x"),
        replace(items[0], evidence=()),
        items[0].reordered([1, 0, 2, 3]),
    ):
        assert exam.lock([changed, *items[1:]]).hash != locked.hash
    assert exam.lock(items[1:]).hash != locked.hash


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"question": " "}, "no question"),
        ({"options": ("a", "b", "c")}, "3 options, 4 are needed"),
        ({"options": ("a", "b", "c", " ")}, "an option is empty"),
        ({"options": ("a", "b", "c", "a ")}, "two options are the same"),
        ({"key": "E"}, "the key is 'E'"),
    ],
)
def test_only_sound_items_are_locked(changes, message):
    with pytest.raises(ValueError, match=message):
        exam.lock([item(), item(**changes)])


def test_the_same_question_is_not_locked_twice():
    with pytest.raises(ValueError, match="items 1 and 3 are the same question"):
        exam.lock([item(), *bank(1), item(label="easy")])
    with pytest.raises(ValueError, match="no item"):
        exam.lock([])


def test_a_changed_file_is_refused_and_says_what_changed(tmp_path):
    path, items = tmp_path / "bank.csv", bank(6)
    exam.write_bank(items, path, locked=True)
    assert exam.read_bank(path) == items
    exam.write_bank(items, path)  # the same again is no change
    table = pd.read_csv(path, dtype=str, keep_default_na=False)

    def edited(change) -> str:
        other = table.copy()
        change(other)
        other.to_csv(path, index=False)
        with pytest.raises(exam.ChangedBankError) as caught:
            exam.read_bank(path)
        return str(caught.value)

    def reword(t):
        t.loc[2, ["item_id", "question"]] = ["", "Another question?"]

    assert f"{items[0].id}: explanation changed" in edited(
        lambda t: t.__setitem__("explanation", ["x", *t["explanation"][1:]])
    )
    said = edited(reword)
    assert f"{items[2].id}: question changed" in said and items[3].id not in said
    assert "row 2" in edited(lambda t: t.loc.__setitem__((1, "question"), "Edited, but its id left?"))
    assert "was added" in edited(lambda t: t.loc.__setitem__(6, ["", "New?", *"wxyz", "A", *[""] * 8, "[]", ""]))
    table = table.drop(index=5)
    assert f"{items[5].id} is gone" in edited(lambda t: None)
    with pytest.raises(exam.ChangedBankError, match="save the new bank under another name"):
        exam.write_bank(items[:4], path)


def test_an_edited_lock_is_refused(tmp_path):
    path = tmp_path / "bank.csv"
    exam.write_bank(bank(3), path, locked=True)
    beside = tmp_path / "bank.csv.lock.json"
    beside.write_text(beside.read_text().replace('"key": "', '"key": "0', 1))
    with pytest.raises(exam.ChangedBankError, match="the lock was edited"):
        exam.read_bank(path)


def test_an_unsound_bank_is_not_written_as_locked(tmp_path):
    with pytest.raises(ValueError, match="lock: item 1"):
        exam.write_bank([item(key="")], tmp_path / "bank.csv", locked=True)
    assert not list(tmp_path.iterdir())


def test_an_item_is_a_value():
    assert Item("q", ("a", "b", "c", "d"), "A") == Item("q", ["a", "b", "c", "d"], "a")
    assert hash(item()) == hash(item())
