"""What people tell of their lives without a form: events without a day, doings, habits, plans, sentences without a subject,
what is said by the way; and what of all that is not believed.
"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from reading_cases import say

from memos.memory.model import Kind
from memos.reading.finding import Finding
from memos.reading.rules import read_message


def told(text: str, asked: str = "") -> list[Finding]:
    before = [say(asked, "assistant", "Bo")] if asked else []
    return [f for f in read_message(say(text, name="Ann"), previous=before) if f.kind is not Kind.ENTITY]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # which clauses are read
        ("So much to tell - I visited a lighthouse two days ago!", "Ann visited a lighthouse two days ago (2024-05-06)."),
        ("Great day 🎉 I visited a lighthouse yesterday.", "Ann visited a lighthouse yesterday (2024-05-07)."),
        ("Just yesterday I joined a rowing club.", "Ann joined a rowing club (2024-05-07)."),
        ("It is odd how calm I am since I started fencing two years ago.", "Ann started fencing two years ago (around 2022-01-01)."),
        ("My legs hurt after we went rafting last weekend.", "Ann and others went rafting last weekend (around 2024-05-04)."),
        ("This novel I read last year stays with me.", "Ann read this novel last year (around 2023-01-01)."),
        ("Here is a vase I made recently.", "Ann made a vase recently."),
        ("My old school was flooded last week.", "Ann's old school was flooded last week (around 2024-04-29)."),
        ("My brother sold his boat yesterday.", "Ann's brother sold his boat yesterday (2024-05-07)."),
        ("My colleague invited me to a tasting.", "Ann's colleague invited them to a tasting."),
        # sentences without a subject
        ("Lost my passport yesterday.", "Ann lost their passport yesterday (2024-05-07)."),
        ("Been to Lisbon only once.", "Ann visited Lisbon."),
        ("Been painting the fence lately.", "Ann has been painting the fence lately."),
        ("All quiet here, just learning the cello.", "Ann is learning the cello."),
        ("Can't wait for the concert on Friday!", "Ann is looking forward to the concert on Friday."),
        ("Searching for a flat has been tiring.", "Ann has been searching for a flat."),
        # without a day
        ("We roasted chestnuts by the lake.", "Ann and others roasted chestnuts by the lake."),
        ("I just got accepted for a residency!", "Ann got accepted for a residency."),
        ("We went to the zoo recently.", "Ann and others went to the zoo recently."),
        ("I ran into an old teacher at the market.", "Ann ran into an old teacher at the market."),
        ("I've been to Lisbon.", "Ann visited Lisbon."),
        # what keeps somebody busy, what she usually does, used to do, never did
        ("I'm restoring an old boat.", "Ann is restoring an old boat."),
        ("I've been restoring an old boat.", "Ann has been restoring an old boat."),
        ("I'm on the hunt for a bigger flat.", "Ann is on the hunt for a bigger flat."),
        ("We usually play cards, swim, and have tea at my place.", "Ann and others usually play cards, swim, and have tea at their place."),
        ("I swim in the lake twice a week.", "Ann swims in the lake twice a week."),
        ("I used to fish with my uncle when I was a kid.", "Ann used to fish with their uncle when they were a kid."),
        ("I haven't tried sailing yet.", "Ann has not tried sailing yet."),
        # plans without a day
        ("I'm thinking of hiring a gardener.", "Ann is thinking of hiring a gardener."),
        ("I'm gonna open a second bakery.", "Ann is going to open a second bakery."),
        ("I decided to rent a cabin.", "Ann decided to rent a cabin."),
        # by the way
        ("Rowing is my stress relief.", "Ann likes rowing."),
        ("Honesty is very important to me.", "Ann finds honesty important."),
        ("Gardening brings me so much joy.", "Ann likes gardening."),
        ("My favourite is the lemon tart.", "Ann's favourite is the lemon tart."),
        ("I've always had a love for owls.", "Ann likes owls."),
        ('I loved "The Salt Path" by Raynor Winn.', "Ann likes The Salt Path."),
        ("It's nice to be part of a choir.", "Ann is part of a choir."),
        ("I miss my home country, Portugal.", "Ann is from Portugal."),
        ("I enjoy running my own bakery.", "Ann has a bakery."),
        ("My family's pretty big.", "Ann's family is big."),
        ("Work is fun with my new bike.", "Ann has a new bike."),
    ],
)  # fmt: skip
def test_what_people_tell_without_a_form_is_found(text: str, expected: str) -> None:
    assert expected in [f.text for f in told(text)]


@pytest.mark.parametrize(
    "text",
    [
        "If I sold my boat I'd travel.",
        "Maybe I'm restoring an old boat.",
        "He said that I was thinking of moving to Oslo.",
        "I was thinking of hiring a gardener.",
        "I'm not going to open a second bakery.",
        "I'm going to be there for you.",
        "I'm thinking of you.",
        "I'm going through a lot.",
        "I'm having a great time.",
        "I just felt so happy.",
        "We had a good laugh.",
        "I tried to stay calm.",
        "Did you just roast chestnuts by the lake?",
        "Your help means the world to me.",
        "That is important to me.",
        "Lost in thought, are you?",
        "She has been restoring an old boat.",
        "Working hard is good for everyone.",
        "Finding balance is crucial.",
        "I used to think so.",
        "“I'm restoring an old boat,” it reads.",
        "I usually agree with you.",
    ],
)
def test_wishes_questions_feelings_and_the_words_of_others_are_not_believed(text: str) -> None:
    assert [f.text for f in told(text) if f.attribute in _WEAK] == []


_WEAK = ("event", "doing", "habit", "used to", "plan", "important", "business", "member of", "not done")


def test_what_has_no_day_is_less_sure_than_what_has_one() -> None:
    (dated,) = told("I adopted an old greyhound yesterday.")
    (undated,) = told("I adopted an old greyhound.")
    assert undated.confidence <= 0.7 < dated.confidence
    assert (undated.valid_from, undated.valid_to) == (None, None)


def test_what_somebody_only_looks_for_is_not_hers() -> None:
    assert [f.text for f in told("I'm looking for my own bakery.")] == ["Ann is looking for their own bakery."]


def test_an_answer_says_how_often_something_is_done() -> None:
    (found,) = told("Twice a week.", asked="Nice! How often do you practise your scales?")
    assert (found.text, found.value) == ("Ann practises their scales twice a week.", "Twice a week")
    (found,) = told("Oh, every other day!", asked="How often do you swim?\n[image: a pool]")
    assert found.text == "Ann swims every other day."
    assert told("Twice a week.", asked="How often do you do that?") == []


def test_a_short_weekday_is_a_day() -> None:
    (found,) = told("I visited a lighthouse last Fri.")
    assert found.valid_from == datetime(2024, 5, 3, tzinfo=UTC)


def test_a_gift_for_a_named_sister_tells_of_the_sister_too() -> None:
    found = told("I bought a scarf for my sister Eva yesterday.")
    assert {f.attribute for f in found} == {"event", "sibling"}
