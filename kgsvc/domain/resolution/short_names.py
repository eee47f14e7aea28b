"""Short names of people: "Tom" and "Weber" for Tom Weber, "Bob" for a Robert who speaks. Pure.

Only where no model can be asked. A short name is taken for a longer one where exactly one thing of the group
and the batch bears one that begins or ends with it, where that is a person, and where nothing says that
somebody or something else is meant: another type, words that introduce it ("my neighbour Tom", "another Tom",
"Tom, a plumber"), or that the person was told of long ago and never spoke. Anything else has the short forms
that a text defines ("Harbour Credit Union (HCU)") and no others: two entities are better than a wrong one.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from kgsvc.domain.limits import DAY_MS
from kgsvc.domain.model.graph import Entity
from kgsvc.domain.model.keys import name_key, stamped_ms
from kgsvc.domain.names.meanings import is_callers
from kgsvc.domain.names.namesakes import PERSON, classes_of, is_marked, is_speaker, plain
from kgsvc.domain.names.similarity import RELATED, folded, name_tokens
from kgsvc.domain.resolution.decisions import NameCandidates, NameDecision, NameTarget
from kgsvc.domain.resolution.questions import NewName
from kgsvc.domain.text import is_cjk

_NEUTRAL = {"dr", "prof", "professor"}  # of whoever bears the name: no spouse is called so too
_TITLES = {"mr", "mrs", "ms", "miss", *_NEUTRAL}
_USUAL_DAYS, _RARE_DAYS = 30, 60  # for which a first name or surname means who was told of by the full name
_INTRODUCED = (
    r"(?i:\b(?:called|named|another|other|different|new|both|two)\ {name}\b)"
    r"|(?i:\b(?:my|our|his|her|their|an?)\ (?:(?!(?:with|to|of|for|and|from|by|at|about|that)\ )"
    r"[a-z][\w'-]*\ ){{1,3}}){name}\b"
    r"|\b{name},\ (?:an?|my|our|his|her|their|[A-Z]\w+['’]s)\ "
)


@dataclass(frozen=True, slots=True)
class _Bearer:
    """Who or what bears a name of the group or of the batch."""

    meant: NameTarget
    words: tuple[str, ...]
    types: tuple[str, ...]
    speaks: bool
    told: str  # what is stated about it
    told_ms: int | None  # when last; None: nothing is stated
    text: str = ""  # in which a new name stands

    @property
    def classes(self) -> frozenset[str]:
        """The classes of its types; who speaks is taken for a person."""
        return classes_of(self.types) or frozenset({PERSON} if self.speaks else ())

    def told_as(self, pattern: str) -> bool:
        """Whether what is stated uses its name in such a way."""
        name = re.escape(plain(self.meant.name))
        return re.search(pattern.format(name=name), self.told) is not None


def by_short_name(names: Sequence[NewName], candidates: NameCandidates) -> dict[str, NameDecision]:
    """What short names mean, by name key; and new full names of what is known by a short one so far."""
    spoken = {name_key(new.item.episode.role or "") for new in names}
    fresh = [_fresh(new, spoken) for new in names if not is_marked(new.name)]
    by_word: defaultdict[str, list[int]] = defaultdict(list)
    for place, each in enumerate(fresh):
        for word in each.words:
            by_word[word].append(place)
    decided: dict[str, NameDecision] = {}
    for new in names:
        words = _words(new.name)
        if is_marked(new.name) or not words or is_cjk(words[0][0]):
            continue
        own = _fresh(new, spoken)
        beside = sorted({place for word in _related(words) for place in by_word.get(word, ())})
        others = [each for each in _known(words, candidates) if each.words]
        others += [fresh[place] for place in beside if fresh[place].meant != own.meant]
        longer = _meant(own, others)
        if longer is not None:
            decided[new.key] = NameDecision(longer.meant.name, longer.meant.uuid)
        elif (short := _known_short(own, others)) is not None:
            decided[new.key] = NameDecision(short.meant.name, short.meant.uuid, new.name)
    return decided


def _words(name: str) -> tuple[str, ...]:
    """The words of a name, or of an e-mail address before its @, without accents and titles."""
    written = "" if "," in name else plain(name).lstrip("@").partition("@")[0]
    words = folded(written).split()
    return tuple(words[1:] if len(words) > 1 and words[0] in _TITLES else words)


def _fresh(new: NewName, spoken: Collection[str]) -> _Bearer:
    meant, episode = NameTarget(new.name), new.item.episode
    types, speaks = (new.node.type,), new.key in spoken
    return _Bearer(meant, _words(new.name), types, speaks, new.context, episode.reference_ms, episode.body)


def _related(words: Sequence[str]) -> set[str]:
    """The words of a name, with the nicknames and full forms of each: names that share none of them are no
    forms of one another."""
    return {word for each in words for word in (each, *RELATED.get(each, ()))}


def _known(words: Sequence[str], candidates: NameCandidates) -> Iterator[_Bearer]:
    """Every known name that shares a word with one, or has the full form of a nickname in it."""
    tokens = {token for word in _related(words) for token in name_tokens(word)}
    uuids = {uuid for token in tokens for uuid in candidates.by_token.get(token, ())}
    for uuid in sorted(uuids & candidates.entities.keys()):
        entity = candidates.entities[uuid]
        for name in dict.fromkeys((entity.name, *candidates.names.get(uuid, ()))):
            yield _bearer(entity, name)


def _bearer(entity: Entity, name: str) -> _Bearer:
    meant = NameTarget(entity.name, entity.uuid)
    named = [] if is_callers(entity) else [stamped_ms(entity.stamps["name"])]
    told_ms = max((*named, *(part.start_ms for part in entity.summary_parts)), default=None)
    return _Bearer(meant, _words(name), entity.labels, is_speaker(entity), entity.summary, told_ms)


def _meant(short: _Bearer, others: Sequence[_Bearer]) -> _Bearer | None:
    """The only bearer of a longer name that a short one can stand for."""
    sharing = [each for each in others if _shares(short, each)]
    fitting = [each for each in sharing if _stands_for(short, each)]
    if (
        len({each.meant for each in sharing}) != 1
        or not fitting
        or short.speaks
        or short.told_as(_INTRODUCED)
    ):
        return None
    return max(fitting, key=lambda each: (len(each.words), each.words))


def _known_short(full: _Bearer, others: Sequence[_Bearer]) -> _Bearer | None:
    """Who is known by a short form of a new full name: a speaker by the first name."""
    sharing = [each for each in others if _shares(each, full) or _shares(full, each)]
    short = [each for each in sharing if len(each.words) == 1 and _stands_for(each, full)]
    if len({each.meant for each in sharing}) != 1 or not short or short[0].meant.uuid is None:
        return None
    return short[0] if full.speaks and not short[0].speaks else None  # not under a name of its own


def _shares(short: _Bearer, other: _Bearer) -> bool:
    """Whether the short name could be one of the other's by its words alone."""
    nicknames = RELATED.get(short.words[0], ()) if other.speaks and other.words else ()
    return _abbreviates(short.words, other.words) or (
        short.words == other.words[: len(short.words)]
        or (len(short.words) == 1 and (short.words[0] in other.words or other.words[0] in nicknames))
    )


