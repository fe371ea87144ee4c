# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The guests' disks in Ceph, as one host sees them: images, snapshots, watchers, locks, and the OSD blocklist.

Through python3-rbd and python3-rados where they can be imported: one connection for everything. Else through C(rbd)
and C(ceph) with C(--format json): one process lists a pool, and only the images asked for cost processes of their own,
a few at a time.

What could not be read is said to be unread. Two answers are never taken at their word:

* C(rbd ls --long) leaves out, with a line on standard error, an image that it cannot open: names come from C(rbd ls).
* "no such file" for an image that the pool still lists is an error, not an absence.

What it costs, with N images of the servers asked for: names only, one call for the whole pool and none for an image;
opened through the bindings, 6 calls an image, 8 images at a time; opened through the commands, 4 processes an image, 4
images at a time (some 0.2 s each: 750 images take half a minute to two). So one host of each cluster and pool opens
images, and all others list names.

A watcher is a client that has the image open for writing. A host that was cut off loses its watchers after some 30
seconds (C(osd_client_watch_timeout)) while its guests live on: no watcher is no proof of death.

Runs on compute hosts: Python 3.9, standard library and the distribution's bindings only.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import secrets
import shutil
import socket
import subprocess
import time
import typing as t
from concurrent import futures

from ...model.doctor_host import CephCaps
from ...model.host_facts import (
    NO_VOLUME_POOL,
    NOT_ASKED_FOR,
    NOT_OPENED,
    VOLUME,
    BlocklistEntry,
    CephRights,
    RbdFacts,
    RbdImage,
    RbdLock,
    RbdSnapshot,
    RbdVolume,
    RbdWatcher,
    Unread,
    left_out,
)
from ..host import commands
from ..host.container_files import ContainerFiles
from ..host.reading import (
    HostError,
    Parts,
    reason,
    within,
)
from . import addresses as ceph_addresses

#: Seconds for one answer of the cluster, and for all that is asked of it at once.
ANSWER = 30
PATIENCE = 600
#: Images looked at together: over one connection, or by processes.
PARALLEL_CALLS = 8
PARALLEL_PROCESSES = 4
_PROBE_SECONDS = 1
#: Instead of uuids: all volumes of the pools. Of these as many are opened as three quarters of the patience are enough
#: for, so many at once: that of the images is never lost to volumes.
EVERY = "all"
_AT_ONCE = 1000

#: How the name of the object begins that :func:`write_probe` writes; the host's name follows.
PROBE = "stackguard-write-probe-"
AUTO, LIBRARY, COMMAND = "auto", "library", "command"
PROGRAMS = ("rbd", "ceph")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")
_ENOENT, _EACCES, _EEXIST, _EINVAL = 2, 13, 17, 22
#: What the list is called: since Pacific, and before.
BLOCKLIST_WORDS = ("blocklist", "blacklist")
_UNKNOWN = re.compile(r"command not known|no valid command|invalid command", re.IGNORECASE)
#: Answers to :meth:`Ceph.rights`: the question passed the check of rights, and changed nothing.
_PASSED = re.compile(r"unable to parse address|too many bits in range|isn't bl[ao]cklisted", re.IGNORECASE)
#: The refusal of an access, as the bindings and the commands tell it.
_REFUSED = re.compile(r"\[errno (?:1|13)\]|permission|not permitted|EACCES|EPERM|exit status (?:1|13)\b", re.IGNORECASE)
_USER_SNAPSHOTS = 0
#: The bit of the feature exclusive-lock (C(rbd.RBD_FEATURE_EXCLUSIVE_LOCK)).
_EXCLUSIVE_LOCK = 4

_T = t.TypeVar("_T")
Json = t.Any


class CephError(HostError):
    """Ceph cannot be reached or refused: its own words."""


class GoneError(CephError):
    """The image is not there."""


class _FailedError(CephError):
    """Ceph's answer is an error, with its number."""

    def __init__(self, message: str, code: int, problem: str = "") -> None:
        super().__init__(message, problem)
        self.code = code


@dataclasses.dataclass(frozen=True)
class RbdOptions:
    """Where the disks are, and how Ceph is reached. ``user`` is without ``client.``; None: Ceph's own defaults.

    ``command``: words put before C(rbd) and C(ceph), such as C(docker exec nova_compute); they imply the commands.
    ``files``: those of nova-compute's container, where it runs in one: its keyrings are in there. ``inside``: what
    ``conf`` is called in there.
    """

    pool: str
    user: t.Optional[str] = None
    conf: t.Optional[str] = None
    command: t.Tuple[str, ...] = ()
    via: str = AUTO
    files: t.Optional[ContainerFiles] = None
    inside: t.Optional[str] = None


