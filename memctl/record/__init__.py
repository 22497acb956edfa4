"""Pure values: records, ids, front matter, pages, snapshots and changes. No module here reads or writes files.

This package imports msgspec in a way that saves 3 ms of every start: msgspec then does not import the package
typing_extensions, which it does not need from Python 3.11 on.
"""

import sys

_PREFERRED = "typing_extensions"

if sys.version_info >= (3, 11) and _PREFERRED not in sys.modules:
    sys.modules[_PREFERRED] = None  # type: ignore[assignment]
    try:
        import msgspec  # noqa: F401
    finally:
        del sys.modules[_PREFERRED]
