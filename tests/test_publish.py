"""The static site: what a reader finds on the pages, and what must never get there."""

from __future__ import annotations

import json
import logging
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import lxml.html
import nbformat
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from factlab import publish
from factlab.publish import clean, pictures, records, words
from factlab.publish.redact import REMOVED, Redactor, for_machine

KEY = "sk-proj-A1b2C3d4E5f6G7h8I9j0"
HOSTILE = (
    "<script>window.stolen=1</script><img src=https://evil.example/beacon.png onerror=alert(1)>"
    "<iframe src=https://evil.example></iframe><svg onload=alert(1)><a xlink:href='javascript:alert(1)'>x</a></svg>"
    "<a href='jav\tascript:alert(1)' onclick=alert(1)>free money</a><style>body{background:url(https://evil.example/x)}</style>"
    "<form action=https://evil.example><input autofocus onfocus=alert(1)></form><b>bold reply</b>"
)
PNG = (
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89"
    b"\x00\x00\x00\rIDATx\x9cc\xf8\xff\xff?\x00\x05\xfe\x02\xfe\xa75\x81\x84\x00\x00\x00\x00IEND\xaeB`\x82"
)

GENERATE = [
    new_markdown_cell("# Questions put to the model\n\nThe bare question, as in section 3.2.", id="title"),
    new_code_cell(
        'run_dir: str = ""  # folder of this run; empty: the recorded sample\n'
        "temperature: float = 0.6  # sampling temperature\n"
        "limit: int | None = None  # how many questions; empty: all",
        id="parameters",
        metadata={"tags": ["parameters"]},
    ),
    new_code_cell(
        'run_dir = "{run_dir}"\ntemperature = 0.2\nlimit = None\n',
        id="injected",
        metadata={"tags": ["injected-parameters"]},
    ),
    new_code_cell("import pandas as pd\nimport sys", id="imports"),
    new_markdown_cell(
        "## What was asked\n\nSee [the score](30_score.ipynb) and [the paper](https://aclanthology.org/).", id="asked"
    ),
    new_code_cell(
        "rows = pd.DataFrame({'question': ['What does the loop of Henle do?', 'Name three causes of hyponatraemia.'],\n"
        "                     'reply': ['It concentrates urine. ' * 12, None], 'status': ['scored', 'refused'],\n"
        "                     'characters': [276, float('nan')], 'at': [pd.Timestamp('2025-06-03'), pd.NaT]})\nrows",
        id="asked-table",
    ),
    new_code_cell(
        "print('58 questions'); print('\\x1b[31mred\\x1b[0m words'); print('10%\\r100%', file=sys.stderr)", id="says"
    ),
    new_markdown_cell("## What was asked\n\nThe same heading twice has two places.", id="again"),
    new_code_cell("rows.characters", id="series"),
]
SCORE = [
    new_markdown_cell(
        "# How much of what the model wrote is true?\n\nDAHL, section 3.3: `a < b` & $p < 0.05$.", id="title"
    ),
    new_code_cell(
        "import base64, pathlib\nimport numpy as np\nimport matplotlib\nmatplotlib.use('agg')\nimport matplotlib.pyplot as plt\n"
        "from IPython.display import HTML, Markdown, display\nfolder = pathlib.Path(r'{run_dir}')",
        id="imports",
    ),
    new_markdown_cell("## Verdicts", id="verdicts"),
    new_code_cell(
        "class Estimate:\n    def _repr_html_(self):\n"
        '        return \'<span class="estimate" title="95 % interval">0.41 [0.35, 0.47], 49 answers, 9 left out</span>\'\nEstimate()',
        id="estimate",
    ),
    new_code_cell(
        "fig, ax = plt.subplots(figsize=(7.2, 4.2), dpi=110, layout='constrained')\n"
        "names = ['Anatomy', 'Cardiology', 'Genetics', 'Immunology', 'Neurology', 'Oncology', 'Pharmacology']\n"
        "x = np.array([.28, .33, .38, .41, .46, .52, .58])\n"
        "ax.errorbar(x, names, xerr=.09, fmt='o', color='#0a6560', ecolor='#8cc3bd', elinewidth=5)\n"
        "ax.set(xlim=(0, 1), xlabel='factual precision (95 % interval)')\n[ax.spines[s].set_visible(False) for s in ('top', 'right')]\n"
        "(folder / 'figures').mkdir(exist_ok=True)\n"
        "for kind in ('png', 'svg'):\n    fig.savefig(folder / 'figures' / f'by_category.{{kind}}')\nplt.close(fig)\n"
        "data = base64.b64encode((folder / 'figures' / 'by_category.png').read_bytes()).decode()\n"
        "display({{'image/png': data}}, raw=True, metadata={{'image/png': {{'alt': 'Precision by category, from 0.28 in anatomy to "
        "0.58 in pharmacology.', 'caption': 'Precision by category.'}}}})",
        id="by-category",
    ),
    new_code_cell("display({{'image/png': data[:-4] + 'AAAA'}}, raw=True)", id="no-alt"),
    new_code_cell(
        "import pandas as pd\nwide = pd.DataFrame({{f'measure {{i}}': np.linspace(0, 1, 4) * i for i in range(14)}})\nwide",
        id="wide",
    ),
    new_markdown_cell("### By category\n\n| a | b |\n|---|---|\n| 1 | 2 |", id="small"),
    new_code_cell("display(Markdown('**9 of 58** answers were left out.'))", id="words"),
    new_code_cell("raise ValueError('no verdict for unit 7 in ' + str(folder))", id="fails"),
]


