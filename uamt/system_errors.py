"""What the system says when a file cannot be read or written, as a line that says how to go on."""

from __future__ import annotations

import errno
from pathlib import Path

_FULL = (
    "make room (or raise the quota or limit) and give the same command again: no file is half "
    "written, and a run goes on behind what is finished"
)
_NOT_ALLOWED = "it needs a folder that may be written to; change its rights or use another --out"
_ADVICE = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: _FULL,
    errno.EROFS: _NOT_ALLOWED,
    errno.EACCES: _NOT_ALLOWED,
    errno.EPERM: _NOT_ALLOWED,
    errno.ENOTDIR: "a file stands where a folder is expected; move it or use another --out",
    errno.EEXIST: "a file stands where a folder is expected; move it or use another --out",
    errno.EISDIR: "a folder stands where a file is expected; move it",
    errno.ENAMETOOLONG: "shorten the name; with --names path it holds all folders of the image",
    errno.ENOENT: "it is not there, or not there any more; bring it back, or name another",
    errno.EMFILE: "raise the limit of open files (ulimit -n), or use fewer --workers",
}
_OTHERWISE = "once the disk answers, give the same command again: what is finished is kept"


def system_error_line(error: OSError) -> str:
    """Return what went wrong, at which file, and what to do.

    Example:
        >>> system_error_line(OSError(errno.EISDIR, "Is a directory", "scores/summary.csv"))
        "'scores/summary.csv': Is a directory; a folder stands where a file is expected; move it"
    """
    place = f"'{Path(error.filename)}': " if error.filename else ""
    advice = _ADVICE.get(error.errno or 0, _OTHERWISE)
    return f"{place}{error.strerror or error}; {advice}"
