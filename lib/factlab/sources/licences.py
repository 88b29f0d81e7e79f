"""Which licences are open: what REASONS (section 3, ethical considerations) took its articles by. Anything not known is not open."""

import re

from ..text import fold

_VERSION = r"(?:[ -]*v?\d(?:[.-]\d)?)?(?:[ -]*(?:international|intl|generic|unported|universal|igo|us|uk|de|fr|it|es|nl|au|ca|at|ch|jp))?"
_OPEN = re.compile(
    rf"""(?:cc|creative[ ]commons)[ -]*(?:cc[ -]?)?(?:0|zero){_VERSION}(?:[ ]public[ ]domain[ ]dedication)?
    |(?:(?:cc|creative[ ]commons)[ -]*by|(?:creative[ ]commons[ ])?attribution)(?:[ -]*(?:sa|share[ -]?alike))?{_VERSION}
    |(?:us[ ]|u\.s\.[ ])?(?:in[ ])?(?:the[ ])?public[ ]domain(?:[ ](?:mark|dedication))?(?:[ ]\d\.\d)?|pdm(?:[ -]?1\.0)?|pddl(?:-1\.0)?
    |u\.?s\.?[ ]government[ ]work
    |apache(?:[ -]software)?(?:[, -]*(?:version[ ])?v?2(?:\.0)?)?
    |mit(?:-0)?|expat|isc|unlicen[cs]e|0bsd|(?:new[ ]|modified[ ]|simplified[ ])?bsd(?:[ -]?[234][ -]clause)?
    |[al]?gpl(?:[ -]?v?\d(?:\.\d)?)?(?:\+|-only|-or-later)?|mpl(?:[ -]2(?:\.0)?)?
    |odc[ -]?by{_VERSION}|odbl{_VERSION}|cdla-permissive-\d\.\d
    """,
    re.VERBOSE,
)


def is_open_licence(licence: str) -> bool:
    """Whether a licence lets everyone use, change and pass on a text: CC0, CC BY, CC BY-SA, the public domain, Apache, MIT, BSD and
    their like, by name or address.

    Where several are named, all must be open. Anything that is not known counts as not open: "non-commercial" and "no derivatives"
    in all forms, arXiv's own licence, "all rights reserved", "open access", an empty text.

    >>> is_open_licence("http://creativecommons.org/licenses/by-sa/4.0/"), is_open_licence("CC BY-NC-ND 4.0")
    (True, False)
    """
    text = fold(str(licence)).replace("license", "licence").replace("_", "-")
    text = re.sub(r"(?:https?://)?(?:www\.)?creativecommons\.org/licences/([a-z-]+)(?:/\S*)?", r"cc \1", text)
    text = re.sub(r"(?:https?://)?(?:www\.)?creativecommons\.org/publicdomain/(zero|mark)(?:/\S*)?", _public, text)
    text = re.sub(r"(?:https?://)?(?:www\.)?apache\.org/licences/licence-2\.0\S*", "apache 2.0", text)
    text = re.sub(r"(?:https?://)?(?:www\.)?opensource\.org/licen[cs]es?/([a-z0-9.-]+)\S*", r"\1", text)
    parts = [part.strip(" .") for part in re.split(r"[;|/()\[\]]| and | or ", text)]
    parts = [" ".join(_FILLING.sub(" ", part).split()).strip(" ,-") for part in parts if part]
    return bool(parts) and all(_OPEN.fullmatch(part) for part in parts)


_FILLING = re.compile(r"^(?:licen[cs]ed )?(?:under )?(?:the |a )?|(?<= )licen[cs]e(?=[ ,.]|$)")


def _public(match: re.Match) -> str:
    return "cc0" if match[1] == "zero" else "public domain"
