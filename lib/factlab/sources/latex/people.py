"""Authors of a reference: lists taken apart, each name in the order in which it is spoken ("Ludwig van Beethoven")."""

import re

_AND = re.compile(r"\s+(?:and|und|et|y|&)\s+|\s*;\s*|\s*&\s*")
_ET_AL = re.compile(
    r"[,;]?\s*(?:\band\s+)?(?:\bet\.?\s*al\b\.?|\band\s+others\b|\bu\.\s?a\.|\band\s+colleagues\b|…|\.\.\.)\s*,?",
    re.IGNORECASE,
)
_PARTICLE = r"(?:van|von|der|den|de|del|della|di|da|dos|du|la|le|el|al|bin|ibn|ter|ten|st\.|zu|zur|af|av|y|'t|Van|Von|Der|De|Del|Di|Da|Du|La|Le)"
_INITIALS = r"(?:[^\W\d_]\.?[-‐– ’']*){1,4}"
# "A.", "A. B.", "J.-P.", "Ch.", "AB": what stands for given names beside a surname
_IS_INITIALS = re.compile(r"(?:[A-ZÀ-ÞŠŽČĆŁ][a-zà-þ]?\.?[-‐–\s~]*){1,5}$")
_WITH_DOT = re.compile(r"(?:[^\W\d_]{1,2}\.[-‐–\s~]*){1,5}(?:[^\W\d_]\.?)?$")
_SUFFIX = re.compile(r"(?:Jr|Sr|II|III|IV)\.?$", re.IGNORECASE)
_ROLE = re.compile(r"\s*\((?:eds?|editors?|hrsg)\.?\)|,?\s+\b(?:eds?\.|editors?)\s*$", re.IGNORECASE)


def split_people(text: str) -> tuple[tuple[str, ...], bool]:
    """The people in a printed list of authors, and whether "et al." cuts it.

    >>> split_people("Vaswani, A., Shazeer, N., et al.")
    (('A. Vaswani', 'N. Shazeer'), True)
    >>> split_people("Waleed Ammar, Dirk Groeneveld, and Oren Etzioni")
    (('Waleed Ammar', 'Dirk Groeneveld', 'Oren Etzioni'), False)
    """
    text = _ROLE.sub("", " ".join(text.replace("~", " ").split()))
    et_al = _ET_AL.search(text) is not None
    text = _ET_AL.sub(" ", text).strip(" ,;:")
    if not re.search(r"(?<![^\W\d_])[^\W\d_]\.$", text):  # the stop of initials stays
        text = text.rstrip(". ")
    if not text:
        return (), et_al
    if ";" in text:  # each between semicolons is one: "Vaswani, Ashish; Shazeer, Noam"
        whole = (re.sub(r"^(?:and|&)\s+", "", name.strip(" ,")) for name in text.split(";"))
        return tuple(natural(name) for name in whole if re.search(r"[^\W\d_]", name)), et_al
    text = re.sub(r",\s*(?:and|&)\s+", " and ", text)
    chunks = [[piece.strip() for piece in chunk.split(",") if piece.strip()] for chunk in _AND.split(text)]
    several = [piece for chunk in chunks for piece in chunk]
    pairs = _surname_first(several)
    # "Vaswani, Ashish, Noam Shazeer and Niki Parmar": the first alone is turned round, as in a catalogue
    turned = len(several) > 1 and len(chunks[0]) > 1 and " " not in several[0] and not _is_initials(several[0])
    turned = turned and not _is_initials(several[1]) and all(" " in name for name in several[2:])
    turned = turned and (len(several) > 2 or " " not in several[1]) and not _SUFFIX.fullmatch(several[1])
    catalogue = len(chunks) > 1 and all(len(chunk) == 2 and " " not in chunk[0] for chunk in chunks)
    names: list[str] = []
    for number, parts in enumerate(chunks):
        index = 0
        while index < len(parts):
            part, following = parts[index], parts[index + 1] if index + 1 < len(parts) else ""
            index += 1
            alone = (
                following
                and not _SUFFIX.fullmatch(following)
                and not _is_initials(part)
                and (_WITH_DOT.match(following) or (pairs and _is_initials(following)))
            )
            if _SUFFIX.fullmatch(part) and names:
                names[-1] += f" {part}"
            elif alone or catalogue or (turned and not number and index == 1):
                index += 1
                names.append(f"{following} {part}")
            else:
                names.append(natural(part))
    return tuple(name for name in names if re.search(r"[^\W\d_]", name)), et_al


