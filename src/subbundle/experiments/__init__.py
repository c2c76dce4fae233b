"""The paper's experiments and the demonstration, one file each: measurement, figure, output."""
