"""The commands on a user's own files: `arguments` has their options, the module of each has ``run(options)``."""
