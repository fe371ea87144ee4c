# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The environment that systemd would give a unit at its next start, of the variables that are asked for by name.

systemd.exec(5), lowest first: what is configured for all services (the manager's C(Environment)), what
C(PassEnvironment=) takes from the manager's own, C(Environment=), C(EnvironmentFile=) in their order; then
C(UnsetEnvironment=). Drop-ins are systemd's own business: it is asked over D-Bus, and answers JSON.

What cannot be told raises: a variable that is unread is never taken for unset. Other variables may be secrets: they
leave this module in no way.
"""

from __future__ import annotations

import glob
import json
import os
import re
import subprocess
import typing as t

from . import commands, processes, units
from .reading import ReadError, text_of

_NAME = "org.freedesktop.systemd1"
_MANAGER = "/org/freedesktop/systemd1"
_PROPERTIES = ("Environment", "EnvironmentFiles", "PassEnvironment", "UnsetEnvironment")
_PATIENCE = 60
#: Where drop-ins of units are (systemd.unit(5)), besides units.PACKAGED.
_CONFIGURED = ("/etc/systemd/system", "/run/systemd/system")

Variables = t.Dict[str, str]
Run = t.Callable[..., t.Any]


def object_path(unit: str) -> str:
    """Return a unit's object path: what is neither letter nor digit is written as C(_XX) (sd_bus_path_encode)."""
    escaped = "".join(
        character if character.isalnum() and character.isascii() and (index or not character.isdigit()) else code
        for index, character in enumerate(unit)
        for code in ["".join(f"_{byte:02x}" for byte in character.encode())]
    )
    return f"{_MANAGER}/unit/{escaped}"


def next_start(
    unit: str, load_state: t.Optional[str], names: t.Collection[str], run: t.Optional[Run] = None
) -> Variables:
    """Return the named variables that a start of this unit would set. Raises :class:`ReadError`."""
    found = _named(_ask(run, _MANAGER, f"{_NAME}.Manager", "Environment")[0], names)
    if load_state == "masked":
        # systemd has forgotten the unit: what its files say is all there is.
        _nothing_set(unit, names)
        return found
    if load_state != "loaded":
        raise ReadError(f"systemd has not loaded {unit}: {load_state}", problem="unit-not-loaded")
    own, files, passed, unset = _ask(run, object_path(unit), f"{_NAME}.Service", *_PROPERTIES)
    found.update(_passed(passed, names))
    found.update(_named(own, names))
    for path, optional in files:
        found.update(_of_file(str(path), bool(optional), names))
    for entry in unset:
        name, sign, value = str(entry).partition("=")
        if name in found and (not sign or found[name] == value):
            del found[name]
    return found


def _ask(run: t.Optional[Run], path: str, interface: str, *properties: str) -> t.List[t.Any]:
    command = ["busctl", "--json=short", "get-property", _NAME, path, interface, *properties]
    try:
        done = (run or commands.run)(command, _PATIENCE)
    except FileNotFoundError:
        raise ReadError("busctl is not installed on this host") from None
    except subprocess.TimeoutExpired:
        raise ReadError(f"busctl: no answer within {_PATIENCE} s") from None
    if done.returncode:
        raise ReadError(f"busctl get-property: {' '.join(done.stderr.decode('utf-8', 'replace').split())}")
    try:
        answers = [json.loads(line)["data"] for line in done.stdout.decode("utf-8").splitlines() if line.strip()]
    except (ValueError, KeyError, TypeError):
        raise ReadError("busctl get-property: the answer cannot be parsed") from None
    if len(answers) != len(properties) or not all(isinstance(answer, list) for answer in answers):
        raise ReadError(
            f"busctl get-property: the run asked for {', '.join(properties)}, but the answer has other properties"
        )
    return answers


def _named(entries: t.Iterable[t.Any], names: t.Container[str]) -> Variables:
    pairs = (str(entry).partition("=") for entry in entries)
    return {name: value for name, sign, value in pairs if sign and name in names}


def _passed(passed: t.Iterable[t.Any], names: t.Container[str]) -> Variables:
    wanted = [str(name) for name in passed if str(name) in names]
    if not wanted:
        return {}
    if not os.access("/proc/1/environ", os.R_OK):
        raise ReadError(
            f"PassEnvironment={' '.join(wanted)}: the run cannot read the environment of the systemd process (PID 1)",
            problem="passenvironment-unread",
        )
    return processes.environment(1, wanted)


# --- files ----------------------------------------------------------------------------------------------------


def _of_file(pattern: str, optional: bool, names: t.Container[str]) -> Variables:
    paths = sorted(glob.glob(pattern)) if glob.has_magic(pattern) else [pattern]
    found: Variables = {}
    for path in paths:
        try:
            with open(path, encoding="utf-8") as stream:
                text = stream.read()
        except FileNotFoundError:
            if optional:
                continue
            raise ReadError(
                f"EnvironmentFile={path} is missing: systemd would not start the unit",
                problem="environmentfile-missing",
            ) from None
        except (OSError, UnicodeDecodeError) as error:
            raise ReadError(
                f"EnvironmentFile={path}: {getattr(error, 'strerror', 'not UTF-8')}",
                problem="environmentfile-unreadable",
            ) from None
        found.update(parse_file(text, path, names))
    return found


def parse_file(text: str, path: str, names: t.Container[str]) -> Variables:
    """Return the named variables of an environment file, where it sets them in the plain way.

    Raises :class:`ReadError` where it may set one in another: over several lines, or with escapes.
    """
    found: Variables = {}
    strange = False
    for line in text.splitlines():
        bare = line.strip()
        strange = strange or line.endswith("\\") or _open_quote(bare)
        match = re.match(r"([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)$", bare)
        if match is None or match.group(1) not in names:
            continue
        value = _value(match.group(2))
        if value is None or strange:
            raise ReadError(
                f"EnvironmentFile={path}: the value of {match.group(1)} cannot be parsed",
                problem="environmentfile-value",
            )
        found[match.group(1)] = value
    return found


def _open_quote(line: str) -> bool:
    return not line.startswith(("#", ";")) and (line.count('"') % 2 == 1 or line.count("'") % 2 == 1)


def _value(text: str) -> t.Optional[str]:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        text = text[1:-1]
    return None if any(sign in text for sign in "\"'\\$`") else text


# --- a unit that is masked ------------------------------------------------------------------------------------


def _nothing_set(unit: str, names: t.Collection[str]) -> None:
    """Raise :class:`ReadError` where a file of the unit or of its drop-ins might set one of the variables."""
    for path, key, value in _settings(unit):
        doubt = key in ("Environment", "PassEnvironment") and any(word in value for word in ("OS_", *names))
        if key == "EnvironmentFile" and value:
            file = value.lstrip("-")
            doubt = "%" in file or bool(_of_file(file, value.startswith("-"), names))
        if doubt:
            raise ReadError(
                f"{unit} is masked, so systemd does not show the environment variables that {path} may set",
                problem="masked-systemd-not",
            )


def masked_setting(unit: str, key: str) -> t.Optional[str]:
    """Return what the files of a masked unit set a key to, an empty string where none does; None: not known."""
    try:
        values = {value for _path, name, value in _settings(unit) if name == key}
    except ReadError:
        return None
    if any("%" in value for value in values) or len(values) > 1:
        return None
    return values.pop() if values else ""


def _settings(unit: str) -> t.List[t.Tuple[str, str, str]]:
    """Return path, key and value of each line of the files of a unit. Raises :class:`ReadError`."""
    result = []
    for path in _unit_files(unit):
        text = text_of(path, f"{unit} is masked, and ") or ""
        for line in text.replace("\\\n", " ").splitlines():
            key, sign, value = line.strip().partition("=")
            if sign and not key.startswith(("#", ";")):
                result.append((path, key.strip(), value.strip()))
    return result


def _unit_files(unit: str) -> t.List[str]:
    stem, dot, kind = unit.rpartition(".")
    template = f"{stem.partition('@')[0]}@{dot}{kind}" if "@" in stem else unit
    result = []
    for folder in (*_CONFIGURED, *units.PACKAGED):
        result += [os.path.join(folder, name) for name in dict.fromkeys((unit, template))]
        places = dict.fromkeys((f"{unit}.d", f"{template}.d", f"{kind}.d"))
        result += [path for name in places for path in sorted(glob.glob(os.path.join(folder, name, "*.conf")))]
    return [path for path in result if os.path.realpath(path) != "/dev/null"]
