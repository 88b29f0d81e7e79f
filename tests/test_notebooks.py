"""Every notebook keeps the rules: stripped, one parameters cell, stable ids, logic in the library."""

import ast
import re
from pathlib import Path

import nbformat
import pytest

from factlab.runs.parameters import read_declared

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*/*.ipynb"))


def name(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


@pytest.fixture(params=NOTEBOOKS, ids=name)
def path(request) -> Path:
    return request.param


@pytest.fixture
def cells(path):
    return nbformat.read(path, as_version=4).cells


def test_there_are_notebooks():
    assert {"dahl/20_generate_responses", "dahl/30_score"} <= {name(p) for p in NOTEBOOKS}


def test_is_stripped(path, cells):
    code = [c for c in cells if c.cell_type == "code"]
    assert [c.id for c in code if c.outputs or c.execution_count is not None] == []
    assert nbformat.read(path, as_version=4).metadata.kernelspec.name == "python3"


def test_cells_have_telling_ids(cells):
    assert [c.id for c in cells if not re.fullmatch(r"[a-z][a-z0-9-]+", c.id)] == []
    assert 15 <= len(cells) <= 30


def test_starts_with_title_then_parameters(cells):
    assert cells[0].cell_type == "markdown" and cells[0].source.startswith("# ")
    tagged = [i for i, c in enumerate(cells) if "parameters" in c.metadata.get("tags", [])]
    assert tagged == [1]


def test_every_parameter_has_a_type_and_a_comment(path):
    declared = read_declared(path)
    assert "run_dir" in declared
    assert [p.name for p in declared.values() if not p.help] == []


def test_holds_no_logic_and_no_place(cells):
    for cell in cells:
        if cell.cell_type != "code":
            continue
        tree = ast.parse(cell.source)
        assert not [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.ClassDef) and len(n.body) > 3], (
            cell.id
        )
        assert "sys.exit" not in cell.source
        assert not re.search(r"""["'](/|[A-Za-z]:\\)\w""", cell.source), cell.id


def test_imports_stand_in_one_cell(cells):
    with_imports = [
        c.id
        for c in cells
        if c.cell_type == "code"
        and any(isinstance(n, ast.Import | ast.ImportFrom) for n in ast.walk(ast.parse(c.source)))
    ]
    assert with_imports == ["imports"]


def test_says_what_it_found_and_finishes(cells):
    assert cells[-1].id == "finish" and "run.finish(" in cells[-1].source


@pytest.mark.parametrize("paper", sorted({p.parent.name for p in NOTEBOOKS}))
def test_no_two_notebooks_of_a_paper_write_under_one_name(paper):
    """They may run in one folder: the later would overwrite the earlier, which would then run again each time."""
    written: dict[tuple[str, str], list[str]] = {}
    for path in [p for p in NOTEBOOKS if p.parent.name == paper]:
        source = "\n".join(c.source for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code")
        for kind in set(re.findall(r"""run\.(write|figure|save)\("(\w[\w.]*)\"""", source)):
            written.setdefault(kind, []).append(path.stem)
    assert written and {kind: steps for kind, steps in written.items() if len(steps) > 1} == {}
