"""The guard against blocking calls is on in every test."""

from pathlib import Path
from typing import Any

import pytest
from blockbuster import BlockingError

import kgsvc

_NAP = "import time\ndef nap():\n    time.sleep(0.001)\n"


def nap_in_kgsvc() -> None:
    """Sleep as code of kgsvc would."""
    space: dict[str, Any] = {}
    exec(compile(_NAP, str(Path(kgsvc.__file__).parent / "nap.py"), "exec"), space)
    space["nap"]()


async def test_blocking_the_loop_raises() -> None:
    with pytest.raises(BlockingError):
        nap_in_kgsvc()


def test_blocking_elsewhere_is_fine() -> None:
    nap_in_kgsvc()
