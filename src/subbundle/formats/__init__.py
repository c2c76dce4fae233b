"""Files of scanners and other programs, one module per format; `subbundle.scans` is the entry point."""
