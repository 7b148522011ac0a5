"""Types of arrays, in one place."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Integers = NDArray[np.intp]
Booleans = NDArray[np.bool_]
AnyArray = NDArray[Any]
