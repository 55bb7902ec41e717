"""What the reference pages show of our classes: their own members, and signatures only of what users construct."""

from __future__ import annotations

import re
from dataclasses import is_dataclass
from enum import Enum
from typing import Any

OPTIONS = ("Checkpoint", "Gram")  # dataclasses that users construct


def skip_foreign(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn and Python give to our classes; their own pages document it."""
    home = getattr(obj.fget if isinstance(obj, property) else obj, "__module__", None)
    return None if isinstance(home, str) and home.startswith("separatrix") else True


def shorten(app: Any, what: str, name: str, obj: Any, options: Any, signature: str, returned: str) -> Any:
    """No signature for what users do not construct: results and enumerations."""
    made = isinstance(obj, type) and (is_dataclass(obj) or issubclass(obj, Enum))
    return ("", returned) if made and obj.__name__ not in OPTIONS else None


def in_lines(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Parameters of long signatures as spans: Sphinx writes half a list of definitions, one per line, down the page."""

    def spans(found: re.Match[str]) -> str:
        text = found[0].replace("<dl>", '<span class="lines">').replace("</dl>", "</span>")
        return text.replace("<dd>", '<span class="line">').replace("</dd>", "</span>")

    if "body" in context:
        context["body"] = re.sub(r'<dt class="sig .*?</dt>', spans, context["body"], flags=re.DOTALL)


def setup(app: Any) -> dict[str, bool]:
    """Register the hooks."""
    app.connect("autodoc-skip-member", skip_foreign)
    app.connect("autodoc-process-signature", shorten)
    app.connect("html-page-context", in_lines)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
