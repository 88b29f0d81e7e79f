"""The static site: every run that lies in the outputs folder, as pages to read, print and check.

`build(outputs)` writes `outputs/site` and returns the path of its index; `report(outputs)` does the same and also tells what
a reader should be warned about. Pages load nothing from a network, show what a model wrote as text only, and hold neither
keys nor folders of the machine that made them.
"""

from factlab.publish.site import Report, build, report

__all__ = ["Report", "build", "report"]
