"""The nine tools of the MCP reference memory server, by their names, arguments and answers, over a cube (`--mode reference`)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field

from memos.errors import NotFound
from memos.mcp.graph import Held, held, known, remove, store
from memos.moving.graph_file import TAG, Tie, entity_message, observation_message, relation_message
from memos.tools.args import Args, Listing, Shown, Text
from memos.tools.door import Door
from memos.tools.tool import Tool

_MOST = 1_000
Label = Annotated[Text, Field(max_length=1_000)]


class EntityArgs(Args):
    """An entity."""

    name: Label = Field(description="The name of the entity.")
    entityType: Label = Field(description="The type of the entity.")
    observations: list[Text] = Field(max_length=_MOST, description="What is known of it, a sentence each.")


class RelationArgs(Args):
    """A relation between two entities, in the active voice."""

    model_config = ConfigDict(populate_by_name=False)

    src: Label = Field(alias="from", description="Name of the entity where it starts.")
    to: Label = Field(description="Name of the entity where it ends.")
    relationType: Label = Field(description="What it is, in the active voice.")


class Entity(Shown):
    """An entity as it is kept."""

    name: str
    entityType: str
    observations: list[str]


class Relation(Shown):
    """A relation as it is kept."""

    model_config = ConfigDict(serialize_by_alias=True, validate_by_name=True)

    src: str = Field(serialization_alias="from")
    to: str
    relationType: str


class Entities(Listing):
    """Those that are new."""

    entities: list[Entity] = Field(default_factory=list)


class Relations(Listing):
    """Those that are new."""

    relations: list[Relation] = Field(default_factory=list)


class Graph(Listing):
    """Entities and relations."""

    entities: list[Entity] = Field(default_factory=list)
    relations: list[Relation] = Field(default_factory=list)


class Done(Shown):
    """That it was done."""

    success: bool = True
    message: str


class CreateEntities(Args):
    """Arguments of create_entities."""

    entities: list[EntityArgs] = Field(max_length=_MOST)


async def create_entities(door: Door, asked: CreateEntities) -> Entities:
    """New entities; one whose name is there is left as it is."""
    there = await known(door, (one.name for one in asked.entities))
    fresh = list({one.name: one for one in reversed(asked.entities) if one.name not in there}.values())[::-1]
    await store(
        door,
        [
            message
            for one in fresh
            for message in (
                entity_message(one.name, one.entityType),
                *(observation_message(one.name, text) for text in one.observations),
            )
        ],
    )
    return Entities(
        entities=[Entity(name=e.name, entityType=e.entityType, observations=list(e.observations)) for e in fresh]
    )


class CreateRelations(Args):
    """Arguments of create_relations."""

    relations: list[RelationArgs] = Field(max_length=_MOST)


async def create_relations(door: Door, asked: CreateRelations) -> Relations:
    """New relations; those that are there are left as they are."""
    ties = [Tie(one.src, one.to, one.relationType) for one in asked.relations]
    new = await store(door, [relation_message(tie) for tie in ties])
    return Relations(relations=[_relation(tie) for tie, fresh in zip(ties, new, strict=True) if fresh])


class Told(Args):
    """Observations of an entity."""

    entityName: Label
    contents: list[Text] = Field(max_length=_MOST)


class AddObservations(Args):
    """Arguments of add_observations."""

    observations: list[Told] = Field(max_length=_MOST)


class AddedTo(Shown):
    """What is new of an entity."""

    entityName: str
    addedObservations: list[str]


class Results(Listing):
    """What is new, entity by entity."""

    results: list[AddedTo] = Field(default_factory=list)


async def add_observations(door: Door, asked: AddObservations) -> Results:
    """New observations of entities that are there. None is added when one of the entities is not."""
    there = await known(door, (one.entityName for one in asked.observations))
    if missing := [one.entityName for one in asked.observations if one.entityName not in there]:
        raise NotFound(f"entityName: there is no entity {missing[0]!r:.120}; make it with create_entities")
    results = []
    for one in asked.observations:
        new = await store(door, [observation_message(one.entityName, text) for text in one.contents])
        added = [text for text, fresh in zip(one.contents, new, strict=True) if fresh]
        results.append(AddedTo(entityName=one.entityName, addedObservations=added))
    return Results(results=results)


class DeleteEntities(Args):
    """Arguments of delete_entities."""

    entityNames: list[Label] = Field(max_length=_MOST)


async def delete_entities(door: Door, asked: DeleteEntities) -> Done:
    """Entities with their observations and relations. Those that are not there are passed over."""
    graph = await held(door)
    await remove(door, [id for name in asked.entityNames for id in graph.about(name)])
    gone = len({name for name in asked.entityNames if name in graph.nodes})
    return Done(message=f"{gone} of {len({*asked.entityNames})} entities were there, and are deleted")


class Unsaid(Args):
    """Observations to delete."""

    entityName: Label
    observations: list[Text] = Field(max_length=_MOST)


class DeleteObservations(Args):
    """Arguments of delete_observations."""

    deletions: list[Unsaid] = Field(max_length=_MOST)


async def delete_observations(door: Door, asked: DeleteObservations) -> Done:
    """Observations, by entity and words."""
    graph = await held(door)
    keys = [("observation", one.entityName, text) for one in asked.deletions for text in one.observations]
    await remove(door, [id for key in keys for id in graph.ids.get(key, ())])
    gone = sum(key in graph.ids for key in dict.fromkeys(keys))
    return Done(message=f"{gone} of {len(dict.fromkeys(keys))} observations were there, and are deleted")


class DeleteRelations(Args):
    """Arguments of delete_relations."""

    relations: list[RelationArgs] = Field(max_length=_MOST)


async def delete_relations(door: Door, asked: DeleteRelations) -> Done:
    """Relations, as they were made."""
    graph = await held(door)
    keys = [("relation", one.src, one.to, one.relationType) for one in asked.relations]
    await remove(door, [id for key in keys for id in graph.ids.get(key, ())])
    gone = sum(key in graph.ids for key in dict.fromkeys(keys))
    return Done(message=f"{gone} of {len(dict.fromkeys(keys))} relations were there, and are deleted")


class ReadGraph(Args):
    """No arguments."""


async def read_graph(door: Door, asked: ReadGraph) -> Graph:
    """The whole graph, as far as it fits."""
    return _graph(await held(door))


class SearchNodes(Args):
    """Arguments of search_nodes."""

    query: str = Field(max_length=20_000, description="Matches names, types and observations; words or a question.")


async def search_nodes(door: Door, asked: SearchNodes) -> Graph:
    """Entities whose name, type or observations hold the query; where none does, those that memory finds for it."""
    graph = await held(door)
    wanted = asked.query.casefold()
    names = [
        node.name
        for node in graph.nodes.values()
        if any(wanted in text.casefold() for text in (node.name, node.type, *node.observations))
    ]
    if not names and graph.nodes and asked.query.strip(" \t\n\u200b\u3000"):
        found = await door.system.search(asked.query, limit=10, filter={"tags": {"contains": TAG}}, **door.where())
        names = [
            str(hit.memory.info[key]) for hit in found.hits for key in ("name", "from", "to") if key in hit.memory.info
        ]
    return _graph(graph.part(names))


class OpenNodes(Args):
    """Arguments of open_nodes."""

    names: list[Label] = Field(max_length=_MOST)


async def open_nodes(door: Door, asked: OpenNodes) -> Graph:
    """Entities by name."""
    return _graph((await held(door)).part(asked.names))


def _graph(part: Held) -> Graph:
    return Graph(
        entities=[
            Entity(name=n.name, entityType=n.type, observations=list(n.observations)) for n in part.nodes.values()
        ],
        relations=[_relation(tie) for tie in part.ties],
    )


def _relation(tie: Tie) -> Relation:
    return Relation(src=tie.src, to=tie.dst, relationType=tie.type)


TOOLS: tuple[Tool[Any], ...] = (
    Tool("create_entities", "Create entities", "Create new entities in the knowledge graph.", CreateEntities, Entities,
         create_entities, again=True),
    Tool("create_relations", "Create relations", "Create relations between entities, in the active voice.", CreateRelations,
         Relations, create_relations, again=True),
    Tool("add_observations", "Add observations", "Add observations to entities that are there.", AddObservations, Results,
         add_observations, again=True),
    Tool("delete_entities", "Delete entities", "Delete entities with their observations and relations.", DeleteEntities, Done,
         delete_entities, destroys=True, again=True),
    Tool("delete_observations", "Delete observations", "Delete observations of entities.", DeleteObservations, Done,
         delete_observations, destroys=True, again=True),
    Tool("delete_relations", "Delete relations", "Delete relations from the knowledge graph.", DeleteRelations, Done,
         delete_relations, destroys=True, again=True),
    Tool("read_graph", "Read the graph", "The whole knowledge graph.", ReadGraph, Graph, read_graph, reads=True),
    Tool("search_nodes", "Search nodes", "Find entities by name, type or observation, or by what a question means.", SearchNodes,
         Graph, search_nodes, reads=True),
    Tool("open_nodes", "Open nodes", "Entities by their names, with their relations.", OpenNodes, Graph, open_nodes, reads=True),
)  # fmt: skip