class Ceph(t.Protocol):
    """What both ways to Ceph can do. Everything raises :class:`CephError`."""

    via: str

    def fsid(self) -> str:
        """Return the cluster's id."""

    def names(self) -> t.List[str]:
        """Return the names of all images of the pool."""

    def images(self, names: t.Sequence[str]) -> t.List[RbdImage]:
        """Return these images, without those that are gone. What one image does not tell is its own ``unread``."""

    def long_listing(self) -> t.Optional[t.List[RbdImage]]:
        """Return all images with sizes and snapshots in one go, or None where that is no cheaper. May lack some."""

    def create_snapshot(self, image: str, snapshot: str) -> bool:
        """Make a snapshot; False where it is there already. Raises :class:`GoneError` without the image."""

    def remove_snapshot(self, image: str, snapshot: str) -> bool:
        """Remove a snapshot; False where it, or the image, is gone already."""

    def monitors(self) -> t.List[str]:
        """Return the addresses of the monitors, such as C(192.0.2.1:3300)."""

    def blocklist(self) -> t.List[BlocklistEntry]:
        """Return the OSD blocklist."""

    def blocklist_word(self) -> str:
        """Return what this release calls the list, ``blocklist`` or ``blacklist``, by asking for it."""

    def block(self, address: str, seconds: int, as_range: bool = False) -> None:
        """Refuse all clients of an address, or of a range (C(192.0.2.0:0/24)), from now on."""

    def unblock(self, address: str, as_range: bool = False) -> None:
        """Let an address, or a range, in again."""

    def rights(self) -> CephRights:
        """Return whether this user may add to the list and remove from it. Changes nothing."""

    def caps(self, entity: str) -> Json:
        """Return what C(auth get) says of a user, its key included: see :func:`parse_caps`."""

    def ask(self, question: str) -> Json:
        """Return the monitors' answer to a command that only reads, such as C(mgr dump)."""

    def written(self, name: str, text: str) -> str:
        """Write an object that is no image's, and return what is read back of it. It is removed again."""

    def in_pool(self, pool: str) -> t.ContextManager[Ceph]:
        """Open another pool of the same cluster."""


# --- reading --------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class ReadOptions:
    """What is read besides the images.

    ``opened``: false for names only. ``details``: the addresses of the cluster's daemons, what its list is called, what
    the user may do to it, and the list. ``volumes``: uuids, or :data:`EVERY`, looked for in ``volume_pools``.
    ``images``: false for a host that has none in Ceph.
    """

    opened: bool = True
    details: bool = False
    volumes: t.Tuple[str, ...] = ()
    volume_pools: t.Tuple[str, ...] = ()
    images: bool = True


_ONLY_IMAGES = ReadOptions()


def read_rbd(
    options: RbdOptions, instances: t.Sequence[str] = (), blocklist: bool = False, more: ReadOptions = _ONLY_IMAGES
) -> RbdFacts:
    """Return what the pool holds of some instances, with watchers and locks; of all, without, where none are named.

    Never raises for a part that cannot be read; raises :class:`CephError` where Ceph cannot be reached at all, and
    ReadError where it does not answer within :data:`PATIENCE` seconds.
    """

    def read() -> RbdFacts:
        with connect(options) as ceph:
            return facts_of(ceph, options.pool, instances, blocklist, more)

    return within(PATIENCE, f"Ceph pool {options.pool}", read)


def facts_of(
    ceph: Ceph, pool: str, instances: t.Sequence[str] = (), blocklist: bool = False, more: ReadOptions = _ONLY_IMAGES
) -> RbdFacts:
    """Read through an open connection; see :func:`read_rbd`."""
    parts = Parts()
    until = time.monotonic() + PATIENCE * 3 / 4
    return RbdFacts(
        via=ceph.via,
        fsid=parts.read("fsid", ceph.fsid),
        pool=pool,
        instances=sorted(instances),
        images=parts.read("images", lambda: _images(ceph, instances, more.opened)) if more.images else [],
        blocklist=parts.read("blocklist", ceph.blocklist) if blocklist or more.details else None,
        unread=parts.unread,
        client_address=parts.read("client_address", lambda: client_address(ceph.monitors())),
        opened=more.opened,
        infrastructure=infrastructure(ceph, parts) if more.details else None,
        blocklist_word=parts.read("blocklist_word", ceph.blocklist_word) if more.details else None,
        rights=parts.read("rights", ceph.rights) if more.details else None,
        volumes=_volumes(ceph, more, parts, until) if more.volumes else None,
    )


def rights_of(options: RbdOptions) -> CephRights:
    """Return what a user may do to the blocklist. Where that cannot be read, neither is known: never raises."""
    try:
        with connect(options) as ceph:
            return ceph.rights()
    except CephError as error:
        return CephRights(reason=str(error))


def write_probe(options: RbdOptions) -> bool:
    """Write a small object into the pool, read it back and remove it; return True. Raises :class:`CephError`.

    A disk that can be opened is no proof that it can be written: Ceph refuses writes to a client on the blocklist, to a
    user that may only read, and to a pool that is full. The object is named after this host: what a run that was killed
    leaves behind is one object of some bytes, which the next probe of this host writes over and removes. No image has
    such a name (C(rbd_header.ID), C(rbd_data.ID...), C(NAME.rbd)).
    """

    def probe() -> bool:
        text = secrets.token_hex(16)
        with connect(options) as ceph:
            found = ceph.written(f"{PROBE}{socket.gethostname()}", text)
        if found != text:
            raise CephError(f"Ceph pool {options.pool}: what was read back of an object is not what was written")
        return True

    return within(PATIENCE, f"Ceph pool {options.pool}", probe)


