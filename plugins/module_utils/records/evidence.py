# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The evidence directory on the controller: each reader leaves its part here, each decision reads it from here.

    hosts/<inventory name>.json         to_plain(HostFacts)
    unreachable/<inventory name>.json   {"reason": ...}
    cloud.json                          to_plain(CloudFacts)
    databases.json                      to_plain(DatabaseFacts)
    links.json                          to_plain(LinkFacts)
    definitions/<SHA-256>.xml           the XML of a guest, normalised, without secrets
    operations.json                     [to_plain(OperationRecord)] of the journal directory
    failures.json                       {source: reason} of sources of which nothing could be read
    requested.json                      [source] that an audit was to read
    named.json                          to_plain(CloudName): how the operator calls the cloud
    evidence.jsonl                      all of it, to be kept; nothing is decided by it (evidence_file.py)

Facts of many hosts never pass through Ansible variables. A part is written to a temporary file and takes its name in
one rename, so that parallel readers and a killed run leave whole files only. Directories are 0700, files 0600.

A host is either in C(hosts/) or in C(unreachable/), whichever was written last: facts of an earlier run are never
taken for those of a host that does not answer now.
"""

from __future__ import annotations

import contextlib
import dataclasses
import glob
import hashlib
import json
import os
import shutil
import socket
import stat
import tempfile
import typing as t
import urllib.parse

from ..model.facts import (
    SCHEMA,
    Bundle,
    CloudFacts,
    CloudName,
    DatabaseFacts,
    EvacuationFacts,
    FactsError,
    GuestDefinition,
    HostFacts,
    LinkFacts,
    OperationRecord,
    UnknownJournal,
    from_plain,
    to_plain,
)
from . import evidence_file

HOSTS = "hosts"
UNREACHABLE = "unreachable"
CLOUD = "cloud.json"
DATABASES = "databases.json"
LINKS = "links.json"
OPERATIONS = "operations.json"
UNKNOWN_JOURNALS = "unknown_journals.json"
FAILURES = "failures.json"
REQUESTED = "requested.json"
NAMED = "named.json"
DEFINITIONS = "definitions"
GUESTS = "guests"
WHOLE = "evidence.jsonl"
#: Its name and form up to version 0.2.0: only such a version can read it.
OLD_WHOLE = "evidence.json"
#: What an evacuation asked the APIs last.
ABOUT = "run/about.json"
#: What the names of the roles' temporary directories begin with.
TEMPORARY = "stackguard-"


class NoEvidenceError(FactsError):
    """A directory that holds no evidence at all: what runs that read nothing leave."""


def save_part(directory: str, relative: str, plain: t.Any) -> str:
    """Write one part and return its path. ``plain``: JSON data, or facts. Raises OSError."""
    path = os.path.join(directory, relative)
    _write(path, json.dumps(to_plain(plain), indent=1, sort_keys=True) + "\n", directory)
    return path


def save_text(directory: str, relative: str, text: str) -> str:
    """Write a text whole or not at all, for its owner only, and return its path. Raises OSError."""
    path = os.path.join(directory, relative)
    _write(path, text, directory)
    return path


def _write(path: str, text: str, directory: str) -> None:
    _write_lines(path, [text], directory)


def _write_lines(path: str, lines: t.Iterable[str], directory: str) -> None:
    folder = os.path.dirname(path)
    os.makedirs(directory, mode=0o700, exist_ok=True)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    # mkstemp gives 0600, and a name that no reader takes for a part.
    descriptor, temporary = tempfile.mkstemp(prefix=".part-", suffix=".tmp", dir=folder)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.writelines(lines)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def save_host(directory: str, inventory_name: str, plain: t.Any) -> str:
    """Write a host's facts and return the file's path."""
    path = save_part(directory, relative(HOSTS, inventory_name), plain)
    _remove_part(directory, relative(UNREACHABLE, inventory_name))
    return path


def save_unreachable(directory: str, inventory_name: str, reason: str) -> str:
    """Note that a host did not answer, or that its facts could not be read at all, and return the file's path."""
    path = save_part(directory, relative(UNREACHABLE, inventory_name), {"reason": reason})
    _remove_part(directory, relative(HOSTS, inventory_name))
    return path


