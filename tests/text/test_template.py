"""What several texts have in common, as patterns with parameters."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from memos.text.generalise import generalise
from memos.text.template import escape, fill, match, match_any, names
from memos.text.wordings import abstracted, wordings

ROLES = ("goal", "error", "input", "action", "check")


def _fix(name: str, library: str, line: int) -> tuple[str, ...]:
    return (
        f"install {name}",
        f"fatal error: {library}-fe.h: No such file or directory (line {line})",
        f"pip install {name}",
        f"apt-get install -y {library}-dev",
        f"pip install {name}",
    )


def test_one_parameter_stands_wherever_its_value_does() -> None:
    template = generalise([_fix("psycopg2", "libpq", 3), _fix("lxml", "libxml2", 71)], ROLES)
    assert template is not None
    goal, error, given, action, check = template.patterns
    (package,) = names(goal)
    assert given == check == f"pip install {{{package}}}"
    (library,) = names(action)
    assert library in names(error)
    assert len(names(error)) == 2  # and the line
    assert {p.name: p.source for p in template.parameters}[library] == "error"
    assert {p.name: p.examples for p in template.parameters}[package] == ("psycopg2", "lxml")


def test_a_value_is_found_within_a_word() -> None:
    cases = [(f"build {n}", f"error: {n}.h missing", f"apt install lib{n}-dev") for n in ("foo", "barr")]
    template = generalise(cases, ("goal", "error", "action"))
    assert template is not None
    values = template.match(("build bazz", "error: bazz.h missing", None))
    assert values is not None
    assert template.fill(values)[2] == "apt install libbazz-dev"


def test_what_stands_only_in_the_action_is_unknown() -> None:
    template = generalise(
        [("Open the door", "open --code alpha7"), ("Open the door", "open --code zeta9")], ("goal", "action")
    )
    assert template is not None
    assert [(p.name, p.source, p.examples) for p in template.parameters] == [("code", "unknown", ("alpha7", "zeta9"))]


def test_json_inputs_become_json_patterns() -> None:
    cases = [
        (f"Restart {n}", json.dumps({"service": n, "wait": s, "mode": "hard"}))
        for n, s in (("web", 3), ("billing-api", 40))
    ]
    template = generalise(cases, ("goal", "action"))
    assert template is not None
    values = template.match(("Restart mail", None))
    assert values is not None
    filled = template.fill({**values, "wait": "9"})[1]
    assert json.loads(filled) == {"service": "mail", "wait": 9, "mode": "hard"}


def test_chinese_texts() -> None:
    cases = [(f"请安装软件包 {n}", f"错误：找不到软件包 {n}", f"apt install {n}") for n in ("curl", "wget")]
    template = generalise(cases, ("goal", "error", "action"))
    assert template is not None
    assert template.patterns == ("请安装软件包 {package}", "错误：找不到软件包 {package}", "apt install {package}")


def test_names_come_from_the_words_around() -> None:
    cases = [
        (f"deploy --region {r} the service {s} to host {h}",) for r, s, h in (("eu", "web", "a1"), ("us", "db", "b2"))
    ]
    template = generalise(cases, ("goal",))
    assert template is not None
    assert template.patterns == ("deploy --region {region} the service {service} to host {host}",)


def test_texts_without_anything_in_common_make_no_template() -> None:
    assert generalise([("foo",), ("bar",)], ("goal",)) is None
    assert generalise([("12", "a"), ("13", "b")], ("goal", "action")) is None


def test_an_optional_text_that_differs_altogether_is_left_out() -> None:
    cases = [("Could you set this up?", "pip install a1"), ("I need it badly, friend", "pip install b2")]
    template = generalise(cases, ("goal", "action"), optional={0})
    assert template is not None
    assert template.patterns[0] == ""
    assert generalise(cases, ("goal", "action")) is None


def test_values_may_come_from_texts_beside() -> None:
    cases = [("apt install libjpeg-dev",), ("apt install libpng-dev",)]
    template = generalise(cases, ("action",), beside=[("jpeg.h is missing",), ("there is no png.h",)])
    assert template is not None
    (name,) = names(template.patterns[0])
    assert template.patterns[0] == f"apt install lib{{{name}}}-dev"
    assert template.parameters[0].examples == ("jpeg", "png")


def test_braces_of_the_texts_stay_what_they_are() -> None:
    cases = [("echo ${HOME} {name} {{name}} {=name} one",), ("echo ${HOME} {name} {{name}} {=name} two",)]
    template = generalise(cases, ("action",))
    assert template is not None
    assert len(template.parameters) == 1
    for (text,) in cases:
        values = template.match((text,))
        assert values is not None
        assert template.fill(values) == (text,)


def test_an_unknown_value_stays_as_its_name() -> None:
    assert fill("rm {path} {=path}", {}) == "rm {path} {path}"


def test_a_parameter_has_one_value() -> None:
    assert match("mv {a} {a}.bak", "mv x x.bak") == {"a": "x"}
    assert match("mv {a} {a}.bak", "mv x y.bak") is None
    assert match("mv {a} {b}", "mv x y", values={"a": "z"}) is None


def test_a_value_is_one_word_unless_it_was_seen_with_spaces() -> None:
    assert match("say {x}", "say good day") is None
    assert match("say {x}", "say good day", wide={"x"}) == {"x": "good day"}


def test_a_pattern_may_stand_within_a_text() -> None:
    assert match("install {p}", "Could you please install curl, thanks", whole=False) == {"p": "curl"}
    assert match("install {p}", "reinstall curl", whole=False) is None
    assert match_any(("", "remove {p}", "install {p}"), "install curl") == {"p": "curl"}


WORD = st.text(alphabet="abcxyz019", min_size=3, max_size=8)
ANY = st.text(min_size=0, max_size=60)


@given(ANY)
@settings(max_examples=200, deadline=None)
def test_an_escaped_text_matches_itself_alone(text: str) -> None:
    assert fill(escape(text), {"name": "x", "a": "y"}) == text
    assert match(escape(text), text) == {}


@given(
    st.lists(
        st.tuples(WORD, WORD, st.integers(0, 999)), min_size=2, max_size=5, unique_by=(lambda t: t[0], lambda t: t[1])
    )
)
@settings(max_examples=150, deadline=None)
def test_what_fills_a_template_matches_it(rows: list[tuple[str, str, int]]) -> None:
    cases = [(f"please install {a} now", f"error: {b}.h gone at {n}", f"get lib{b}-dev {a}") for a, b, n in rows]
    template = generalise(cases, ("goal", "error", "action"))
    assume(template is not None)
    assert template is not None
    for case in cases:
        values = template.match(case)
        assert values is not None
        assert tuple(map(str.lower, template.fill(values))) == tuple(map(str.lower, case))
        assert template.match(template.fill(values)) == values


@given(st.lists(ANY, min_size=2, max_size=4))
@settings(max_examples=200, deadline=None)
def test_any_texts_make_a_true_template_or_none(texts: list[str]) -> None:
    template = generalise([(t,) for t in texts], ("action",))
    if template is not None:
        for text in texts:
            values = template.match((text,))
            assert values is not None
            assert template.fill(values)[0].lower() == text.lower()


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("{a}a{b}a{c}a{d}a{e}x", "a" * 18_000),
        ("{a} a{b} a{c} a{d} a{e}x", "a " * 9_000),
        ("".join(f"{{p{n}}}," for n in range(30)) + "!", "," * 18_000),
        ("".join(f"{{p{n}}}" for n in range(30)) + "!", "b" * 18_000),
        ("{a}{a}{a}{a}!", "ab" * 9_000),
    ],
)
@pytest.mark.parametrize("whole", [True, False])
def test_no_text_makes_matching_slow(pattern: str, text: str, whole: bool) -> None:
    start = time.process_time()
    assert match(pattern, text, wide=names(pattern), whole=whole) is None
    assert time.process_time() - start < 1.0


def test_no_texts_make_generalising_slow() -> None:
    texts = [" ".join(f"w{i * k}" for i in range(350)) for k in (3, 5, 7, 11)]
    texts += ["a-" * 900, "-a" * 900, "{a}" * 600, "\n" * 1_900]
    start = time.process_time()
    for one in texts:
        for other in texts:
            generalise([(one,), (other,)], ("action",), beside=[(one,), (other,)])
    assert time.process_time() - start < 20.0


def test_ways_to_put_one_thing_become_few_patterns() -> None:
    cases = [
        ("Set depth of web to 3", {"service": "web", "key": "depth"}),
        ("web should have a depth of 9", {"service": "web", "key": "depth"}),
        ("Set ttl of mail to 14", {"service": "mail", "key": "ttl"}),
    ]
    found = wordings(cases, "goal", {"service", "key"})
    assert found.patterns == ("Set {key} of {service} to {number}", "{service} should have a {key} of 9")
    assert [(p.name, p.source, p.examples) for p in found.parameters] == [("number", "goal", ("3", "14"))]


def test_values_are_replaced_where_they_stand_as_words() -> None:
    assert abstracted("web and webs of web", {"s": "web"}) == "{s} and webs of {s}"
    assert abstracted("libfoo is gone", {"x": "foo"}) == "lib{x} is gone"


def test_an_option_is_not_cut_behind_its_dash() -> None:
    made = generalise([("uv run pytest -q",), ("uv run pytest -q tests/test_a.py",)])
    assert made is not None and made.patterns == ("uv run pytest {value1}",)
    assert made.parameters[0].examples == ("-q", "-q tests/test_a.py")


def test_a_version_is_one_value() -> None:
    cases = [("git checkout v2.4.1", "./deploy.sh"), ("git checkout v2.4.2", "./deploy.sh")]
    made = generalise(cases, beside=[("Deploy version 2.4.1 of it",), ("deploy v2.4.2 to prod",)])
    assert made is not None and made.patterns[0] == "git checkout v{version}"
    assert made.parameters[0].examples == ("2.4.1", "2.4.2")
