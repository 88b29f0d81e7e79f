"""What surrounds an answer in a model's reply: its reasoning, its mark-up, an echo of the prompt.

The layer under `replies` (which re-exports all that is public here): strings go in, strings without the surroundings
come out, with a status where something is missing. No paper describes these steps; the table of inputs in
tests/test_replies.py does.
"""

import re
from dataclasses import dataclass
from itertools import islice
from typing import Any

from factlab.text import normalise


@dataclass(frozen=True)
class Parsed:
    """What was read from a reply, and how that went.

    Attributes
    ----------
    value
        The answer; None (for `strip_reasoning` "", for lists []) where there is none.
    status : str
        `scored` (read), `refused` (the model declined or did not know), `truncated` (cut before the answer),
        `unparsable` (an answer that fits none of what was asked for), `unknown` (a verdict: could not be decided),
        `no_units` (a list of units that holds none), `error` (there is no reply: the call failed).
    """

    value: Any
    status: str


# --- reasoning ---------------------------------------------------------------------------------------------------

_THOUGHT = (
    r"(?:ant|seed:)?(?:think(?:ing)?|thoughts?|reason(?:ing)?|reflections?|scratchpad|chain[_ -]of[_ -]thoughts?|cot"
    r"|analysis|(?:inner|internal)[_ -](?:monologue|thoughts?|reasoning))"
)
_LESS, _MORE = "(?:<|&lt;|＜)", "(?:>|&gt;|＞)"
# (opening, closing): XML, [THINK], Kimi's ◁think▷, <|begin_of_thought|>, <|START_THINKING|>, <unused94>, <|channel>
_DELIMITERS = [
    (rf"{_LESS}\s*{_THOUGHT}(?:\s+\w+=[^<>]*|\s*){_MORE}", rf"{_LESS}\s*/\s*{_THOUGHT}\s*{_MORE}"),
    # `[Reasoning]` alone is a heading; of such marks only the closing one is sure.
    (r"\[\s*think(?:ing)?\s*\]", rf"\[\s*/\s*{_THOUGHT}\s*\]"),
    (r"^```(?:think(?:ing)?|thoughts?|reasoning)[ \t]*$", r"^```/think$"),
    (rf"◁\s*{_THOUGHT}\s*▷", rf"◁\s*/\s*{_THOUGHT}\s*▷"),
    (r"<\|\s*begin_of_thought\s*\|>", r"<\|\s*end_of_thought\s*\|>"),
    (r"<\|\s*start_thinking\s*\|>", r"<\|\s*end_thinking\s*\|>"),
    (r"<\|\s*think(?:ing)?\s*\|>", r"<\|\s*/\s*think(?:ing)?\s*\|>"),
    (r"<unused94>", r"<unused95>"),
    (r"<\|channel>\s*thought", r"<channel\|>"),
]
_OPENING = re.compile("|".join(o for o, _ in _DELIMITERS), re.IGNORECASE | re.MULTILINE)
_CLOSING = re.compile("|".join(c for _, c in _DELIMITERS), re.IGNORECASE | re.MULTILINE)
_THOUGHT_FENCE = re.compile(r"```(?:think(?:ing)?|thoughts?|reasoning)[ \t]*", re.IGNORECASE)
_CHANNEL = re.compile(r"<\|channel\|>\s*(\w+)[^<]*?(?:<\|message\|>|\s)", re.IGNORECASE)
_SPECIAL = re.compile(
    r"<\|start_header_id\|>\w+<\|end_header_id\|>|<\|(?:im_start|start)\|>assistant\b|<think\s*/>"
    r"|<\|(?:end|return|start|eot_id|im_end|im_start|endoftext|end_of_text|eom_id|end_of_turn|begin_of_solution"
    r"|end_of_solution|start_response|end_response|end_of_turn_token|call)\|>|</s>|<s>|<eos>|<bos>|<end_of_turn>|<pad>",
    re.IGNORECASE,
)