def save_texts(directory: str, texts: t.Mapping[str, str]) -> None:
    """Keep texts under their own SHA-256: what is there already is the same. Raises FactsError for one that is not."""
    for digest, text in sorted(texts.items()):
        if hashlib.sha256(text.encode()).hexdigest() != digest:
            raise FactsError(f"{DEFINITIONS}: a definition does not match its SHA-256 {digest}")
        path = os.path.join(directory, DEFINITIONS, f"{digest}.xml")
        if not os.path.exists(path):
            _write(path, text, directory)


def _load_definitions(directory: str, guests: t.Iterable[GuestDefinition]) -> t.Dict[str, GuestDefinition]:
    """Return the last record of each of these guests that has one. Raises FactsError."""
    found = {}
    for guest in guests:
        last = _load_optional(os.path.join(directory, relative(GUESTS, guest.uuid)), GuestDefinition)
        if last is not None:
            found[guest.uuid] = last
    return found


def record_definitions(directory: str, bundle: Bundle, source: str) -> None:
    """Record all guests' definitions in a lasting directory. ``source``: where their XML is.

    Each guest has one record, C(guests/UUID.json), of its last reading; the XML of earlier ones stays.
    """
    guests = _guests(bundle)
    for guest in guests:
        save_part(directory, relative(GUESTS, guest.uuid), guest)
    for digest in sorted({part.sha256 for guest in guests for part in (guest.live, guest.inactive) if part}):
        text = _text(os.path.join(source, DEFINITIONS, f"{digest}.xml"))
        if text is not None:
            save_texts(directory, {digest: text})


def with_recorded_definitions(bundle: Bundle, directory: str) -> Bundle:
    """Return the evidence with the last record of every guest whose definition was read now. Raises FactsError."""
    return dataclasses.replace(bundle, recorded=_load_definitions(directory, _guests(bundle)))


def _guests(bundle: Bundle) -> t.List[GuestDefinition]:
    return [guest for name in sorted(bundle.hosts) for guest in bundle.hosts[name].definitions or []]


def _text(path: str) -> t.Optional[str]:
    try:
        with open(path, encoding="utf-8") as stream:
            return stream.read()
    except FileNotFoundError:
        return None


def save_whole(directory: str, bundle: Bundle) -> str:
    """Write all of the evidence as one file, beside its parts, and return its path. Raises OSError."""
    path = os.path.join(directory, WHOLE)
    _write_lines(path, evidence_file.lines(bundle), directory)
    return path


def relative(folder: str, inventory_name: str) -> str:
    """Return the file of a host below the evidence directory. Only what cannot stand in a file name is quoted."""
    name = inventory_name.replace("%", "%25").replace("/", "%2F")
    if name.startswith("."):
        name = "%2E" + name[1:]
    return os.path.join(folder, f"{name}.json")


