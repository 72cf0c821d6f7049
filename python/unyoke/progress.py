"""What is seen while a study runs: a line on the terminal, or a bar of tqdm where it is installed."""

from __future__ import annotations

import logging
import sys
from typing import Any, Protocol

log = logging.getLogger("unyoke")


class Progress(Protocol):
    """Somebody who is told how a run goes."""

    def update(self, spent: float, words: str) -> None: ...
    def note(self, words: str) -> None: ...
    def close(self) -> None: ...


def progress_for(wanted: bool | None, budget: float | None) -> Progress:
    """The best there is; by default only if somebody can see it."""
    if wanted is None:
        wanted = sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules)
    if not wanted:
        return Silent()
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        return Line(budget)
    return Bar(tqdm, budget)


class Silent:
    """Nothing is shown; notes go to the log."""

    def update(self, spent: float, words: str) -> None:
        pass

    def note(self, words: str) -> None:
        log.info(words)

    def close(self) -> None:
        pass


class Line:
    """One line that is written again and again."""

    WIDTH = 24

    def __init__(self, budget: float | None) -> None:
        self._budget, self._length, self._last = budget, 0, ""

    def update(self, spent: float, words: str) -> None:
        if self._budget:
            full = min(1.0, spent / self._budget)
            bar = "█" * round(full * self.WIDTH)
            line = f"{bar:·<{self.WIDTH}} {spent:.4g} of {self._budget:.4g} spent, {words}"
        else:
            line = f"{spent:.4g} spent, {words}"
        if line != self._last:
            self._write("\r" + line.ljust(self._length))
            self._last, self._length = line, len(line)

    def note(self, words: str) -> None:
        self._write("\r" + words.ljust(self._length) + "\n")
        self._last = ""

    def close(self) -> None:
        if self._length:
            self._write("\n")

    def _write(self, text: str) -> None:
        # That nobody can read it is no reason to stop a study.
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except (OSError, ValueError):
            pass


class Bar:
    """A bar of tqdm, in cost."""

    def __init__(self, tqdm: Any, budget: float | None) -> None:
        shape = "{l_bar}{bar}| {n:.4g}/{total:.4g} [{elapsed}{postfix}]" if budget else None
        self._bar, self._tqdm = tqdm(total=budget, unit="cost", bar_format=shape), tqdm

    def update(self, spent: float, words: str) -> None:
        self._bar.n = spent
        self._bar.set_postfix_str(words)

    def note(self, words: str) -> None:
        self._tqdm.write(words, file=sys.stderr)

    def close(self) -> None:
        self._bar.close()
