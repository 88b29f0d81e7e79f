"""Printed numbers as data, and whether a run may stand beside them."""

import pandas as pd
import pytest

from factlab import comparability

# DAHL, Table 2: size in billions of parameters, average length of the responses, DAHL score.
TABLE_2 = {
    "gpt-4o": (None, 2321, 0.9365),
    "Llama-3 8B": (8, 1115, 0.8638),
    "Llama-3.1 8B": (8, 1152, 0.8627),
    "Llama-3.1 70B": (70, 1156, 0.8733),
    "Gemma-2 2B": (2, 1145, 0.8398),
    "Gemma-2 9B": (9, 1145, 0.8765),
    "Qwen-2 0.5B": (0.5, 1076, 0.7610),
    "Qwen-2 1.5B": (1.5, 1067, 0.8151),
    "Qwen-2 7B": (7, 1090, 0.8870),
    "Qwen-2 72B": (72, 1062, 0.8997),
    "Mistral-Nemo-Base-2407 12B": (12, 1127, 0.8087),
    "Dolly-v2 3B": (3, 1166, 0.8250),
    "Mpt 7B": (7, 1014, 0.7355),
}
# Sections 3.2.3, 3.3 and 4 of DAHL, and 5.3 for what becomes of an unknown unit.
AS_PRINTED = {
    "questions": "DAHL benchmark, 8,573",
    "splitter": "gpt-4o",
    "checker": "pplx-api on Llama-3-8b-instruct",
    "prompts": "as in Figures 8 to 10",
    "unknown": "exclude-response",
    "evidence": "online search",
    "temperature": 0.6,
    "max_tokens": 256,
    "variant": "paper",
}
MINOR = {"temperature", "max_tokens", "variant"}


@pytest.fixture
def settings() -> pd.DataFrame:
    return comparability.published("dahl", "settings")


# -- what is shipped -----------------------------------------------------------------------------------------------------


def test_table_2_has_the_printed_numbers():
    table = comparability.published("dahl", "table2")
    assert list(table.columns) == ["model", "family", "size_b", "open", "average_characters", "score"]
    read = {
        row.model: (None if pd.isna(row.size_b) else row.size_b, row.average_characters, row.score)
        for row in table.itertuples()
    }
    assert read == TABLE_2


def test_table_2_has_13_models_of_8_families_and_one_is_closed():
    table = comparability.published("dahl", "table2")
    assert (len(table), table["family"].nunique()) == (13, 8)
    assert table.loc[table["open"] == "no", "model"].tolist() == ["gpt-4o"]
    assert all(row.model.startswith(row.family) for row in table.itertuples())
    for row in table[table["size_b"].notna()].itertuples():
        assert row.model.endswith(f" {row.size_b:g}B")


def test_claims_of_the_text():
    """DAHL, sections 5.2 and 5.3."""
    claims = comparability.published("dahl", "claims")
    assert claims["value"].tolist() == [0.5508, 3.4927e-9, 10, 0.1]
    assert claims["n"].tolist() == [99, 99, 5, 8573]


def test_settings_of_the_paper(settings):
    assert dict(zip(settings["aspect"], settings["published"], strict=True)) == {
        k: str(v) for k, v in AS_PRINTED.items()
    }
    assert set(settings.loc[settings["decides"] == "no", "aspect"]) == MINOR
    assert set(settings["decides"]) == {"yes", "no"} and settings["source"].notna().all()


def test_numbers_are_numbers_and_only_an_empty_cell_is_missing(tmp_path, monkeypatch):
    folder = tmp_path / "published" / "x"
    folder.mkdir(parents=True)
    (folder / "t.csv").write_text("# a remark\nname,value\nnone,1\nNA,\nNone,2.5\n", encoding="utf-8")
    monkeypatch.setattr(comparability, "__file__", str(tmp_path / "comparability.py"))
    table = comparability.published("x", "t")
    assert table["name"].tolist() == ["none", "NA", "None"]
    assert table["value"].isna().tolist() == [False, True, False] and table["value"][2] == 2.5


