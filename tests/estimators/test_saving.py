import json
import zipfile

import numpy as np
import pytest

from subbundle import datasets
from subbundle.estimators import GeodesicDistance, PrincipalSubmanifold
from subbundle.saving import load, save


def rewritten(path, **changes):
    """The file with entries of its description or its arrays replaced; None removes an array."""
    with np.load(path) as file:
        arrays = dict(file)
    description = json.loads(arrays["description"].tobytes())
    for name, value in changes.items():
        if name in arrays:
            arrays[name] = value
        else:
            description[name] = value
    arrays["description"] = np.frombuffer(json.dumps(description).encode(), dtype=np.uint8)
    np.savez(path, **{name: value for name, value in arrays.items() if value is not None})


@pytest.fixture
def saved(fitted, tmp_path):
    return save(fitted, tmp_path / "model.npz")


def test_a_submanifold_is_restored_to_the_bit(sheet, fitted, saved):
    model = load(saved)
    assert isinstance(model, PrincipalSubmanifold)
    assert model.get_params() == fitted.get_params()
    new = datasets.s_surface(50, noise=0.03, seed=8).points
    np.testing.assert_array_equal(model.transform(new), fitted.transform(new))
    np.testing.assert_array_equal(
        model.inverse_transform(fitted.embedding_), fitted.inverse_transform(fitted.embedding_)
    )
    for name in ("embedding_", "status_", "residuals_", "base_point_", "bandwidth_", "noise_", "n_features_in_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(fitted, name))
    assert model.score(new) == fitted.score(new)
    assert model.quality_.as_dict() == fitted.quality_.as_dict()


def test_files_without_measures_of_quality_are_read(saved):
    rewritten(saved, quality=None)
    assert np.isnan(load(saved).quality_.trustworthiness)


@pytest.mark.parametrize(("name", "kernel"), [("gaussian", "gaussian"), ("compact", "quartic")])
def test_models_of_version_1_keep_the_kernel_that_they_were_made_with(fitted, saved, name, kernel):
    with np.load(saved) as file:
        description = json.loads(file["description"].tobytes())
    parameters, bundle = description["parameters"] | {"kernel": name}, description["bundle"] | {"kernel": name}
    rewritten(saved, version=1, parameters=parameters, bundle=bundle)
    model = load(saved)
    assert model.bundle_.kernel == model.kernel == kernel


def test_three_components_are_restored_too(tmp_path):
    rng = np.random.default_rng(0)
    flat = rng.uniform(-1.0, 1.0, (400, 3))
    bowl = np.column_stack([flat, 0.2 * np.sum(flat**2, axis=1)])
    model = PrincipalSubmanifold(3, bandwidth=0.5, radius=0.5, base_point=np.zeros(4))
    with pytest.warns(UserWarning, match="outside the chart"):
        model.fit(bowl)
    again = load(save(model, tmp_path / "model.npz"))
    near = bowl[np.linalg.norm(flat, axis=1) < 0.4][:5]
    np.testing.assert_array_equal(again.transform(near), model.transform(near))
    assert again.get_params()["base_point"] == [0.0] * 4


def test_distances_are_restored_to_the_bit(sheet, tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(sheet.points, columns=["x", "y", "z"])
    metric = GeodesicDistance(bandwidth=0.25).fit(frame)
    again = load(save(metric, tmp_path / "metric.npz"))
    assert isinstance(again, GeodesicDistance)
    assert again.feature_names_in_.tolist() == ["x", "y", "z"]
    np.testing.assert_array_equal(again.points_, metric.points_)
    np.testing.assert_array_equal(again.pairwise(frame[:3], frame[3:9]), metric.pairwise(frame[:3], frame[3:9]))


def test_nothing_in_the_file_is_pickled(saved):
    with np.load(saved, allow_pickle=False) as file:
        assert all(file[name].dtype.kind in "fiu" for name in file.files)


def test_a_failure_leaves_the_old_file_alone(fitted, saved, monkeypatch):
    before = saved.read_bytes()

    def fail(*_, **__):
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez_compressed", fail)
    with pytest.raises(OSError, match="disk full"):
        save(fitted, saved)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == ["model.npz"]


class TestRefusals:
    def test_what_save_refuses(self, fitted, tmp_path):
        with pytest.raises(ValueError, match=r"path must end in \.npz; got 'model.pkl'"):
            save(fitted, tmp_path / "model.pkl")
        with pytest.raises(TypeError, match=r"model must be one of .*PrincipalSubmanifold.*; got dict"):
            save({}, tmp_path / "model.npz")
        with pytest.raises(ValueError, match="must be fitted before it is saved"):
            save(PrincipalSubmanifold(), tmp_path / "model.npz")
        with pytest.raises(FileNotFoundError, match="the folder of .* must exist"):
            save(fitted, tmp_path / "nowhere" / "model.npz")

    def test_missing(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="must be an existing file"):
            load(tmp_path / "none.npz")

    @pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04 and no more"])
    def test_foreign_bytes(self, tmp_path, content):
        path = tmp_path / "model.npz"
        path.write_bytes(content)
        with pytest.raises(ValueError, match="must be a file written by sb.save; it is not one, or it was cut off"):
            load(path)

    def test_foreign_arrays(self, tmp_path):
        np.savez(tmp_path / "other.npz", a=np.arange(3))
        with pytest.raises(ValueError, match="written by sb.save; it is not one: it has no description"):
            load(tmp_path / "other.npz")
        with open(tmp_path / "one.npz", "wb") as stream:
            np.save(stream, np.arange(3))
        with pytest.raises(ValueError, match="it is not one"):
            load(tmp_path / "one.npz")

    def test_objects_are_never_unpickled(self, saved):
        rewritten(saved, mean=np.array([{"a": 1}], dtype=object))
        with pytest.raises(ValueError, match=r"is damaged: 'mean\.npy' is no array \(objects are never read\)"):
            load(saved)

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"version": 99}, "later version of subbundle .file version 99, this one reads up to 3.*--upgrade"),
            ({"format": "something else"}, "it is another kind of file"),
            ({"class": "Exploit"}, "it holds a 'Exploit', which no version has"),
            ({"axes": None}, "is damaged"),
            ({"axes": np.zeros((3, 2))}, "do not fit each other"),
            ({"parameters": {"colour": "red"}}, "is damaged"),
            ({"bundle": {"rank": 2}}, "is damaged"),
            ({"chart.points": np.zeros((2, 2))}, "is damaged"),
        ],
    )
    def test_changed_content(self, saved, changes, message):
        rewritten(saved, **changes)
        with pytest.raises(ValueError, match=message):
            load(saved)

    def test_flipped_bytes(self, saved):
        with zipfile.ZipFile(saved) as archive:
            place = archive.getinfo("cloud.npy").header_offset + 2000
        content = bytearray(saved.read_bytes())
        content[place : place + 64] = bytes(64)
        saved.write_bytes(content)
        with pytest.raises(ValueError, match="is damaged|written by sb.save"):
            load(saved)