def load_dir(directory: str, collected_at: t.Optional[str] = None) -> Bundle:
    """Read a whole evidence directory. ``collected_at``: by default the earliest C(read_at) of its parts.

    Raises :class:`FactsError` for a part that cannot be read or understood, for a file whose content is another
    host's, and for a directory without any part. A part that is not there is None.
    """
    hosts = {name: _load_host(path, name) for name, path in _files(directory, HOSTS)}
    unreachable = {name: _load_reason(path) for name, path in _files(directory, UNREACHABLE)}
    for name in sorted(set(hosts) & set(unreachable)):
        # The run was killed between the two writes of a save: which one is the newer cannot be told.
        raise FactsError(
            f"{directory}: the evidence contains host {name} both in {HOSTS} and in {UNREACHABLE}: read this host again"
        )
    cloud = _load_optional(os.path.join(directory, CLOUD), CloudFacts)
    databases = _load_optional(os.path.join(directory, DATABASES), DatabaseFacts)
    links = _load_optional(os.path.join(directory, LINKS), LinkFacts)
    parts: t.List[t.Any] = [part for part in (cloud, databases, links, *hosts.values()) if part is not None]
    failures = _load_failures(os.path.join(directory, FAILURES))
    times = [str(part.read_at) for part in parts]
    if not times and not unreachable and not failures:
        raise NoEvidenceError(f"{directory}: no evidence found")
    whole = Bundle(
        SCHEMA, collected_at or min(times, default=""), hosts, unreachable, cloud, databases, links, failures
    )
    return dataclasses.replace(
        whole,
        operations=_load_list(os.path.join(directory, OPERATIONS), OperationRecord),
        requested=_load_requested(os.path.join(directory, REQUESTED)),
        named=_load_optional(os.path.join(directory, NAMED), CloudName),
        unknown_journals=_load_list(os.path.join(directory, UNKNOWN_JOURNALS), UnknownJournal) or [],
    )


def remove_stale(journal: t.Mapping[str, t.Any], current: t.Optional[str]) -> t.Optional[str]:
    """Remove the temporary evidence directory of the run that the journal names, and return it; None: there is none.

    ``current``: the directory of this run. Only one that a role of this collection made on this controller is removed:
    its name, its owner and its mode say so. A run that was killed could not do it itself.
    """
    run = journal.get("run") or {}
    path = run.get("evidence_dir")
    if not isinstance(path, str) or not os.path.isabs(path) or run.get("controller") != socket.gethostname():
        return None
    if current is not None and os.path.realpath(path) == os.path.realpath(current):
        return None
    if not os.path.basename(path).startswith(TEMPORARY):
        return None
    try:
        found = os.lstat(path)
        ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and stat.S_IMODE(found.st_mode) == 0o700
        if not ours:
            return None
        shutil.rmtree(path)
    except OSError:
        # It is gone already, or it stays where it is: no reason not to go on.
        return None
    return path


def nothing() -> Bundle:
    """Return evidence of which nothing was read."""
    return Bundle(SCHEMA, "", {}, {}, None, None)


def load(path: str) -> Bundle:
    """Read a saved C(evidence.jsonl), or a directory: its parts, the C(evidence.jsonl) in it, or those a level below.

    Raises FactsError.
    """
    if not os.path.isdir(path):
        return evidence_file.load(path)
    parts = (HOSTS, UNREACHABLE, CLOUD, DATABASES, LINKS, OPERATIONS, FAILURES)
    if any(os.path.exists(os.path.join(path, part)) for part in parts):
        return load_dir(path)
    own = _whole_of(path)
    # Slices of one job know nothing of one another: each has a directory of its own.
    slices = [] if own else [_whole_of(folder) for folder in sorted(glob.glob(os.path.join(glob.escape(path), "*")))]
    files = [file for file in [own, *slices] if file] or [os.path.join(path, WHOLE)]
    bundles = [evidence_file.load(file) for file in files]
    return merge(bundles) if slices else bundles[0]


def _whole_of(folder: str) -> t.Optional[str]:
    """Return the saved evidence in a directory. Where there is only that of an earlier version, it is to be refused."""
    paths = [os.path.join(folder, name) for name in (WHOLE, OLD_WHOLE)]
    return next((path for path in paths if os.path.exists(path)), None)


