"""`digest_of`: a fingerprint of a module and of every module of this package that it depends on.

Machine code depends on the text of its function, on the kernels that it calls, on the constants that they take from
other modules, and so on. All of these are reached by import statements, so the fingerprint is taken over the files
imported directly or indirectly. Import statements are found by a regular expression: all of it takes a few
milliseconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path

PACKAGE = Path(__file__).parent
# Does not affect the code.
_NO_SOURCE = PACKAGE / "_machine_code.py"
# `from subbundle.x import a, b` with the names in one line or in brackets, and `import subbundle.x`.
_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+subbundle([\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)|import[ \t]+subbundle([\w.]*))", re.M
)


@cache
def digest_of(path: Path) -> str:
    """Fingerprint, 64 hexadecimal digits, of the file ``path`` and of all files of the package that it depends on."""
    total = sha256()
    for file in sorted(dependencies_of(path)):
        total.update(f"{file.relative_to(PACKAGE)}\n".encode() + _read(file)[0])
    return total.hexdigest()


def dependencies_of(path: Path) -> set[Path]:
    """The file ``path`` and all files of the package that it imports, directly or indirectly."""
    found, waiting = set[Path](), [path]
    while waiting:
        file = waiting.pop()
        if file not in found:
            found.add(file)
            waiting += _read(file)[1]
    return found


@cache
def _read(file: Path) -> tuple[bytes, tuple[Path, ...]]:
    """The hash of a file and the files that it imports, read once: running code is that of the time of its import."""
    text = file.read_bytes()
    return sha256(text).digest(), tuple(place for place in dict.fromkeys(_places(text)) if _is_source(place))


def _is_source(place: Path) -> bool:
    return place != _NO_SOURCE and place.is_file()


def _places(text: bytes) -> Iterator[Path]:
    """Files that the import statements may mean: a name behind ``import`` can be a module or something inside one."""
    for origin, names, plain in _IMPORT.findall(text):
        module = PACKAGE.joinpath(*(origin or plain).decode().split("."))
        if module != PACKAGE:  # the package's ``__init__`` only loads names on demand
            yield module.with_suffix(".py")
            yield module / "__init__.py"
        for name in re.findall(rb"\w+", names):
            yield module / f"{name.decode()}.py"
            yield module / name.decode() / "__init__.py"
