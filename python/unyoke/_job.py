"""A job: calls the function that a study has put into a file, at the design of an evaluation.

Run by the program's supervisor as `python -P _job.py FILE`, here or on another machine. Values go to
the file that `UNYOKE_RESULT` names; an exception ends the job with code 1, after its traceback and,
on the last line, what is recorded of it.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
import traceback
from typing import Any


def main(path: str) -> int:
    with open(path, "rb") as file:
        kept = pickle.load(file)
    # Modules are found where the study found them.
    sys.path[:] = kept["path"] + [place for place in sys.path if place not in kept["path"]]
    with open(os.environ["UNYOKE_DESIGN"], encoding="utf-8") as file:
        asked = json.load(file)
    try:
        function = pickle.loads(kept["function"])
        result = result_of(function(**asked["design"]), asked["outputs"])
    except BaseException as error:
        # Without our own line.
        own = error.__traceback__ and error.__traceback__.tb_next
        traceback.print_exception(error.with_traceback(own))
        print(last_words(error), file=sys.stderr)
        return 1
    write(os.environ["UNYOKE_RESULT"], result)
    return 0


def result_of(value: Any, outputs: list[str]) -> dict[str, Any]:
    """What a function returned, as result files have it."""
    from unyoke.outcome import Result, without_nonsense, written

    if isinstance(value, Result) and value.design is not None:
        raise TypeError(
            "a function that runs as a job cannot say that parameters were not as asked for; "
            "study.correct does, afterwards"
        )
    try:
        outcome = written(without_nonsense(value, outputs), outputs, None)
    except (TypeError, ValueError) as error:
        raise TypeError(f"the function returned {value!r:.200}: {error}") from None
    result: dict[str, Any] = dict(outcome["values"])
    for field in ("cost", "missing"):
        if field in outcome and field not in outputs:
            result[field] = outcome[field]
    return result


def last_words(error: BaseException) -> str:
    """Type, text and place of an exception, on one line."""
    name, text = type(error).__name__, " ".join(str(error).split())
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename != __file__]
    place = f" ({os.path.basename(own[-1].filename)}:{own[-1].lineno} in {own[-1].name})" if own else ""
    return f"{name}: {text}{place}" if text else f"{name}{place}"


def write(path: str, result: dict[str, Any]) -> None:
    """All of it or nothing."""
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump(result, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".part", path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
