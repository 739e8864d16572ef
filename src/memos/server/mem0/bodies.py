"""What callers of mem0's wires send. Fields that we have nothing for are ignored, as mem0 does; null means the default."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr, model_validator

Text = Annotated[str, Field(strict=True)]
Id = StrictStr | StrictInt | None
Filters = dict[str, Any] | None
Categories = list[Text] | None
Many = 1_000


class Body(BaseModel):
    """A request. Which fields came, null or not, is in `model_fields_set`."""

    model_config = ConfigDict(extra="ignore")

    @model_validator(mode="before")
    @classmethod
    def _null_is_unset(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        return {name: value for name, value in given.items() if value is not None or name == "expiration_date"}


class Named(Body):
    """A request that names whose memories it is about."""

    user_id: Id = None
    agent_id: Id = None
    app_id: Id = None
    run_id: Id = None
    filters: Filters = None

    @property
    def ids(self) -> dict[str, Any]:
        """The ids, which newer clients put into `filters`."""
        names = ("user_id", "agent_id", "app_id", "run_id")
        inside = self.filters or {}
        own = {name: getattr(self, name) for name in names}
        return {name: inside.get(name) if value is None else value for name, value in own.items()}

    @property
    def asked(self) -> dict[str, Any] | None:
        """The filters, with ids that stand beside them."""
        beside = {name: value for name in self.ids if (value := getattr(self, name)) is not None}
        if not beside:
            return self.filters
        return beside if not self.filters else {"AND": [beside, self.filters]}


class AddBody(Named):
    """POST /v3/memories/add/ and /memories."""

    messages: Text | list[Any] | dict[str, Any]
    metadata: dict[str, Any] | None = None
    infer: StrictBool = True
    async_mode: StrictBool = True
    expiration_date: Text | None = None
    timestamp: Text | float | None = None
    observation_date: Text | float | None = None
    immutable: StrictBool = False
    custom_instructions: Any = None
    agent_custom_instructions: Any = None
    custom_categories: Any = None
    structured_data_schema: Any = None
    memory_type: Text | None = None
    prompt: Any = None


class SearchBody(Named):
    """POST /v3/memories/search/ and /search."""

    query: Text
    top_k: Annotated[int, Field(strict=True, ge=0, le=10_000)] | None = None
    limit: Annotated[int, Field(strict=True, ge=0, le=10_000)] | None = None
    threshold: Annotated[float, Field(ge=0, le=1)] | None = None
    rerank: StrictBool = False
    reference_date: Text | float | None = None
    latest_only: StrictBool = True
    keyword_search: StrictBool = False
    show_expired: StrictBool = False
    explain: StrictBool = False
    fields: list[Text] | None = None
    categories: Categories = None
    metadata: dict[str, Any] | None = None
    output_format: Text | None = None


class ListBody(Named):
    """POST /v3/memories/."""

    page: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    page_size: Annotated[int, Field(ge=1, le=Many)] | None = None
    start_date: Text | float | None = None
    end_date: Text | float | None = None
    categories: Categories = None
    fields: list[Text] | None = None
    show_expired: StrictBool = False
    latest_only: StrictBool = True


class UpdateBody(Body):
    """PUT of a memory. `expiration_date` null takes it away."""

    text: Text | None = None
    data: Text | None = None
    metadata: dict[str, Any] | None = None
    expiration_date: Text | None = None
    timestamp: Text | float | None = None


class BatchItem(Body):
    """One memory of a batch."""

    memory_id: Text
    text: Text | None = None
    metadata: dict[str, Any] | None = None


class BatchBody(Body):
    """PUT and DELETE /v1/batch/."""

    memories: Annotated[list[BatchItem], Field(min_length=1, max_length=Many)]


class FeedbackBody(Body):
    """POST /v1/feedback/."""

    memory_id: Text
    feedback: Text | None = None
    feedback_reason: Text | None = None


class ExportBody(Named):
    """POST /v1/exports/. `export_schema`: on the wire it is `schema`."""

    model_config = ConfigDict(extra="ignore", populate_by_name=True)
    export_schema: Any = Field(default=None, alias="schema")


class ExportGetBody(Named):
    """POST /v1/exports/get/."""

    memory_export_id: Text | None = None


class SummaryBody(Named):
    """POST /v1/summary/."""


class ProfileJobBody(Body):
    """POST /v2/profiles/jobs/."""

    operation: Text
    entity_type: Text = "user"
    entity_id: Id = None
