"""From sources to an audited bank with a scripted builder on this machine: topics, items mended and rejected, the screen, the probe."""

import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from tests.exam_items import bank, item
from tests.server import Answer, Server

from factlab import exam, models, places, runs
from factlab.exam import Evidence
from factlab.models.base import ModelError
from factlab.models.cache import Cache
from factlab.sources import SourceError
from factlab.sources.corpus import chunk, read_corpus
from factlab.studies.ms_exam_gen import consistency, corpus, cue_stages, drafts, screen, topics, writing

LETTERS = str.maketrans("0123456789", "ghijklmnop")
SAMPLE = places.samples("ms_exam_gen", "sources")


@pytest.fixture(scope="module")
def index():
    return corpus.index(chunk(read_corpus(SAMPLE)[0], whole_sentences=True), "bm25")[0]


def passages(prompt: str) -> list[str]:
    """The passages that a prompt shows, in order."""
    shown = re.search(r"<passages>\n(.*)\n</passages>", prompt, re.DOTALL)[1]
    return [text.strip() for text in re.split(r"(?:^|\n\n)Passage \d+: ", shown) if text.strip()]


def quote(text: str) -> str:
    """Eight words of a passage in a row, away from its ends."""
    return " ".join(text.split()[20:28])


def own_words(about: str, n: int) -> list[str]:
    return [hashlib.sha256(f"{about} {i}".encode()).hexdigest().translate(LETTERS)[:7] for i in range(n)]


def draft(prompt: str, **changes) -> dict:
    """A sound item for any label: long stem, options of sixteen words each that differ in one of them."""
    about = re.search(r"question about (.*?) \(topic", prompt)[1]
    about += (re.search(r"at least \d+ words|to recognise|to interpret", prompt) or [""])[
        0
    ]  # another stem for another label
    side = "a long enough option about the matter in hand which says that the lesion lies on side number"
    return {
        # Words of its own for each subtopic, so that no two stems are alike by chance.
        "question": f"Which judgement about {about} is best, given " + " ".join(own_words(about, 30)) + "?",
        "question_type": "scenario",
        "options": [f"{side} {n}" for n in ("one", "two", "three", "four")],
        "answer": "B",
        "explanation": "That side is borne out.",
        "evidence": [{"passage": n + 1, "quote": quote(text)} for n, text in enumerate(passages(prompt)[:4])],
    } | changes


def builder(body: dict) -> Answer:
    """Writes well but where the subtopic says otherwise, mends when it is told to, and screens."""
    system, prompt = body["messages"][0]["content"], body["messages"][-1]["content"]
    if "You plan a written examination" in system:
        return Answer(json.dumps(plan(prompt)))
    if system.startswith("You check"):
        bad = "twofold" in prompt
        verdict = dict.fromkeys(consistency.CHECKS, True) | {
            "unique": not bad,
            "severity": "major" if bad else "none",
            "reason": ".",
        }
        return Answer("no verdict" if "mute" in prompt else json.dumps(verdict))
    mending = system.startswith("You repair")
    about = re.search(r"question about (.*?) \(topic", prompt)[1]
    if "broken" in about:
        return Answer("I would rather tell a story.")
    if "refused" in about:
        return Answer("I'm sorry, but I can't help with that.")
    if "down" in about:
        return Answer(status=400, raw=json.dumps({"error": {"message": "no such luck"}}))
    if "again" in about:
        return Answer(json.dumps(draft(prompt.replace(about, "one and the same"))))
    changes = {}
    if "misquoted" in about and not mending:
        changes["evidence"] = [{"passage": 1, "quote": "words that stand nowhere"}]
    if "long key" in about:
        changes["options"] = [
            "short",
            "a far longer option than any of the others is, as a builder likes it",
            "small",
            "little",
        ]
    if "cut" in about and not mending:
        return Answer('{"question": "What', finish="length")
    return Answer(json.dumps(draft(prompt, **changes)))


def plan(prompt: str) -> dict:
    if "<lines>" in prompt:
        return {"topics": [{"topic": "All", "subtopics": [{"subtopic": "everything", "lines": [1, 2]}]}]}
    numbers = [int(n) for n in re.findall(r"Passage (\d+):", prompt)]
    pairs = [{"subtopic": f"point {n}", "passages": [n, n + 1, 999]} for n in numbers[::2]]
    return {"topics": [{"topic": f"Topic {n}", "subtopics": pairs[n : n + 2]} for n in range(0, len(pairs), 2)]}


