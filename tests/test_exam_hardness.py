"""Empirical difficulty, discrimination, review queues and the Rasch model, by hand and on simulated panels."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.exam_items import answers, item
from tests.test_exam_panel import replies

from factlab import exam

X = pd.DataFrame([[1, 1, 1], [1, 1, 0], [1, 0, 0], [0, 0, 0]], index=list("wxyz"), columns=["p", "q", "r"])
PANELS = arrays(int, st.tuples(st.integers(0, 12), st.integers(1, 8)), elements=st.integers(0, 1))


def test_misses_are_counted():
    missed = exam.difficulty(X)
    assert missed.tolist() == [0, 1, 2, 3] and missed.index.tolist() == list("wxyz") and missed.name == "missed"
    assert exam.difficulty([[True, None], [np.nan, 0]]).tolist() == [1, 2]
    with pytest.raises(ValueError, match="row 0, column 1: 2 is neither"):
        exam.difficulty([[1, 2]])


def test_distribution_and_share():
    table = exam.miss_distribution(X)
    assert table["items"].tolist() == [1, 1, 1, 1] and table["at_least"].tolist() == [1, 0.75, 0.5, 0.25]
    assert exam.missed_by(X, 2).value == 0.5
    with pytest.raises(ValueError, match="1 to 3"):
        exam.missed_by(X, 4)
    assert exam.miss_distribution(X.head(0))["share"].isna().all()


@settings(deadline=None)
@given(PANELS)
def test_counts_agree_with_each_other(x):
    table = exam.miss_distribution(x)
    assert table["items"].sum() == len(x) and len(table) == x.shape[1] + 1
    if len(x):
        assert table["share"].sum() == pytest.approx(1)
        assert exam.missed_by(x, 1).value == pytest.approx(table["at_least"][1])


def test_published_shape_of_the_flag():
    # Table IV's panel has 12 endpoints: t = 4 of 12 flags whoever misses 4, and not who misses 3.
    x = np.ones((2, 12), dtype=int)
    x[0, :3], x[1, :4] = 0, 0
    assert exam.missed_by(x).value == 0.5


def test_leave_one_out():
    x, _, _ = answers(500, 12)
    table = exam.leave_one_out(pd.DataFrame(x), 4)
    assert len(table) == 12 and (table["pearson"] > 0.95).all() and (table["agreement"] > 0.85).all()
    missed, rest = 12 - x.sum(axis=1), 11 - x[:, 1:].sum(axis=1)
    assert table["pearson"][0] == pytest.approx(np.corrcoef(missed, rest)[0, 1])
    assert table["item_rest"][0] == pytest.approx(np.corrcoef(1 - x[:, 0], rest)[0, 1])
    assert table["agreement"][0] == pytest.approx(((missed >= 4) == (rest >= 4)).mean())


def test_leave_one_out_of_noise_is_high_by_construction():
    x = np.random.default_rng(0).integers(0, 2, (4000, 12))
    table = exam.leave_one_out(pd.DataFrame(x))
    assert np.allclose(table["pearson"].astype(float), np.sqrt(11 / 12), atol=0.01)
    assert (table["item_rest"].abs() < 0.06).all()


def test_leave_one_out_says_when_there_is_nothing():
    assert exam.leave_one_out(X[["p"]])["reason"].tolist() == ["one endpoint only"]
    alike = exam.leave_one_out(pd.DataFrame(np.ones((9, 3))))
    assert (alike["status"] == "undefined").all() and alike["pearson"].isna().all() and (alike["agreement"] == 1).all()


def test_bands():
    assert exam.difficulty_bands([0, 1, 2, 3, 4, 12]).tolist() == ["0–1", "0–1", "2–3", "2–3", "4+", "4+"]
    assert exam.difficulty_bands([0, 1, 5], [0, 1, 4]).tolist() == ["0", "1–3", "4+"]
    with pytest.raises(ValueError, match="ascending"):
        exam.difficulty_bands([1], [1, 2])


def test_accuracy_in_bands_of_the_others():
    noise = pd.DataFrame(np.random.default_rng(0).integers(0, 2, (9000, 6)))
    fair = exam.accuracy_by_difficulty(noise, [0, 3]).groupby("difficulty", observed=True)["value"].mean()
    circular = (
        exam.accuracy_by_difficulty(noise, [0, 3], others=False).groupby("difficulty", observed=True)["value"].mean()
    )
    assert abs(fair["0–2"] - fair["3+"]) < 0.03
    assert circular["0–2"] - circular["3+"] > 0.2
    assert exam.accuracy_by_difficulty(X, [0, 5])["value"].isna().sum() == 3


# --- discrimination ----------------------------------------------------------------------------------------------


def test_discrimination_by_hand():
    x = pd.DataFrame(np.tril(np.ones((6, 6), dtype=int)), columns=list("abcdef"))
    table = exam.discrimination(x)
    rest = x.drop(index=2).mean()
    assert table["discrimination"][2] == pytest.approx(np.corrcoef(x.loc[2], rest)[0, 1])
    # The endpoints a, b, c are right; c ties with none, d to f tie in part with the worse half.
    assert (
        table["upper_lower"][2] == pytest.approx(_upper_lower(x.loc[2], rest))
        and table["reason"][5] == "every endpoint is right"
    )
    x.loc[6] = [0, 0, 0, 1, 1, 1]  # the weak ones are right
    assert exam.discrimination(x)["discrimination"].iloc[-1] < -0.8


def _upper_lower(right, rest) -> float:
    """Mean over all ways to break ties by a small random amount."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(6000):
        order = np.lexsort([rng.random(len(rest)), rest])
        found.append(right.to_numpy()[order[-3:]].mean() - right.to_numpy()[order[:3]].mean())
    return round(float(np.mean(found)) * 12) / 12


