"""A panel's answers: joined, counted, compared, with intervals that cover."""

import numpy as np
import pandas as pd
import pytest
from tests.exam_items import bank, item

from factlab import exam
from factlab.exam.panel import hierarchical_means


def replies(items, **choices) -> pd.DataFrame:
    """endpoint="ABCD…": a letter an item; `-` refused, `.` no row."""
    rows = [
        (one.id, endpoint, letter if letter in "ABCD" else None, "refused" if letter == "-" else "scored")
        for endpoint, letters in choices.items()
        for one, letter in zip(items, letters, strict=True)
        if letter != "."
    ]
    return pd.DataFrame(rows, columns=["item_id", "endpoint", "choice", "status"])


ITEMS = [item(question=f"q{n}?", key="A", topic="x" if n < 2 else "y", batch="" if n else "b") for n in range(4)]


def test_answers_are_joined_and_marked():
    marked = exam.mark(replies(ITEMS, m1="AB-A", m2="AAA."), ITEMS, builders=["m2"])
    assert marked["correct"].tolist() == [1, 1, 0, 1, 0, 1, 1, 0]
    assert marked["status"].tolist() == ["scored"] * 4 + ["refused", "scored", "scored", "error"]
    assert marked["batch"].tolist() == ["b"] * 2 + ["x"] * 2 + ["y"] * 4 and marked["parent"].iloc[0] == "x"
    assert exam.correct_matrix(marked).columns.tolist() == ["m1"]
    wide = exam.correct_matrix(marked, overlap=True)
    assert wide.to_numpy().tolist() == [[1, 1], [0, 1], [0, 1], [1, 0]] and wide.index.tolist() == [i.id for i in ITEMS]


def test_other_columns_are_kept():
    table = replies(ITEMS, m1="ABCD").assign(text="raw")
    assert exam.mark(table, ITEMS)["text"].tolist() == ["raw"] * 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.drop(columns="status"), "no column status"),
        (lambda t: t.assign(item_id="q0"), "'q0' is not in the bank of 4 items"),
        (lambda t: pd.concat([t, t.head(1)]), "m1 answers .* twice"),
        (lambda t: t.assign(choice="E"), "choice 'E' is not one of A, B, C, D"),
        (lambda t: t.assign(choice=None), "choice .* though its status is scored"),
    ],
)
def test_what_does_not_fit_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        exam.mark(change(replies(ITEMS, m1="ABCD")), ITEMS)


def test_accuracy_with_and_without_unresolved_answers():
    marked = exam.mark(replies(ITEMS, m1="AB-A", m2="AAA."), ITEMS)
    table = exam.accuracy(marked).set_index("endpoint")
    assert table["value"].tolist() == [0.5, 0.75] and table["n"].tolist() == [4, 4]
    assert table["value_resolved"].tolist() == [pytest.approx(2 / 3), 1.0]
    assert table["outcomes"].tolist() == ["1 refused", "1 error"] and table["unresolved"].tolist() == [1, 1]
    assert table["low"].isna().all() and "3 batches: too few" in table["reason"].iloc[0]
    by = exam.accuracy(marked, "topic")
    assert by[["topic", "endpoint", "value"]].values.tolist() == [
        ["x", "m1", 0.5],
        ["x", "m2", 1],
        ["y", "m1", 0.5],
        ["y", "m2", 0.5],
    ]
    assert "taken as independent" in by["reason"].iloc[2]


def test_nothing_read_leaves_no_score_without_unresolved():
    table = exam.accuracy(exam.mark(replies(ITEMS, m1="----"), ITEMS))
    assert table["value"].iloc[0] == 0 and pd.isna(table["value_resolved"].iloc[0])