@pytest.fixture
def model(tmp_path):
    with Server(reply=builder) as server:
        made = models.load(f"openai/tiny@{server.url}", cache=Cache(tmp_path / "cache.sqlite"), max_retries=0)
        made.server = server
        yield made


# --- index ---------------------------------------------------------------------------------------------------------------------------


def test_an_unchanged_corpus_is_not_embedded_again(tmp_path, monkeypatch):
    from factlab.models import embed_store

    kept = embed_store.Store(None)
    monkeypatch.setattr(embed_store, "default", lambda: kept)
    chunks = chunk(read_corpus(SAMPLE)[0])
    with Server() as server:
        name = f"openai/vectors@{server.url}"
        made, told = corpus.index(chunks, name, folder=tmp_path, progress=False)
        assert told["embedded"] == told["different"] == len(chunks) and told["from_store"] == 0
        sent = server.count()
        again, second = corpus.index(chunks, name, folder=tmp_path, progress=False)
        assert second["embedded"] == 0 and second["from_store"] == len(chunks) and server.count() == sent
        assert made.find(["gadolinium"], 3).equals(again.find(["gadolinium"], 3))
        fewer, third = corpus.index(chunks.iloc[5:], name, folder=tmp_path, progress=False)
        assert third["embedded"] == 0 and not set(fewer.find(["veins"], 99)["chunk_id"]) & set(chunks["chunk_id"][:5])


def test_find_keeps_to_so_many_of_a_source(index):
    found = index.find(["lesions of the spinal cord"], 30, per_source=2, most=10)
    assert found["file"].value_counts().max() == 2 and len(found) == 10
    assert found["rank"].tolist() == list(range(1, 11)) and found["score"].is_monotonic_decreasing
    assert index.find([], 3).empty


# --- topics --------------------------------------------------------------------------------------------------------------------------


def test_gather_keeps_the_nearest_of_every_query(index):
    found, shown = topics.gather(index, topics.SEEDS, each=4, most=20)
    assert len(topics.SEEDS) == 18 and found.groupby("query").size().max() <= 4
    assert len(shown) == 20 and shown["chunk_id"].is_unique and shown["number"].tolist() == list(range(1, 21))
    assert set(found.loc[found["rank"] == 1, "chunk_id"]) <= set(shown["chunk_id"])


def test_induce_merges_what_several_calls_name(index, model):
    _, shown = topics.gather(index, topics.SEEDS, most=20)
    made, calls = topics.induce(model, shown, per_call=10, progress=False)
    assert calls["step"].tolist() == ["topics", "topics", "merge"] and (calls["status"] == "scored").all()
    assert made[["topic", "subtopic"]].values.tolist() == [["All", "everything"]]
    assert made.at[0, "passages"] == "; ".join(shown["chunk_id"][:4])
    one, calls = topics.induce(model, shown, per_call=60, progress=False)
    assert len(calls) == 1 and len(one) == 10 and one.at[9, "passages"] == "; ".join(shown["chunk_id"][18:])


@pytest.mark.parametrize(
    ("reply", "rows"),
    [
        ('```json\n{"topics": [{"topic": "A", "subtopics": ["b", "c"]}]}\n```', [("A", "b", []), ("A", "c", [])]),
        ("1. **Space**\n   - areas\n   - lesions\n2. Time\n   * scans", [("Space", "areas", []), ("Space", "lesions", []), ("Time", "scans", [])]),
        ("Space:\n- areas", [("Space", "areas", [])]),
        ("There are many topics.", []),
        ("", []),
        (None, []),
    ],
)  # fmt: skip
def test_read_taxonomy(reply, rows):
    parsed = topics.read_taxonomy(reply)
    assert parsed.value == rows and (parsed.status == "scored") == bool(rows)


def test_topics_that_share_passages_share_a_parent():
    made = topics.table(
        [("A", "x", ["1", "2"]), ("B", "y", ["2"]), ("C", "z", ["3"]), ("a", " X ", ["9"]), ("", "q", [])]
    )
    assert made["topic"].tolist() == ["A", "B", "C"] and made["parent"].tolist() == ["A", "A", "C"]
    assert made.at[0, "passages"] == "1; 2; 9"


