"""Which episodes bear on a question: the ranking behind the default recipe.

Three ways in which an episode fits are put on one scale and added: the words of its body (BM25; a message's
body begins with its speaker), the words of its best fact, and the meaning of its best fact or passage
(cosine). Then

- a message takes a share of what was said just before and after it in its conversation: an answer seldom
  repeats the words of its question (index.turns);
- a standing instruction ("Always show the units when I ask about a recipe") counts more: it shares few words
  with the requests that it is meant for (search.standing);
- an episode from a time that the question names counts more (search.times);
- what length alone brings is taken off (`fair`);
- an episode that shares a rarely named entity with one of the best takes a share of that one's score: the
  second half of a question in two hops shares no word with it (ranking.episodes).

Facts follow their episodes (`fact_scores`), and what belongs to the best of them follows
(ranking.belonging). Scores are summed after scaling, not fused by rank: how much better the best is than
the rest says something. No language model is asked. docs/search.md has the formula and what each term
brings, on data of several kinds with one configuration: no weight is at its best for one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kgsvc.search.index.turns import Floats, MessageTurns, Rows

Mask = NDArray[np.bool_]
Parts = Callable[[Rows], Floats]  # how many passages' worth episodes are, from 1

FACT_WORDS = 0.75  # beside 1 for the words of the body
MEANING = 1.0
PARTS = 0.4  # share of the score of one part by which the best of several is higher, for √(2 ln n) = 1
STANDING = 1.0  # share by which a standing instruction counts more
TIMES = 0.5  # share by which an episode counts more that lies in a time the question names
DIGITS = 9  # to which scores are rounded, so that what is equal on paper is a tie


@dataclass(frozen=True, slots=True)
class Fit:
    """How episodes fit a question; those that are not among `rows` do not fit at all. All on scales of their
    own (`by_best`, `by_spread`)."""

    rows: Rows
    words: Floats  # of the body
    fact_words: Floats  # of the best fact
    meaning: Floats  # of the best fact or passage; all 0: no embeddings
    standing: Mask  # standing instructions
    parts: Parts
    in_time: Callable[[Rows], Mask] | None = None  # from a time that the question names; None: it names none


def in_context(fit: Fit, turns: MessageTurns) -> tuple[Rows, Floats]:
    """Episodes with their scores by themselves and by what lies around them in conversation and time."""
    own = fit.words + FACT_WORDS * fit.fact_words + MEANING * fit.meaning
    own = own * (1.0 + STANDING * fit.standing)
    rows, scores = turns.spread(fit.rows, own)
    if fit.in_time is not None:
        scores = scores * (1.0 + TIMES * fit.in_time(rows))
    return rows, np.round(fair(scores, fit.parts(rows)), DIGITS)


def fair(scores: Floats, parts: Floats) -> Floats:
    """Scores without what length alone brings: a long text fits by the best of its parts, and the best of n
    draws is higher than one by about √(2 ln n) times their spread. A text of one part keeps its score."""
    return scores / (1.0 + PARTS * np.sqrt(2.0 * np.log(parts)))


_TIPPING = 1e-3  # of a step


def by_best(scores: Floats) -> Floats:
    """Each score as a share of the best: for BM25, where 0 means no common word."""
    top = scores.max(initial=0.0)
    return scores / top if top > 0 else np.zeros(len(scores))


def by_spread(cosines: Floats, floor: float, most: int) -> Floats:
    """The nearest ones between `floor` (0) and the nearest (1).

    Only the nearest `most` count: where there are as many, the last of them is 0, not `floor`. What every
    text of a language shares lifts all cosines of a model, and takes no part in the comparison this way.
    """
    top = cosines.max(initial=floor)
    base = max(floor, float(np.partition(cosines, -most)[-most])) if len(cosines) >= most else floor
    return np.maximum(cosines - base, 0.0) / (top - base) if top > base else np.zeros(len(cosines))


def rounded(values: Floats, digits: int) -> Floats:
    """As `round` rounds each: numpy multiplies first, which can tip what lies near the middle of two."""
    quick = np.round(values, digits)
    steps = values * 10.0**digits
    close = np.flatnonzero(np.abs(steps - np.floor(steps) - 0.5) < _TIPPING)
    quick[close] = [round(value, digits) for value in values[close].tolist()]
    return quick


EPISODE = 3.0  # what the best episode counts
OWN = 1.5  # what the fact counts that fits best by itself
NOBODY = -1


def fact_scores(own: Floats, order: Rows, follows: Rows, episodes: Floats) -> Floats:
    """A score for each fact.

    `own` is how each fits by itself, `order` names them best first, `follows` the best of its episodes by its
    place in `episodes`, which are their scores (or NOBODY); none is below 0. A fact follows the best of its
    episodes. Of those that follow the same one, the second gets half of its score, the third a third: ten
    facts tell of many episodes, not of one. What a fact counts by itself is squared, so that only
    the few that fit best are lifted above others of their episodes.
    """
    best_own = own.max(initial=0.0) or 1.0
    best_episode = episodes.max(initial=0.0) or 1.0
    scored = np.append(episodes, 0.0)[follows]  # NOBODY is the last
    lent = EPISODE * scored / best_episode / _turn(order, follows)
    scores: Floats = lent + OWN * (own / best_own) ** 2
    return scores


def _turn(order: Rows, follows: Rows) -> NDArray[np.int64]:
    """The how manieth each is, from 1, of those that follow the same."""
    grouped = np.argsort(follows[order], kind="stable")
    followed = follows[order][grouped]
    begins = np.flatnonzero(np.append(True, followed[1:] != followed[:-1])[: len(order)])
    lengths = np.diff(np.append(begins, len(order)))
    turn = np.empty(len(order), np.int64)
    turn[order[grouped]] = np.arange(len(order)) - np.repeat(begins, lengths) + 1
    return turn