def _is_initials(part: str) -> bool:
    return bool(
        _WITH_DOT.match(part) or (_IS_INITIALS.match(part) and len(part.replace(" ", "")) < 6 and part.upper() == part)
    )


def _surname_first(parts: list[str]) -> bool:
    """Whether commas stand within names: as many initials alone as surnames alone."""
    alone = sum(_is_initials(part) for part in parts)
    return alone > 0 and alone >= 0.4 * len(parts)


_GENERATIONS = ("Jr", "Jr.", "Sr", "Sr.", "II", "III", "IV")


def natural(name: str) -> str:
    """Given names first: "Vaswani A" is "A Vaswani", "Vaswani, Ashish" is "Ashish Vaswani"; others as they are."""
    name = " ".join(name.split()).strip(" ,")
    if "," in name:
        return bibtex_name(name)
    words = name.split()
    last = words[-1] if len(words) > 1 else ""
    if last in _GENERATIONS and len(words) > 2:  # "John Smith III"
        return name
    if re.fullmatch(r"[^\W\d_a-z](?:-?[^\W\d_a-z]){0,3}", last):  # "Vaswani AB"
        given = any(re.fullmatch(r"[^\W\d_]\.?|[^\W\d_]{2}\.", word) for word in words[:-1])
        return name if given else " ".join([last, *words[:-1]])
    return name


def bibtex_name(name: str) -> str:
    """A name of a .bib file: "von Last, Jr, First" is "First von Last Jr"."""
    parts = [" ".join(part.split()) for part in name.split(",")]
    if len(parts) == 1:
        return parts[0]
    if len(parts) == 2:
        return f"{parts[1]} {parts[0]}".strip()
    if parts[-1] in _GENERATIONS:  # not BibTeX's order, but written
        return f"{' '.join(parts[1:-1])} {parts[0]} {parts[-1]}"
    return f"{' '.join(parts[2:])} {parts[0]} {parts[1]}".strip()


_NAME_INITIALS_FIRST = re.compile(
    rf"(?:{_PARTICLE}\s+)?(?:[^\W\d_]{{1,2}}\.[-‐– ]*)+(?:{_PARTICLE}\s+)*[^\W\d_a-zß-ÿ][\w’'‐–-]*(?:\s+(?:Jr|Sr)\.)?"
)
_NAME_SURNAME_FIRST = re.compile(
    rf"(?:{_PARTICLE}\s+)*[^\W\d_a-zß-ÿ][\w’'‐–-]*(?:\s+[^\W\d_a-zß-ÿ][\w’'‐–-]+)?,?\s+(?:[^\W\d_]{{1,2}}\.[-‐– ]*)+"
)
_SEPARATOR = re.compile(r"\s*(?:,\s*(?:and|&)\s+|,\s*|;\s*|\s+(?:and|&)\s+)")
_CUT = re.compile(r"\s*,?\s*et\.?\s+al\.?")


def leading_people(text: str) -> int:
    """How far a list of names with initials reaches at the beginning of an entry; 0 where it begins with none."""
    for pattern in (_NAME_INITIALS_FIRST, _NAME_SURNAME_FIRST):
        end = position = 0
        while match := pattern.match(text, position):
            end = match.end()
            if cut := _CUT.match(text, end):
                return cut.end()
            separator = _SEPARATOR.match(text, end)
            if not separator:
                break
            position = separator.end()
        if end:
            return end
    return 0
