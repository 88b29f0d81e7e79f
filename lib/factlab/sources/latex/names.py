"""The names under which papers file their related work."""

import re

_ANY = r"(?:works?|research|literature|stud(?:y|ies)|art|efforts|papers|approaches|methods|techniques|solutions|systems|models)"
_RELATED = re.compile(
    "|".join(
        (
            rf"\brelated[- ](?:\w+[- ])?(?:{_ANY}|areas|topics|problems|concepts|fields|datasets|benchmarks|results|tools)\b",
            rf"\b(?:previous|prior|earlier|past|existing|preceding)\s+(?:and\s+\w+\s+|\w+\s+)?{_ANY}\b",
            r"\b(?:relevant|recent|similar)\s+(?:works?|research|literature|studies|advances)\b",
            r"\bliterature\s+(?:review|survey|overview|study|background|search)\b",
            r"\b(?:review|survey|overview|summary)\s+of\s+(?:the\s+)?(?:\w+\s+){0,2}(?:literature|art|works?|research)\b",
            r"\bstate[- ]of[- ]the[- ]art(?:$|\s+(?:in|on|of|review|overview|and)\b)",
            r"^(?:the\s+)?(?:related|literature|state of the practice)$",
            r"\brelation(?:ship)?s?\s+(?:to|with)\s+(?:the\s+)?(?:\w+\s+)?(?:works?|literature|research|approaches)\b",
            r"\bconnections?\s+(?:to|with)\s+(?:the\s+)?(?:related|prior|previous|existing|other|earlier)\b",
            r"\bbibliographic(?:al)?\s+(?:notes|remarks|review)\b",
            r"\bhistorical\s+(?:notes|remarks|background|overview|context)\b",
            r"\bworks?\s+related\b",
        )
    ),
    re.IGNORECASE,
)
# Of the experiments or the discussion, whatever follows, unless it ends in "work" or "literature".
_NOT_RELATED = re.compile(
    r"^(?:compar|evaluat|experiment|results?|performance|limitation|drawback|improv|difference|challenges|implications|future)",
    re.IGNORECASE,
)
_WORK_AFTER_ALL = re.compile(r"(?:works?|literature|art)$", re.IGNORECASE)


def is_related(title: str) -> bool:
    """Whether a title names related work.

    "Related Work(s)", "Related Research/Literature/Studies/Approaches", "Previous/Prior/Earlier/Past/Existing Work",
    "Prior Art", "Relevant/Recent/Similar Work", "Literature Review/Survey", "Review of the Literature", "State of the Art",
    "Relation to Other Work", "Connections to Prior Work", "Comparison with Previous Work", "Bibliographic Notes",
    "Historical Background", in any case and inside of longer titles ("Background and Related Work"). "Comparison with
    Existing Methods" is of the experiments.
    """
    title = title.strip(" .:")
    if _NOT_RELATED.match(title) and not _WORK_AFTER_ALL.search(title):
        return False
    return _RELATED.search(title) is not None


# Taken only where no section has one of the names above: they may as well hold definitions.
_MAYBE = re.compile(
    r"^(?:(?:technical|research|theoretical|scientific|general)\s+)?background\b(?!\s+(?:knowledge|material|subtraction|modell?ing))"
    r"|^(?:background|motivation|context|introduction)\s+(?:and|&)\s+(?:background|context|motivation)\b"
    r"|\band\s+background$|^context$|^history$",
    re.IGNORECASE,
)


def may_be_related(title: str) -> bool:
    """Whether a title ("Background", "Motivation and Background", "Context") often stands over related work."""
    return _MAYBE.search(title.strip(" .:")) is not None
