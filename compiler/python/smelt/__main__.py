"""The command `smelt`, which is also `python -m smelt`: the command line in this process."""

import os
import signal
import sys
from typing import NoReturn

from ._native import command_line


def main() -> NoReturn:
    # Python handles both between two of its own instructions, and here are none until the command ends.
    for number in (signal.SIGINT, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    sys.exit(command_line([os.fsencode(word) for word in ("smelt", *sys.argv[1:])], program()))


def program() -> list[bytes]:
    """Returns the words that start this command line in another process, which imports from the same folders as this one.

    `python -m smelt` would import from the current directory first, where a smelt.py or a json.py may lie.
    """
    code = f"import sys; sys.path[:] = {sys.path!a}; from smelt.__main__ import main; main()"
    return [os.fsencode(sys.executable), b"-c", code.encode()]


if __name__ == "__main__":
    main()
