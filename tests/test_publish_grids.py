"""The runs of a grid on the site, under the run that compares them, and the files that a run offers for use elsewhere."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import lxml.html
import pytest

from factlab import publish
from factlab.publish import downloads

KEY = "sk-proj-A1b2C3d4E5f6G7h8I9j0"
HOSTILE = "<script>stolen()</script><img src=x onerror=alert(1)>\"'"


def write_run(outputs: Path, name: str, value: float | None = None, metrics: Any = None, **run: Any) -> Path:
    """A run of DAHL in `outputs/dahl/<name>`; with a value it has a score."""
    folder = outputs / "dahl" / name
    folder.mkdir(parents=True, exist_ok=True)
    if value is not None:
        score = {
            "value": value,
            "low": value - 0.1,
            "high": value + 0.1,
            "n": 40,
            "unit": "answers",
            "status": "scored",
        }
        metrics = {"30_score": {"title": "DAHL score", "headline": score}}
    (folder / "run.json").write_text(json.dumps({"paper": "dahl", "name": name, "status": "done"} | run))
    (folder / "metrics.json").write_text(json.dumps(metrics or {}))
    return folder


@pytest.fixture
def outputs(tmp_path: Path) -> Path:
    """A grid of four arms (two done, one failed, one gone), the run that compares them, and a run that stands alone."""
    outputs = tmp_path / "outputs"
    given = {"subject": "local/smollm2", "temperature": 0.2, "max_tokens": 256, "limit": None, "api_key": KEY}
    write_run(outputs, "sweep-aa", 0.41, parameters=given)
    write_run(outputs, "sweep-bb", 0.52, parameters=given | {"temperature": 0.4, "limit": 20})
    failed = {"30_score": {"status": "failed", "error": {"name": "ValueError", "message": "no verdict"}}}
    write_run(outputs, "sweep-cc", parameters=given | {"temperature": 0.6}, status="failed", steps=failed)
    arms = [f"outputs/dahl/sweep-{arm}" for arm in ("bb", "aa", "cc", "dd")]
    write_run(outputs, "sweep", 0.47, compares=arms, parameters={"seed": 0})
    write_run(outputs, "alone", 0.3, parameters=given)
    return outputs


def page(outputs: Path, name: str = "") -> lxml.html.HtmlElement:
    path = outputs / "site" / (f"dahl/{name}/index.html" if name else "index.html")
    return lxml.html.fromstring(path.read_text(encoding="utf-8"))


def cards(outputs: Path) -> list[str]:
    return sorted(page(outputs).xpath("//article//h3/a/text()"))


def said(element: lxml.html.HtmlElement) -> str:
    return " ".join(element.text_content().split())


def listed(within: lxml.html.HtmlElement) -> list[str]:
    return [said(li) for li in within.xpath(".//ul[@class='arms']/li")]


ARMS = [
    "temperature 0.4, limit 20 sweep-bb DAHL score 0.52 95 % interval 0.42 to 0.62 done",
    "temperature 0.2, limit not set sweep-aa DAHL score 0.41 95 % interval 0.31 to 0.51 done",
    "temperature 0.6, limit not set sweep-cc Score: failed (ValueError: no verdict) failed",
    "sweep-dd not among the runs of this paper missing",
]


# The runs of a grid -----------------------------------------------------------------------------------------------


def test_the_index_lists_the_arms_under_the_run_that_compares_them(outputs):
    assert publish.report(outputs).runs == 5
    assert cards(outputs) == ["alone", "sweep"]
    (card,) = page(outputs).xpath("//article[.//h3/a[text()='sweep']]")
    assert listed(card) == ARMS
    assert said(card.xpath(".//details[@open]/summary")[0]) == "4 runs compared 2 done, 1 failed, 1 missing"
    assert not page(outputs).xpath("//article[.//h3/a[text()='alone']]//ul[@class='arms']")


def test_the_comparing_run_lists_its_arms_and_each_arm_leads_back(outputs):
    publish.build(outputs)
    assert listed(page(outputs, "sweep").get_element_by_id("compared")) == ARMS
    for arm in ("sweep-aa", "sweep-bb", "sweep-cc"):
        assert page(outputs, arm).xpath("//main/header/p/a/@href") == ["../sweep/index.html"]
        assert not listed(page(outputs, arm))
    assert not page(outputs, "alone").xpath("//main/header/p/a")


def test_every_link_of_a_list_leads_to_a_page(outputs):
    publish.build(outputs)
    for name in ("", "sweep"):
        where = outputs / "site" / (f"dahl/{name}" if name else "")
        links = page(outputs, name).xpath("//ul[@class='arms']//a/@href")
        assert len(links) == 3 and all((where / link).resolve().is_file() for link in links)


def test_the_index_counts_every_run_of_a_paper(outputs):
    (outputs / "lext/one/notebooks").mkdir(parents=True)
    publish.build(outputs)
    assert [said(li) for li in page(outputs).xpath("//nav[@class='papers']//li")] == ["LExT 1 run", "DAHL 5 runs"]


def test_a_long_list_is_folded(outputs):
    for i in range(12):
        write_run(outputs, f"long-{i}", 0.5)
    write_run(outputs, "long", compares=[f"outputs/dahl/long-{i}" for i in range(12)])
    publish.build(outputs)
    assert page(outputs).xpath("//article[.//h3/a[text()='long']]//details[not(@open)]//ul[@class='arms']")


def test_arms_without_a_comparing_run_stay_cards(outputs):
    shutil.rmtree(outputs / "dahl/sweep")
    publish.build(outputs)
    assert cards(outputs) == ["alone", "sweep-aa", "sweep-bb", "sweep-cc"]


def test_an_arm_that_is_half_written_is_listed_by_its_name(outputs):
    for name, text in (("sweep-aa", '{"status": "do'), ("sweep-bb", "[]")):
        (outputs / f"dahl/{name}/run.json").write_text(text)
    (outputs / "dahl/sweep-cc/run.json").unlink()
    publish.build(outputs)
    assert cards(outputs) == ["alone", "sweep"]
    assert [line.split(" DAHL")[0] for line in listed(page(outputs, "sweep"))] == [
        "sweep-bb",
        "sweep-aa",
        "sweep-cc run.json is missing: the run was stopped early, or an older version made it not recorded",
        ARMS[3],
    ]


@pytest.mark.parametrize(
    "compares",
    [
        None, 7, True, "x", "", [], {}, {"outputs/dahl/sweep-aa": 1}, [None, 3, ["outputs/dahl/sweep-aa"], {}], [""], ["/"],
        ["."], ["sweep-aa"], ["outputs/dahl"], ["outputs/dahl/.."], ["outputs/dahl/../dahl/sweep-aa"], ["/etc/passwd"],
        ["../outputs/dahl/sweep-aa"], ["outputs/lext/sweep-aa"], ["outputs/dahl/sweep-aa/tables"], ["outputs/dahl/x\x00y"],
        ["outputs\\dahl\\sweep-aa"], ["\ud800"], ["outputs/dahl/odd"], [HOSTILE], [f"outputs/dahl/{HOSTILE}"],
    ],
    ids=repr,
)  # fmt: skip
def test_whatever_else_compares_holds_hides_no_run_and_breaks_no_page(outputs, compares):
    shutil.rmtree(outputs / "dahl/sweep")
    write_run(outputs, "odd", 0.5, compares=compares)
    publish.build(outputs)
    assert cards(outputs) == ["alone", "odd", "sweep-aa", "sweep-bb", "sweep-cc"]
    for shown in (page(outputs), page(outputs, "odd")):
        assert all(line.endswith("not among the runs of this paper missing") for line in listed(shown))
        assert not shown.xpath("//ul[@class='arms']//a | //img | //@onerror") and len(shown.xpath("//script")) == 1


def test_runs_that_compare_each_other_both_keep_their_cards(outputs):
    for one, other in (("egg", "hen"), ("hen", "egg")):
        write_run(outputs, one, 0.5, compares=[f"outputs/dahl/{name}" for name in (other, other, one)])
    publish.build(outputs)
    assert cards(outputs) == ["alone", "egg", "hen", "sweep"]
    assert len(listed(page(outputs, "egg"))) == 1


def test_what_an_arm_says_of_itself_is_text_on_the_page(outputs):
    arm = {"30_score": {"title": HOSTILE, "headline": {"value": None, "reason": HOSTILE}}}
    write_run(outputs, "sweep-aa", parameters={HOSTILE: HOSTILE, "temperature": [HOSTILE, {"a": None}]}, status=HOSTILE, metrics=arm)  # fmt: skip
    publish.build(outputs)
    for shown in (page(outputs), page(outputs, "sweep")):
        assert not shown.xpath("//img | //@onerror") and len(shown.xpath("//script")) == 1
        assert listed(shown)[1].count("<script>stolen()</script>") >= 4
        assert KEY not in lxml.html.tostring(shown, encoding="unicode")


@pytest.mark.parametrize(
    ("change", "rendered", "shown"),
    [
        (lambda o: write_run(o, "sweep-aa", 0.77, parameters={"temperature": 0.2}), 2, "DAHL score 0.77"),
        (lambda o: write_run(o, "sweep-dd", 0.66, parameters={"temperature": 0.8}), 2, "temperature 0.8"),
        (lambda o: shutil.rmtree(o / "dahl/sweep-aa"), 1, "sweep-aa not among the runs"),
        (lambda o: (o / "dahl/sweep-bb/notes.json").write_text("{}"), 1, ARMS[0]),  # nothing that is shown elsewhere
        (lambda o: write_run(o, "alone", 0.9), 1, ARMS[0]),
    ],
    ids=["score", "new arm", "gone arm", "other file", "another run"],
)
def test_a_change_of_an_arm_renders_what_shows_it(outputs, change, rendered, shown):
    assert publish.report(outputs).rendered == 5
    assert publish.report(outputs).rendered == 0
    change(outputs)
    assert publish.report(outputs).rendered == rendered
    for where in (page(outputs), page(outputs, "sweep")):
        assert shown in " ".join(listed(where))


def test_an_arm_forgets_a_comparison_that_is_gone(outputs):
    publish.build(outputs)
    shutil.rmtree(outputs / "dahl/sweep")
    assert publish.report(outputs).rendered == 3
    assert not page(outputs, "sweep-aa").xpath("//main/header/p/a")


# Files for use elsewhere ------------------------------------------------------------------------------------------


def offered(outputs: Path) -> dict[str, str]:
    """The files on the page of the run `alone`: address and size."""
    items = page(outputs, "alone").xpath("//section[@id='downloads']//li[a[starts-with(@href, 'files/')]]")
    return {li.find("a").get("href"): said(li.find("span")) for li in items}


def test_text_files_are_downloads_without_keys_or_folders(outputs):
    folder = outputs / "dahl/alone/files"
    folder.mkdir()
    (folder / "review.csv").write_bytes(f'id,reply\r\n1,"é {KEY}"\r\n2,{outputs}/dahl/alone\r\n'.encode())
    (folder / "preferences & more.jsonl").write_text('{"chosen": "a"}\n')
    (folder / ".review.csv.1-2.part").write_text("half")
    assert publish.report(outputs).warnings == ()
    assert offered(outputs) == {"files/preferences%20%26%20more.jsonl": "16 bytes", "files/review.csv": "65 bytes"}
    copied = outputs / "site/dahl/alone/files"
    assert sorted(p.name for p in copied.iterdir()) == ["preferences & more.jsonl", "review.csv"]
    got = (copied / "review.csv").read_bytes()
    assert got.decode() == 'id,reply\r\n1,"é [key removed]"\r\n2,[checkout]/outputs/dahl/alone\r\n' and len(got) == 65


def test_what_is_no_text_or_too_large_is_left_out_with_a_warning(outputs, monkeypatch):
    monkeypatch.setattr(downloads, "LARGEST_FILE", 1000)
    folder = outputs / "dahl/alone/files"
    (folder / "deeper").mkdir(parents=True)
    (folder / "a.bin").write_bytes(b"text\x00text")
    (folder / "b.csv").write_bytes("é".encode("latin-1"))
    (folder / "c.csv").write_text("x" * 1001)
    (folder / "d.csv").write_text("x" * 1000)
    (folder / "e\u202e.csv").write_text("x")
    report = publish.report(outputs)
    assert list(report.warnings) == [
        "dahl/alone/files/a.bin is not text and is left out",
        "dahl/alone/files/b.csv is not text (UTF-8) and is left out",
        "dahl/alone/files/c.csv is larger than 1 kB and is left out",
        "dahl/alone/files/e.csv has a name that no page can hold and is left out",
    ]
    assert "files/d.csv" in offered(outputs) and len(offered(outputs)) == 1
    assert "files/b.csv is not text" in said(page(outputs, "alone").get_element_by_id("distrust"))


@pytest.mark.skipif(os.name == "nt", reason="such names cannot be given there")
def test_whatever_a_file_is_called_breaks_no_page(outputs):
    folder = outputs / "dahl/alone/files"
    folder.mkdir()
    (folder / HOSTILE.replace("/", "")).write_text("x")
    publish.build(outputs)
    shown = page(outputs, "alone")
    assert len(offered(outputs)) == 1 and not shown.xpath("//img | //@onerror") and len(shown.xpath("//script")) == 1
    try:
        Path(os.fsdecode(os.fsencode(folder) + b"/\xff.csv")).write_text("x")
    except OSError:
        pytest.skip("the file system wants names that are text")
    assert "files/.csv has a name" in publish.report(outputs).warnings[0]


def test_a_changed_file_renders_its_run_anew(outputs):
    folder = outputs / "dahl/alone/files"
    folder.mkdir()
    (folder / "review.csv").write_text("a")
    publish.build(outputs)
    (folder / "review.csv").write_text("bb")
    assert publish.report(outputs).rendered == 1
    assert (outputs / "site/dahl/alone/files/review.csv").read_text() == "bb"
    shutil.rmtree(folder)
    publish.build(outputs)
    assert offered(outputs) == {} and not (outputs / "site/dahl/alone/files").exists()
    assert "Files for use elsewhere" not in said(page(outputs, "alone"))


def test_a_large_file_is_redacted_in_time_that_grows_with_its_size(outputs):
    folder = outputs / "dahl/alone/files"
    folder.mkdir()
    (folder / "rules.txt").write_text("a-" * 100_000 + f" my-api-key='{KEY[8:]}'")
    began = time.monotonic()
    publish.build(outputs)
    assert time.monotonic() - began < 20  # a search that goes back over what it has read takes minutes here
    assert (outputs / "site/dahl/alone/files/rules.txt").read_text().endswith("a- my-api-key='[key removed]'")
