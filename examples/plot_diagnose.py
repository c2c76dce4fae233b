"""The figure of `subbundle.diagnose` for a noisy torus with stray points: ``plot_diagnose.py [FOLDER]``."""

import sys
from pathlib import Path

import numpy as np

import subbundle as sb

torus = sb.datasets.torus(3000, noise=0.03, seed=0).points
stray = np.random.default_rng(0).uniform(-1.6, 1.6, (120, 3))
report = sb.diagnose(np.concatenate([torus, stray]))
print(report)
folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
print("wrote", sb.plot.save_png(report.figure(), folder / "diagnose.png", dpi=110))
