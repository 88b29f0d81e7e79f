"""Preference pairs from scored answers: who is preferred, why others are not, and the file that trainers read."""

import importlib.util
import io
import json

import pandas as pd
import pytest

from factlab import preferences


def answers(*rows: tuple, **more) -> pd.DataFrame:
    """(question, answer, precision[, status]): a table of answers."""
    full = [(q, f"Question {q}?", a, p, *(rest or ("scored",))) for q, a, p, *rest in rows]
    table = pd.DataFrame(full, columns=["question_id", "question", "answer", "precision", "status"])
    return table.assign(**more).astype({"precision": "Float64"})


def outcomes(counts: pd.DataFrame) -> dict[str, int]:
    """The outcomes that occur."""
    return {o: n for o, n in zip(counts["outcome"], counts["questions"], strict=True) if n}


THREE = answers(
    ("q1", "good", 0.9), ("q1", "bad", 0.1), ("q1", "middling", 0.5),
    ("q2", "low", 0.0), ("q2", "high", 1.0), ("q2", "mid", 0.4),
    ("q3", "same", 0.5), ("q3", "equal", 0.5), ("q3", "alike", 0.5),
)  # fmt: skip


# -- who is preferred ------------------------------------------------------------------------------------------------------


def test_the_best_is_chosen_over_the_worst():
    pairs, counts = preferences.rank(THREE)
    assert list(pairs.columns) == list(preferences.COLUMNS)
    assert pairs[["question_id", "chosen", "rejected"]].values.tolist() == [
        ["q1", "good", "bad"],
        ["q2", "high", "low"],
    ]
    assert pairs[["chosen_score", "rejected_score"]].values.tolist() == [[0.9, 0.1], [1.0, 0.0]]
    assert outcomes(counts) == {"a pair": 2, "a tie": 1}


def test_all_pairs_are_those_that_differ():
    pairs, counts = preferences.rank(THREE, "all")
    assert pairs.loc[pairs["question_id"] == "q1", ["chosen", "rejected"]].values.tolist() == [
        ["good", "middling"], ["good", "bad"], ["middling", "bad"],
    ]  # fmt: skip
    assert len(pairs) == 6 and outcomes(counts) == {"a pair": 2, "a tie": 1}
    half, _ = preferences.rank(answers(("q", "a", 1.0), ("q", "b", 0.5), ("q", "c", 0.5)), "all")
    assert half[["chosen", "rejected"]].values.tolist() == [["a", "b"], ["a", "c"]]


@pytest.mark.parametrize("pairing", preferences.PAIRINGS)
def test_the_chosen_answer_always_scores_higher_and_order_does_not_matter(pairing):
    pairs, _ = preferences.rank(THREE, pairing)
    turned, _ = preferences.rank(THREE.iloc[::-1], pairing)
    assert (pairs["chosen_score"] > pairs["rejected_score"]).all()
    assert set(map(tuple, pairs.values)) == set(map(tuple, turned.values))


def test_of_equally_good_answers_the_first_is_taken():
    table = answers(("q", "bad1", 0.0), ("q", "good1", 1.0), ("q", "good2", 1.0), ("q", "bad2", 0.0))
    pairs, _ = preferences.rank(table)
    assert pairs[["chosen", "rejected"]].values.tolist() == [["good1", "bad1"]]