def merge(bundles: t.Sequence[Bundle]) -> Bundle:
    """Put the evidence of several runs over one cloud into one: of what two have read, the later reading.

    A host that answered in any of them has answered. The order of the bundles does not matter.
    """
    hosts: t.Dict[str, HostFacts] = {}
    for bundle in bundles:
        for name, facts in bundle.hosts.items():
            if name not in hosts or _rank(facts) > _rank(hosts[name]):
                hosts[name] = facts
    silent = sorted((name, reason) for bundle in bundles for name, reason in bundle.unreachable.items())
    cloud, databases, links = (
        max((part for part in parts if part is not None), key=_rank, default=None)
        for parts in zip(*((bundle.cloud, bundle.databases, bundle.links) for bundle in bundles))
    )
    failures = sorted((source, reason) for bundle in bundles for source, reason in bundle.failures.items())
    # What one slice has read wholly repairs another's failure; one that failed half way has left a part as well.
    read = {source for bundle in bundles for source in _read_of(bundle) if source not in bundle.failures}
    return Bundle(
        SCHEMA,
        min((bundle.collected_at for bundle in bundles if bundle.collected_at), default=""),
        {name: hosts[name] for name in sorted(hosts)},
        {name: reason for name, reason in silent if name not in hosts},
        cloud,
        databases,
        links,
        {source: reason for source, reason in failures if source not in read},
        _merged_records([bundle.recorded for bundle in bundles]),
        _merged_operations([bundle.operations for bundle in bundles]),
        sorted({source for bundle in bundles for source in bundle.requested}),
        _merged_names([bundle.named for bundle in bundles]),
        _merged_unknown([bundle.unknown_journals for bundle in bundles]),
    )


def _merged_names(given: t.Sequence[t.Optional[CloudName]]) -> t.Optional[CloudName]:
    """A slice that read hosts only may know no name of the cloud; two names are none."""
    known = [name for name in given if name is not None]
    clouds = {name.cloud for name in known if name.cloud}
    regions = {name.region for name in known if name.region}
    if len(clouds) > 1 or len(regions) > 1 or not clouds | regions:
        return None
    return CloudName(next(iter(clouds), None), next(iter(regions), None))


def _read_of(bundle: Bundle) -> t.List[str]:
    parts = {"api": bundle.cloud, "databases": bundle.databases, "operations": bundle.operations}
    return [source for source, part in parts.items() if part is not None]


def _merged_operations(
    given: t.Sequence[t.Optional[t.List[OperationRecord]]],
) -> t.Optional[t.List[OperationRecord]]:
    known = [records for records in given if records is not None]
    if not known:
        return None
    # Read twice, one that ended in between is open in one of them: it counts as open, so that nothing of it is a leak.
    found: t.Dict[str, OperationRecord] = {}
    for record in sorted((record for records in known for record in records), key=lambda item: (item.open, repr(item))):
        found[record.operation_id] = record
    return [found[key] for key in sorted(found)]


def _merged_unknown(given: t.Sequence[t.List[UnknownJournal]]) -> t.List[UnknownJournal]:
    found = {repr(entry): entry for entries in given for entry in entries}
    return [found[key] for key in sorted(found)]


def _merged_records(
    given: t.Sequence[t.Optional[t.Dict[str, GuestDefinition]]],
) -> t.Optional[t.Dict[str, GuestDefinition]]:
    known = [records for records in given if records is not None]
    if not known:
        return None
    found: t.Dict[str, GuestDefinition] = {}
    for records in known:
        for uuid, entry in records.items():
            if uuid not in found or _rank(entry) > _rank(found[uuid]):
                found[uuid] = entry
    return {uuid: found[uuid] for uuid in sorted(found)}


def _rank(part: t.Any) -> t.Tuple[str, str]:
    # Of two readings of one second it does not matter which, but it must always be the same.
    return str(part.read_at), repr(part)


def instance_uuids(directory: str) -> t.List[str]:
    """Return the instances that hosts bear witness to: domains, owners of images, left directories."""
    found: t.Set[str] = set()
    for name, path in _files(directory, HOSTS):
        facts = _load_host(path, name)
        found |= {domain.uuid for domain in facts.domains or []}
        images = (facts.rbd.images if facts.rbd else None) or []
        found |= {image.name.partition("_")[0] for image in images}
        found |= {left.uuid for left in (facts.instances_path.left if facts.instances_path else [])}
    return sorted(found)


