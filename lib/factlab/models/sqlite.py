"""Opening a file that several runs read and write at once: the reply cache and the store of embeddings."""

from __future__ import annotations

import sqlite3
import time

WAIT_S = 60.0


def connect(name: str) -> sqlite3.Connection:
    """A database in write-ahead mode, which lets two runs read and write at once.

    NORMAL survives a killed process (a power cut may lose the last rows, never the file).

    Parameters
    ----------
    name : path of the file, or ':memory:'.

    Raises
    ------
    sqlite3.Error : as SQLite does; a lock is waited for up to a minute.
    """
    db = sqlite3.connect(name, timeout=WAIT_S, check_same_thread=False, isolation_level=None)
    db.execute(f"PRAGMA busy_timeout = {WAIT_S * 1000:.0f}")
    end = time.monotonic() + WAIT_S
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            break
        except sqlite3.OperationalError as error:
            # Two processes that open a new file together: SQLite refuses one of them at once, whatever its timeout.
            if getattr(error, "sqlite_errorname", "") != "SQLITE_BUSY" or time.monotonic() > end:
                raise
            time.sleep(0.02)
    db.execute("PRAGMA synchronous = NORMAL")
    return db
