"""Conversations in which something ends or changes, read by the rules: what is current afterwards, and what is not."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memos.memory.ids import new_id
from memos.memory.model import Kind, Memory, Status
from memos.organize.reconcile import Outcome, mention, reconcile
from memos.reading.read import read_trace
from memos.storage.ports import WAS_TRUE, WriteTx
from memos.storage.sqlite.cube import SqliteCube

START = datetime(2024, 5, 6, 12, tzinfo=UTC)


class Talk:
    """Messages of one speaker, a day apart, each brought into the cube."""

    def __init__(self, path: Path) -> None:
        self.cube = SqliteCube.open(path, durability="normal")
        self.said = 0

    def say(self, *texts: str, session: str | None = None) -> None:
        for text in texts:
            at = START + timedelta(days=self.said)
            self.said += 1

            def apply(tx: WriteTx, text: str = text, at: datetime = at) -> None:
                trace = tx.put(
                    Memory(id=new_id(), kind=Kind.TRACE, text=text, valid_from=at, role="user", session=session)
                )
                reading = read_trace(trace)
                reconcile(tx, trace, reading.statements, Outcome())
                for found in reading.mentions:
                    mention(tx, trace, found, Outcome())

            self.cube.write_soon(apply).result()

    def facts(self, attribute: str) -> list[Memory]:
        """All that was ever true of an attribute of the speaker, oldest first."""
        return self.cube.write_soon(lambda tx: tx.find_slot(f"user|{attribute}", WAS_TRUE)).result()

    def current(
        self, *, kinds: Sequence[Kind] = (Kind.PROFILE, Kind.PREFERENCE, Kind.FACT, Kind.COMMITMENT)
    ) -> list[str]:
        return [
            f"{(m.slot or '').split('|')[-1]}:{m.body.get('value', m.text)}"
            for m in asyncio.run(self.cube.list(limit=1_000, newest_first=False)).items
            if m.kind in kinds
        ]


@pytest.fixture
def talk(tmp_path: Path) -> Iterator[Talk]:
    made = Talk(tmp_path / "talk.cube")
    yield made
    made.cube.close_now()


HARROW = "I live at 14 Harrow Lane, Leeds."
CANAL = ["home_address:8 Canal Wharf, Manchester", "home_city:Manchester"]

AFTERWARDS: list[tuple[list[str], list[str]]] = [
    # moves and addresses
    ([HARROW], ["home_address:14 Harrow Lane, Leeds", "home_city:Leeds"]),
    ([HARROW, "We moved! The new address is 8 Canal Wharf, Manchester."], CANAL),
    ([HARROW, "We moved to Manchester."], ["home_city:Manchester"]),
    ([HARROW, "We moved to Manchester last week."], ["home_city:Manchester"]),
    ([HARROW, "My new address is 8 Canal Wharf, Manchester"], CANAL),
    ([HARROW, "We moved to 8 Canal Wharf, Manchester."], CANAL),
    ([HARROW, "I moved to a new apartment."], ["home_city:Leeds"]),
    ([HARROW, "I live in Leeds."], ["home_address:14 Harrow Lane, Leeds", "home_city:Leeds"]),
    ([HARROW, "I live in Manchester now."], ["home_city:Manchester"]),
    ([HARROW, "I no longer live in Leeds."], []),
    (["My new address is 8 Canal Wharf, Manchester", "We moved to Manchester last week."], CANAL),
    (["My address is 12 Main Street.", "I live in Oslo."], ["home_address:12 Main Street", "home_city:Oslo"]),
    (["I live in Oslo, Norway.", "I no longer live in Oslo."], []),
    (["I live in Oslo.", "I moved to Japan."], ["home_country:Japan"]),
    (["I live in Texas.", "I moved to Oslo."], ["home_city:Oslo"]),
    (["I live in Oslo.", "I don't live in Bergen."], ["home_city:Oslo", "home_city:Bergen"]),
    (["我住在南京路100号", "我搬家了，新地址是北京市朝阳区建国路88号。"], ["home_address:北京市朝阳区建国路88号", "home_city:北京"]),
    (["我住在南京路100号", "我们搬家了"], []),
    (["我住在上海", "我搬到北京了"], ["home_city:北京"]),
    # new X
    (["My phone number is 555-123-4567.", "My new number is 555-999-0000."], ["phone:555-999-0000"]),
    (["My email is a@b.org", "My new email is c@d.org"], ["email:c@d.org"]),
    (["My boss is Tom.", "My new boss is Maria."], ["boss:Maria"]),
    (["My boss is Tom.", "I have a new boss, Maria."], ["boss:Maria"]),
    (["My laptop is a ThinkPad X1", "My new laptop is a MacBook Pro"], ["laptop:a MacBook Pro"]),
    (["I work at Acme.", "My new job is at Google."], ["employer:Google"]),
    (["My job is accountant.", "My new job is software developer."], ["job:software developer"]),
    (["我的手机号是13800138000", "我的新手机号是13900139000"], ["phone:13900139000"]),
    # work
    (["I work as a cashier at Tesco.", "I left Tesco."], []),
    (["I work at Acme. I'm a teacher.", "I left Tesco in 2019."], ["employer:Acme", "job:teacher"]),
    (["I work at Acme. I'm a teacher.", "I quit my job last week."], []),
    (["I work at Acme. I'm a teacher.", "I quit my job in 2019."], ["employer:Acme", "job:teacher"]),
    (["I work at Acme.", "I quit my job and started a new job at Google."], ["employer:Google"]),
    (["I work at Acme.", "I got laid off"], []),
    (["I work at Acme.", "I was fired yesterday."], []),
    (["I work at Acme.", "I no longer work there."], []),
    (["I work at Acme.", "I don't work there anymore."], []),
    (["I work at Acme.", "I resigned."], []),
    (["I work at Acme.", "I'm retired."], ["job:retired"]),
    (["I work at Acme.", "My brother quit his job."], ["employer:Acme"]),
    (["My brother works at Acme.", "My brother quit his job."], []),
    (["I work at Acme.", "If I quit my job, I would travel."], ["employer:Acme"]),
    (["I work at Acme.", "I didn't quit my job."], ["employer:Acme"]),
    (["I work at Acme.", "I almost got fired."], ["employer:Acme"]),
    (["I'm a teacher.", "I am not a nurse."], ["job:teacher", "job:nurse"]),
    (["我在阿里巴巴公司工作", "我不在阿里工作了"], []),
    (["我在腾讯工作，是程序员", "我辞职了"], []),
    (["我在腾讯工作", "我被裁员了"], []),
    # habits
    (["I love coffee.", "I stopped drinking coffee."], []),
    (["I drink coffee.", "I quit drinking coffee."], []),
    (["I love black coffee and tea.", "I gave up coffee."], ["likes:tea"]),
    (["I like espresso.", "I don't drink espresso any more."], []),
    (["I like coffee.", "I've gone off coffee."], []),
    (["I like coffee.", "I don't like coffee."], ["dislikes:coffee"]),
    (["I hate coffee.", "I love coffee now."], ["likes:coffee"]),
    (["I eat meat.", "I don't eat meat."], ["eats:meat"]),
    (["I like coffee.", "I stopped by the shop."], ["likes:coffee"]),
    (["I like coffee.", "My boss gave up coffee."], ["likes:coffee"]),
    (["我喜欢喝咖啡", "我戒了咖啡"], []),
    (["我喜欢喝咖啡和喝茶", "我不喝咖啡了"], ["likes:喝茶"]),
    # people and pets
    (["My husband is Tom.", "We divorced."], ["marital status:divorced"]),
    (["My husband is Tom.", "We got divorced last year."], ["marital status:divorced"]),
    (["My husband is Tom.", "My ex-husband lives in Oslo."], []),
    (["My husband is Bob.", "My ex-husband Tom called."], ["spouse:Bob"]),
    (["My husband is Tom.", "We separated the eggs."], ["spouse:Tom"]),
    (["我老公叫李雷", "我离婚了"], ["marital status:离婚"]),
    (["I have a dog named Rex and a cat.", "Rex died."], []),
    (["My dog Rex is sweet. My cat is called Mio.", "Rex passed away last week."], ["pet:Mio"]),
    (["My dog is called Rex. My cat is called Mio.", "My dog died."], ["pet:Mio"]),
    (["My brother is Tom.", "Tom died."], []),
    (["My dog is called Rex.", "Prince died."], ["pet:Rex"]),
    (["My dog is called Rex.", "If Rex died, I would cry."], ["pet:Rex"]),
    (["我有一只狗叫旺财", "旺财去世了"], []),
    (["我有一只狗叫旺财", "我的狗死了"], []),
    (["My wife is Anna.", "My wife died last year."], []),
    (["I have a girlfriend named Eva.", "My girlfriend and I broke up."], []),
    (["My sister lives in Paris.", "My sister moved to Rome."], ["home_city:Rome"]),
    (["My brother lives in Paris.", "My brother lives in Rome."], ["home_city:Paris", "home_city:Rome"]),
    (["I study at MIT.", "I graduated from MIT."], ["graduated from:MIT"]),
    (["I'm vegetarian.", "I'm vegan now."], ["diet:vegan"]),
    (["I'm vegetarian.", "I eat meat again."], ["eats:meat"]),
    (["I'm lactose intolerant.", "I'm vegan."], ["diet:lactose intolerant", "diet:vegan"]),
    (["I drink coffee every morning.", "I stopped drinking coffee."], []),
    (["I love coffee.", "I'm trying to give up coffee."], ["likes:coffee"]),
    (["I volunteer at an animal shelter.", "I stopped volunteering at the animal shelter."], []),
    (["我对花生过敏", "我不再对花生过敏"], ["allergy:花生"]),
    (["我在学日语", "我不学日语了"], []),
    # preferences by topic
    (["I prefer phone calls.", "I prefer email now."], ["preferred contact:email"]),
    (["I prefer window seats.", "I prefer an aisle seat now."], ["preferred seat:an aisle seat"]),
    (["I prefer phone calls.", "I prefer window seats."], ["preferred contact:phone calls", "preferred seat:window seats"]),
    (["I prefer jazz.", "I prefer mountains."], ["prefers:jazz", "prefers:mountains"]),
    (["我更喜欢打电话", "我现在更喜欢发邮件"], ["preferred contact:发邮件"]),
    # things
    (["I drive a Toyota Corolla.", "I sold my car."], []),
    (["I drive a Toyota Corolla.", "I sold my bike."], ["vehicle:Toyota Corolla"]),
    (["My car is a Volvo.", "I sold my Volvo."], []),
    (["我有一辆车", "我把车卖了"], []),
    # commitments
    (["The flight leaves at 8:15 on Friday.", "Correction: the flight leaves at 9:40."], ["flight leaves:at 9:40"]),
    (["My appointment is on Tuesday at 9", "My appointment is on Thursday at 10"], ["appointment:on Thursday at 10"]),
    (["I have a dentist appointment on Friday.", "My dentist appointment is on Monday."], ["dentist appointment:on Monday"]),
    (["我的航班周五8:15起飞", "更正一下，航班周五9:40起飞"], ["航班时间:周五9:40"]),
    # plans that are called off, or on another day: the one that is meant, however it was told
    (["We're planning to go to Sardinia in July.", "Because of that we're cancelling Sardinia. Maybe the Alps instead."], []),
    (["We're planning to go to Sardinia in July.", "We're not going to Sardinia after all."], []),
    (["I'm going to Tokyo in June.", "I'm not going to Tokyo."], []),
    (["I'm going to Tokyo in June.", "I'm no longer going to Tokyo."], []),
    (["I'm going to Tokyo in June.", "I can't go to Tokyo after all."], []),
    (["I'm going to Tokyo in June.", "We decided not to go to Tokyo."], []),
    (["I'm going to Tokyo in June.", "We won't be going to Tokyo this summer."], []),
    (["I'm going to Tokyo in June.", "The trip to Tokyo is off."], []),
    (["I'm going to Tokyo in June.", "The trip is called off."], []),
    (["I'm going to Tokyo in June.", "We called the trip off."], []),
    (["I'm going to Tokyo in June.", "I'm going to Tokyo in June with Anna.", "We're cancelling Tokyo."], []),
    (["I'm going to Tokyo in June.", "I'm going to Tokyo in October.", "I'm not going to Tokyo in June."],
     ["plan:going to Tokyo in October"]),
    (["I'm going to Tokyo in June.", "The trip to Tokyo is postponed to August."], ["trip to tokyo:August"]),
    (["I'm going to Tokyo in June.", "We postponed the trip to August."], ["trip to tokyo:August"]),
    (["I'm going to Tokyo in June.", "We postponed the trip to August.", "The Tokyo trip is cancelled."], []),
    (["I'm going to the concert on Friday.", "The concert got cancelled."], []),
    (["I'm going to the concert on Friday.", "I can't make it to the concert."], []),
    (["My dentist appointment is on May 20.", "I cancelled my dentist appointment."], []),
    (["My dentist appointment is on May 20.", "My hair appointment is on May 21.", "My hair appointment is cancelled."],
     ["dentist appointment:on May 20"]),
    (["My dentist appointment is on May 20 at 15:00.", "Her office called, the appointment is moved to May 26 at 10:30."],
     ["dentist appointment:moved to May 26 at 10:30"]),
    (["My dentist appointment is on May 20.", "The appointment has been rescheduled to May 26."],
     ["dentist appointment:May 26"]),
    (["I have a dentist appointment on May 20.", "They moved my appointment to May 26."], ["dentist appointment:May 26"]),
    (["My dentist appointment is on May 20.", "My hair appointment is on May 21.", "The appointment is moved to May 26."],
     ["dentist appointment:on May 20", "hair appointment:on May 21", "appointment:moved to May 26"]),
    # what somebody is at, and who comes next
    (["I'm reading 'Middlemarch' at the moment.", "I finished Middlemarch! Next up is Dune."], []),
    (["I'm reading 'Middlemarch'.", "I finished the first chapter of Middlemarch."], ["doing:reading 'Middlemarch"]),
    (["I'm reading 'Middlemarch'.", "I haven't finished Middlemarch."], ["doing:reading 'Middlemarch"]),
    (["I run every morning.", "I stopped running."], []),
    (["I take piano lessons every week.", "I quit piano lessons."], []),
    (["I run every morning.", "I stopped running to catch my breath."], ["habit:run every morning"]),
    (["I run every morning.", "My sister stopped running."], ["habit:run every morning"]),
    (["My boss is Stefan.", "Stefan is leaving; my new boss will be Ingrid Baumann from May 1st."], ["boss:Ingrid Baumann"]),
    (["My boss is Stefan.", "My new boss will be Ingrid."], ["boss:Stefan"]),
    (["My boss is Stefan.", "Maybe my new boss will be Ingrid from May 1st."], ["boss:Stefan"]),
    ([HARROW, "We moved to the flat in Weil today."], ["home_city:Weil"]),
    # those around somebody, by their names
    (["My husband Jonas eats meat.", "Jonas is allergic to shellfish, so no prawns at home."],
     ["spouse:Jonas", "eats:meat", "allergy:shellfish"]),
    (["My sister Anna lives in Hamburg.", "Anna moved to Berlin."], ["sibling:Anna", "home_city:Berlin"]),
    (["My sister is Anna.", "My friend is Anna.", "Anna is allergic to nuts."], ["sibling:Anna", "friend:Anna"]),
    (["I like tea.", "Jonas is allergic to shellfish."], ["likes:tea"]),
    (["My husband is Jonas.", "Maybe Jonas is allergic to shellfish."], ["spouse:Jonas"]),
    (["My husband is Jonas.", "Jonas's boss is allergic to shellfish."], ["spouse:Jonas"]),
    (["We have two kids, Mia and Leo."], ["child:Mia", "child:Leo"]),
    (["We have two kids, Monday is always busy."], ["child:two kids"]),
    (["We adopted a cat! She's a three-year-old tabby named Pixel."], ["pet:Pixel"]),
]  # fmt: skip

TOKYO, DENTIST = "I'm going to Tokyo in June.", "My dentist appointment is on May 20."
# What is said after a plan and leaves it as it is.
STAYS: list[tuple[str, str]] = [
    (TOKYO, "I'm not going to lie, Tokyo is expensive."),
    (TOKYO, "I'm not going to Tokyo until May 30."),
    (TOKYO, "I'm not going to Tokyo alone."),
    (TOKYO, "I'm not going to Tokyo today."),
    (TOKYO, "I'm not going to Tokyo for work, it's just for fun."),
    (TOKYO, "We almost cancelled Tokyo."),
    (TOKYO, "Should we cancel Tokyo?"),
    (TOKYO, "Is the trip cancelled?"),
    (TOKYO, "We're not cancelling Tokyo."),
    (TOKYO, "We didn't cancel Tokyo."),
    (TOKYO, "If it rains we're not going to Tokyo."),
    (TOKYO, "Maybe we're not going to Tokyo."),
    (TOKYO, "Anna is not going to Tokyo."),
    (TOKYO, "My sister cancelled Tokyo."),
    (TOKYO, "Anna's trip to Tokyo is off."),
    (TOKYO, "Anna said the trip is off."),
    (TOKYO, "The trip is off to a great start."),
    (TOKYO, "We're not going to Osaka."),
    (TOKYO, "I'm not only going to Tokyo but also to Osaka."),
    (TOKYO, "The trip was cancelled but now it's back on."),
    (TOKYO, "We want to postpone the trip to August."),
    (TOKYO, "Can we move the trip to August?"),
    (TOKYO, "I thought about cancelling Tokyo."),
    (TOKYO, "I'd cancel the trip."),
    (TOKYO, "I don't go to Tokyo often."),
    (TOKYO, "Did you know that we're going to Tokyo after all?"),
    (TOKYO, "I cancelled my Netflix subscription."),
    (TOKYO, "My flight to Tokyo is cancelled."),
    (TOKYO, "I need to cancel my dentist appointment."),
    (TOKYO, "Remind me to cancel the trip to Tokyo."),
    (TOKYO, "My last trip to Tokyo was cancelled."),
    (TOKYO, "I'm not going to Tokyo because I have to, but because I want to."),
    (TOKYO, "The trip to Kyoto is off."),
    (DENTIST, "Carla moved her appointment to May 26."),
    (DENTIST, "I need to move my appointment to May 26."),
    (DENTIST, "The appointment is not moved to May 26."),
    (DENTIST, "The meeting is moved to May 26."),
    (DENTIST, "They wanted to move my appointment to May 26."),
    (DENTIST, "I'm not going to miss the appointment."),
    ("I'm going to the concert on Friday.", "I'm not going to the gym."),
    ("I'm going to the concert on Friday.", "The concert is off the hook."),
    (TOKYO, "We're not going to Tokyo yet."),
    (TOKYO, "I'm not going to Tokyo before May 30."),
    (TOKYO, "What if we cancelled Tokyo?"),
    (TOKYO, "They say the trip is off."),
    (TOKYO, "My boss cancelled his trip to Tokyo."),
    (TOKYO, "Please don't cancel the trip."),
    (TOKYO, "We never cancelled the trip."),
    (TOKYO, "She asked whether the trip is cancelled."),
    (TOKYO, "I hope the trip isn't cancelled."),
    (TOKYO, "We're not going to Tokyo with the kids."),
    (TOKYO, "\"We are cancelling Tokyo,\" wrote Ben."),
    (TOKYO, "Stefan is off."),
]  # fmt: skip


@pytest.mark.parametrize(("said", "current"), AFTERWARDS)
def test_what_is_current_after_a_conversation(talk: Talk, said: list[str], current: list[str]) -> None:
    talk.say(*said)
    assert sorted(talk.current()) == sorted(current)


@pytest.mark.parametrize(("plan", "then"), STAYS)
def test_what_is_no_cancelling_leaves_a_plan_as_it_is(talk: Talk, plan: str, then: str) -> None:
    talk.say(plan)
    before = talk.current()
    talk.say(then)
    assert before and set(before) <= set(talk.current())


def test_a_plan_of_another_session_is_not_meant_where_this_one_has_its_own(talk: Talk) -> None:
    talk.say("My dentist appointment is on May 20.", session="teeth")
    talk.say("My hair appointment is on May 21.", "The appointment is moved to May 26.", session="hair")
    assert sorted(talk.current()) == ["dentist appointment:on May 20", "hair appointment:moved to May 26"]


def test_a_fact_of_somebody_known_by_name_is_told_of_who_that_is(talk: Talk) -> None:
    talk.say("My husband Jonas eats meat.", "Jonas is allergic to shellfish.")
    found = talk.cube.write_soon(lambda tx: tx.find_slot("user's husband jonas|allergy")).result()
    assert [m.text for m in found] == ["The user's husband Jonas is allergic to shellfish."]


def test_a_plan_that_is_called_off_is_kept_as_history(talk: Talk) -> None:
    talk.say(TOKYO, "We're not going to Tokyo after all.")
    (plan,) = talk.facts("plan")
    assert (plan.status, plan.valid_to) == (Status.SUPERSEDED, START + timedelta(days=1))


def test_what_ended_is_kept_as_history(talk: Talk) -> None:
    talk.say("I work at Acme.", "I quit my job.", "I work at Google.")
    facts = talk.facts("employer")
    assert [(m.body["value"], m.status) for m in facts] == [("Acme", Status.SUPERSEDED), ("Google", Status.ACTIVE)]
    assert facts[0].valid_to == START + timedelta(days=1)


def test_a_pet_is_one_entity_whatever_its_name_also_means(talk: Talk) -> None:
    talk.say("Pixel is great.", "My dog is called Pixel.", "I walk Pixel every day.")
    assert talk.current(kinds=[Kind.ENTITY]) == [":Pixel"]
