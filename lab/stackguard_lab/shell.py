# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Running commands and telling the person what happens, with elapsed seconds."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import http.client
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from .settings import LabError

Item = TypeVar("Item")
START = time.monotonic()
_print_lock = threading.Lock()
# Daemons and one-shot commands get this environment, never the caller's: virtual environments, proxies, OS_* or
# PYTHONDONTWRITEBYTECODE (which makes every Nova command recompile itself) would change what they do.
CLEAN_ENV = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "HOME": "/root"}


def say(text: str) -> None:
    with _print_lock:
        print(f"[{time.monotonic() - START:6.1f}s] {text}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def phase(title: str) -> Iterator[None]:
    """One line when something has been done, with how long it took."""
    began = time.monotonic()
    yield
    say(f"{title} ({time.monotonic() - began:.1f} s)")


def tail(path: Path, lines: int = 15) -> list[str]:
    try:
        return path.read_text(errors="replace").splitlines()[-lines:]
    except OSError:
        return []


def run(
    command: Sequence[str | Path],
    *,
    log: Path | None = None,
    env: dict[str, str] | None = None,
    check: bool = True,
    stdin: str | None = None,
    timeout: float = 900,
) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end; its output goes to `log`, or is returned."""
    argv = [str(part) for part in command]
    full_env = {**CLEAN_ENV, **(env or {})}
    source = {"input": stdin} if stdin is not None else {"stdin": subprocess.DEVNULL}
    try:
        if log:
            log.parent.mkdir(parents=True, exist_ok=True)
            with log.open("a") as stream:
                stream.write(f"--- {time.strftime('%F %T')} {' '.join(argv)}\n")
                stream.flush()
                result = subprocess.run(
                    argv,
                    stdout=stream,
                    stderr=subprocess.STDOUT,
                    text=True,
                    env=full_env,
                    timeout=timeout,
                    check=False,
                    **source,
                )
        else:
            result = subprocess.run(
                argv, capture_output=True, text=True, env=full_env, timeout=timeout, check=False, **source
            )
    except subprocess.TimeoutExpired as error:
        raise LabError(f"{argv[0]} did not end within {timeout:.0f} s", log=log) from error
    except FileNotFoundError as error:
        raise LabError(f"command not found: {argv[0]}") from error
    if check and result.returncode:
        said = "" if log else (result.stderr or result.stdout or "").strip()[-1500:]
        raise LabError(
            f"exit status {result.returncode}: {' '.join(argv)[:300]}" + (f"\n{said}" if said else ""), log=log
        )
    return result


def wait_for(
    what: str, test: Callable[[], bool], *, timeout: float = 300, log: Path | None = None, pause: float = 0.25
) -> None:
    end = time.monotonic() + timeout
    while not test():
        if time.monotonic() > end:
            raise LabError(f"waited {timeout:.0f} s in vain for {what}", log=log)
        time.sleep(pause)


def port_open(address: str, port: int) -> bool:
    try:
        with socket.create_connection((address, port), timeout=1):
            return True
    except OSError:
        return False


def http_answers(url: str) -> bool:
    """Whether something answers in HTTP; a refusal (401) or a list of versions (300) are answers too."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=10):
            return True
    except urllib.error.HTTPError as error:
        return error.code < 500
    except (OSError, http.client.HTTPException):
        return False


def each(job: Callable[[Item], object], items: Iterable[Item]) -> None:
    """Runs the job for all items at the same time."""
    together(*(functools.partial(job, item) for item in items))


def together(*jobs: Callable[[], object]) -> None:
    """Runs the jobs at the same time and raises the first failure, after all have ended."""
    with ThreadPoolExecutor(max_workers=len(jobs) or 1) as pool:
        futures = [pool.submit(job) for job in jobs]
    for future in futures:
        future.result()


@contextlib.contextmanager
def file_lock(path: Path, waiting: str) -> Iterator[None]:
    """An exclusive lock that dies with its process, so that a killed lab never blocks the next one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(waiting)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def is_root() -> bool:
    return os.geteuid() == 0
