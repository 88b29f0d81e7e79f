"""Kinds of atomic unit on which annotators and models part: what each is, and how often something happens among them."""

import pandas as pd
import pytest

from factlab import units


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        ("Iron is a metal.", ()),
        ("", ()),
        # coordination
        ("The patient is unconscious and immobile.", ("coordination",)),
        ("Fever AND chills are common.", ("coordination",)),
        ("Aspirin & heparin help.", ("coordination",)),
        ("Iron, as well as copper, is a metal.", ("coordination",)),
        ("The android organ is found in orchids.", ()),
        # a pronoun as subject
        ("It is a metal.", ("pronoun",)),
        ("it's a metal.", ("pronoun",)),
        ("They carry\n oxygen.", ("pronoun",)),
        ("This is a metal.", ("pronoun",)),
        ("This can often lead to paralysis.", ("pronoun",)),
        ("This usually leads to paralysis.", ("pronoun",)),
        ("This means that iron is lost.", ("pronoun",)),
        ("This increased the risk.", ("pronoun",)),
        ("These include iron.", ("pronoun",)),
        ("However, it is rare.", ("pronoun",)),
        ("It is red and soft.", ("coordination", "pronoun")),
        ("Italy is a country.", ()),
        ("Wernicke found that it helps.", ()),
        # a noun that points to what stood before
        ("This process leads to paralysis.", ("context",)),
        ("This increased risk is small.", ("context",)),
        ("This lead is toxic.", ("context",)),
        ("This family is large.", ("context",)),
        ("These results show a rise.", ("context",)),
        ("These clear membranes are thin.", ("context",)),
        ("Those changes occur late.", ("context",)),
        ("However, iron is lost.", ("context",)),
        ("Such foods help.", ("context",)),
        ("It helps such patients.", ("pronoun",)),
        ("The latter is toxic.", ("context",)),
        ("Pain is felt, as described above.", ("context",)),
        # words that only look like it
        ("Fruit such as apples helps.", ()),
        ("Temperatures above 38 degrees are fever.", ()),
        ("Both happen at the same time.", ("coordination",)),
        ("The overall risk is small.", ()),
    ],
)
def test_kinds_of_a_unit(unit, expected):
    assert units.kinds(unit) == expected
    assert set(expected) <= set(units.KINDS)


FRAME = pd.DataFrame(
    {
        "unit": [
            "Iron is a metal.",
            "It is a metal.",
            "It is red and soft.",
            "Iron and tin are metals.",
            "Tin is soft.",
        ],
        "wrong": [False, True, True, None, False],
        "response_id": ["a", "a", "b", "b", "c"],
    }
)


def test_shares_by_kind_and_among_the_others():
    table = units.by_kind(FRAME, "wrong").set_index("kind")
    assert table.index.tolist() == [*units.KINDS, "plain"]
    assert table["n"].to_dict() == {"coordination": 1, "pronoun": 2, "context": 0, "plain": 2}
    assert table["others_n"].to_dict() == {"coordination": 3, "pronoun": 2, "context": 4, "plain": 2}
    assert table.loc[["coordination", "pronoun", "plain"], "share"].tolist() == [1, 1, 0]
    assert table.loc[["coordination", "pronoun", "context"], "others_share"].tolist() == pytest.approx([1 / 3, 0, 0.5])
    assert pd.isna(table.loc["context", "share"])


def test_a_unit_of_unknown_outcome_counts_nowhere():
    """Not as right and not as wrong: the fourth unit is of a kind, and missing."""
    table = units.by_kind(FRAME, "wrong")
    assert (table["n"] + table["others_n"] == 4).all()


def test_clusters_widen_the_interval():
    """Ten units of each of four answers, all right or all wrong: four things were seen, not forty."""
    frame = pd.DataFrame(
        {"unit": ["It is red."] * 40, "wrong": [i % 2 == 0 for i in range(4) for _ in range(10)]}
    ).assign(response_id=[str(i) for i in range(4) for _ in range(10)])
    single = units.by_kind(frame, "wrong").set_index("kind").loc["pronoun"]
    together = units.by_kind(frame, "wrong", "response_id").set_index("kind").loc["pronoun"]
    assert single["share"] == together["share"] == 0.5
    assert pd.isna(together["low"]) or together["high"] - together["low"] > single["high"] - single["low"]


def test_no_units_at_all():
    table = units.by_kind(FRAME.iloc[:0], "wrong")
    assert table["n"].tolist() == [0, 0, 0, 0] and table["share"].isna().all() and table["others_share"].isna().all()
