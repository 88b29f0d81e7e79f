"""Are two author names the same person's? REASONS' direct queries, whose gold names come from a search service.

Section 4 of the paper asks for `FirstName LastName`; models and databases write `Surname, Given`, `Surname GN`,
initials, particles and accents each in their own way. `same_author` says when two such strings agree; it compares what
is written and knows nothing of the people, so two who share a name are one to it.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from factlab.attribution.forms import without_accents, without_tex
from factlab.text import normalise

_LIST = str.split
_PARTICLES = frozenset(
    _LIST(
        "von van vom der den de del della delle dello degli di da dal das dos do du des la le las los el al ul bin bint ibn ben"
        " abu ter ten te zu zur zum af av und y e i 't op st"
    )
)
_TITLES = frozenset(["dr", "prof", "professor", "mr", "mrs", "ms", "miss", "sir", "phd", "md", "msc", "bsc", "dphil"])
_GENERATIONS = {"jr": "jr", "sr": "sr", "ii": "ii", "iii": "iii", "iv": "iv"}
# Family names that stand first where a name is written in the order of its own language. Of such a name alone `Wu Xiaogang`
# and `Wu X-G` are read with the family in front: `John S` is no abbreviation of `John Smith`.
_FAMILY_FIRST = frozenset(
    _LIST(
        """
    ai an bae bai bao bi bian bui bo cai cao cha chai chan chang chao chau che chen cheng cheung chi chiang chin chiu cho choe
    choi chou chow chu chua chung cui dai dang deng ding do dong dou du duan fan fang fei feng fu fung gan gao ge geng gong gu
    guan guo ha han hao he ho hoang hong hou hsieh hsu hu hua huang hui huo hwang im ip ji jia jiang jiao jin jing jo joo ju
    jung kang ke kim ko kong koo kuang kwok kwon lai lam lan lau le lee lei leung li lian liang liao lim lin ling liu lo long
    lou lu lui luo lv lyu ma mai mao mei meng miao min mo mu nam nguyen ni nie niu noh oh ong ou ouyang pak pan pang park pei
    peng pham phan pi ping qi qian qiang qiao qin qiu qu quan rao ren rong ruan ryu seo shao shen sheng shi shin shu sim situ
    sima so son song su sui suh sun sung tai tam tan tang tao teng tian tong tran tsai tsang tseng tu tung vo vu wan wang wei
    wen weng wong woo wu xi xia xian xiang xiao xie xin xing xiong xu xue yan yang yao ye yeh yi yim yin ying yip yoo yoon you
    yu yuan yue yun zeng zha zhai zhan zhang zhao zheng zhong zhou zhu zhuang zhuo zong zou zuo
    """
    )
)
_LONGEST = 300  # characters of a name; what is longer is none, and only equal to itself
_APOSTROPHES = re.compile(r"['`´ʻʼ′]+")
_TOKEN = re.compile(r"[^\W\d_]+(?:[\u0900-\u0dff\u0e31-\u0e4e]+[^\W\d_]*)*\.?")


@dataclass(frozen=True)
class _Word:
    """A word of a name: its spelling without accents, one with `ae` for `ä` (and kin), and whether it is an initial."""

    text: str
    umlaut: str
    initial: bool
    linked: bool = False  # by a hyphen to the word before it

    def same(self, other: "_Word") -> bool:
        return self.text == other.text or self.umlaut == other.text or self.text == other.umlaut

    def abbreviates(self, other: "_Word") -> bool:
        return self.initial and other.text.startswith(self.text)


@dataclass(frozen=True)
class _Reading:
    """One way to read a name. Particles are left out of `family`; `joined` holds the family with and without them."""

    family: tuple[_Word, ...]
    given: tuple[_Word, ...]
    joined: frozenset[str]


@dataclass(frozen=True)
class _Name:
    letters: str  # all letters in order, for names that are equal
    bag: frozenset[tuple[str, int]]  # full words with their number; empty where there is an initial
    keys: frozenset[str]  # words and joined family names: names without a common one are never the same
    generation: str
    readings: tuple[_Reading, ...]
    double: _Reading | None  # with two family names, as in Spanish: only where the other name tells its family
    explicit: bool  # a comma or braces tell the family name


_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa", "æ": "ae", "œ": "oe"})


def _word(token: str, shouted: bool, linked: bool) -> list[_Word]:
    """A token as words: `JA` and `J.A.` are two initials, `SMITH` and `LI` in a name all in capitals are words."""
    letters = token.rstrip(".")
    low = letters.casefold()
    composed = unicodedata.normalize("NFC", low)
    plain = without_accents(low)
    # `Yu.`, `Th.`, `Chr.`: what ends in a full stop is cut short
    short = token.endswith(".") and len(letters) <= 4
    if len(letters) == 1:
        return [_Word(plain, composed.translate(_UMLAUTS), _cased(letters), linked)]
    if letters.isupper() and len(letters) <= 3 and not shouted and _cased(letters):
        return [
            _Word(without_accents(c.casefold()), c.casefold(), True, linked and not i) for i, c in enumerate(letters)
        ]
    return [_Word(plain, without_accents(composed.translate(_UMLAUTS)), short, linked)]


def _cased(text: str) -> bool:
    return text[0].lower() != text[0].upper()


@lru_cache(maxsize=1 << 16)
def _parse(name: str) -> _Name:
    if len(name) > _LONGEST:
        return _Name(normalise(name).casefold(), frozenset(), frozenset(), "", (), None, False)
    text = normalise(without_tex(re.sub(r"\{([^{}\\]+)\}\s*,", r"\1,", name)))
    text = _APOSTROPHES.sub("", re.sub(r"\(.*?\)|[*†‡§¶#]|\d+", " ", text))
    parts = [p for p in (part.strip() for part in text.split(",")) if p]
    generation, kept = "", []
    letters_only = re.sub(r"[^A-Za-z]", "", text)
    shouted = (
        letters_only.isupper() and len(letters_only) > 5 and any(len(t) > 3 for t in text.replace(",", " ").split())
    )
    for part in parts:
        tokens = []
        for group in part.split():
            low = group.casefold().strip(".,;").replace(".", "")
            if low in _GENERATIONS and (tokens or kept):
                generation = _GENERATIONS[low]
            elif low not in _TITLES or (low == "md" and group.isupper() is False and "." not in group):
                tokens.append(group)
        if tokens:
            kept.append(tokens)
    explicit = len(kept) > 1
    groups = [[_words_of(g, shouted) for g in tokens] for tokens in kept]
    everything = [w for part in groups for g in part for w in g]
    if explicit:
        # Particles behind the given names belong to the family: `Beethoven, Ludwig van`.
        given = [g for part in groups[1:] for g in part]
        behind = []
        while len(given) > 1 and _is_particle(given[-1]) and not given[-1][0].initial:
            behind.insert(0, given.pop())
        readings = [_reading([*behind, *groups[0]], given)]
    else:
        readings = _readings(groups[0]) if groups else []
    double = None
    if not explicit and groups and len(groups[0]) > 2 and not any(w.initial for g in groups[0][-2:] for w in g):
        double = _reading(groups[0][-2:], groups[0][:-2])
    full = [w.text for w in everything if not w.linked]
    counts = (
        frozenset((w, full.count(w)) for w in full)
        if not any(w.initial or w.linked for w in everything)
        else frozenset()
    )
    keys = {form for w in everything for form in (w.text, w.umlaut)}.union(*(r.joined for r in readings))
    return _Name(
        "".join(w.text for w in everything), counts, frozenset(keys), generation, tuple(readings), double, explicit
    )


def _words_of(group: str, shouted: bool) -> list[_Word]:
    out: list[_Word] = []
    for i, piece in enumerate(p for p in group.split("-") if p):
        for token in _TOKEN.findall(piece):
            out += _word(token, shouted, bool(i) and token == _TOKEN.findall(piece)[0])
    return out


def _is_particle(group: list[_Word]) -> bool:
    return len(group) == 1 and group[0].text in _PARTICLES


def _reading(family: Sequence[list[_Word]], given: Sequence[list[_Word]]) -> _Reading:
    with_particles = [w for g in family for w in g]
    core = [w for g in family if not _is_particle(g) for w in g] or with_particles
    # `Al-Rfou`: a particle may be tied by a hyphen
    bare = [w for w in core if w.text not in _PARTICLES or len(core) == 1] or core
    joined = {
        "".join(getattr(w, form) for w in words)
        for words in (with_particles, core, bare)
        for form in ("text", "umlaut")
    }
    return _Reading(tuple(bare), tuple(w for g in given for w in g), frozenset(joined))


def _readings(groups: list[list[_Word]]) -> list[_Reading]:
    """The ways to read a name without a comma: family last, with its particles, or first."""
    groups = [g for g in groups if g]
    if not groups:
        return []
    if len(groups) == 1:
        return [_reading(groups, [])]
    initials = [all(w.initial for w in g) for g in groups]
    last = len(groups) - 1
    trailing = 0
    while trailing < last and initials[last - trailing]:
        trailing += 1
    if trailing and not initials[0]:  # `de Oliveira SD`, `Wu X-G`, `Smith J A`
        cut = len(groups) - trailing
        return [_reading(groups[:cut], groups[cut:])]
    start = last
    while start > 1 and _is_particle(groups[start - 1]) and not initials[start - 1]:
        start -= 1
    found = [_reading(groups[start:], groups[:start])]
    # `Danilo de Oliveira Silva`: the family may begin at the first particle.
    particle = next(
        (i for i in range(1, last) if _is_particle(groups[i]) and groups[i][0].text not in ("e", "i", "y")), None
    )
    if particle is not None and particle != start and not initials[particle]:
        found.append(_reading(groups[particle:], groups[:particle]))
    if re.search(r"(?:ович|евич|ич|вна|чна)$", groups[-1][-1].text) and len(groups) == 3:  # a patronymic stands last
        found.append(_reading(groups[:1], groups[1:]))
    if groups[0][0].text in _FAMILY_FIRST and len(groups) <= 3 and not initials[0]:
        found.append(_reading(groups[:1], groups[1:]))
    return found


def same_author(a: str, b: str) -> bool:
    """Whether two strings can be the name of one person.

    The family names must agree, and the given names as far as both are written: an initial agrees with a name that
    begins with it, a missing middle name with any. Particles (`van`, `de`), hyphens, apostrophes, accents (`Müller`,
    `Muller`, `Mueller`), braces, TeX, academic titles and order (`Surname, Given`; `Given Surname`; `Surname GN`; of a
    name whose words are all written out, any order) do not matter. Of a compound family name one part is enough, and
    the other may stand as an initial (`de Oliveira SD`, `Danilo de Oliveira Silva`).

    Parameters
    ----------
    a, b : str

    Returns
    -------
    bool
        False for empty strings, for a family name alone against a full name, for `Jr.` against `Sr.`, and where only
        initials agree. Nicknames and transliterations other than those above count as other names.
    """
    left, right = _parse(a), _parse(b)
    if not left.letters or not right.letters:
        return False
    if left.generation and right.generation and left.generation != right.generation:
        return False
    if left.letters == right.letters:
        return True
    if left.keys.isdisjoint(right.keys):
        return False
    if left.bag and left.bag == right.bag and not (left.explicit and right.explicit):
        return True
    pairs = [(x, y) for x in left.readings for y in right.readings]
    for one, other in ((left, right), (right, left)):
        if one.explicit and other.double:
            pairs += [(x, other.double) for x in one.readings]
    return any(_agree(x, y) for x, y in pairs)


def _agree(x: _Reading, y: _Reading) -> bool:
    if not x.joined & y.joined:
        short, long = sorted((x, y), key=lambda r: len(r.family))
        if len(long.family) == len(short.family) or any(w.initial for w in short.family):
            return False
        left_over = list(long.family)
        for word in short.family:
            match = next((w for w in left_over if w.same(word)), None)
            if match is None:
                return False
            left_over.remove(match)
        # The rest of a compound family name may be missing, stand among the given names, or be an initial.
        return bool(short.given and long.given) and (
            _given_agree(short.given, long.given) or _covered(short.given, [*long.given, *left_over])
        )
    return _given_agree(x.given, y.given, x.family[0].text in _FAMILY_FIRST)


def _given_agree(x: Sequence[_Word], y: Sequence[_Word], run_together: bool = False) -> bool:
    if not x or not y:
        return not x and not y
    if "".join(w.text for w in x) == "".join(w.text for w in y):
        return True
    short, long = sorted((x, y), key=len)
    if run_together and len(short) == 1 and len(long) == 2 and all(w.initial for w in long) and not short[0].initial:
        # `X-G` and `XG` stand for `Xiaogang`: the second initial begins a syllable inside the word.
        syllables = rf"{re.escape(long[0].text)}\w+?{re.escape(long[1].text)}[hrlwy]?[aeiouvwy]"
        return re.match(syllables, short[0].text) is not None
    return _in_order(short, long)


def _fits(x: _Word, y: _Word) -> bool:
    return x.same(y) or x.abbreviates(y) or y.abbreviates(x)


def _in_order(short: Sequence[_Word], long: Sequence[_Word]) -> bool:
    """Each of the shorter in the longer, in order; the first in the first, unless a name written out agrees."""
    position, spelled = 0, False
    first = _fits(short[0], long[0])
    for word in short:
        while position < len(long) and not _fits(word, long[position]):
            position += 1
        if position == len(long):
            return False
        spelled = spelled or (word.same(long[position]) and not word.initial)
        position += 1
    return first or spelled


def _covered(short: Sequence[_Word], long: Sequence[_Word]) -> bool:
    """Each of the shorter with one of the longer, in any order."""
    rest = list(long)
    for word in short:
        match = next((w for w in rest if _fits(word, w)), None)
        if match is None:
            return False
        rest.remove(match)
    return True


def pair_authors(predicted: Sequence[str], gold: Sequence[str]) -> list[tuple[int, int]]:
    """Which predicted author is which gold one: as many one-to-one pairs (positions) as `same_author` allows.

    Names that are written alike are paired first, so that `J. Smith` is left for whichever Smith remains.
    """
    matched: dict[int, int] = {}  # gold -> predicted
    letters = [_parse(name).letters for name in gold]
    for i, name in enumerate(predicted):
        key = _parse(name).letters
        j = next((j for j, k in enumerate(letters) if k and k == key and j not in matched), None)
        if j is not None and same_author(name, gold[j]):
            matched[j] = i
    taken = set(matched.values())
    free = [i for i in range(len(predicted)) if i not in taken]
    edges = (
        {i: [j for j in range(len(gold)) if same_author(predicted[i], gold[j])] for i in free}
        if len(matched) < len(gold)
        else {}
    )

    def place(i: int, seen: set[int]) -> bool:
        for j in edges.get(i, ()):
            if j not in seen:
                seen.add(j)
                other = matched.get(j)
                if other is None or (other in edges and place(other, seen)):
                    matched[j] = i
                    return True
        return False

    for i in free:
        place(i, set())
    return sorted((i, j) for j, i in matched.items())


def same_authors(predicted: Sequence[str], gold: Sequence[str]) -> bool:
    """Whether two lists name the same people, in any order, none missing and none too many."""
    return len(predicted) == len(gold) > 0 and len(pair_authors(predicted, gold)) == len(gold)
