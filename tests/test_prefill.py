"""What prompts of a batch share is read once, and nothing comes out otherwise."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.test_models_local import fresh, tiny  # noqa: F401

from factlab.models import prefill
from factlab.models.prefill import layout

torch = pytest.importorskip("torch")
HEAD = tuple(range(100, 140))


def steps(rows):
    """Tokens read under a layout, padding included, and in one step without one."""
    plan = layout(rows)
    ends = [plan.shared + len(plan.begins[g]) for g in plan.group]
    own = max(len(r) - e for r, e in zip(rows, ends, strict=True))
    return plan.shared + len(plan.begins) * max(map(len, plan.begins)) + len(rows) * own


def test_samples_of_one_prompt_leave_one_token_each():
    prompts = [tuple(range(k, k + 200 + k)) for k in (0, 1_000, 2_000)]
    rows = [p for p in prompts for _ in range(5)]
    plan = layout(rows)
    assert plan.shared == 0 and len(plan.begins) == 3
    assert [len(plan.begins[g]) for g in plan.group] == [len(r) - 1 for r in rows]
    assert layout([prompts[0]] * 4).shared == 199  # all rows are one


def test_a_system_prompt_then_a_passage_then_questions():
    passages = [tuple(range(k, k + 300)) for k in (1_000, 2_000, 3_000, 4_000)]
    rows = [HEAD + p + (q, q + 1, q + 2) for q in (7, 8, 9) for p in passages]
    plan = layout(rows)
    assert plan.shared == 40 and len(plan.begins) == 4 and plan.begins[plan.group[0]] == passages[0]
    assert steps(rows) == 40 + 4 * 300 + 12 * 3


def test_prompts_that_share_little_are_read_in_one_step():
    rows = [tuple(range(k, k + 100)) for k in (0, 1_000, 2_000)]
    assert layout(rows) == prefill.Layout(0, (0, 0, 0))
    assert layout([(1, *r) for r in rows]) == prefill.Layout(0, (0, 0, 0))  # one token in common does not pay
    assert layout([(1,)]) == prefill.Layout(0, (0,))


@settings(deadline=None, max_examples=300)
@given(st.data())
def test_every_row_keeps_its_tokens_and_no_layout_reads_more(data):
    heads = [tuple(data.draw(st.lists(st.integers(0, 2), max_size=60))) for _ in range(3)]
    rows = [
        data.draw(st.sampled_from(heads)) + tuple(data.draw(st.lists(st.integers(0, 2), min_size=1, max_size=30)))
        for _ in range(data.draw(st.integers(1, 12)))
    ]
    plan = layout(rows)
    for row, g in zip(rows, plan.group, strict=True):
        begin = plan.begins[g]
        assert row[: plan.shared] == rows[0][: plan.shared]
        assert row[plan.shared : plan.shared + len(begin)] == begin
        assert len(row) > plan.shared + len(begin)
    assert steps(rows) <= len(rows) * max(map(len, rows))


@pytest.mark.parametrize("fixed", [True, False])
def test_replies_are_the_same_however_prompts_are_read(tiny, monkeypatch, fixed):  # noqa: F811
    """Passages, questions about them and samples, of unequal lengths; also where a state may not be of fixed size."""
    passages = ["the first passage " * 4, "another one " * 9, "and a third, shorter "]
    prompts = [p + q for p in passages for q in ("what?", "who was it?")] + ["a prompt alone that is like no other one"]
    asked = {"max_tokens": 12, "temperature": 0.8, "samples": 3, "progress": False}
    model = fresh(tiny)
    model.backend._load()
    if not fixed:
        monkeypatch.setattr(type(model.backend._model), "_can_compile_fullgraph", False)
    plans = []
    monkeypatch.setattr(prefill, "layout", lambda rows: plans.append(layout(rows)) or plans[-1])
    together = [r.text for r in model.chat(prompts, **asked)]
    assert max(len(p.begins) for p in plans) > 1
    monkeypatch.setattr(prefill, "layout", lambda rows: prefill.Layout(0, (0,) * len(rows)))
    assert [r.text for r in fresh(tiny).chat(prompts, **asked)] == together
