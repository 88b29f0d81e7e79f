"""factlab measures what language models get wrong in science.

Five published methods as small functions on strings, arrays and tables. Submodules load on first use, so that
`import factlab` costs nothing: `from factlab import stats` pays for scipy, `from factlab import models` for nothing until
a model is loaded.
"""

import importlib

__version__ = "0.1.0"

_MODULES = frozenset(
    [
        "attribution",
        "cli",
        "comparability",
        "exam",
        "explanation",
        "figures",
        "models",
        "perturb",
        "preferences",
        "publish",
        "questions",
        "replies",
        "retrieval",
        "runs",
        "sources",
        "stability",
        "stats",
        "studies",
        "text",
        "units",
        "judging",
    ]
)


def __getattr__(name: str):
    if name in _MODULES:
        return importlib.import_module(f"factlab.{name}")
    raise AttributeError(f"module 'factlab' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(_MODULES | {"__version__"})
