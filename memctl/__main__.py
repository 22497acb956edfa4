"""`python -m memctl`, and what the scripts `memctl` and `git-memctl` call."""

import sys

from memctl.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