def estimate(**changes: Any) -> dict[str, Any]:
    base = {
        "value": 0.412, "low": 0.35, "high": 0.47, "n": 49, "clusters": 12, "unit": "answers", "status": "scored", "reason": "",
        "counts": {"refused": 6, "unknown": 3}, "signature": "dahl|subject:local/smollm2|n:58|seed:0|v:0.1.0",
        "method": "cluster bootstrap, 4000 replicates", "level": 0.95,
    }  # fmt: skip
    return base | changes


def executed(cells: list, folder: Path) -> nbformat.NotebookNode:
    """The cells run in a real kernel, as papermill would leave them."""
    from nbclient import NotebookClient

    nb = new_notebook(metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}})
    for cell in cells:
        copy = nbformat.from_dict(json.loads(json.dumps(cell)))
        if cell in SCORE:
            copy.source = copy.source.replace("{run_dir}", str(folder)).replace("{{", "{").replace("}}", "}")
        else:
            copy.source = copy.source.replace("{run_dir}", str(folder))
        nb.cells.append(copy)
    NotebookClient(nb, kernel_name="python3", timeout=120, allow_errors=True).execute()
    return nb


def write_run(
    outputs: Path, paper: str, name: str, notebooks: Mapping[str, Any], run: Mapping | None, metrics: Mapping | None
) -> Path:
    folder = outputs / paper / name
    for part in ("notebooks", "tables", "figures"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    for step, nb in notebooks.items():
        nbformat.write(nb, folder / "notebooks" / f"{step}.ipynb")
    if run is not None:
        (folder / "run.json").write_text(json.dumps(run))
    if metrics is not None:
        (folder / "metrics.json").write_text(json.dumps(metrics))
    return folder


def recorded(outputs: Path, **changes: Any) -> dict[str, Any]:
    base = {
        "paper": "dahl", "name": "demo", "status": "done", "started": "2025-06-03T14:05:00+00:00",
        "finished": "2025-06-03T14:09:12+00:00", "seconds": 252.3,
        "parameters": {
            "subject": "local/smollm2", "checker": "reference", "temperature": 0.6, "max_tokens": 256, "limit": None,
            "run_dir": str(outputs / "dahl" / "demo"), "api_key": KEY, "base_url": "https://me:pass@host.example/v1",
        },
        "versions": {"python": "3.11.9", "factlab": "0.1.0", "pandas": "3.1.1"},
        "commit": "3f2a1c9d0b7e4a58a6d1c2b3e4f5061728394a5b", "dirty": True,
        "data": {"samples/dahl/questions.csv": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"},
        "prompts": {"dahl/checker": "60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752"},
        "models": {
            "subject/local/smollm2": {"served": "SmolLM2-135M-Instruct", "calls": 58, "cached": 58, "prompt_tokens": 1412,
                                      "completion_tokens": 11873, "usd": 0},
            "checker": {"served": "reference", "calls": 0, "cached": 0, "prompt_tokens": 0, "completion_tokens": 0, "usd": None},
        },
        "steps": {
            "20_generate_responses": {"status": "done", "key": "a1", "seconds": 201.0, "error": None},
            "30_score": {"status": "failed", "key": "b2", "seconds": 51.0,
                         "error": {"cell": "fails", "name": "ValueError", "message": f"no verdict for unit 7 in {outputs}/dahl/demo"}},
        },
        "signature": "dahl|subject:local/smollm2|checker:reference|n:58|seed:0|v:0.1.0",
    }  # fmt: skip
    return base | changes


METRICS = {
    "20_generate_responses": {"title": "Responses", "summary": "58 questions were asked; 52 were answered."},
    "30_score": {
        "headline": estimate(),
        "what": "DAHL score",
        "title": "How much is true?",
        "summary": "41 of 100 atomic units that the model wrote are true.",
        "figure": "figures/by_category.png",
        "alt": "Factual precision by category, from 0.28 in anatomy to 0.58 in pharmacology, each with its interval.",
        "notes": [
            "The checker is a model of 135 million parameters: on 40 labelled claims it agreed with 58 %, little better than chance.",
            "9 of 58 answers (16 %) were left out, more than a tenth.",
            "Each category holds two questions: the intervals by category are wide.",
            "One category has no scored answer.",
        ],
        "metrics": {"mean_length": 204.7, "responses": 58, "precision_first": estimate(value=0.39)},
    },
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An outputs folder with runs of several kinds: a whole one, an empty one, a hostile one, a broken one."""
    outputs = tmp_path_factory.mktemp("checkout") / "outputs"
    demo = outputs / "dahl" / "demo"
    demo.mkdir(parents=True)
    asked, scored = executed(GENERATE, demo), executed(SCORE, demo)
    notebooks = {"20_generate_responses": asked, "30_score": scored}
    write_run(outputs, "dahl", "demo", notebooks, recorded(outputs), METRICS)
    pd.DataFrame({"category": ["Anatomy", "Other"], "precision": [0.28, None]}).to_csv(
        demo / "figures" / "by_category.csv", index=False
    )
    pd.DataFrame({
        "response_id": [1, 2],
        "reply": [f"written to {outputs}/dahl/demo with {KEY}", "a, \"b\"\nc"],
        "units": [["one", "two"], []],
        "verdict": ["true", None],
    }).to_parquet(demo / "tables" / "verdicts.parquet")  # fmt: skip

    write_run(outputs, "dahl", "temperature-1f3a", {}, recorded(outputs, name="temperature-1f3a", steps={}, dirty=False,
              started="2025-06-04T08:00:00+00:00", models={"subject/openai/gpt-4o-mini": {"usd": 0.0312, "calls": 58}}),
              {"30_score": {"title": "DAHL score", "headline": estimate(value=0.9871, low=0.981, high=0.9925, counts={})}})  # fmt: skip
    write_run(outputs, "checkembed", "empty", {}, None, None)
    write_run(outputs, "checkembed", "odd", {"10_ask": hostile_notebook()}, hostile_run(), hostile_metrics())
    write_run(outputs, "lext", "broken", {}, None, None)
    (outputs / "lext/broken/run.json").write_text('{"status": "do')
    (outputs / "lext/broken/metrics.json").write_text(
        '{"10_x": {"headline": {"value": NaN, "n": 1, "reason": "one reply alone"}}}'
    )
    (outputs / "lext/broken/notebooks/10_x.ipynb").write_text('{"cells": [')
    (outputs / "lext/broken/tables/t.parquet").write_text("not parquet")
    (outputs / "cache").mkdir()
    write_run(outputs, "dahl", "interactive", {}, None, METRICS)  # opened by hand: no run
    return outputs


def hostile_notebook() -> nbformat.NotebookNode:
    html = f'<table class="dataframe top"><tr><td>{HOSTILE}</td></tr></table>' + HOSTILE
    return new_notebook(
        cells=[
            new_markdown_cell(f"# Title {HOSTILE}\n\n![beacon](https://evil.example/b.png)\n\n[x](javascript:alert(1))", id="m"),
            new_code_cell(
                "1",
                id="o",
                outputs=[
                    new_output("display_data", data={"text/html": html}),
                    new_output("display_data", data={"text/markdown": f"![b](https://evil.example/b.png) [go](https://evil.example)\n\n{HOSTILE}"}),
                    new_output("stream", name="stdout", text=HOSTILE + "\x1b]8;;https://evil.example\x07link\x1b[0m\x00"),
                    new_output("display_data", data={"application/javascript": "alert(1)", "text/plain": "js"}),
                    new_output("display_data", data={"application/vnd.jupyter.widget-view+json": {"model_id": "1"}}),
                    new_output("display_data", data={"image/svg+xml": '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'}),
                    new_output("display_data", data={"text/latex": HOSTILE}),
                    new_output("display_data", data={"text/plain": HOSTILE}),
                    new_output("error", ename=HOSTILE, evalue=HOSTILE, traceback=[HOSTILE]),
                ],
            ),
        ]
    )  # fmt: skip


def hostile_run() -> dict[str, Any]:
    step = {"10_ask": {"status": HOSTILE, "error": {"cell": HOSTILE, "name": HOSTILE, "message": HOSTILE}}}
    return {
        "status": HOSTILE, "started": HOSTILE, "seconds": HOSTILE, "parameters": {HOSTILE: HOSTILE}, "versions": {HOSTILE: HOSTILE},
        "commit": HOSTILE, "data": {HOSTILE: HOSTILE}, "prompts": [1], "models": {HOSTILE: {"served": HOSTILE}}, "steps": step,
        "signature": HOSTILE,
    }  # fmt: skip


def hostile_metrics() -> dict[str, Any]:
    return {
        "10_ask": {
            "headline": estimate(unit=HOSTILE, reason=HOSTILE, counts={HOSTILE: 3}, method=HOSTILE, signature=HOSTILE),
            "title": HOSTILE, "summary": HOSTILE, "figure": "../../../etc/passwd", "alt": HOSTILE, "notes": [HOSTILE, 7, None],
            "metrics": {HOSTILE: HOSTILE},
        },
        "../../../escape": {"title": "x"},
    }  # fmt: skip


@pytest.fixture(scope="module")
def built(outputs: Path) -> publish.Report:
    return publish.report(outputs)


@pytest.fixture(scope="module")
def site(built: publish.Report) -> Path:
    return built.index.parent


def tree(path: Path) -> lxml.html.HtmlElement:
    return lxml.html.fromstring(path.read_text(encoding="utf-8"))


def css(element: lxml.html.HtmlElement, selector: str) -> list[lxml.html.HtmlElement]:
    """Elements below `element` that match a simple selector: tags, #ids and .classes, ` ` and ` > ` between them."""
    path = ""
    axis = ".//"
    for part in selector.split():
        if part == ">":
            axis = "/"
            continue
        tag, names = re.match(r"[\w-]*", part)[0] or "*", re.findall(r"([.#])([\w-]+)", part)
        tests = "".join(
            f"[@id='{n}']" if kind == "#" else f"[contains(concat(' ', normalize-space(@class), ' '), ' {n} ')]"
            for kind, n in names
        )
        path += f"{axis if path == '' or axis == '/' else '//'}{tag}{tests}"
        axis = ".//"
    return element.xpath(path)


def said(element: lxml.html.HtmlElement) -> str:
    return " ".join(" ".join(element.xpath(".//text()[not(ancestor::script)]")).split())


# What a reader finds ----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_index_has_a_card_for_every_run_grouped_by_paper_newest_first(built, site):
    page = tree(built.index)
    assert built.index == site / "index.html"
    assert len(css(page, "h1")) == 1
    groups = [said(h) for h in css(page, "section.paper h2")]
    assert sorted(groups) == ["CheckEmbed", "DAHL", "LExT"]
    dahl = page.get_element_by_id("paper-dahl")
    assert [said(h.find("a")) for h in css(dahl, "h3")] == ["temperature-1f3a", "demo"]
    assert built.runs == 5


@pytest.mark.slow
def test_a_card_says_the_score_its_interval_what_was_left_out_the_models_and_what_to_distrust(site):
    card = tree(site / "index.html").xpath("//article[.//h3/a[text()='demo']]")[0]
    text = said(card)
    for phrase in (
        "DAHL score 0.41 95 % interval 0.35 to 0.47",
        "49 answers scored, from 12 clusters",
        "9 left out: 6 refused, 3 unknown",
        "local/smollm2",
        "3 June 2025, 14:05 UTC",
        "4 min 12 s",
        "How much is true?: failed (ValueError: no verdict for unit 7",
        "on 40 labelled claims it agreed with 58 %",
        "1 more to distrust",
    ):
        assert phrase in text, phrase
    bar = css(card, "svg.interval")[0]
    assert bar.get("aria-label") == "0.41 on a scale from 0 to 1, 95 % interval 0.35 to 0.47"
    assert css(card, "img")[0].get("alt") == METRICS["30_score"]["alt"]


def test_the_step_that_says_so_leads_and_notes_stand_under_theirs(tmp_path):
    steps = {
        "30_a": {"headline": estimate(value=0.2), "what": "LExT", "lead": True, "notes": ["few", "few", "small"]},
        "40_b": {"headline": estimate(value=0.9), "title": "Bias", "notes": ["small", "invented"]},
    }
    write_run(tmp_path, "lext", "demo", {}, None, steps)
    run = records.read(tmp_path / "lext" / "demo", Redactor())
    assert run.lead.name == "30_a" and run.lead.what == "LExT"
    assert [(s.name, notes) for s, notes in run.notes_by_step] == [("30_a", ("few", "small")), ("40_b", ("invented",))]
    assert run.notes == ("few", "small", "invented")
    page = said(tree(publish.report(tmp_path).index.parent / "lext/demo/index.html"))
    assert "LExT 0.20" in page and "Score 0.90" in page and "A few small Bias invented" in page
    del steps["30_a"]["lead"]
    write_run(tmp_path, "lext", "last", {}, None, steps)
    assert records.read(tmp_path / "lext" / "last", Redactor()).lead.name == "40_b"


def test_older_versions_of_a_file_that_a_person_may_edit_are_not_published(tmp_path):
    write_run(tmp_path, "lext", "demo", {}, None, {"30_a": {"files": {"review.csv": "00"}}})
    folder = tmp_path / "lext" / "demo" / "files"
    folder.mkdir(exist_ok=True)
    for name in ("review.csv", "review.0a1b2c3d.csv", "other.0a1b2c3d.csv", "notes.txt"):
        (folder / name).write_text("x")
    found = [p.name for p in records.read(tmp_path / "lext" / "demo", Redactor()).files]
    assert found == ["notes.txt", "other.0a1b2c3d.csv", "review.csv"]


@pytest.mark.slow
def test_a_run_page_gives_parameters_provenance_cost_and_downloads(site):
    page = tree(site / "dahl/demo/index.html")
    text = said(page)
    for phrase in (
        "subject local/smollm2", "limit not set", "SmolLM2-135M-Instruct 58 58 1 412 11 873 $0.00", "checker reference reference 0 0 0 0 –",
        "3f2a1c9d0b7e4a58a6d1c2b3e4f5061728394a5b with changes that were not committed", "9f86d081884c7d659a2feaa0c55ad015",
        "60303ae22b998861", "python 3.11.9", "verdicts.csv 2 rows, 4 columns", "mean length 204.7", "responses 58",
        "precision first 0.39 (95 % interval",
    ):  # fmt: skip
        assert phrase in text, phrase
    files = {a.get("href") for a in css(page, "#downloads a")}
    assert files == {
        "tables/verdicts.csv", "figures/by_category.csv", "figures/by_category.png", "figures/by_category.svg",
        "notebooks/20_generate_responses.ipynb", "notebooks/30_score.ipynb", "run.json", "metrics.json",
    }  # fmt: skip


@pytest.mark.slow
def test_a_step_page_shows_the_notebook_with_its_code_folded_away(site):
    page = tree(site / "dahl/demo/30_score.html")
    assert [said(h) for h in css(page, "h1")] == ["How much of what the model wrote is true?"]
    folded = css(page, "details.code")
    assert len(folded) == 7
    assert all(d.get("open") is None and said(d.find("summary")).startswith("code") for d in folded)
    assert said(folded[0].find("summary")) == "code 7 lines"
    assert "import matplotlib.pyplot as plt" in said(folded[0])
    assert [said(a) for a in css(page, "nav.toc a")] == ["Verdicts", "By category"]
    assert "0.41 [0.35, 0.47], 49 answers, 9 left out" in said(css(page, "span.estimate")[0])
    assert "9 of 58 answers were left out." in said(page)
    assert css(page, ".prose code")[0].text == "a < b"
    assert [a.get("href") for a in css(page, "nav.turn a")] == ["20_generate_responses.html", "index.html"]
    failure = css(page, "div.failure")
    assert said(failure[0]).startswith("This step failed. ValueError: no verdict for unit 7")
    assert css(failure[0], "a")[0].get("href") == "#cell-fails"
    assert page.get_element_by_id("cell-fails") is not None


@pytest.mark.slow
def test_figures_stand_first_with_their_description_and_their_files(site, built):
    with_alt, without = css(tree(site / "dahl/demo/30_score.html"), ".notebook figure")
    picture = with_alt.find("img")
    assert picture.get("src") == "figures/by_category.png"  # the run's own file, found by its content
    assert picture.get("alt").startswith("Precision by category, from 0.28")
    assert int(picture.get("width")) > 100
    assert "Precision by category." in said(with_alt)
    assert [a.get("href") for a in css(with_alt, "figcaption a")] == [
        f"figures/by_category.{k}" for k in ("png", "svg", "csv")
    ]
    assert "no description" in said(without)
    assert without.find("img").get("alt") == pictures.NO_ALT
    assert (site / "dahl/demo" / without.find("img").get("src")).read_bytes()[:4] == b"\x89PNG"
    assert [w for w in built.warnings if w.startswith("dahl/demo/30_score") and "no description" in w]


@pytest.mark.slow
def test_parameters_are_a_table_and_not_the_injected_cell(site):
    page = tree(site / "dahl/demo/20_generate_responses.html")
    rows = [[said(c) for c in row] for row in css(page, ".parameters tbody tr")]
    assert rows[0][0] == "run_dir"
    assert rows[0][1].startswith("[checkout]/outputs/dahl/demo")
    assert rows[0][2] == "folder of this run; empty: the recorded sample"
    assert rows[1] == ["temperature", "0.2 set for this run", "sampling temperature"]
    assert rows[2] == ["limit", "not set", "how many questions; empty: all"]
    assert "temperature = 0.2" not in said(page)


@pytest.mark.slow
def test_tables_scroll_in_their_box_and_never_show_nan(site):
    page = tree(site / "dahl/demo/20_generate_responses.html")
    table = css(page, ".output table.dataframe")[0]
    assert table.getparent().get("class") == "scroll"
    assert table.getparent().get("tabindex") == "0"
    missing = css(table, "td.missing")
    assert [(said(td), td.get("title")) for td in missing] == [("–", "no value")] * 3
    numeric = {said(th): "num" in th.get("class", "") for th in css(table, "thead th")}
    assert numeric == {"question": False, "reply": False, "status": False, "characters": True, "at": False}
    for path in site.rglob("*.html"):
        shown = "".join(t for t in tree(path).xpath("//body//text()[not(ancestor::script) and not(ancestor::details)]"))
        assert not re.search(r"\b(NaN|NaT|None|nan|undefined, undefined)\b", shown), path


@pytest.mark.slow
def test_streams_read_as_a_terminal_shows_them(site):
    page = tree(site / "dahl/demo/20_generate_responses.html")
    assert [said(p) for p in css(page, ".output > pre") if "58" in said(p)] == ["58 questions red words"]
    assert css(page, "span.ansi-red-fg")[0].text == "red"
    log = css(page, "details.log")[0]
    assert said(log.find("pre")) == "100%"


@pytest.mark.slow
def test_headings_that_repeat_have_their_own_anchors(site):
    page = tree(site / "dahl/demo/20_generate_responses.html")
    links = [a.get("href") for a in css(page, "nav.toc a")]
    assert links == ["#h-what-was-asked", "#h-what-was-asked-2"]


@pytest.mark.slow
def test_what_is_missing_is_named_and_breaks_no_page(site, built):
    empty = said(tree(site / "checkembed/empty/index.html"))
    assert "not recorded" in empty
    assert "run.json is missing" in empty
    broken = said(tree(site / "lext/broken/index.html"))
    assert "run.json cannot be read" in broken
    assert "undefined" in broken and "one reply alone" in broken
    assert "This notebook could not be shown." in said(tree(site / "lext/broken/10_x.html"))
    assert any(w.startswith("lext/broken/10_x") for w in built.warnings)
    assert any(w.startswith("lext/broken/tables/t.parquet") for w in built.warnings)


@pytest.mark.parametrize(
    "odd", [None, [], {}, "", "x", 3, -1e300, True, [[1]], {"a": {"b": [None]}}, [None, "a"]], ids=repr
)
def test_any_value_in_any_field_still_gives_pages(tmp_path, odd):
    outputs = tmp_path / "outputs"
    for i, (run, metrics) in enumerate([
        (odd, odd),
        ({k: odd for k in recorded(outputs)}, {"10_a": odd}),
        (recorded(outputs, steps={"10_a": odd}, models={"judge/x": odd}), {"10_a": {k: odd for k in METRICS["30_score"]}}),
        (
            recorded(outputs, steps={"10_a": {"error": {"cell": odd, "name": odd}, "seconds": odd, "status": odd}}),
            {"10_a": {"headline": {k: odd for k in estimate()}, "metrics": {"a": odd, "b": {"value": odd}}}},
        ),
    ]):  # fmt: skip
        write_run(
            outputs, "dahl", f"run{i}", {"10_a": new_notebook(cells=[new_markdown_cell("# A", id="a")])}, run, metrics
        )
    assert publish.report(outputs).runs == 4
    assert len(list((outputs / "site").rglob("10_a.html"))) == 4


@pytest.mark.slow
def test_every_page_has_landmarks_a_language_and_unique_ids(site):
    for path in site.rglob("*.html"):
        page = tree(path)
        assert page.get("lang") == "en"
        assert [len(css(page, tag)) for tag in ("main", "h1", "title")] == [1, 1, 1], path
        assert css(page, "header.top nav") and css(page, "footer.bottom") and css(page, "a.skip"), path
        ids = page.xpath("//@id")
        assert len(ids) == len(set(ids)), path
        assert all(img.get("alt") for img in page.iter("img")), path


@pytest.mark.slow
def test_every_link_and_picture_leads_somewhere(site):
    for path in site.rglob("*.html"):
        page = tree(path)
        for address in page.xpath("//a/@href | //img/@src | //link/@href"):
            parts = urlsplit(address)
            if parts.scheme in ("http", "https", "data"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path.resolve()
            assert target.is_relative_to(site.resolve()), (path, address)
            assert target.is_file(), (path, address)
            if parts.fragment:
                assert tree(target).xpath("//*[@id=$id]", id=unquote(parts.fragment)), (path, address)


@pytest.mark.slow
def test_links_between_notebooks_lead_to_their_pages(site):
    page = tree(site / "dahl/demo/20_generate_responses.html")
    found = {said(a): a.get("href") for a in css(page, ".prose a")}
    assert found == {"the score": "30_score.html", "the paper": "https://aclanthology.org/"}


@pytest.mark.slow
def test_tables_are_downloaded_as_csv_with_lists_as_json(site):
    table = pd.read_csv(site / "dahl/demo/tables/verdicts.csv")
    assert list(table.columns) == ["response_id", "reply", "units", "verdict"]
    assert json.loads(table.units[0]) == ["one", "two"]
    assert table.reply[1] == 'a, "b"\nc'
    assert table.verdict.isna().tolist() == [False, True]


# What must never get there ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_nothing_runs_or_loads_from_elsewhere(site):
    for path in site.rglob("*.html"):
        page = tree(path)
        scripts = css(page, "script")
        assert len(scripts) == 1 and not scripts[0].attrib, path
        assert not page.xpath(
            "//iframe | //object | //embed | //form | //input | //style | //base | //template | //video | //audio"
        ), path
        assert not [
            a for e in page.iter() if isinstance(e.tag, str) for a in e.attrib if a.startswith("on") or a == "style"
        ], path
        loaded = page.xpath("//@src | //link/@href | //@srcset | //@poster | //@background | //@xlink:href",
                            namespaces={"xlink": "http://www.w3.org/1999/xlink"})  # fmt: skip
        assert not [a for a in loaded if re.match(r"(?i)\s*(https?:|//|javascript:)", a)], path
        assert not [
            a for a in page.xpath("//a/@href") if re.match(r"(?i)[\s\x00-\x1f]*(javascript|data|vbscript):", a)
        ], path
        assert not [a for a in page.xpath("//a/@href") if "evil.example" in a], path
        policy = page.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")[0]
        assert "default-src 'none'" in policy and "unsafe" not in policy
    style = (site / "factlab.css").read_text()
    assert "url(" not in style and "@import" not in style
    assert "mathjax" not in "".join(p.read_text().lower() for p in site.rglob("*.html"))


@pytest.mark.slow
def test_hostile_replies_stay_readable_as_text(site):
    page = tree(site / "checkembed/odd/10_ask.html")
    stream = [said(p) for p in css(page, ".output > pre")]
    assert stream[0].startswith("<script>window.stolen=1</script>")
    assert "bold reply" in said(css(page, ".output table")[0])
    assert "evil.example" not in "".join(page.xpath("//@src"))
    assert css(page, "table")[0].get("class") == "dataframe"
    run = tree(site / "checkembed/odd/index.html")
    assert "<script>window.stolen=1</script>" in run.text_content()


@pytest.mark.slow
def test_keys_and_folders_of_the_machine_are_in_no_file(site, outputs):
    checkout = str(outputs.parent)
    for path in site.rglob("*"):
        if path.is_file() and path.suffix != ".png":
            text = path.read_text(encoding="utf-8")
            for secret in (KEY, checkout, str(Path.home()) + "/", ":pass@"):
                assert secret not in text, (path, secret)
    text = (site / "dahl/demo/index.html").read_text()
    assert REMOVED in text
    assert "no verdict for unit 7 in [checkout]/outputs/dahl/demo" in text


HOME = "/" + "home"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("key sk-abcdefgh12345678 end", f"key {REMOVED} end"),
        ("Authorization: Bearer abcdefgh12345678", f"Authorization: Bearer {REMOVED}"),
        ("hf_abcdefghijklmnop", REMOVED),
        ('openai_api_key = "short"', f'openai_api_key = "{REMOVED}"'),
        ("https://me:secret@host/v1?api_key=abc&x=1", f"https://{REMOVED}@host/v1?api_key={REMOVED}&x=1"),
        ("task-oriented-dialogue-systems, risk-adjusted-mortality", "task-oriented-dialogue-systems, risk-adjusted-mortality"),
        ("/srv/checkout/lib/x.py:3", "[checkout]/lib/x.py:3"),
        ("'/srv/checkout'", "'[checkout]'"),
        (f"{HOME}/ada/data.csv and C:\\Users\\ada\\x", "[home]/data.csv and [home]\\x"),
        ("/scratch/ada/runs/answers.csv", "[…]/answers.csv"),
        ("http://localhost/data/files and 3/4", "http://localhost/data/files and 3/4"),
        ("the value exact-secret-value-1 stays", f"the value {REMOVED} stays"),
        ("a\x00b\u202ec\ud800", "abc"),
        ("a \x1b]8;;https://evil.example\x07link", "a link"),
    ],
)  # fmt: skip
def test_redaction(text, shown):
    redact = Redactor(folders=(("/srv/checkout", "[checkout]"),), secrets=("exact-secret-value-1",))
    assert redact(text) == shown


def test_redaction_judges_values_by_their_name_and_finds_the_keys_of_the_environment():
    redact = for_machine((), {"SOME_API_KEY": "plain-looking-value", "PATH": "/bin", "MAX_TOKENS": "12345678"})
    assert redact.secrets == ("plain-looking-value",)
    got = redact.value(
        {
            "api_key": "abc",
            "max_tokens": 256,
            "prompt_tokens": "\x1b[31m9\x1b[0m",
            "hf_token": "x",
            "data": "/opt2/x/answers.csv",
        }
    )
    assert got == {
        "api_key": REMOVED,
        "max_tokens": 256,
        "prompt_tokens": "9",
        "hf_token": REMOVED,
        "data": "[…]/answers.csv",
    }


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("<b>x</b>", "<b>x</b>"),
        ("<script>alert(1)</script>x", "x"),
        ("<scr<script></script>ipt>alert(1)</script>", None),
        ("a < b and c > d & e", "a &lt; b and c &gt; d &amp; e"),
        ("<a href='https://x.example'>go</a>", "go"),
        ("<a href='#cell-x'>go</a>", '<a href="#cell-x">go</a>'),
        ("<p style='position:fixed' class='top' id='content'>x</p>", "<p>x</p>"),
        ("<h1>Big</h1>", '<p class="factlab-heading">Big</p>'),
        ("<img src='x.png' alt='a dog'>", '<span class="left-out">[picture left out: a dog]</span>'),
        ("<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>", None),
        ("<noscript><p title='</noscript><img src=x onerror=alert(1)>'>", None),
        ("<textarea><script>alert(1)</script></textarea>", ""),
        ("<!-- <script>alert(1)</script> -->x", "x"),
        ("<svg><style><img src=x onerror=alert(1)></style></svg>", None),
    ],
)  # fmt: skip
def test_output_html_is_cleaned(source, shown):
    got = clean.outputs(source)
    if shown is not None:
        assert got == shown
    live = lxml.html.fragment_fromstring(got, create_parent="div")
    assert not live.xpath(".//script | .//img | .//style | .//iframe | .//@onerror | .//@style")


