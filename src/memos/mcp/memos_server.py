"""The sixteen tools of the MCP server of MemOS, by their names and arguments, over the same verbs as ours: switched on with
`--tools memos-server`. What those arguments could do that a tool must not (read or write any path) is not among them.
"""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Literal, cast

from pydantic import Field

from memos.errors import NotFound, Unavailable
from memos.reading.parts import is_blank
from memos.tools.args import Args, Id, Listing, Name, Shown, Text
from memos.tools.door import Door
from memos.tools.memories import Add as AddArgs
from memos.tools.memories import Added, ChatMessage, Got, add, whole
from memos.tools.shapes import Card, card, cards
from memos.tools.tool import Tool

User = Annotated[Name | None, Field(description="Whose memory; by default this connection's user.")]
CubeId = Annotated[Name, Field(description="Name of a cube.")]


class Said(Listing):
    """What was done, in words."""

    message: str
    cubes: list[str] = Field(default_factory=list)


class Chat(Args):
    """Arguments of chat."""

    query: Text
    user_id: User = None


class Reply(Shown):
    """An answer."""

    answer: str


async def chat(door: Door, asked: Chat) -> Reply:
    """Answer with what is remembered, and remember both."""
    door = door.as_user(asked.user_id)
    done = await door.system.chat(asked.query, session=door.session, **door.where())
    return Reply(answer=done.text)


class CreateUser(Args):
    """Arguments of create_user."""

    user_id: Name
    role: Literal["USER", "ADMIN", "ROOT", "GUEST"] | None = Field(
        default=None, description="Kept as a note; rights come from keys."
    )
    user_name: Name | None = None


async def create_user(door: Door, asked: CreateUser) -> Said:
    """A user with a cube of their own."""
    door.as_user(asked.user_id)
    info = {"role": asked.role or "USER", **({"name": asked.user_name} if asked.user_name else {})}
    maker: Any = door.system.accounts if door.local else door.system
    made = await maker.create_user(asked.user_id, info=info)
    return Said(message=f"user {made.name!r} was made, with a cube of the same name", cubes=[made.name])


class CreateCube(Args):
    """Arguments of create_cube."""

    cube_name: Name
    owner_id: Name
    cube_path: str | None = Field(
        default=None, max_length=1_000, description="Not used: cubes live in the data folder."
    )
    cube_id: Name | None = Field(default=None, description="Its name, if other than cube_name.")


async def create_cube(door: Door, asked: CreateCube) -> Said:
    """A new cube."""
    door = door.as_user(asked.owner_id)
    made = await door.system.create_cube(asked.cube_id or asked.cube_name, **door.who())
    note = "; cube_path is not used, it lives in the data folder" if asked.cube_path else ""
    return Said(message=f"cube {made.name!r} was made for {made.owner!r}{note}", cubes=[made.name])


class RegisterCube(Args):
    """Arguments of register_cube."""

    cube_name_or_path: Name
    cube_id: Name | None = None
    user_id: User = None


async def register_cube(door: Door, asked: RegisterCube) -> Said:
    """Open a cube by name, or make it where there is none."""
    door = door.as_user(asked.user_id)
    name = asked.cube_id or asked.cube_name_or_path
    try:
        found = await door.system.open_cube(name, **door.who())
    except NotFound:
        made = await door.system.create_cube(name, **door.who())
        return Said(message=f"there was no cube {made.name!r}; it was made", cubes=[made.name])
    return Said(message=f"cube {found.name!r} is there", cubes=[found.name])


class OfCube(Args):
    """A cube, and whose it is."""

    cube_id: CubeId
    user_id: User = None


async def unregister_cube(door: Door, asked: OfCube) -> Said:
    """Nothing is kept loaded, so nothing is let go of."""
    door = door.as_user(asked.user_id)
    found = await door.system.open_cube(asked.cube_id, **door.who())
    return Said(message=f"cube {found.name!r} stays where it is; it is opened when it is used", cubes=[found.name])


class SearchMemories(Args):
    """Arguments of search_memories."""

    query: Text
    user_id: User = None
    cube_ids: list[Name] | None = Field(default=None, max_length=50)
    filter: dict[str, Any] | None = Field(default=None, description="A filter of memories, as in docs/filters.md.")


