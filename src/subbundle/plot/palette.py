"""The palette: colours that colour-blind readers can distinguish, and marks that differ in grey."""

from __future__ import annotations

# Okabe and Ito's colours, the yellow replaced: it is invisible on paper.
PALETTE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8a6fb0", "#999933")
# One mark per colour, for print without colour.
MARKS = ("o", "s", "^", "D", "v", "P", "X", "<")
# Different values up to which whole numbers are categories, not amounts: more colours cannot be distinguished.
MOST_CATEGORIES = 12
INK, GREY, PALE, BORDER = "#2b2f36", "#8a919c", "#c9ced6", "#d55e00"
