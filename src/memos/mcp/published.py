"""Tools as the protocol publishes them, and their answers as it carries them."""

from __future__ import annotations

from functools import cache
from typing import Any

import mcp_types as types

from memos.tools.schema import schema_of
from memos.tools.tool import Answer, Tool


@cache
def listed(tool: Tool[Any]) -> types.Tool:
    """A tool as it is published."""
    hints = types.ToolAnnotations(
        title=tool.title,
        read_only_hint=tool.reads,
        destructive_hint=tool.destroys,
        idempotent_hint=tool.again or tool.reads,
        open_world_hint=tool.outside,
    )
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.schema,
        output_schema=schema_of(tool.answers, answers=True),
        annotations=hints,
    )


def carried(answer: Answer) -> types.CallToolResult:
    """An answer as the result of a call."""
    content = types.TextContent(text=answer.text)
    return types.CallToolResult(content=[content], structured_content=answer.value, is_error=answer.failed)
