"""Scores by domain: the rates worked out by hand, what a pass does, Mean and SD, intervals by source paper."""

import numpy as np
import pandas as pd
import pytest

from factlab import attribution

ROWS = [
    # domain, predicted, gold, status, paper
    ("AI", "Attention Is All You Need", "Attention is all you need", "scored", "p1"),  # right: F1 1, BLEU 1, mismatch 0
    ("AI", "a b c d", "c d e", "scored", "p1"),  # F1 4/7, mismatch 3/5
    ("AI", None, "BERT", "refused", "p2"),
    ("AI", None, "BERT", "error", "p2"),
    ("CV", "Sparse Coding", "Deep Nets", "scored", "p3"),  # F1 0, mismatch 1
    ("CV", "x", "y", "unparsable", "p3"),
]


def frame(rows=ROWS) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["domain", "predicted", "gold", "status", "paper"])


def by_domain(table: pd.DataFrame) -> pd.DataFrame:
    return table.set_index("domain")


def test_paper_rates_by_hand():
    table = by_domain(attribution.score(frame()))
    ai = table.loc["AI"]
    # not exactly right: the second and the pass, 2 of 3; mismatch of the two answers: (0 + 3/5) / 2
    assert ai.hr == pytest.approx((2 / 3 + 0.3) / 2)
    assert (ai.not_exact, ai.mismatch) == (pytest.approx(2 / 3), pytest.approx(0.3))
    assert ai.f1 == pytest.approx((1 + 4 / 7 + 0) / 3)
    assert ai.bleu == pytest.approx((1 + attribution.bleu4("a b c d", "c d e") + 0) / 3)
    assert ai.pp == pytest.approx(1 / 3)
    assert (ai.n, ai.answered, ai.passed, ai.left_out, ai.outcomes) == (3, 2, 1, 1, "1 error")
    assert (table.loc["CV"].hr, table.loc["CV"].f1, table.loc["CV"].pp, table.loc["CV"].n) == (1, 0, 0, 1)


def test_excluded_passes_count_in_pp_alone():
    ai = by_domain(attribution.score(frame(), pass_policy="exclude")).loc["AI"]
    assert ai.hr == pytest.approx((1 / 2 + 0.3) / 2)
    assert ai.f1 == pytest.approx((1 + 4 / 7) / 2)
    assert ai.pp == pytest.approx(1 / 3)


def test_mean_and_sd_over_domains():
    table = by_domain(attribution.score(frame()))
    domains = table.loc[["AI", "CV"]]
    for metric in ("hr", "f1", "bleu", "pp"):
        assert table.loc["Mean", metric] == pytest.approx(domains[metric].mean())
        assert table.loc["SD", metric] == pytest.approx(domains[metric].astype(float).std(ddof=1))
    assert list(table.index) == ["AI", "CV", "Mean", "SD"]
    assert table.loc["Mean", "n"] == 4


def test_released_and_tables():
    rows = [
        ("AI", "Deep learning nets of note", "Deep Learning nets of note", "scored", "p"),
        ("AI", "Pass", "BERT", "scored", "p"),  # the word alone, in any case
        ("AI", "I pass.", "BERT", "refused", "p"),  # any other text is scored
        ("AI", None, "BERT", "refused", "p"),  # no text: a pass
        ("AI", None, "BERT", "error", "p"),
    ]
    released = by_domain(attribution.score(frame(rows), variant="released")).loc["AI"]
    assert (released.n, released.passed, released.answered) == (4, 2, 2)
    assert released.hr == pytest.approx((1 / 5 + 1) / 2)
    assert released.f1 == pytest.approx((4 / 5 + 0) / 2)
    assert released.pp == pytest.approx(2 / 4)
    tables = by_domain(attribution.score(frame(rows), variant="tables")).loc["AI"]
    assert tables.hr == pytest.approx(released.hr)
    assert tables.f1 == pytest.approx(4 / 5 / 4)
    assert tables.bleu == pytest.approx(released.bleu / 2)
    # the code has one policy
    both = [attribution.score(frame(rows), variant="released", pass_policy=p) for p in ("zero", "exclude")]
    pd.testing.assert_frame_equal(*both)


def test_a_pass_that_was_not_marked_is_a_pass():
    rows = [("AI", "I'll pass.", "BERT", "scored", "p"), ("AI", ["pass"], ["Jane Doe"], "scored", "p")]
    assert attribution.score_items(frame(rows)).status.tolist() == ["refused", "refused"]
    assert by_domain(attribution.score(frame(rows))).loc["AI", "pp"] == 1


