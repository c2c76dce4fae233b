"""
Coordinates in a pipeline with a classifier
===========================================

Handwritten digits, 64 pixels each. `AtlasEmbedding` is a transformer, so it goes into a pipeline, is fitted on the
training rows only, and places the test rows. In two coordinates instead of 64, nearest neighbours classify as well as
in all the pixels.
"""

import warnings

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

import subbundle as sb

X, y = load_digits(n_class=6, return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, train_size=500, stratify=y)

# %%
# Digits are clusters rather than one sheet, and `fit` warns of it. Here the coordinates are used by a classifier, so
# the warning is ignored.
warnings.simplefilter("ignore", sb.SubbundleWarning)
neighbours = KNeighborsClassifier(5)
models = {
    "all 64 pixels": neighbours,
    "2 coordinates, AtlasEmbedding": make_pipeline(sb.AtlasEmbedding(n_components=2), KNeighborsClassifier(5)),
    "2 coordinates, PCA": make_pipeline(PCA(2), KNeighborsClassifier(5)),
}
for name, model in models.items():
    model.fit(X_train, y_train)
    print(f"{name:<31} {model.score(X_test, y_test):.3f} of the test rows right")

# %%
# The coordinates of the test rows, which the embedding had not seen.
embedding = models["2 coordinates, AtlasEmbedding"][0]
Z = embedding.transform(X_test)
figure, ax = plt.subplots(figsize=(6.4, 4.8), layout="constrained")
sb.plot.embedding(Z, y_test, label="digit", ax=ax)
ax.set_title("test rows")

# %%
# In the scene, hovering over a row shows its image.
scene = sb.view(
    embedding, X_train, columns={"digit": y_train.astype(str)}, color="digit", image_shape=(8, 8), title="digits"
)
scene
