"""How many files this process may have open: a cube that is in use takes about eight."""

from __future__ import annotations

import errno
import os

PER_CUBE = 8
BESIDE_CUBES = 64  # the control file, sockets, libraries
ENOUGH = 65_536


def cubes_at_once() -> int | None:
    """How many cubes can be open within the limit of open files; None where there is no such limit."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else max(1, (soft - BESIDE_CUBES) // PER_CUBE)


def allow_many_files() -> None:
    """Raise this process's own limit of open files as far as it may; for programs, not for a library."""
    try:
        import resource
    except ImportError:  # Windows
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = ENOUGH if hard == resource.RLIM_INFINITY else min(hard, ENOUGH)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (OSError, ValueError):  # macOS allows less than it says
            return


def none_left() -> bool:
    """Whether so many files are open that a cube cannot be. (Those of the failed attempt may be closed again.)"""
    limit = cubes_at_once()
    try:
        next_one = os.open(os.devnull, os.O_RDONLY)  # takes the lowest number that is free
    except OSError as e:
        return e.errno in (errno.EMFILE, errno.ENFILE)
    os.close(next_one)
    return limit is not None and next_one >= limit * PER_CUBE + BESIDE_CUBES - 4 * PER_CUBE
