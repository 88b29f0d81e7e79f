"""Items for the tests of `exam`: one sound item to spoil, and banks of random words with or without cues."""

from dataclasses import replace

import numpy as np

from factlab.exam import Evidence, Item

PASSAGE = "Dawson's fingers are lesions at right angles to the ventricles. They follow medullary veins, as a rule."


def words(n: int, stem: str = "w") -> str:
    """n different words."""
    return " ".join(f"{stem}{i}" for i in range(n))


def item(**changes) -> Item:
    """A sound hard item: stem of 20 words, options of 10, key B."""
    sound = Item(
        question=words(19, "q") + " so?",
        options=tuple(words(10, letter) for letter in "abcd"),
        key="B",
        label="hard",
        topic="morphology",
        subtopic="ventricles",
        question_type="single best answer",
        explanation="Veins run there.",
        evidence=(Evidence("c1", "They follow medullary veins", 64, 91, "s1"),),
    )
    return replace(sound, **changes)


def bank(n: int, planted: float = 0.0, topics: int = 16, seed: int = 0, label: str = "hard") -> list[Item]:
    """Items of random words; in a share of them the key is half as long again as its distractors."""
    rng = np.random.default_rng(seed)
    known = [a + b + c for a in ("le", "mo", "si", "ta") for b in ("sion", "bri", "gu") for c in ("", "al", "ed", "ic")]

    def text(size: int) -> str:
        return " ".join(rng.choice(known, size))

    out = []
    for number in range(n):
        key = int(rng.integers(4))
        options = [text(int(rng.integers(9, 14))) for _ in range(4)]
        if rng.random() < planted:
            options[key] += " " + text(7)
        out.append(
            item(question=text(20) + "?", options=options, key="ABCD"[key], label=label, topic=f"t{number % topics}")
        )
    return out


def answers(n: int, m: int, seed: int = 0, spread: float = 1.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Right and wrong answers from a Rasch model: (n, m), abilities (m,), difficulties (n,)."""
    rng = np.random.default_rng(seed)
    ability, hardness = rng.normal(1, spread, m), rng.normal(0, 1.2, n)
    return (rng.random((n, m)) < 1 / (1 + np.exp(hardness[:, None] - ability))).astype(int), ability, hardness
