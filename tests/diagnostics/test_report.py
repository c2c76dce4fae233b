import re
import sys

import numpy as np
import pytest

import subbundle as sb
from subbundle import datasets
from subbundle.cli import main


@pytest.fixture(scope="module")
def torus():
    return sb.diagnose(datasets.torus(1000, noise=0.03, seed=1).points)


def words(report):
    return " ".join(report.warnings)


def test_a_clean_surface_raises_no_warning(torus):
    assert torus.warnings == ()
    assert (torus.rank, torus.n_connected_components, torus.dim, torus.n_points) == (2, 1, 3, 1000)
    # An observation attracts the ridge: distances to it are smaller by some per cent.
    assert torus.noise == pytest.approx(0.03, rel=0.15)
    assert torus.outliers < 0.01
    assert torus.duplicates == 0.0


def test_numbers_scale_as_lengths_do(torus):
    larger = sb.diagnose(8.0 * datasets.torus(1000, noise=0.03, seed=1).points)
    # Up to rounding; multiplication by 8 is exact.
    assert larger.noise == pytest.approx(8.0 * torus.noise, rel=1e-6)
    assert larger.bending == pytest.approx(torus.bending, rel=1e-6)
    assert larger.non_integrability == pytest.approx(torus.non_integrability, abs=1e-6)


def test_given_values_are_used():
    report = sb.diagnose(datasets.torus(300, noise=0.02).points, rank=2, bandwidth=0.2)
    assert report.rank_choice is report.bandwidth_choice is None
    assert report.bandwidth == 0.2
    assert "2 (given)" in str(report)


def test_the_page_holds_everything(torus, tmp_path):
    path = torus.write(tmp_path / "torus.html")
    page = path.read_text(encoding="utf-8")
    assert "data:image/png;base64," in page
    assert not re.search(r'(src|href)="http', page)
    for line in str(torus).splitlines():
        assert line[:22].strip() in page
    with pytest.raises(ValueError, match=r"path must end in \.html; got 'torus\.txt'"):
        torus.write(tmp_path / "torus.txt")


def test_noise_and_lattices_give_warnings():
    noise = sb.diagnose(np.random.default_rng(0).standard_normal((200, 3)))
    assert "pure noise, a lattice or a cloud that fills the space" in words(noise)
    lattice = np.stack(np.meshgrid(*[np.arange(5)] * 3), axis=-1).reshape(-1, 3)
    report = sb.diagnose(lattice)
    assert "pure noise, a lattice" in words(report)
    assert "<li>" in report.html()


def test_copies_components_and_outliers_are_reported():
    copies = np.repeat(datasets.torus(150, noise=0.02).points, 3, axis=0)
    assert "66.7% of the observations repeat another one exactly" in words(sb.diagnose(copies, 2))
    spheres = [datasets.sphere(250, noise=0.02, seed=seed).points + 6.0 * seed for seed in (0, 1)]
    assert "has 2 connected components" in words(sb.diagnose(np.concatenate(spheres), 2))
    stray = np.random.default_rng(0).uniform(-1.6, 1.6, (40, 3))
    with_outliers = np.concatenate([datasets.torus(600, noise=0.02).points, stray])
    assert "lie far from the ridge" in words(sb.diagnose(with_outliers, 2))


def test_small_clouds_give_a_report_or_an_error():
    points = np.random.default_rng(0).standard_normal((40, 3))
    assert "nine tenths of the 20 observations" in words(sb.diagnose(points[:20], rank=2))
    with pytest.raises(ValueError, match="at least 30 observations .*; got 10. Pass the rank instead"):
        sb.diagnose(points[:10])
    assert sb.diagnose(points[:10], rank=1).rank == 1
    with pytest.raises(ValueError, match="points must have at least 2 coordinates; got 1"):
        sb.diagnose(points[:, :1])
    with pytest.raises(ValueError, match="bandwidth must be one of 'auto'; got 'wide'"):
        sb.diagnose(points, bandwidth="wide")