def _volumes(ceph: Ceph, more: ReadOptions, parts: Parts, until: float) -> t.Optional[t.List[RbdVolume]]:
    every = more.volumes == (EVERY,)
    wanted = {f"{VOLUME}{uuid}" for uuid in more.volumes}

    def listed(there: Ceph) -> t.List[str]:
        try:
            return there.names()
        except CephError as error:
            if _REFUSED.search(str(error)):
                # pylint follows no relative import to what the class is.
                raise CephError(f"no access to the pool: {error}") from error  # pylint: disable=bad-exception-cause
            raise

    def read(pool: str) -> t.List[RbdVolume]:
        with ceph.in_pool(pool) as there:
            # Names first: where they may not be listed, nothing is known, and an image is neither there nor absent.
            names = sorted(name for name in listed(there) if (_is_volume(name) if every else name in wanted))
            if not more.opened:
                images = [_unopened(name) for name in names]
            else:
                images = _of_pool(there, names, until) if every else there.images(names)
        return [RbdVolume(pool, image) for image in images]

    if not more.volume_pools:
        parts.unread.append(left_out("volumes", NO_VOLUME_POOL))
    found = [parts.read(f"volumes {pool}", lambda pool=pool: read(pool)) for pool in more.volume_pools]  # type: ignore[misc]
    known = [volumes for volumes in found if volumes is not None]
    return [volume for volumes in known for volume in volumes] if known else None


def _is_volume(image: str) -> bool:
    return image.startswith(VOLUME) and _UUID.match(image[len(VOLUME) :]) is not None


def _of_pool(ceph: Ceph, names: t.Sequence[str], until: t.Optional[float] = None) -> t.List[RbdImage]:
    """Look at all images of a pool, by the long listing where that is cheaper. ``until``: others are not opened."""
    listed = ceph.long_listing()
    known = {image.name: image for image in listed or []}
    # What the long listing leaves out is looked at by itself: it says why.
    missing = [name for name in names if name not in known]
    for start in range(0, len(missing), _AT_ONCE):
        some = missing[start : start + _AT_ONCE]
        late = until is not None and time.monotonic() > until
        reason_late = Unread("image", f"Ceph did not open all images of the pool within {PATIENCE} s")
        found = [RbdImage(name, unread=[reason_late]) for name in some] if late else ceph.images(some)
        known.update({image.name: image for image in found})
    return [known[name] for name in names if name in known]


# --- the cluster's own daemons ---------------------------------------------------------------------------------


def infrastructure(ceph: Ceph, parts: Parts) -> t.Optional[t.List[str]]:
    """Return the plain addresses of the cluster's daemons, of all networks and protocols; None where none was read.

    Monitors, OSDs, managers (with the clients of their modules, and the standbys), MDS, and the gateways that say what
    they are (C(radosgw), C(rbd-mirror), iSCSI and NFS gateways). C(profile rbd) may not read managers and MDS: each
    such part is noted, as C(infrastructure mgr dump). C(ceph status), which it may read, says whether there is any MDS.
    """
    found: t.List[t.List[str]] = []

    def part(name: str, read: t.Callable[[], t.List[str]]) -> None:
        addresses = parts.read(f"infrastructure {name}", read)
        if addresses is not None:
            found.append(addresses)

    part("mon dump", lambda: ceph_addresses.all_of(ceph.ask("mon dump"), ("mons",)))
    part("osd dump", lambda: ceph_addresses.all_of(ceph.ask("osd dump"), ("osds",)))
    part("mgr dump", lambda: _managers(ceph))
    part("fs dump", lambda: _mds(ceph))
    part("status", lambda: ceph_addresses.all_of(_status(ceph, "servicemap"), ("services",)))
    return sorted({address for addresses in found for address in addresses}) if found else None


def _managers(ceph: Ceph) -> t.List[str]:
    answer = ceph.ask("mgr dump")
    addresses = ceph_addresses.all_of(answer, ("active_addr", "active_addrs", "active_clients"))
    standbys = {str(entry["name"]) for entry in answer.get("standbys") or []}
    if not standbys:
        return addresses
    # The dump names a standby without its address.
    known = {str(entry["name"]): entry for entry in _list(ceph.ask("mgr metadata"), "mgr metadata")}
    if standbys - set(known):
        raise CephError(f"mgr metadata: the answer has no entry for {', '.join(sorted(standbys - set(known)))}")
    return addresses + [found for entry in known.values() for found in ceph_addresses.all_of(entry, ("addr", "addrs"))]


def _mds(ceph: Ceph) -> t.List[str]:
    try:
        return ceph_addresses.all_of(ceph.ask("fs dump"), ("filesystems", "standbys"))
    except CephError:
        known = _status(ceph, "fsmap")
        if known.get("by_rank") == [] and known.get("up:standby") == 0:
            return []
        raise


def _status(ceph: Ceph, part: str) -> t.Dict[str, Json]:
    answer = ceph.ask("status")
    if not isinstance(answer, dict) or not isinstance(answer.get(part), dict):
        raise CephError(f"ceph status: the answer contains no {part}")
    return dict(answer[part])


