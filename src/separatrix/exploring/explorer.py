"""explore: the page with the user's points in it, for a browser, a notebook or a file."""

from __future__ import annotations

import json
import os
import tempfile
import webbrowser
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any, Literal

from separatrix.data.problem import Problem, as_problem
from separatrix.exploring.points import points_of
from separatrix.reporting.keywords import hinted
from separatrix.reporting.plain import LONG, plain
from separatrix.reporting.writing import whole

PAGE = Path(__file__).with_name("explorer.html")
PLACE = '<script type="application/json" id="given">null</script>'  # where the data go, once in the page
MARKUP = str.maketrans({"<": r"\u003c", ">": r"\u003e", "&": r"\u0026"})  # all else json.dumps escapes itself
HEIGHT = 900  # pixels of a notebook's frame
TITLE = "Your data"


@dataclass(frozen=True)
class Explorer:
    """The result of `explore`: one page, which asks no network for anything. A notebook shows it as it is.

    Attributes
    ----------
    html : str
        The whole page.
    n : int
        Points in it; 0 for the page with its own data sets.
    columns : tuple of str
        What the two axes show.
    classes : tuple of str
        The two labels; points of the second, larger one are +1.
    notes : tuple of str
        What was done to the data, as the page says it.
    """

    html: str = field(repr=False)
    n: int = 0
    columns: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file, under a temporary name first.

        Parameters
        ----------
        path : str or os.PathLike
            The file; one that is there is replaced.

        Returns
        -------
        pathlib.Path
            The file.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        target = Path(path)
        if target.is_dir():
            raise IsADirectoryError(f"{str(target)!r} is a folder; name a file.")
        try:
            with whole(target) as file:
                file.write(self.html.encode())
        except OSError as error:
            seen = f"cannot write the page to {target}: {error.strerror or error}"
            raise type(error)(f"{seen}; name a file in a folder that is there.") from None
        return target

    def open(self) -> Path:
        """Show the page in the web browser.

        Returns
        -------
        pathlib.Path
            The temporary file that it was written to, which stays.

        Raises
        ------
        OSError
            If no browser could be started.
        """
        path = write_aside(self.html)
        if not show(path):
            raise OSError(f"no web browser could be started; open {path} in one.")
        return path

    def __repr__(self) -> str:
        shown = "its own data sets"
        if self.n:
            shown = f"{self.n:,} points, {' and '.join(self.columns)}, classes {' and '.join(self.classes)}"
        return f"Explorer({shown}; .open() shows the page, .save(path) writes it)"

    def _repr_html_(self) -> str:
        look = f'width="100%" height="{HEIGHT}" style="border: 0"'
        return f'<iframe title="separatrix explorer" {look} srcdoc="{escape(self.html)}"></iframe>'


def write_aside(html: str) -> Path:
    """Write a page to a temporary file, which stays and which only its owner may read: it has the data in it."""
    handle, name = tempfile.mkstemp(prefix="separatrix-", suffix=".html")
    with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
        file.write(html)
    return Path(name)


def show(path: Path) -> bool:
    """Open a file in the web browser; whether there was one."""
    try:
        return webbrowser.open(path.resolve().as_uri())
    except webbrowser.Error:
        return False


@hinted
def explore(
    X: Any = None,
    y: Any = None,
    *,
    columns: Sequence[str | int] | None = None,
    fit_intercept: bool | None = None,
    title: str | None = None,
    missing: Literal["error", "drop"] = "error",
    keep: Sequence[str] = (),
) -> Explorer:
    """Make a page to play with: drag points, slide the step size to infinity, watch a line separate two classes.

    It takes the steps of `solve`, bit for bit, and shows the line, the curves, the path of the iterates, the widest
    margin or a proof that there is none, and the theorem's bound. Two columns are shown as they are; of more those that
    `columns` names, or else the first two principal directions; of more than 5,000 rows a random sample of both
    classes. The page says which.

    Parameters
    ----------
    X : array, sparse matrix, data frame, path, formula, statsmodels model or Problem, optional
        The rows, as in `solve`; without any the page begins with a data set of its own.
    y : array-like, path, str or data frame, optional
        Labels of two values; the larger one is +1.
    columns : list of str or int, optional
        One or two columns to show, by name or counted from 0.
    fit_intercept : bool, optional
        Whether the line may miss the origin, which can be changed on the page. By default as a formula, a model or a
        Problem has it, and else True.
    title : str, optional
        What the page calls the data.
    missing : {"error", "drop"}, default="error"
        For tables, what to do with rows that have missing values.
    keep : list of str, default=()
        For tables, columns of text to keep though they differ in nearly every row, which are left out otherwise.

    Returns
    -------
    Explorer
        The page, with `.open()` and `.save(path)`; a notebook shows it.

    Raises
    ------
    ValueError
        If the data are not numbers with labels of two values, or `columns` are none of them.

    See Also
    --------
    solve : The same run in Python.
    Run.animate : Its iterates as a moving picture.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[0.0, 1.0], [1.0, 3.0], [2.0, 0.0], [3.0, 1.0]], ["a", "a", "b", "b"]
    >>> sx.explore(X, y)
    Explorer(4 points, x0 and x1, classes a and b; .open() shows the page, .save(path) writes it)
    """
    if X is None:
        if y is not None or columns is not None:
            raise ValueError("X is missing: give the rows beside their labels, or nothing for the page's own data.")
        return Explorer(template())
    with as_problem(X, y, fit_intercept=fit_intercept, missing=missing, keep=keep) as problem:
        intercept = problem.fit_intercept if isinstance(X, Problem) else fit_intercept
        return page_of(problem, fit_intercept=intercept, columns=columns, title=title)


def page_of(
    problem: Problem,
    *,
    fit_intercept: bool | None,
    columns: Sequence[str | int] | None,
    title: str | None,
    names: Sequence[str] | None = None,
) -> Explorer:
    """The page with the rows of a problem, which may say for itself whether there is an intercept."""
    if fit_intercept is None:
        fit_intercept = problem.fit_intercept if problem.table and problem.table.fit_intercept is not None else True
    points = points_of(problem, columns, names)
    both = zip(points.places.tolist(), points.sign.tolist(), strict=True)
    given = {
        "points": [{"x": x, "y": v, "label": int(side)} for (x, v), side in both],
        "names": dict(zip(("x", "y", "minus", "plus"), (*points.columns, *points.classes), strict=True)),
        "intercept": bool(fit_intercept),
        "title": TITLE if title is None else plain(str(title), LONG),
        "notes": [f"{note[0].upper()}{note[1:]}" for note in points.notes],
    }
    if points.of is not None:
        given["of"] = points.of
    text = json.dumps(given, separators=(",", ":"), allow_nan=False).translate(MARKUP)
    html = template().replace(PLACE, PLACE.replace("null", text))
    return Explorer(html, len(points.sign), points.columns, points.classes, points.notes)


def template() -> str:
    """The page without data."""
    return PAGE.read_text(encoding="utf-8")
