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
from factlab.sources import SourceError


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


WORDS = st.sampled_from(["", "7", "x", "A", " b ", "Cortex", "two words", "10²"])


@settings(deadline=None, max_examples=150)
@given(
    st.lists(
        st.builds(
            Item,
            question=WORDS,
            options=st.lists(WORDS, max_size=6),
            key=st.sampled_from(["A", "d", "E", "", "7", "(B)", "Cortex", "x", "?"]),
            own_id=st.sampled_from(["", "n01", "q1", "7"]),
            label=st.sampled_from(["", "hard"]),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_any_item_survives_its_table(items):
    """Three options, six, none, empty ones, a key that is no letter: the audit has to see them as they are."""
    table = exam.to_table(items)
    assert exam.from_table(table) == items
    assert exam.from_table(table.astype(str).replace("<NA>", "")) == items
    flags = exam.audit(items)
    for number, one in enumerate(items):
        assert ("option_count" in set(flags.loc[flags["row"] == number, "flag"])) == (len(one.options) != 4)


def test_the_banks_own_ids_stay_beside_ours():
    table = pd.DataFrame(
        {"item_id": ["n00", "q1"], "question": ["a?", "b?"], "options": [list("wxyz")] * 2, "key": ["A"] * 2}
    )
    one, two = exam.from_table(table)
    assert (one.own_id, two.own_id) == ("n00", "q1") and one.id == replace(one, own_id="").id
    assert exam.lock([one]).hash == exam.lock([replace(one, own_id="other")]).hash
    again = exam.to_table([one, two])
    assert again["item_id"].tolist() == [one.id, two.id] and again["own_id"].tolist() == ["n00", "q1"]
    assert exam.from_table(again) == [one, two]
    assert exam.from_table(table.rename(columns={"item_id": "ID"}))[0].own_id == "n00"


@pytest.mark.parametrize(
    ("columns", "keys"),
    [
        (["Stem", "Choice A", "Choice B", "Choice C", "Choice D", "Correct Answer"], "B"),
        (["question", "option_1", "option_2", "option_3", "option_4", "answer"], "B"),
        (["question", "option1", "option2", "option3", "option4", "answer-key"], "(b)"),
        (["question", "opa", "opb", "opc", "opd", "cop"], "y"),
    ],
)
def test_common_headings_are_read(columns, keys):
    (one,) = exam.from_table(pd.DataFrame([["Which?", *"xyzw", keys]], columns=columns))
    assert (one.question, one.options, one.key) == ("Which?", ("x", "y", "z", "w"), "B")


def test_lists_objects_and_numbers_of_options():
    named = pd.DataFrame(
        {"question": ["Which?"], "options": [{"B": "y", "A": "x", "C": "z", "D": "w"}], "answer": ["y"]}
    )
    assert exam.from_table(named)[0].options == ("x", "y", "z", "w") and exam.from_table(named)[0].key == "B"

    def keys(*given) -> list[str]:
        table = pd.DataFrame(
            {"question": list("abc"[: len(given)]), "choices": [list("xyzw")] * len(given), "answer": given}
        )
        return [one.key for one in exam.from_table(table)]

    assert keys(0, 3, 2) == ["A", "D", "C"] and keys("1", "4", "2") == ["A", "D", "B"]
    assert keys(1, 2, 3) == ["1", "2", "3"], "from 0 or from 1? Nothing is guessed"
    sums = pd.DataFrame({"question": list("ab"), "choices": [["1", "2", "3", "0"], list("xyzw")], "answer": ["1", "0"]})
    assert [one.key for one in exam.from_table(sums)] == ["B", "A"], "a number counts, though an option reads the same"
    assert [one.key for one in exam.from_table(sums[:1])] == ["A"], (
        "where all are texts of options they are read as that"
    )


@pytest.mark.parametrize(
    ("encoding", "separator"), [("utf-8", ";"), ("utf-8", "\t"), ("cp1252", ";"), ("utf-16", ","), ("utf-8-sig", ",")]
)
def test_files_of_spreadsheets_are_read(tmp_path, encoding, separator):
    lines = [["Stem", *"ABCD", "Correct answer"], ["Was it café, or not?", "x, y", "y", "z", "w", "B"]]
    text = "\r\n".join(separator.join(f'"{cell}"' for cell in line) for line in lines)
    (tmp_path / "bank.csv").write_bytes(text.encode(encoding))
    (one,), problems = exam.read_bank_table(tmp_path / "bank.csv")
    assert (one.question, one.options[0], one.key) == ("Was it café, or not?", "x, y", "B")
    assert problems["problem"].str.contains("Windows-1252").tolist() == [True] * (encoding == "cp1252")


def test_rows_that_look_odd_are_kept_and_listed(tmp_path):
    path = tmp_path / "bank.csv"
    path.write_text("id,question,A,B,C,D,answer\nn1,a?,w,x,y,z,A\nn1,b?,w,x\nn2,c?,w,x,y,z,D,more\n")
    items, problems = exam.read_bank_table(path)
    assert [one.question for one in items] == ["a?", "b?", "c?"] and items[1].key == ""
    assert problems["row"].tolist() == [3, 4, 3] and problems["problem"].iloc[2] == "'n1' is already in row 2"
    path.write_text("question,A,B,C,D,answer,order_seed\na?,w,x,y,z,A,1\nb?,w,x,y,z,A,first\n")
    with pytest.raises(ValueError, match=r"bank.csv, row 3: order_seed: expected a whole number, got 'first'"):
        exam.read_bank(path)
    path.write_text("question,A,B,C,D,answer\n")
    with pytest.raises(SourceError, match="no rows under the headings"):
        exam.read_bank(path)


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
        ({"Questoin": ["a"], "options": [list("wxyz")], "key": ["A"]}, "'questoin' looks like question; rename it"),
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
    (tmp_path / "bank.docx").write_bytes(b"PK")
    with pytest.raises(SourceError, match="save the table as CSV"):
        exam.read_bank(tmp_path / "bank.docx")
    with pytest.raises(SourceError, match="no such file"):
        exam.read_bank(tmp_path / "bank.csv")


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
    with pytest.raises(ValueError, match="item 1 \\(n01\\): "):
        exam.lock([item(own_id="n01", **changes)])


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
    assert "row 3" in edited(lambda t: t.loc.__setitem__((1, "question"), "Edited, but its id left?"))
    assert "was added" in edited(
        lambda t: t.loc.__setitem__(6, ["", "", "New?", *"wxyz", "4", "A", *[""] * 8, "[]", ""])
    )
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
