"""A bank that cannot change unnoticed (MS-Exam-Gen, sections III and IV: models answer a locked bank).

A lock is one hash of everything that an examinee or a reader sees of its items, with a short hash of each field so that a
refusal says what changed.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from factlab.exam.items import FIELDS, LETTERS, Item, canonical

_MOST_NAMED = 8  # changes that an error spells out


class ChangedBankError(ValueError):
    """A bank is not the one that was locked, or a row not the one that its id was given for."""


@dataclass(frozen=True)
class Lock:
    """What a bank was when it was locked.

    Attributes
    ----------
    hash : str
        sha256 of the whole bank, in hexadecimal. The order of the items makes no difference, the order of an item's
        options does.
    items : tuple of dict
        For each item its id and a short hash of every field.
    """

    hash: str
    items: tuple[Mapping[str, str], ...]

    def __str__(self) -> str:
        return self.hash

    def __len__(self) -> int:
        return len(self.items)

    def changes(self, items: Iterable[Item]) -> list[str]:
        """What is different in these items, in words; nothing when they are the ones that were locked."""
        old = {record["id"]: record for record in self.items}
        now = [_fingerprint(item) for item in items]
        new = {record["id"]: record for record in now}
        said = [f"{i} stands {n} times" for i, n in Counter(r["id"] for r in now).items() if n > 1]
        for shared in (i for i in old if i in new):
            fields = [f for f in old[shared] if f != "id" and old[shared][f] != new[shared].get(f)]
            said += [f"{shared}: {', '.join(fields)} changed"] if fields else []
        gone, added = [r for i, r in old.items() if i not in new], [r for i, r in new.items() if i not in old]
        for record in gone:
            # An item whose wording was edited has a new id, but is otherwise the same.
            heir = max(added, key=lambda other: _alike(record, other), default=None)
            if heir is not None and _alike(record, heir) > len(record) // 2:
                fields = [f for f in record if f != "id" and record[f] != heir[f]]
                said.append(f"{record['id']}: {', '.join(fields)} changed (it would be {heir['id']} now)")
                added.remove(heir)
            else:
                said.append(f"{record['id']} is gone")
        return said + [f"{record['id']} was added" for record in added]

    def check(self, items: Iterable[Item], name: str = "the bank") -> None:
        """Refuse items that are not the ones that were locked.

        Raises
        ------
        ChangedBankError
        """
        said = self.changes(items)
        if said:
            more = f" and {len(said) - _MOST_NAMED} more" if len(said) > _MOST_NAMED else ""
            raise ChangedBankError(
                f"{name} is not what was locked ({self.hash[:12]}): {'; '.join(said[:_MOST_NAMED])}{more}. "
                "Take the locked file back, or save the new bank under another name."
            )

    def write(self, path: str | Path) -> None:
        """Write the lock; an equal one may stand there already, another one is never overwritten."""
        path = Path(path)
        if path.exists() and Lock.read(path).hash != self.hash:
            raise ChangedBankError(f"{path.name} locks another bank already; save this one under another name")
        record = {"hash": self.hash, "n": len(self.items), "items": list(self.items)}
        path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, path: str | Path) -> Lock:
        """The lock in a file.

        Raises
        ------
        ChangedBankError
            If the lock itself was edited: its items no longer give its hash.
        """
        path = Path(path)
        try:
            record = json.loads(path.read_text("utf-8"))
            made = cls(record["hash"], tuple(record["items"]))
        except (json.JSONDecodeError, KeyError, TypeError):
            raise ValueError(f"{path.name}: not a lock of an exam bank") from None
        if _hash_of(made.items) != made.hash:
            raise ChangedBankError(f"{path.name}: the lock was edited; its items do not give its hash")
        return made


def lock(items: Iterable[Item]) -> Lock:
    """One hash for a bank of sound items.

    Parameters
    ----------
    items : iterable of Item

    Returns
    -------
    Lock
        Its `hash` changes with any field of any item, except white space inside a line of text; not with the order of
        the items.

    Raises
    ------
    ValueError
        If there is no item, two have the same id, or one cannot be answered: it needs four different options that are
        not empty, a question, and a key among them.
    """
    items = list(items)
    if not items:
        raise ValueError("lock: there is no item")
    for number, item in enumerate(items, 1):
        fault = _fault(item)
        if fault:
            raise ValueError(f"lock: item {number} ({item.own_id or item.id}): {fault}")
    twice = [i for i, n in Counter(item.id for item in items).items() if n > 1]
    if twice:
        rows = [n for n, item in enumerate(items, 1) if item.id == twice[0]]
        raise ValueError(f"lock: items {' and '.join(map(str, rows))} are the same question ({twice[0]}); keep one")
    records = tuple(sorted((_fingerprint(item) for item in items), key=lambda record: record["id"]))
    return Lock(_hash_of(records), records)


def _fault(item: Item) -> str:
    if not item.question.strip():
        return "no question"
    if len(item.options) != len(LETTERS):
        return f"{len(item.options)} option{'s' * (len(item.options) != 1)}, {len(LETTERS)} are needed"
    if not all(option.strip() for option in item.options):
        return "an option is empty"
    if len({canonical(option) for option in item.options}) < len(item.options):
        return "two options are the same"
    return f"the key is {item.key!r}, not one of {', '.join(LETTERS)}" if item.key_number < 0 else ""


def _fingerprint(item: Item) -> dict[str, str]:
    parts: dict[str, Any] = {"question": item.question, "options": list(item.options), "key": item.key}
    parts |= {name: getattr(item, name) for name in FIELDS}
    parts |= {"evidence": [asdict(e) for e in item.evidence], "order_seed": item.order_seed}
    return {"id": item.id, **{name: _short(value) for name, value in parts.items()}}


def _short(value: Any) -> str:
    written = json.dumps(_canonical(value), ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _canonical(value: Any) -> Any:
    if isinstance(value, str):
        return canonical(value)
    if isinstance(value, list):
        return [_canonical(v) for v in value]
    return {k: _canonical(v) for k, v in value.items()} if isinstance(value, dict) else value


def _hash_of(records: Sequence[Mapping[str, str]]) -> str:
    ordered = sorted(records, key=lambda record: record["id"])
    return hashlib.sha256(json.dumps(ordered, sort_keys=True).encode()).hexdigest()


def _alike(a: Mapping[str, str], b: Mapping[str, str]) -> int:
    return sum(a[f] == b.get(f) for f in a if f != "id")
