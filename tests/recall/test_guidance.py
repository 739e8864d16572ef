"""Which policies apply to what an agent does, and with which values: by error, goal, input and scope; what is new gets nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memos.memory.ids import new_id
from memos.memory.learned import TOLD_IN, Action, Form, Parameter, PolicyBody, SkillBody, State
from memos.memory.model import Kind, Memory
from memos.recall.guidance import matching
from memos.recall.lore import Entry, Lore
from memos.recall.skill_lines import fitting, named
from memos.text.applies import Applies, Situation, alike, applies, is_passing, open_parameters, words_of

LIB = Parameter("lib", "error", ("libxml", "libpq"))
PACKAGE = Parameter("package", "goal", ("lxml", "psycopg2"))
FIX = PolicyBody(
    form=Form.FIX,
    state=State.ACTIVE,
    trigger="`shell` fails because {lib}.h is missing",
    error="fatal error: {lib}.h: No such file or directory",
    goal="install {package}",
    tool="shell",
    procedure=(Action("shell", "apt install {lib}-dev"), Action("shell", "pip install {package}")),
    parameters=(LIB, PACKAGE),
)
PATH = PolicyBody(
    form=Form.PATH,
    state=State.ACTIVE,
    goal="deploy {service} to production",
    tool="shell",
    procedure=(Action("shell", "make release-{service}"),),
    parameters=(Parameter("service", "goal", ("billing",)),),
)
AVOID = PolicyBody(
    form=Form.AVOID,
    state=State.ACTIVE,
    tool="shell",
    avoid="writing there",
    procedure=(Action("shell", "touch /srv/{name}"),),
)
CHINESE = PolicyBody(
    form=Form.PATH,
    state=State.ACTIVE,
    goal="重启{service}服务",
    procedure=(Action("shell", "systemctl restart {service}"),),
    parameters=(Parameter("service", "goal", ("nginx",)),),
)


def lore(*bodies: PolicyBody | SkillBody) -> Lore:
    made = Lore()
    for body in bodies:
        if isinstance(body, SkillBody):
            memory = Memory(new_id(), Kind.SKILL, body.description, body=body.to_body())
            made.skills[memory.id] = Entry(
                memory, body, (words_of(body.name.replace("-", " ")), words_of(body.description))
            )
        else:
            memory = Memory(new_id(), Kind.POLICY, body.trigger, body=body.to_body())
            made.policies[memory.id] = Entry(memory, body, (words_of(body.goal or body.trigger),))
    return made


def how(body: PolicyBody, **now: str) -> Applies:
    found = applies(body, Situation(**now))
    assert found is not None
    return found


def test_an_error_that_the_pattern_fits_fills_the_parameters_of_goal_and_error() -> None:
    found = how(
        FIX,
        goal="install psycopg2",
        tool="shell",
        error="In file included:\n x.c:9:10: fatal error: libpq.h: No such file or directory\ngcc failed",
    )
    assert found.by == "error"
    assert found.values == {"lib": "libpq", "package": "psycopg2"}


def test_the_same_kind_of_error_counts_only_where_the_goal_is_the_same_too() -> None:
    narrow = PolicyBody(
        form=Form.FIX,
        error="ModuleNotFoundError: No module named 'foo_{x}'",
        goal="import {x}",
        parameters=(Parameter("x", examples=("a",)),),
    )
    found = how(narrow, goal="import b", error="ModuleNotFoundError: No module named 'bar'")
    assert (found.by, dict(found.values)) == ("error", {"x": "b"})
    assert found.strength < 1
    assert applies(narrow, Situation(goal="other", error="ModuleNotFoundError: No module named 'bar'")) is None


def test_a_value_is_taken_from_the_calls_before_in_the_task() -> None:
    before = (Action("shell", "ls"), Action("shell", "pip install psycopg2"), Action("shell", "pip install older"))
    now = Situation(tool="shell", input="apt install libpq", error="fatal error: libpq.h: No such file or directory")
    found = applies(FIX, replace(now, earlier=before))
    assert found is not None and found.values == {"lib": "libpq", "package": "psycopg2"}


def test_how_a_task_is_done_that_begins_with_the_call_that_failed_is_no_help() -> None:
    begins = PolicyBody(
        form=Form.PATH, goal="back up {x}", procedure=(Action("shell", "unlock {x}"), Action("shell", "backup {x}"))
    )
    assert applies(begins, Situation(tool="shell", input="unlock a", error="no such object: a")) is None
    assert how(begins, tool="shell", input="unlock a").by == "input"


def test_a_pattern_without_a_word_of_its_own_fits_no_call() -> None:
    bare = PolicyBody(form=Form.AVOID, tool="shell", error="x", procedure=(Action("shell", "{a}"),))
    assert applies(bare, Situation(tool="shell", input="anything")) is None


def test_what_works_here_takes_the_place_of_what_worked_elsewhere() -> None:
    here, there = (
        PolicyBody(
            form=Form.PATH,
            state=State.ACTIVE,
            goal="install {x}",
            environments=(e,),
            procedure=(Action("shell", f"{e} {{x}}"),),
        )
        for e in ("debian", "fedora")
    )
    both = lore(here, there)
    assert [m.entry.body for m in matching(both, Situation("install a", environment="debian"), None)] == [here]
    assert len(matching(both, Situation("install a", environment="arch"), None)) == 2
    assert len(matching(both, Situation("install a"), None)) == 2


def test_another_error_is_not_fixed_by_it_even_for_the_same_goal() -> None:
    assert (
        applies(
            FIX,
            Situation(
                "install psycopg2", "shell", "pip install psycopg2", "PermissionError: [Errno 13] Permission denied"
            ),
        )
        is None
    )


def test_an_error_of_another_tool_is_not_fixed_by_it() -> None:
    assert applies(FIX, Situation(tool="compiler", error="fatal error: libpq.h: No such file or directory")) is None


def test_before_anything_failed_the_goal_alone_brings_it_up() -> None:
    found = how(FIX, goal="install psycopg2")
    assert (found.by, dict(found.values)) == ("goal", {"package": "psycopg2"})


@pytest.mark.parametrize(
    "goal",
    ["deploy search to production", "Deploy search to production.", "please deploy search to production, thanks"],
)
def test_a_goal_fits_whole_or_within_what_is_asked(goal: str) -> None:
    assert how(PATH, goal=goal).values == {"service": "search"}


def test_a_goal_in_chinese_fits() -> None:
    assert how(CHINESE, goal="重启redis服务").values == {"service": "redis"}


def test_a_call_fills_what_the_goal_did_not() -> None:
    found = how(
        FIX, tool="shell", input="pip install psycopg2", error="fatal error: libpq.h: No such file or directory"
    )
    assert found.values == {"lib": "libpq", "package": "psycopg2"}


def test_what_is_not_known_stays_open() -> None:
    assert [p.name for p in open_parameters(FIX.parameters, "apt install {lib}-dev; pip install lxml")] == ["lib"]


def test_an_avoid_applies_to_the_very_call() -> None:
    assert how(AVOID, tool="shell", input="touch /srv/x").by == "input"
    assert applies(AVOID, Situation(tool="editor", input="touch /srv/x")) is None


def test_after_the_fact_nobody_is_warned_but_told_what_worked_instead() -> None:
    avoid = replace(AVOID, error="touch: /srv/{name}: Read-only file system")
    said = "touch: /srv/x: Read-only file system"
    assert how(avoid, tool="shell", error=said).by == "error"
    assert applies(avoid, Situation(tool="shell", input="touch /srv/x", error=said)) is None
    instead = replace(avoid, prefer="shell: touch /data/{name}")
    assert how(instead, tool="shell", input="touch /srv/x", error=said).values == {"name": "x"}


@pytest.mark.parametrize(
    ("scope", "now", "applied"),
    [
        ("all", {}, True),
        ("agent:coder", {"agent": "coder"}, True),
        ("agent:coder", {"agent": "writer"}, False),
        ("tool:pip", {"tool": "pip"}, True),
        ("tool:pip", {"tool": "npm"}, False),
        ("tool:pip", {}, True),
        ("environment:build-1", {"environment": "build-1"}, True),
        ("environment:build-1", {"environment": "build-2"}, False),
        ("environment:build-1", {}, False),
    ],
)
def test_a_directive_applies_in_its_scope(scope: str, now: dict[str, str], applied: bool) -> None:
    body = PolicyBody(form=Form.DIRECTIVE, state=State.ACTIVE, prefer="use uv", scope=scope)
    assert (applies(body, Situation(**now)) is not None) is applied


def test_what_was_learned_elsewhere_counts_less() -> None:
    here, there = (
        how(PolicyBody(form=Form.PATH, goal="deploy {x}", environment=e), goal="deploy a", environment="here")
        for e in ("here", "there")
    )
    assert there.strength < here.strength


NOVEL = [
    "write a poem about the sea",
    "install a certificate on the router",
    "deploy the tent in the garden",
    "what did Ann say about production?",
    "summarise this paper on databases",
    "add a test for the parser and run the suite",
    "写一首关于大海的诗",
    "重启这个讨论",
    "rename all files to lower case",
    "why is the sky blue?",
]


@pytest.mark.parametrize("goal", NOVEL)
def test_a_novel_task_gets_no_policy_and_no_skill(goal: str) -> None:
    skill = SkillBody(
        name="install-native-package",
        state=State.ACTIVE,
        description="Install a Python package that needs a system library",
    )
    known = lore(FIX, PATH, AVOID, CHINESE, skill)
    found = matching(known, Situation(goal=goal), words_of(goal))
    assert found == []
    assert fitting(known, found, words_of(goal)) == []


def test_a_goal_that_is_alike_brings_a_path_up_behind_one_that_fits() -> None:
    path = PolicyBody(
        form=Form.PATH,
        state=State.ACTIVE,
        goal="deploy {service} to production cluster",
        procedure=(Action("shell", "x"),),
    )
    goal = "production deploy of the search cluster"
    [found] = matching(lore(path), Situation(goal=goal), words_of(goal))
    assert found.how.by == "alike"
    assert found.how.strength < how(PATH, goal="deploy a to production").strength
    assert matching(lore(path), Situation(goal=goal), None) == []


MISSING = "fatal error: libpq.h: No such file or directory"


def test_what_was_done_in_vain_is_not_said_again() -> None:
    fix, pip = Action("shell", "apt install libpq-dev"), "pip install psycopg2"
    before = Situation(tool="shell", input=pip, error=MISSING, earlier=(Action("shell", pip),))
    assert len(matching(lore(FIX), before, None)) == 1
    assert matching(lore(FIX), replace(before, earlier=(fix, Action("shell", pip))), None) == []


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        ("connection reset by peer", True),
        ("curl: (28) Operation timed out", True),
        ("HTTP 503 Service Unavailable", True),
        ("请求超时，请稍后再试", True),
        ("E: Unable to locate package foo", False),
        ("port 5030 is taken", False),
    ],
)
def test_a_failure_that_may_pass_by_itself(error: str, passes: bool) -> None:
    assert is_passing(error) is passes


def test_likeness_needs_more_than_one_common_word() -> None:
    assert alike(words_of("install the certificate"), words_of("install a package")) == 0
    assert alike(words_of("restart nginx server"), words_of("nginx server restart")) == 1


def test_a_skill_comes_with_a_policy_it_is_made_of_and_takes_its_values() -> None:
    known = lore(FIX)
    [policy] = known.policies
    skill = lore(SkillBody(name="native", state=State.ACTIVE, description="x", policies=(policy,))).skills
    known.skills.update(skill)
    now = Situation(goal="install psycopg2")
    [found] = fitting(known, matching(known, now, words_of(now.goal)), words_of(now.goal))
    assert found.how.values == {"package": "psycopg2"}


def test_a_skill_is_found_by_its_name_or_id() -> None:
    known = lore(SkillBody(name="native", state=State.ACTIVE))
    [id] = known.skills
    assert (e := named(known, "Native")) is not None and e.id == id
    assert (e := named(known, id)) is not None and e.id == id
    assert named(known, "other") is None


def test_the_best_come_first_and_the_rest_in_a_stable_order() -> None:
    candidate = PolicyBody(form=Form.PATH, state=State.CANDIDATE, goal="deploy {service} to production")
    directive = PolicyBody(form=Form.DIRECTIVE, state=State.ACTIVE, prefer="x", strength=0.2)
    known = lore(candidate, PATH, directive)
    now = Situation(goal="deploy a to production")
    order = [m.entry.body for m in matching(known, now, None)]
    assert order == [directive, PATH, candidate]


@given(st.text(max_size=300), st.text(max_size=300), st.text(max_size=300), st.text(max_size=60))
def test_no_text_of_a_situation_or_a_policy_makes_it_fail(goal: str, error: str, input: str, said: str) -> None:
    wild = PolicyBody(
        form=Form.FIX,
        error=said,
        goal=said,
        errors=(error,),
        tool="shell",
        procedure=(Action("shell", said), Action("shell", "{a} {b}")),
        parameters=(Parameter("a", examples=(said,)), Parameter("b")),
    )
    known = lore(wild, FIX, AVOID, PATH)
    now = Situation(goal, "shell", input, error, earlier=(Action("shell", said),))
    assert len(matching(known, now, words_of(goal))) <= 4


def told_in(text: str, strength: float = 0.8, avoid: str = "", prefer: str = "", **more: object) -> Entry[PolicyBody]:
    body = PolicyBody(
        form=Form.DIRECTIVE, state=State.ACTIVE, author="user", strength=strength, avoid=avoid, prefer=prefer
    )
    stored = {**body.to_body(), TOLD_IN: [["web", "coder"]], **more}
    return Entry(Memory(new_id(), Kind.POLICY, text, body=stored), body, ())


@pytest.mark.parametrize(
    ("entry", "now", "shown"),
    [
        (told_in("use ruff", prefer="use ruff"), {"goal": "add a page", "environment": "web", "agent": "other"}, True),
        (
            told_in("use ruff", prefer="use ruff"),
            {"goal": "add a page", "environment": "billing", "agent": "coder"},
            False,
        ),
        (
            told_in("use ruff", prefer="use ruff"),
            {"goal": "set up ruff", "environment": "billing", "agent": "coder"},
            True,
        ),
        (told_in("use ruff", prefer="use ruff"), {"goal": "add a page", "agent": "coder"}, True),
        (told_in("answer in German", prefer="answer"), {"goal": "add a page", "environment": "billing"}, True),
        (told_in("never push to main", 0.9, "push"), {"goal": "add", "environment": "billing", "agent": "coder"}, True),
        (
            told_in("never push to main", 0.9, "push"),
            {"goal": "refund", "environment": "desk", "agent": "helper"},
            False,
        ),
        (told_in("use tabs", prefer="use tabs", not_in=["web"]), {"goal": "use tabs", "environment": "web"}, False),
    ],
)
def test_what_was_told_in_another_project_is_said_where_it_concerns(
    entry: Entry[PolicyBody], now: dict[str, str], shown: bool
) -> None:
    found = matching(Lore(policies={entry.id: entry}), Situation(**now), None)
    assert bool(found) is shown
