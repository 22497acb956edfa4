from typing import (
    IO as IO,
)
from typing import (
    TYPE_CHECKING as TYPE_CHECKING,
)
from typing import (
    Any as Any,
)
from typing import (
    BinaryIO as BinaryIO,
)
from typing import (
    NamedTuple as NamedTuple,
)
from typing import (
    NoReturn as NoReturn,
)
from typing import (
    Protocol as Protocol,
)
from typing import (
    cast as cast,
)