def test_coverage():
    made = topics.table([("Lesion markers", "central veins", [])])
    table = topics.coverage(made, ["central vein sign", "optic nerve"]).set_index("concept")
    assert table.at["central vein sign", "covered"] and table.at["central vein sign", "missing"] == "sign"
    assert not table.at["optic nerve", "covered"] and table.at["optic nerve", "share"] == 0


def test_topics_of_a_person(tmp_path):
    path = tmp_path / "topics.csv"
    path.write_text("topic,subtopic,parent\nA,x,P\nB,y,\n")
    assert topics.read_topics(path)["parent"].tolist() == ["P", "B"]
    path.write_text("topic,subtopic\nA,\n")
    with pytest.raises(SourceError, match="row 2: there is no subtopic"):
        topics.read_topics(path)


# --- writing -------------------------------------------------------------------------------------------------------------------------


def planned(*subtopics: str) -> pd.DataFrame:
    return pd.DataFrame({"topic": "Cord", "subtopic": list(subtopics), "parent": "Cord"})


def test_tasks_see_what_their_label_calls_for(index):
    made = writing.tasks(planned("lesions of the cord"), index, {"easy": 2, "synthesis": 1})
    assert [t.label for t in made] == ["easy", "easy", "synthesis"]
    assert len(made[0].passages) == 3 and not set(made[0].passages) & set(made[1].passages)
    files = [index.files[c] for c in made[2].passages]
    assert len(files) == 10 and max(map(files.count, files)) == 2
    assert len(writing.tasks(planned(*"abcdef"), index, {"hard": 1}, most=2)) == 2
    with pytest.raises(ModelError, match="'tricky'"):
        writing.tasks(planned("a"), index, {"tricky": 1})


def test_items_are_accepted_mended_or_rejected_with_the_reason(index, model):
    names = [
        "lesions sound",
        "misquoted lesions",
        "cut lesions",
        "broken lesions",
        "refused lesions",
        "lesions down",
        "long key lesions",
        "again lesions",
        "again cord",
    ]
    made = writing.tasks(planned(*names), index, {"hard": 1})
    written = writing.write(model, made, index, shuffle_seed=5, progress=False)
    rows = written.drafts.set_index("subtopic")
    assert rows["outcome"].to_dict() == dict(
        zip(names, ["accepted", "repaired", "repaired"] + ["rejected"] * 4 + ["accepted", "rejected"], strict=True)
    )
    assert rows.at["misquoted lesions", "first_problems"].startswith("quote_not_found")
    assert rows.at["cut lesions", "first_problems"] == "the reply was cut off"
    assert (
        rows.at["broken lesions", "problems"]
        == "no item can be read in the reply\nafter repair: no item can be read in the reply"
    )
    assert "refused" in rows.at["refused lesions", "problems"]
    assert "no such luck" in rows.at["lesions down", "error"] and rows.at["lesions down", "repair_reply"] == ""
    assert {"length_ratio", "short_option"} <= {
        p.split(" (")[0] for p in rows.at["long key lesions", "problems"].split("\n")
    }
    assert rows.at["again cord", "problems"].startswith(("exact_duplicate", "near_duplicate"))
    # What is accepted is sound, shuffled by the seed, and quoted where it says.
    assert [i.id for i in written.items] == rows.loc[rows["outcome"] != "rejected", "item_id"].tolist()
    assert exam.audit(written.items, chunks=index.texts).empty
    for one in written.items:
        assert one.order_seed == 5 and one.options[one.key_number].endswith("two")
        for e in one.evidence:
            assert " ".join(index.texts[e.chunk][e.start : e.end].split()) == e.quote
    assert writing.outcomes(written.drafts).iloc[0].tolist() == ["hard", 9, 2, 2, 5]
    assert writing.funnel(written.drafts)["n"].tolist() == [9, 9, 8, 4]
    # Every prompt was sent once: writing for all nine, repair for what came back.
    assert sum(s.body["messages"][0]["content"].startswith("You repair") for s in model.server.requests) == 5
    sent = {s.body["temperature"] for s in model.server.requests}
    assert sent == {0.3, 0.1}


def test_synthesis_needs_two_sources(index, model):
    few = corpus.Index(index.chunks[index.chunks["file"] == "mimics.md"])
    made = writing.tasks(planned("lesions"), few, {"synthesis": 1})
    written = writing.write(model, made, few, progress=False)
    assert (
        written.drafts["problems"].tolist() == ["fewer than two sources were retrieved"] and model.server.count() == 0
    )
    written = writing.write(model, writing.tasks(planned("lesions"), index, {"synthesis": 1}), index, progress=False)
    assert written.items[0].label == "synthesis" and len(written.items[0].sources) > 1


