"""Encoders that are simple functions, for tests: a text as the letters in it."""

from collections.abc import Sequence

import numpy as np

from factlab.stability import Tokens


def embed(texts: Sequence[str | None]) -> np.ndarray:
    """(n, 26) how often each letter occurs; NaN where there is no text."""
    rows = [
        [text.lower().count(chr(c)) for c in range(97, 123)] if text and text.strip() else [np.nan] * 26
        for text in texts
    ]
    return np.array(rows, dtype=np.float32).reshape(len(texts), 26)


def encode(texts: Sequence[str]) -> list[Tokens]:
    """Each letter a token, one-hot; other characters are none."""
    eye = np.eye(26, dtype=np.float32)
    found = []
    for text in texts:
        ids = np.array([ord(c) - 97 for c in text.lower() if "a" <= c <= "z"], dtype=int)
        found.append(Tokens(ids, eye[ids].reshape(len(ids), 26), np.zeros(len(ids), bool)))
    return found
