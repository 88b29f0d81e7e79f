"""Stratified samples: shares kept, size right, the same for the same seed."""

from collections import Counter

import numpy as np
import pytest

from factlab import stats

GROUPS = ["a"] * 50 + ["b"] * 30 + ["c"] * 15 + ["d"] * 5


@pytest.mark.parametrize(
    ("fraction", "expected"),
    [
        (0.2, {"a": 10, "b": 6, "c": 3, "d": 1}),
        (0.1, {"a": 5, "b": 3}),  # 1.5 and 0.5 are left: one of the two to each of c and d, by lot
        (1.0, {"a": 50, "b": 30, "c": 15, "d": 5}),
    ],
)
def test_every_group_keeps_its_share(fraction, expected):
    for seed in range(20):
        picked = stats.stratified_sample(GROUPS, fraction, seed)
        counts = Counter(GROUPS[i] for i in picked)
        assert len(picked) == len(set(picked)) == round(100 * fraction)
        assert {g: counts[g] for g in expected} == expected
        assert (np.diff(picked) > 0).all()


def test_equal_remainders_are_decided_by_lot():
    groups = [f"g{i}" for i in range(29) for _ in range(2)]
    drawn = [stats.stratified_sample(groups, 0.2, seed) for seed in range(200)]
    assert {len(picked) for picked in drawn} == {12}
    hits = Counter(groups[i] for picked in drawn for i in picked)
    assert len(hits) == 29 and max(hits.values()) < 120  # expected 83 each; never two of one group
    assert all(len({groups[i] for i in picked}) == 12 for picked in drawn)


def test_the_same_seed_gives_the_same_sample_and_another_another():
    once, again, other = (stats.stratified_sample(GROUPS, 0.3, seed) for seed in (1, 1, 2))
    assert once.tolist() == again.tolist() != other.tolist()


def test_small_and_empty_tables():
    assert stats.stratified_sample([], 0.5).tolist() == []
    assert stats.stratified_sample(["a"], 0.01).tolist() == [0]
    assert len(stats.stratified_sample([None, "a", 3, "a"], 0.5)) == 2


@pytest.mark.parametrize("fraction", [0, -1, 1.5, float("nan")])
def test_a_share_that_is_none_is_refused(fraction):
    with pytest.raises(ValueError, match="fraction"):
        stats.stratified_sample(GROUPS, fraction)


@pytest.mark.released
def test_a_tenth_of_the_released_questions_keeps_all_but_the_smallest_shares(released):
    from factlab import sources

    groups = sources.read_questions(released / "dahl" / "questions.csv")["category"]
    picked = stats.stratified_sample(groups, 0.1)
    assert len(picked) == 857
    shares = groups.iloc[picked].value_counts() / 857 - groups.value_counts() / 8573
    assert shares.abs().max() < 1 / 857
