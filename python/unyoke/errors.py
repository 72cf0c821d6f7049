"""What goes wrong, as a small hierarchy. Messages are those of the engine.

    Error
    ├── ProblemError     a problem or settings that make no sense (also a ValueError)
    │   └── StudyFileError   the same in a study file, with lines and columns
    ├── DataError        a design, a value or weights that cannot be used (also a ValueError)
    ├── StateError       a call that makes no sense now: closed, forked, recorded before
    ├── Exhausted        nothing can be asked for any more
    ├── StoreError       a file or database that cannot be read or written
    │   └── NoStudy          there is no study at this place
    └── RunError         a run that cannot go on

A value of the wrong type is a plain TypeError.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = [
    "DataError",
    "Error",
    "Exhausted",
    "NoStudy",
    "ProblemError",
    "RunError",
    "StateError",
    "StoreError",
    "StudyFileError",
]


class Error(Exception):
    """Everything that Unyoke refuses."""


class ProblemError(Error, ValueError):
    """A problem or settings that make no sense; `mistakes` has each with its place."""

    def __init__(self, message: str, mistakes: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(message)
        self.mistakes: list[tuple[str, str]] = list(mistakes)


class StudyFileError(ProblemError):
    """A study file that makes no sense; each line has the place of a mistake."""


class DataError(Error, ValueError):
    """A design, a value or weights that cannot be used."""


class StateError(Error):
    """A call that makes no sense now."""


class Exhausted(Error):
    """Nothing more fits into the budget, or every design has been evaluated."""


class StoreError(Error):
    """A file or database that cannot be read or written."""


class NoStudy(StoreError):
    """There is no study at this place, and nothing to begin one with."""


class RunError(Error):
    """A run that cannot go on. What was measured is recorded; the rest stays pending."""