@pytest.mark.parametrize(
    ("rows", "outcome"),
    [
        ([("q", "a", 0.5), ("q", "b", 0.5)], "a tie"),
        ([("q", "a", 1 / 3), ("q", "b", 2 / 6)], "a tie"),
        ([("q", "a", 0.7), ("q", "b", 0.1 * 7)], "a tie"),
        ([("q", "a", 0.5)], "fewer than two scored answers"),
        ([("q", "a", 0.5), ("q", "b", None, "unknown")], "fewer than two scored answers"),
        ([("q", "a", 0.5), ("q", "b", 0.1, "refused")], "fewer than two scored answers"),
        ([("q", "a", 0.5), ("q", "  ", 0.0), ("q", None, 0.0)], "fewer than two scored answers"),
        ([("q", "a", 0.5), ("q", "a", 0.1)], "the same answer each time"),
        ([("q", "a  b", 0.5), ("q", "a\nb ", 0.1)], "the same answer each time"),
        ([("q", "a", 0.55), ("q", "b", 0.5)], "too close to call"),
        ([("q", "a", 0.6), ("q", "b", 0.5)], "a pair"),
        ([("q", "a", 0.3), ("q", "b", 0.2)], "a pair"),
    ],
)
def test_why_a_question_gives_no_pair(rows, outcome):
    """Gap 0.1. In floating point 0.6 - 0.5 is less, and 0.7 is not 0.1 * 7."""
    pairs, counts = preferences.rank(answers(*rows), min_gap=0.1)
    assert outcomes(counts) == {outcome: 1}
    assert len(pairs) == (outcome == "a pair")


def test_the_gap_holds_for_each_pair_not_for_the_question():
    pairs, _ = preferences.rank(THREE, "all", min_gap=0.45)
    assert pairs[["chosen", "rejected"]].values.tolist() == [["good", "bad"], ["high", "mid"], ["high", "low"]]


def test_outcomes_add_up_to_the_questions():
    table = pd.concat([THREE, answers(("q4", "alone", 1.0), ("q5", "a", 0.2), ("q5", "b", 0.21))])
    for pairing in preferences.PAIRINGS:
        _, counts = preferences.rank(table, pairing, 0.1)
        assert counts["questions"].sum() == 5 and counts["outcome"].is_unique


def test_answers_to_other_questions_are_not_compared_though_the_ids_are_the_same():
    """Runs over two tables without ids of their own both have a "row-1"."""
    table = answers(("row-1", "a", 1.0), ("row-1", "b", 0.0))
    table["question"] = ["Why is blood red?", "What is iron?"]
    pairs, counts = preferences.rank(table)
    assert len(pairs) == 0 and outcomes(counts) == {"fewer than two scored answers": 2}


def test_runs_are_named_where_they_are_known():
    pairs, _ = preferences.rank(answers(("q", "a", 0.1), ("q", "b", 0.9), run=["cold", "hot"]))
    assert pairs[["chosen_run", "rejected_run"]].values.tolist() == [["hot", "cold"]]
    bare, _ = preferences.rank(answers(("q", "a", 0.1), ("q", "b", 0.9)))
    assert bare[["chosen_run", "rejected_run"]].values.tolist() == [["", ""]]


def test_rows_with_the_same_index_are_different_rows():
    table = answers(("q", "a", 0.1), ("q", "b", 0.9), ("q", "a", 0.5))
    table.index = [0, 0, 0]
    pairs, _ = preferences.rank(table)
    assert pairs[["chosen", "rejected"]].values.tolist() == [["b", "a"]] and pairs["rejected_score"][0] == 0.1


def test_what_is_wrong_is_said():
    with pytest.raises(ValueError, match="pairing 'best' is none of extremes, all"):
        preferences.rank(THREE, "best")
    with pytest.raises(ValueError, match="no column 'precision'; they have question_id"):
        preferences.rank(THREE.drop(columns="precision"))
    with pytest.raises(ValueError, match=r"min_gap 10 is not within 0 and 1"):
        preferences.rank(THREE, min_gap=10)
    with pytest.raises(ValueError, match="form 'chat' is none of conversational, standard"):
        preferences.to_jsonl(preferences.rank(THREE)[0], "chat")


# -- the file --------------------------------------------------------------------------------------------------------------

KEYS = ["prompt", "chosen", "rejected", "question_id", "chosen_score", "rejected_score"]
# What breaks lines or encodings: each of them must come back as it was.
AWKWARD = [
    'β-lactam "penicillin" \\ 37 °C, 心',
    "one\ntwo\r\nthree\ttabs",
    "line\u2028and\u2029paragraph, next\x85line, form\x0cfeed, \x1e",
    "emoji 🩸 and e\u0301",
    '{"role": "user"}',
]


