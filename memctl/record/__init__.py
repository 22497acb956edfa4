"""Pure values: records, ids, front matter, sections, snapshots and changes. Nothing here reads or writes files.

The values are msgspec structs. If typing_extensions is installed, msgspec imports it for what Python itself has had
since 3.11, which costs 3 ms; so it is hidden from msgspec here.
"""

import sys

_PREFERRED = "typing_extensions"

if sys.version_info >= (3, 11) and _PREFERRED not in sys.modules:
    sys.modules[_PREFERRED] = None  # type: ignore[assignment]
    try:
        import msgspec  # noqa: F401
    finally:
        del sys.modules[_PREFERRED]