def test_hierarchical_bootstrap_against_a_plain_one():
    rng = np.random.default_rng(0)
    sizes = [3, 8, 20, 5, 11, 2]
    groups = np.repeat(np.arange(6), sizes)
    x = (rng.random((len(groups), 2)) < [0.4, 0.7]).astype(float) + groups[:, None] / 20
    fast = hierarchical_means(x, groups, 20_000, 1)
    slow, rng = [], np.random.default_rng(7)
    for _ in range(8000):
        rows = np.concatenate([rng.choice(np.flatnonzero(groups == g), sizes[g]) for g in rng.integers(0, 6, 6)])
        slow.append(x[rows].mean(axis=0))
    assert np.allclose(fast.mean(axis=0), np.mean(slow, axis=0), atol=0.01)
    assert np.allclose(np.cov(fast.T), np.cov(np.array(slow).T), rtol=0.1, atol=5e-4)
    for share in (0.025, 0.5, 0.975):
        assert np.allclose(np.quantile(fast, share, axis=0), np.quantile(slow, share, axis=0), atol=0.02)


def test_the_draw_depends_on_content_not_on_order():
    rng = np.random.default_rng(0)
    x, groups = rng.integers(0, 2, (60, 3)), rng.integers(0, 6, 60)
    order = rng.permutation(60)
    names = np.array(list("fbdace"))[groups]
    assert np.allclose(hierarchical_means(x, groups, 50), hierarchical_means(x[order], names[order], 50))
    assert not np.allclose(hierarchical_means(x, groups, 50), hierarchical_means(x, groups, 50, seed=1))


@pytest.mark.parametrize(("spread", "least", "most"), [(0.0, 0.94, 1.0), (0.15, 0.9, 1.0)])
def test_intervals_cover(spread, least, most):
    rng = np.random.default_rng(5)
    runs, k, size, hits = 200, 12, 20, 0
    concentration = 0.7 * 0.3 / spread**2 - 1 if spread else None
    groups = np.repeat(np.arange(k), size)
    for run in range(runs):
        p = rng.beta(0.7 * concentration, 0.3 * concentration, k) if spread else np.full(k, 0.7)
        x = pd.DataFrame({"m": (rng.random(k * size) < np.repeat(p, size)).astype(int)})
        row = exam.hierarchical(x, groups, replicates=400, seed=run).iloc[0]
        hits += row["low"] <= 0.7 <= row["high"]
    assert least <= hits / runs <= most


def test_expanded_percentiles_are_wider():
    rng = np.random.default_rng(0)
    x, groups = pd.DataFrame({"m": rng.integers(0, 2, 120)}), np.arange(120) % 6
    a, b = (exam.hierarchical(x, groups, interval=i).iloc[0] for i in ("percentile", "expanded"))
    assert b["low"] < a["low"] < a["value"] < a["high"] < b["high"]
    assert "hierarchical-expanded" in b["signature"] and "only 6 batches" in a["reason"]
    with pytest.raises(ValueError, match="interval"):
        exam.hierarchical(x, groups, interval="normal")


def test_all_right_has_no_interval():
    row = exam.hierarchical(pd.DataFrame({"m": [1] * 20}), np.arange(20) % 5).iloc[0]
    assert row["value"] == 1 and pd.isna(row["low"]) and "all answers alike" in row["reason"]


def test_endpoints_are_compared_in_pairs():
    rng = np.random.default_rng(0)
    hard = rng.random((300, 1))
    x = pd.DataFrame((hard < [0.9, 0.9, 0.5]) * (rng.random((300, 3)) < 0.95), columns=["a", "b", "c"]).astype(int)
    table = exam.compare_endpoints(x, np.arange(300) % 15, replicates=500).set_index(["a", "b"])
    assert len(table) == 3 and table.loc[("a", "c"), "differs"] and not table.loc[("a", "b"), "differs"]
    assert (table["p_holm"] >= table["p"]).all() and (table["clusters"] == 15).all()
    few = exam.compare_endpoints(x.head(5))
    assert few["differs"].isna().all() and "too few" in few["reason"].iloc[0]
    assert len(exam.compare_endpoints(x[["a"]])) == 0


def test_accuracy_by_batches_of_a_bank():
    items = [i for i in bank(60) if i.topic in {f"t{n}" for n in range(6)}]
    rng = np.random.default_rng(0)
    table = replies(items, m1="".join(rng.choice(list("ABCD"), len(items))))
    assert exam.accuracy(exam.mark(table, items)).iloc[0]["clusters"] == 6
