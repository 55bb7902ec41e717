"""A directive for the explorer in a frame; conf.py copies its page, of which the package has the only copy."""

from __future__ import annotations

from html import escape
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

from separatrix.exploring.explorer import PAGE


class Explorer(SphinxDirective):
    """`{explorer} v=1&d=…`: the page in a frame, from the state that the fragment says, and a link to it alone."""

    optional_arguments = 1
    final_argument_whitespace = True
    option_spec = {"title": directives.unchanged_required}  # noqa: RUF012

    def run(self) -> list[nodes.Node]:
        """The frame, and the link below it."""
        depth = self.env.docname.count("/")
        state = "".join(f"#{text}" for text in self.arguments)
        address = escape(f"{'../' * depth}{PAGE.name}{state}")
        title = escape(self.options.get("title", "The explorer"))
        return [
            nodes.raw(
                "",
                f'<div class="explorer"><iframe src="{address}" title="{title}" loading="lazy"></iframe>'
                f'<p><a href="{address}">Open it in a window of its own</a></p></div>',
                format="html",
            )
        ]


def setup(app: Any) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("explorer", Explorer)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