def client_address(monitors: t.Sequence[str]) -> str:
    """Return the address from which this host reaches the first monitor that it has a route to. Nothing is sent.

    Raises :class:`CephError` where it has none.
    """
    for monitor in monitors:
        host, _colon, port = monitor.rpartition(":")
        host = host.strip("[]")
        try:
            with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM) as probe:
                probe.connect((host, int(port)))
                return str(probe.getsockname()[0])
        except (OSError, ValueError):
            continue
    raise CephError(
        f"this host has no route to any Ceph monitor: {', '.join(monitors) or 'no monitor is known'}",
        problem="no-cluster",
    )


def instance_of(image: str) -> t.Optional[str]:
    """Return the instance that an image belongs to by Nova's naming (imagebackend.py: C(UUID_disk...)), or None."""
    uuid, underscore, _rest = image.partition("_")
    return uuid if underscore and _UUID.match(uuid) else None


def _images(ceph: Ceph, instances: t.Sequence[str], opened: bool) -> t.List[RbdImage]:
    wanted = set(instances)
    names = sorted(name for name in ceph.names() if _wanted(name, wanted))
    if not opened:
        return [_unopened(name) for name in names]
    return ceph.images(names) if wanted else _of_pool(ceph, names)


def _unopened(name: str) -> RbdImage:
    return RbdImage(name, unread=[left_out("image", NOT_OPENED)])


def _wanted(name: str, instances: t.Container[str]) -> bool:
    uuid = instance_of(name)
    return uuid is not None and (not instances or uuid in instances)


# --- connections ----------------------------------------------------------------------------------------------


@contextlib.contextmanager
def connect(options: RbdOptions) -> t.Iterator[Ceph]:
    """Open a way to Ceph and close it again. Raises :class:`CephError`."""
    library = None if options.command or options.via == COMMAND else _library()
    if library is None and options.via == LIBRARY:
        raise CephError(
            "install python3-rbd: the Python bindings of Ceph are missing on this host", problem="install-python3-rbd"
        )
    if library is None:
        yield _Commands(by_commands(options))
        return
    rados, rbd = library
    try:
        client = _client(rados, options)
    except rados.Error as error:
        raise CephError(f"Ceph: {error}") from error
    try:
        try:
            client.connect(timeout=ANSWER)
            pool = client.open_ioctx(options.pool)
        except rados.Error as error:
            raise CephError(f"Ceph pool {options.pool}: {error}") from error
        try:
            yield _Library(rados, rbd, client, pool)
        finally:
            pool.close()
    finally:
        client.shutdown()


def by_commands(options: RbdOptions) -> RbdOptions:
    """Return the options for the commands: those of the host, or where it has none those of nova-compute's container.

    There, a file has the path that it has in the container, and the container knows its keyrings.
    """
    if options.files is None or options.inside is None or all(shutil.which(program) for program in PROGRAMS):
        return options
    if not options.files.command:
        return options
    return dataclasses.replace(options, command=options.files.command, conf=options.inside, files=None, inside=None)


def _library() -> t.Optional[t.Tuple[t.Any, t.Any]]:
    try:
        import rados
        import rbd
    except ImportError:
        return None
    return rados, rbd


def _client(rados: t.Any, options: RbdOptions) -> t.Any:
    # An empty conffile: where Ceph looks by itself.
    given = {"rados_id": options.user} if options.user else {}
    client = rados.Rados(conffile=options.conf or "", **given)
    for name in ("client_mount_timeout", "rados_mon_op_timeout", "rados_osd_op_timeout"):
        client.conf_set(name, str(ANSWER))
    if options.files is not None:
        client.conf_set("keyring", _on_host(options, client.conf_get("keyring")))
    return client


def _on_host(options: RbdOptions, keyrings: str) -> str:
    """Return the host's paths of keyrings, in their order: the container's where it has them, else the host's own.

    With a configuration of the host's own, a keyring beside it is of the same cluster, and the container's may not be.
    """

    def place(path: str) -> str:
        if options.files is None or (options.inside is None and os.path.exists(path)):
            return path
        return options.files.on_host(path) or path

    return ",".join(place(path) for path in keyrings.split(",") if path)


