"""Data frames in and out: pandas, polars, or plain rows. Neither is imported before it is needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from .errors import DataError, Error
from .problem import Problem, hint, kind, number, short

Kind = Literal["pandas", "polars", "rows"]
#: Columns of standard errors are called as the output with this after it.
ERROR = ".sd"


def frame(columns: Mapping[str, list[Any]], form: Kind) -> Any:
    """A data frame of columns of the same length."""
    if form == "pandas":
        return needed("pandas").DataFrame(dict(columns))
    if form == "polars":
        return needed("polars").DataFrame(dict(columns), strict=False)
    if form == "rows":
        names = list(columns)
        return [dict(zip(names, row)) for row in zip(*columns.values())]
    raise DataError(f'there is no frame {form!r}, only "pandas", "polars" and "rows"')


def needed(package: str, extra: str | None = None) -> Any:
    """An optional package, or an error that names the extra."""
    import importlib

    try:
        return importlib.import_module(package)
    except ImportError as error:
        extra = extra or package
        raise Error(f"this needs {package}: pip install 'unyoke[{extra}]'") from error


def rows_of(data: Any) -> list[dict[str, Any]]:
    """The rows of whatever holds a table: pandas, polars, Arrow, rows or columns."""
    if isinstance(data, Mapping):
        return by_column(data)
    if hasattr(data, "collect_schema") and hasattr(data, "collect"):  # polars, lazy
        data = data.collect()
    if hasattr(data, "to_pydict"):  # pyarrow
        return by_column(data.to_pydict())
    if hasattr(data, "columns") and hasattr(data, "__getitem__"):
        names = [check_name(name) for name in data.columns]
        if len(set(names)) < len(names):
            raise DataError(f"two columns have the same name: {', '.join(names)}")
        return by_column({name: data[name] for name in names})
    if hasattr(data, "__arrow_c_stream__"):
        return by_column(needed("pyarrow").table(data).to_pydict())
    if isinstance(data, (str, bytes)) or not isinstance(data, Iterable):
        raise TypeError(f"data must be a data frame, a list of dicts or a dict of lists, not {kind(data)}")
    rows = list(data)
    for place, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise TypeError(f"row {place} must be a dict, not {kind(row)}")
    return [{check_name(name): value for name, value in row.items()} for row in rows]


def check_name(name: Any) -> str:
    if not isinstance(name, str):
        raise TypeError(f"the name of a column must be a text, not {short(name)}")
    return name


def by_column(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    lists = {check_name(name): as_list(column, name) for name, column in columns.items()}
    if len({len(column) for column in lists.values()}) > 1:
        lengths = ", ".join(f"{name}: {len(column)}" for name, column in lists.items())
        raise DataError(f"columns have different lengths: {lengths}")
    return [dict(zip(lists, row)) for row in zip(*lists.values())]


def as_list(column: Any, name: str) -> list[Any]:
    for method in ("tolist", "to_list"):
        if hasattr(column, method):
            found = getattr(column, method)()
            if isinstance(found, list):
                return found
    if isinstance(column, str) or not isinstance(column, Iterable):
        raise TypeError(f"column {name!r} must be a list, not {kind(column)}")
    return list(column)


def is_blank(value: Any) -> bool:
    """Whether a cell says that nothing was measured: None, NaN, pandas.NA, or nothing."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return True
    if type(value).__name__ in ("NAType", "NaTType"):
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return False


def results(data: Any, problem: Problem, *, ignore_others: bool) -> list[dict[str, Any]]:
    """Every value in a table, with its design. Fails with all that is wrong with it."""
    rows = rows_of(data)
    check_columns({name: None for row in rows for name in row}, problem, ignore_others)
    found: list[dict[str, Any]] = []
    mistakes: list[str] = []
    for place, row in enumerate(rows):
        try:
            found.extend(results_in_row(place, row, problem))
        except (DataError, TypeError) as error:
            mistakes.append(f"row {place}: {error}")
    if mistakes:
        raise DataError("nothing was added:\n" + "\n".join(mistakes))
    return found


def measured_outputs(problem: Problem) -> list[str]:
    outputs = {**problem.objectives, **problem.constraints}
    return [name for name, output in outputs.items() if output.formula is None]


