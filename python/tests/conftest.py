import os

import pytest

# SciPy asks when it is imported, whether arrays may be those of others.
os.environ["SCIPY_ARRAY_API"] = "1"


@pytest.fixture(autouse=True)
def plain_session():
    """Flags and log level as they were."""
    import porcini as pc

    flags, level = pc.flags(), pc.log_level()
    yield
    for name, value in flags.items():
        pc.set_flag(name, value)
    pc.set_log_level(level)