class Hit(Shown):
    """A memory found."""

    memory: Card
    cube_id: str
    score: float


class Hits(Listing):
    """What was found."""

    memories: list[Hit] = Field(default_factory=list)
    status: str = "nothing"
    reasons: list[str] = Field(default_factory=list)


async def search_memories(door: Door, asked: SearchMemories) -> Hits:
    """Find memories, in one cube or several."""
    door = door.as_user(asked.user_id)
    where: dict[str, Any] = {**door.who(), "cubes": list(asked.cube_ids)} if asked.cube_ids else door.where()
    found = await door.system.search(asked.query, filter=asked.filter or None, **where)
    hits = [Hit(memory=card(hit.memory), cube_id=hit.cube, score=round(hit.score, 4)) for hit in found.hits]
    return Hits(memories=hits, status=found.status.value, reasons=list(found.reasons))


class AddMemory(Args):
    """Arguments of add_memory."""

    memory_content: str | None = Field(default=None, max_length=200_000)
    messages: list[ChatMessage] | None = Field(default=None, max_length=1_000)
    cube_id: Name | None = None
    user_id: User = None


async def add_memory(door: Door, asked: AddMemory) -> Added:
    """Store a text, or messages."""
    door = door.as_user(asked.user_id)
    messages = [*(asked.messages or [])]
    if asked.memory_content is not None and not is_blank(asked.memory_content):
        messages.insert(0, ChatMessage(content=asked.memory_content))
    if not messages:
        return Added(status="nothing_stored", notices=["give memory_content or messages"])
    return await add(door, AddArgs(content=messages, cube=asked.cube_id))


class OfMemory(Args):
    """A memory."""

    cube_id: CubeId
    memory_id: Id
    user_id: User = None


async def get_memory(door: Door, asked: OfMemory) -> Got:
    """A memory, whole as far as it fits; `memos_get` reads on."""
    door = door.as_user(asked.user_id)
    return whole(door, await door.system.get(asked.memory_id, **door.where(asked.cube_id)), None)


class UpdateMemory(Args):
    """Arguments of update_memory."""

    cube_id: CubeId
    memory_id: Id
    memory_content: Text
    user_id: User = None


async def update_memory(door: Door, asked: UpdateMemory) -> Got:
    """Change the text of a memory."""
    door = door.as_user(asked.user_id)
    where = door.where(asked.cube_id)
    return whole(
        door, await door.system.update(asked.memory_id, text=asked.memory_content, cause="update_memory", **where), None
    )


async def delete_memory(door: Door, asked: OfMemory) -> Said:
    """Delete one memory."""
    door = door.as_user(asked.user_id)
    done = await door.system.delete([asked.memory_id], **door.where(asked.cube_id))
    return Said(message=f"the memory is deleted, and {done.cascaded} that rested on it")


async def delete_all_memories(door: Door, asked: OfCube) -> Said:
    """Delete everything in a cube."""
    door = door.as_user(asked.user_id)
    done = await door.system.delete(everything=True, **door.where(asked.cube_id))
    return Said(message=f"{done.memories} memories of cube {done.cube!r} are deleted", cubes=[done.cube])


class OfUser(Args):
    """A user."""

    user_id: User = None


async def clear_chat_history(door: Door, asked: OfUser) -> Said:
    """There is no history beside the memories."""
    door.as_user(asked.user_id)
    return Said(message="no history is kept beside the memories; memos_delete and memos_forget take those away")


class DumpCube(Args):
    """Arguments of dump_cube."""

    dump_dir: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$", description="Name of a folder inside the data folder's 'dumps'."
    )
    user_id: User = None
    cube_id: Name | None = None


async def dump_cube(door: Door, asked: DumpCube) -> Said:
    """Write a cube to an archive, in a folder of ours."""
    dumps = door.dumps
    if dumps is None:
        raise Unavailable("a server writes no files for a tool; fetch the archive at GET /v1/cubes/NAME/archive")
    door = door.as_user(asked.user_id)
    info = await door.system.stats(**door.where(asked.cube_id))
    folder = dumps / asked.dump_dir
    await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
    name = "".join(sign if sign.isalnum() or sign in "-_" else "_" for sign in info.cube)[:80]
    target = folder / f"{name}.zip"
    report = await door.system.export_cube(target, overwrite=True, **door.where(asked.cube_id))
    return Said(message=f"{report.memories} memories are in {target} ({report.bytes:,} bytes)", cubes=[info.cube])


