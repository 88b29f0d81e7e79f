"""What the headless tests of the papers share, beside the fixture `checkout`: notebooks opened by hand, and what a page must not say."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
UNDEFINED = re.compile(r"\b[Nn]a[Nn]\b|None|<NA>|\binf\b|-0\.0+\b")


def sentences(metrics: dict) -> list[str]:
    """Every sentence that a run's notebooks said of their results."""
    return [text for entry in metrics.values() for text in [entry["summary"], *entry["notes"]]]


def opened(paper: str, checkout: Path, step: str, **given) -> str:
    """A notebook as JupyterLab runs it: no run, its own folder as working folder. Returns what it shows."""
    import papermill

    folder = checkout / "notebooks" / paper
    papermill.execute_notebook(folder / f"{step}.ipynb", checkout / "out.ipynb", given, cwd=folder, progress_bar=False)
    return (checkout / "out.ipynb").read_text()
