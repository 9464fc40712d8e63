"""The one exception of the package."""

from typing import Literal

Status = Literal["invalid_argument", "invalid_file", "out_of_memory", "io", "numeric", "internal", "unavailable"]


class Error(RuntimeError):
    """What went wrong, where, what was expected and what to do."""

    status: Status
    """The class of failure, for programs."""

    def __init__(self, message: str, status: Status = "invalid_argument") -> None:
        super().__init__(message)
        self.status = status

    def __reduce__(self):  # with its status to other processes
        return type(self), (str(self), self.status)
