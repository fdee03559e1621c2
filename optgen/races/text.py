"""The text that the character-level GPT learns: 300 kB of short stories, made by a seeded grammar.

It asks of a network what a real text asks: to spell (550 words, few of them often), to have verbs agree
with nouns that stand far before them, to close quotes and parentheses, to say again where a thing was put and by whom
several sentences earlier, to add numbers, and to copy words letter by letter. Nobody wrote it, so nobody owns it.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Sequence

SIZE = 300_000
"""Characters, all of them ASCII."""

NOUNS = """man men, child children, dog dogs, house houses, mouse mice, baker bakers, key keys, river rivers,
horse horses, wolf wolves, sailor sailors, king kings, bird birds, soldier soldiers, thief thieves, stone stones,
woman women, teacher teachers, bell bells, fox foxes, farmer farmers, cloud clouds, witch witches, goose geese,
guard guards, shadow shadows, merchant merchants, leaf leaves, hunter hunters, doctor doctors, ghost ghosts,
miller millers, neighbour neighbours, bridge bridges, uncle uncles, knight knights, candle candles, painter painters,
star stars, owl owls, beggar beggars, flower flowers, judge judges, spider spiders,
wagon wagons, weaver weavers"""
THINGS = """letter, lamp, ring, hammer, book, coin, crown, basket, knife, mirror, map, bottle, drum, coat, feather,
glove, violin, needle, pillow, sword, whistle, compass, blanket, lantern, bucket, ladder, button, ribbon, anchor"""
PLACES = """in the garden, under the bed, in the kitchen, behind the door, on the roof, by the well, in the cellar,
under the bridge, in the old tower, behind the barn, in the forest, on the table, near the harbour, in a hollow tree,
beside the church, inside the clock, on the highest shelf, below the stairs, across the field, in the empty mill"""
DID = """saw seen, found found, took taken, followed followed, heard heard, wanted wanted, loved loved, asked asked,
called called, watched watched, helped helped, met met, feared feared, carried carried, remembered remembered,
painted painted, brought brought, hid hidden, caught caught, forgot forgotten, warned warned, chose chosen,
answered answered, lost lost, stole stolen, praised praised, drew drawn, defended defended, envied envied"""
DOES = """see sees, know knows, follow follows, love loves, fear fears, watch watches, help helps, carry carries,
need needs, hear hears, guard guards, paint paints, chase chases, remember remembers, teach teaches, trust trusts"""
RESTS = """sleep sleeps, wait waits, sing sings, run runs, laugh laughs, dance dances, work works, fall falls,
shine shines, hide hides, return returns, vanish vanishes, grow grows, tremble trembles, cry cries, whisper whispers"""
KINDS = """old, little, young, tall, tired, brave, quiet, hungry, clever, grey, lonely, happy, strange, golden, blind,
proud, gentle, angry, silent, foolish, wise, wet, careless, honest, stubborn, curious, pale, cheerful, mighty, humble"""
WHEN = """Then, Later, That night, In the morning, Soon, At noon, After the rain, Before long, On the third day,
Long afterwards, At dawn, When winter came, In the end, Without a word, As the bell rang, Once more"""
FOOD = "apples, nuts, eggs, pears, coins, fish, plums, candles, loaves, beans, nails, roses"
STARTS = "Ma, To, Li, An, El, Ka, Ro, Su, Be, Hu, Ve, Jo, Il, Gre"
ENDS = "ra, mas, na, dor, sa, vin, lla, bert, la, nk, da, ric"


def words(text: str) -> list[str]:
    """The entries of a list above."""
    return [" ".join(entry.split()) for entry in text.split(",")]


NAMES = [start + end for end in words(ENDS) for start in words(STARTS)]
WOMEN = frozenset(start + end for end in words(ENDS)[::2] for start in words(STARTS))
"""Those called she; the others are he."""


class Writer:
    """Sentences drawn from one seeded generator, of which only `random()` is used: its numbers never change."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed).random

    def chance(self, probability: float) -> bool:
        return self._random() < probability

    def number(self, low: int, high: int) -> int:
        """A whole number of [low, high), all alike."""
        return low + int((high - low) * self._random())

    def pick(self, entries: str | Sequence[str]) -> str:
        """An entry, the first ones far more often, as in a language."""
        found = words(entries) if isinstance(entries, str) else entries
        return found[int(len(found) * self._random() ** 2)]

    # ---------------------------------------------------------------- parts of sentences

    def noun(self, plural: bool) -> str:
        kind = f"{self.pick(KINDS)} " if self.chance(0.4) else ""
        return kind + self.pick(NOUNS).split()[plural]

    def subject(self, plural: bool, depth: int = 0) -> str:
        """What a verb must agree with: with a clause or a place between, whose noun has a number of its own."""
        text = f"the {self.noun(plural)}"
        if depth < 2 and self.chance(0.45):
            other = self.chance(0.5)
            clause = self.subject(other, depth + 1)
            return f"{text} that {clause} {self.pick(DOES).split()[not other]}"
        return f"{text} {self.pick(PLACES)}" if self.chance(0.3) else text

    def person(self, people: Sequence[str]) -> str:
        return people[self.number(0, len(people))]

    # ---------------------------------------------------------------- sentences

    def saying(self) -> str:
        """A sentence in the present tense, without its stop: `the mice that the fox fears are old`."""
        plural = self.chance(0.5)
        subject = self.subject(plural)
        kind = self.number(0, 3)
        if kind == 0:
            return f"{subject} {'are' if plural else 'is'} {self.pick(KINDS)} and {self.pick(KINDS)}"
        if kind == 1:
            return f"{subject} {self.pick(RESTS).split()[not plural]} {self.pick(PLACES)}"
        return f"{subject} {self.pick(DOES).split()[not plural]} the {self.noun(self.chance(0.5))}"

    def event(self, people: Sequence[str]) -> str:
        who = self.person(people)
        text = f"{self.pick(WHEN)} {who} {self.pick(DID).split()[0]} the {self.noun(self.chance(0.3))}"
        if self.chance(0.3):
            text += f" (which {pronoun(who)} had {self.pick(DID).split()[1]} {self.pick(PLACES)})"
        if self.chance(0.3):
            text += f" and {self.pick(DID).split()[0]} {self.person(people)}"
        return text + "."

    def sum(self, people: Sequence[str]) -> str:
        who, what, a, b = self.person(people), self.pick(FOOD), self.number(2, 60), self.number(2, 40)
        if self.chance(0.5) and a > b:
            return f"{who} had {a} {what} and gave away {b}, so {pronoun(who)} had {a - b} {what} left."
        return f"{who} had {a} {what} and bought {b} more, so {pronoun(who)} had {a + b} {what}."

    def speech(self, people: Sequence[str]) -> str:
        who = self.person(people)
        return f'"{capital(self.saying())}," said {who}. "I know," {pronoun(who)} was told.'

    def spelling(self, people: Sequence[str]) -> str:
        word = self.pick([*self.pick(NOUNS).split(), self.pick(THINGS)])
        return f"{self.person(people)} spelled {word}: {'-'.join(word)}."

    def story(self) -> str:
        """A heading, what was put where, other sentences, and where it still is."""
        people = list(dict.fromkeys(self.pick(NAMES) for _ in range(4)))
        thing, other = self.pick(THINGS), self.pick(THINGS)
        place, elsewhere = self.pick(PLACES), self.pick(PLACES)
        who, also = people[0], people[-1]
        text = [f"{who} and the {self.pick(KINDS)} {thing}\n\n{who} put the {thing} {place}."]
        if other != thing:
            text.append(f"{also} left the {other} {elsewhere}.")
        sentences = (self.event, self.event, self.sum, self.speech, self.spelling)
        for _ in range(self.number(3, 9)):
            if self.chance(0.35):
                text.append(capital(self.saying()) + ".")
            else:
                text.append(sentences[self.number(0, len(sentences))](people))
        text.append(f"The {thing} was still {place}, where {who} had put it.")
        if other != thing:
            text.append(f'"And the {other}?" {pronoun(also)} was asked. "{capital(elsewhere)}," said {also}.')
        return " ".join(text)


def pronoun(name: str) -> str:
    return "she" if name in WOMEN else "he"


def capital(text: str) -> str:
    return text[0].upper() + text[1:]


@functools.cache
def stories() -> str:
    """The text, the same in every run; it takes a tenth of a second."""
    writer, found, size = Writer(37), [], 0
    while size < SIZE:
        found.append(writer.story() + "\n\n")
        size += len(found[-1])
    return "".join(found)[:SIZE]