class _Monitors:
    """What is asked of the monitors, whichever way leads to them."""

    #: What the list is called, once it is known.
    _word: t.Optional[str] = None

    def ask(self, question: str) -> Json:
        raise NotImplementedError

    def _order(self, word: str, action: str, address: str, seconds: t.Optional[int], as_range: bool) -> None:
        raise NotImplementedError

    def _probe(self, word: str, action: str) -> None:
        raise NotImplementedError

    def monitors(self) -> t.List[str]:
        return parse_monitors(self.ask("mon dump"))

    def blocklist(self) -> t.List[BlocklistEntry]:
        return parse_blocklist(self._worded(lambda word: self.ask(f"osd {word} ls")))

    def blocklist_word(self) -> str:
        try:
            self._worded(lambda word: self.ask(f"osd {word} ls"))
        except _FailedError:
            # Who may not read the list knows its name.
            if self._word is None:
                raise
        return str(self._word)

    def block(self, address: str, seconds: int, as_range: bool = False) -> None:
        self._worded(lambda word: self._order(word, "add", address, seconds, as_range))

    def unblock(self, address: str, as_range: bool = False) -> None:
        self._worded(lambda word: self._order(word, "rm", address, None, as_range))

    def _worded(self, call: t.Callable[[str], _T]) -> _T:
        """Call with the release's own word: never by its version, always by what it knows. It is found once."""
        first: t.Optional[_FailedError] = None
        for word in (self._word,) if self._word else BLOCKLIST_WORDS:
            try:
                answer = call(word)
            except _FailedError as error:
                if error.code == _EINVAL and _UNKNOWN.search(str(error)):
                    first = first or error
                    continue
                # Rights and addresses are looked at only where the command is known. A timeout says nothing.
                if error.code == _EACCES or _PASSED.search(str(error)):
                    self._word = word
                raise
            self._word = word
            return answer
        raise first or CephError("the Ceph cluster has neither the command blocklist nor the command blacklist")

    def rights(self) -> CephRights:
        """Ask for what cannot be done: the monitors look at the rights first, and at the address afterwards.

        C(auth get) is no way: hardly any user may ask for its own rights, and to understand them (profiles, services,
        networks, arguments of commands) would be the monitors' work done twice. So the monitors judge themselves. Who
        may not is answered EACCES. Who may is answered that the address is none, and nothing has changed. That was
        tried with Ceph 16 and users with C(profile rbd), C(allow r), C(allow w), C(allow rw), C(allow *) and
        C(allow command). Any other answer proves neither: None.
        """
        add, remove = self._may("add"), self._may("rm")
        reasons = [f"{action}: {why}" for action, (_may, why) in (("add", add), ("remove", remove)) if why]
        return CephRights(add[0], remove[0], "; ".join(reasons) or None)

    def _may(self, action: str) -> t.Tuple[t.Optional[bool], str]:
        try:
            self._worded(lambda word: self._probe(word, action))
        except _FailedError as error:
            if error.code == _EACCES:
                return False, str(error)
            return (True, "") if _PASSED.search(str(error)) else (None, str(error))
        except CephError as error:
            return None, str(error)
        # Removing what is not there is no error. Nothing can be added that way.
        return (True, "") if action == "rm" else (None, "the monitors returned an invalid address")


# --- python3-rbd ----------------------------------------------------------------------------------------------


class _Library(_Monitors):
    """Ceph through its Python bindings."""

    via = LIBRARY

    def __init__(self, rados: t.Any, rbd: t.Any, client: t.Any, pool: t.Any) -> None:
        self._rados = rados
        self._rbd = rbd
        self._client = client
        self._pool = pool

    @contextlib.contextmanager
    def _errors(self, what: str) -> t.Iterator[None]:
        try:
            yield
        except (self._rbd.Error, self._rados.Error) as error:
            raise CephError(f"{what}: {error}") from error

    def fsid(self) -> str:
        with self._errors("fsid"):
            return str(self._client.get_fsid())

    def names(self) -> t.List[str]:
        with self._errors("list the pool"):
            return list(self._rbd.RBD().list(self._pool))

    def images(self, names: t.Sequence[str]) -> t.List[RbdImage]:
        with futures.ThreadPoolExecutor(PARALLEL_CALLS) as threads:
            found = list(threads.map(self._image, names))
        return [image for image in found if image is not None]

    def long_listing(self) -> t.Optional[t.List[RbdImage]]:
        return None

    def _image(self, name: str) -> t.Optional[RbdImage]:
        try:
            # Read-only: we do not become a watcher ourselves.
            image = self._rbd.Image(self._pool, name, read_only=True)
        except self._rbd.ImageNotFound:
            return None
        except self._rbd.Error as error:
            return RbdImage(name, unread=[Unread("image", reason(error))])
        try:
            return self._opened(name, image)
        finally:
            image.close()

    def _opened(self, name: str, image: t.Any) -> RbdImage:
        unread: t.List[Unread] = []

        def part(what: str, read: t.Callable[[], _T]) -> t.Optional[_T]:
            try:
                return read()
            except Exception as error:  # noqa: BLE001 - a part that fails must never fail the whole
                unread.append(Unread(what, reason(error)))
                return None

        return RbdImage(
            name,
            id=part("id", lambda: str(image.id())),
            size=part("size", lambda: int(image.size())),
            snapshots=part("snapshots", lambda: self._snapshots(image)),
            watchers=part("watchers", lambda: [_library_watcher(entry) for entry in image.watchers_list()]),
            locks=part("locks", lambda: _library_locks(image.list_lockers())),
            unread=unread,
            exclusive_lock=_library_feature(image),
        )

    @staticmethod
    def _snapshots(image: t.Any) -> t.List[RbdSnapshot]:
        found = [entry for entry in image.list_snaps() if entry.get("namespace", _USER_SNAPSHOTS) == _USER_SNAPSHOTS]
        return [
            RbdSnapshot(entry["name"], int(entry["size"]), bool(image.is_protected_snap(entry["name"])))
            for entry in found
        ]

    def create_snapshot(self, image: str, snapshot: str) -> bool:
        with self._errors(f"{image}@{snapshot}"), self._writable(image) as opened:
            try:
                opened.create_snap(snapshot)
            except self._rbd.ImageExists:
                return False
            return True

    def remove_snapshot(self, image: str, snapshot: str) -> bool:
        try:
            with self._errors(f"{image}@{snapshot}"), self._writable(image) as opened:
                opened.remove_snap(snapshot)
        except CephError as error:
            if isinstance(error, GoneError) or isinstance(error.__cause__, self._rbd.ImageNotFound):
                return False
            raise
        return True

    @contextlib.contextmanager
    def _writable(self, name: str) -> t.Iterator[t.Any]:
        try:
            image = self._rbd.Image(self._pool, name)
        except self._rbd.ImageNotFound as error:
            raise GoneError(f"image {name} does not exist") from error
        try:
            yield image
        finally:
            image.close()

    @contextlib.contextmanager
    def in_pool(self, pool: str) -> t.Iterator[Ceph]:
        with self._errors(f"pool {pool}"):
            opened = self._client.open_ioctx(pool)
        try:
            yield _Library(self._rados, self._rbd, self._client, opened)
        finally:
            opened.close()

    def caps(self, entity: str) -> Json:
        return self._command({"prefix": "auth get", "entity": entity, "format": "json"})

    def ask(self, question: str) -> Json:
        return self._command({"prefix": question, "format": "json"})

    def written(self, name: str, text: str) -> str:
        with self._errors(f"write the object {name}"):
            self._pool.write_full(name, text.encode())
        try:
            with self._errors(f"read the object {name}"):
                return str(self._pool.read(name, len(text) + 1).decode("utf-8", "replace"))
        finally:
            with self._errors(f"remove the object {name}"):
                self._pool.remove_object(name)

    def _order(self, word: str, action: str, address: str, seconds: t.Optional[int], as_range: bool) -> None:
        command: t.Dict[str, t.Any] = {"prefix": f"osd {word}", f"{word}op": action, "addr": address}
        if as_range:
            command["range"] = "range"
        if seconds is not None:
            command["expire"] = float(seconds)
        self._command(command, False)

    def _probe(self, word: str, action: str) -> None:
        # No address at all, of a shape that the rules of profile rbd let pass.
        self._order(word, action, "stackguard/0", _PROBE_SECONDS if action == "add" else None, False)

    def _command(self, command: t.Mapping[str, t.Any], answers: bool = True) -> Json:
        with self._errors(str(command["prefix"])):
            code, out, said = self._client.mon_command(json.dumps(command), b"", timeout=ANSWER)
        if code:
            raise _FailedError(f"{command['prefix']}: error {code}: {said}", abs(code))
        return _json(out.decode("utf-8", "replace"), str(command["prefix"])) if answers else None