def test_a_domain_of_passes_has_no_hallucination_rate():
    table = by_domain(attribution.score(frame([*ROWS, ("IR", None, "z", "refused", "p9")])))
    assert pd.isna(table.loc["IR", "hr"]) and "no " in table.loc["IR", "note"]
    assert (table.loc["IR", "f1"], table.loc["IR", "pp"]) == (0, 1)
    assert table.loc["Mean", "hr"] == pytest.approx(table.loc[["AI", "CV"], "hr"].mean())
    excluded = by_domain(attribution.score(frame([("IR", None, "z", "refused", "p9")]), pass_policy="exclude"))
    assert pd.isna(excluded.loc["IR", "f1"]) and pd.isna(excluded.loc["SD", "f1"]) and excluded.loc["IR", "pp"] == 1


def test_passes_never_enter_the_words():
    answered = [r for r in ROWS if r[3] == "scored"]
    more = [*answered, *[("AI", None, "a long gold title of many words", "refused", "p8")] * 50]
    few, many = (by_domain(attribution.score(frame(rows))) for rows in (answered, more))
    assert few.loc["AI", "mismatch"] == many.loc["AI", "mismatch"]
    assert many.loc["AI", "hr"] > few.loc["AI", "hr"]  # the first part runs over all queries
    parts = (attribution.score(frame(rows), pass_policy="exclude") for rows in (answered, more))
    assert len({float(by_domain(table).loc["AI", "hr"]) for table in parts}) == 1


def test_items_keep_their_rows_and_say_what_became_of_them():
    rows = [
        *ROWS,
        ("AI", "BERT", "", "scored", "p"),
        ("AI", "", "BERT", "scored", "p"),
        ("AI", "BERT", "--", "scored", "p"),
    ]
    items = attribution.score_items(frame(rows).set_index(pd.Index(range(100, 109))))
    assert items.index.tolist() == list(range(100, 109))
    assert items.status.tolist() == [
        "scored", "scored", "refused", "error", "scored", "unparsable", "undefined", "unparsable", "undefined",
    ]  # fmt: skip
    assert items.exact.tolist()[:2] == [True, False] and items.f1.notna().sum() == 3


def test_authors_as_lists_arrays_and_texts():
    rows = [
        ("AI", ["J. Smith", "Zhang, Wei"], ["John Smith", "Wei Zhang"], "scored", "p"),
        ("AI", np.array(["John Smith"], dtype=object), "John Smith, Wei Zhang", "scored", "p"),
    ]
    items = attribution.score_items(frame(rows))
    assert items.exact.tolist() == [True, False]
    assert items.f1.tolist() == [1, pytest.approx(2 * 2 / 6)]
    texts = frame([("AI", '["J. Smith", "Wei Zhang"]', "Smith, John and Zhang, Wei", "scored", "p")])
    assert attribution.score_items(texts, authors=True).exact.tolist() == [True]
    assert attribution.score_items(texts).exact.tolist() == [False]


def test_several_keys_one_or_none():
    two = pd.concat([frame().assign(model="m1"), frame().assign(model="m2")])
    table = attribution.score(two, by=("model", "domain"))
    assert table[["model", "domain"]].to_numpy().tolist() == [
        [m, d] for m in ("m1", "m2") for d in ("AI", "CV", "Mean", "SD")
    ]
    pd.testing.assert_frame_equal(attribution.score(frame(), by="domain"), attribution.score(frame()))
    whole = attribution.score(frame(), by=())
    assert len(whole) == 1 and whole.loc[0, "n"] == 4 and whole.loc[0, "f1"] == pytest.approx((1 + 4 / 7) / 4)
    missing = attribution.score(frame([(None, *ROWS[0][1:]), *ROWS]))
    assert missing["domain"].tolist() == ["(missing)", "AI", "CV", "Mean", "SD"]


