"""Arguments and options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

MemoryId = Annotated[
    str, typer.Argument(help="Id of a memory: whole, or 6 characters or more of its beginning or end.")
]
AsOf = Annotated[str | None, typer.Option("--as-of", help="What was true then: 2023-05-08, '8 May 2023 3 pm', …")]
KnownAt = Annotated[str | None, typer.Option("--known-at", help="What was known then.")]
FilterText = Annotated[
    str | None,
    typer.Option("--filter", help='Filter as JSON: \'{"and": [{"tags": {"contains": "work"}}, {"role": "user"}]}\'.'),
]
Wait = Annotated[bool, typer.Option("--wait/--no-wait", help="Return when facts and vectors are made too.")]
