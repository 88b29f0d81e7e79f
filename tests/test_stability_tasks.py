"""What is read from replies that hold two passages or a list of errors, and passages with a known number of errors."""

import pandas as pd
import pytest

from factlab.stability import tasks


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("DESCRIPTION 1\nA cat.\nDESCRIPTION 2\nA dog.", ("A cat.", "A dog.")),
        ("### DESCRIPTION 1 ###\n\nA cat.\n\nIt purrs.\n\n### DESCRIPTION 2 ###\n\nA dog.", ("A cat.\n\nIt purrs.", "A dog.")),
        ("**Description 1:**\nA cat.\n**Description 2:**\nA dog.", ("A cat.", "A dog.")),
        ("<think>DESCRIPTION 1\nno</think>DESCRIPTION 1\nA cat.\nDESCRIPTION 2\nA dog.", ("A cat.", "A dog.")),
    ],
)  # fmt: skip
def test_two_passages_are_read(reply, expected):
    assert tasks.parse_pair(reply).value == expected


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        ("A cat and a dog.", "unparsable"),
        ("DESCRIPTION 1\nA cat.", "unparsable"),
        ("DESCRIPTION 1\nDESCRIPTION 2\nA dog.", "unparsable"),
        ("I'm sorry, but I can't help with that.", "refused"),
        ("<think>DESCRIPTION 1", "truncated"),
    ],
)
def test_what_is_not_a_pair_says_so(reply, status):
    parsed = tasks.parse_pair(reply)
    assert (parsed.value, parsed.status) == (None, status)


@pytest.mark.parametrize(
    ("reply", "text", "status"),
    [
        ("ERRORS\n1. The sun is cold.\nPASSAGE\nThe sun is cold and near.", "The sun is cold and near.", "scored"),
        ("### PASSAGE ###\nThe sun shines.", "The sun shines.", "scored"),
        ("The sun shines.", "The sun shines.", "scored"),
        ("ERRORS\n1. The sun is cold.", None, "unparsable"),
        ("PASSAGE\n", None, "unparsable"),
        ("I cannot help with that.", None, "refused"),
    ],
)
def test_a_passage_is_read_without_its_list_of_errors(reply, text, status):
    parsed = tasks.parse_passage(reply)
    assert (parsed.value, parsed.status) == (text, status)


PASSAGES = pd.DataFrame(
    {
        "passage_id": ["p"] * 12,
        "topic": "suns",
        "sentence_no": [str(n) for n in range(12, 0, -1)],
        "sentence": [f"T{n}." for n in range(12, 0, -1)],
        "false_sentence": [f"F{n}." if n <= 10 else "" for n in range(12, 0, -1)],
    }
)


def test_a_passage_with_errors_differs_in_just_so_many_sentences():
    made = tasks.with_errors(PASSAGES, versions=3)
    assert made.groupby("errors").size().to_dict() == {0: 1, **dict.fromkeys(range(1, 10), 3), 10: 1}
    for row in made.itertuples():
        words = row.text.split()
        assert [w[1:] for w in words] == [f"{n}." for n in range(1, 13)]
        false = [w[1:-1] for w in words if w.startswith("F")]
        assert len(false) == row.errors and false == row.replaced.split()
    assert made.equals(tasks.with_errors(PASSAGES, versions=3))
    assert not made.equals(tasks.with_errors(PASSAGES, versions=3, seed=1))


def test_more_errors_than_false_sentences_is_refused():
    with pytest.raises(ValueError, match="has 10 false sentences; 11"):
        tasks.with_errors(PASSAGES, counts=[11])
