"""How many files lie between a front door and a kernel: what a reader has to open to follow one call to its end.

Counted are the files of folders. Those at the top (threads, validation, types) are the same everywhere.
"""

import sys
import warnings
from pathlib import Path

import pytest

import subbundle as sb

PACKAGE = Path(sb.__path__[0])
FILES = {str(path): path.relative_to(PACKAGE).as_posix() for path in PACKAGE.glob("*/*.py")}
# Fifteen with the two that are compiled into a kernel of the local model: its gathering of neighbours and the tree.
MOST_FILES = 13

ROLL = sb.datasets.swiss_roll(150, noise=0.02, seed=0).points
SCAN = sb.datasets.bumpy_sphere(2000, noise=0.03, seed=0).points
JOBS = {
    "PrincipalSubmanifold": lambda: sb.PrincipalSubmanifold(n_components=2, n_jobs=1).fit_transform(ROLL),
    "AtlasEmbedding": lambda: sb.AtlasEmbedding(n_components=2, n_jobs=1).fit(ROLL),
    "reconstruct": lambda: sb.reconstruct(SCAN, n_jobs=1),
}


def deepest_chain(job):
    """The longest list of distinct files of the package that were entered one from another at one moment of ``job``."""
    entered, longest = [], []

    def watch(frame, event, _):
        nonlocal longest
        file = FILES.get(frame.f_code.co_filename)
        if file is None:
            return
        if event == "call":
            entered.append(file)
            if len(entered) > len(longest) and len(files := dict.fromkeys(entered)) > len(longest):
                longest = list(files)
        elif event == "return" and entered:
            entered.pop()

    job()  # what is imported and compiled by the first call is no part of it
    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        job()
    finally:
        sys.setprofile(before)
    return longest


@pytest.mark.parametrize("name", JOBS)
def test_a_call_can_be_followed_to_its_kernel_in_few_files(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sb.SubbundleWarning)
        files = deepest_chain(JOBS[name])
    assert files[0].startswith(("estimators", "surface"))
    assert len(files) <= MOST_FILES, " → ".join(files)
