"""`memos chat`: a conversation in the terminal that remembers, one question for scripts, or a question a line from a pipe."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memos.cli.state import State, state_of
from memos.errors import InvalidInput

if TYPE_CHECKING:
    from memos.cli.chat_session import Conversation


def chat(
    ctx: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[QUESTION]...", help="Answer this one question; quotes are not needed.", show_default=False
        ),
    ] = None,
    once: Annotated[
        str | None, typer.Option("--once", "-q", help="The same, in one word; `-` reads it from standard input.")
    ] = None,
    session: Annotated[
        str | None, typer.Option("--session", "-s", help="Conversation to go on with (default: a new one).")
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="Model to ask, where several are configured.")
    ] = None,
    system_prompt: Annotated[
        str | None, typer.Option("--system", help="Instructions of your own; {memories} says where memories go.")
    ] = None,
    temperature: Annotated[float | None, typer.Option(help="0 to 2; the provider's own by default.")] = None,
    max_tokens: Annotated[int | None, typer.Option("--max-tokens", min=1, help="Longest answer.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=0, help="Memories looked at; 0: answer without.")] = 20,
    keep: Annotated[bool, typer.Option("--keep/--no-keep", help="Remember the conversation.")] = True,
    full: Annotated[bool, typer.Option("--full", help="With --json: all that is known of the references.")] = False,
) -> None:
    """Talk with a chat model that remembers, or ask it one thing. In the conversation, /help lists what can be asked for.

    The model is set by MEMOS_LLM (or MEMOS_LLM_CHAT). In a pipe, each line is a question; with --json each answer is a line.
    """
    from memos.cli.chat_session import Conversation

    state = state_of(ctx)
    options: dict[str, Any] = {
        "model": model,
        "system_prompt": system_prompt,
        "temperature": temperature,
        "max_tokens": max_tokens,
        "limit": limit,
        "add": keep,
        **state.where,
    }
    question = _question(words or [], once)
    with state.system(background=True) as system:
        name = system.chat_model(model)
        talk = Conversation(system, state, session, options, full=full)
        if question is not None:
            _once(state, talk, question, full=full)
        elif sys.stdin.isatty():
            talk.welcome(name)
            talk.loop(_typed)
        else:
            talk.loop(_piped, strict=True)


def _question(words: list[str], once: str | None) -> str | None:
    """The one question, where one is asked."""
    if words and once is not None:
        raise InvalidInput("ask one question: either as it is, or after --once")
    once = " ".join(words) if words else once
    if once is not None and not once.strip():
        raise InvalidInput("the question is empty")
    if once != "-":
        return once
    text = sys.stdin.buffer.read().decode("utf-8", "replace").strip()
    if not text:
        raise InvalidInput("standard input holds no question")
    return text


def _once(state: State, talk: Conversation, question: str, *, full: bool) -> None:
    if state.json:
        from memos.cli.chat_json import told

        state.answer(told(talk.whole(question), full=full), lambda _: None)
    else:
        talk.ask(question)
        talk.raise_failure()


def _typed() -> str | None:
    """What was typed; None at the end."""
    try:
        return input("you> ")
    except EOFError:
        print()
        return None


def _piped() -> str | None:
    line = sys.stdin.buffer.readline()
    return line.decode("utf-8", "replace").rstrip("\r\n") if line else None