def shape(value) -> object:
    """The type of a JSON value, with those of its parts."""
    if isinstance(value, dict):
        return {k: shape(v) for k, v in value.items()}
    return [shape(v) for v in value] if isinstance(value, list) else type(value)


@pytest.mark.parametrize("form", preferences.FORMS)
@pytest.mark.parametrize("pairing", preferences.PAIRINGS)
def test_every_line_is_one_object_of_the_same_keys_and_types(form, pairing):
    """Scores that happen to be whole stay numbers with a point: a reader takes the types from the first lines."""
    pairs, _ = preferences.rank(THREE, pairing)
    text = preferences.to_jsonl(pairs, form)
    lines = text.split("\n")
    assert lines.pop() == "" and len(lines) == len(pairs)
    read = [json.loads(line) for line in lines]
    assert all(list(row) == KEYS for row in read)
    assert len({repr(shape(row)) for row in read}) == 1
    message = [{"role": str, "content": str}] if form == "conversational" else str
    assert shape(read[0]) == dict(zip(KEYS, [message, message, message, str, float, float], strict=True))
    content = (lambda v: v[0]["content"]) if form == "conversational" else str
    assert [content(row["chosen"]) for row in read] == pairs["chosen"].tolist()
    assert [content(row["rejected"]) for row in read] == pairs["rejected"].tolist()
    assert [content(row["prompt"]) for row in read] == pairs["question"].tolist()


def test_roles_are_those_of_a_conversation():
    row = json.loads(preferences.to_jsonl(preferences.rank(THREE)[0]).splitlines()[0])
    assert [row[k][0]["role"] for k in ("prompt", "chosen", "rejected")] == ["user", "assistant", "assistant"]
    assert all(len(row[k]) == 1 for k in ("prompt", "chosen", "rejected"))


@pytest.mark.parametrize("form", preferences.FORMS)
@pytest.mark.parametrize("awkward", AWKWARD)
def test_texts_come_back_as_they_were(form, awkward):
    table = answers(("q", awkward, 1.0), ("q", awkward + " not", 0.0)).assign(question=f"{awkward}?")
    text = preferences.to_jsonl(preferences.rank(table)[0], form)
    # Also for readers that, like str.splitlines, end a line at more than a line feed.
    (line,) = text.encode("utf-8").decode("utf-8").splitlines()
    row = json.loads(line)
    found = [row[k] if form == "standard" else row[k][0]["content"] for k in ("prompt", "chosen", "rejected")]
    assert found == [f"{awkward}?", awkward, awkward + " not"]


def test_letters_can_be_read_in_the_file():
    text = preferences.to_jsonl(preferences.rank(answers(("q", "β and 心", 1.0), ("q", "no", 0.0)))[0])
    assert "β and 心" in text


def test_a_number_as_id_is_text_in_every_line():
    table = pd.concat([answers((7, "a", 1.0), (7, "b", 0.0)), answers(("x", "a", 1.0), ("x", "b", 0.0))])
    read = [json.loads(line) for line in preferences.to_jsonl(preferences.rank(table)[0]).splitlines()]
    assert [row["question_id"] for row in read] == ["7", "x"]


@pytest.mark.parametrize("form", preferences.FORMS)
def test_a_loader_of_json_lines_reads_the_file(form, tmp_path):
    """As `datasets` does where it is installed, else as pandas does."""
    path = tmp_path / "preferences.jsonl"
    pairs, _ = preferences.rank(THREE, "all")
    path.write_text(preferences.to_jsonl(pairs, form), encoding="utf-8")
    if importlib.util.find_spec("datasets"):
        import datasets

        read = datasets.load_dataset("json", data_files=str(path), split="train", cache_dir=str(tmp_path)).to_pandas()
    else:
        read = pd.read_json(path, lines=True, dtype={"question_id": str})
    assert list(read.columns) == KEYS and len(read) == 6
    assert read["chosen_score"].tolist() == pairs["chosen_score"].tolist()
    first = read["chosen"][0] if form == "standard" else read["chosen"][0][0]["content"]
    assert first == "good"