def test_the_command_prints_and_writes(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("cloud.npy", datasets.torus(300, noise=0.03).points)
    assert main(["diagnose", "cloud.npy", "--rank", "2", "--bandwidth", "0.2"]) == 0
    out = capsys.readouterr().out
    assert "rank                  2 (given)" in out
    assert "wrote cloud-diagnosis.html" in out
    assert (tmp_path / "cloud-diagnosis.html").stat().st_size > 10_000
    assert main(["diagnose", "cloud.npy", "-o", "page.pdf"]) == 2
    assert "--output must end in .html; got 'page.pdf'" in capsys.readouterr().err


def test_the_figure_needs_matplotlib(torus, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r'pip install "subbundle\[plot\]"'):
        torus.figure()


def test_numbers_against_the_truth():
    rng = np.random.default_rng(3)
    clean = datasets.sphere(2850, noise=0.02, seed=2).points
    stray = rng.uniform(-1.3, 1.3, (150, 3))
    report = sb.diagnose(np.concatenate([clean, stray]))
    assert report.rank == 2
    # Outliers are counted from four noise levels on; some of the added 5 % lie nearer to the sphere than that.
    assert 0.03 < report.outliers < 0.06
    assert report.noise == pytest.approx(0.02, rel=0.15)
    # Both principal curvatures are 1: √Σ|II|² = √2, and the 90 % quantile lies a little above.
    assert report.bending == pytest.approx(np.sqrt(2.0) * report.bandwidth, rel=0.25)
    assert report.n_connected_components == 1
    assert report.density_range < 3.0
    assert report.non_integrability < 0.0125
    assert report.bandwidth_choice.flatness > 1.0
    assert report.gap_ladder.shape == report.gaps.shape


def test_uneven_density_is_measured():
    rng = np.random.default_rng(0)
    # Density falls as exp(−u), twentyfold over three units.
    u = -np.log(1.0 - rng.uniform(0.0, 1.0, 2500) * (1.0 - np.exp(-3.0)))
    points = np.column_stack([u, rng.uniform(0.0, 1.0, 2500), np.zeros(2500)]) + 0.01 * rng.standard_normal((2500, 3))
    report = sb.diagnose(points, 2, 0.12)
    # From the 5 % to the 95 % quantile of the observations: exp(u) at 2.4 over 0.05, ends halved at the borders.
    assert 5.0 < report.density_range < 25.0


def test_clouds_without_a_ridge_give_a_report():
    rng = np.random.default_rng(0)
    copies = np.repeat(rng.standard_normal((4, 3)), 30, axis=0)
    with_copies = sb.diagnose(copies, 1)
    assert "repeat another one exactly" in words(with_copies)
    flat = np.column_stack([rng.uniform(size=(400, 2)), np.zeros(400)])
    assert sb.diagnose(flat).rank == 2
    with pytest.raises(ValueError, match="rank must be one of 'auto'; got 'two'"):
        sb.diagnose(flat, "two")


def test_three_rows_are_reported_on():
    report = sb.diagnose(np.array([[0.0, 0.0, 0.0], [1.0, 0.1, 0.0], [2.0, 0.0, 0.1]]), rank=1)
    assert report.n_points == 3
    assert report.warnings


def test_the_quality_of_a_layout_is_reported_beside_that_of_principal_components():
    """A Swiss roll: flattened by PCA its turns overlap; in the layout neighbourhoods are preserved."""
    rng = np.random.default_rng(0)
    turn = np.sqrt(rng.uniform(2.0, 12.0, 400)) * 2.5
    roll = np.column_stack([0.2 * turn * np.cos(turn), 0.2 * turn * np.sin(turn), rng.uniform(0.0, 1.5, 400)])
    report = sb.diagnose(roll, 2)
    assert report.quality.trustworthiness > 0.99 > 0.95 > report.quality.pca_trustworthiness
    assert report.quality.prediction_error < 0.1 * report.quality.pca_prediction_error
    line = f"trustworthiness {report.quality.trustworthiness:.3f} ({report.quality.pca_trustworthiness:.3f})"
    assert line in str(report)
