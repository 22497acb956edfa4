"""Pure values: records, ids, front matter, sections, snapshots and changes. Nothing here touches the world.

They are structs of msgspec. Where typing_extensions is installed, as in most projects' own environments, msgspec takes
from it what Python has had since 3.11, which takes 3 ms; so it does not see it here.
"""

import sys

_PREFERRED = "typing_extensions"

if sys.version_info >= (3, 11) and _PREFERRED not in sys.modules:
    sys.modules[_PREFERRED] = None  # type: ignore[assignment]
    try:
        import msgspec  # noqa: F401
    finally:
        del sys.modules[_PREFERRED]
