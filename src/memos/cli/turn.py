"""`memos turn`: what an agent reports, from a shell: turns, steps, sub-agents, outcomes, and what it should know."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from memos.cli.state import print_all, state_of
from memos.errors import InvalidInput

app = typer.Typer(
    help="What an agent reports, from a shell: start, step, subagent, end, outcome, end-session, recall.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Session = Annotated[str, typer.Option("--session", "-s", help="The conversation the agent is in.")]
Agent = Annotated[str, typer.Option("--agent", help="Which agent reports.")]
Key = Annotated[str | None, typer.Option("--key", help="The same again does nothing twice.", show_default=False)]
At = Annotated[str | None, typer.Option("--at", help="When it happened (default: now).", show_default=False)]
Environment = Annotated[
    str, typer.Option("--environment", "-e", help="A name of where the agent works.", show_default=False)
]
Also = Annotated[list[str] | None, typer.Option("--also", help="A further cube to recall from; may be repeated.")]
Tokens = Annotated[int, typer.Option("--max-tokens", min=1, help="Budget of the context block.")]
Ok = Annotated[
    bool | None,
    typer.Option("--ok/--failed", help="Whether it worked (default: an --error says no).", show_default=False),
]
Error = Annotated[str | None, typer.Option("--error", help="What went wrong; `-`: from standard input.")]
Reflection = Annotated[str | None, typer.Option("--reflection", help="What the agent thinks of it.")]
StepsFile = Annotated[
    Path | None,
    typer.Option("--steps", help="JSON list of steps that were not reported one by one.", dir_okay=False),
]
Text = Annotated[list[str], typer.Argument(metavar="TEXT...", help="What the user says; `-`: from standard input.")]


@app.command("start")
def start(
    ctx: typer.Context,
    text: Text,
    session: Session = "default",
    agent: Agent = "agent",
    environment: Environment = "",
    task: Annotated[str, typer.Option("--task", help="new, same, or auto: find out.")] = "auto",
    key: Key = None,
    also: Also = None,
    max_tokens: Tokens = 1_500,
    recall: Annotated[bool, typer.Option("--recall/--no-recall", help="Print what the agent should know.")] = True,
    at: At = None,
) -> None:
    """A user message came in: store it, and print the block of what the agent should know."""
    from memos.cli import render_turns

    state = state_of(ctx)
    if task not in ("auto", "new", "same"):
        raise InvalidInput(f"--task is auto, new or same, got {task!r}")
    chosen: Literal["auto", "new", "same"] = task  # type: ignore[assignment]
    with state.system() as system:
        begun = system.start_turn(
            _text(text),
            session=session,
            agent=agent,
            environment=environment,
            task=chosen,
            key=key,
            also=also or (),
            max_tokens=max_tokens,
            recall=recall,
            at=at,
            **state.where,
        )
    state.tell(render_turns.started(begun))
    state.answer(begun, lambda out: render_turns.block(out, begun.recalled.context))


@app.command("step")
def step(
    ctx: typer.Context,
    tool: Annotated[str, typer.Argument(help="Which tool was called.")],
    input: Annotated[str | None, typer.Option("--input", "-i", help="What it was given.")] = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="What came of it; `-`: from standard input.")
    ] = None,
    error: Error = None,
    ok: Ok = None,
    duration: Annotated[float | None, typer.Option("--duration", min=0, help="Seconds it took.")] = None,
    call_id: Annotated[str | None, typer.Option("--call-id", help="The provider's id; stored once under it.")] = None,
    reflection: Reflection = None,
    session: Session = "default",
    agent: Agent = "agent",
    also: Also = None,
    max_tokens: Tokens = 400,
    at: At = None,
) -> None:
    """A tool was called: store it, and print advice where it fails again and again."""
    from memos.cli import render_turns

    state = state_of(ctx)
    if [input, output, error].count("-") > 1:
        raise InvalidInput("only one of --input, --output and --error can be read from standard input")
    with state.system() as system:
        done = system.report_step(
            tool,
            _piped(input),
            _piped(output),
            error=_piped(error),
            ok=ok,
            duration=duration,
            call_id=call_id,
            reflection=reflection,
            session=session,
            agent=agent,
            also=also or (),
            max_tokens=max_tokens,
            at=at,
            **state.where,
        )
    state.tell(render_turns.stepped(done))
    state.answer(done, lambda out: render_turns.block(out, done.context))


@app.command("subagent")
def subagent(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="Which agent it was.")],
    task: Annotated[str, typer.Argument(help="What it was asked to do.")],
    result: Annotated[
        str | None, typer.Option("--result", "-r", help="What it answered; `-`: from standard input.")
    ] = None,
    error: Annotated[str | None, typer.Option("--error", help="What went wrong.")] = None,
    ok: Ok = None,
    steps: StepsFile = None,
    key: Key = None,
    session: Session = "default",
    agent: Agent = "agent",
    at: At = None,
) -> None:
    """Another agent finished what it was asked to: store it as a step, with its own steps as an episode."""
    from memos.cli import render_turns

    state = state_of(ctx)
    with state.system() as system:
        done = system.report_subagent(
            task,
            _piped(result),
            name=name,
            ok=ok,
            error=error,
            steps=_steps(steps),
            key=key,
            session=session,
            agent=agent,
            at=at,
            **state.where,
        )
    state.answer(done, print_all(render_turns.stepped(done)))


@app.command("end")
def end(
    ctx: typer.Context,
    text: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TEXT]...", help="What the agent answered; `-`: from standard input."),
    ] = None,
    steps: StepsFile = None,
    reflection: Reflection = None,
    key: Key = None,
    session: Session = "default",
    agent: Agent = "agent",
    at: At = None,
) -> None:
    """The turn is over: store the reply, and steps that were not reported one by one."""
    from memos.cli import render_turns

    state = state_of(ctx)
    with state.system() as system:
        done = system.end_turn(
            _text(text) if text else None,
            steps=_steps(steps),
            reflection=reflection,
            key=key,
            session=session,
            agent=agent,
            at=at,
            **state.where,
        )
    state.answer(done, print_all(render_turns.ended(done)))


@app.command("outcome")
def outcome(
    ctx: typer.Context,
    comment: Annotated[
        list[str] | None, typer.Argument(metavar="[COMMENT]...", help="In words, from which the score is read.")
    ] = None,
    score: Annotated[
        float | None, typer.Option("--score", min=-1, max=1, help="From -1 (failed) to 1 (done as wished).")
    ] = None,
    source: Annotated[str, typer.Option("--source", help="user, or verifier: a test or a grader.")] = "user",
    episode: Annotated[
        str | None, typer.Option("--episode", help="Id of the episode (default: the session's last).")
    ] = None,
    key: Key = None,
    session: Session = "default",
    agent: Annotated[str | None, typer.Option("--agent", help="Only of this agent.")] = None,
    at: At = None,
) -> None:
    """Say how a task went, by a score, in words, or both; also when it is over already."""
    from memos.cli import render_turns
    from memos.cli.lookup import whole_episode_id

    state = state_of(ctx)
    if source not in ("user", "verifier"):
        raise InvalidInput(f"--source is user or verifier, got {source!r}")
    by: Literal["user", "verifier"] = source  # type: ignore[assignment]
    with state.system() as system:
        done = system.report_outcome(
            score,
            _text(comment) if comment else None,
            source=by,
            episode=whole_episode_id(system, state, episode) if episode is not None else None,
            session=session,
            agent=agent,
            key=key,
            at=at,
            **state.where,
        )
    state.answer(done, print_all(render_turns.judged(done)))


@app.command("end-session")
def end_session(
    ctx: typer.Context,
    session: Annotated[
        str | None, typer.Argument(metavar="[SESSION]", help="The conversation that is over.", show_default=False)
    ] = None,
    named: Annotated[
        str | None, typer.Option("--session", "-s", help="The same, as the other commands take it.", show_default=False)
    ] = None,
    agent: Annotated[str | None, typer.Option("--agent", help="Only of this agent.")] = None,
    at: At = None,
) -> None:
    """The session is over: its open episodes are closed, and learned from in a while."""
    from memos.cli.render import many, safe

    state = state_of(ctx)
    if session is not None and named is not None and session != named:
        raise InvalidInput(f"name one session, got {session!r} and --session {named!r}")
    with state.system() as system:
        done = system.end_session(session or named or "default", agent=agent, at=at, **state.where)
    state.answer(done, print_all(f"closed {many(len(done.episodes), 'episode')} of session {safe(done.session)}"))


@app.command("recall")
def recall(
    ctx: typer.Context,
    query: Annotated[list[str], typer.Argument(metavar="QUERY...", help="A goal, a message, a tool's input.")],
    trigger: Annotated[str, typer.Option("--trigger", help="turn, tool, subagent, repair or skill.")] = "turn",
    tool: Annotated[str | None, typer.Option("--tool", help="The tool that is about to be called, or failed.")] = None,
    error: Error = None,
    tier: Annotated[
        list[str] | None,
        typer.Option("--tier", help="Only this tier (skill, guidance, experience, world, fact); may be repeated."),
    ] = None,
    session: Session = "default",
    agent: Agent = "agent",
    environment: Environment = "",
    also: Also = None,
    max_tokens: Tokens = 1_500,
) -> None:
    """Print the block of what an agent should know before it goes on."""
    from memos.cli import render_turns
    from memos.cli.wording import in_cli_words

    state = state_of(ctx)
    with state.system() as system:
        found = system.recall(
            " ".join(query),
            trigger=trigger,
            session=session,
            agent=agent,
            environment=environment,
            tool=tool,
            error=_piped(error),
            tiers=tier or None,
            also=also or (),
            max_tokens=max_tokens,
            **state.where,
        )
    for reason in found.reasons:
        state.tell(f"memos: note: {in_cli_words(reason)}")
    state.answer(found, lambda out: render_turns.block(out, found.context))


def _text(words: list[str]) -> str:
    text = " ".join(words)
    return _piped(text) or "" if text == "-" else text


def _piped(text: str | None) -> str | None:
    """An option's text, `-` read from standard input."""
    return sys.stdin.read() if text == "-" else text


def _steps(file: Path | None) -> list[dict[str, Any]]:
    """The steps of a JSON file. Raises InvalidInput."""
    if file is None:
        return []
    try:
        value = json.loads(file.read_text("utf-8-sig"))
    except (OSError, ValueError, RecursionError) as e:
        raise InvalidInput(f"{file} is no JSON that can be read: {e}") from None
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise InvalidInput(
            f'{file} is a JSON list of steps, such as [{{"tool": "bash", "input": "ls", "output": "a"}}]'
        )
    return value
