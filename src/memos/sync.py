"""`MemOS`: the synchronous face of `AsyncMemOS`. Every verb is the asynchronous one, run by `memos.engine`."""

from __future__ import annotations

from typing import Any

from memos.cubes.accounts import Accounts
from memos.engine import Face, Part, Stream, Verb
from memos.scheduler.tasks import Tasks
from memos.system import AsyncMemOS


class LocalAccounts(Part):
    """`accounts` of a `MemOS`: users, API keys and grants; see `memos.cubes.accounts.Accounts` for every verb."""

    create_user = Verb(Accounts.create_user)
    list_users = Verb(Accounts.list_users)
    get_user = Verb(Accounts.get_user)
    set_active = Verb(Accounts.set_active)
    delete_user = Verb(Accounts.delete_user)
    create_key = Verb(Accounts.create_key)
    list_keys = Verb(Accounts.list_keys)
    get_key = Verb(Accounts.get_key)
    revoke_key = Verb(Accounts.revoke_key)
    check_key = Verb(Accounts.check_key)
    has_keys = Verb(Accounts.has_keys)
    grants = Verb(Accounts.grants)
    grants_of = Verb(Accounts.grants_of)
    grant = Verb(Accounts.grant)
    audit = Verb(Accounts.audit)


class LocalTasks(Part):
    """`tasks` of a `MemOS`: the background work; see `memos.scheduler.tasks.Tasks` for every verb."""

    get = Verb(Tasks.get)
    find = Verb(Tasks.find)
    counts = Verb(Tasks.counts)
    stats = Verb(Tasks.stats)
    retry = Verb(Tasks.retry)
    cancel = Verb(Tasks.cancel)
    wait = Verb(Tasks.wait)
    follow = Stream(Tasks.follow)
    busy = Verb(Tasks.busy)


class MemOS(Face):
    """The memory system. `MemOS()` keeps its data in `~/.memos`; see `AsyncMemOS` for the parameters and every verb.

    Safe to use from many threads. `close()` (or `with MemOS() as m:`) lets queued work reach the disk; what is not
    digested yet goes on at the next start.
    """

    _system: AsyncMemOS

    def __init__(self, home: Any = None, **options: Any) -> None:
        super().__init__(AsyncMemOS(home, **options))

    add = Verb(AsyncMemOS.add)
    add_file = Verb(AsyncMemOS.add_file)
    update = Verb(AsyncMemOS.update)
    delete = Verb(AsyncMemOS.delete)
    undo = Verb(AsyncMemOS.undo)
    entities = Verb(AsyncMemOS.entities)
    resolve_entity = Verb(AsyncMemOS.resolve_entity)
    merge_entities = Verb(AsyncMemOS.merge_entities)
    unmerge = Verb(AsyncMemOS.unmerge)
    add_alias = Verb(AsyncMemOS.add_alias)
    remove_alias = Verb(AsyncMemOS.remove_alias)
    feedback = Verb(AsyncMemOS.feedback)
    search = Verb(AsyncMemOS.search)
    explain = Verb(AsyncMemOS.explain)
    judge = Verb(AsyncMemOS.judge)
    profile = Verb(AsyncMemOS.profile)
    get = Verb(AsyncMemOS.get)
    find_ids = Verb(AsyncMemOS.find_ids)
    list = Verb(AsyncMemOS.list)
    history = Verb(AsyncMemOS.history)
    neighbors = Verb(AsyncMemOS.neighbors)
    stats = Verb(AsyncMemOS.stats)
    create_cube = Verb(AsyncMemOS.create_cube)
    open_cube = Verb(AsyncMemOS.open_cube)
    list_cubes = Verb(AsyncMemOS.list_cubes)
    delete_cube = Verb(AsyncMemOS.delete_cube)
    share = Verb(AsyncMemOS.share)
    export_cube = Verb(AsyncMemOS.export_cube)
    import_cube = Verb(AsyncMemOS.import_cube)
    flush = Verb(AsyncMemOS.flush)
    start = Verb(AsyncMemOS.start)
    count = Verb(AsyncMemOS.count)
    graph = Verb(AsyncMemOS.graph)
    health = Verb(AsyncMemOS.health)
    locate = Verb(AsyncMemOS.locate)
    owner_of = Verb(AsyncMemOS.owner_of)
    recover = Verb(AsyncMemOS.recover)
    retire = Verb(AsyncMemOS.retire)
    image = Verb(AsyncMemOS.image)
    reread = Verb(AsyncMemOS.reread)
    reading = Verb(AsyncMemOS.reading)
    configure_reading = Verb(AsyncMemOS.configure_reading)
    usage = Verb(AsyncMemOS.usage)
    llm_usage = Verb(AsyncMemOS.llm_usage)
    working = Verb(AsyncMemOS.working)
    retention = Verb(AsyncMemOS.retention)
    set_retention = Verb(AsyncMemOS.set_retention)
    preview_retention = Verb(AsyncMemOS.preview_retention)
    apply_retention = Verb(AsyncMemOS.apply_retention)
    retention_log = Verb(AsyncMemOS.retention_log)
    reorganize = Verb(AsyncMemOS.reorganize)
    topics = Verb(AsyncMemOS.topics)
    chat = Verb(AsyncMemOS.chat)
    chat_stream = Stream(AsyncMemOS.chat_stream)
    chat_model = Verb(AsyncMemOS.chat_model)
    chat_models = Verb(AsyncMemOS.chat_models)
    suggest = Verb(AsyncMemOS.suggest)
    start_turn = Verb(AsyncMemOS.start_turn)
    report_step = Verb(AsyncMemOS.report_step)
    end_turn = Verb(AsyncMemOS.end_turn)
    report_subagent = Verb(AsyncMemOS.report_subagent)
    report_outcome = Verb(AsyncMemOS.report_outcome)
    end_session = Verb(AsyncMemOS.end_session)
    recall = Verb(AsyncMemOS.recall)
    evolve = Verb(AsyncMemOS.evolve)
    episodes = Verb(AsyncMemOS.episodes)
    episode = Verb(AsyncMemOS.episode)
    policies = Verb(AsyncMemOS.policies)
    policy = Verb(AsyncMemOS.policy)
    world = Verb(AsyncMemOS.world)
    world_statement = Verb(AsyncMemOS.world_statement)
    set_state = Verb(AsyncMemOS.set_state)
    lineage = Verb(AsyncMemOS.lineage)
    learning_events = Verb(AsyncMemOS.learning_events)
    follow_learning = Stream(AsyncMemOS.follow_learning)
    learning_report = Verb(AsyncMemOS.learning_report)
    skills = Verb(AsyncMemOS.skills)
    skill = Verb(AsyncMemOS.skill)
    edit_skill = Verb(AsyncMemOS.edit_skill)
    export_skills = Verb(AsyncMemOS.export_skills)
    import_skills = Verb(AsyncMemOS.import_skills)
    publish = Verb(AsyncMemOS.publish)
    unpublish = Verb(AsyncMemOS.unpublish)

    @property
    def settings(self) -> Any:
        """The settings in force."""
        return self._system.settings

    @property
    def accounts(self) -> LocalAccounts:
        """Users, API keys and grants."""
        return LocalAccounts(self._system.accounts, self._engine)

    @property
    def tasks(self) -> LocalTasks:
        """The background work: look up, wait for, follow, retry, cancel."""
        return LocalTasks(self._system.tasks, self._engine)
