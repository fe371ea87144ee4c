# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads configuration files as oslo.config does, without oslo.config: it is not on a host's own Python.

The rules are those of oslo.config's C(iniparser.py) and C(cfg.py), and oslo.config is the oracle of the tests:

* several files in the order of the command line; of two that set an option, the later one wins, and within one
  file the last line; a directory stands for its C(*.conf), sorted;
* C([DEFAULT]) is spelt exactly so, names of other sections are compared in lower case, names of options exactly;
* C(key = value) or C(key: value), whichever sign comes first; one pair of equal quotes is taken off;
* C(#) and C(;) begin a comment at the very beginning of a line only; an indented line continues the value;
* C($opt), C(${opt}), C($section.opt) are replaced, C($$) and C(\\$) stand for a dollar sign;
* an environment variable C(OS_SECTION__OPTION) goes before files, the command line before both.

A file here holds passwords: only options that are asked for by name leave this module, and no error shows a line.
"""

from __future__ import annotations

import dataclasses
import glob
import os
import re
import string
import typing as t

from ...model.host_facts import FileLine
from .reading import HostError

#: Section, then option, then each value that it was given, in order.
Sections = t.Dict[str, t.Dict[str, t.List[str]]]

#: Options of oslo.log that may stand on the command line, by what they are called there.
_CLI_OPTIONS = {
    "--log-file": "log_file",
    "--log_file": "log_file",
    "--logfile": "log_file",
    "--log-dir": "log_dir",
    "--log_dir": "log_dir",
    "--logdir": "log_dir",
    "--log-config-append": "log_config_append",
    "--log-config": "log_config_append",
    "--log_config": "log_config_append",
}
_DEPRECATED = {"log_file": "logfile", "log_dir": "logdir", "log_config_append": "log_config"}
_DEPTH = 20


class ConfError(HostError):
    """A configuration that cannot be read as the service would: file, line number, and why; never the line itself."""


@dataclasses.dataclass(frozen=True)
class Setting:
    """One ``key = value`` of a file. ``number``: the line it begins on, from 1; ``text``: that line as it stands."""

    section: str
    key: str
    value: str
    number: int
    text: str


class _Template(string.Template):
    # oslo_config.cfg.ConfigOpts.Template
    idpattern = r"[_a-z][\._a-z0-9]*"


def parse(text: str, path: str) -> t.List[Setting]:
    """Return every assignment of a file, in order. Raises :class:`ConfError` for what oslo.config refuses."""
    result: t.List[Setting] = []
    section: t.Optional[str] = None
    pending: t.Optional[t.Tuple[str, t.List[str], int, str]] = None

    def flush() -> None:
        if pending is None:
            return
        key, values, number, line = pending
        if not section:
            raise ConfError(f"{path} line {number}: the option is before the first section")
        result.append(Setting(section, key, "\n".join(values), number, line))

    for number, raw in enumerate(_lines(text), 1):
        line = raw.rstrip()
        if line.startswith((" ", "\t")):
            if pending is None:
                raise ConfError(f"{path} line {number}: the continuation line belongs to no option")
            pending[1].append(line.lstrip())
            continue
        flush()
        pending = None
        if line.startswith("["):
            section = _section(line, path, number)
        elif line and not line.startswith(("#", ";")):
            key, value = _key_value(line, path, number)
            pending = (key, [value], number, raw.rstrip("\n"))
    flush()
    return result


def _lines(text: str) -> t.List[str]:
    # readlines() of a text file: \r\n and \r end a line too; form feeds and the like do not.
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _section(line: str, path: str, number: int) -> str:
    if not line.endswith("]"):
        raise ConfError(f"{path} line {number}: the section has no closing bracket")
    if len(line) <= 2:
        raise ConfError(f"{path} line {number}: the section has no name")
    return line[1:-1]


def _key_value(line: str, path: str, number: int) -> t.Tuple[str, str]:
    signs = [place for place in (line.find(":"), line.find("=")) if place >= 0]
    if not signs:
        raise ConfError(f"{path} line {number}: neither ':' nor '='")
    key, value = line[: min(signs)].strip(), line[min(signs) + 1 :].strip()
    if not key:
        raise ConfError(f"{path} line {number}: no option name is before ':' or '='")
    if value and value[0] == value[-1] and value[0] in "\"'":
        value = value[1:-1]
    return key, value


def normal_section(name: str) -> str:
    """Return a section's name as oslo.config compares it."""
    return name if name == "DEFAULT" else name.lower()


@dataclasses.dataclass(frozen=True)
class Arguments:
    """What a service's command line says of its configuration, in order.

    Each entry is C(("file", path)), C(("dir", path)) or C((option, value)) with an option of oslo.log.
    """

    entries: t.Tuple[t.Tuple[str, str], ...]

    @property
    def has_files(self) -> bool:
        """Whether a C(--config-file) is there: the default files are not read then."""
        return any(kind == "file" for kind, _value in self.entries)

    @property
    def has_dirs(self) -> bool:
        """Whether a C(--config-dir) is there: the default directories are not read then."""
        return any(kind == "dir" for kind, _value in self.entries)


def parse_arguments(argv: t.Sequence[str]) -> Arguments:
    """Pick what concerns the configuration from a command line; all else is skipped."""
    names = {"--config-file": "file", "--config-dir": "dir", **_CLI_OPTIONS}
    entries: t.List[t.Tuple[str, str]] = []
    rest = iter(argv)
    for item in rest:
        name, sign, value = item.partition("=")
        if name in names:
            entries.append((names[name], value if sign else next(rest, "")))
    return Arguments(tuple(entries))


def default_arguments(project: str, program: str, home: t.Optional[str] = None, root: str = "/") -> Arguments:
    """Return the files and directories that a service reads when its command line names none.

    ``oslo_config.cfg.find_config_files()``: of C(PROJECT.conf) and C(PROGRAM.conf) the first in C(~/.PROJECT), C(~),
    C(/etc/PROJECT), C(/etc). RPM packages patch in C(/usr/share/PROJECT/PROJECT-dist.conf), before all others.
    """
    folders = [os.path.join(home, f".{project}"), home] if home else []
    folders += [os.path.join(root, "etc", project), os.path.join(root, "etc")]
    packaged = os.path.join(root, "usr/share", project, f"{project}-dist.conf")
    entries = [("file", packaged)] if os.path.exists(packaged) else []
    for kind, extension in (("file", ".conf"), ("dir", ".conf.d")):
        for name in (project, program):
            found = [os.path.join(folder, name + extension) for folder in folders]
            entries += [(kind, path) for path in found if os.path.exists(path)][:1]
    return Arguments(tuple(entries))


def with_defaults(given: Arguments, default: Arguments) -> Arguments:
    """Return the arguments with the default files put first where none is given, and the same for directories."""
    missing = {kind for kind, has in (("file", given.has_files), ("dir", given.has_dirs)) if not has}
    kept = tuple(entry for entry in default.entries if entry[0] in missing)
    return Arguments(kept + given.entries)


class Config:
    """The merged configuration of one service."""

    def __init__(self) -> None:
        self.files: t.List[str] = []
        #: Files named by C(--config-file) or found by default, not those of directories: ``CONF.config_file``.
        self.config_files: t.List[str] = []
        self._layers: t.List[t.Tuple[str, t.List[Setting]]] = []
        self._values: t.List[Sections] = []
        self._options: t.Dict[str, str] = {}
        self.environment: t.Mapping[str, str] = {}
        #: Values of options that are unset, as far as they are known here: for :meth:`get` and for substitutions.
        self.defaults: t.Dict[t.Tuple[str, str], t.Optional[str]] = {}

    @classmethod
    def load(
        cls,
        arguments: Arguments,
        environment: t.Optional[t.Mapping[str, str]] = None,
        defaults: t.Optional[t.Mapping[t.Tuple[str, str], t.Optional[str]]] = None,
    ) -> Config:
        """Read all files in order. ``defaults``: see the attribute of that name.

        Raises :class:`ConfError` where a file is missing, unreadable or malformed: the service would not start.
        """
        config = cls()
        config.environment = dict(environment or {})
        config.defaults = dict(defaults or {})
        for kind, value in arguments.entries:
            if kind == "file":
                config.config_files.append(value)
                config.add_file(value)
            elif kind == "dir":
                config.add_directory(value)
            else:
                config._options[kind] = value
        return config

    def add_directory(self, path: str) -> None:
        """Read the C(*.conf) of a directory, sorted."""
        if not os.path.isdir(path):
            raise ConfError(f"{path}: no such directory")
        for name in sorted(glob.glob(os.path.join(glob.escape(path), "*.conf"))):
            self.add_file(name)

    def add_file(self, path: str) -> None:
        """Read one file; its values go before those of the files read so far."""
        try:
            with open(path, encoding="utf-8", newline="") as stream:
                text = stream.read()
        except UnicodeDecodeError as error:
            raise ConfError(f"{path}: not UTF-8 at byte {error.start}", problem="not-utf-8") from None
        except OSError as error:
            raise ConfError(f"{path}: {error.strerror}") from error
        self.add_text(text, path)

    def add_text(self, text: str, path: str) -> None:
        """Add the content of a file."""
        assignments = parse(text, path)
        sections: Sections = {}
        for item in assignments:
            sections.setdefault(normal_section(item.section), {}).setdefault(item.key, []).append(item.value)
        self.files.append(path)
        self._layers.append((path, assignments))
        self._values.append(sections)
        for option, other in _DEPRECATED.items():
            # Options of the command line that stand in a file: the later of file and command line wins.
            value = _of_file(sections, "DEFAULT", (option, other))
            if value is not None:
                self._options[option] = value

    def get(self, section: str, option: str) -> t.Optional[str]:
        """Return an option's value with its substitutions, or None where it is unset.

        Raises :class:`ConfError` where a substitution names what is not known here.
        """
        return self._get(section, option, 0)

    def raw(self, section: str, option: str) -> t.Optional[str]:
        """Return an option's value as it was given, or None where it is unset."""
        if section == "DEFAULT" and option in self._options:
            return self._options[option]
        if self.from_environment(section, option):
            return self.environment[variable(section, option)]
        for sections in reversed(self._values):
            value = _of_file(sections, section, (option,))
            if value is not None:
                return value
        return None

    def values(self, names: t.Sequence[t.Tuple[str, str]], multiple: bool = False) -> t.List[str]:
        """Return what an option is set to, by its name or an older one; all of it where it may be set several times.

        The first name is the one of today. Raises :class:`ConfError` as :meth:`get` does.
        """
        if self.from_environment(*names[0]):
            return [self._expanded(self.environment[variable(*names[0])], *names[0], 0)]
        found: t.List[str] = []
        for sections in reversed(self._values):
            for section, option in names:
                given = sections.get(section, {}).get(option, [])
                found = [self._expanded(value, section, option, 0) for value in given] + found
                if found and not multiple:
                    return found[-1:]
        return found

    def from_environment(self, section: str, option: str) -> bool:
        """Whether an environment variable sets the option, so that no file can."""
        return variable(section, option) in self.environment

    def lines(self, section: str, option: str) -> t.List[FileLine]:
        """Return every line that sets an option, in reading order."""
        return [
            FileLine(path, item.number, item.text)
            for path, assignments in self._layers
            for item in assignments
            if normal_section(item.section) == section and item.key == option
        ]

    def options_with(self, names: t.Sequence[str]) -> t.List[str]:
        """Return the options whose value bears one of the names as a word of its own, but for the host's own name.

        Only what they are called: a value may hold a password.
        """
        wanted = "|".join(re.escape(name) for name in names if name)
        pattern = re.compile(rf"(?<![A-Za-z0-9_.-])(?:{wanted})(?![A-Za-z0-9_-])", re.IGNORECASE)
        found = []
        for section, option in self._given():
            value = self.raw(section, option)
            if (section, option) != ("DEFAULT", "host") and wanted and value and pattern.search(value):
                found.append(f"[{section}] {option}")
        return found

    def values_of(self, options: t.Container[str]) -> t.List[str]:
        """Return the values of options of these names, of whatever section."""
        values = [self.get(section, option) for section, option in self._given() if option in options]
        return [value for value in values if value]

    def _given(self) -> t.List[t.Tuple[str, str]]:
        keys = ((normal_section(item.section), item.key) for _path, items in self._layers for item in items)
        return list(dict.fromkeys(keys))

    def _get(self, section: str, option: str, depth: int) -> t.Optional[str]:
        if depth > _DEPTH:
            raise ConfError(f"[{section}] {option}: endless substitution")
        value = self.raw(section, option)
        if value is None:
            value = self.defaults.get((section, option))
        return None if value is None else self._expanded(value, section, option, depth)

    def _expanded(self, value: str, section: str, option: str, depth: int) -> str:
        return _Template(value.replace(r"\$", "$$")).safe_substitute(_Substitutions(self, section, option, depth))

    def known(self, section: str, option: str) -> bool:
        """Whether an option's value can be told: it is set, or has a default that is known here."""
        return self.raw(section, option) is not None or (section, option) in self.defaults


class _Substitutions(t.Dict[str, str]):
    """Looks a name up in its own section, then in C([DEFAULT]), as C(cfg.ConfigOpts.StrSubWrapper) does."""

    def __init__(self, config: Config, section: str, option: str, depth: int) -> None:
        super().__init__()
        self._config, self._section, self._option, self._depth = config, section, option, depth

    def __getitem__(self, name: str) -> str:
        for place in self._places(name):
            # Options and sections are registered in lower case, and are looked up as they are written.
            if name == name.lower() and self._config.known(*place):
                return self._config._get(*place, self._depth + 1) or ""
        raise ConfError(f"[{self._section}] {self._option} refers to ${name}, which is not set")

    def _places(self, name: str) -> t.List[t.Tuple[str, str]]:
        section, dot, option = name.partition(".")
        if dot:
            return [(section, option)]
        own, default = (self._section, name), ("DEFAULT", name)
        # An option that is not the section's own may stand in it all the same, and then means nothing.
        return [own, default] if own in self._config.defaults else [default, own]


def variable(section: str, option: str) -> str:
    """Return the name of the environment variable that sets an option."""
    return f"OS_{section.upper()}__{option.upper()}"


def _of_file(sections: Sections, section: str, names: t.Sequence[str]) -> t.Optional[str]:
    values = sections.get(section, {})
    for name in names:
        if name in values:
            return values[name][-1]
    return None


def log_file(config: Config, program: str) -> t.Optional[str]:
    """Return the file a service logs to, or None: standard error or the journal. C(oslo_log.log._get_log_file_path)."""
    name, folder = config.get("DEFAULT", "log_file"), config.get("DEFAULT", "log_dir")
    if name:
        return os.path.join("/", folder or "", name)
    return os.path.join("/", folder, f"{program}.log") if folder else None


def integer(config: Config, section: str, option: str) -> t.Optional[int]:
    """Return an integer option, or None where it is unset or empty. Raises :class:`ConfError` for anything else."""
    value = config.get(section, option)
    if value is None or not value.strip():
        return None
    try:
        return int(value)
    except ValueError:
        raise ConfError(f"[{section}] {option} is not a whole number") from None


_TRUE, _FALSE = ("true", "1", "on", "yes"), ("false", "0", "off", "no")


def boolean(config: Config, section: str, option: str) -> t.Optional[bool]:
    """Return a boolean option, or None where it is unset. Raises :class:`ConfError` for what oslo.config refuses."""
    value = config.get(section, option)
    if value is None:
        return None
    word = value.strip().lower()
    if word not in (*_TRUE, *_FALSE):
        raise ConfError(f"[{section}] {option} must be true or false", problem="no-boolean")
    return word in _TRUE
