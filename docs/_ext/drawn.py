"""A directive that shows the picture that a page's own code draws: no picture is kept beside the code that makes it."""

from __future__ import annotations

import contextlib
import io
import os
import re
import tempfile
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FOLDER = "drawn"  # of the sources, made by the build
FRAMES_PER_SECOND = 4


def draw(code: str, call: str, target: Path) -> Path:
    """Run a page's code and then a call; its picture as SVG, or as GIF if it moves. Returns the file."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt
    from matplotlib.animation import FuncAnimation

    here = Path.cwd()
    names: dict[str, Any] = {"__name__": "__page__"}
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, mpl.rc_context({"svg.hashsalt": target.name}):
        os.chdir(folder)  # a page may write files
        try:
            plt.close("all")
            with contextlib.redirect_stdout(io.StringIO()):
                exec(code, names)  # tests run the same blocks
                plt.close("all")
                shown = eval(call, names)
        finally:
            os.chdir(here)
        if isinstance(shown, FuncAnimation):
            made = target.with_suffix(".gif")
            shown.save(made, writer="pillow", fps=FRAMES_PER_SECOND, dpi=110)
        elif plt.get_fignums():
            made = target.with_suffix(".svg")
            plt.gcf().savefig(made, bbox_inches="tight", metadata={"Date": None})
        else:
            raise ValueError(f"{call} draws nothing")
        plt.close("all")
    return made


def block_above(text: str, line: int) -> str:
    """The last block of Python that ends above a line, counted from 1."""
    above = "\n".join(text.splitlines()[: line - 1])
    found = BLOCK.findall(f"{above}\n")
    if not found:
        raise ValueError(f"no block of Python above line {line}")
    return str(found[-1])


class Drawn(SphinxDirective):
    """`{drawn} found.plot()`: the picture of that call after the block of Python above it; `alt` says what it shows."""

    required_arguments = 1
    final_argument_whitespace = True
    option_spec = {"alt": directives.unchanged_required}  # noqa: RUF012

    def run(self) -> list[nodes.Node]:
        """The picture."""
        page = Path(self.env.doc2path(self.env.docname))
        self.env.note_reread()  # the package, too, may draw otherwise now
        name = f"{self.env.docname.replace('/', '-')}-{self.lineno}"
        try:
            code = block_above(page.read_text(encoding="utf-8"), self.lineno)
            made = draw(code, self.arguments[0], Path(self.env.srcdir) / FOLDER / name)
        except Exception as error:
            raise self.error(f"{self.arguments[0]}: {error!r}") from error
        uri = os.path.relpath(made, page.parent).replace(os.sep, "/")
        image = nodes.image(uri=uri, alt=self.options["alt"], classes=["drawn"])
        self.set_source_info(image)
        return [image]


def setup(app: Any) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("drawn", Drawn)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
