"""The command `smelt`, which is also `python -m smelt`: the command line in this process."""

import signal
import sys
from typing import NoReturn

from ._native import command_line


def main() -> NoReturn:
    # Python handles both between two of its own instructions, and here are none until the command ends.
    for number in (signal.SIGINT, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    sys.exit(command_line(["smelt", *sys.argv[1:]], [sys.executable, "-m", "smelt"]))


if __name__ == "__main__":
    main()
