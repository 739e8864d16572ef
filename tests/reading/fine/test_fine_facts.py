"""What of a model's facts is kept: only what stands in the messages it names, in their words, said by who says it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from fine_cases import NOW, fact, kept, read, said, talk

from memos.memory.model import Kind
from memos.reading.read import read_trace

OSLO = fact("user", "home city", "Oslo", "The user lives in Oslo.")


async def test_a_fact_becomes_a_statement_with_its_evidence() -> None:
    trace = said("Hi! I live in Oslo. It rains a lot.")
    (one,) = await kept([trace], OSLO)
    assert (one.kind, one.text, one.value, one.single) == (Kind.PROFILE, "The user lives in Oslo.", "Oslo", True)
    assert one.source.memory_id == trace.id
    assert trace.text[one.source.start : one.source.end] == "I live in Oslo."
    assert 0.5 < one.confidence <= 0.95


async def test_readings_are_by_the_trace_that_says_it_first() -> None:
    traces = talk("I live in Oslo.", "I have a cat named Miso.", "As I said, Oslo is home.")
    reading = await read(
        traces,
        fact("user", "home", "Oslo", "The user lives in Oslo.", 1, 3),
        fact("user", "pet", "Miso", "The user has a cat named Miso.", 2),
    )
    assert {id: [s.value for s in r.statements] for id, r in reading.readings.items()} == {
        traces[0].id: ["Oslo"],
        traces[1].id: ["Miso"],
    }
    (oslo,) = reading.readings[traces[0].id].statements
    assert [source.memory_id for source in oslo.also] == [traces[2].id]


@pytest.mark.parametrize("by", [(7,), (0,), (-1,), (999,), ()])
async def test_a_fact_without_evidence_that_there_is_is_dropped(by: tuple[int, ...]) -> None:
    assert await kept(talk("I live in Oslo."), {**OSLO, "by": list(by)}) == []


async def test_numbers_of_no_message_beside_one_that_there_is_are_passed_over() -> None:
    (one,) = await kept(talk("I live in Oslo."), {**OSLO, "by": [99, 1]})
    assert one.also == ()


@pytest.mark.parametrize(
    ("said", "made"),
    [
        ("hi", OSLO),
        ("ok", OSLO),
        ("👍", OSLO),
        ("I live in Oslo.", fact("user", "home", "Bergen", "The user lives in Bergen.")),
        ("I live in Oslo.", fact("user", "employer", "Acme", "The user works at Acme.")),
        ("I live in Oslo.", fact("user", "pet", "cat", "The user has a cat.")),
        ("I have 3 cats.", fact("user", "cats", "4 cats", "The user has 4 cats.")),
        ("我住在北京。", fact("用户", "居住地", "上海", "用户住在上海。")),
        ("I work at Acme.", fact("Nadia", "employer", "Acme", "Nadia works at Acme.")),
        (
            "I work at Acme.",
            fact("user's brother Karim", "employer", "Acme", "The user's brother Karim works at Acme."),
        ),
    ],
)
async def test_what_no_message_says_is_dropped(said: str, made: dict[str, object]) -> None:
    assert await kept(talk(said), made) == []


async def test_a_sentence_with_an_invented_name_is_dropped() -> None:
    made = fact("user", "home", "Oslo", "The user lives in Oslo with his friend Gunnar.")
    assert await kept(talk("I live in Oslo."), made) == []


@pytest.mark.parametrize("text", ["The user has lived in Oslo for 12 years.", "The user lives in Oslo since 2019."])
async def test_a_sentence_with_an_invented_number_gives_way_to_the_message(text: str) -> None:
    (one,) = await kept(talk("I live in Oslo."), fact("user", "home", "Oslo", text))
    assert one.text == "User: I live in Oslo."


async def test_a_sentence_in_another_language_gives_way_to_the_message() -> None:
    (one,) = await kept(talk("我住在北京朝阳区。"), fact("user", "home city", "北京", "The user lives there."))
    assert (one.text, one.value) == ("用户: 我住在北京朝阳区。", "北京")
    assert one.confidence < 0.8


async def test_the_language_of_the_source_is_kept() -> None:
    (one,) = await kept(talk("我现在住在北京。"), fact("用户", "居住地", "北京", "用户住在北京。"))
    assert (one.text, one.slot) == ("用户住在北京。", "user|home_city")


async def test_the_spelling_of_the_source_is_restored() -> None:
    (one,) = await kept(
        talk("I work at ACME　Ｌａｂｓ."), fact("user", "employer", "Acme Labs", "The user works at ACME Labs.")
    )
    assert one.value == "ACME　Ｌａｂｓ"


async def test_quotes_and_white_space_are_no_difference() -> None:
    traces = talk("My favourite book is “The  Owl’s Nest”.")
    (one,) = await kept(
        traces,
        fact("user", "favorite book", "The Owl's Nest", "The user's favourite book is The Owl's Nest.", kind="love"),
    )
    assert (one.slot, one.value, one.single) == ("user|favourite book", "The  Owl’s Nest", True)


async def test_a_part_of_a_word_is_no_evidence() -> None:
    assert (
        await kept(talk("I started yesterday."), fact("user", "likes", "art", "The user likes art.", kind="like")) == []
    )


async def test_a_paraphrase_is_less_sure() -> None:
    traces = talk("I am training for a marathon that is run in the mountains.")
    (one,) = await kept(
        traces,
        fact("user", "training for", "mountain marathon", "The user trains for a mountain marathon.", kind="fact"),
    )
    assert one.confidence < 0.7


async def test_a_value_of_another_message_is_found_there_and_less_sure() -> None:
    traces = talk("Good morning, how are things?", "I live in Oslo.")
    (one,) = await kept(traces, OSLO)
    assert one.source.memory_id == traces[1].id
    assert one.confidence < 0.8


# --- who says it ------------------------------------------------------------------------------------------------------


async def test_what_an_assistant_says_is_no_fact_about_the_user() -> None:
    traces = talk("Any tips?", ("assistant", "You live in Oslo, so take the tram."))
    assert await kept(traces, {**OSLO, "by": [2]}) == []
    assert await kept(traces, {**OSLO, "by": [1, 2]}) == []


async def test_unless_she_agrees() -> None:
    traces = talk(("assistant", "You live in Oslo, right?"), "Yes, exactly.")
    (one,) = await kept(traces, {**OSLO, "by": [1, 2]})
    assert one.source.memory_id == traces[1].id
    assert [source.memory_id for source in one.also] == [traces[0].id]
    assert one.body["said_by"] == "user"


async def test_an_answer_that_agrees_with_nothing_does_not_count() -> None:
    traces = talk(("assistant", "You live in Oslo, right?"), "What makes you think so?")
    assert await kept(traces, {**OSLO, "by": [1, 2]}) == []


async def test_what_an_assistant_says_of_things_is_marked_as_hers() -> None:
    traces = talk("Which port?", ("assistant", "The staging server listens on port 8443."))
    made = fact("staging server", "port", "8443", "The staging server listens on port 8443.", 2, kind="fact")
    (one,) = await kept(traces, made)
    assert (one.body["said_by"], one.source.role, one.slot) == ("assistant", "assistant", "staging server port|is")
    assert one.confidence < 0.8


async def test_an_assistant_with_a_name_speaks_for_herself() -> None:
    trace = said("I live in Oslo.", "assistant", "Melanie")
    (one,) = await kept([trace], fact("Melanie", "home city", "Oslo", "Melanie lives in Oslo."))
    assert one.slot == "melanie|home_city"


async def test_what_one_speaker_says_of_another_is_less_sure() -> None:
    traces = talk(("Ana", "Ben, you play the flute so well!"))
    assert await kept(traces, fact("Ben", "plays", "flute", "Ben plays the flute.", kind="fact"))
    (own,) = await kept(
        talk(("Ben", "I play the flute.")), fact("Ben", "plays", "flute", "Ben plays the flute.", kind="fact")
    )
    both = talk(("Ana", "Ben, you play the flute so well!"), ("Ben", "Thanks!"))
    (told,) = await kept(both, fact("Ben", "plays", "flute", "Ben plays the flute.", kind="fact"))
    assert told.confidence < own.confidence


@pytest.mark.parametrize("role", ["tool", "system"])
async def test_tools_and_system_prompts_teach_no_facts(role: str) -> None:
    traces = [said("I live in Oslo.", role), said("What can you do for me?")]
    for by in ([1], [2], [1, 2]):
        assert await kept(traces, {**OSLO, "by": by}) == []


async def test_recalled_memories_teach_nothing() -> None:
    traces = talk("<memories>The user lives in Oslo.</memories> Book me a table, please.")
    assert await kept(traces, OSLO) == []


@pytest.mark.parametrize("who", ["user", "The user", "User", "I", "用户", "speaker"])
async def test_the_user_has_one_name(who: str) -> None:
    (one,) = await kept(talk("I live in Oslo."), {**OSLO, "who": who})
    assert one.slot == "user|home_city"


@pytest.mark.parametrize("who", ["Caroline", "caroline", "user", "the user"])
async def test_a_speaker_with_a_name_is_called_by_it(who: str) -> None:
    (one,) = await kept(talk(("Caroline", "I live in Oslo.")), {**OSLO, "who": who, "text": "Caroline lives in Oslo."})
    assert one.slot == "caroline|home_city"


@pytest.mark.parametrize("who", ["Caroline's brother", "my brother", "Caroline’s brother"])
async def test_a_relative_is_named_by_whose_she_is(who: str) -> None:
    traces = talk(("Caroline", "My brother lives in Paris."))
    (one,) = await kept(traces, fact(who, "home city", "Paris", "Caroline's brother lives in Paris."))
    assert (one.slot, one.single) == ("caroline's brother|home_city", False)


async def test_it_and_she_are_nobody() -> None:
    assert await kept(talk("She lives in Oslo."), {**OSLO, "who": "she"}) == []


async def test_what_stands_in_a_question_is_less_sure() -> None:
    made = fact("user", "pet", "Miso", "The user has a cat named Miso.")
    (asked,) = await kept(talk("Do you remember my cat Miso?"), made)
    (stated,) = await kept(talk("I told you of my cat Miso."), made)
    assert asked.confidence < stated.confidence


async def test_a_detail_of_a_thing_fills_the_slot_that_the_rules_fill() -> None:
    trace = said("The boiler serial is HK-902.")
    (one,) = await kept([trace], fact("The boiler", "serial", "HK-902", "The boiler serial is HK-902.", kind="fact"))
    (by_rules,) = read_trace(trace).statements
    assert (one.slot, one.key, one.single) == (by_rules.slot, by_rules.key, by_rules.single)


# --- tastes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "slot", "strength"),
    [
        ("like", "user|likes", 0.6),
        ("love", "user|likes", 1.0),
        ("dislike", "user|dislikes", 0.6),
        ("hate", "user|dislikes", 1.0),
    ],
)
async def test_a_taste_has_a_polarity_and_a_strength(kind: str, slot: str, strength: float) -> None:
    (one,) = await kept(
        talk("About sailing: you know how I am."),
        fact("user", "sport", "sailing", "How the user is about sailing.", kind=kind),
    )
    assert (one.kind, one.slot, one.body["strength"]) == (Kind.PREFERENCE, slot, strength)
    assert one.body["preference_type"] == "explicit_preference"
    assert one.key.endswith("|not sailing" if "dis" in slot else "|sailing")


async def test_a_taste_nobody_stated_needs_two_messages_of_that_person() -> None:
    traces = talk(
        "Another table by the window, please.",
        ("assistant", "A table by the window, sure."),
        "By the window again, thanks.",
    )
    made = fact("user", "seat", "by the window", "The user takes tables by the window.", kind="like", implied=True)
    assert await kept(traces, {**made, "by": [1]}) == []
    assert await kept(traces, {**made, "by": [1, 2]}) == []
    (one,) = await kept(traces, {**made, "by": [1, 3]})
    assert one.body["preference_type"] == "implicit_preference"
    assert one.confidence <= 0.6


async def test_what_is_implied_is_never_a_profile() -> None:
    traces = talk("Oslo is nice.", "Oslo again!")
    assert await kept(traces, {**OSLO, "by": [1, 2], "implied": True}) == []


@pytest.mark.parametrize("kind", ["always", "never"])
async def test_how_the_assistant_shall_act(kind: str) -> None:
    (one,) = await kept(
        talk("Answer in short sentences from now on."),
        fact("user", "style", "short sentences", "Short sentences, the user asks.", kind=kind),
    )
    assert (one.slot, one.kind) == (f"user|{kind}", Kind.PREFERENCE)


# --- time -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", ["2024-05-04", "last Saturday", "2024-05-03"])
async def test_a_relative_date_is_what_the_rules_say_it_is(start: str) -> None:
    made = fact("user", "did", "ran a marathon", "The user ran a marathon.", kind="event", start=start)
    (one,) = await kept(talk("I ran a marathon last Saturday!"), made)
    assert (one.valid_from, one.valid_to) == (datetime(2024, 5, 4, tzinfo=UTC), datetime(2024, 5, 5, tzinfo=UTC))
    assert one.text == "The user ran a marathon (2024-05-04)."


async def test_a_date_is_that_of_where_it_was_said() -> None:
    trace = said("I ran a marathon yesterday!", zone="Asia/Tokyo", at=datetime(2024, 5, 8, 22, tzinfo=UTC))
    (one,) = await kept(
        [trace], fact("user", "did", "ran a marathon", "The user ran a marathon.", kind="event", start="2024-05-08")
    )
    assert one.valid_from == datetime(2024, 5, 7, 15, tzinfo=UTC)


@pytest.mark.parametrize("start", ["2019-01-01", "2024-02-31", "1066", "soon", "9999-99-99", "2023-11-11T25:61"])
async def test_a_date_the_message_does_not_speak_of_is_dropped_and_the_fact_less_sure(start: str) -> None:
    (one,) = await kept(talk("I live in Oslo."), {**OSLO, "start": start})
    (plain,) = await kept(talk("I live in Oslo."), OSLO)
    assert (one.valid_from, one.valid_to) == (None, None)
    assert one.confidence < plain.confidence


async def test_no_end_is_before_its_beginning() -> None:
    made = fact("user", "home", "Paris", "The user lived in Paris from 2010 to 2015.", start="2015", end="2010")
    (one,) = await kept(talk("I lived in Paris from 2010 to 2015."), made)
    assert one.valid_to is None or one.valid_from is None or one.valid_from < one.valid_to


async def test_what_was_so_until_a_date_is_past() -> None:
    made = fact("user", "home", "Paris", "The user lived in Paris until 2019.", end="2019")
    (one,) = await kept(talk("I lived in Paris until 2019."), made)
    assert one.valid_to == datetime(2020, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("I used to live in Paris, until 2019.", "2020-01-01"),
        ("I used to live in Paris and left in May 2019.", "2019-05-01"),
    ],
)
async def test_what_is_over_is_so_since_the_end_that_was_told(text: str, end: str) -> None:
    made = fact(
        "user",
        "home",
        "Paris",
        "The user used to live in Paris.",
        end="2019" if "until" in text else "2019-05",
        over=True,
    )
    (one,) = await kept(talk(text), made)
    assert (one.ended, one.valid_to) == (True, datetime.fromisoformat(f"{end}T00:00+00:00"))


async def test_what_holds_until_a_later_date_still_holds() -> None:
    made = fact("user", "home", "Paris", "The user lives in Paris until June 2025.", end="2025-06")
    (one,) = await kept(talk("I live in Paris until June 2025."), made)
    assert (one.valid_to, one.body["until"][:7]) == (None, "2025-07")


async def test_what_will_be_so_is_a_plan_and_changes_nothing_yet() -> None:
    made = fact("user", "home", "Bergen", "The user will move to Bergen in June 2024.", start="2024-06")
    (one,) = await kept(talk("I will move to Bergen in June 2024."), made)
    assert (one.kind, one.slot, one.body["due"][0][:10]) == (Kind.COMMITMENT, "user|plan", "2024-06-01")
    assert (one.valid_from, one.valid_to) == (None, None)


async def test_a_plan_is_due() -> None:
    made = fact(
        "user", "reminder", "call the dentist", "The user wants to call the dentist.", kind="plan", start="2024-05-09"
    )
    (one,) = await kept(talk("Remind me to call the dentist tomorrow."), made)
    assert (one.kind, one.slot, one.body["due"][0][:10]) == (Kind.COMMITMENT, "user|reminder", "2024-05-09")


@pytest.mark.parametrize("over", [True, False])
async def test_no_longer_ends_a_slot(over: bool) -> None:
    made = fact("user", "employer", "Acme", "The user no longer works at Acme.", over=over)
    (one,) = await kept(talk("I no longer work at Acme."), made)
    assert (one.slot, one.ended, one.valid_to) == ("user|employer", True, NOW)


async def test_a_denial_is_not_the_thing_denied() -> None:
    (one,) = await kept(talk("I am not vegan."), fact("user", "diet", "vegan", "The user is not vegan."))
    assert (one.key, one.ended) == ("user|diet|not vegan", False)


# --- one vocabulary with the rules ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "who", "what", "value", "kind"),
    [
        ("I live in Oslo.", "user", "lives in", "Oslo", "profile"),
        ("I live in Oslo.", "user", "residence", "Oslo", "fact"),
        ("I live in Oslo.", "user", "home_city", "Oslo", "profile"),
        ("I live in Norway.", "user", "home country", "Norway", "profile"),
        ("I live at 14 Harrow Lane, Leeds.", "user", "home address", "14 Harrow Lane, Leeds", "profile"),
        ("I work at Acme Corp.", "user", "employer", "Acme Corp", "profile"),
        ("I work at Acme Corp.", "user", "works at", "Acme Corp", "fact"),
        ("I'm a nurse.", "user", "occupation", "nurse", "profile"),
        ("I was born in Rome.", "user", "born in", "Rome", "profile"),
        ("I'm allergic to peanuts.", "user", "allergic to", "peanuts", "profile"),
        ("I'm lactose intolerant.", "user", "diet", "lactose intolerant", "profile"),
        ("I speak French.", "user", "speaks", "French", "profile"),
        ("My name is Ines.", "user", "name", "Ines", "profile"),
        ("My birthday is 5 March.", "user", "date of birth", "5 March", "profile"),
        ("My email is a.b@c.org.", "user", "email address", "a.b@c.org", "profile"),
        ("My wife is called Anna.", "user", "wife", "Anna", "profile"),
        ("My wife is called Anna.", "user", "spouse's name", "Anna", "profile"),
        ("I have a dog named Rex.", "user", "has a dog", "Rex", "profile"),
        ("I'm divorced.", "user", "relationship status", "divorced", "profile"),
        ("I like pottery.", "user", "hobby", "pottery", "like"),
        ("I don't like hiking.", "user", "activity", "hiking", "dislike"),
        ("My favourite colour is blue.", "user", "favorite colour", "blue", "like"),
        ("I prefer tea.", "user", "preferred drink", "tea", "like"),
        ("My wifi password is hunter2.", "user", "wifi password", "hunter2", "fact"),
        ("我住在奥斯陆。", "用户", "居住地", "奥斯陆", "profile"),
        ("我是护士。", "用户", "职业", "护士", "profile"),
        ("我对花生过敏。", "用户", "过敏", "花生", "profile"),
        ("我老婆叫李梅。", "用户", "老婆", "李梅", "profile"),
    ],
)  # fmt: skip
async def test_a_fact_fills_the_slot_that_the_rules_fill(text: str, who: str, what: str, value: str, kind: str) -> None:
    trace = said(text)
    stated = (
        text.replace("I'm", "The user is").replace("My", "The user's").replace("I ", "The user ").replace("我", "用户")
    )
    (one,) = await kept([trace], fact(who, what, value, stated, kind=kind))
    by_rules = [s for s in read_trace(trace).statements if s.value == one.value]
    assert (one.slot, one.key, one.single, one.kind) in [(s.slot, s.key, s.single, s.kind) for s in by_rules]


async def test_an_attribute_of_its_own_may_have_many_values() -> None:
    (one,) = await kept(
        talk("I collect stamps."), fact("user", "collects", "stamps", "The user collects stamps.", kind="fact")
    )
    assert (one.slot, one.single) == ("user|collects", False)


async def test_what_is_said_twice_is_one_statement_with_both_as_evidence() -> None:
    traces = talk("I live in Oslo.", "Oslo is my home.")
    (one,) = await kept(traces, OSLO, fact("user", "lives in", "Oslo", "The user's home is Oslo.", 2, sure=0.5))
    assert [source.memory_id for source in (one.source, *one.also)] == [t.id for t in traces]


async def test_what_is_hardly_sure_is_not_kept() -> None:
    assert await kept(talk("I live in Oslo."), {**OSLO, "sure": 0.1}) == []


async def test_what_is_doubtful_takes_the_place_of_nothing_and_ends_nothing() -> None:
    (one,) = await kept(talk("I moved to Oslo."), fact("user", "moved to", "Oslo", "The user moved to Oslo.", sure=0.4))
    assert (one.single, one.ends) == (False, ())
    gone = fact("user", "employer", "Acme", "The user no longer works at Acme.", over=True)
    assert await kept(talk("I no longer work at Acme."), {**gone, "sure": 0.4}) == []
    assert len(await kept(talk("I no longer work at Acme."), gone)) == 1


async def test_a_sentence_that_does_not_speak_of_the_value_gives_way_to_the_message_and_is_doubtful() -> None:
    (one,) = await kept(
        talk("I live in Oslo, and Bergen is far."), fact("user", "home", "Bergen", "The user lives in Oslo.")
    )
    assert (one.text, one.single) == ("User: I live in Oslo, and Bergen is far.", False)


async def test_a_sentence_about_something_else_is_dropped() -> None:
    made = fact(
        "user", "hobby", "Oslo", "The user enjoys restoring vintage motorcycles every weekend near Oslo.", kind="like"
    )
    assert await kept(talk("I live in Oslo."), made) == []


async def test_another_language_in_latin_letters_gives_way_to_the_message() -> None:
    made = fact("user", "workplace", "Haukeland", "The user has been employed as a nurse at Haukeland hospital.")
    (one,) = await kept(talk("Jeg har jobbet som sykepleier ved Haukeland sykehus i mange lange og fine år."), made)
    assert one.text.startswith("User: Jeg har jobbet")