def _abbreviates(short: Sequence[str], full: Sequence[str]) -> bool:
    """ "Tom W", "T Weber" and "Tom Weber" for Tom Alan Weber."""
    if len(short) != 2 or len(full) < 2 or tuple(short) == tuple(full):
        return False
    pairs = list(zip(short, (full[0], full[-1]), strict=True))
    fits = all(one == other or (len(one) == 1 and other.startswith(one)) for one, other in pairs)
    return fits and any(one == other for one, other in pairs)


def _stands_for(short: _Bearer, full: _Bearer) -> bool:
    """Whether a short name may be used for the person who bears the longer one."""
    if short.classes | full.classes != {PERSON}:
        return False
    if short.words == full.words:  # but for a title
        return len(short.words) > 1 or _title(short) | _title(full) <= _NEUTRAL
    if len(full.words) < 2 or not (full.classes or len(full.words) == 2):
        return False
    named = short.words[0] in (full.words[0], full.words[-1], *RELATED.get(full.words[0], ()))
    return (named or len(short.words) == 2) and _title(short) <= _NEUTRAL and _is_near(short, full)


def _is_near(short: _Bearer, full: _Bearer) -> bool:
    """Whether a person is present: who spoke, whom the text names in full too, or who was told of not long
    before. A usual name has many."""
    days = _USUAL_DAYS if short.classes else _RARE_DAYS
    if full.speaks or plain(full.meant.name) in short.text or short.told_ms is None or full.told_ms is None:
        return True
    return abs(short.told_ms - full.told_ms) <= days * DAY_MS


def _title(bearer: _Bearer) -> set[str]:
    return set(folded(bearer.meant.name).split()[:1]) & _TITLES
