"""Files to read and to write. `atomic_path`: one is complete or does not exist, whenever the writer stops.

A file is written under a temporary name in the target's own folder and moved into place when complete. A writer that
fails removes its temporary file; one that was killed cannot, so the next writer of the same file does it.
"""

from __future__ import annotations

import os
import re
import socket
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

# Endings of compressed files, which are not read.
_PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip", ".7z")
# Seconds (a day) after which a temporary file of another computer, whose processes are unknown here, is removed.
_ABANDONED = 86400.0


def check_source(path: str | os.PathLike[str], endings: Sequence[str] = ()) -> Path:
    """``path``, or an error unless it is an existing file, with one of the ``endings`` if some are given."""
    path = Path(path)
    suffix = path.suffix.lower()
    if not path.is_file() and (path.is_dir() or suffix in endings or not endings):
        found = "it is a folder" if path.is_dir() else "there is no such file"
        raise FileNotFoundError(f"{path} must be an existing file; {found}. Check the path.")
    if endings and suffix not in endings:
        known, got = ", ".join(endings), f"got {suffix!r}" if suffix else "it has no ending"
        advice = "Unpack it first" if suffix in _PACKED else "Save it in one of these formats first"
        raise ValueError(f"{path} must end in one of {known}; {got}. {advice}.")
    return path


def check_target(path: str | os.PathLike[str], endings: Sequence[str] = (), what: str = "path") -> Path:
    """``path``, or an error unless its folder exists and it has one of the ``endings``, if some are given."""
    path = Path(path)
    if endings and path.suffix.lower() not in endings:
        known = f"one of {', '.join(endings)}" if len(endings) > 1 else endings[0]
        raise ValueError(f"{what} must end in {known}; got {path.name!r}.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder of {path} must exist; {path.parent} does not. Create it first.")
    return path


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside ``path``, moved to ``path`` when the block succeeds and deleted when it fails."""
    path = check_target(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} must be the name of a file; it is a folder. Write {path / 'name'} instead.")
    _remove_abandoned(path)
    prefix = f".{path.stem}-{_here()}-{os.getpid()}-"
    handle, name = tempfile.mkstemp(prefix=prefix, suffix=path.suffix, dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        # mkstemp makes files private; give the result the permissions any other new file would have.
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Write ``text`` to ``path`` atomically; return the path."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return Path(path)


def _here() -> str:
    """Name of this computer, as a file name can hold it."""
    return re.sub(r"\W", "_", socket.gethostname())


def _remove_abandoned(path: Path) -> None:
    """Remove temporary files for ``path`` whose writers have ended."""
    pattern = re.compile(rf"\.{re.escape(path.stem)}-(\w+)-(\d+)-\w+{re.escape(path.suffix)}")
    for name in os.listdir(path.parent):
        match = pattern.fullmatch(name)
        if match is None:
            continue
        file = path.parent / name
        with suppress(OSError):  # another process has removed it, or may
            elsewhere = match[1] != _here() or sys.platform == "win32"
            if time.time() - file.stat().st_mtime > _ABANDONED if elsewhere else not _is_running(int(match[2])):
                file.unlink()


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
