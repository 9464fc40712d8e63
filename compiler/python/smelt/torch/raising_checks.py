"""Checks in a module's code that raise an error for some numbers: `if labels.max() >= n: raise ...`, or an assert.

A plan does the same for all numbers. While a module is exported, such a check passes, except in a `try` with a handler
that takes the error and may go on: there, its result decides what the module computes.
"""

from __future__ import annotations

import ast
import functools
import linecache
import sys
from types import FrameType
from typing import Any, Optional

import torch
from torch.overrides import TorchFunctionMode

_OWN = ("torch.", "smelt.")


class RaisingChecks(TorchFunctionMode):
    """Answers what makes the check pass where a tensor is the condition of one."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function is torch.Tensor.__bool__ and (passes := _passing(_caller())) is not None:
            return passes
        return function(*args, **(kwargs or {}))


def _caller() -> Optional[FrameType]:
    """The frame of the module's code."""
    frame: Optional[FrameType] = sys._getframe(1)
    while frame is not None and _is_own(frame):
        frame = frame.f_back
    return frame


def _is_own(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith(_OWN)


def _passing(frame: Optional[FrameType]) -> Optional[bool]:
    """The truth with which the check passes; None where the statement at work is no check."""
    statement = None if frame is None else _statement(*_place(frame))
    if isinstance(statement, ast.Assert):
        passes, raised = _of_operands(statement.test, True), AssertionError
    elif isinstance(statement, ast.If) and not statement.orelse and isinstance(statement.body[0], ast.Raise):
        passes, raised = _of_operands(statement.test, False), _raised(statement.body[0].exc, frame)
    else:
        return None
    return None if _may_be_caught(raised, frame) else passes


def _place(frame: FrameType) -> tuple[str, int]:
    return frame.f_code.co_filename, frame.f_lineno


def _raised(error: Optional[ast.expr], frame: FrameType) -> Any:
    """The class that `raise` names, or of what it calls."""
    return _named(error.func if isinstance(error, ast.Call) else error, frame)


def _named(expression: Optional[ast.expr], frame: FrameType) -> Any:
    """What names, with dots or in a tuple, are in a frame; None where they are not to be found, or for other code."""
    if expression is None or not all(isinstance(part, _NAMES) for part in ast.walk(expression)):
        return None
    try:
        return eval(compile(ast.Expression(expression), "<names>", "eval"), frame.f_globals, frame.f_locals)
    except (AttributeError, NameError):
        return None


_NAMES = (ast.Name, ast.Attribute, ast.Tuple, ast.expr_context)


def _may_be_caught(raised: Any, frame: Optional[FrameType]) -> bool:
    """Whether the code at work, or what calls it up to PyTorch's export, is in a `try` that goes on after the error."""
    while frame is not None and not _exports(frame):
        path, line = _place(frame)
        tried = [] if _is_own(frame) else _tried(path)
        if any(first <= line <= last and _takes(taken, raised, frame) for first, last, taken in tried):
            return True
        frame = frame.f_back
    return False


def _takes(handler: Optional[ast.expr], raised: Any, frame: FrameType) -> bool:
    """Whether a handler takes an error; also where one of them is not known."""
    taken = _named(handler, frame)
    if taken is None or not isinstance(raised, type):
        return True
    return issubclass(raised, taken)


def _exports(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith("torch.export")


def _of_operands(test: ast.expr, truth: bool) -> Optional[bool]:
    """The truth of each operand with which the test has this one; None where `not` is inside of it."""
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, truth = test.operand, not truth
    has_not = any(isinstance(part, ast.Not) for part in ast.walk(test))
    return None if has_not else truth


def _statement(path: str, line: int) -> Optional[ast.stmt]:
    """The innermost `if` or assert whose condition is on the line."""
    found = [each for each in _conditions(path) if each.test.lineno <= line <= (each.test.end_lineno or 0)]
    return max(found, key=lambda each: each.test.lineno, default=None)


@functools.lru_cache(maxsize=64)
def _conditions(path: str) -> list[Any]:
    return [each for each in _nodes(path) if isinstance(each, (ast.If, ast.Assert))]


@functools.lru_cache(maxsize=256)
def _tried(path: str) -> list[tuple[int, int, Optional[ast.expr]]]:
    """The first and last lines of what is tried, and what is taken by each handler that does not end with `raise`."""
    found = [each for each in _nodes(path) if isinstance(each, _TRY)]
    return [
        (each.body[0].lineno, each.body[-1].end_lineno or 0, handler.type)
        for each in found
        for handler in each.handlers
        if _goes_on(handler)
    ]


_TRY = (ast.Try, getattr(ast, "TryStar", ast.Try))


def _goes_on(handler: ast.ExceptHandler) -> bool:
    return not isinstance(handler.body[-1], ast.Raise)


def _nodes(path: str) -> list[ast.AST]:
    try:
        return list(ast.walk(ast.parse("".join(linecache.getlines(path)))))
    except SyntaxError:
        return []