def with_unread(bundle: Bundle, inventory_names: t.Iterable[str]) -> Bundle:
    """Return the evidence with every one of these hosts in it: one that left no trace is one that was not read."""
    missing = set(inventory_names) - {*bundle.hosts, *bundle.unreachable}
    reasons = dict.fromkeys(sorted(missing), "not read, because the task ended before the host answered")
    return dataclasses.replace(bundle, unreachable={**bundle.unreachable, **reasons})


_T = t.TypeVar("_T")


def load_about(directory: str) -> t.Optional[EvacuationFacts]:
    """Return what an evacuation asked the APIs last; None: nothing yet. Raises FactsError."""
    return _load_optional(os.path.join(directory, ABOUT), EvacuationFacts)


def read_times(directory: str) -> t.Dict[str, float]:
    """Return when each host's facts came in: inventory name to seconds since the epoch, by the controller's clock."""
    return {name: os.stat(path).st_mtime for name, path in _files(directory, HOSTS)}


def _remove_part(directory: str, name: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(directory, name))


def _files(directory: str, folder: str) -> t.List[t.Tuple[str, str]]:
    place = os.path.join(directory, folder)
    try:
        names = sorted(os.listdir(place))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise FactsError(f"{place}: {error.strerror}", FactsError.UNREADABLE) from error
    return [
        (urllib.parse.unquote(name[: -len(".json")]), os.path.join(place, name))
        for name in names
        if name.endswith(".json") and not name.startswith(".")
    ]


def _load_host(path: str, name: str) -> HostFacts:
    facts = from_plain(HostFacts, _load_json(path), path)
    if facts.inventory_name != name:
        said = f"{path}: the file contains the facts of another host, {facts.inventory_name}"
        raise FactsError(said, FactsError.OTHER_HOST, facts.inventory_name)
    return facts


def _load_reason(path: str) -> str:
    data = _load_json(path)
    if not isinstance(data, dict) or not isinstance(data.get("reason"), str):
        raise FactsError(f"{path}: expected a JSON object with the key 'reason'", FactsError.TYPE, path)
    return str(data["reason"])


def _load_failures(path: str) -> t.Dict[str, str]:
    if not os.path.exists(path):
        return {}
    data = _load_json(path)
    if not isinstance(data, dict) or not all(isinstance(reason, str) for reason in data.values()):
        raise FactsError(
            f"{path}: expected a JSON object with the name of each unread source as a key, and the reason as its value"
        )
    return {str(source): str(reason) for source, reason in data.items()}


def _load_list(path: str, cls: t.Type[_T]) -> t.Optional[t.List[_T]]:
    if not os.path.exists(path):
        return None
    data = _load_json(path)
    if not isinstance(data, list):
        raise FactsError(f"{path}: expected a JSON list of operations", FactsError.TYPE, path)
    return [from_plain(cls, item, f"{path}[{index}]") for index, item in enumerate(data)]


def _load_requested(path: str) -> t.List[str]:
    if not os.path.exists(path):
        return []
    data = _load_json(path)
    if not isinstance(data, list) or not all(isinstance(source, str) for source in data):
        raise FactsError(f"{path}: expected a JSON list of sources", FactsError.TYPE, path)
    return sorted(str(source) for source in data)


def _load_optional(path: str, cls: t.Type[_T]) -> t.Optional[_T]:
    if not os.path.exists(path):
        return None
    return from_plain(cls, _load_json(path), path)


def _load_json(path: str) -> t.Any:
    try:
        with open(path, encoding="utf-8") as stream:
            return json.load(stream)
    except OSError as error:
        raise FactsError(f"{path}: {error.strerror}", FactsError.UNREADABLE) from error
    except (ValueError, RecursionError) as error:
        raise FactsError(f"{path}: not JSON: {error}", FactsError.JSON, path) from error
