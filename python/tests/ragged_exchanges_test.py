"""lax.ragged_all_to_all, among four devices of platform isthmus and of each driver's platform xpu."""

import pathlib

FILE = pathlib.Path(__file__).with_name("ragged_exchanges.py")
PROGRAM = f"""
    import sys; sys.path.insert(0, {str(FILE.parent)!r})
    import ragged_exchanges
    ragged_exchanges.main()
"""


def test_on_isthmus(python):
    assert python(PROGRAM, JAX_PLATFORMS="isthmus", ISTHMUS_NUM_DEVICES="4").stdout == "good\n"


def test_on_xpu(xpu):
    assert xpu(PROGRAM, ISTHMUS_NUM_DEVICES="4").stdout == "good\n"