def test_discrimination_needs_a_panel():
    assert exam.discrimination(X)["reason"].str.contains("3 endpoints: too few").all()
    equal = pd.DataFrame(np.array([[0, 1, 0, 1, 0, 1], [1, 0, 1, 0, 1, 0], [1, 1, 1, 0, 0, 0]]))
    assert "equally good" in exam.discrimination(equal)["reason"][2]


@settings(deadline=None)
@given(PANELS)
def test_discrimination_stays_in_range(x):
    table = exam.discrimination(pd.DataFrame(x))
    for name in ("discrimination", "upper_lower"):
        assert table[name].dropna().between(-1, 1).all()
    assert (table["discrimination"].isna() == (table["status"] == "undefined")).all()


# --- sources -----------------------------------------------------------------------------------------------------


def test_sources_against_accuracy():
    items = [
        item(
            question=f"q{n}?",
            label="hard" if n % 2 else "synthesis",
            evidence=[exam.Evidence("c", "x", source=f"s{k}") for k in range(1 + n % 5)],
        )
        for n in range(40)
    ]
    correct = pd.DataFrame([[int(k > n % 5) for k in range(6)] for n in range(40)], index=[i.id for i in items])
    table = exam.source_counts(items, correct).set_index(["label", "coefficient"])
    assert table.loc[("all", "spearman"), "value"] == -1 and table.loc[("all", "spearman"), "mean_sources"] == 3
    assert set(table.index.get_level_values(0)) == {"all", "hard", "synthesis"}
    with pytest.raises(ValueError, match="no row for item"):
        exam.source_counts([item()], correct)


# --- queues ------------------------------------------------------------------------------------------------------

ITEMS = [item(question=f"q{n}?", key="A") for n in range(5)]


def marked(**choices):
    return exam.mark(replies(ITEMS, **choices), ITEMS)