def test_a_rule_that_is_no_flag(index, model):
    with pytest.raises(ValueError, match="did you mean 'phrasing'"):
        writing.write(model, [], index, reject=["phrasng"])
    with pytest.raises(ModelError, match="a list of flags"):
        writing.write(model, [], index, repair="schema")


LINES = """Question: Where do lesions lie?
A) In the cord
B) In the nerve,
as a rule
C) In the cortex
D) In the bone

Answer: B) In the nerve
Explanation: It is
said so.
Evidence: "They lie there."
Question: Another?"""


@pytest.mark.parametrize(
    "reply",
    [
        LINES,
        LINES.replace("Question:", "**Question:**").replace("Answer", "Correct answer"),
        LINES.replace("Answer: B", "The correct answer is B"),
    ],
)
def test_labelled_lines_are_read(reply):
    found = drafts.read_draft(reply).value
    assert found["options"] == ["In the cord", "In the nerve, as a rule", "In the cortex", "In the bone"]
    assert (found["answer"], found["explanation"]) == ("B) In the nerve", "It is said so.")
    assert found["evidence"] == [{"passage": None, "quote": "They lie there."}]


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"options": ["a", "b", "c", "d"], "answer": "c"}, "C"),
        ({"options": {"A": "x", "B": "y", "C": "z", "D": "w"}, "answer": "y"}, "B"),
        ({"options": ["A. x", "B. y", "C. z", "D. w"], "answer": "D. w"}, "D"),
        ({"A": "x", "B": "y", "C": "z", "D": "w", "answer": "Option A"}, "A"),
        ({"options": ["x", "y", "z", "w"], "answer": "none"}, ""),
        ({"options": ["x", "y", "z", "w"], "answer": "D) y"}, ""),  # which of the two is meant?
        ({"options": ["x", "y", "z", "w"], "answer": "(b) as is known"}, "B"),
        ({"options": ["x", "y", "y", "y"], "answer": "D) y"}, "D"),  # its own words, which others share
        ({"options": ["x", "y", "y", "w"], "answer": "D) y"}, ""),
    ],
)
def test_keys_are_letters(given, key, index):
    found = drafts.read_draft(json.dumps({"question": "What?"} | given)).value
    made = drafts.as_item(found, drafts.Task("T", "s", "easy"), index)
    assert (made.key if made.key_number >= 0 else "") == key and all(
        not o.startswith(("A.", "B.")) for o in made.options
    )


@pytest.mark.parametrize("reply", ["", None, "Nothing here.", '{"question": "What?"}', "Question: What?\nAnswer: A"])
def test_what_is_no_item(reply):
    assert drafts.read_draft(reply).value is None


@pytest.mark.parametrize(
    ("words", "span"),
    [
        ("follow medullary\n veins", (5, 28)),
        ("They … veins", (0, 28)),
        ("“FOLLOW medullary”", (5, 22)),
        ("veins … They", None),
        ("follow medull", None),
        ("", None),
    ],
)
def test_locate(words, span):
    assert drafts.locate(words, "They follow  medullary veins.") == span


# --- the screen ----------------------------------------------------------------------------------------------------------------------


def test_the_screen_rejects_what_is_major(index, model):
    texts = {"c1": "They follow medullary veins."}
    items = [
        item(),
        item(explanation="a twofold matter"),
        item(explanation="mute"),
        item(evidence=(Evidence("gone", "x"),)),
    ]
    contexts = consistency.gold(items, texts, index, k=3)
    assert [c["context"] for c in contexts] == ["stored"] * 3 + ["fresh"]
    assert len(contexts[3]["passages"].split("; ")) <= 3
    verdicts = consistency.verdicts(model, items, contexts, progress=False)
    assert verdicts["verdict"].tolist() == ["pass", "major", "unread", "pass"]
    assert verdicts["shown"].tolist()[:3] == [""] * 3 and "Passage 1:" in verdicts["shown"].iloc[3]
    assert {s.body["temperature"] for s in model.server.requests} == {0.0}
    flags = exam.audit(items)
    decided = screen.decide(items, flags, [], verdicts)
    assert (
        decided["kept"].tolist() == [True, False, True, True]
        and decided["reasons"].tolist()[1] == "major inconsistency"
    )
    assert screen.decide(items, flags, [], verdicts, unread="reject")["kept"].tolist() == [True, False, False, True]
    bare = consistency.verdicts(model, items[3:], consistency.gold(items[3:], {}), progress=False)
    assert bare["status"].tolist() == ["undefined"] and bare["verdict"].tolist() == ["unread"]


