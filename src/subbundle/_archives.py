"""`read_arrays`: the arrays of an ``.npz`` file from an untrusted source.

Nothing in the file is run or unpickled, and no size in it is trusted: what a header announces is compared with the
length of its member, and the length of all members with the size of the archive. Compression by more than `_RATIO`
indicates a file made to exhaust the memory, unless the content is small.
"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

# Largest ratio of compression: below 3 for models of real data, 1000 for arrays of zeros.
_RATIO = 100
# Bytes that may always be unpacked.
_SMALL = 64 << 20


class DamagedError(ValueError):
    """The content of the archive is not that of `numpy.savez`."""


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """All arrays by name; `zipfile.BadZipFile` for a file that is no archive, `DamagedError` for wrong content."""
    with open(path, "rb") as stream:
        try:
            archive = zipfile.ZipFile(stream)
        except zipfile.BadZipFile:
            raise
        except Exception as error:  # odd offsets and counts in the list of members
            raise zipfile.BadZipFile(str(error)) from error
        with archive:
            members = archive.infolist()
            _check_sizes(members, path.stat().st_size)
            return {member.filename.removesuffix(".npy"): _array(archive, member) for member in members}


def _check_sizes(members: list[zipfile.ZipInfo], size: int) -> None:
    names = [member.filename for member in members]
    if len(set(names)) < len(names):
        raise DamagedError("it holds two arrays of the same name")
    total = sum(member.file_size for member in members)
    if total > max(_RATIO * size, _SMALL):
        raise DamagedError(f"its {size} bytes announce {total}, beyond the compression of any model")


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    name = member.filename
    if not name.endswith(".npy"):
        raise DamagedError(f"it holds {name[:80]!r}, which is no array")
    try:
        with archive.open(member) as stream:
            content = stream.read(member.file_size + 1)
    except Exception as error:  # checksums, methods of compression, offsets, passwords
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DamagedError(f"{name[:80]!r} cannot be unpacked ({reason})") from error
    return _parsed(content, name)


def _parsed(content: bytes, name: str) -> NDArray[Any]:
    """An array from the content of a .npy file, whose length must be what its header announces."""
    stream, layout = io.BytesIO(content), cast(Any, np.lib.format)
    try:
        if layout.read_magic(stream) != (1, 0):
            raise ValueError("its version is another one")
        shape, _, dtype = layout.read_array_header_1_0(stream)
        if dtype.hasobject:
            raise ValueError("objects are never read")
        n_bytes = dtype.itemsize
        for length in shape:
            n_bytes *= length
        if min(shape, default=0) < 0 or n_bytes != len(content) - stream.tell():
            raise ValueError(f"it holds {len(content) - stream.tell()} bytes and announces {n_bytes} of {dtype}")
        stream.seek(0)
        array: NDArray[Any] = np.load(stream, allow_pickle=False)
    except Exception as error:
        raise DamagedError(f"{name[:80]!r} is no array ({str(error).splitlines()[0]})") from error
    return array
