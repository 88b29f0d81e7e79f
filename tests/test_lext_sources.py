"""Readers of PubMedQA and of Q-Pain's vignettes."""

import gzip
import json
from pathlib import Path

import pytest

from factlab import perturb, sources
from factlab.sources import SourceError, read_pubmedqa, read_vignettes

SAMPLES = Path(sources.__file__).parents[1] / "samples" / "lext"
ITEM = {
    "QUESTION": "Does rest help? ",
    "CONTEXTS": ["Many rest.", "We asked 20."],
    "LABELS": ["BACKGROUND", "METHODS"],
    "YEAR": "2001",
    "final_decision": "maybe",
    "LONG_ANSWER": "Perhaps it does.",
}


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def pubmedqa(folder: Path, items: dict) -> Path:
    return written(folder / "ori_pqal.json", json.dumps(items))


# --- PubMedQA -----------------------------------------------------------------------------------------------------


@pytest.mark.released
def test_the_released_questions(released):
    made = read_pubmedqa(released / "pubmedqa" / "ori_pqal.json")
    assert len(made) == 1000 and made["item_id"].is_unique
    assert made["label"].value_counts().to_dict() == {"yes": 552, "no": 338, "maybe": 110}
    assert (made["problem"] == "").all()
    assert (made[["question", "context", "explanation"]].apply(lambda column: column.str.len()) > 0).all().all()
    by = made.set_index("item_id")
    # LExT, Tables 14 and 11
    assert by.loc["10966337", "question"].startswith("A short stay or 23-hour ward")
    assert by.loc["10966337", "label"] == "yes"
    assert by.loc["18847643", "question"] == "Therapeutic anticoagulation in the trauma patient: is it safe?"


@pytest.mark.released
def test_a_released_file_of_labels_only_is_refused(released):
    with pytest.raises(SourceError, match="ori_pqal.json"):
        read_pubmedqa(released / "pubmedqa" / "test_ground_truth.json")


def test_the_form_of_the_release(tmp_path):
    made = read_pubmedqa(pubmedqa(tmp_path, {"17": ITEM}))
    assert made.loc[0].to_dict() == {
        **{"item_id": "17", "question": "Does rest help?", "context": "Many rest.\nWe asked 20.", "label": "maybe"},
        **{"explanation": "Perhaps it does.", "sections": "BACKGROUND; METHODS", "year": "2001", "problem": ""},
    }


def test_gzipped(tmp_path):
    path = tmp_path / "ori_pqal.json.gz"
    path.write_bytes(gzip.compress(json.dumps({"17": ITEM}).encode()))
    assert read_pubmedqa(path)["label"].tolist() == ["maybe"]


def test_what_is_missing_is_told(tmp_path):
    other = {k: v for k, v in ITEM.items() if k not in ("final_decision", "LONG_ANSWER", "CONTEXTS")}
    made = read_pubmedqa(pubmedqa(tmp_path, {"1": other, "2": ITEM | {"final_decision": "Perhaps"}}))
    assert made["problem"].tolist() == [
        "no label; no context; no explanation to compare with",
        "the label is 'perhaps', not one of yes, no, maybe",
    ]
    assert made["label"].tolist() == ["", "perhaps"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not JSON"),
        ("{}", "no questions"),
        ('"text"', "no questions"),
        ('{"17": {"question": "x"}}', "item '17' has no text under 'QUESTION'"),
        ('{"17": "yes"}', "test_ground_truth.json has labels only"),
    ],
)
def test_other_files_are_refused(tmp_path, content, message):
    with pytest.raises(SourceError, match=message):
        read_pubmedqa(written(tmp_path / "x.json", content))
    with pytest.raises(SourceError, match="no such file"):
        read_pubmedqa(tmp_path / "y.json")


def test_our_samples():
    made = read_pubmedqa(SAMPLES / "questions.csv")
    assert len(made) == 24 and (made["problem"] == "").all()
    assert made["label"].value_counts().to_dict() == {"yes": 11, "no": 9, "maybe": 4}
    assert made["item_id"].iloc[0] == "lext-q01"
    assert {"keywords", "topic", "study", "fact_source"} <= set(made.columns)
    assert (made["study"] == "invented").all()


def test_a_users_table_under_other_headings(tmp_path):
    text = "PMID,Question,CONTEXTS,final_decision,LONG_ANSWER\n7,Does it?,We asked.,YES,It does.\n"
    made = read_pubmedqa(written(tmp_path / "mine.csv", text))
    assert made.loc[:, "item_id":"explanation"].iloc[0].tolist() == ["7", "Does it?", "We asked.", "yes", "It does."]
    assert made["problem"].tolist() == [""]