GOOD = dict.fromkeys(consistency.CHECKS, True) | {"severity": "none", "reason": "Fine."}


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "pass"),
        ({"severity": "minor"}, "minor"),
        ({"severity": "major"}, "major"),
        ({"unique": False}, "major"),
        ({"unique": False, "severity": "minor"}, "minor"),
        ({"answerable": "no", "severity": ""}, "major"),
        ({"answerable": "yes"}, "pass"),
        ({"answerable": None}, None),
    ],
)
def test_verdicts(changes, verdict):
    parsed = consistency.read_verdict(json.dumps(GOOD | changes))
    assert (parsed.value or {}).get("verdict") == verdict
    assert parsed.status == ("scored" if verdict else "unparsable")


def test_verdicts_in_lines():
    parsed = consistency.read_verdict(
        "answerable: yes\nkey_agrees: yes\nexplanation_agrees: No.\nunique: true\nseverity: minor"
    )
    assert parsed.value["verdict"] == "minor" and parsed.value["explanation_agrees"] is False


def test_builders_are_marked_in_a_panel():
    panel = ["openai/gpt-5-mini", "Other = local/smollm2|answer|chat|closed"]
    table = consistency.overlap(panel, ["openai/GPT-5-mini@http://x/v1", "none"])
    assert table["overlaps"].tolist() == [True, False] and table["endpoint"].tolist() == ["openai/gpt-5-mini", "Other"]
    assert consistency.overlap_sentence(table, []).startswith("1 of the 2 endpoints")
    assert consistency.overlap_sentence(consistency.overlap([], []), ["x", "none"]).endswith("left out would be: x")


def test_a_recorded_endpoint_is_known_by_the_model_that_answered(tmp_path, monkeypatch):
    from factlab import runs
    from factlab.studies.ms_exam_gen.banks import sample_bank

    for folder in ("notebooks", "params"):
        (tmp_path / folder).mkdir()
    monkeypatch.chdir(tmp_path)
    run = runs.open("outputs/ms_exam_gen/test", "ms_exam_gen/40_audit")
    panel = [
        "recorded/SmolLM2 choose open",
        "recorded/longest option",
        "MiniLM stem = local/minilm|-|similarity|closed",
    ]
    found = consistency.recorded(run, panel, "", sample_bank())
    table = consistency.overlap(panel, ["local/smollm2"], found)
    assert table["model"].tolist() == ["local/smollm2", "longest", "local/minilm"]
    assert table["overlaps"].tolist() == [True, False, False]
    assert len(consistency.overlap(["recorded"], ["local/smollm2"], found)) == len(found) == 12
    assert consistency.recorded(run, panel[2:], "no such file", []) == []


def test_planted_faults_of_the_sample_are_found():
    from factlab.studies.ms_exam_gen.banks import sample_bank

    items = sample_bank()
    documents, _ = read_corpus(SAMPLE, references="keep")
    flags = exam.audit(items, chunks={d.file: d.text for d in documents})
    decided = screen.decide(items, flags, screen.EXCLUDE)
    table = screen.planted(items, decided).set_index("fault")
    assert table["items"].sum() == 96 and table.loc["(none built in)"].tolist()[:3] == [80, 0, 0]
    assert table.at["two right options", "flagged"] == 0 and table.at["trivia", "put_out"] == 2
    assert table.at["near duplicate", "flagged"] == 2 and table.at["near duplicate", "put_out"] == 0
    assert (decided["flags"] != "").sum() == 13 and decided["kept"].sum() == 85


def test_the_probe_before_and_after():
    before = bank(160, planted=1.0)
    found = cue_stages.cues({"after": before, "kept": bank(160), "first": []}, permutations=19).set_index(
        ["stage", "cue"]
    )
    assert found.at[("after", "structure"), "value"] > 0.8 and found.at[("after", "structure"), "p"] == 0.05
    assert found.at[("kept", "structure"), "value"] < 0.45
    assert (
        found.at[("first", "structure"), "status"] == "undefined"
        and found.at[("first", "structure"), "reason"] == "no items"
    )
    table = cue_stages.cue_table(found.reset_index())
    assert table["cue"].tolist() == ["structure", "both", "longest_key"] and {"after_low", "n_kept"} <= set(table)
    assert table["chance_kept"].tolist()[:2] == [0.25, 0.25] and table["chance_kept"][2] < 0.25
    said = cue_stages.cue_sentence(found.reset_index())
    assert "no items" in said and "% of 160 keys" in said.replace(" %", "%") and "%" not in said.replace(" %", "")
    assert set(cue_stages.in_words(found.reset_index())["bank"]) == set(cue_stages.STAGES.values())