def _library_feature(image: t.Any) -> t.Optional[bool]:
    # Where this is not known, its locks decide: no gap of its own.
    try:
        return bool(int(image.features()) & _EXCLUSIVE_LOCK)
    except Exception:  # noqa: BLE001 - a part that fails must never fail the whole
        return None


def _library_watcher(entry: t.Mapping[str, t.Any]) -> RbdWatcher:
    return RbdWatcher(str(entry["addr"]), f"client.{entry['id']}", str(entry["cookie"]))


def _library_locks(found: t.Any) -> t.List[RbdLock]:
    # An empty list where nobody holds a lock, else a mapping with the holders below ``lockers``.
    holders = found.get("lockers", []) if isinstance(found, dict) else list(found or [])
    return [RbdLock(str(address), str(cookie)) for _client, cookie, address in holders]


# --- rbd and ceph ---------------------------------------------------------------------------------------------


class _Commands(_Monitors):
    """Ceph through its commands, with JSON answers."""

    via = COMMAND

    def __init__(self, options: RbdOptions) -> None:
        self._options = options
        self._keyring: t.Optional[str] = None

    def fsid(self) -> str:
        answer = self._ceph("fsid")
        if not isinstance(answer, dict) or not answer.get("fsid"):
            raise CephError("ceph fsid: the answer contains no fsid")
        return str(answer["fsid"])

    def names(self) -> t.List[str]:
        return [str(name) for name in _list(self._rbd("ls"), "rbd ls")]

    def long_listing(self) -> t.Optional[t.List[RbdImage]]:
        return parse_long_listing(self._rbd("ls", "--long"))

    def images(self, names: t.Sequence[str]) -> t.List[RbdImage]:
        with futures.ThreadPoolExecutor(PARALLEL_PROCESSES) as threads:
            found = list(threads.map(self._image, names))
        gone = [image.name for image in found if _not_there(image)]
        # Exit status 2 is also that of a pool or a configuration that is not there.
        still = set(self.names()) if gone else set()
        return [image for image in found if image.name not in gone or image.name in still]

    def _image(self, name: str) -> RbdImage:
        unread: t.List[Unread] = []

        def part(what: str, read: t.Callable[[], _T]) -> t.Optional[_T]:
            try:
                return read()
            except _FailedError as error:
                unread.append(Unread("gone" if error.code == _ENOENT else what, str(error)))
            except Exception as error:  # noqa: BLE001 - a part that fails must never fail the whole
                unread.append(Unread(what, reason(error)))
            return None

        image = f"--image={name}"
        about = part("info", lambda: dict(self._rbd("info", image))) or {}
        if _not_there(RbdImage(name, unread=unread)):
            return RbdImage(name, unread=unread)
        return RbdImage(
            name,
            id=None if about.get("id") is None else str(about["id"]),
            size=None if about.get("size") is None else int(about["size"]),
            snapshots=part("snapshots", lambda: parse_snapshots(self._rbd("snap", "ls", image))),
            watchers=part("watchers", lambda: parse_watchers(self._rbd("status", image))),
            locks=part("locks", lambda: parse_locks(self._rbd("lock", "ls", image))),
            unread=unread,
            exclusive_lock=None if about.get("features") is None else "exclusive-lock" in about["features"],
        )

    def create_snapshot(self, image: str, snapshot: str) -> bool:
        try:
            self._rbd("snap", "create", f"--image={image}", f"--snap={snapshot}", answers=False)
        except _FailedError as error:
            if error.code == _EEXIST:
                return False
            if error.code == _ENOENT and image not in self.names():
                raise GoneError(f"image {image} does not exist", problem="image-not-exist") from error  # pylint: disable=bad-exception-cause
            raise
        return True

    def remove_snapshot(self, image: str, snapshot: str) -> bool:
        try:
            self._rbd("snap", "rm", f"--image={image}", f"--snap={snapshot}", answers=False)
        except _FailedError as error:
            if error.code == _ENOENT and self._no_such_snapshot(image, snapshot):
                return False
            raise
        return True

    def _no_such_snapshot(self, image: str, snapshot: str) -> bool:
        if image not in self.names():
            return True
        found = parse_snapshots(self._rbd("snap", "ls", f"--image={image}"))
        return all(entry.name != snapshot for entry in found)

    @contextlib.contextmanager
    def in_pool(self, pool: str) -> t.Iterator[Ceph]:
        yield _Commands(dataclasses.replace(self._options, pool=pool))

    def caps(self, entity: str) -> Json:
        return self._ceph("auth", "get", entity)

    def ask(self, question: str) -> Json:
        return self._ceph(*question.split())

    def written(self, name: str, text: str) -> str:
        # An attribute, not data: a file to write from would have to be in the container in which the command may run.
        self._rados("setxattr", name, "probe", text)
        try:
            return self._rados("getxattr", name, "probe").strip()
        finally:
            self._rados("rm", name)

    def _order(self, word: str, action: str, address: str, seconds: t.Optional[int], as_range: bool) -> None:
        words = ["osd", word, *(["range"] if as_range else []), action, address]
        self._ceph(*words, *([] if seconds is None else [str(seconds)]), answers=False)

    def _probe(self, word: str, action: str) -> None:
        # The command looks at addresses itself: one that it lets pass and the monitors do not is a range of 1000 bits.
        # Releases without ranges have no such question. To remove an address that no host has changes nothing.
        if action == "add":
            self._order(word, action, "192.0.2.1:0/1000", _PROBE_SECONDS, True)
        else:
            self._order(word, action, "255.255.255.254:0/0", None, False)

    def _rbd(self, *words: str, answers: bool = True) -> Json:
        return self._run("rbd", [*words, f"--pool={self._options.pool}"], answers)

    def _ceph(self, *words: str, answers: bool = True) -> Json:
        return self._run("ceph", list(words), answers)

    def _rados(self, *words: str) -> str:
        return self._told("rados", [*words, f"--pool={self._options.pool}"], False)

    def _run(self, program: str, words: t.Sequence[str], answers: bool) -> Json:
        told = self._told(program, words, answers)
        return _json(told, " ".join([program, *words])) if answers else None

    def _told(self, program: str, words: t.Sequence[str], answers: bool) -> str:
        options = [f"--id={self._options.user}"] if self._options.user else []
        options += [f"--conf={self._options.conf}"] if self._options.conf else []
        options += self._keyrings()
        # Commands that answer nothing know no format.
        options += ["--format=json"] if answers else []
        argv = [*self._options.command, program, *words, *options]
        shown = " ".join([program, *words])
        try:
            done = commands.run(argv, ANSWER)
        except OSError as error:
            raise CephError(f"{argv[0]}: {error.strerror}: install ceph-common or python3-rbd") from error
        except subprocess.TimeoutExpired as error:
            raise CephError(f"{shown}: no answer within {ANSWER} s") from error
        if done.returncode:
            said = " ".join(done.stderr.decode("utf-8", "replace").split())[-400:]
            raise _FailedError(f"{shown}: exit status {done.returncode}: {said}", done.returncode)
        return done.stdout.decode("utf-8", "replace")

    def _keyrings(self) -> t.List[str]:
        """Return the option with the keyrings of nova-compute's container, as Ceph itself would look for them there."""
        if self._options.files is None:
            return []
        if self._keyring is None:
            given = [f"--id={self._options.user}"] if self._options.user else []
            given += [f"--conf={self._options.conf}"] if self._options.conf else []
            told = _told(["ceph-conf", *given, "--show-config-value", "keyring"])
            self._keyring = _on_host(self._options, told.strip())
        return [f"--keyring={self._keyring}"]


