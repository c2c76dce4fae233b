"""
A noisy scan to a mesh
======================

20000 points of a bumpy, closed surface with noise and without normals: `reconstruct` estimates noise, spacing and
bandwidth and reports them.
"""

import matplotlib.pyplot as plt

import subbundle as sb

data = sb.datasets.bumpy_sphere(20000, noise=0.03, seed=0)
mesh = sb.reconstruct(data.points)
print("\n".join(mesh.report()))
print(f"off the true surface: {data.distance(data.points).mean():.4f} as measured, ", end="")
print(f"{data.distance(mesh.vertices).mean():.4f} meshed")

# %%
# A notebook shows a mesh as a small table.
mesh

# %%
bare = {"aspect": "equal", "frame_on": False, "xticks": [], "yticks": []}
figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 4.4), subplot_kw=bare, layout="constrained")
cloud = sb.plot.Scene()
cloud.add_points(data.points, color="#7d8794", size=1.0)
cloud.draw(left)
left.set_title("20000 points, noise 0.03")
sb.plot.mesh(mesh, ax=right)
right.set_title(f"{len(mesh.faces)} triangles")

# %%
# ``mesh.write("mesh.ply")`` writes it; ``subbundle reconstruct scan.ply -o mesh.ply`` does all of this for a file.
scene = sb.view(mesh, title="the mesh, by the standard error of its vertices")
scene
