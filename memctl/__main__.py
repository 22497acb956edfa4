"""The entry point of `python -m memctl` and of the scripts `memctl` and `git-memctl`."""

from __future__ import annotations

import gc
import os
import site
import sys

TYPE_CHECKING = False  # type checkers know this name
if TYPE_CHECKING:
    from pathlib import Path


def run() -> None:
    """Run memctl, and end the process with memctl's exit code.

    The process ends without freeing its memory, since freeing 10,000 records one by one would take 11 ms. Ctrl-C ends
    it without a traceback, also while modules are imported.
    """
    try:
        _forget_project_libraries()
        _run()
    except KeyboardInterrupt:
        from memctl.errors import INTERRUPTED

        os._exit(INTERRUPTED)
    except ModuleNotFoundError as raised:  # raised before `main` runs, which handles all later ones
        from memctl.errors import REFUSED, incomplete_installation

        if (error := incomplete_installation(raised)) is None:
            raise
        print(f"error: {error.message}\nhint: {error.hint}", file=sys.stderr, flush=True)
        os._exit(REFUSED)


def _forget_project_libraries() -> None:
    """Remove the folders from `sys.path` from which the project at hand would provide libraries.

    They are those of PYTHONPATH, which projects set for their own programs, and the current directory, where `python -m
    memctl` looks first: a project with a folder `click` would decide what memctl and its hooks run. Folders of Python
    and of memctl's installation stay. The variable stays, too, for the programs that Git starts.
    """
    standard = os.path.dirname(os.__file__)
    own = {os.path.dirname(os.path.dirname(__file__)), standard, f"{standard}/lib-dynload", *site.getsitepackages()}
    own |= {site.USER_SITE} if site.USER_SITE else set()
    try:
        here = os.getcwd()
    except OSError:  # the directory was deleted
        here = "/"
    foreign = {os.path.join(here, folder) for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep)}
    removed = {os.path.normpath(folder) for folder in foreign | {here}} - own
    sys.path[:] = [folder for folder in sys.path if os.path.normpath(os.path.join(here, folder)) not in removed]


def _run() -> None:
    if sys.argv[1:2] == ["hook"] and len(sys.argv) > 2 and not {"-h", "--help"} & set(sys.argv[3:]):
        _answer_hook(sys.argv[2])
    gc.disable()  # a command lives a tenth of a second; collecting while 10,000 records load would double that
    from memctl.cli.startup import Start

    start = Start(sys.argv[1:])
    start.serve_tools = _serve_tools
    from memctl.cli.main import main  # while Git runs; the collector would take 2 ms during the import of click

    code = main(start=start)
    sys.stderr.flush()
    os._exit(code)


def _answer_hook(name: str) -> None:
    """Answer an agent's event without importing click, which takes 20 ms, since hooks run after every tool call."""
    from memctl.hooks.hosts import HOSTS

    if name not in HOSTS:
        return
    if sys.stdin is None:  # it is closed, so there is no event
        os._exit(0)
    if not sys.stdin.isatty():
        gc.disable()
        from memctl.hooks import dispatch

        dispatch.run(HOSTS[name], os.environ)
        os._exit(0)


def _serve_tools(folder: Path) -> None:
    gc.enable()  # a server runs for a long time
    from memctl import mcp_server

    mcp_server.serve(folder)


if __name__ == "__main__":
    run()
