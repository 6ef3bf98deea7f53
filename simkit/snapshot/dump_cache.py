"""Parsed dumps in the cache folder of the user, by the content of the files they were read from.

A cached dump holds what ``load`` made of the files without values of secrets. It is written for its owner alone, is
used only if nobody else can have written it, and is ignored if it is damaged or was written by another version.
"""

from __future__ import annotations

import hashlib
import os
import stat
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import orjson

from simkit.meta.distribution import VERSION
from simkit.meta.errors import SimkitError
from simkit.meta.names import GroupResource, Key
from simkit.meta.python_gc import collection_paused
from simkit.meta.whole_file import PRIVATE, home_folder, write_whole
from simkit.seams.authorization import stated
from simkit.snapshot.dump import Dump
from simkit.snapshot.report import Problem
from simkit.snapshot.resources import DEFINITIONS, ResourceIndex
from simkit.snapshot.sources import Readable

SMALLEST: Final = 64 << 10
"""The bytes of files below which reading them again takes no time worth saving."""
LARGEST: Final = 256 << 20
"""The bytes of files above which nothing is cached."""
ROOM: Final = 512 << 20
"""The bytes that all cached dumps take together; the ones not used for longest are removed."""
_SUFFIX: Final = ".dump"
_DIGEST: Final = 32
_READERS: Final = ("language/yaml", "meta", "schema", "snapshot")
"""The rooms whose code decides what is read from a file."""


def cache_folder() -> Path:
    """The folder of cached dumps: ``$SIMKIT_CACHE``, else one under ``$XDG_CACHE_HOME`` or ``~/.cache``.

    Raises SimkitError where none of them is known.
    """
    own, home = os.environ.get("SIMKIT_CACHE"), os.environ.get("XDG_CACHE_HOME")
    return Path(own) if own else (Path(home) if home else home_folder() / ".cache") / "simkit" / "dumps"


def load_cached(sources: Sequence[str | Readable], *, use_cache: bool = True, **options: Any) -> Dump:
    """The dump of some sources, as ``load`` reads it with the same options, from the cache if it was read before.

    Parameters
    ----------
    sources
        Paths of files and folders. Open files, and files too small or too large to be worth it, are not cached.
    options
        Those of ``load``. With ``secrets`` nothing is cached.

    Raises
    ------
    SimkitError
        As ``load`` does. A cache that cannot be read or written raises nothing.

    Notes
    -----
    Reading a cached dump takes a fifth of the time of reading JSON, and a thirtieth of that of YAML.
    """
    paths = [source for source in sources if isinstance(source, str)]
    cacheable = use_cache and not options.get("secrets") and len(paths) == len(sources)
    digest = _digest(paths, options) if cacheable else ""
    file = None
    with suppress(SimkitError):
        file = cache_folder() / f"{digest}{_SUFFIX}" if digest else None
    cached = _read(file, options) if file else None
    if cached is not None:
        return cached
    from simkit.snapshot.load import load  # parsers of all formats, which a cached dump does without

    dump = load(sources, **options)
    if file and _digest(paths, options) == digest:  # the files have not changed while they were read
        with suppress(OSError):
            _write(file, dump)
    return dump


def _digest(paths: Sequence[str], options: dict[str, Any]) -> str:
    """The digest of the files, their names and the options; empty for what is not cached."""
    digest = hashlib.sha256(f"{VERSION} {_code_changed()} {sorted(options.items())!r}".encode())
    total = 0
    try:
        for path in paths:
            for file in _files(Path(os.path.expanduser(path))):
                total += file.stat().st_size
                if total > LARGEST:
                    return ""
                content = file.read_bytes()
                digest.update(f"\0{path}\0{file}\0{len(content)}\0".encode())
                digest.update(content)
    except (OSError, ValueError):
        return ""
    return digest.hexdigest() if total >= SMALLEST else ""


def _files(path: Path) -> Iterator[Path]:
    """The files at a path. Raises OSError where something else than files and folders is there.

    A folder with links is not cached: they may lead to files without an end, which ``load`` does not read.
    """
    if path.is_dir():
        for file in sorted(path.rglob("*")):
            if file.is_symlink():
                raise OSError(f"a link at {file}")
            if file.is_file():
                yield file
    elif path.is_file():
        yield path
    else:
        raise OSError(f"no file at {path}")


def _code_changed() -> int:
    """The time of the last change of the code that reads files, in nanoseconds: an installation may be a checkout."""
    package = Path(__file__).parents[1]
    return max(
        entry.stat().st_mtime_ns
        for room in _READERS
        for entry in os.scandir(package / room)
        if entry.name.endswith(".py")
    )


def _read(file: Path, options: dict[str, Any]) -> Dump | None:
    """The cached dump; None where there is none, where others may have written it, and where it is damaged."""
    try:
        with open(os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb") as stream:
            if not (_is_ours(os.fstat(stream.fileno())) and _is_ours(file.parent.stat())):
                return None
            content = stream.read()
        packed = content[_DIGEST:]
        if hashlib.sha256(packed).digest() != content[:_DIGEST]:
            return None
        with collection_paused():
            dump = _restored(orjson.loads(zlib.decompress(packed)), options)
        os.utime(file)
    except OSError:
        return None
    return dump


def _is_ours(status: os.stat_result) -> bool:
    """True if only this user can have written a file or folder."""
    if not hasattr(os, "getuid"):
        return True
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _restored(cached: dict[str, Any], options: dict[str, Any]) -> Dump:
    keys = [Key(GroupResource(*resource), namespace, name) for resource, namespace, name in cached["keys"]]
    keyed = dict(zip(keys, cached["objects"], strict=True))
    modes = tuple(options.get("authorization_mode", ()))
    return Dump(
        keyed,
        frozenset(GroupResource(*resource) for resource in cached["captured"]),
        tuple(Problem(*problem) for problem in cached["problems"]),
        ResourceIndex(cached["release"], [obj for key, obj in keyed.items() if key.resource == DEFINITIONS]),
        {key: (file, line) for key, (file, line) in zip(keys, cached["origins"], strict=True)},
        cached["withheld"],
        cached["server_release"],
        stated(modes) if modes else None,
    )


def _write(file: Path, dump: Dump) -> None:
    """Cache a dump, if its objects tell everything that reading found."""
    if list(dump.index.definitions) != [obj for key, obj in dump.keyed.items() if key.resource == DEFINITIONS]:
        return
    cached = {
        "release": dump.release,
        "server_release": dump.server_release,
        "withheld": dump.withheld,
        "captured": [tuple(resource) for resource in sorted(dump.captured)],
        "problems": [(one.file, one.line, one.what, one.hint, one.weight) for one in dump.problems],
        "keys": [(tuple(key.resource), key.namespace, key.name) for key in dump.keyed],
        "origins": [dump.origins[key] for key in dump.keyed],
        "objects": list(dump.keyed.values()),
    }
    packed = zlib.compress(orjson.dumps(cached), 1)
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_whole(file, hashlib.sha256(packed).digest() + packed, mode=PRIVATE)
    _remove_oldest(file.parent)


def _remove_oldest(folder: Path) -> None:
    """Remove the cached dumps that were not used for longest, until the others fit into the room."""
    total = 0
    for file in sorted(folder.glob(f"*{_SUFFIX}"), key=lambda one: one.stat().st_mtime, reverse=True):
        total += file.stat().st_size
        if total > ROOM:
            file.unlink(missing_ok=True)
