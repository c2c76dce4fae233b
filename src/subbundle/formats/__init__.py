"""Files of scanners and other programs, one format a file; `subbundle.scans` is the front door."""