def _fences_closed(reply: str) -> str:
    """A reply whose code fences of reasoning end in a mark of their own, so that they differ from those of an answer."""
    lines, inside = reply.split("\n"), False
    for number, line in enumerate(lines):
        if inside and line.rstrip() == "```":
            lines[number], inside = "```/think", False
        else:
            inside = inside or _THOUGHT_FENCE.fullmatch(line) is not None
    return "\n".join(lines)


def strip_reasoning(reply: str | None) -> Parsed:
    """Remove the reasoning that some models write before their answer.

    Understands `<think>`, `<thinking>`, `<reasoning>`, `<analysis>`, `[THINK]` and their kin in any case, also as
    `&lt;think&gt;` and as a code fence ```` ```thinking ````, several blocks, a lone closing tag (the opening one was part of the chat template), and harmony channels
    (`<|channel|>analysis<|message|>…<|channel|>final<|message|>…`), also with their marks already removed
    (`analysis…assistantfinal…`). Marks of the end of a turn go too.

    Parameters
    ----------
    reply : str or None
        The reply as the model gave it. None stands for a failed call.

    Returns
    -------
    Parsed
        value: the answer without reasoning, stripped. Reasoning that never ends, or that nothing follows, gives
        value "" and status `truncated`: half a thought is no answer. None gives "" and `error`.
    """
    if not isinstance(reply, str):
        return Parsed("", "error")
    channels = list(_CHANNEL.finditer(reply))
    if channels:
        final = [c for c in channels if c[1].casefold() in ("final", "response", "answer")]
        if not final:
            return Parsed("", "truncated")
        answer = reply[final[-1].end() :]
        cut = re.search(r"<\|(?:end|return|start|channel|call)\|>", answer)
        answer = _SPECIAL.sub(" ", answer[: cut.start()] if cut else answer).strip()
        return Parsed(answer, "scored" if answer else "truncated")
    unmarked = re.match(r"\s*(?:analysis|commentary|assistantfinal)(?=[A-Z\"'])", reply)
    if unmarked:
        _, found, answer = reply.rpartition("assistantfinal")
        return Parsed(answer.strip(), "scored") if found and answer.strip() else Parsed("", "truncated")

    reply = _fences_closed(reply) if "```" in reply else reply
    kept, position, depth = [], 0, 0
    marks = [(m.start(), m.end(), 1) for m in _OPENING.finditer(reply)]
    marks += [(m.start(), m.end(), -1) for m in _CLOSING.finditer(reply)]
    for start, end, step in sorted(marks):
        if step < 0 and depth == 0:
            kept = []  # a closing tag alone: all before it was reasoning
        elif depth == 0:
            kept.append(reply[position:start])
        # A second opening inside a block is usually the model repeating itself, not nesting: one closing tag ends it.
        depth = 1 if step > 0 else 0
        position = end
    if depth:
        return Parsed("", "truncated")
    kept.append(reply[position:])
    answer = _SPECIAL.sub(" ", " ".join(k.strip() for k in kept)).strip() if marks else _SPECIAL.sub(" ", reply).strip()
    return Parsed(answer, "truncated" if marks and not answer else "scored")


# --- mark-up -----------------------------------------------------------------------------------------------------

