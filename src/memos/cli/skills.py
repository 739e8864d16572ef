"""`memos skills`: list, show, look behind, edit, retire, take out and in as folders, and share them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memos.cli.policies import Cube, Everything, Limit, Reason, States, TakeBack, states_of
from memos.cli.state import print_all, state_of
from memos.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from memos.cli.state import State
    from memos.memory.learned import Skill
    from memos.memory.learned import State as Stage
    from memos.sync import MemOS

app = typer.Typer(
    help="Skills: list, show, evidence, history, edit, retire, restore, export, import, publish.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
_TEXTS = ("name", "description", "verification", "environment", "license", "guide")
_LISTS = ("preconditions", "procedure", "pitfalls", "examples", "parameters", "tools")
_SET = (
    "FIELD=VALUE; may be repeated. Texts: "
    + ", ".join(_TEXTS)
    + ". Lists: "
    + ", ".join(_LISTS)
    + "; a list takes one "
    "text, or JSON for several: 'pitfalls=Never as root', 'pitfalls=[\"…\", \"…\"]'."
)
SkillName = Annotated[str, typer.Argument(metavar="NAME", help="A skill: its name, its id, or a part of its id.")]


@app.command("list")
def list_skills(
    ctx: typer.Context,
    query: Annotated[
        list[str] | None,
        typer.Argument(metavar="[QUERY]...", help="What they should answer (without: all).", show_default=False),
    ] = None,
    states: States = None,
    everything: Everything = False,
    limit: Limit = 100,
) -> None:
    """Skills in use: those that answer a question, best first, or all, the most reliable first."""
    from memos.cli import render_learned

    state = state_of(ctx)
    question, chosen = " ".join(query) if query else None, states_of(states, everything)
    with state.system() as system:
        found = system.skills(question, states=chosen, limit=limit, **state.where)
        hidden = 0
        if chosen is None and question is None and not state.json:
            hidden = len(system.skills(states=["retired"], limit=1_000, **state.where))
    state.answer(found, print_all(render_learned.skills(found), *render_learned.left_out(hidden)))


@app.command("show")
def show(ctx: typer.Context, name: SkillName) -> None:
    """One skill: its guide, and how reliable it proved to be."""
    from memos.cli import render_learned

    state = state_of(ctx)
    with state.system() as system:
        found = the_skill(system, state, name)
    state.answer(found, print_all(*render_learned.skill(found)))


@app.command("evidence")
def evidence(ctx: typer.Context, name: SkillName) -> None:
    """What a skill rests on, as a tree: policies, and the steps of episodes that they were learned from."""
    from memos.cli import render_lineage

    state = state_of(ctx)
    with state.system() as system:
        found = system.lineage(the_skill(system, state, name).id, **state.where)
    state.answer(found, print_all(*render_lineage.lineage(found)))


@app.command("history")
def history(ctx: typer.Context, name: SkillName) -> None:
    """Every version of a skill: who changed it, how, why and when."""
    from memos.cli import render

    state = state_of(ctx)
    with state.system() as system:
        versions = system.history(the_skill(system, state, name).id, **state.where)
    state.answer(versions, print_all(render.history(versions)))


@app.command("retire")
def retire(ctx: typer.Context, name: SkillName, reason: Reason = "") -> None:
    """Have a skill not used any more. Learning does not bring it back."""
    from memos.memory.learned import State

    _set_state(ctx, name, State.RETIRED, reason)


@app.command("restore")
def restore(
    ctx: typer.Context,
    name: SkillName,
    reason: Reason = "",
    probation: Annotated[bool, typer.Option("--probation", help="On probation, instead of active.")] = False,
) -> None:
    """Bring a skill back. Learning does not retire it again."""
    from memos.memory.learned import State

    _set_state(ctx, name, State.PROBATION if probation else State.ACTIVE, reason)


@app.command("edit")
def edit(
    ctx: typer.Context,
    name: SkillName,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file", "-f", help="A text, shown from then on as the guide; or JSON with fields.", dir_okay=False
        ),
    ] = None,
    fields: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help=_SET,
        ),
    ] = None,
    if_version: Annotated[
        int | None, typer.Option("--if-version", min=1, help="Only while it has this version.", show_default=False)
    ] = None,
) -> None:
    """Change a skill, by --set, by --file, or in your editor. Learning never overwrites what you wrote."""
    from memos.cli import render_learned

    state = state_of(ctx)
    changes = {**(_of_file(file) if file is not None else {}), **_of_pairs(fields or [])}
    with state.system() as system:
        found = the_skill(system, state, name)
        if not changes:
            changes = _from_editor(found, state)
        version = if_version or found.memory.version
        done = system.edit_skill(found.id, changes, if_version=version, **state.where)
    saved = f"saved as version {done.memory.version}"
    state.answer(done, print_all(*render_learned.skill(done), saved))


@app.command("export")
def export(
    ctx: typer.Context,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Which (without: all in use).", show_default=False)
    ] = None,
    to: Annotated[Path, typer.Option("--to", "-o", help="Folder to write to; with --zip, the file.")] = Path("skills"),
    as_zip: Annotated[bool, typer.Option("--zip", help="One zip file, instead of folders.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")] = False,
) -> None:
    """Write skills as folders with SKILL.md, which other agents read, too."""
    state = state_of(ctx)
    with state.system() as system:
        chosen = [the_skill(system, state, n).name for n in names] if names else None
        written = system.export_skills(to, names=chosen, zip=as_zip, overwrite=overwrite, **state.where)
    paths = [to] if isinstance(written, bytes) else written
    state.answer(paths, print_all(*(f"wrote {path}" for path in paths), *([] if paths else ["no skills to write"])))


@app.command("import")
def take_in(
    ctx: typer.Context,
    source: Annotated[str, typer.Argument(help="A folder with SKILL.md (or of such folders), a zip, or a SKILL.md.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be stored.")] = False,
) -> None:
    """Read skills from a folder, a zip or a SKILL.md; they begin on probation."""
    from memos.cli import render_learned

    state = state_of(ctx)
    path = Path(source)
    if not path.exists():
        raise InvalidInput(f"{source} is neither a file nor a folder")
    with state.system() as system:
        found = system.import_skills(path, dry_run=dry_run, **state.where)
    state.answer(found, print_all(render_learned.skills(found)))


@app.command("publish")
def publish(
    ctx: typer.Context,
    name: SkillName,
    to: Cube,
    take_back: TakeBack = False,
) -> None:
    """Share a skill with another cube: a copy there, whose trials count here."""
    from memos.cli.render_learned import published, taken_back

    state = state_of(ctx)
    with state.system() as system:
        found = the_skill(system, state, name)
        if take_back:
            count = system.unpublish(found.id, to, **state.where)
            return state.answer({"count": count}, print_all(taken_back(count, to)))
        done = system.publish(found.id, to, **state.where)
    return state.answer(done, print_all(published(found.name, done)))


def the_skill(system: MemOS, state: State, name: str) -> Skill:
    """A skill by its name, its id or a part of its id. Raises NotFound."""
    from memos.cli.lookup import could_be_id, whole_id

    try:
        return system.skill(name, **state.where)
    except NotFound:
        if not could_be_id(name):
            raise NotFound(f"no skill of this cube is called {name!r}; `memos skills list` shows them") from None
    return system.skill(whole_id(system, state, name), **state.where)


def _set_state(ctx: typer.Context, name: str, to: Stage, reason: str) -> None:
    from memos.cli import render_learned

    state = state_of(ctx)
    with state.system() as system:
        done = system.set_state(the_skill(system, state, name).id, to, reason=reason, **state.where)
    state.answer(done, print_all(render_learned.now(done, to)))


def _of_pairs(pairs: list[str]) -> dict[str, Any]:
    """The fields that --set names. A list takes JSON, or a text as one item; said again, another item."""
    out: dict[str, Any] = {}
    for pair in pairs:
        field, sign, value = pair.partition("=")
        field = field.strip()
        if not sign or not field:
            raise InvalidInput(f"--set takes FIELD=VALUE, got {pair!r}; fields: {', '.join((*_TEXTS, *_LISTS))}")
        if field in _LISTS:
            out[field] = [*out.get(field, ()), *_items(field, value)]
        elif field == "edited":
            out[field] = {"true": True, "false": False}.get(value.strip().casefold(), value)
        else:
            out[field] = value
    return out


def _items(field: str, value: str) -> list[Any]:
    """The items of a list that were given as JSON, or the one that was given as a text."""
    try:
        read = json.loads(value)
    except (ValueError, RecursionError):
        read = None
    if isinstance(read, list):
        return read
    if isinstance(read, dict):
        return [read]
    value = read if isinstance(read, str) else value
    return [
        {"tool": "", "input": value} if field == "procedure" else {"name": value} if field == "parameters" else value
    ]


def _of_file(file: Path) -> dict[str, Any]:
    """What a file says: fields where it is JSON, else a guide."""
    try:
        text = file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as e:
        raise InvalidInput(f"{file} cannot be read: {e}") from None
    if file.suffix.lower() != ".json":
        return {"guide": text}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as e:
        raise InvalidInput(f"{file} is not JSON ({e})") from None
    if not isinstance(value, dict):
        raise InvalidInput(f"{file} is a JSON object of fields, got {text[:60]!r}")
    return value


def _from_editor(found: Skill, state: State) -> dict[str, Any]:
    """The guide as it is after an editor was closed. Raises InvalidInput where nobody is there to write."""
    from memos.cli.editor import edited
    from memos.cli.memories import can_ask
    from memos.text.guide import render

    if not can_ask(state):
        raise InvalidInput(f"say what to change: --set FIELD=VALUE, or --file. Fields: {', '.join((*_TEXTS, *_LISTS))}")
    text = edited(render(found.body))
    if text is None:
        raise typer.Exit(1)
    return {"guide": text}
