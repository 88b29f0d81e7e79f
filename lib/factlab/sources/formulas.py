"""Formulas on one line of plain text, from the MathML or the TeX in an article."""

import re


def bare_tex(source: str) -> str:
    """The formula in a PubMed Central `tex-math`, without the document around it."""
    body = re.search(r"\\begin\{document\}(.*?)\\end\{document\}", source, re.DOTALL)
    text = (body[1] if body else source).strip()
    text = re.sub(r"^\$+|\$+$|^\\\[|\\\]$", "", text)
    return " ".join(text.split())


_SPACED = frozenset(
    [
        "=",
        "<",
        ">",
        "≤",
        "≥",
        "≈",
        "≠",
        "≡",
        "±",
        "×",
        "·",
        "+",
        "−",
        "-",
        "–",
        "∗",
        "*",
        "∈",
        "∉",
        "→",
        "←",
        "↔",
        "⇒",
        "∼",
        "~",
        "∝",
        "∪",
        "∩",
        "≪",
        "≫",
        "∙",
        "⋅",
        "÷",
    ]
)


def linear_math(element) -> str:
    """MathML on one line: fractions as (a)/(b), scripts as a_b^c, matrix rows between semicolons."""
    return " ".join(_math(element).split())


def _math(element) -> str:
    tag = element.tag
    if tag in ("annotation", "annotation-xml", "mphantom"):
        return ""
    if tag in ("mi", "mn", "mtext", "ms"):
        return " ".join("".join(element.itertext()).split())
    if tag == "mo":
        sign = "".join(element.itertext()).strip()
        return f" {sign} " if sign in _SPACED else {",": ", ", ";": "; "}.get(sign, sign.strip("\u2061\u2062\u2063"))
    if tag in ("mspace", "none", "mprescripts"):
        return " "
    parts = [_math(child).strip() if tag in _ARITY else _math(child) for child in element]
    if tag in _ARITY and len(parts) == _ARITY[tag]:
        return _construct(tag, parts)
    if tag == "msqrt":
        return f"√({_juxtapose(parts)})"
    if tag == "mfenced":
        return element.get("open", "(") + ", ".join(p.strip() for p in parts) + element.get("close", ")")
    if tag == "mtable":
        return "; ".join(p.strip() for p in parts)
    return (" ".join if tag in ("mtr", "mlabeledtr") else _juxtapose)([element.text or "", *parts])


_ARITY = {"mfrac": 2, "mroot": 2, "msub": 2, "msup": 2, "munder": 2, "mover": 2, "msubsup": 3, "munderover": 3}


def _construct(tag: str, parts: list[str]) -> str:
    first, *scripts = parts
    grouped = [p if re.fullmatch(r"\w*|[^\w\s]", p) else f"({p})" for p in scripts]
    if tag == "mfrac":
        numerator = first if re.fullmatch(r"[\w.]*", first) else f"({first})"
        return f"{numerator}/{grouped[0]}"
    if tag == "mroot":
        return f"root({first}, {scripts[0]})"
    marks = {"msub": "_", "munder": "_", "msup": "^", "mover": "^", "msubsup": "_^", "munderover": "_^"}[tag]
    return first + "".join(mark + script for mark, script in zip(marks, grouped, strict=True) if script)


def _juxtapose(parts: list[str]) -> str:
    """Joined as printed, but a name of several letters never runs into its neighbour."""
    joined = ""
    for previous, part in zip(["", *parts], parts, strict=False):
        long = len(previous.strip()) > 1 or len(part.strip()) > 1
        joined += " " + part if long and joined[-1:].isalnum() and part[:1].isalnum() else part
    return joined