def test_queues_by_hand():
    # q0 all right; q1 three for B; q2 three wrong, two of them for B; q3 two wrong of four; q4 three refused
    table = exam.key_risk(marked(a="ABBBA", b="ABBC-", c="ABCA-", d="AAAA-")).set_index("item_id")
    by = table.loc[[i.id for i in ITEMS]]
    assert by["majority"].tolist() == [False, True, True, False, False]
    assert by["non_key"].tolist() == [False, True, False, False, False]
    assert by["missed"].tolist() == [0, 3, 3, 2, 3] and by["unresolved"].tolist() == [0, 0, 0, 0, 3]
    assert by["top_wrong"].tolist()[1:3] == ["B", "B"] and by["votes_top_wrong"].tolist() == [0, 3, 2, 1, 0]
    assert table.index[0] == ITEMS[1].id
    assert exam.key_risk(marked(a="ABBBA", b="ABBC-", c="ABCA-", d="AAAA-"), share=0.49)["majority"].sum() == 3


@settings(deadline=None)
@given(st.lists(st.text("ABCD-", min_size=5, max_size=5), min_size=1, max_size=6), st.sampled_from([0, 0.3, 0.5, 0.75]))
def test_the_stricter_queue_is_inside_the_other(choices, share):
    table = exam.key_risk(marked(**{f"m{n}": c for n, c in enumerate(choices)}), share)
    assert (table["majority"] | ~table["non_key"]).all()
    assert (table["votes_key"] + table["missed"] == table["panel"]).all()


def test_scores_without_the_queues():
    answers_ = marked(a="ABBBA", b="ABBC-", c="ABCA-", d="AAAA-")
    table = exam.scores_without(answers_, exam.key_risk(answers_)).set_index(["endpoint", "items_of"])
    assert table.loc[("a", "all"), "value"] == 0.4 and table.loc[("a", "without majority"), "value"] == pytest.approx(
        2 / 3
    )
    assert table.loc[("a", "without majority"), "n"] == 3 and table.loc[("a", "without non_key"), "n"] == 4
    assert table.loc[("d", "all"), "rank"] == 1 and table.loc[("d", "without non_key"), "change"] == pytest.approx(
        0.75 - 0.8
    )
    everything = exam.scores_without(answers_, exam.key_risk(answers_).assign(majority=True))
    assert everything.loc[everything["items_of"] == "without majority", "value"].isna().all()


def test_builders_do_not_vote():
    results = exam.mark(replies(ITEMS, a="AAAAA", b="BBBBB"), ITEMS, builders=["b"])
    assert not exam.key_risk(results)["majority"].any() and (exam.key_risk(results)["panel"] == 1).all()
    assert (exam.key_risk(results, overlap=True)["panel"] == 2).all()


# --- Rasch -------------------------------------------------------------------------------------------------------


def test_abilities_are_recovered_with_their_errors():
    z = []
    for seed in range(25):
        x, ability, _ = answers(400, 10, seed)
        fit = exam.rasch(x)
        assert fit.status == "scored"
        z += ((fit.endpoints["ability"] - (ability - ability.mean())) / fit.endpoints["se"]).astype(float).tolist()
    assert abs(np.mean(z)) < 0.15 and 0.85 < np.std(z) < 1.15


def test_difficulties_are_recovered():
    x, ability, hardness = answers(400, 60, 3)
    fit = exam.rasch(x)
    found, se = fit.items["difficulty"].astype(float), fit.items["se"].astype(float)
    true = hardness - ability.mean()
    slope = np.polyfit(true, found, 1)[0]
    assert np.corrcoef(found, true)[0, 1] > 0.94 and 0.9 < slope < 1.1
    assert 0.85 < np.sqrt((((found - true) / se) ** 2).mean()) < 1.15


def test_difficulty_follows_the_miss_count():
    x, _, _ = answers(800, 12)
    fit = exam.rasch(x)
    by_count = fit.items.groupby("missed")["difficulty"].agg(["min", "max"])
    assert np.allclose(by_count["min"].astype(float), by_count["max"].astype(float))
    assert by_count["min"].is_monotonic_increasing
    assert fit.items["reason"][fit.items["missed"] == 0].str.contains("only a limit").all()
    assert (fit.items.loc[fit.items["missed"].between(1, 11), "se"] > 0.55).all()


