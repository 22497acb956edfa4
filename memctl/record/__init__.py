"""Pure values: records, ids, front matter, pages, snapshots and changes. No module here reads or writes files.

Importing this package hides typing_extensions from msgspec. msgspec would import it for what Python itself has had
since 3.11, which costs 3 ms of every start.
"""

import sys

_PREFERRED = "typing_extensions"

if sys.version_info >= (3, 11) and _PREFERRED not in sys.modules:
    sys.modules[_PREFERRED] = None  # type: ignore[assignment]
    try:
        import msgspec  # noqa: F401
    finally:
        del sys.modules[_PREFERRED]