def test_a_handful_of_items_is_not_probed():
    few, enough = bank(19), bank(20)
    found = cue_stages.cues({"after": few, "kept": []}, permutations=0)
    assert found["status"].tolist() == ["undefined", "undefined", "scored"] + ["undefined"] * 3
    assert found["reason"].iloc[0] == "19 items, fewer than 20" and not cue_stages.probed(found)
    assert cue_stages.cue_sentence(found).startswith("no probe for cues")
    assert cue_stages.probed(cue_stages.cues({"after": enough}, permutations=0))
    flags = exam.audit(few)
    decided = screen.decide(few, flags, []).assign(kept=False)
    notes = screen.warnings(few, decided, flags, found, "none", "", "run")
    assert notes[0].startswith("No item stays") and notes[-1].startswith("The probe for cues was not made")
    found = cue_stages.cues({"after": bank(40), "kept": []}, permutations=0)
    notes = screen.warnings(few, decided, flags, found, "none", "", "run")
    assert notes[-1].startswith("The probe learns from 40 items")  # of the last stage that has any


def test_what_a_bank_of_ones_own_has_nowhere_puts_no_item_out():
    items = [
        exam.Item(f"Which lesion is number {n}?", (f"a {n}", f"b {n}", f"c {n}", f"d {n}"), "A") for n in range(4)
    ] + [exam.Item("Which?", ("a", "b", "c"), "A")]
    flags = exam.audit(items)
    decided = screen.decide(items, flags, ["schema"], origin="file")
    assert decided["kept"].tolist() == [True] * 4 + [False] and screen.reasons(decided) == "option_count 1"
    assert not screen.decide(items, flags, ["schema"])["kept"].any(), "items that a run wrote have to have them"
    named = screen.decide(items, flags, ["schema", "no_evidence"], origin="file")
    assert screen.reasons(named) == "no_evidence 5, option_count 1"
    assert "0 of 5 items stay (put out by no_evidence 5" in screen.sentence(items, named)
    found = cue_stages.cues({"after": items}, permutations=0)
    notes = screen.warnings(items, decided, flags, found, "none", "", "file", ["schema"])
    assert notes[0].startswith("Every item of this bank is flagged no_metadata, no_explanation, no_evidence")
    some = [*items, item()]
    assert screen.decide(some, exam.audit(some), ["schema"], origin="file")["kept"].tolist() == [False] * 5 + [True]


def test_a_screener_finds_passages_without_an_index_of_the_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "params").mkdir()
    run = runs.open("outputs/ms_exam_gen/test", "ms_exam_gen/40_audit")
    told = ("bm25", "numpy", "cache", None)
    assert screen.index(run, "", "file", *told) is None
    assert len(screen.index(run, "", "sample", *told).texts) > 50
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("# Veins\n\nThey run through lesions.\n")
    assert list(screen.index(run, "notes", "file", *told).texts.values()) == ["# Veins\n\nThey run through lesions.\n"]
    items = [exam.Item("Which?", ("a", "b", "c", "d"), "A")]
    verdicts = consistency.verdicts(None, items, consistency.gold(items, {}))
    decided = screen.decide(items, exam.audit(items), [], verdicts)
    notes = screen.warnings(
        items, decided, exam.audit(items), cue_stages.cues({"after": items}, permutations=0), "m", "", "file"
    )
    assert any("1 without a passage to judge by" in note for note in notes)


def test_what_is_left_out_is_named_with_its_question():
    items = [item(), item(question="In which year was the study of lesions published?")]
    flags = exam.audit(items)
    out = screen.left_out(items, screen.decide(items, flags, ["trivia"]))
    assert out["question"].tolist() == [items[1].question] and out["reasons"].tolist() == ["trivia"]
    told = screen.flag_counts(flags)
    assert told.set_index("flag").at["a question about a publication", "items"] == 1