class ShareCube(Args):
    """Arguments of share_cube."""

    cube_id: CubeId
    target_user_id: Name


async def share_cube(door: Door, asked: ShareCube) -> Said:
    """Let another user read a cube."""
    if asked.target_user_id == door.user:
        return Said(message="it is this user's own cube", cubes=[asked.cube_id])
    found = await door.system.share(asked.cube_id, asked.target_user_id, "read", **door.who())
    return Said(message=f"{asked.target_user_id!r} may read cube {found.name!r}", cubes=[found.name])


class UserInfo(Listing):
    """A user."""

    user_id: str
    cubes: list[str] = Field(default_factory=list)
    memories: list[Card] = Field(default_factory=list, description="The newest of the own cube.")


async def get_user_info(door: Door, asked: OfUser) -> UserInfo:
    """A user, the cubes, and the newest memories."""
    door = door.as_user(asked.user_id)
    found = await door.system.list_cubes(**door.who())
    newest = (await door.system.list(limit=5, **door.who())).items
    name = door.user or (await cast("Any", door.system).me()).acting_as
    return UserInfo(user_id=name, cubes=[cube.name for cube in found], memories=cards(newest, 200))


class Control(Args):
    """Arguments of control_memory_scheduler."""

    action: Literal["start", "stop"]


async def control_memory_scheduler(door: Door, asked: Control) -> Said:
    """Background work is a matter of the process, not of a tool."""
    return Said(
        message=f"nothing was changed by {asked.action!r}: background work runs by itself (`memos tasks`, MEMOS_WORKERS)"
    )


TOOLS: tuple[Tool[Any], ...] = (
    Tool("chat", "Chat with memory", "Answer a question with what is remembered, and remember both.", Chat, Reply, chat,
         outside=True),
    Tool("create_user", "Make a user", "Make a user, with a cube of the same name.", CreateUser, Said, create_user),
    Tool("create_cube", "Make a cube", "Make a cube for a user.", CreateCube, Said, create_cube),
    Tool("register_cube", "Open a cube", "Open a cube by name; it is made where there is none.", RegisterCube, Said,
         register_cube, again=True),
    Tool("unregister_cube", "Let go of a cube", "Let go of a cube. Nothing is deleted.", OfCube, Said, unregister_cube,
         reads=True),
    Tool("search_memories", "Search memories", "Find memories, in one cube or several.", SearchMemories, Hits, search_memories,
         reads=True),
    Tool("add_memory", "Add memory", "Store a text or messages.", AddMemory, Added, add_memory),
    Tool("get_memory", "Read a memory", "A memory by id.", OfMemory, Got, get_memory, reads=True),
    Tool("update_memory", "Change a memory", "Change the text of a memory; the former one stays in its history.", UpdateMemory,
         Got, update_memory, destroys=True, again=True),
    Tool("delete_memory", "Delete a memory", "Delete a memory by id.", OfMemory, Said, delete_memory, destroys=True),
    Tool("delete_all_memories", "Delete all memories", "Delete everything in a cube. Ask the user before.", OfCube, Said,
         delete_all_memories, destroys=True, again=True),
    Tool("clear_chat_history", "Clear chat history", "No history is kept beside the memories; says so.", OfUser, Said,
         clear_chat_history, reads=True),
    Tool("dump_cube", "Dump a cube", "Write a cube to an archive in the data folder.", DumpCube, Said, dump_cube, again=True),
    Tool("share_cube", "Share a cube", "Let another user read a cube.", ShareCube, Said, share_cube, again=True),
    Tool("get_user_info", "About a user", "A user, the cubes, and the newest memories.", OfUser, UserInfo,
         get_user_info, reads=True),
    Tool("control_memory_scheduler", "Control background work", "Background work runs by itself; says so.", Control, Said,
         control_memory_scheduler, reads=True),
)  # fmt: skip
