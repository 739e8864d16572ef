"""Routes by which an agent reports what it does: turns, steps, sub-agents, outcomes, and the end of a session."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Response
from pydantic import Field

from memos.errors import InvalidInput
from memos.memory.acting import OutcomeReported, SessionEnded, StepReported, TurnEnded, TurnStarted
from memos.memory.episode import StepReport
from memos.server.app import Core
from memos.server.caller import WRITE
from memos.server.frame import FrameDep
from memos.server.limits import check_messages, check_text
from memos.server.native.answers import reply
from memos.server.native.fields import A_NUMBER, Flag, Id, Name, PathSession, Said, Scoped, When, Wire
from memos.server.native.problems import writes
from memos.server.native.scope import WhoseTooDep
from memos.server.native.slashes import SlashRoute
from memos.server.options import ServerOptions
from memos.server.quick import QuickRoute
from memos.system.acting import DEFAULT_AGENT, MOST_STEPS, MOST_TOKENS
from memos.system.base import DEFAULT_SESSION

router = APIRouter(prefix="/v1", tags=["Agents"], route_class=QuickRoute)
sessions = APIRouter(prefix="/v1/sessions", tags=["Agents"], route_class=SlashRoute)

MOST_SECONDS = 1e9
InSession = Annotated[Name, Field(description="The conversation the agent is in.", examples=["deploy-42"])]
Agent = Annotated[Name, Field(description="Which agent reports.", examples=["coder"])]
At = Annotated[When, Field(description="When it happened; now, when it is left out.")]
Key = Annotated[
    Name,
    Field(
        description="One for each report, and the same when it is sent again: nothing is done twice. The header "
        "Idempotency-Key does the same.",
        examples=["turn-17"],
    ),
]
KeyHeader = Annotated[Name | None, Header(alias="Idempotency-Key", description="The same as `key` of the body.")]
Also = Annotated[
    list[Name], Field(max_length=100, description="Further cubes to recall from.", examples=[["team/skills"]])
]
BlockTokens = Annotated[
    int,
    Field(ge=1, le=MOST_TOKENS),
    A_NUMBER,
    Field(description="Hard budget of the context block (a token: 4 characters)."),
]
_GIVEN = "What the tool was given: a text, or any JSON."
_CAME = "What came of it: a text, or any JSON."


class StepFields(Wire):
    """A tool that was called, what it was given and what came of it."""

    tool: Annotated[Name, Field(description="Which tool.", examples=["bash"])]
    input: Any = Field(None, description=_GIVEN, examples=["pip install lxml"])
    output: Any = Field(None, description=_CAME, examples=["Successfully installed lxml-5.3.0"])
    error: str | None = Field(None, description="What went wrong, in the tool's words.")
    ok: Flag | None = Field(None, description="Whether it worked; without it, an `error` says that it did not.")
    duration: Annotated[float, Field(ge=0, le=MOST_SECONDS), A_NUMBER] | None = Field(
        None, description="Seconds it took.", examples=[1.2]
    )
    call_id: Name | None = Field(
        None, description="The provider's id of the call: a call reported twice is stored once.", examples=["call_7"]
    )
    reflection: str | None = Field(None, description="What the agent thinks of it.")


class ReportedStep(StepFields):
    """One of several steps."""

    info: dict[str, Any] = Field(default_factory=dict, description="Free metadata of your own.")


Reports = Annotated[
    list[ReportedStep],
    Field(max_length=MOST_STEPS, description="Steps that were not reported one by one, in the order they were taken."),
]


class StartTurn(Scoped):
    """A user message that an agent is to act on."""

    text: Annotated[Said, Field(description="What the user says.", examples=["Install lxml in this container."])]
    session: InSession = DEFAULT_SESSION
    agent: Agent = DEFAULT_AGENT
    environment: Annotated[str, Field(max_length=256)] = Field(
        "", description="A name of where the agent works: a host, a repository.", examples=["alpine-ci"]
    )
    task: Literal["auto", "new", "same"] = Field(
        "auto", description="Whether it begins a task or goes on with the one before; `auto` finds out."
    )
    key: Key | None = None
    also: Also = Field(default_factory=list)
    max_tokens: BlockTokens = 1_500
    recall: Flag = Field(True, description="Tell what the agent should know; `false` leaves it out.")
    at: At | None = None


class EndTurn(Scoped):
    """The reply of an agent, and what it did for it."""

    text: str | None = Field(None, description="What the agent answered.", examples=["lxml is installed."])
    steps: Reports = Field(default_factory=list)
    reflection: str | None = Field(None, description="What the agent thinks of how it went.")
    key: Key | None = None
    session: InSession = DEFAULT_SESSION
    agent: Agent = DEFAULT_AGENT
    at: At | None = None


class ReportStep(StepFields, Scoped):
    """One step, as it was taken."""

    session: InSession = DEFAULT_SESSION
    agent: Agent = DEFAULT_AGENT
    also: Also = Field(default_factory=list)
    max_tokens: BlockTokens = 400
    at: At | None = None


class ReportSubagent(Scoped):
    """What another agent did for this one."""

    task: Annotated[Said, Field(description="What it was asked to do.", examples=["Find the failing test."])]
    result: str | None = Field(None, description="What it answered.", examples=["It is test_parse in test_xml.py."])
    name: Annotated[Name, Field(description="Which agent it was.", examples=["searcher"])]
    ok: Flag | None = Field(None, description="Whether it worked.")
    error: str | None = Field(None, description="What went wrong.")
    steps: Reports = Field(default_factory=list)
    key: Key | None = None
    session: InSession = DEFAULT_SESSION
    agent: Agent = DEFAULT_AGENT
    at: At | None = None


class ReportOutcome(Scoped):
    """How a task went: a `score`, a `comment`, or both."""

    score: Annotated[float, Field(ge=-1, le=1), A_NUMBER] | None = Field(
        None, description="From -1 (failed) to 1 (done as wished).", examples=[1]
    )
    comment: str | None = Field(None, description="In words; one that holds beyond the task becomes a directive.")
    source: Literal["user", "verifier"] = Field("user", description="`verifier`: a test or a grader.")
    episode: Id | None = Field(None, description="Which task; without it, the last one of the session.")
    session: InSession = DEFAULT_SESSION
    agent: Agent | None = None
    key: Key | None = None
    at: At | None = None


class EndSession(Scoped):
    """When a session ended."""

    agent: Agent | None = None
    at: At | None = None


@router.post(
    "/turns",
    operation_id="start_turn",
    summary="Begin a turn",
    response_model=TurnStarted,
    responses=writes(),
)
async def start(
    memos: Core, whose: WhoseTooDep, frame: FrameDep, body: StartTurn, idempotency_key: KeyHeader = None
) -> Response:
    """Stores a user message, finds out whether it goes on with the session's task, and tells in `recalled.context` what the agent
    should know: skills, guidance, experience, the world and facts, in one block for the prompt.
    """
    check_messages(frame.options, body.text)
    place = whose.place(body, WRITE)
    begun = await memos.start_turn(
        body.text,
        session=body.session,
        agent=body.agent,
        environment=body.environment,
        task=body.task,
        key=_key(body.key, idempotency_key),
        also=body.also,
        max_tokens=body.max_tokens,
        recall=body.recall,
        at=body.at,
        user=place.user,
        cube=place.cube,
    )
    return reply(begun)


@router.post("/turns/end", operation_id="end_turn", summary="End a turn", response_model=TurnEnded, responses=writes())
async def end(
    memos: Core, whose: WhoseTooDep, frame: FrameDep, body: EndTurn, idempotency_key: KeyHeader = None
) -> Response:
    """Stores the reply, and steps that were not reported one by one. The task stays open for the next turn."""
    check_messages(frame.options, body.text or "")
    _check_steps(frame.options, body.steps)
    place = whose.place(body, WRITE)
    ended = await memos.end_turn(
        body.text,
        steps=_steps(body.steps),
        reflection=body.reflection,
        key=_key(body.key, idempotency_key),
        session=body.session,
        agent=body.agent,
        at=body.at,
        user=place.user,
        cube=place.cube,
    )
    return reply(ended)


@router.post(
    "/steps", operation_id="report_step", summary="Report a step", response_model=StepReported, responses=writes()
)
async def step(memos: Core, whose: WhoseTooDep, frame: FrameDep, body: ReportStep) -> Response:
    """Stores what a tool was given and what came of it. Where the same tool fails again and again, the answer holds a `hint`, and
    in `context` what to show the agent now.
    """
    _check_steps(frame.options, [body])
    place = whose.place(body, WRITE)
    options = body.model_dump(exclude={"user", "cube", "tool", "input", "output"})
    done = await memos.report_step(body.tool, body.input, body.output, **options, user=place.user, cube=place.cube)
    return reply(done)


@router.post(
    "/subagents",
    operation_id="report_subagent",
    summary="Report a sub-agent's work",
    response_model=StepReported,
    responses=writes(),
)
async def subagent(
    memos: Core, whose: WhoseTooDep, frame: FrameDep, body: ReportSubagent, idempotency_key: KeyHeader = None
) -> Response:
    """Stores it as a step; with `steps` of its own it is a task of its own, too, which is learned from like any other."""
    check_messages(frame.options, [body.task, body.result or "", body.error or ""])
    _check_steps(frame.options, body.steps)
    place = whose.place(body, WRITE)
    done = await memos.report_subagent(
        body.task,
        body.result,
        name=body.name,
        ok=body.ok,
        error=body.error,
        steps=_steps(body.steps),
        key=_key(body.key, idempotency_key),
        session=body.session,
        agent=body.agent,
        at=body.at,
        user=place.user,
        cube=place.cube,
    )
    return reply(done)


@router.post(
    "/outcomes",
    operation_id="report_outcome",
    summary="Say how a task went",
    response_model=OutcomeReported,
    responses=writes(),
)
async def outcome(
    memos: Core, whose: WhoseTooDep, frame: FrameDep, body: ReportOutcome, idempotency_key: KeyHeader = None
) -> Response:
    """A person's opinion, or the result of a test. The task may be over and learned from: it is learned from again."""
    check_messages(frame.options, body.comment or "")
    place = whose.place(body, WRITE)
    done = await memos.report_outcome(
        body.score,
        body.comment,
        source=body.source,
        episode=body.episode,
        session=body.session,
        agent=body.agent,
        key=_key(body.key, idempotency_key),
        at=body.at,
        user=place.user,
        cube=place.cube,
    )
    return reply(done)


@sessions.post(
    "/{session}/end",
    operation_id="end_session",
    summary="End a session",
    response_model=SessionEnded,
    responses=writes(),
)
async def end_session(
    memos: Core, whose: WhoseTooDep, session: PathSession, body: EndSession | None = None
) -> Response:
    """Closes the session's open tasks; they are learned from in a while. A later turn may begin it again."""
    place = whose.place(body, WRITE)
    agent, at = (body.agent, body.at) if body is not None else (None, None)
    return reply(await memos.end_session(session, agent=agent, at=at, user=place.user, cube=place.cube))


def _key(body: str | None, header: str | None) -> str | None:
    if header is not None and body not in (None, header):
        raise InvalidInput("the header Idempotency-Key and the field key differ; give one of them")
    return body or header


def _steps(given: list[ReportedStep]) -> list[StepReport]:
    return [StepReport(**step.model_dump()) for step in given]


def _check_steps(options: ServerOptions, steps: list[ReportedStep] | list[ReportStep]) -> None:
    """Raise InvalidInput where a text of a step is longer than a message may be."""
    for number, one in enumerate(steps, 1):
        for name in ("input", "output", "error", "reflection"):
            check_text(options, getattr(one, name), f"{name} of step {number} has")
