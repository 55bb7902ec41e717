"""Published files, downloaded once and kept only if their checksum is the published one."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from separatrix.datasets.check import AT_ONCE, differs
from separatrix.datasets.places import data_folder
from separatrix.datasets.sources import File, source_of
from separatrix.reporting.hints import install

TIMEOUT = 30  # seconds without a byte
RETRIES = 1
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class FetchError(OSError):
    """A file could not be fetched; nothing of it was kept."""


def fetch(
    name: str,
    data_dir: str | os.PathLike[str] | None = None,
    *,
    base_url: str | None = None,
    progressbar: bool | None = None,
) -> list[Path]:
    """Download the published files of a data set, except those that are there and whole, and return their paths.

    A file is written under another name, compared with its published checksum, and only then given its own; so a
    broken download leaves nothing behind. It is tried once more before `FetchError` says what went wrong.

    Parameters
    ----------
    data_dir : where to; when not given, the folder SEPARATRIX_DATA names, or else the user's cache folder
    base_url : a copy of a data folder on a web server, to be used instead of the public sources
    progressbar : whether to draw one on stderr; when not given, only on a terminal
    """
    source = source_of(name)
    if base_url is not None and urlsplit(base_url).scheme not in ("http", "https"):
        raise ValueError(f"base_url must begin with http:// or https://, got {base_url!r}.")
    base = source.base_url if base_url is None else f"{base_url.rstrip('/')}/{name}/"
    try:
        import pooch
    except ImportError:
        raise ImportError(f"downloads need pooch: {install('lab')}.") from None
    folder = data_folder(data_dir) / name
    bar = sys.stderr.isatty() if progressbar is None else progressbar
    keeper = pooch.create(
        path=folder,
        base_url=base,
        registry={file.name: f"sha256:{file.sha256}" for file in source.files},
        retry_if_failed=RETRIES,
    )
    log = pooch.get_logger()
    level = log.level
    log.setLevel("ERROR")  # what happens is told by the result or the error
    try:
        return [_kept(keeper, file, base + file.name, folder / file.name, bar) for file in source.files]
    finally:
        log.setLevel(level)


def _kept(keeper: Any, file: File, url: str, path: Path, bar: bool) -> Path:
    """The path of one file, downloaded if need be."""
    import requests

    def download(url: str, temporary: str, pooch: Any) -> None:
        _download(file, url, temporary, bar)

    try:
        keeper.fetch(file.name, downloader=download)
    except requests.HTTPError as error:
        answer = error.response
        seen = "with an error" if answer is None else f"{answer.status_code} {answer.reason}".strip()
        raise FetchError(f"{url} answered {seen}; try again later, or get the file by hand.") from None
    except (requests.exceptions.ChunkedEncodingError, requests.exceptions.ContentDecodingError):
        raise FetchError(f"the connection was cut while {url} was on its way; try again.") from None
    except requests.RequestException as error:
        host = urlsplit(url).netloc or url
        raise FetchError(f"cannot reach {host} ({type(error).__name__}); check the network and try again.") from None
    except _WrongFileError as error:
        raise FetchError(str(error)) from None
    except OSError as error:
        raise FetchError(_about_disk(error, file, path)) from None
    return path


class _WrongFileError(ValueError):
    """What came is not what is published; pooch tries again on a ValueError."""


def _download(file: File, url: str, temporary: str, bar: bool) -> None:
    """One attempt, into a file that pooch renames if its checksum is right and else removes."""
    import requests

    plain = {"Accept-Encoding": "identity"}  # the bytes as they are, never packed once more on the way
    with requests.get(url, stream=True, timeout=TIMEOUT, headers=plain) as answer:
        answer.raise_for_status()
        with Path(temporary).open("wb") as out, _bar(file, bar) as shown:
            for block in answer.iter_content(AT_ONCE):
                out.write(block)
                if shown is not None:
                    shown.update(len(block))
    reason = differs(file, Path(temporary))
    if reason:
        raise _WrongFileError(f"what {url} sent {reason}; nothing was kept, try again or get the file by hand.")
    Path(temporary).chmod(0o644)  # temporary files are for their owner alone, a data folder may be shared


def _bar(file: File, wanted: bool) -> Any:
    """A progress bar where one is wanted and tqdm is installed."""
    if wanted:
        with suppress(ImportError):
            from tqdm import tqdm

            return tqdm(desc=file.name, total=file.size, unit="B", unit_scale=True, ascii=sys.platform == "win32")
    return nullcontext()


def _about_disk(error: OSError, file: File, path: Path) -> str:
    """A sentence about a folder that cannot be written to, or a full disk."""
    cause = error.__cause__ if isinstance(error.__cause__, OSError) else error
    reason = cause.strerror or type(cause).__name__
    if cause.errno in NO_ROOM:
        return (
            f"no room for the {file.size:,} bytes of {path} ({reason}); make room, or give another folder as data_dir."
        )
    return f"cannot write {path} ({reason}); give a folder that can be written to as data_dir."