def _told(argv: t.Sequence[str]) -> str:
    try:
        done = commands.run(argv, ANSWER)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CephError(f"{argv[0]}: {error}") from error
    if done.returncode:
        raise CephError(f"{argv[0]}: {' '.join(done.stderr.decode('utf-8', 'replace').split())[-400:]}")
    return done.stdout.decode("utf-8", "replace")


def _not_there(image: RbdImage) -> bool:
    return any(entry.part == "gone" for entry in image.unread)


# --- answers --------------------------------------------------------------------------------------------------


def _json(text: str, what: str) -> Json:
    """Return the answer. C(osd blocklist ls) writes two lists, one behind the other: they are one here."""
    documents: t.List[Json] = []
    decoder, rest = json.JSONDecoder(), text.strip()
    try:
        while rest or not documents:
            document, end = decoder.raw_decode(rest)
            documents.append(document)
            rest = rest[end:].lstrip()
    except ValueError as error:
        raise CephError(f"{what}: the answer is not JSON") from error
    if len(documents) == 1:
        return documents[0]
    return [entry for document in documents for entry in _list(document, what)]


def _list(answer: Json, what: str) -> t.List[Json]:
    if not isinstance(answer, list):
        raise CephError(f"{what}: the answer is not a list")
    return answer


def _entries(answer: Json, what: str) -> t.List[t.Mapping[str, t.Any]]:
    """Return records, whether they come as a list or, before Nautilus, as a mapping of names to records."""
    found = list(answer.values()) if isinstance(answer, dict) else answer
    if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
        raise CephError(f"{what}: the answer cannot be parsed")
    return found


