"""The facts of operations in smelt/builder/operations.py are those of the compiler's tables."""

import pathlib
import re

from smelt.builder import operations

ROOT = pathlib.Path(__file__).resolve().parents[3]
ROWS = (ROOT / "ir" / "ops" / "scalar_ops.def").read_text().split("\nSMELT_SCALAR_OP(")[1:]
PAGE = (ROOT / "docs" / "reference" / "operations.md").read_text()  # of `smelt opt --list-operations`


def rows_with(fact):
    return {row.split(",")[0] for row in ROWS if fact(row)}


def test_facts_of_pointwise_operations():
    assert operations.FLAGS == rows_with(lambda row: ".flag = true" in row)
    assert operations.LOGICAL == rows_with(lambda row: ".domain = flags" in row)
    assert operations.REALS == rows_with(lambda row: ".domain = reals" in row)
    without = rows_with(lambda row: "SMELT_DERIVATIVES" not in row)
    assert operations.WITHOUT_DERIVATIVE == without | {"stop_gradient"}


def test_the_page_has_all_operations():
    listed = set(re.findall(r"^### (\w+)$", PAGE, re.M)) | set(re.findall(r"^\| `(\w+)` \| \d", PAGE, re.M))
    assert rows_with(lambda row: True) <= listed
    named = {name.split()[0] for name in operations.KEEPS_NUMBERS}
    assert named | operations.WITHOUT_DERIVATIVE <= listed