_ANSWER_TAG = re.compile(
    r"<\s*(/?)\s*(?:final[_ -]?)?(?:answer|verdict|label|choice|output|result|response|score)\s*>", re.I
)
_HTML = re.compile(r"</?(?:b|i|u|strong|em|p|br|span|code|pre|sub|sup|mark|div)(?:\s[^<>]*)?/?>", re.IGNORECASE)
_TEX_TEXT = re.compile(
    r"\\(?:text(?:bf|it|tt|rm|sf|sc|normal)?|math(?:rm|bf|it|sf|tt)|operatorname|emph|underline|bm|textcolor\{\w+\})"
    r"\s*\{([^{}]*)\}"
)
_TEX_BOX = re.compile(r"\\(?:boxed|fbox|framebox)\s*(?:\{([^{}]*)\}|(\w+))")
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n`]*$", re.MULTILINE)


def plain(reply: str) -> str:
    """A reply without Markdown, LaTeX, HTML, code fences and typographic quotes; its lines are kept.

    What a mark-up names as the answer (`\\boxed{B}`, `<answer>B</answer>`) becomes a line of its own, `Answer: B`.
    """
    text = _FENCE.sub("", reply)
    text = re.sub(r"```\w*|~~~", "", text)
    text = re.sub("[\u200b-\u200d\u2060\ufeff\ufe0e\ufe0f]", "", text)  # zero-width marks, also behind emoji
    if not re.search(r"</\s*[a-z]\s*>", text, re.IGNORECASE):  # `<B>` is a choice where nothing closes it
        text = re.sub(r"<([A-Z])>", r"\1", text)
    text = _ANSWER_TAG.sub(lambda m: "\n" if m[1] else "\nAnswer: ", text)
    text = _HTML.sub(" ", text)
    for _ in range(4):  # \boxed{\text{\textbf{B}}} opens from the inside
        text, changed = _TEX_TEXT.subn(r"\1", text)
        if not changed:
            break
    text = _TEX_BOX.sub(lambda m: f"\nAnswer: {m[1] if m[1] is not None else m[2]}\n", text)
    text = re.sub(r"\\[()\[\],;! ]|\$", "", text)
    text = re.sub(r"[*`~]+", "", text)
    lines = []
    for line in text.splitlines():
        line = re.sub(r"^\s*(?:#{1,6}\s|>+\s?)+", "", normalise(line))
        lines.append(re.sub(r"(?<!\w)_+|_+(?!\w)", "", line).strip())
    return "\n".join(lines).strip()


_BRACKETS = {"(": ")", "[": "]", "{": "}", '"': '"', "'": "'", "«": "»"}
_LEAD = re.compile(
    r"^(?:the |my )?(?:final |correct |best )?(?:answer|verdict|label|response|output)\s*(?:is\s*)?[:=]?(?<=[:=s])\s+",
    re.I,
)


def bare(reply: str) -> str:
    """The shortest form of a short answer: no mark-up, quotes, brackets, `Answer:` in front or full stop behind.

    `Pass.`, `'pass'`, `["pass"]`, `<answer>pass</answer>` and `**pass**` all give a form of the word pass.
    """
    text = " ".join(plain(reply).split())
    while text:
        before = text
        text = _LEAD.sub("", text).strip()
        if len(text) > 1 and _BRACKETS.get(text[0]) == text[-1] and text[-1] not in text[1:-1]:
            text = text[1:-1].strip()
        text = text.rstrip(" .,;:!") if not text.endswith("...") else text[:-3].rstrip()
        if text == before:
            break
    return text


# --- an echo of the prompt ---------------------------------------------------------------------------------------

_WORD = re.compile(r"\w+")


def words_with_ends(text: str, limit: int | None = None) -> list[tuple[str, int]]:
    """The (first `limit`) words of a text in comparison form, each with the position where it ends: finds an echo."""
    return [(normalise(m[0]).casefold(), m.end()) for m in islice(_WORD.finditer(text), limit)]


def without_echo(reply: str, prompt: str | None) -> str:
    """Remove what a reply repeats of its own prompt: all of it in front, or whole lines of four words and more."""
    if not prompt:
        return reply
    asked, said = words_with_ends(prompt), words_with_ends(reply)
    if asked and [w for w, _ in said[: len(asked)]] == [w for w, _ in asked]:
        reply = reply[said[len(asked) - 1][1] :].lstrip(" \t?.!:\"'*)]}")
    echoed = {" ".join(w for w, _ in words_with_ends(line)) for line in prompt.splitlines()}
    echoed = {line for line in echoed if line.count(" ") >= 3}
    kept = [li for li in reply.splitlines() if " ".join(w for w, _ in words_with_ends(li)) not in echoed]
    return "\n".join(kept)
