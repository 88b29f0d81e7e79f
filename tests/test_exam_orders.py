"""Option order: what stays, what moves, and a test that keeps its level."""

import numpy as np
import pandas as pd
import pytest
from tests.exam_items import bank

from factlab import exam
from factlab.exam.orders import _position_test

ITEMS = bank(24)


def panel(**endpoints) -> pd.DataFrame:
    """endpoint=function of (item, rotation, turned item) to a letter or None."""
    rows = []
    for endpoint, answer in endpoints.items():
        for number, one in enumerate(ITEMS):
            for rotation, turned in enumerate(exam.cyclic_orders(one)):
                letter = answer(number, rotation, turned)
                rows.append((one.id, rotation, endpoint, letter, "scored" if letter else "refused"))
    return pd.DataFrame(rows, columns=["item_id", "rotation", "endpoint", "choice", "status"])


def knows(number, rotation, turned):
    return turned.key


def always_a(number, rotation, turned):
    return "A"


def test_the_sheet_holds_every_order():
    sheet = exam.order_sheet(ITEMS[:2])
    assert len(sheet) == 8 and sheet["rotation"].tolist() == [0, 1, 2, 3] * 2
    for row in sheet.to_dict("records"):
        one = ITEMS[0] if row["item_id"] == ITEMS[0].id else ITEMS[1]
        assert row[f"option_{row['key'].casefold()}"] == one.options[one.key_number]


def test_one_who_knows_and_one_who_always_says_a():
    marked = exam.mark_orders(panel(knows=knows, first=always_a), ITEMS)
    assert (marked.loc[marked["endpoint"] == "knows", "correct"] == 1).all()
    table = exam.order_effects(marked, permutations=500).set_index("endpoint")
    known, first = table.loc["knows"], table.loc["first"]
    assert (known["stable"], known["stable_correct"], known["accuracy_mean"], known["change"]) == (1, 1, 1, 0)
    assert not known["position_effect"] and known["place_a"] == 0.25 and known["statistic"] == 0
    assert (
        first["stable"] == 0 and first["accuracy_mean"] == 0.25 and first["place_a"] == 1 and first["position_effect"]
    )
    assert first["accuracy_bank"] == pytest.approx(np.mean([i.key == "A" for i in ITEMS]))


def test_what_was_chosen_in_words():
    fixed = exam.mark_orders(panel(m=lambda n, r, turned: "ABCD"[turned.options.index(ITEMS[n].options[2])]), ITEMS)
    assert (fixed["option"] == 2).all()
    assert exam.order_effects(fixed, permutations=50)["stable"][0] == 1


def test_unresolved_answers_are_not_stable():
    marked = exam.mark_orders(panel(m=lambda n, r, turned: None if n < 6 and r == 2 else turned.key), ITEMS)
    row = exam.order_effects(marked, permutations=50).iloc[0]
    assert row["unresolved"] == 6 and row["stable"] == 0.75 and row["accuracy_mean"] == pytest.approx(90 / 96)
    missing = exam.mark_orders(panel(m=knows).iloc[1:], ITEMS)
    assert missing["status"].iloc[0] == "error" and len(missing) == 96
    nothing = exam.order_effects(exam.mark_orders(panel(m=lambda *_: None), ITEMS), permutations=50).iloc[0]
    assert nothing["status"] == "undefined" and pd.isna(nothing["position_effect"]) and pd.isna(nothing["place_a"])


def test_the_position_test_keeps_its_level():
    rng = np.random.default_rng(0)
    p = []
    for seed in range(200):
        settled = rng.integers(0, 4, (30, 1))
        option = np.where(rng.random((30, 4)) < 0.6, settled, rng.integers(0, 4, (30, 4)))
        p.append(_position_test(option, 200, seed)[1])
    assert 0.01 <= np.mean(np.array(p) <= 0.05) <= 0.1


def test_a_leaning_is_found():
    rng = np.random.default_rng(0)
    leaning = exam.mark_orders(panel(m=lambda n, r, turned: "D" if rng.random() < 0.4 else turned.key), ITEMS)
    assert exam.order_effects(leaning, permutations=1000)["p"][0] < 0.01


def test_the_study_of_a_panel():
    rng = np.random.default_rng(1)

    def skill(share):
        return lambda n, r, turned: turned.key if rng.random() < share else "ABCD"[rng.integers(4)]

    effects = exam.order_effects(
        exam.mark_orders(panel(**{f"m{k}": skill(k / 6) for k in range(7)}), ITEMS), permutations=100
    )
    found = exam.order_study(effects)
    assert found["endpoints"] == found["tested"] == 7 and 0.7 < found["spearman"] <= 1
    assert found["mean_change"] == pytest.approx(effects["change"].abs().mean())
    assert found["stable"] == pytest.approx(effects["stable"].mean()) and found["mean_range"] >= 0
    one = exam.order_study(effects.head(1))
    assert one["spearman"] is None and "n too small" in one["reason"]
    assert exam.order_study(effects.head(0))["reason"] == "no endpoint"


def test_few_items_are_not_tested():
    few = exam.order_effects(exam.mark_orders(panel(m=knows).head(36), ITEMS[:9])).iloc[0]
    assert few["status"] == "undefined" and "9 items: too few" in few["reason"] and few["stable"] == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.drop(columns="rotation"), "no column rotation"),
        (lambda t: t.assign(rotation=4), "rotation 4, expected 0 to 3"),
        (lambda t: t.assign(item_id="q0"), "not in the bank"),
        (lambda t: pd.concat([t, t.head(1)]), "twice"),
        (lambda t: t.assign(choice="E"), "choice 'E'"),
    ],
)
def test_what_does_not_fit_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        exam.mark_orders(change(panel(m=knows)), ITEMS)
