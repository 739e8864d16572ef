"""What callers of the MemOS wire send. Unknown fields are ignored, former names are rewritten, null means the default.

Only shapes are checked here; what the values mean is for the core to say.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictStr, model_validator

Text = Annotated[str, Field(strict=True)]
Texts = list[StrictStr]
Messages = str | list[Any]
SearchType = Literal[
    "All",
    "WorkingMemory",
    "LongTermMemory",
    "UserMemory",
    "OuterMemory",
    "ToolSchemaMemory",
    "ToolTrajectoryMemory",
    "RawFileMemory",
    "AllSummaryMemory",
    "SkillMemory",
    "PreferenceMemory",
]


class Body(BaseModel):
    """A request. `renamed`: former names of fields, which count where the field itself is not given."""

    model_config = ConfigDict(extra="ignore")
    renamed: ClassVar[dict[str, str]] = {}
    listed: ClassVar[dict[str, str]] = {"mem_cube_id": "writable_cube_ids"}  # one value for a list

    @model_validator(mode="before")
    @classmethod
    def _rewritten(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        out = dict(given)
        for former, name in cls.renamed.items():
            if former in out and out.get(name) is None:
                out[name] = out[former]
        for former, name in cls.listed.items():
            if name in cls.model_fields and isinstance(out.get(former), str) and out.get(name) is None:
                out[name] = [out[former]]
        for name, field in cls.model_fields.items():
            if not field.is_required() and field.default is not None and out.get(name, 0) is None:
                del out[name]
        return out


class AddBody(Body):
    """POST /product/add."""

    user_id: Text | None = None
    session_id: Text | None = None
    task_id: Text | None = None
    manager_user_id: Text | None = None
    project_id: Text | None = None
    writable_cube_ids: Texts | None = None
    async_mode: Literal["async", "sync"] = "async"
    mode: Literal["fast", "fine"] | None = None
    custom_tags: Texts | None = None
    info: dict[str, Any] | None = None
    messages: Messages | None = None
    chat_history: list[Any] | None = None
    is_feedback: bool = False
    is_upload_skill: bool = False
    memory_content: Text | None = None
    doc_path: Text | None = None
    source: Text | None = None
    renamed: ClassVar[dict[str, str]] = {"conversation_id": "session_id"}


class SearchBody(Body):
    """POST /product/search."""

    query: Text
    user_id: Text
    readable_cube_ids: Texts | None = None
    mode: Literal["fast", "fine", "mixture"] = "fast"
    session_id: Text | None = None
    top_k: int = Field(10, ge=1, le=10_000)
    relativity: float = Field(0.45, ge=0)
    dedup: Literal["no", "sim", "mmr"] | None = "mmr"
    rerank: bool = True
    include_preference: bool = True
    pref_top_k: int = Field(6, ge=0, le=10_000)
    search_tool_memory: bool = True
    tool_mem_top_k: int = Field(6, ge=0, le=10_000)
    include_skill_memory: bool = True
    skill_mem_top_k: int = Field(3, ge=0, le=10_000)
    search_memory_type: SearchType = "All"
    filter: dict[str, Any] | None = None
    internet_search: bool = False
    chat_history: list[Any] | None = None
    context_format: Text = "memory"
    neighbor_discovery: bool = False
    source: Text | None = None
    threshold: float | None = None
    reference_time: str | float | None = None
    listed: ClassVar[dict[str, str]] = {"mem_cube_id": "readable_cube_ids"}
    renamed: ClassVar[dict[str, str]] = {"conversation_id": "session_id"}


class ListBody(Body):
    """POST /product/get_memory, and, without a cube, get_memory_dashboard."""

    mem_cube_id: Text
    user_id: Text | None = None
    include_preference: bool = True
    include_tool_memory: bool = True
    include_skill_memory: bool = True
    filter: dict[str, Any] | None = None
    page: int | None = Field(None, ge=1)
    page_size: int | None = Field(None, ge=1, le=10_000)


class DashboardBody(ListBody):
    """POST /product/get_memory_dashboard."""

    mem_cube_id: Text | None = None  # type: ignore[assignment]  # the one difference


class GetAllBody(Body):
    """POST /product/get_all."""

    user_id: Text
    memory_type: Literal["text_mem", "act_mem", "param_mem", "para_mem"]
    mem_cube_ids: Texts | None = None
    search_query: Text | None = None
    search_type: Literal["embedding", "fulltext"] = "fulltext"
    listed: ClassVar[dict[str, str]] = {"mem_cube_id": "mem_cube_ids"}


class IdsBody(Body):
    """POST /product/get_user_names_by_memory_ids."""

    memory_ids: Texts


class CubeBody(Body):
    """POST /product/exist_mem_cube_id."""

    mem_cube_id: Text
    user_id: Text | None = None


class DeleteBody(Body):
    """POST /product/delete_memory."""

    writable_cube_ids: Texts | None = None
    memory_ids: Texts | None = None
    file_ids: Texts | None = None
    filter: dict[str, Any] | None = None
    user_id: Text | None = None
    session_id: Text | None = None
    conversation_id: Text | None = None
    auto_cleanup_working: bool = False

    @model_validator(mode="after")
    def _one_session(self) -> DeleteBody:
        both = self.session_id is not None and self.conversation_id is not None
        if both and self.session_id != self.conversation_id:
            raise ValueError("session_id and conversation_id are two names of one thing and must be equal")
        return self


class DeleteRecordBody(Body):
    """POST /product/delete_memory_by_record_id."""

    mem_cube_id: Text
    record_id: Text
    hard_delete: bool = False
    user_id: Text | None = None


class RecoverBody(Body):
    """POST /product/recover_memory_by_record_id."""

    mem_cube_id: Text
    delete_record_id: Text
    user_id: Text | None = None


class CreateCubeBody(Body):
    """POST /product/create_cube."""

    cube_name: Text
    owner_id: Text
    cube_path: Text | None = None
    cube_id: Text | None = None


class RegisterCubeBody(Body):
    """POST /product/register_cube."""

    mem_cube_name_or_path: Text
    mem_cube_id: Text | None = None
    user_id: Text | None = None


class ChatBody(Body):
    """POST /product/chat/stream, and what the other chat routes share with it. `threshold`: 0.5 for complete, 0.3 for streams."""

    user_id: Text
    query: Text
    readable_cube_ids: Texts | None = None
    writable_cube_ids: Texts | None = None
    history: list[Any] | None = None
    mode: Literal["fast", "fine", "mixture"] = "fast"
    system_prompt: Text | None = None
    top_k: int = Field(10, ge=1, le=10_000)
    session_id: Text | None = None
    include_preference: bool = True
    pref_top_k: int = Field(6, ge=0, le=10_000)
    model_name_or_path: Text | None = None
    max_tokens: int | None = Field(None, ge=1)
    temperature: float | None = Field(None, ge=0)
    top_p: float | None = Field(None, ge=0, le=1)
    add_message_on_answer: bool = True
    manager_user_id: Text | None = None
    project_id: Text | None = None
    relativity: float = Field(0.45, ge=0)
    filter: dict[str, Any] | None = None
    internet_search: bool = False
    threshold: float | None = Field(None, ge=0)
    renamed: ClassVar[dict[str, str]] = {"base_prompt": "system_prompt", "conversation_id": "session_id"}

    @model_validator(mode="before")
    @classmethod
    def _one_cube(cls, given: Any) -> Any:
        """The former `mem_cube_id` is both the cube that is read and the one that is written."""
        if isinstance(given, dict) and isinstance(given.get("mem_cube_id"), str):
            for name in ("readable_cube_ids", "writable_cube_ids"):
                if given.get(name) is None:
                    given = {**given, name: [given["mem_cube_id"]]}
        return given


class PlaygroundBody(ChatBody):
    """POST /product/chat/stream/playground."""

    beginner_guide_step: Literal["first", "second"] | None = None


class BusinessBody(ChatBody):
    """POST /product/chat/stream/business_user."""

    business_key: Text
    need_search: bool = False


class SuggestBody(Body):
    """POST /product/suggestions."""

    user_id: Text
    mem_cube_id: Text
    language: Literal["zh", "en"] = "zh"
    message: list[Any] | None = None


class FeedbackBody(Body):
    """POST /product/feedback."""

    user_id: Text
    history: list[Any] | None
    feedback_content: Text | None
    session_id: Text | None = None
    task_id: Text | None = None
    retrieved_memory_ids: Texts | None = None
    feedback_time: str | float | None = None
    writable_cube_ids: Texts | None = None
    async_mode: Literal["sync", "async"] = "async"
    corrected_answer: bool = False
    info: dict[str, Any] | None = None


class FeedbackOfAdd(FeedbackBody):
    """Feedback that came by /add, where a user need not be named."""

    user_id: Text | None = None  # type: ignore[assignment]  # the one difference