def check_columns(names: Iterable[str], problem: Problem, ignore_others: bool) -> None:
    names = list(names)
    parameters, outputs = list(problem.parameters), measured_outputs(problem)
    known = [*parameters, *outputs, *(name + ERROR for name in outputs)]
    wrong = [] if ignore_others else [
        f'"{name}" is neither a parameter nor a measured output{hint(name, known)}'
        for name in names
        if name not in known
    ]
    if names:
        wrong += [
            f'there is no column for the parameter "{name}"'
            for name in parameters
            if name not in names
        ]
    if wrong:
        raise DataError("\n".join(wrong))


def results_in_row(place: int, row: Mapping[str, Any], problem: Problem) -> list[dict[str, Any]]:
    values = {name: row.get(name) for name in problem.parameters}
    for name, value in values.items():
        if is_blank(value):
            raise DataError(f"{name} is blank, but a parameter needs a value")
    design = problem.design(values)
    found = []
    for output in measured_outputs(problem):
        value, error = row.get(output), row.get(output + ERROR)
        if is_blank(value):
            if not is_blank(error):
                raise DataError(f"{output}{ERROR} has a value, but {output} has none")
            continue
        reading: dict[str, Any] = {"value": number(value, output)}
        if not is_blank(error):
            reading["sd"] = number(error, output + ERROR)
        found.append({"row": place, "design": design, "output": output, "reading": reading})
    return found


def designs_of(data: Any, problem: Problem) -> list[dict[str, Any]]:
    """Designs from a frame, rows, columns, one design, or an array with a column for each parameter.

    Values of outputs may stand beside them, as in frames of results, and are passed over.
    """
    parameters = list(problem.parameters)
    if isinstance(data, Mapping) and not any(map(is_column, data.values())):
        return [problem.design(data)]
    shape = getattr(data, "shape", None)
    if shape is not None and not hasattr(data, "columns"):
        if len(shape) != 2 or shape[1] != len(parameters):
            raise DataError(
                f"an array of designs must have {len(parameters)} columns, for {', '.join(parameters)}; "
                f"its shape is {tuple(shape)}"
            )
        return [problem.design(dict(zip(parameters, row))) for row in data.tolist()]
    others = {name + end for name in problem.outputs for end in ("", ERROR)}
    designs = []
    for place, row in enumerate(rows_of(data)):
        try:
            designs.append(problem.design({n: v for n, v in row.items() if n not in others}))
        except (DataError, TypeError) as error:
            raise type(error)(f"row {place}: {error}") from None
    return designs


def is_column(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or getattr(value, "shape", ()) != ()


def evaluation_columns(evaluations: list[dict[str, Any]], problem: Problem) -> dict[str, list[Any]]:
    """A row for each evaluation, whatever became of it: the columns of `unyoke export`."""
    fields = ("evaluation", "measurement", "status", "cost", "spent", "origin", "reason")
    columns: dict[str, list[Any]] = {field: [e[field] for e in evaluations] for field in fields}
    for name in problem.parameters:
        columns[name] = [e["design"].get(name) for e in evaluations]
    for column, (output, part) in value_columns(evaluations, problem).items():
        columns[column] = [e["values"].get(output, {}).get(part) for e in evaluations]
    return columns


def value_columns(
    evaluations: list[dict[str, Any]], problem: Problem
) -> dict[str, tuple[str, str]]:
    """A column for each output that is measured, and for its standard errors if any value has one."""
    columns = {}
    for output in measured_outputs(problem):
        columns[output] = (output, "value")
        if any(e["values"].get(output, {}).get("sd") is not None for e in evaluations):
            columns[output + ERROR] = (output, "sd")
    return columns


def design_columns(evaluations: list[dict[str, Any]], problem: Problem) -> dict[str, list[Any]]:
    """A row for each design with values: those of `unyoke export --as designs`.

    A design has as many rows as its most often measured output has values.
    """
    columns = value_columns(evaluations, problem)
    parameters = list(problem.parameters)
    rows: list[dict[str, Any]] = []
    places: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for evaluation in evaluations:
        values = {
            column: evaluation["values"][output][part]
            for column, (output, part) in columns.items()
            if evaluation["values"].get(output, {}).get(part) is not None
        }
        if not values:
            continue
        at = tuple(evaluation["design"].get(name) for name in parameters)
        here = places.setdefault(at, [])
        # Values that were measured together stay together.
        row = next((row for row in here if not any(column in row for column in values)), None)
        if row is None:
            row = dict(zip(parameters, at))
            here.append(row)
            rows.append(row)
        row.update(values)
    return {name: [row.get(name) for row in rows] for name in [*parameters, *columns]}
