"""The paper's experiments and the demonstration, one file each: numbers first, then the picture, then the files."""