def test_arrow_gives_every_column_one_type():
    """The table that `datasets` keeps its rows in; a mixture of types stops it."""
    arrow = pytest.importorskip("pyarrow.json")
    text = preferences.to_jsonl(preferences.rank(THREE, "all")[0])
    table = arrow.read_json(io.BytesIO(text.encode()))
    assert [str(table.schema.field(k).type) for k in ("question_id", "chosen_score")] == ["string", "double"]
    assert table.schema.field("prompt").type == table.schema.field("chosen").type == table.schema.field("rejected").type


@pytest.mark.parametrize("table", [answers(), answers(("q", "a", 1.0)), THREE.iloc[:0]])
def test_nothing_to_pair(table, tmp_path):
    pairs, counts = preferences.rank(table)
    assert len(pairs) == 0 and list(pairs.columns) == list(preferences.COLUMNS)
    assert (pairs["chosen_score"] - pairs["rejected_score"]).dtype == float
    assert counts["questions"].sum() == table["question_id"].nunique()
    assert preferences.to_jsonl(pairs) == ""
    assert preferences.length_sentence(pairs) == "no pairs"
    (note,) = preferences.warnings(pairs, table)
    assert note.startswith("No pairs")
    pairs.to_parquet(tmp_path / "pairs.parquet")


# -- what to distrust ------------------------------------------------------------------------------------------------------


def pairs_of(chosen: str, rejected: str, times: int) -> pd.DataFrame:
    rows = [row for i in range(times) for row in ((f"q{i}", chosen, 1.0), (f"q{i}", rejected, 0.0))]
    return preferences.rank(answers(*rows))[0]


@pytest.mark.parametrize(
    ("chosen", "rejected", "times", "said"),
    [
        ("a longer text", "short", 20, "mostly the longer ones (20 of 20)"),
        ("short", "a longer text", 20, "mostly the shorter ones (20 of 20)"),
        ("a longer text", "short", 2, None),  # two pairs show nothing
        ("aaa", "bbb", 20, None),  # equally long is neither
    ],
)
def test_a_preference_for_length_is_told(chosen, rejected, times, said):
    notes = preferences.warnings(pairs_of(chosen, rejected, times), answers())
    assert [said in note for note in notes] == ([True] if said else [])


def test_the_sentence_on_length_counts_the_longer():
    both = pd.concat([pairs_of("a longer text", "short", 3), pairs_of("short", "a longer text", 1)])
    assert preferences.length_sentence(both) == "the chosen answer is the longer one in 3 of 4 pairs"


@pytest.mark.parametrize(("checker", "told"), [("local/smollm2", True), ("reference", False), (None, False)])
def test_pairs_of_the_built_in_judge_are_not_for_training(checker, told):
    table = THREE.assign(checker=checker)
    notes = preferences.warnings(preferences.rank(table)[0], table)
    assert any("not for training" in note for note in notes) == told


def test_the_sample_arms_give_pairs_and_say_what_they_are():
    """As the notebook does it when it is opened with no run before it."""
    from factlab import places, sources

    arms = sources.read_table(places.samples("dahl", "arms.csv"))[0].rename(columns={"cleaned": "answer"})
    arms["precision"] = pd.to_numeric(arms["precision"])
    pairs, counts = preferences.rank(arms, "extremes", 0.1)
    assert counts["questions"].sum() == 29 and outcomes(counts)["a pair"] == len(pairs) > 15
    assert (pairs["chosen_score"] - pairs["rejected_score"]).min() > 0.1 - 1e-6
    assert (pairs["chosen_run"] != pairs["rejected_run"]).all()
    assert any("not for training" in note for note in preferences.warnings(pairs, arms))
