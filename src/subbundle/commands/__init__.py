"""The commands that work on a user's own file: each module has ``add_arguments(parser)`` and ``run(options)``."""
