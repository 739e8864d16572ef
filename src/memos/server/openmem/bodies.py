"""What callers of the cloud wire send. Unknown fields are ignored, and null means the default: the cloud's own client sends
every field, unset ones as null.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictBool, StrictStr, model_validator

Id = Annotated[str, Field(strict=True, min_length=1, max_length=100)]
Text = Annotated[str, Field(strict=True)]
Ids = list[Id]
MemoryId = Annotated[Id, AfterValidator(str.lower)]  # of a memory or a file: capitals are no other id
MemoryIds = list[MemoryId]
Count = Annotated[int, Field(ge=0, le=1000)]
Some = Annotated[int, Field(ge=1, le=50)]
Info = dict[str, Any]


class Body(BaseModel):
    """A request."""

    model_config = ConfigDict(extra="ignore")

    @model_validator(mode="before")
    @classmethod
    def _null_is_unset(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        return {name: value for name, value in given.items() if value is not None}


class AddBody(Body):
    """POST add/message."""

    messages: Text | list[Any]
    user_id: Id | Ids | None = None
    agent_id: Id | Ids | None = None
    conversation_id: Id | None = None
    info: Info | None = None
    source: Text | None = None
    app_id: Id | None = None
    allow_public: StrictBool = False
    allow_knowledgebase_ids: Ids = []
    allow_memory_view: list[StrictStr] | None = None
    tags: list[StrictStr] = []
    async_mode: StrictBool = True


class SearchBody(Body):
    """POST search/memory."""

    query: Text
    user_id: Id | None = None
    agent_id: Id | None = None
    conversation_id: Id | None = None
    memory_limit_number: Count = 6
    include_preference: StrictBool = True
    preference_limit_number: Count = 6
    include_tool_memory: StrictBool = False
    tool_memory_limit_number: Count = 6
    include_skill: StrictBool = False
    skill_limit_number: Count = 6
    include_memory_view: list[StrictStr] | None = None
    knowledgebase_ids: Ids = []
    filter: Info | None = None
    relativity: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    context_format: Text = "memory"
    source: Text | None = None


class GetMessagesBody(Body):
    """POST get/message."""

    user_id: Id
    conversation_id: Id | None = None
    conversation_limit_number: Some = 6
    message_limit_number: Some = 6
    source: Text | None = None


class GetMemoriesBody(Body):
    """POST get/memory."""

    user_id: Id | None = None
    agent_id: Id | None = None
    include_preference: StrictBool = True
    include_tool_memory: StrictBool = True
    include_memory_view: list[StrictStr] | None = None
    filter: Info | None = None
    page: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    size: Some = 10


class UpdateBody(Body):
    """POST update/memory."""

    memory_id: MemoryId
    content: Text | None = None
    title: Text | None = None
    status: Text | None = None


class DeleteBody(Body):
    """POST delete/memory."""

    memory_ids: MemoryIds | None = None
    user_id: Id | None = None
    user_ids: Ids | None = None
    agent_id: Id | None = None
    filter: Info | None = None
    memory_type: Text | None = None


class FeedbackBody(Body):
    """POST add/feedback."""

    user_id: Id
    feedback_content: Text
    conversation_id: Id | None = None
    agent_id: Id | None = None
    app_id: Id | None = None
    feedback_time: Text | float | None = None
    allow_public: StrictBool = False
    allow_knowledgebase_ids: Ids = []


class StatusBody(Body):
    """POST get/status."""

    task_id: Id


class ChatBody(Body):
    """POST chat."""

    user_id: Id
    query: Text
    conversation_id: Id | None = None
    internet_search: StrictBool = False
    force_stop: StrictBool = False
    use_mem_os_cube: StrictBool = False
    source: Text | None = None
    system_prompt: Text | None = None
    model_name: Text | None = None
    knowledgebase_ids: Ids = []
    filter: Info | None = None
    add_message_on_answer: StrictBool = True
    app_id: Id | None = None
    agent_id: Id | None = None
    async_mode: StrictBool = True
    tags: list[StrictStr] = []
    info: Info | None = None
    allow_public: StrictBool = False
    allow_knowledgebase_ids: Ids = []
    max_tokens: Annotated[int, Field(ge=1)] = 8192
    temperature: Annotated[float, Field(ge=0, le=2)] = 0.7
    top_p: Annotated[float, Field(ge=0, le=1)] = 0.95
    include_preference: StrictBool = True
    preference_limit_number: Count = 6
    memory_limit_number: Count = 6
    stream: StrictBool = False
    include_tool_memory: StrictBool = False
    tool_memory_limit_number: Count = 6
    relativity: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None


class ExtractBody(Body):
    """POST extract/memory."""

    messages: Text | list[Any]
    extraction_types: list[StrictStr] | None = None
    model: Text | None = None


class RerankBody(Body):
    """POST rerank."""

    query: Text
    documents: Annotated[list[Any], Field(min_length=1, max_length=1000)]
    model: Text | None = None
    top_n: Annotated[int, Field(ge=1)] | None = None


class CreateBaseBody(Body):
    """POST create/knowledgebase."""

    knowledgebase_name: Annotated[str, Field(strict=True, min_length=1, max_length=200)]
    knowledgebase_description: Annotated[str, Field(strict=True, max_length=10_000)] | None = None


class BaseBody(Body):
    """POST delete/knowledgebase."""

    knowledgebase_id: Id


class FileItem(Body):
    """One file of POST add/knowledgebase-file: its content in base64 (plain or as a data URL), or where it is."""

    id: Id | None = None
    name: Annotated[str, Field(strict=True, min_length=1, max_length=255)] | None = None
    type: Text | None = None
    content: Text | None = None
    url: Text | None = None

    @model_validator(mode="before")
    @classmethod
    def _other_names(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        out = {k: v for k, v in given.items() if v is not None}
        for name, others in _OTHER_NAMES.items():
            found = next((out[other] for other in others if other in out), None)
            if name not in out and found is not None:
                out[name] = found
        return out


_OTHER_NAMES = {
    "id": ("file_id", "document_id"),
    "name": ("filename", "file_name"),
    "content": ("base64", "file_data", "data"),
    "url": ("file_url",),
}


class AddFilesBody(Body):
    """POST add/knowledgebase-file as JSON."""

    knowledgebase_id: Id
    file: Annotated[list[FileItem], Field(min_length=1)]


class DeleteFilesBody(Body):
    """POST delete/knowledgebase-file."""

    file_ids: Annotated[MemoryIds, Field(min_length=1, max_length=1000)]
    knowledgebase_id: Id | None = None


class GetFilesBody(Body):
    """POST get/knowledgebase-file."""

    file_ids: MemoryIds | None = None
    knowledgebase_id: Id | None = None
    type: Text | None = None
    page: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    page_size: Annotated[int, Field(ge=1, le=100)] = 20