PIECES = ["<script>", "</script>", "<img src=x onerror=alert(1)>", "<svg>", "<style>", "</style>", "<math>", "<!--", "-->", "<", ">",
          "'", '"', "&lt;script&gt;", "<a href=javascript:x>", "<table><tr><td>", "</table>", "text", "<noscript>", "</p>", "<![CDATA[",
          "<p title='", "<textarea>", "<template>", "\x00", "\ud800", "<div class=top style=x onclick=y>", "<?php", "&#x3c;"]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
@settings(max_examples=150, deadline=None)
def test_no_mixture_of_markup_gets_through(source):
    source = Redactor()(source)
    for got in (clean.outputs(source), clean.prose(source, lambda level, text: "h")):
        live = lxml.html.fragment_fromstring(got or "<p></p>", create_parent="div")
        assert {e.tag for e in live.iter()} <= {"a", "div", "p", "pre", "span", "table", "tbody", "tr", "td", "br"}
        assert not live.xpath(".//@onclick | .//@onerror | .//@style | .//@src | .//a/@href")


@pytest.mark.slow
def test_svg_files_are_drawings_only(site):
    assert pictures.safe_svg((site / "dahl/demo/figures/by_category.svg").read_bytes())
    for bad in (
        "<svg><script>1</script></svg>", '<svg onload="x"/>', '<svg><image href="https://evil.example/x.png"/></svg>',
        "<svg><a xlink:href='javascript:x'/></svg>", "<svg><foreignObject/></svg>", '<svg style="fill:url(https://evil.example)"/>',
        '<?xml-stylesheet href="x.css"?><svg/>', '<svg><use href = "x.svg#a"/></svg>',
    ):  # fmt: skip
        assert not pictures.safe_svg(bad.encode()), bad


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_a_contrast_of_at_least_4_5_in_both_schemes(site, scheme):
    blocks = re.findall(r":root \{(.*?)\}", (site / "factlab.css").read_text(), re.DOTALL)
    colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", blocks[scheme == "dark"]))
    pairs = [
        (text, ground) for text in ("ink", "soft", "accent", "caution", "bad") for ground in ("paper", "sheet", "wash")
    ]
    pairs += [("ink", "caution-wash"), ("caution", "caution-wash"), ("bad", "caution-wash"), ("accent", "caution-wash")]
    pairs += [("ink", "bad-wash"), ("bad", "bad-wash"), ("soft", "bad-wash"), ("accent", "bad-wash")]
    for text, ground in pairs:
        light, dark = sorted((luminance(colours[text]), luminance(colours[ground])), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, (text, ground)


# How it is built --------------------------------------------------------------------------------------------------


@pytest.fixture
def small(tmp_path: Path) -> Path:
    nb = new_notebook(cells=[new_markdown_cell("# One", id="a"), new_code_cell("1", id="b")])
    write_run(tmp_path / "outputs", "dahl", "one", {"10_a": nb}, {"status": "done"}, {})
    write_run(tmp_path / "outputs", "dahl", "two", {"10_a": nb}, {"status": "done"}, {})
    return tmp_path / "outputs"


def test_build_returns_the_index_and_logs_what_to_warn_about(small, caplog):
    (small / "dahl/one/tables/t.parquet").write_text("no")
    with caplog.at_level(logging.WARNING):
        assert publish.build(small) == small / "site" / "index.html"
    assert "dahl/one/tables/t.parquet cannot be read" in caplog.text


def test_unchanged_runs_keep_their_pages_changed_ones_get_new_ones_and_gone_ones_lose_theirs(small):
    assert publish.report(small).rendered == 2
    assert publish.report(small).rendered == 0
    (small / "dahl/one/metrics.json").write_text('{"10_a": {"title": "New title"}}')
    again = publish.report(small)
    assert again.rendered == 1
    assert "New title" in (small / "site/dahl/one/10_a.html").read_text()
    shutil.rmtree(small / "dahl/two")
    assert publish.report(small).runs == 1
    assert not (small / "site/dahl/two").exists()
    assert sorted(p.name for p in small.iterdir()) == [".site.lock", "dahl", "site"]


def test_a_failing_build_leaves_the_old_site(small, monkeypatch):
    publish.build(small)
    before = (small / "site/index.html").read_text()
    monkeypatch.setattr("factlab.publish.site._newest_first", lambda cards: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        publish.build(small)
    assert (small / "site/index.html").read_text() == before
    assert not list(small.glob(".site-new*"))


def test_a_build_killed_between_the_two_renames_is_mended(small):
    publish.build(small)
    (small / "site").rename(small / ".site-old")
    (small / ".site-new-1").mkdir()
    assert publish.report(small).rendered == 0
    assert not (small / ".site-old").exists() and not (small / ".site-new-1").exists()


def test_no_runs_and_no_folder_still_give_a_page_that_says_what_to_do(tmp_path):
    index = publish.build(tmp_path / "outputs")
    assert "make demo" in said(tree(index))


# Words ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("got", "shown"),
    [
        (words.number(0.4), "0.40"), (words.number(1234.5), "1\u202f234.50"), (words.number(-0.001), "0.00"),
        (words.number(float("nan")), "–"), (words.number(None), "–"), (words.number(58), "58"), (words.number(True), "–"),
        (words.duration(0.42), "0.4 s"), (words.duration(59.6), "1 min"), (words.duration(252), "4 min 12 s"),
        (words.duration(7260), "2 h 1 min"), (words.duration(None), "not recorded"), (words.money(0), "$0.00"),
        (words.money(0.0004), "$0.0004"), (words.money(None), "not recorded"), (words.plural(1, "row"), "1 row"),
        (words.plural(2, "category"), "2 categories"), (words.size(1_234_567), "1.2 MB"),
        (words.left_out({"scored": 4, "no_units": 1, "refused": 2}), (3, "2 refused, 1 without a unit")),
        (words.interval_bar(1.2, 1, 1.4, ""), ""), (words.interval_bar(None, None, None, ""), ""),
    ],
)  # fmt: skip
def test_words(got, shown):
    assert got == shown


def test_a_headline_gives_a_reason_where_there_is_no_value():
    got = records.headline({"value": None, "status": "undefined", "reason": "zero variance", "n": 1, "unit": "answers"})
    assert (got.value, got.reason, got.scored, got.bar) == ("undefined", "zero variance", "1 answer", "")
    assert records.headline({"value": 204.7, "low": 190, "high": 220}).bar == ""
    assert records.headline({"value": 0.9871, "low": 0.981, "high": 0.9905}).value == "0.987"
    assert records.headline("nonsense") is None


COUNTED = """<table class="dataframe"><thead><tr><th></th><th>a</th></tr></thead>
<tbody><tr><th>0</th><td>x</td></tr><tr><th>11</th><td>y</td></tr></tbody></table>"""


@pytest.mark.parametrize(
    ("source", "heads"),
    [
        (COUNTED, ["a"]),  # an index that only counts rows is taken out
        (COUNTED.replace("<th>11</th>", "<th>mean</th>"), ["", "a", "0", "mean"]),
        (COUNTED.replace("<th></th>", "<th>row</th>"), ["row", "a", "0", "11"]),
        (COUNTED.replace("<th>a</th>", "<th>0</th>").replace("<th>11</th>", "<th>n</th>"), ["0", "n"]),
    ],
    ids=["counter", "labels", "named", "columns that only count"],
)
def test_row_numbers_are_left_out(source, heads):
    shown = lxml.html.fragment_fromstring(clean.outputs(source), create_parent="div")
    assert [th.text_content() for th in shown.iter("th")] == heads


def test_a_failed_step_has_one_name_and_one_problem(tmp_path):
    folder = tmp_path / "outputs" / "dahl" / "one"
    (folder / "notebooks").mkdir(parents=True)
    nbformat.write(nbformat.v4.new_notebook(), folder / "notebooks" / "30_score.failed.ipynb")
    steps = {"30_score": {"status": "failed", "error": {"name": "ValueError", "message": "no", "cell": "data"}}}
    (folder / "run.json").write_text(json.dumps({"status": "failed", "steps": steps}))
    run = records.read(folder, Redactor(()))
    assert [(step.name, step.notebook is not None) for step in run.steps] == [("30_score", True)]
    assert run.problems == ("Score: failed (ValueError: no)",)


def test_a_summary_that_only_repeats_the_score_is_not_shown(tmp_path):
    folder = tmp_path / "dahl" / "one"
    folder.mkdir(parents=True)
    score = {"value": 0.5, "low": 0.4, "high": 0.6, "n": 9, "unit": "answers", "counts": {"error": 2, "refused": 2}}
    said = "0.50 [0.40, 0.60], 9 answers, 4 left out: 2 error, 2 refused"
    for summary, shown in ((f"DAHL score {said}", ""), (f"It fell. DAHL score {said} against 0.7", "It fell.")):
        (folder / "metrics.json").write_text(json.dumps({"30_score": {"headline": score, "summary": summary}}))
        step = records.read(folder, Redactor(())).steps[0]
        assert step.summary.startswith(shown) and bool(step.summary) is bool(shown)


def test_models_have_the_roles_that_the_parameters_give_them(tmp_path):
    folder = tmp_path / "dahl" / "one"
    folder.mkdir(parents=True)
    run = {"parameters": {"subject": "local/smollm2", "checker": "local/smollm2", "mode": "cache"}}
    (folder / "run.json").write_text(json.dumps(run | {"models": {"local/smollm2": {"calls": 3}}}))
    assert records.read(folder, Redactor(())).models[0]["role"] == "subject, checker"


def test_a_run_whose_process_is_gone_is_not_running(tmp_path):
    from filelock import FileLock

    folder = write_run(tmp_path, "lext", "demo", {}, {"status": "running"}, None)
    assert records.read(folder, Redactor()).status == "stopped"
    with FileLock(str(folder / ".lock")):
        assert records.read(folder, Redactor()).status == "running"
