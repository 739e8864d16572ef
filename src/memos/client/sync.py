"""`Client`: the synchronous face of `AsyncClient`. Every verb is the asynchronous one, run by `memos.engine`."""

from __future__ import annotations

from typing import Any

from memos.client.client import AsyncClient
from memos.engine import Face, Stream, Verb


class Client(Face):
    """A MemOS server; see `AsyncClient` for the parameters and every verb. Safe to use from many threads.

    What iterates there iterates here: `for memory in client.iterate(user="alice")`.
    """

    _system: AsyncClient

    def __init__(self, base_url: str | None = None, api_key: str | None = None, **options: Any) -> None:
        super().__init__(AsyncClient(base_url, api_key, **options))

    add = Verb(AsyncClient.add)
    update = Verb(AsyncClient.update)
    delete = Verb(AsyncClient.delete)
    undo = Verb(AsyncClient.undo)
    feedback = Verb(AsyncClient.feedback)
    search = Verb(AsyncClient.search)
    explain = Verb(AsyncClient.explain)
    get = Verb(AsyncClient.get)
    get_many = Verb(AsyncClient.get_many)
    list = Verb(AsyncClient.list)
    iterate = Stream(AsyncClient.iterate)
    count = Verb(AsyncClient.count)
    history = Verb(AsyncClient.history)
    neighbors = Verb(AsyncClient.neighbors)

    chat = Verb(AsyncClient.chat)
    chat_stream = Stream(AsyncClient.chat_stream)
    chat_models = Verb(AsyncClient.chat_models)
    suggest = Verb(AsyncClient.suggest)

    start_turn = Verb(AsyncClient.start_turn)
    report_step = Verb(AsyncClient.report_step)
    end_turn = Verb(AsyncClient.end_turn)
    report_subagent = Verb(AsyncClient.report_subagent)
    report_outcome = Verb(AsyncClient.report_outcome)
    end_session = Verb(AsyncClient.end_session)
    recall = Verb(AsyncClient.recall)

    evolve = Verb(AsyncClient.evolve)
    episodes = Verb(AsyncClient.episodes)
    episode = Verb(AsyncClient.episode)
    policies = Verb(AsyncClient.policies)
    policy = Verb(AsyncClient.policy)
    world = Verb(AsyncClient.world)
    world_statement = Verb(AsyncClient.world_statement)
    set_state = Verb(AsyncClient.set_state)
    lineage = Verb(AsyncClient.lineage)
    learning_events = Verb(AsyncClient.learning_events)
    follow_learning = Stream(AsyncClient.follow_learning)
    learning_report = Verb(AsyncClient.learning_report)

    skills = Verb(AsyncClient.skills)
    skill = Verb(AsyncClient.skill)
    edit_skill = Verb(AsyncClient.edit_skill)
    export_skills = Verb(AsyncClient.export_skills)
    import_skills = Verb(AsyncClient.import_skills)
    publish = Verb(AsyncClient.publish)
    unpublish = Verb(AsyncClient.unpublish)

    reread = Verb(AsyncClient.reread)
    reading = Verb(AsyncClient.reading)
    configure_reading = Verb(AsyncClient.configure_reading)

    entities = Verb(AsyncClient.entities)
    resolve_entity = Verb(AsyncClient.resolve_entity)
    merge_entities = Verb(AsyncClient.merge_entities)
    unmerge = Verb(AsyncClient.unmerge)
    add_alias = Verb(AsyncClient.add_alias)
    remove_alias = Verb(AsyncClient.remove_alias)

    create_cube = Verb(AsyncClient.create_cube)
    open_cube = Verb(AsyncClient.open_cube)
    list_cubes = Verb(AsyncClient.list_cubes)
    delete_cube = Verb(AsyncClient.delete_cube)
    share = Verb(AsyncClient.share)
    stats = Verb(AsyncClient.stats)
    flush = Verb(AsyncClient.flush)
    working = Verb(AsyncClient.working)
    topics = Verb(AsyncClient.topics)
    reorganize = Verb(AsyncClient.reorganize)
    retention = Verb(AsyncClient.retention)
    set_retention = Verb(AsyncClient.set_retention)
    preview_retention = Verb(AsyncClient.preview_retention)
    apply_retention = Verb(AsyncClient.apply_retention)
    retention_log = Verb(AsyncClient.retention_log)
    export_cube = Verb(AsyncClient.export_cube)
    import_cube = Verb(AsyncClient.import_cube)

    get_task = Verb(AsyncClient.get_task)
    list_tasks = Verb(AsyncClient.list_tasks)
    iterate_tasks = Stream(AsyncClient.iterate_tasks)
    wait_task = Verb(AsyncClient.wait_task)
    follow_task = Stream(AsyncClient.follow_task)
    retry_task = Verb(AsyncClient.retry_task)
    cancel_task = Verb(AsyncClient.cancel_task)
    task_stats = Verb(AsyncClient.task_stats)

    llm_usage = Verb(AsyncClient.llm_usage)
    profile = Verb(AsyncClient.profile)
    image = Verb(AsyncClient.image)

    me = Verb(AsyncClient.me)
    create_user = Verb(AsyncClient.create_user)
    get_user = Verb(AsyncClient.get_user)
    list_users = Verb(AsyncClient.list_users)
    set_active = Verb(AsyncClient.set_active)
    delete_user = Verb(AsyncClient.delete_user)
    create_key = Verb(AsyncClient.create_key)
    list_keys = Verb(AsyncClient.list_keys)
    revoke_key = Verb(AsyncClient.revoke_key)
    audit = Verb(AsyncClient.audit)
    iterate_audit = Stream(AsyncClient.iterate_audit)

    @property
    def base_url(self) -> str:
        """The address of the server, without a slash at the end."""
        return self._system.base_url

    def __repr__(self) -> str:
        return f"Client({self.base_url!r})"
