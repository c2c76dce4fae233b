"""The experiments of the paper and the demonstration, one file each: numbers first, then the picture, then the files."""
