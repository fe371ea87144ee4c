# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Would a database find a stored name under another? As its collation says, and never by guessing. Pure.

* PostgreSQL and SQLite compare byte by byte.
* MySQL and MariaDB: a collation that ends in C(_ci) compares without case, one in C(_bin) or C(_cs) with it.
* Blanks at the end count for nothing (C(PAD SPACE)), unless the collation is C(binary), one of MySQL's
  C(utf8mb4_0900_*), or one of MariaDB's C(*_nopad_*).

Which letters are one to a collation of one language (Turkish, Lithuanian) is not known here, nor what any collation
makes of characters beyond ASCII. Two names of ASCII that differ in more than case and blanks are taken for two.
"""

from __future__ import annotations

import typing as t

from .facts import CellFacts

#: What SQLAlchemy calls the databases that compare by a collation.
COLLATING = ("mysql", "mariadb")
_EXACT = ("postgresql", "sqlite")
#: Words of the collations of no one language, between the character set and the ending.
_PLAIN = frozenset({"general", "unicode", "520", "0900", "uca1400", "nopad", "ai", "as", "mysql500", "general1400"})
#: The default collations of latin1 and the like: Latin letters are as in ASCII.
_LATIN = ("latin1_swedish_ci", "latin1_swedish_nopad_ci")


def name_key(name: str) -> str:
    """Return what a name is indexed by: names that any database takes for one have the same."""
    return name.rstrip(" ").casefold()


def equal(dialect: t.Optional[str], collation: t.Optional[str], stored: str, wanted: str) -> t.Optional[bool]:
    """Whether C(stored = wanted) is true in this database; None: not known."""
    if stored == wanted:
        return True
    if name_key(stored) != name_key(wanted) and stored.isascii() and wanted.isascii():
        return False
    if dialect in _EXACT:
        return False
    if dialect not in COLLATING or collation is None:
        return None
    return _collated(collation.lower(), stored, wanted)


def _collated(collation: str, stored: str, wanted: str) -> t.Optional[bool]:
    if collation == "binary":
        return False
    one, other = (stored, wanted) if _keeps_blanks(collation) else (stored.rstrip(" "), wanted.rstrip(" "))
    ending = collation.rpartition("_")[2]
    if one == other or ending == "bin":
        return one == other
    if not (one.isascii() and other.isascii()):
        return None
    if ending == "cs":
        return False
    plain = collation in _LATIN or set(collation.split("_")[1:-1]) <= _PLAIN
    return one.lower() == other.lower() if ending == "ci" and plain else None


def _keeps_blanks(collation: str) -> bool:
    return "_nopad_" in f"{collation}_" or collation.startswith("utf8mb4_0900_")


def found_as(cell: CellFacts, column: str, stored: t.Optional[str], wanted: str) -> t.Optional[bool]:
    """Whether a cell's database finds a row of this column (``services.host``) by a name; None: not known."""
    if stored is None:
        return False
    return equal(cell.dialect, (cell.collations or {}).get(column), stored, wanted)


def why_unknown(cell: CellFacts, column: str, stored: str, wanted: str) -> str:
    """Say what is not known where :func:`found_as` is None, and what was not read."""
    collation = (cell.collations or {}).get(column)
    if cell.dialect is None:
        what = "the kind of the database"
    elif collation is None:
        what = f"the collation of {column}"
    else:
        return (
            f"cell {cell.name} may treat {stored!r} and {wanted!r} as the same name: {column} has collation {collation}"
        )
    return (
        f"{what} in cell {cell.name} was not read, so the run does not know whether the database treats {stored!r} "
        f"and {wanted!r} as the same name"
    )
