"""``subbundle view scan.ply``: look at files in the browser, or write one page that shows them offline."""

from __future__ import annotations

import argparse
from pathlib import Path

from subbundle.commands._options import positive_integer

HELP = "look at clouds, meshes, tables and saved models in the browser, or as one HTML file"
JOBS = ("reconstruct", "embed", "denoise", "diagnose")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``view``."""
    parser.add_argument(
        "files", type=Path, nargs="+", metavar="FILE",
        help="a cloud, scan or mesh (.ply, .obj, .stl, .off, .xyz, .las, …), a table (.csv, .npy, .parquet), a saved "
        "model or mesh (.npz); a table beside a model is placed by the model",
    )  # fmt: skip
    parser.add_argument(
        "--run",
        choices=JOBS,
        default=None,
        dest="first",
        help="do this with the points first, and show what came out beside them",
    )
    parser.add_argument("--color", default=None, metavar="NAME", help="column or quantity that colours at first")
    parser.add_argument(
        "--image-shape", type=_shape, default=None, metavar="HxW", help="columns are the pixels of pictures, like 28x28"
    )
    parser.add_argument("--html", type=Path, default=None, metavar="FILE", help="write one offline page instead")
    parser.add_argument("--port", type=_port, default=0, metavar="N", help="port on 127.0.0.1 (default: any free one)")
    parser.add_argument("--no-browser", action="store_true", help="print the address and open nothing")
    parser.add_argument("--jobs", type=positive_integer, default=None, metavar="N", help="threads (default: all cores)")


def run(options: argparse.Namespace) -> None:
    """Read, run the job if one is asked for, and show or write."""
    from subbundle._progress import Progress
    from subbundle.commands._view_files import objects_in, with_job
    from subbundle.viewer.front import view
    from subbundle.viewer.page import library

    library()  # what the page draws with, before any work is done
    if options.html is not None and options.html.suffix.lower() != ".html":
        raise ValueError(f"--html must end in .html; got {options.html.name!r}.")
    progress = Progress()
    progress.stage(f"reading {', '.join(path.name for path in options.files)}")
    objects = objects_in(options.files)
    if options.first is not None:
        objects = with_job(objects, options.first, progress, options.jobs)
    progress.stage("preparing the page")
    shown = view(
        objects.named, objects.rows, columns=objects.columns, color=options.color, image_shape=options.image_shape,
        title=", ".join(path.name for path in options.files), hidden=objects.hidden,
    )  # fmt: skip
    for note in shown.scene.notes:
        print(f"note: {note}")
    if options.html is not None:
        path = shown.save(options.html)
        print(f"wrote {path}: {path.stat().st_size / 1e6:.1f} MB, opens offline")
        return
    server = shown.serve(options.port)
    print(f"{server.url}\nCtrl-C ends it", flush=True)
    if not options.no_browser:
        server.open()
    server.wait()


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) <= 65535):
        raise argparse.ArgumentTypeError(f"must be a port number in 0..65535; got {text!r}")
    return int(text)


def _shape(text: str) -> tuple[int, int]:
    parts = text.lower().split("x")
    if len(parts) != 2 or not all(part.isascii() and part.isdigit() and int(part) > 0 for part in parts):
        raise argparse.ArgumentTypeError(f"must be height x width like 28x28; got {text!r}")
    return int(parts[0]), int(parts[1])
