"""What is known of a share of which n rows are the only evidence."""

import numpy as np


def wilson_interval(share: float, n: int, z: float = 1.96) -> tuple[float, float]:
    """95 % interval of a proportion (Wilson's).

    Examples
    --------
    >>> low, high = wilson_interval(1.0, 50)
    >>> round(low, 3), high
    (0.929, 1.0)
    """
    widening = 1 + z * z / n
    centre = (share + z * z / (2 * n)) / widening
    reach = z * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / widening
    return max(0.0, float(centre - reach)), min(1.0, float(centre + reach))
