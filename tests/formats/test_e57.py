"""E57 as pye57 writes it: poses, empty rays, colours; and files that end its decoder."""

import numpy as np
import pytest

from subbundle.scans import read_scan

pye57 = pytest.importorskip("pye57", reason="needs pye57: pip install -e '.[e57]'")
RNG = np.random.default_rng(0)
POINTS = RNG.standard_normal((40, 3))
COLOURS = RNG.integers(0, 256, (40, 3)).astype("B")


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """Two scans, the second turned by 90° about z and moved; its first ray has no return."""
    path = tmp_path_factory.mktemp("e57") / "scan.e57"
    writer = pye57.E57(str(path), mode="w")
    columns = {f"cartesian{axis}": POINTS[:, i].copy() for i, axis in enumerate("XYZ")}
    columns |= {f"color{name}": COLOURS[:, i].copy() for i, name in enumerate(("Red", "Green", "Blue"))}
    columns["intensity"] = np.linspace(0.0, 1.0, 40).astype("f")
    writer.write_scan_raw(columns)
    columns["cartesianInvalidState"] = (np.arange(40) == 0).astype("b")
    turn = np.array([np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)])
    writer.write_scan_raw(columns, rotation=turn, translation=np.array([1.0, 2.0, 3.0]))
    writer.close()
    return path


def test_scans_in_one_frame(file):
    scan = read_scan(file)
    assert scan.n_dropped == 1
    assert scan.attributes["scan"].tolist() == [0] * 40 + [1] * 39
    # Coordinates are stored as single precision.
    assert scan.points[:40] == pytest.approx(POINTS, abs=1e-6)
    x, y, z = POINTS[1:].T
    assert scan.points[40:] == pytest.approx(np.column_stack([1.0 - y, 2.0 + x, 3.0 + z]), abs=1e-6)
    assert np.array_equal(scan.attributes["colors"][:40], COLOURS)
    assert scan.attributes["intensity"][:40] == pytest.approx(np.linspace(0.0, 1.0, 40), abs=1e-6)


@pytest.mark.parametrize("damage", ["cut", "points", "flipped", "junk"])
def test_damaged_files_are_refused(file, tmp_path, damage):
    content = file.read_bytes()
    if damage == "cut":
        content = content[: len(content) // 2]
    elif damage == "points":  # the checksum of the page is then wrong as well
        content = content.replace(b'recordCount="40"', b'recordCount="99999999999999"')
    elif damage == "flipped":
        content = content[:-200] + bytes(byte ^ 255 for byte in content[-200:])
    else:
        content = b"ASTM-E57" + bytes(500)
    (tmp_path / "scan.e57").write_bytes(content)
    with pytest.raises(ValueError, match=r"scan\.e57 could not be read as \.e57: its compressed points are damaged"):
        read_scan(tmp_path / "scan.e57")


def write_columns(path, columns):
    """One scan with any fields, turned by 90° about z, by the library below pye57."""
    lib = pye57.libe57
    writer = pye57.E57(str(path), mode="w")
    file = writer.image_file
    file.extensionsAdd("nor", "http://www.libe57.org/E57_NOR_surface_normals.txt")
    scan, prototype, pose, turn = (lib.StructureNode(file) for _ in range(4))
    for axis, value in zip("wxyz", (np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)), strict=True):
        turn.set(axis, lib.FloatNode(file, value))
    pose.set("rotation", turn)
    scan.set("pose", pose)
    buffers, length = lib.VectorSourceDestBuffer(), len(next(iter(columns.values())))
    for name, values in columns.items():
        prototype.set(name, lib.FloatNode(file, 0.0, lib.E57_DOUBLE))
        buffers.append(lib.SourceDestBuffer(file, name, values, length, True, True))
    points = lib.CompressedVectorNode(file, prototype, lib.VectorNode(file, True))
    scan.set("points", points)
    writer.data3d.append(scan)
    out = points.writer(buffers)
    out.write(length)
    out.close()
    writer.close()


def test_spherical_coordinates_and_normals(tmp_path):
    far = np.linalg.norm(POINTS, axis=1)
    x, y, z = POINTS.T
    columns = {"sphericalRange": far, "sphericalAzimuth": np.arctan2(y, x), "sphericalElevation": np.arcsin(z / far)}
    columns |= {f"nor:normal{axis}": POINTS[:, i] / far for i, axis in enumerate("XYZ")}
    write_columns(tmp_path / "scan.e57", columns)
    scan = read_scan(tmp_path / "scan.e57")
    turned = np.column_stack([-y, x, z])
    assert scan.points == pytest.approx(turned, abs=1e-12)
    assert scan.normals == pytest.approx(turned / far[:, None], abs=1e-12)
    assert scan.attributes == {}
