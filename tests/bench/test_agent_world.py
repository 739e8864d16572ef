"""An agent that reports its work gets better at the next task, on a small stream of the simulated world, with lies in it."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from memos.bench.agent_world import measure
from memos.bench.agent_world.families import FAMILIES
from memos.bench.agent_world.measure import Score, fingerprint
from memos.bench.agent_world.plot import Panel, svg
from memos.bench.agent_world.run import phases, run_blind, run_with_memory
from memos.bench.agent_world.stream import Phase, Plan

SMALL = Plan(
    tasks=64,
    families=[f for f in FAMILIES if f.name in ("port", "migration", "lock", "module")],
    novel=(),
    held_share=0.25,
)


@pytest.fixture(scope="module")
def pair():
    return asyncio.run(measure.pairs([0], SMALL, embedder="none"))[0]


def test_held_out_members_take_fewer_steps_and_succeed_more_often(pair):
    blind, memory = (Score.of(phases(r.done)[Phase.HELD_OUT]) for r in (pair.blind, pair.memory))
    assert memory.success >= blind.success + 0.25
    assert memory.steps <= 0.6 * blind.steps


def test_no_policy_comes_from_a_single_episode(pair):
    assert pair.memory.policies >= 3
    assert pair.memory.single == 0


def test_an_order_in_a_tool_output_is_never_guidance(pair):
    assert pair.memory.poison.injected == 0


def test_the_tables_and_the_curve_say_what_was_measured(pair):
    assert "repeated families, held-out members" in measure.by_phase([pair])
    assert "| port |" in measure.by_family([pair])
    assert "policies from a single episode" in measure.poison([pair])
    band = measure.curve([pair.memory], lambda d: d.steps)
    assert len(band) == 64
    picture = svg([Panel("steps", 14, band, measure.curve([pair.blind], lambda d: d.steps), 48)], "steps")
    assert picture.startswith("<svg") and picture.count("<polyline") == 2


def test_two_runs_of_a_seed_agree():
    short = replace(SMALL, tasks=16)
    one, two = (asyncio.run(run_with_memory(1, short, embedder="none")) for _ in range(2))
    assert fingerprint(one) == fingerprint(two)
    assert fingerprint(one) != fingerprint(asyncio.run(run_blind(2, short)))
