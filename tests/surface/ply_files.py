"""PLY files as bytes, written by the format's own description."""

import numpy as np

FORMS = ["ascii", "binary_little_endian", "binary_big_endian"]


def ply_bytes(points, form):
    """``points`` [n, 3] as a PLY file of doubles."""
    header = ["ply", f"format {form} 1.0", f"element vertex {len(points)}"]
    header += [f"property double {axis}" for axis in "xyz"] + ["end_header", ""]
    if form == "ascii":
        body = "".join(" ".join(map(repr, row)) + "\n" for row in np.asarray(points).tolist()).encode()
    else:
        body = np.ascontiguousarray(points, "<f8" if "little" in form else ">f8").tobytes()
    return "\n".join(header).encode() + body
