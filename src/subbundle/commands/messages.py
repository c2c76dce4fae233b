"""Messages of the library in terms of the command line."""

from __future__ import annotations

# Arguments and attributes that messages name, and what a user of the commands writes or reads instead.
_OPTIONS = {
    "Leave closed=False": "Leave --closed out", "closed=True": "--closed", "larger opening": "larger --opening",
    "larger bandwidth": "larger --bandwidth", "another bandwidth": "another --bandwidth",
    "more n_components": "a larger --dim", "color must": "--color must", "image_shape must": "--image-shape must",
    "n_components=": "--dim ", "n_components must": "--dim must",
    "; closed='raise' refuses instead": "", ", and labels_ numbers them": "",
    "distortion_ has": "the column distortion has", "distance(X) is": "the result of subbundle distance is",
    "locate(X) reports": "the column status reports",
    "Leave out those with large ridge_project(…).outlier_scores": "subbundle denoise --outliers 4 leaves them out",
}  # fmt: skip


def translated(message: str) -> str:
    """``message`` with options of the commands in place of arguments."""
    for argument, option in _OPTIONS.items():
        message = message.replace(argument, option)
    return message
