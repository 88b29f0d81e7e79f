"""Shared fixtures: nothing here may reach a network or a model hub."""

import os
import shutil
import signal
from pathlib import Path

import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    # Started in the background by a shell: without this Ctrl-C would do nothing here, nor in any process that a test starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def released() -> Path:
    """Folder of the data that the papers' authors published; the test is skipped where it is absent."""
    folder = Path(os.environ.get("FACTLAB_DATA") or ROOT.parent / "shared" / "released")
    if not folder.is_dir():
        pytest.skip(f"released data not found at {folder}; set FACTLAB_DATA to its folder")
    return folder


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A copy of notebooks and parameters as the working folder."""
    for name in ("notebooks", "params"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns(".ipynb_checkpoints"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def pytest_terminal_summary(terminalreporter) -> None:
    """Say how many checks against released data ran, since an absent folder would skip them all without a failure."""
    ran = skipped = 0
    for outcome in ("passed", "failed", "skipped"):
        for report in terminalreporter.stats.get(outcome, []):
            if "released" in getattr(report, "keywords", {}):
                ran += outcome != "skipped"
                skipped += outcome == "skipped"
    terminalreporter.write_line(f"released data: {ran} checks ran, {skipped} skipped")