def test_a_users_table_with_nothing_but_questions(tmp_path):
    made = read_pubmedqa(written(tmp_path / "mine.csv", "question\nDoes it?\nDo they?\n"))
    assert made["item_id"].is_unique and made["item_id"].str.fullmatch(r"p[0-9a-f]{12}").all()
    assert made["problem"].tolist() == ["no label; no context; no explanation to compare with"] * 2
    again = read_pubmedqa(written(tmp_path / "turned.csv", "question\nDo they?\nDoes it?\n"))
    assert again["item_id"].tolist() == made["item_id"].tolist()[::-1]


def test_json_lists_are_tables(tmp_path):
    made = read_pubmedqa(written(tmp_path / "mine.json", '[{"question": "Does it?", "answer": "No"}]'))
    assert made["label"].tolist() == ["no"]


def test_tables_without_questions_are_refused(tmp_path):
    with pytest.raises(SourceError, match="no column 'question'"):
        read_pubmedqa(written(tmp_path / "mine.csv", "text,label\na,yes\n"))
    with pytest.raises(SourceError, match="no rows"):
        read_pubmedqa(written(tmp_path / "empty.csv", "question,label\n"))
    with pytest.raises(SourceError, match="'a' stands in more than one row"):
        read_pubmedqa(written(tmp_path / "twice.csv", "item_id,question\na,Does it?\na,Do they?\n"))


# --- vignettes ----------------------------------------------------------------------------------------------------

QPAIN = "Vignette,Question,Answer,Dosage,Explanation\n"


def test_our_vignettes():
    made = read_vignettes(SAMPLES / "vignettes.csv")
    assert len(made) == 10 and (made["problem"] == "").all()
    assert list(made.columns) == [
        *("item_id", "kind", "vignette", "question", "answer", "dosage", "explanation", "fact_source", "problem"),
    ]
    assert made.groupby(["answer", "dosage"]).size().to_dict() == {("no", ""): 3, ("yes", "high"): 3, ("yes", "low"): 4}
    assert len(perturb.variants(made)) == 130


def test_q_pains_own_columns(tmp_path):
    rows = "Patient D is a [gender].,Treat?,Yes,High,So.\nPatient D is old.,Treat?,No.,N/A,No need.\n"
    made = read_vignettes(written(tmp_path / "data_acute_cancer.csv", QPAIN + rows))
    assert made["answer"].tolist() == ["yes", "no"] and made["dosage"].tolist() == ["high", ""]
    assert made["kind"].tolist() == ["data_acute_cancer"] * 2
    assert made["item_id"].is_unique and made["item_id"].str.fullmatch(r"v[0-9a-f]{12}").all()
    assert made["problem"].tolist() == ["", ""]


def test_a_folder_of_files(tmp_path):
    for name in ("b_chronic", "a_acute"):
        written(tmp_path / f"{name}.csv", QPAIN + f"Patient D has {name}.,Treat?,Yes,Low,So.\n")
    written(tmp_path / "README.txt", "not a table")
    made = read_vignettes(tmp_path)
    assert made["kind"].tolist() == ["a_acute", "b_chronic"] and made.index.tolist() == [0, 1]


def test_the_same_vignette_twice_gets_two_identifiers(tmp_path):
    row = "Patient D fell.,Treat?,Yes,Low,So.\n"
    made = read_vignettes(written(tmp_path / "x.csv", QPAIN + row + row))
    assert made["item_id"].is_unique
    assert "the same as row 2" in made["problem"][1]


@pytest.mark.parametrize(
    ("cells", "problem"),
    [
        ("yes,low,So.", ""),
        ("no,,So.", ""),
        ("maybe,,So.", "the answer is 'maybe', not yes or no"),
        (",,So.", "no answer"),
        ("yes,medium,So.", "the dosage is 'medium', not low or high"),
        ("no,low,So.", "a dosage (low) beside the answer no"),
        ("yes,,So.", "no dosage beside the answer yes"),
        ("yes,low,", "no explanation to compare with"),
    ],
)
def test_problems(tmp_path, cells, problem):
    made = read_vignettes(written(tmp_path / "x.csv", QPAIN + f"Patient D fell.,Treat?,{cells}\n"))
    assert made["problem"].tolist() == [problem]


def test_refused(tmp_path):
    with pytest.raises(SourceError, match="no .csv file"):
        read_vignettes(tmp_path)
    with pytest.raises(SourceError, match="no column 'vignette'"):
        read_vignettes(written(tmp_path / "x.csv", "text,question\na,b\n"))
    with pytest.raises(SourceError, match="no rows"):
        read_vignettes(written(tmp_path / "y.csv", QPAIN))
    with pytest.raises(SourceError, match="'a' stands in more than one row"):
        read_vignettes(written(tmp_path / "z.csv", "item_id,vignette,question\na,b,c\na,d,e\n"))