def test_warms_estimate_of_equal_endpoints():
    from factlab.exam.rasch_model import _warm

    right = np.arange(9)
    difficulty, se = _warm(right, np.zeros(8))
    assert np.allclose(difficulty, -np.log((right + 0.5) / (8 - right + 0.5)))
    assert se[4] == pytest.approx(1 / np.sqrt(8 / 4))


def test_conditional_likelihood_by_enumeration():
    from itertools import combinations

    from factlab.exam.rasch_model import _moments

    rng = np.random.default_rng(0)
    a, x = rng.normal(0, 1, 5), rng.integers(0, 2, (40, 5))
    x = x[(x.sum(axis=1) > 0) & (x.sum(axis=1) < 5)]
    expected = 0.0
    for row in x:
        all_with = [np.exp(a[list(chosen)].sum()) for chosen in combinations(range(5), int(row.sum()))]
        expected += row @ a - np.log(sum(all_with))
    scores, totals = x.sum(axis=0), np.bincount(x.sum(axis=1), minlength=6)
    value, gradient, information = _moments(a, scores, totals)
    assert value == pytest.approx(expected)
    step = 1e-5 * np.eye(5)
    ups = [_moments(a + d, scores, totals) for d in step]
    downs = [_moments(a - d, scores, totals) for d in step]
    assert np.allclose(gradient, [(u[0] - d[0]) / 2e-5 for u, d in zip(ups, downs, strict=True)], atol=1e-5)
    assert np.allclose(-information, [(u[1] - d[1]) / 2e-5 for u, d in zip(ups, downs, strict=True)], atol=1e-4)


def test_the_fit_is_doubted_where_it_should_be():
    x, _, _ = answers(1500, 10, 1)
    honest = exam.rasch(x)
    assert honest.p > 0.01 and honest.endpoints["outfit"].between(0.8, 1.25).all()
    x[:, 0] = np.random.default_rng(0).random(1500) < 0.25  # guesses
    guessing = exam.rasch(x)
    assert guessing.p < 0.001 and "the model does not hold" in guessing.reason
    assert guessing.endpoints["outfit"].astype(float).idxmax() == 0 and guessing.endpoints["outfit"][0] > 1.3


def test_perfect_endpoints_are_left_out_and_said():
    x, _, _ = answers(300, 8, 2)
    x[:, 3], x[:, 5] = 1, 0
    fit = exam.rasch(pd.DataFrame(x, columns=list("abcdefgh")))
    assert (
        fit.status == "scored"
        and "left out, right or wrong throughout: d, f" in fit.reason
        and "only 6 endpoints" in fit.reason
    )
    assert fit.endpoints["ability"].isna().tolist() == [n in (3, 5) for n in range(8)]
    assert fit.endpoints["ability"].sum() == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (answers(300, 4)[0], "4 endpoints .* too few"),
        (np.ones((300, 8), dtype=int), "0 endpoints"),
        (answers(20, 12)[0], "items divide the panel: too few"),
        (np.zeros((0, 8), dtype=int), "0 endpoints"),
        (np.repeat([[1, 1, 1, 0, 0, 0]], 100, axis=0), "0 endpoints"),
    ],
)
def test_where_there_is_no_fit_it_is_said(x, message):
    fit = exam.rasch(x)
    assert fit.status == "undefined" and pd.Series([fit.reason]).str.contains(message).all()
    assert fit.items["difficulty"].isna().all() and fit.endpoints["ability"].isna().all() and fit.p is None


def test_endpoints_that_fall_apart_have_no_common_scale():
    x = np.zeros((200, 10), dtype=int)
    x[:, :5] = 1
    x[:100, :5] = np.random.default_rng(0).integers(
        0, 2, (100, 5)
    )  # who is right of the first five, none of the others is
    x[100:, 5:] = np.random.default_rng(1).integers(0, 2, (100, 5))
    assert exam.rasch(x).status == "undefined"


@settings(deadline=None)
@given(PANELS)
def test_rasch_never_raises(x):
    assert exam.rasch(x).status in ("scored", "undefined")