def parse_watchers(answer: Json) -> t.List[RbdWatcher]:
    """Read C(rbd status). Raises :class:`CephError` for an answer without watchers: that is not "none"."""
    if not isinstance(answer, dict) or "watchers" not in answer:
        raise CephError("rbd status: the answer contains no watchers")
    return [
        RbdWatcher(str(entry["address"]), f"client.{entry['client']}", str(entry.get("cookie", "")))
        for entry in _entries(answer["watchers"], "rbd status")
    ]


def parse_locks(answer: Json) -> t.List[RbdLock]:
    """Read C(rbd lock ls)."""
    named = answer.items() if isinstance(answer, dict) else [(None, entry) for entry in _entries(answer, "rbd lock ls")]
    return [
        RbdLock(str(entry.get("address") or "") or None, str(entry.get("id") or name or "")) for name, entry in named
    ]


def parse_snapshots(answer: Json) -> t.List[RbdSnapshot]:
    """Read C(rbd snap ls): C(protected) is the word true or false."""
    return [
        RbdSnapshot(str(entry["name"]), int(entry["size"]), _truth(entry.get("protected")))
        for entry in _entries(answer, "rbd snap ls")
    ]


def parse_long_listing(answer: Json) -> t.List[RbdImage]:
    """Read C(rbd ls --long): a record for each image and for each of its snapshots."""
    snapshots: t.Dict[str, t.List[RbdSnapshot]] = {}
    images: t.Dict[str, t.Mapping[str, t.Any]] = {}
    for entry in _list(answer, "rbd ls --long"):
        name = str(entry["image"])
        if "snapshot" in entry:
            found = RbdSnapshot(str(entry["snapshot"]), int(entry["size"]), _truth(entry.get("protected")))
            snapshots.setdefault(name, []).append(found)
        else:
            images[name] = entry
    return [
        RbdImage(
            name,
            id=None if entry.get("id") is None else str(entry["id"]),
            size=int(entry["size"]),
            snapshots=snapshots.get(name, []),
            unread=[left_out("watchers", NOT_ASKED_FOR), left_out("locks", NOT_ASKED_FOR)],
        )
        for name, entry in sorted(images.items())
    ]


def parse_blocklist(answer: Json) -> t.List[BlocklistEntry]:
    """Read C(ceph osd blocklist ls): C(addr), or C(range) of addresses, and C(until)."""
    return [
        BlocklistEntry(
            str(entry["addr"] if "addr" in entry else entry["range"]),
            None if entry.get("until") is None else str(entry["until"]),
            "addr" not in entry,
        )
        for entry in _entries(answer, "osd blocklist ls")
    ]


def parse_caps(answer: Json, entity: str) -> CephCaps:
    """Read C(auth get): the caps, and never the key that stands beside them."""
    for entry in _entries(answer, "auth get"):
        if entry.get("entity") == entity and isinstance(entry.get("caps"), dict):
            caps = {str(service): str(value) for service, value in entry["caps"].items()}
            mon, osd, mgr = (caps.pop(service, "") for service in ("mon", "osd", "mgr"))
            return CephCaps(entity, mon, osd, mgr, caps)
    raise CephError(f"auth get: the answer contains no caps of {entity}")


def parse_monitors(answer: Json) -> t.List[str]:
    """Read C(ceph mon dump): every address of each monitor, C(192.0.2.1:6789) or C([2001:db8::1]:3300).

    Since Nautilus a monitor has several: C(addr) is only that of the old protocol, and may not be set.
    """
    if not isinstance(answer, dict) or "mons" not in answer:
        raise CephError("mon dump: the answer contains no monitors")
    found: t.List[str] = []
    for entry in _entries(answer["mons"], "mon dump"):
        vector = (entry.get("public_addrs") or {}).get("addrvec") or [entry]
        found += [str(address["addr"]).partition("/")[0] for address in vector]
    return list(dict.fromkeys(found))


def _truth(value: t.Any) -> t.Optional[bool]:
    if isinstance(value, bool):
        return value
    return {"true": True, "false": False}.get(str(value).casefold())