@pytest.mark.parametrize(
    ("paper", "name", "there"), [("dahl", "table9", "claims, settings, table2"), ("nobody", "table2", "none")]
)
def test_a_table_that_is_not_there_is_told_with_those_that_are(paper, name, there):
    with pytest.raises(ValueError, match=f"no published table {paper}/{name}; there are {there}"):
        comparability.published(paper, name)


# -- the verdict -----------------------------------------------------------------------------------------------------------


def test_a_run_as_printed_is_comparable(settings):
    table, sentence = comparability.verdict(AS_PRINTED, settings)
    assert sentence == "Comparable: everything that the paper fixes is the same."
    assert list(table.columns) == ["aspect", "published", "yours", "same", "decides", "source"]
    assert table["same"].all() and len(table) == 9


@pytest.mark.parametrize("aspect", [a for a in AS_PRINTED if a not in MINOR])
def test_each_aspect_that_decides_decides_alone(settings, aspect):
    table, sentence = comparability.verdict(AS_PRINTED | {aspect: "other"}, settings)
    printed = AS_PRINTED[aspect]
    assert sentence == f"Not comparable with the printed numbers: {aspect} (other; printed: {printed})."
    assert table.loc[~table["same"], "aspect"].tolist() == [aspect]


@pytest.mark.parametrize("aspect", sorted(MINOR))
def test_the_other_aspects_ask_for_care(settings, aspect):
    _, sentence = comparability.verdict(AS_PRINTED | {aspect: 1}, settings)
    assert sentence == f"Comparable with care; what differs: {aspect} (1; printed: {AS_PRINTED[aspect]})."


def test_what_is_not_recorded_is_not_taken_as_the_same(settings):
    table, sentence = comparability.verdict({k: v for k, v in AS_PRINTED.items() if k != "checker"}, settings)
    assert sentence == "Not comparable with the printed numbers: checker (not recorded)."
    assert table.set_index("aspect")["same"].isna()["checker"]
    _, minor = comparability.verdict(AS_PRINTED | {"temperature": None}, settings)
    assert minor == "Comparable with care; what differs: temperature (not recorded)."


def test_only_what_decides_is_named_where_something_does(settings):
    _, sentence = comparability.verdict({"splitter": "rules", "temperature": 1.0}, settings)
    assert "splitter (rules; printed: gpt-4o), checker (not recorded)" in sentence
    assert sentence.startswith("Not comparable") and "temperature" not in sentence


def test_without_a_run_nothing_is_recorded(settings):
    table, sentence = comparability.verdict({}, settings)
    assert table["same"].isna().all() and set(table["yours"]) == {"not recorded"}
    assert sentence.startswith("Not comparable")


@pytest.mark.parametrize(
    ("said", "same"),
    [("0.60", True), (0.6, True), ("0.6", True), (0.61, False), ("", False), (float("nan"), False), ("warm", False)],
)
def test_numbers_are_compared_as_numbers(settings, said, same):
    table, _ = comparability.verdict({"temperature": said}, settings)
    assert table.set_index("aspect")["same"]["temperature"] == same


@pytest.mark.parametrize(
    ("said", "same"), [("GPT-4o", True), (" gpt-4o\n", True), ("gpt-4", False), ("gpt-4o-mini", False)]
)
def test_words_are_compared_without_capitals_and_spaces_at_the_ends(settings, said, same):
    table, _ = comparability.verdict({"splitter": said}, settings)
    assert table.set_index("aspect")["same"]["splitter"] == same


def test_aspects_that_the_paper_does_not_fix_are_passed_over(settings):
    table, sentence = comparability.verdict(AS_PRINTED | {"seed": 7}, settings)
    assert "seed" not in set(table["aspect"]) and sentence.startswith("Comparable:")
