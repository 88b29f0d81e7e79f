"""Asking a service on the web for people: one request at a time, with pauses, a few retries, and answers kept on disk.

Used by `metadata`. A service that stays busy, refuses, or cannot be reached is given up for the rest of a call.
"""

import email.utils
import http.client
import json
import re
import sqlite3
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .files import SourceError

_LONGEST_WAIT = 60.0  # seconds
_MOST_BYTES = 64 * 2**20
_last_request: dict[str, float] = {}  # by host and for the whole process, so that a second call keeps the pause, too


class Failed(Exception):
    """One request that came to nothing; `final`: the service is not asked again."""

    def __init__(self, reason: str, final: bool = False):
        super().__init__(reason)
        self.final = final


@dataclass
class Client:
    """Sends requests with the pauses that the services ask for, and gives a service up that cannot be reached."""

    store: "Store"
    urls: Mapping[str, str]
    pauses: Mapping[str, float]
    key: str
    contact: str
    timeout: float
    retries: int
    tell: Callable[[str], None] | None
    given_up: dict[str, str] = field(default_factory=dict)
    offline: list[str] = field(default_factory=list)
    answered: int = 0

    def get(self, service: str, path: str, query: Mapping[str, Any], missing: int | None = None) -> str:
        """The text of an answer; empty where the status is `missing`."""
        return self._send(service, path, query, None, missing)

    def post(self, service: str, path: str, query: Mapping[str, Any], body: Any) -> str:
        return self._send(service, path, query, json.dumps(body).encode(), None)

    def _send(self, service: str, path: str, query: Mapping[str, Any], body: bytes | None, missing: int | None) -> str:
        from urllib.parse import urlencode
        from urllib.request import Request

        from .. import __version__

        if service in self.given_up:
            raise Failed(self.given_up[service])
        agent = f"factlab/{__version__} (metadata of cited papers; one request at a time" + (
            f"; {self.contact})" if self.contact else ")"
        )
        headers = {"User-Agent": agent}
        if body is not None:
            headers["Content-Type"] = "application/json"
        request = Request(f"{self.urls[service]}{path}?{urlencode(query)}", data=body, headers=headers)
        if self.key and service == "semantic_scholar":
            request.add_unredirected_header(
                _AsWritten("x-api-key"), self.key
            )  # to nobody else, wherever the service points
        for attempt in range(self.retries + 1):
            wait = self._pause(service, request.host)
            if self.tell:
                self.tell(f"{service}: {list(query.values())[0]!s:.60}")
            try:
                text = self._once(request, missing)
            except _Retry as error:
                if attempt == self.retries or (error.offline and attempt):
                    # Whoever is still busy, or silent, after so many waits is left in peace for the rest of the call.
                    self.given_up[service] = str(error)
                    self.offline += [str(error)] if error.offline else []
                    raise Failed(str(error)) from error
                asked_for = error.after if error.after is not None else max(wait, 0.05) * 2**attempt
                time.sleep(min(asked_for, _LONGEST_WAIT))
            except Failed as error:
                self.answered += 1
                if error.final:
                    self.given_up[service] = str(error)
                raise
            else:
                self.answered += 1
                return text
        raise AssertionError

    def _pause(self, service: str, host: str) -> float:
        """Wait until this host may be asked again; returns the pause that it asks for."""
        pause = self.pauses[service]
        time.sleep(max(0.0, _last_request.get(host, -1e9) + pause - time.monotonic()))
        _last_request[host] = time.monotonic()
        return pause

    def _once(self, request: Any, missing: int | None) -> str:
        from urllib.error import HTTPError, URLError
        from urllib.request import urlopen

        try:
            with urlopen(request, timeout=self.timeout) as reply:
                data = reply.read(_MOST_BYTES + 1)
        except HTTPError as error:
            said = error.read(300).decode("utf-8", "replace").strip()
            if error.code == missing:
                return ""
            reason = f"{request.host} answered {error.code} {error.reason}" + (f": {said[:200]}" if said else "")
            if error.code in (429, 500, 502, 503, 504):
                raise _Retry(reason, after=_seconds(error.headers.get("Retry-After"))) from error
            raise Failed(reason, final=error.code in (401, 403)) from error
        except (URLError, OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            silent = isinstance(reason, TimeoutError)
            what = f"no answer in {self.timeout:g} s" if silent else str(reason) or type(error).__name__
            broken = isinstance(error, http.client.HTTPException | ConnectionResetError)
            raise _Retry(f"{request.host} could not be reached ({what})", offline=not silent and not broken) from error
        if len(data) > _MOST_BYTES:
            raise Failed(f"{request.host} sent more than {_MOST_BYTES // 2**20} MiB")
        text = data.decode("utf-8", "replace")
        if text.strip().casefold().startswith("rate exceeded"):  # arXiv, with status 200 at times
            raise _Retry(f"{request.host}: rate exceeded")
        return text


class _AsWritten(str):
    """The name of a header that urllib leaves alone: Semantic Scholar says that capitals matter in its own."""

    def capitalize(self) -> str:
        return self

    def title(self) -> str:
        return self


class _Retry(Exception):
    """A request that may succeed later; `after`: in how many seconds, if the service says so."""

    def __init__(self, reason: str, after: float | None = None, offline: bool = False):
        super().__init__(reason)
        self.after, self.offline = after, offline


def _seconds(header: str | None) -> float | None:
    """`Retry-After`: seconds, or a date."""
    if not header:
        return None
    if re.fullmatch(r"\d+(?:\.\d+)?", header.strip()):
        return float(header)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(header).timestamp() - time.time())
    except (TypeError, ValueError):
        return None


class Store:
    """What was answered, by what was asked; on disk, or in memory where no file is given."""

    def __init__(self, path: str | Path | None):
        self.path = path
        try:
            if path is not None:
                Path(path).parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(":memory:" if path is None else str(path), timeout=60, isolation_level=None)
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS answers (asked TEXT PRIMARY KEY, made REAL, answer TEXT) WITHOUT ROWID"
            )
        except (sqlite3.Error, OSError) as error:
            raise self._failed(error) from error

    def get(self, asked: str) -> str | None:
        try:
            row = self._db.execute("SELECT answer FROM answers WHERE asked = ?", (asked,)).fetchone()
        except sqlite3.Error as error:
            raise self._failed(error) from error
        return row[0] if row else None

    def put(self, asked: str, answer: str) -> None:
        try:
            self._db.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?)", (asked, time.time(), answer))
        except sqlite3.Error as error:
            raise self._failed(error) from error

    def close(self) -> None:
        self._db.close()

    def _failed(self, error: Exception) -> SourceError:
        hint = (
            "move it away and look up again"
            if "not a database" in str(error)
            else "check the folder, its mode and the disk"
        )
        return SourceError(f"the cache of metadata {self.path} cannot be used ({error}); {hint}.")
