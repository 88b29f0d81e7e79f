"""Places: which folder is meant, and files that are written whole or not at all."""

import errno
import json
import sys
from pathlib import Path

import pytest

from factlab import places


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    home = tmp_path.resolve() / "home"
    for name in ("notebooks/tiny", "params", "data"):
        (home / name).mkdir(parents=True)
    monkeypatch.chdir(home)
    return home


def test_the_checkout_is_found_from_anywhere_inside_it(checkout, monkeypatch):
    assert places.root() == checkout
    monkeypatch.chdir(checkout / "notebooks/tiny")
    assert places.root() == checkout and places.outputs() == checkout / "outputs"
    monkeypatch.chdir(checkout.parent)
    assert places.root() == checkout.parent  # no checkout around: the working folder
    assert places.root(checkout / "data") == checkout


def test_a_path_counts_from_the_working_folder_and_then_from_the_checkout(checkout, monkeypatch):
    (checkout / "data/a.csv").touch()
    (checkout / "notebooks/tiny/b.csv").touch()
    monkeypatch.chdir(checkout / "notebooks/tiny")
    assert places.resolve("b.csv").exists()
    assert places.resolve("data/a.csv") == checkout / "data/a.csv"
    assert places.resolve(checkout / "x") == checkout / "x"
    monkeypatch.chdir(checkout.parent)
    assert places.resolve("data/a.csv", checkout / "notebooks/tiny") == checkout / "data/a.csv"


def test_paths_are_shown_from_the_checkout(checkout, tmp_path):
    assert places.shown(checkout / "outputs/x") == "outputs/x"
    assert places.shown(Path("outputs/../data")) == "data"
    assert places.shown(tmp_path / "other") == str(tmp_path / "other")


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_an_outputs_folder_on_another_disk_still_belongs_to_the_checkout(checkout, tmp_path):
    (tmp_path / "scratch").mkdir()
    (checkout / "outputs").symlink_to(tmp_path / "scratch")
    assert places.shown(places.outputs() / "run") == "outputs/run"


def test_a_file_is_written_whole_or_not_at_all(checkout, monkeypatch):
    path = checkout / "new/deep/file.json"
    places.write_json(path, {"b": 1, "a": "é"})
    assert path.read_text(encoding="utf-8") == '{\n "a": "é",\n "b": 1\n}\n'
    with pytest.raises(ValueError):
        places.write_json(path, {"a": float("nan")})

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(places.PlaceError, match=r"^cannot write new/deep/file\.json: the disk is full"):
        places.write_json(path, {"a": "other"})
    assert json.loads(path.read_text(encoding="utf-8"))["b"] == 1
    assert list(path.parent.iterdir()) == [path]


def test_half_a_character_can_be_written_and_read_back(checkout):
    places.write_json(checkout / "x.json", {"text": "broken \ud83d é"})
    assert json.loads((checkout / "x.json").read_text(encoding="utf-8")) == {"text": "broken \ud83d é"}


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EACCES, "no permission"),
        (errno.EROFS, "read-only"),
        (errno.ENOTDIR, "is a file"),
        (errno.EFBIG, "may not grow"),
    ],
)
def test_a_failure_to_write_is_a_sentence_with_a_remedy(checkout, code, words):
    with pytest.raises(places.PlaceError) as caught, places.writing(checkout / "outputs"):
        raise OSError(code, "as the system says it")
    assert str(caught.value).startswith("cannot write outputs: ") and words in str(caught.value)
    assert caught.value.errno == code


def test_a_folder_beneath_a_file_cannot_be_written(checkout):
    (checkout / "outputs").write_text("")
    with pytest.raises(places.PlaceError, match="choose another folder|move it away"):
        places.write_atomic(checkout / "outputs/run/x", "text")