def test_quotes_that_were_found_and_that_were_not(index, model):
    made = writing.tasks(planned("lesions sound"), index, {"hard": 1})
    written = writing.write(model, made, index, progress=False)
    assert "its passage was checked" in writing.warnings(written, "x", "json")[-1]
    lost = [replace(i, evidence=tuple(replace(e, start=None, end=None) for e in i.evidence)) for i in written.items]
    said = writing.warnings(replace(written, items=lost), "x", "json")[-1]
    n = sum(len(i.evidence) for i in lost)
    assert f"{n} of {n} quotes do not stand" in said and "was checked" not in said
    bare = writing.warnings(replace(written, items=[replace(i, evidence=()) for i in lost]), "x", "json")
    assert bare[-1].endswith("Nothing is quoted in support.")


def test_a_checklist_of_the_subtopics_says_nothing(index):
    found, _ = topics.gather(index, topics.SEEDS[:4])
    made = topics.from_documents(found, index)
    covered = topics.coverage(made, topics.SEEDS[:4])
    calls = pd.DataFrame(columns=["step", "reply", "status", "error", "subtopics"])
    notes = topics.warnings(made, covered, found, calls, "documents")
    assert "checklist" not in topics.sentence(made, covered)
    assert any("says nothing" in note for note in notes) and "4 seeded queries: the paper has 18." in notes
    other = topics.coverage(made, ["optic nerve"])
    assert "of 1 concepts of the checklist" in topics.sentence(made, other)
    assert not any("says nothing" in note for note in topics.warnings(made, other, found, calls, "documents"))


def test_split_sentences_in_words():
    assert corpus.split_sentence((0, 210)) == "every sentence stands whole in some passage"
    assert corpus.split_sentence((3, 1210)) == "3 of 1,210 sentences stand whole in no passage"


def test_an_empty_bank_is_said_and_breaks_nothing():
    flags = exam.audit([])
    decided = screen.decide([], flags, screen.EXCLUDE)
    found = cue_stages.cues({"after": [], "kept": []})
    assert screen.warnings([], decided, flags, found, "none", "", "run")[-1] == "There are no items to audit."
    assert screen.sentence([], decided).startswith("0 of 0 items")


# --- another subject, end to end -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.released
def test_an_exam_from_articles_end_to_end(released, tmp_path, monkeypatch):
    """Headless: 10 to 40 on the articles of PubMed Central, with a scripted builder for every role."""
    import papermill

    notebooks = Path(__file__).resolve().parents[1] / "notebooks" / "ms_exam_gen"
    for folder in ("notebooks", "params"):  # a checkout of its own: nothing of it lands in ours
        (tmp_path / folder).mkdir()
    monkeypatch.chdir(tmp_path)
    with Server(reply=builder) as server:
        name = f"openai/tiny@{server.url}"
        shared = {"run_dir": str(tmp_path / "run"), "retriever": "bm25"}
        given = {
            "10_index_corpus": {"sources": str(released / "pmc"), "whole_sentences": True},
            "20_topics": {"field": "research articles", "seeds": ["pancreatic cancer", "gene expression", "graphene sensors", "azo dye"], "taxonomy": "model", "builder": name, "per_call": 60},
            "30_write_items": {"builder": name, "per_subtopic": {"easy": 1, "hard": 1, "synthesis": 1}, "form": "json", "write_tokens": 1024, "most_items": 0, "snippet_chars": 0},
            "40_audit": {"screener": name, "panel": [name, "local/smollm2"], "cue_permutations": 0},
        }  # fmt: skip
        for step, parameters in given.items():
            papermill.execute_notebook(
                notebooks / f"{step}.ipynb", tmp_path / f"{step}.ipynb", parameters | shared, progress_bar=False
            )
    tables = {p.stem: pd.read_parquet(p) for p in (tmp_path / "run" / "tables").glob("*.parquet")}
    assert len(tables["chunks"]) == 368 and tables["manifest"]["included"].sum() == 13
    items = exam.from_table(tables["items"])
    assert items and {i.label for i in items} >= {"easy", "hard"}
    assert exam.audit(items, chunks=tables["chunks"]).query("group == 'evidence'").empty
    assert set(tables["screen"]["verdict"]) == {"pass"} and exam.lock(items).hash
    metrics = places.read_json(tmp_path / "run" / "metrics.json")
    assert metrics["40_audit"]["metrics"]["overlap"] == [name]
