"""`python -m memctl`, and what the scripts `memctl` and `git-memctl` call."""

import os
import sys

from memctl.cli.main import main


def run() -> None:
    """Run memctl and end the process at once: taking 10,000 records apart one by one would take 11 ms more."""
    code = main()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    run()
