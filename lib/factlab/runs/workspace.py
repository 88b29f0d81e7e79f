"""What a notebook reads from and writes to: the folder of its run.

Opened alone, with no run before it, a notebook works in `outputs/<paper>/interactive` and takes what earlier steps would have
written from the recorded sample tables, and says so in a banner.
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from factlab import places

if TYPE_CHECKING:
    import pandas as pd

    from factlab.stats import Estimate


def open(run_dir: str, step: str) -> Workspace:  # noqa: A001  (reads as runs.open in a notebook)
    """The workspace of one step.

    Parameters
    ----------
    run_dir : folder of the run, from the checkout; empty when the notebook was opened by hand.
    step : '<paper>/<notebook>', e.g. 'dahl/30_score'.
    """
    return Workspace(run_dir, step)


def _show_whole_texts() -> None:
    """Tables in the notebook show texts long enough to be read, and numbers with as many digits as they deserve."""
    import pandas as pd

    pd.set_option("display.max_colwidth", 600)
    pd.set_option("display.float_format", _number)


def _typed(table: pd.DataFrame) -> pd.DataFrame:
    """A table read as text, a column as numbers (Float64, an empty cell missing) where each cell with something in it holds one, as in
    the tables that steps write. Identifiers (…_id) and columns with nothing in them stay text."""
    import pandas as pd

    table = table.reset_index(drop=True)
    for column in [c for c in table if not c.endswith("_id")]:
        filled = table[column] != ""
        numbers = pd.to_numeric(table[column].where(filled), errors="coerce")
        if filled.any() and numbers[filled].notna().all():
            table[column] = numbers.astype("Float64")
    return table


def _number(x: float) -> str:
    """Three decimals, without trailing zeros where these are exact (0.9997 is 1.000, and 1 is 1); a number too small for them (a
    p-value) keeps its size."""
    if 0 < abs(x) < 5e-4:
        return f"{x:.0e}"
    if abs(x) >= 1000:
        return f"{x:,.0f}"
    text = f"{x:.3f}"
    return text.rstrip("0").rstrip(".") if math.isclose(float(text), x, rel_tol=1e-9) else text


def _in_words(cell: Any) -> Any:
    """A cell as a reader wants it; numbers and what is missing stay as they are."""
    if isinstance(cell, str):
        return " ".join(cell.split())  # pandas would print line breaks as \\n
    if hasattr(cell, "tolist"):
        cell = cell.tolist()
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, list | tuple):
        return "; ".join("–" if one is None or one == "" else str(_in_words(one)) for one in cell)
    return cell


def _plain(value: Any) -> Any:
    """A value as JSON holds it: numpy's numbers as Python's, arrays as lists, NaN, infinity and what is missing as null."""
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if type(value).__name__ in ("NAType", "NaTType"):  # pandas' own, without importing it
        return None
    return None if isinstance(value, float) and not math.isfinite(value) else value


class Workspace:
    """Tables, figures and metrics of one step in one run's folder. Made by `open`."""

    def __init__(self, run_dir: str, step: str) -> None:
        self.paper, _, self.step = step.partition("/")
        self.interactive = not run_dir
        self.folder = places.resolve(run_dir) if run_dir else places.outputs() / self.paper / "interactive"
        _show_whole_texts()
        self._record: dict[str, Any] = {"tables": {}, "figures": {}, "files": {}, "data": {}}

    # -- reading ------------------------------------------------------------------------------------------------------

    def has(self, name: str) -> bool:
        """Whether a step of this run wrote such a table; a recorded sample does not count."""
        return self._path(name).is_file()

    def _path(self, name: str) -> Path:
        return self.folder / "tables" / f"{name}.parquet"

    def read(self, name: str) -> pd.DataFrame:
        """A table that an earlier step wrote, or the recorded sample of it (with a banner).

        Raises
        ------
        FileNotFoundError : neither is there; the message names the step to run first.
        """
        import pandas as pd

        if self.has(name):
            return pd.read_parquet(self._path(name))
        sample = places.samples(self.paper, f"{name}.csv")
        if self.interactive and sample.is_file():
            self.banner(
                f"There is no table “{name}” from an earlier step, so this page shows the recorded sample "
                f"({sample.parent.name}/{sample.name}). Run the earlier notebooks, or `factlab run`, to see results of your own."
            )
            from factlab import sources

            return _typed(sources.read_table(sample)[0].drop(columns="problem"))
        raise FileNotFoundError(
            f"no table {name!r} in {places.shown(self.folder)}: run the earlier notebooks of this run first"
        )

    def parameters(self) -> dict[str, Any]:
        """Every parameter of this run, as `run.json` records them; empty when the notebook was opened by hand."""
        return places.read_json(self.folder / "run.json").get("parameters") or {}

    def earlier(self, step: str) -> dict[str, Any]:
        """What an earlier step of this run wrote with `finish` (headline, metrics, …); empty where it has not run."""
        return places.read_json(self.folder / "metrics.json").get(step) or {}

    def gather(self, name: str, runs: Sequence[str] = (), settings: Sequence[str] = ()) -> pd.DataFrame:
        """One table of several runs, below each other, for a notebook that compares.

        Parameters
        ----------
        name : of a table that each run wrote.
        runs : folders of the runs, from the checkout; empty: this run alone.
        settings : parameters of the runs, numbers or texts, that become columns (missing where a run has no such parameter).

        Returns
        -------
        DataFrame : the tables with `run` (the folder's name) and the settings in front, whatever columns of these names they had. Runs
        that are not done, or lack the table, are left out, and a banner names them. This run alone need not be done. Opened by hand
        with no such table, the recorded answers of several runs (`arms.csv`, whatever the name), with a banner.

        Raises
        ------
        FileNotFoundError : no run has such a table.
        """
        import pandas as pd

        tables, missing = [], {}
        for folder in [places.resolve(run) for run in runs] or [self.folder]:
            path, record = folder / "tables" / f"{name}.parquet", places.read_json(folder / "run.json")
            done = not runs or record.get("status") == "done"
            if not done or not path.is_file():
                missing[folder.name] = f"no table “{name}”" if done else "not done"
                continue
            given = {key: (record.get("parameters") or {}).get(key) for key in settings}
            # Joined row by row, whatever labels the rows had.
            table = pd.read_parquet(path).drop(columns=["run", *settings], errors="ignore").reset_index(drop=True)
            tables.append(pd.DataFrame({"run": folder.name} | given, index=table.index).join(table))
        if tables and missing:
            self.banner(f"Left out: {', '.join(f'{run} ({why})' for run, why in missing.items())}.")
        if tables:
            return pd.concat(tables, ignore_index=True)
        if not runs and self.interactive and places.samples(self.paper, "arms.csv").is_file():
            return self.read("arms")
        what = (
            f"none of the runs {', '.join(missing)} is done and has a table {name!r}" if runs else f"no table {name!r}"
        )
        raise FileNotFoundError(f"{what} in {places.shown(self.folder.parent)}: run `factlab run` with a grid first")

    def used(self, path: str | Path) -> Path:
        """Record a data file (or folder) that the step reads, with its hash, and return its path."""
        from factlab.runs.provenance import file_hash

        found = places.resolve(path)
        for file in sorted(found.rglob("*")) if found.is_dir() else [found]:
            if file.is_file():
                self._record["data"][places.shown(file)] = file_hash(file)
        return found

    # -- writing ------------------------------------------------------------------------------------------------------

    def write(self, name: str, table: pd.DataFrame) -> pd.DataFrame:
        """Write a table for later steps (`tables/<name>.parquet`) and give it back."""
        from factlab.runs.provenance import file_hash

        path = self._path(name)
        with places.writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_suffix(".part")
            try:
                table.to_parquet(part)
                part.replace(path)
            finally:
                part.unlink(missing_ok=True)
        self._record["tables"][name] = file_hash(path)
        return table

    def save(self, name: str, content: str, keep: bool = False) -> Path:
        """Write a text file that is for use elsewhere (`files/<name>`, a download on the page) and return its path.

        Parameters
        ----------
        name : of the file, which may lie in a folder of its own ('pairs/train.jsonl').
        content : in UTF-8 as it stands, line ends included.
        keep : for a file that a person may edit where it lies: an older version that differs stays beside the new one, its hash in
            its name. Otherwise it is overwritten.

        Raises
        ------
        PlaceError : the file cannot be written; the message says why.
        """
        from factlab.runs.provenance import file_hash

        path = self.folder / "files" / name
        if keep and path.is_file() and path.read_bytes() != content.encode():
            with places.writing(path):
                path.replace(path.with_name(f"{path.stem}.{file_hash(path)[:8]}{path.suffix}"))
        places.write_atomic(path, content)
        self._record["files"][name] = file_hash(path)
        return path

    def figure(self, name: str, drawn: tuple[Any, pd.DataFrame], caption: str = "") -> None:
        """Write a figure (PNG, SVG) with the table behind it (CSV), and show it with its alt text.

        Parameters
        ----------
        name : file name without ending.
        drawn : (figure, table) as every function of `figures` returns it.
        caption : a line to stand below it.
        """
        from factlab import figures

        figure, table = drawn
        folder = self.folder / "figures"
        picture = figures.png(figure)
        places.write_atomic(folder / f"{name}.png", picture)
        places.write_atomic(folder / f"{name}.svg", figures.svg(figure))
        places.write_atomic(folder / f"{name}.csv", table.to_csv(index=False))
        self._record["figures"][name] = {"png": f"figures/{name}.png", "alt": figures.describe(figure)}
        figures.show(figure, caption, picture)

    def finish(
        self,
        *,
        headline: Estimate | None = None,
        what: str = "",
        lead: bool = False,
        title: str = "",
        summary: str = "",
        figure: str = "",
        notes: Sequence[str] = (),
        metrics: Mapping[str, Any] | None = None,
    ) -> None:
        """Write the step's part of `metrics.json`: the headline number, what to distrust, which models were asked.

        Every notebook ends with it: a step that has not said so is run again each time.

        Parameters
        ----------
        headline : the number that the step is about.
        what : what it measures, in a few words, to stand above it.
        lead : whether it stands for the whole run, where it is not the last one.
        title, summary : the question of the step, and the answer in a sentence.
        figure : name of the figure that shows it.
        notes : what to distrust.
        metrics : more numbers by name.
        """
        from factlab import models
        from factlab.models import prompts

        shown = self._record["figures"].get(figure, {})
        entry = {
            "title": title,
            "summary": summary,
            "headline": headline.to_dict() if headline is not None else None,
            "what": what,
            "lead": lead,
            "figure": shown.get("png"),
            "alt": shown.get("alt"),
            "notes": [n for n in notes if n],
            "metrics": _plain(dict(metrics or {})),
            "models": models.usage(),
            "prompts": prompts.used(),
            "data": self._record["data"],
            "tables": self._record["tables"],
            "files": self._record["files"],
            "figures": self._record["figures"],
        }
        path = self.folder / "metrics.json"
        places.write_json(path, places.read_json(path) | {self.step: entry})

    # -- showing ------------------------------------------------------------------------------------------------------

    def show(self, table: pd.DataFrame, empty: str = "none") -> None:
        """Show a table for reading, or a word where it is empty: texts on one line each, yes and no, lists as words between
        semicolons, a dash for what is missing; columns with nothing in any row are left out."""
        from IPython.display import display

        if not len(table):
            print(empty)
            return
        import pandas as pd

        columns = []
        for i in range(table.shape[1]):
            column = table.iloc[:, i]
            if not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
                column = column.astype("object").map(_in_words, na_action="ignore")
            missing = column.isna()
            if not (missing | (column == "")).all():
                columns.append(column.astype("object").where(~missing, "–") if missing.any() else column)
        display(pd.concat(columns, axis=1) if columns else table)

    def banner(self, text: str) -> None:
        """A notice that stands out on the page. The text is shown as text."""
        from IPython.display import HTML, display

        display(HTML(f'<p class="factlab-banner" role="note"><strong>Note.</strong> {html.escape(text)}</p>'))