def _many(seed: int = 0, n: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    paper = rng.integers(0, 40, n)
    easy = rng.random(40) < 0.5
    status = np.where(rng.random(n) < 0.3, "refused", "scored")
    right = rng.random(n) < np.where(easy[paper], 0.8, 0.1)
    predicted = np.where(right, "a b c d", np.where(rng.random(n) < 0.5, "a b x y", "u v w x"))
    domain = np.array(["AI", "CV", "IR"])[paper % 3]
    return pd.DataFrame({"domain": domain, "predicted": predicted, "gold": "a b c d", "status": status, "paper": paper})


def test_intervals_are_of_the_rate_itself():
    data = _many()
    row = attribution.score(data, by=(), clusters="paper").loc[0]
    answered = (data.status == "scored").to_numpy()
    items = attribution.score_items(data)
    wrong = np.where(answered, 1 - items.exact.to_numpy(float, na_value=1), 1.0)
    mismatch = items.mismatch.to_numpy(float, na_value=0)
    papers = [np.flatnonzero(data.paper == p) for p in range(40)]
    rng = np.random.default_rng(1)
    drawn = []
    for _ in range(2000):
        rows = np.concatenate([papers[i] for i in rng.integers(0, 40, 40)])
        drawn.append((wrong[rows].mean() + mismatch[rows].sum() / answered[rows].sum()) / 2)
    low, high = np.quantile(drawn, [0.025, 0.975])
    assert row.hr == pytest.approx((wrong.mean() + mismatch.sum() / answered.sum()) / 2)
    assert (row.hr_low, row.hr_high) == (pytest.approx(low, abs=0.02), pytest.approx(high, abs=0.02))


def test_the_interval_of_the_mean_resamples_within_domains():
    data = _many(3)
    table = by_domain(attribution.score(data, clusters="paper"))
    items = attribution.score_items(data)
    f1 = items.f1.to_numpy(float, na_value=0)
    rng = np.random.default_rng(2)
    drawn = []
    for _ in range(2000):
        means = []
        for domain in ("AI", "CV", "IR"):
            papers = np.unique(data.paper[data.domain == domain])
            rows = np.concatenate([np.flatnonzero(data.paper == p) for p in rng.choice(papers, len(papers))])
            means.append(f1[rows].mean())
        drawn.append(np.mean(means))
    low, high = np.quantile(drawn, [0.025, 0.975])
    assert (table.loc["Mean", "f1_low"], table.loc["Mean", "f1_high"]) == (
        pytest.approx(low, abs=0.03),
        pytest.approx(high, abs=0.03),
    )
    assert table.loc["Mean", "clusters"] == 40


def test_clusters_widen_the_interval_and_may_be_an_array():
    data = _many()
    alone, grouped = (attribution.score(data, by=(), clusters=c).loc[0] for c in (None, "paper"))
    assert grouped.f1_high - grouped.f1_low > 1.5 * (alone.f1_high - alone.f1_low)
    pd.testing.assert_frame_equal(
        attribution.score(data, clusters=data.paper.to_numpy()), attribution.score(data, clusters="paper")
    )


def test_the_signature_says_how():
    table = attribution.score(frame(), clusters="paper")
    assert table.signature[0].startswith(
        "reasons|variant:paper|passes:zero|words:folded|bleu:sacrebleu,eff:yes,smooth:exp|n:3|clusters:2|"
    )
    assert (
        "variant:released|passes:exclude|words:treebank" in attribution.score(frame(), variant="released").signature[0]
    )


def test_row_order_does_not_matter():
    data = _many()
    shuffled = data.sample(frac=1, random_state=1)
    columns = ["domain", "hr", "f1", "bleu", "pp", "n"]
    pd.testing.assert_frame_equal(attribution.score(data)[columns], attribution.score(shuffled)[columns])


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda f: f.drop(columns="gold"), {}, "no column 'gold'"),
        (lambda f: f, {"by": "field"}, "no column 'field'"),
        (lambda f: f, {"clusters": "source"}, "no column 'source'"),
        (lambda f: f, {"clusters": [1, 2]}, "clusters has 2 rows, the table has 6"),
        (lambda f: f, {"pass_policy": "half"}, "'zero', 'exclude'"),
        (lambda f: f, {"variant": "text"}, "'paper', 'released', 'tables'"),
        (lambda f: f.assign(status="fine"), {}, "'fine' is not known"),
        (lambda f: f.assign(n=1), {"by": "n"}, "rename it"),
        (lambda f: f.assign(gold=7), {}, "row 0: an answer is"),
    ],
)
def test_errors_say_what_and_where(change, options, message):
    with pytest.raises(ValueError, match=message):
        attribution.score(change(frame()), **options)


def test_an_empty_table_gives_no_groups():
    table = attribution.score(frame([]))
    assert table["domain"].tolist() == ["Mean", "SD"] and pd.isna(table.loc[0, "hr"])


def test_the_submodule_is_known_to_the_package():
    import factlab

    assert "attribution" in dir(factlab) and factlab.attribution is attribution
