"""The verb `feedback`: what it does is one change of the cube, told, kept with its evidence, and can be taken back."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from memos import AsyncMemOS, MemOS
from memos.errors import InvalidInput
from memos.feedback import Wanted
from memos.memory.feedback import FeedbackResult
from memos.memory.model import Layer, Memory, Status
from memos.storage.ports import FEEDBACK
from memos.storage.tasks import TaskQuery


def said(*texts: str) -> list[dict[str, str]]:
    """Messages of user and assistant in turn, the assistant last."""
    return [{"role": ("user", "assistant")[(n + len(texts)) % 2], "content": t} for n, t in enumerate(texts)]


def active(memos: MemOS, **where: Any) -> list[str]:
    return sorted(m.text for m in memos.list(limit=500, **where).items if m.layer is Layer.DERIVED)


def everything(memos: MemOS, record: str | None = None) -> dict[str, tuple[str, Status, str | None, float]]:
    """What can be seen of every memory but the record of the feedback itself."""
    rows = memos.list(limit=500, include_inactive=True).items
    return {m.id: (m.text, m.status, m.slot, m.confidence) for m in rows if m.id != record}


def operations(done: FeedbackResult) -> list[str]:
    return [one.operation.value for one in done.operations]


class TestWhatIsDone:
    def test_a_correction_takes_the_place_of_what_was_wrong(self, memos: MemOS) -> None:
        memos.add(["I live in Oslo.", "I like tea."])
        done = memos.feedback("No, it's Bergen, not Oslo.", history=said("You live in Oslo."))
        (one,) = done.operations
        assert (one.operation, [t.text for t in one.targets]) == ("correct", ["The user lives in Oslo."])
        assert [(m.text, m.replaces) for m in one.made] == [("The user lives in Bergen.", one.targets[0].id)]
        assert (done.understood, one.evidence) == (True, "No, it's Bergen, not Oslo.")
        assert memos.get(one.targets[0].id).status is Status.SUPERSEDED
        assert "The user likes tea." in active(memos)

    def test_what_was_wrong_never_was_true_when_only_the_right_is_said(self, memos: MemOS) -> None:
        memos.add({"role": "user", "content": "I live in Oslo.", "chat_time": "2025-01-01"}, wait=True)
        memos.feedback("That's wrong, I live in Bergen.")
        assert [m.text for m in memos.list(as_of="2025-02-01", kinds=["profile"]).items] == [
            "The user lives in Bergen."
        ]

    def test_news_are_true_from_when_they_are_told(self, memos: MemOS) -> None:
        memos.add({"role": "user", "content": "I live in Oslo.", "chat_time": "2025-01-01"}, wait=True)
        assert operations(memos.feedback("I live in Bergen.")) == ["correct"]
        assert [m.text for m in memos.list(as_of="2025-02-01", kinds=["profile"]).items] == ["The user lives in Oslo."]

    @pytest.mark.parametrize(
        ("text", "noted"),
        [
            ("Also note that I have two kids.", "The user has two kids."),
            ("另外记一下，我有两个孩子。", "用户有两个孩子。"),
            ("Please note that the office closes at six.", "The office closes at six."),
        ],
    )
    def test_a_supplement_is_a_fact_with_its_evidence(self, memos: MemOS, text: str, noted: str) -> None:
        done = memos.feedback(text)
        (one,) = done.operations
        assert (one.operation, [m.text for m in one.made]) == ("supplement", [noted])
        fact = memos.get(one.made[0].id)
        (source,) = fact.sources
        assert source.memory_id == done.record
        assert source.start is not None
        assert text[source.start : source.end].casefold().strip(" .。") in text.casefold()
        assert text[source.start : source.end]

    def test_a_word_is_replaced_everywhere_and_raw_records_stay(self, memos: MemOS) -> None:
        told = ["I work at Acme.", "Acme sends its invoices on Mondays. Acme is slow.", "I live in Oslo."]
        records = memos.add(told, wait=True).ids
        done = memos.feedback("Replace Acme with Apex everywhere.")
        assert operations(done) == ["replace"]
        facts = active(memos)
        assert {"The user works at Apex.", "Apex sends its invoices on Mondays.", "Apex is slow."} <= set(facts)
        assert "“Acme” is now called “Apex”." in facts
        assert [memos.get(id).text for id in records] == told
        job = next(t for one in done.operations for t in one.targets if "works at" in t.text)
        assert (job.text, memos.get(job.id).text) == ("The user works at Acme.", "The user works at Apex.")
        assert [v.memory.text for v in memos.history(job.id)][-2:] == [job.text, "The user works at Apex."]
        hit = memos.search("Who sends invoices?").hits[0]
        assert "Apex sends its invoices on Mondays." in [hit.text, *(f.text for f in hit.facts)]

    def test_a_replaced_word_is_found_in_its_new_slot(self, memos: MemOS) -> None:
        memos.add("我每天用钉钉打卡。", wait=True)
        memos.feedback("把钉钉都改成飞书。")
        assert any("飞书" in text and "钉钉" not in text for text in active(memos))

    def test_what_is_forgotten_is_hidden_with_the_message_that_said_it(self, memos: MemOS) -> None:
        kept, gone = memos.add(["I live in Oslo.", "My ex is called Tom."], wait=True).ids
        done = memos.feedback("Forget what I said about my ex.")
        assert operations(done) == ["forget"]
        assert {t.text for t in done.operations[0].targets} == {"The user's ex is called Tom.", "My ex is called Tom."}
        assert memos.get(gone).status is Status.RETRACTED
        assert memos.get(kept).status is Status.ACTIVE
        assert not [h for h in memos.search("What is my ex called?").hits if "Tom" in h.text]

    def test_a_message_that_says_more_is_left_and_that_is_told(self, memos: MemOS) -> None:
        (mixed,) = memos.add("I live in Oslo and my ex is called Tom.", wait=True).ids
        memos.add("My ex is called Tom.", wait=True)
        done = memos.feedback("Forget what I said about my ex.")
        assert memos.get(mixed).status is Status.ACTIVE
        assert "1 message says it among other things" in done.message
        assert "The user lives in Oslo." in active(memos)

    def test_forgetting_for_good_leaves_nothing(self, memos: MemOS) -> None:
        (gone,) = memos.add("My phone number is 555-1234.", wait=True).ids
        done = memos.feedback("Forget my phone number.", hard=True)
        assert operations(done) == ["forget"]
        assert all("555-1234" not in m.text for m in memos.list(include_inactive=True).items)
        assert memos.find_ids(gone) == []
        again = memos.feedback("Forget my phone number.", hard=True)
        assert not again.understood or all(t.text == "" for one in again.operations for t in one.targets)

    def test_forgetting_is_soft_unless_told_otherwise_in_the_call(self, memos: MemOS) -> None:
        memos.add("My phone number is 555-1234.", wait=True)
        done = memos.feedback("Delete my phone number for good, permanently.")
        assert {memos.get(t.id).status for t in done.operations[0].targets} == {Status.RETRACTED}

    def test_agreement_makes_surer_and_leaves_the_rest(self, memos: MemOS) -> None:
        memos.add(["I live in Oslo.", "I like tea."], wait=True)
        before = everything(memos)
        done = memos.feedback("Yes, that's right.", history=said("Where do I live?", "You live in Oslo."))
        (target,) = done.operations[0].targets
        after = everything(memos, done.record)
        assert after[target.id][3] > before[target.id][3]
        assert {id for id in before if before[id] != after[id]} == {target.id}

    def test_agreement_alone_does_not_keep_what_is_deleted(self, memos: MemOS) -> None:
        (id,) = memos.add("I live in Oslo.", wait=True).ids
        memos.feedback("Yes, that's right.", history=said("You live in Oslo."))
        memos.delete(id)
        assert active(memos) == []

    @pytest.mark.parametrize(
        ("text", "wish"),
        [
            ("From now on answer in French.", "The user wants the assistant to always answer in French."),
            ("从现在起叫我小王。", "用户叫小王。"),
            ("今后不要用表情符号。", "用户希望助手以后不要用表情符号。"),
        ],
    )
    def test_a_wish_is_kept_as_one(self, memos: MemOS, text: str, wish: str) -> None:
        done = memos.feedback(text)
        assert operations(done) == ["prefer"]
        assert active(memos) == [wish]

    def test_of_two_languages_to_answer_in_the_later_holds(self, memos: MemOS) -> None:
        memos.feedback("From now on answer in French.")
        memos.feedback("From now on answer in German.")
        assert active(memos) == ["The user wants the assistant to always answer in German."]

    def test_several_things_at_once(self, memos: MemOS) -> None:
        memos.add(["I live in Oslo.", "My phone number is 555-1234."], wait=True)
        done = memos.feedback("No, it's Bergen, not Oslo. Also note that I have two kids. And forget my phone number.")
        assert operations(done) == ["correct", "supplement", "forget"]
        assert active(memos) == ["The user has two kids.", "The user lives in Bergen."]

    def test_what_was_added_just_before_is_read_first(self, memos: MemOS) -> None:
        memos.add("I live in Oslo.")
        assert memos.feedback("No, it's Bergen, not Oslo.").understood

    def test_facts_are_told_of_the_user_by_name(self, memos: MemOS) -> None:
        memos.add("I live in Oslo.", user="alice", wait=True)
        done = memos.feedback("Forget where I live.", user="alice")
        assert "Alice lives in Oslo." in [t.text for t in done.operations[0].targets] or "alice lives in Oslo." in [
            t.text for t in done.operations[0].targets
        ]


class TestWhatIsUnclear:
    @pytest.mark.parametrize(
        "text",
        [
            "Great answer!",
            "That's wrong.",
            "Forget it.",
            "Forget everything.",
            "Forget his address.",
            "Forget Oslo.",
            "Replace Initech with Apex everywhere.",
            "It's Bergen, not Paris.",
            "Did you forget where I live?",
            "Yes.",
            "No, it's Bergen, not Oslo. And forget what I said about Linda.",
        ],
    )
    def test_it_changes_nothing_and_says_so(self, memos: MemOS, text: str) -> None:
        memos.add(["I live in Oslo.", "I like tea.", "I moved from Bergen to Oslo in 2020."], wait=True)
        before = everything(memos)
        done = memos.feedback(text)
        assert (done.understood, done.operations) == (False, ())
        assert done.message
        assert everything(memos, done.record) == before
        assert done.record is not None
        assert memos.get(done.record).text == text

    def test_it_shows_what_may_have_been_meant_and_takes_its_id(self, memos: MemOS) -> None:
        memos.add(["My boss is Tom.", "My brother is called Tom."], wait=True)
        done = memos.feedback("Forget Tom.")
        assert "more than one" in done.message
        boss = next(c for c in done.candidates if "boss" in c.text and c.text.startswith("The user"))
        again = memos.feedback("Forget that.", targets=[boss.id])
        assert [t.text for t in again.operations[0].targets] == [boss.text]
        assert "The user has a brother named Tom." in active(memos)

    def test_memories_of_an_answer_are_where_it_is_looked_and_no_licence(self, memos: MemOS) -> None:
        memos.add(["My boss is Tom.", "My brother is called Tom.", "I like tea."], wait=True)
        ids = [m.id for m in memos.list(kinds=["profile", "preference"]).items]
        assert not memos.feedback("Forget Tom.", targets=ids).understood
        assert not memos.feedback("Forget that.", targets=ids).understood

    def test_targets_that_are_not_there_are_no_licence_either(self, memos: MemOS) -> None:
        memos.add("My phone number is 555-1234.", wait=True)
        done = memos.feedback("Forget my phone number.", targets=["019a1f3c-77aa-7c31-8a2f-2b6d0f9f3f11"])
        assert not done.understood

    def test_too_many_to_be_meant(self, memos: MemOS) -> None:
        memos.add([f"My ex bought boat number {n}." for n in range(40)], wait=True)
        done = memos.feedback("Forget everything about my ex.")
        assert not done.understood
        assert len(done.candidates) == 5

    @pytest.mark.parametrize(("text", "rating"), [("", None), ("  ", None), ("", "up"), ("x", "great")])
    def test_what_says_nothing_is_refused(self, memos: MemOS, text: str, rating: Any) -> None:
        with pytest.raises(InvalidInput):
            memos.feedback(text, rating=rating)

    def test_long_texts_are_kept_and_not_acted_on(self, memos: MemOS) -> None:
        memos.add("I live in Oslo.", wait=True)
        text = "No, it's Bergen, not Oslo. " + "And then we went for a long walk along the river. " * 60
        done = memos.feedback(text)
        assert not done.understood
        assert "too long" in done.message
        assert "The user lives in Oslo." in active(memos)


class TestTakingBack:
    KNOWN: Sequence[str] = (
        "I live in Oslo.",
        "My ex is called Tom.",
        "I work at Acme.",
        "Acme sends its invoices on Mondays.",
        "I like tea.",
    )

    @pytest.mark.parametrize(
        "text",
        [
            "No, it's Bergen, not Oslo.",
            "Also note that I have two kids.",
            "Replace Acme with Apex everywhere.",
            "Forget what I said about my ex.",
            "Yes, I do live in Oslo.",
            "From now on answer in French.",
            "No, it's Bergen, not Oslo. Also note that I have two kids. Forget that I like tea.",
        ],
    )
    def test_undoing_the_record_undoes_all_of_it(self, memos: MemOS, text: str) -> None:
        memos.add(list(self.KNOWN), wait=True)
        before = everything(memos)
        done = memos.feedback(text)
        assert done.understood
        changed = everything(memos, done.record)
        assert changed != before
        assert done.record is not None
        memos.undo(done.record)
        now = {id: row for id, row in everything(memos, done.record).items() if row[1] is not Status.RETRACTED}
        assert now == before
        assert memos.get(done.record).text == text
        memos.flush()
        assert {id: r for id, r in everything(memos, done.record).items() if r[1] is not Status.RETRACTED} == before

    def test_the_same_words_do_it_again_after_that(self, memos: MemOS) -> None:
        memos.add("I live in Oslo.", wait=True)
        first = memos.feedback("No, it's Bergen, not Oslo.")
        assert first.record is not None
        memos.undo(first.record)
        assert memos.feedback("No, it's Bergen, not Oslo.").understood
        assert active(memos) == ["The user lives in Bergen."]


class TestOnce:
    def test_by_task_id(self, memos: MemOS) -> None:
        memos.add("I live in Oslo.", wait=True)
        first = memos.feedback("No, it's Bergen, not Oslo.", task_id="t-1")
        versions = {m.id: m.version for m in memos.list(include_inactive=True).items}
        second = memos.feedback("No, it's Bergen, not Oslo.", task_id="t-1")
        assert second == first
        assert {m.id: m.version for m in memos.list(include_inactive=True).items} == versions

    def test_by_the_same_words(self, memos: MemOS) -> None:
        memos.add("My ex is called Tom.", wait=True)
        first = memos.feedback("Forget what I said about my ex.")
        second = memos.feedback("Forget what I said about my ex.")
        assert (second.operations, second.record) == (first.operations, first.record)

    def test_the_same_words_about_something_new_do_it_again(self, memos: MemOS) -> None:
        memos.add("My ex is called Tom.", wait=True)
        memos.feedback("Forget what I said about my ex.")
        (again,) = memos.add("My ex lives in Paris now.", wait=True).ids
        assert memos.feedback("Forget what I said about my ex.").understood
        assert memos.get(again).status is Status.RETRACTED

    async def test_two_calls_at_once_do_it_once(self, home: Path) -> None:
        async with AsyncMemOS(home, embedder="none", background=False) as memos:
            await memos.add("I live in Oslo.", wait=True)
            done = await asyncio.gather(
                *(memos.feedback("Also note that my locker is number 42.", task_id="t") for _ in range(4))
            )
            assert len({one.record for one in done}) == 1
            facts = [m.text for m in (await memos.list()).items if m.layer is Layer.DERIVED]
            assert facts.count("The user's locker is number 42.") == 1


class TestRehearsal:
    def test_a_dry_run_tells_all_and_stores_nothing(self, memos: MemOS) -> None:
        memos.add(["I live in Oslo.", "My ex is called Tom."], wait=True)
        before = everything(memos)
        text = "No, it's Bergen, not Oslo. Forget what I said about my ex."
        dry = memos.feedback(text, dry_run=True)
        assert everything(memos) == before
        assert (dry.dry_run, dry.record) == (True, None)
        wet = memos.feedback(text)
        assert [[t.text for t in one.targets] for one in dry.operations] == [
            [t.text for t in one.targets] for one in wet.operations
        ]
        assert [[m.text for m in one.made] for one in dry.operations] == [
            [m.text for m in one.made] for one in wet.operations
        ]

    def test_a_dry_run_of_a_hard_deletion_deletes_nothing(self, memos: MemOS) -> None:
        memos.add("My phone number is 555-1234.", wait=True)
        before = everything(memos)
        assert memos.feedback("Forget my phone number.", hard=True, dry_run=True).understood
        assert everything(memos) == before


class TestRatings:
    def fact(self, memos: MemOS) -> Memory:
        memos.add("I like tea.", wait=True)
        (fact,) = memos.list(kinds=["preference"]).items
        return fact

    @pytest.mark.parametrize("rating", ["up", "succeeded"])
    def test_a_good_one_makes_a_little_surer(self, memos: MemOS, rating: Any) -> None:
        fact = self.fact(memos)
        done = memos.feedback(rating=rating, targets=[fact.id])
        assert operations(done) == ["rate"]
        assert fact.confidence < memos.get(fact.id).confidence < fact.confidence + 0.05

    @pytest.mark.parametrize("rating", ["down", "failed"])
    def test_bad_ones_make_a_little_less_sure_and_hide_nothing(self, memos: MemOS, rating: Any) -> None:
        fact = self.fact(memos)
        for n in range(60):
            memos.feedback(rating=rating, targets=[fact.id], task_id=f"r-{n}")
        now = memos.get(fact.id)
        assert now.status is Status.ACTIVE
        assert 0.3 <= now.confidence < fact.confidence

    def test_it_is_evidence_on_the_memory(self, memos: MemOS) -> None:
        fact = self.fact(memos)
        done = memos.feedback(rating="down", targets=[fact.id])
        links = memos.neighbors(fact.id, types=["RELATES_TO"])
        assert [(link.edge.src, link.edge.predicate) for link in links] == [(done.record, "rated down")]

    def test_raw_records_are_rated_without_being_changed(self, memos: MemOS) -> None:
        (id,) = memos.add("I like tea.", wait=True).ids
        before = memos.get(id)
        assert memos.feedback(rating="down", targets=[id]).understood
        assert memos.get(id) == before

    def test_words_and_a_thumb(self, memos: MemOS) -> None:
        memos.add("I live in Oslo.", wait=True)
        (fact,) = memos.list(kinds=["profile"]).items
        done = memos.feedback("No, it's Bergen, not Oslo.", rating="down", targets=[fact.id])
        assert operations(done)[0] == "correct"


class TestInOrdinaryTurns:
    def talk(self, memos: MemOS, *texts: str) -> None:
        memos.add(said(*texts, "ok")[:-1], wait=True)

    def test_an_answer_that_is_refused_is_put_right(self, memos: MemOS) -> None:
        memos.add("I live in Oslo.", wait=True)
        memos.add(said("Where do I live?", "You live in Oslo."), wait=True)
        memos.add("No, I meant Bergen, not Oslo.", wait=True)
        assert active(memos) == ["The user lives in Bergen."]

    def test_in_chinese(self, memos: MemOS) -> None:
        memos.add("我住在北京。", wait=True)
        memos.add(said("我住在哪里？", "您住在北京。"), wait=True)
        memos.add("不对，是上海。", wait=True)
        assert active(memos) == ["用户住在上海。"]

    @pytest.mark.parametrize(
        ("answer", "turn"),
        [
            ("Have fun in Oslo!", "No, Bergen."),
            ("You live in Oslo.", "No idea."),
            ("You live in Oslo.", "No kidding!"),
            ("Are you going to Oslo on Friday?", "No, Bergen."),
            ("You live in Oslo.", "Is it Bergen, not Oslo?"),
            ("Oslo is the capital of Norway.", "No, it's Bergen, not Oslo."),
            ("Shall I book the flight to Oslo?", "No, it's Bergen, not Oslo."),
        ],
    )
    def test_what_the_answer_did_not_tell_stays(self, memos: MemOS, answer: str, turn: str) -> None:
        memos.add("I live in Oslo.", wait=True)
        memos.add(said("Hm.", answer), wait=True)
        memos.add(turn, wait=True)
        assert "The user lives in Oslo." in active(memos)


class TestLater:
    async def test_without_waiting_a_task_does_it(self, home: Path) -> None:
        async with AsyncMemOS(home, embedder="none") as memos:
            await memos.add("I live in Oslo.", wait=True)
            done = await memos.feedback("No, it's Bergen, not Oslo.", wait=False, task_id="fb")
            assert done.pending and done.task is not None
            found = await memos.tasks.wait(TaskQuery(caller_id="fb"), timeout=20)
            assert found is not None
            assert [m.text for m in (await memos.list(kinds=["profile"])).items] == ["The user lives in Bergen."]
            again = await memos.feedback("No, it's Bergen, not Oslo.", task_id="fb")
            assert [one.operation.value for one in again.operations] == ["correct"]

    async def test_what_a_process_left_undone_is_done_by_the_next(self, home: Path) -> None:
        async with AsyncMemOS(home, embedder="none", background=False) as memos:
            await memos.add("I live in Oslo.", wait=True)
            async with memos._cube("default", None, "write") as (_, store):
                records = memos._records(
                    "No, it's Bergen, not Oslo.", "default", None, None, Wanted(), None, (), None, None
                )
                trace, _ = await memos._stored(store, records, "default", named=False)
                assert [t.id for t in await store.todo(FEEDBACK)] == [trace.id]
        async with AsyncMemOS(home, embedder="none") as memos:
            await memos.list()
            async with asyncio.timeout(20):
                while [m.text for m in (await memos.list(kinds=["profile"])).items] != ["The user lives in Bergen."]:
                    await asyncio.sleep(0.05)


class TestAnswers:
    def test_the_answer_is_put_right(self, memos: MemOS) -> None:
        memos.add("I live in Oslo.", wait=True)
        history = said("Where do I live?", "You live in Oslo, as far as I know.")
        assert memos.feedback("No, it's Bergen, not Oslo.", history=history, answer=True).answer == (
            "You live in Bergen, as far as I know."
        )

    def test_without_an_answer_it_is_what_is_known_now(self, memos: MemOS) -> None:
        memos.add("I live in Oslo.", wait=True)
        assert memos.feedback("It's Bergen, not Oslo.", answer=True).answer == "The user lives in Bergen."

    def test_of_nothing_there_is_none(self, memos: MemOS) -> None:
        assert memos.feedback("Great answer!", answer=True).answer is None


class TestReadAnew:
    def test_feedback_is_not_done_again_when_all_is_read_anew(self, memos: MemOS) -> None:
        memos.add(["I live in Oslo.", "I like tea.", "My ex is called Tom."], wait=True)
        memos.feedback("No, it's Bergen, not Oslo.")
        memos.feedback("Forget that I like tea.")
        memos.feedback("Forget what I said about my ex.")
        before = active(memos)
        memos.reread(everything=True, wait=True)
        assert active(memos) == before == ["The user lives in Bergen."]
