"""Outcomes of an odd call, and the rows of the table that counts them."""

from __future__ import annotations

import linecache
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import subbundle

HOME = str(Path(subbundle.__path__[0]))

RETURNED = "returned"
REFUSED = "refused in words"
BARE = "refused from inside"
FOREIGN = "foreign exception"
HANG = "no end in time"
CRASH = "process ended"
OUTCOMES = (RETURNED, REFUSED, BARE, FOREIGN, HANG, CRASH)
ALLOWED = (RETURNED, REFUSED, BARE)


@dataclass(frozen=True, slots=True)
class Row:
    """What was tried and how often it ended in each way; ``worst`` names the cases that ended in a forbidden one."""

    subject: str
    tried: int
    outcomes: dict[str, int]
    worst: Sequence[str] = ()


def ending_of(error: BaseException) -> tuple[str, str]:
    """The outcome that an exception means, and where it came from.

    A refusal *in words* is raised by this library or by scikit-learn's checks of input; *from inside* is a ValueError
    or TypeError that some deeper function of another library raised. `LinAlgError` is a ValueError by inheritance only
    and counts as foreign. MemoryError is allowed where this library raises it itself, before it allocates; so is an
    error that names the file which is not there.
    """
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1]
    ours = [frame for frame in frames if frame.filename.startswith(HOME)]
    place = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else f"{Path(last.filename).name}:{last.lineno}"
    where = f"{type(error).__name__} at {place}: {' '.join(str(error).split())[:140]}"
    said = linecache.getline(last.filename, last.lineno or 0).strip().startswith("raise")
    checked = "sklearn" in last.filename and ("validation" in last.filename or "_param_validation" in last.filename)
    in_words = (said and last.filename.startswith(HOME)) or checked
    if isinstance(error, MemoryError | FileNotFoundError | FileExistsError):
        return (REFUSED if in_words else FOREIGN), where
    if isinstance(error, np.linalg.LinAlgError) or not isinstance(error, (ValueError, TypeError)):
        return FOREIGN, where
    return (REFUSED if in_words else BARE), where
