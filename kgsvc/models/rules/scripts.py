"""Sentences of other scripts and languages than English: what they name, and for Japanese some relations.

Their words are kept as they are. Names are told by quotes, titles such as さん, endings such as 部 and
株式会社, capitals where a script has them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kgsvc.domain.model.graph import FactKind, Polarity
from kgsvc.models.rules.days import checked, day_of, floor_to, make_day, ms_of, shift
from kgsvc.models.rules.english import GIVEN_NAMES, PLACES
from kgsvc.models.rules.scene import Drafted, NodeDraft, Scene
from kgsvc.models.rules.text import listed, mapping, word_set
from kgsvc.models.rules.times import nearest

# What is written in katakana and names nothing, and places of Japan: names by themselves.
_LOANWORDS = listed("loanwords", word_set)
_PLACES = listed("japanese_places", word_set)
_LETTERS = re.compile(r"[^\W\d_]")
_KANA = re.compile(r"[\u3040-\u30ff]")
_GERMAN = word_set(
    "der die das und ist ich nicht ein eine mit seit wir zieht auf im den dem des zu für bei unser jetzt von"
    " war wurde wird werden sich auch als aus dass einer einen hat nach um durch zum zur sie es er oder"
)
_FRENCH = word_set("le la les et est je ne pas un une avec depuis nous du des dans pour au à passe sur")
_ARTICLES = word_set("le la les l' du de des el los un une il lo")
_SPANISH = word_set("el los y es yo una con desde nosotros del en para por que vivo trabajo mi")


def foreign(sentence: str) -> bool:
    """Whether a sentence is not to be read as English."""
    if sentence.isascii() and len(sentence) < 20:
        return False
    letters = _LETTERS.findall(sentence) if not sentence.isascii() else []
    if letters and sum(char > "\u024f" for char in letters) * 3 > len(letters):
        return True
    words = sentence.lower().replace("'", " ").split()
    return max(sum(word in known for word in words) for known in (_GERMAN, _FRENCH, _SPANISH)) * 4 > len(
        words
    )


_KANJI = r"[\u4e00-\u9fff々ァ-ヶー]"
_PERSON = r"(?![同他各皆])[\u4e00-\u9fff々]{1,4}|[ァ-ヶー]{2,8}|[ぁ-ん]{1,3}(?=ちゃん)"
_PLACE = "|".join(sorted(_PLACES, key=len, reverse=True))
_NAMES = re.compile(
    rf"「(?P<quoted>[^「」、。？！\s]{{1,15}})」|『(?P<titled>[^『』。]{{1,30}})』|“(?P<marked>[^”]{{1,15}})”"
    rf"|(?P<person>{_PERSON})(?:さん|くん|ちゃん|氏|様|先輩|先生|小姐)"
    rf"|(?P<company>株式会社{_KANJI}{{1,10}}|{_KANJI}{{1,10}}(?:株式会社|銀行|大学|印刷|病院|公司)"
    r"|(?:(?<=^)|(?<=[、。\s]))[ぁ-ん]{2,4}堂)"
    rf"|(?P<event>{_KANJI}{{1,8}}(?:まつり|祭り?|旅行|大会|総会|見本市|展示会|説明会|合宿)(?![\u4e00-\u9fff]))"
    rf"|(?P<branch>(?:{_PLACE})(?:本|支)?(?:店|支社|営業所|工場)(?!長))"
    rf"|(?P<unit>(?![一全内外上下大本幹]部){_KANJI}{{1,6}}(?:部|室|課)(?![\u4e00-\u9fff]))"
    rf"|(?P<place>{_PLACE})"
    r"|(?P<latin>(?:[A-ZÀ-ÞА-ЯΑ-Ω][\w'’-]+)(?:\ [A-ZÀ-ÞА-ЯΑ-Ω][\w'’-]+){0,3})"
    r"|(?P<loan>(?<![\u4e00-\u9fffァ-ヶー])[ァ-ヶー]{3,12}(?:・[ァ-ヶー]{2,12}){0,2})"
    r"|(?P<korean>[\uac00-\ud7af]{2,4})\ ?(?:씨|님)"
)
_TITLE = re.compile(r"(?:さん|くん|氏)\Z")
_QUOTED_SPEECH = re.compile(r"「[^「」]*[、。？！][^「」]*」")
_KINDS = {"person": "Person", "company": "Organization", "unit": "Organization", "place": "Location"}
_KINDS |= {"korean": "Person", "event": "Event", "branch": "Organization"}


def read_foreign(sentence: str, scene: Scene) -> tuple[list[NodeDraft], list[Drafted], int | None]:
    """The names of a sentence, what it claims, and the day that it tells of."""
    heard = [match.span() for match in _QUOTED_SPEECH.finditer(sentence)]
    names: list[tuple[int, int, NodeDraft]] = []
    for match in _NAMES.finditer(sentence):
        if any(start <= match.start() < end for start, end in heard):
            continue
        draft = _named(sentence, match, scene)
        if draft is not None:
            names.append((*match.span(), draft))
    drafts = [draft for _, _, draft in names]
    if not _KANA.search(sentence):
        return drafts, [], None
    times = _japanese_times(sentence, scene.reference_ms)
    told = next((ms for _, _, ms in times if ms <= scene.reference_ms), None)
    return drafts, list(_Japanese(sentence, scene, names, times).claims()), told


def _named(sentence: str, match: re.Match[str], scene: Scene) -> NodeDraft | None:
    kind = str(match.lastgroup)
    text = _TITLE.sub("", match[kind]) or match[kind]
    if kind == "latin":
        text = text if _is_name(sentence, match, scene.speaker is None) else ""
    # Much in katakana names nothing; what is written about, and not to somebody, is told by its middle dot.
    if not text or (kind == "loan" and (text in _LOANWORDS or (scene.speaker is None and "・" not in text))):
        return None
    if kind == "person" and not sentence[: match.start()].endswith("の"):
        fitting = [name for name in scene.people if name.startswith(text) or name.endswith(text)]
        text = fitting[0] if len(fitting) == 1 else text
    return scene.named(text, _KINDS.get(kind, "Entity"))


def _is_name(sentence: str, match: re.Match[str], document: bool) -> bool:
    """Capitals tell a name inside a sentence, or where several words have one. German nouns have them too:
    there only known places and first names do. In documents there must be several words inside a sentence."""
    before, words = sentence[: match.start()].rstrip(), match["latin"].lower().split()
    if not _GERMAN.isdisjoint(sentence.lower().split()):
        return (" ".join(words) in PLACES and len(words[0]) > 2) or (
            len(words) > 1 and words[0] in GIVEN_NAMES
        )
    inside = bool(before) and before[-1] not in ".!?:"
    if document:
        return (" ".join(words) in PLACES and len(words[0]) > 2) or (
            len(words) > 1 and inside and _ARTICLES.isdisjoint(words)
        )
    return len(words) > 1 or inside


_ATTRIBUTES = mapping("""
予算:HAS_BUDGET 発売日:HAS_RELEASE_DATE 締め切り:HAS_DEADLINE 締切:HAS_DEADLINE 期限:HAS_DEADLINE
リーダー:HAS_LEADER 店長:HAS_MANAGER 会場:HAS_VENUE 担当:HAS_CONTACT 部長:HAS_HEAD 社長:HAS_PRESIDENT
価格:HAS_PRICE 家賃:HAS_RENT
""")
_ATTRIBUTE = "|".join(_ATTRIBUTES)
_AMOUNT = re.compile(r"[\d,.]+(?:万|億|千)?(?:円|ドル|ユーロ|％|%)")
_IS = re.compile(rf"(?:新しい|今の|次の|担当)?(?P<what>{_ATTRIBUTE})(?:は|が|も)")
_BECAME = re.compile(
    rf"(?:の|新しい|担当){{0,3}}(?P<what>{_ATTRIBUTE})(?:になりました|を務めて|も引き受け|を引き受け)"
)
_NOT_SO = ("ではなく", "じゃなく")
_UNSURE = re.compile("もし|たら|かも|でしょうか|ですか|ますか|らしい|そうです|かな|？|たい")


@dataclass
class _Japanese:
    """What a Japanese sentence claims: homes, departments, leaders, dates and amounts."""

    sentence: str
    scene: Scene
    names: list[tuple[int, int, NodeDraft]]
    times: list[tuple[int, str, int]]

    def claims(self) -> Iterator[Drafted]:
        """What the sentence claims; nothing if it asks, supposes or passes on."""
        if _UNSURE.search(self.sentence):
            return
        yield from self._attributes()
        yield from self._homes()
        yield from self._units()

    def _start(self) -> int:
        found = next((ms for _, role, ms in self.times if role == "since"), None)
        return self.scene.reference_ms if found is None else found

    def _before(self, at: int) -> NodeDraft | None:
        """The name that ends with の at a place."""
        return next((d for _, end, d in self.names if self.sentence[end:at] in ("の", "の新しい")), None)

    def _topic(self) -> NodeDraft | None:
        """What the sentences before are about: the event or thing named last, else whoever speaks."""
        own = [draft for _, _, draft in self.names]
        return self.scene.topic(own) or self.scene.origin()

    def _attributes(self) -> Iterator[Drafted]:
        for match in _IS.finditer(self.sentence):
            owner = self._before(match.start()) or (self._topic() if match.start() == 0 else None)
            if owner is None:
                continue
            relation, rest = _ATTRIBUTES[match["what"]], match.end()
            behind = [(start, end, d) for start, end, d in self.names if start >= rest]
            denied = [d for _, end, d in behind if self.sentence.startswith(_NOT_SO, self._after(end))]
            for draft in denied:
                yield _only(relation, owner, draft, None, Polarity.DENIES)
            target = next((d for _, _, d in behind if d not in denied and d is not owner), None)
            dated = any(at >= rest for at, role, _ in self.times if role == "at")
            if target is None and (dated or _AMOUNT.search(self.sentence, rest)):
                target = owner
            if target is not None:
                yield _only(relation, owner, target, self._start())
        for match in _BECAME.finditer(self.sentence):
            owner = next((d for _, end, d in self.names if 0 <= match.start() - end <= 1), None)
            speaker = self.scene.speaker
            if owner is not None and speaker is not None and speaker is not owner:
                yield _only(_ATTRIBUTES[match["what"]], owner, speaker, self._start())

    def _after(self, end: int) -> int:
        """Behind a title such as さん."""
        title = re.compile("さん|くん|氏|様").match(self.sentence, end)
        return title.end() if title else end

    def _mover(self) -> NodeDraft | None:
        """Who moves or lives: the one marked by は or が, else the speaker."""
        topic = next(
            (d for _, e, d in self.names if self.sentence[self._after(e) : e + 3].startswith(("は", "が"))),
            None,
        )
        return topic if topic is not None and topic.type == "Person" else self.scene.speaker

    def _homes(self) -> Iterator[Drafted]:
        who = self._mover()
        moved = re.search(r"(?:([\w]{1,8}?)から)?([\w]{1,8}?)(?:に|へ)引っ越し(?:ました|た)", self.sentence)
        lives = re.search(r"([\w]{1,10}?)に住んで", self.sentence)
        if who is None:
            return
        if moved:
            when = next((ms for _, _, ms in self.times), None) or self.scene.reference_ms
            for text, polarity in ((moved[1], Polarity.ENDS), (moved[2], Polarity.ASSERTS)):
                place = self.scene.named(_place(text), "Location") if text else None
                if place is not None:
                    yield _only("LIVES_IN", who, place, when, polarity)
        elif lives and (place := self.scene.named(_place(lives[1]), "Location")) is not None:
            yield _only("LIVES_IN", who, place, self._start())

    def _units(self) -> Iterator[Drafted]:
        """Which department somebody belongs to."""
        speaker = self.scene.speaker
        units = [(start, end, d) for start, end, d in self.names if d.name[-1] in "部室課"]
        if speaker is None or not units:
            return
        own = re.match(rf"{_KANJI}{{1,6}}[部室課]の(?P<me>{_KANJI}{{1,6}})です", self.sentence)
        if own and speaker.name.startswith(own["me"]):
            yield _only("MEMBER_OF", speaker, units[0][2], self.scene.reference_ms)
            return
        since = next((ms for _, role, ms in self.times if role in ("since", "at")), None)
        for start, end, unit in units:
            if self.sentence.startswith("から", end) and re.search("に(?:移り|異動し)", self.sentence[end:]):
                yield _only("MEMBER_OF", speaker, unit, since, Polarity.ENDS)
            elif re.match("に(?:移り|異動し)", self.sentence[end:]):
                yield _only("MEMBER_OF", speaker, unit, since or self.scene.reference_ms)
            elif re.fullmatch("です。?", self.sentence[end:]) and self.sentence[:start].endswith("から"):
                yield _only("MEMBER_OF", speaker, unit, self._start())


def _only(
    relation: str, who: NodeDraft, what: NodeDraft, ms: int | None, polarity: Polarity = Polarity.ASSERTS
) -> Drafted:
    """A relation in which a new target takes the place of the old one."""
    return Drafted(relation, FactKind.FUNCTIONAL, who, what, polarity, ms)


def _place(text: str) -> str:
    """A place without the particles and the adverbs before it."""
    return re.split("、|私は|僕は|は|の|から", text)[-1]


_RELATIVE = mapping("""
一昨日:day/-2 昨日:day/-1 今日:day/0 本日:day/0 明日:day/1 明後日:day/2 先週:week/-1 今週:week/0 来週:week/1
先月:month/-1 来月:month/1 去年:year/-1 昨年:year/-1 来年:year/1
""")
_JAPANESE = re.compile(
    r"(?:(?P<year>\d{4})年)?(?P<month>\d{1,2})月(?:(?P<date>\d{1,2})日)?"
    rf"|(?P<relative>{'|'.join(_RELATIVE)})(?:(?<=週)の?(?P<weekday>[月火水木金土日])曜?)?"
)
_JAPANESE_PAST = re.compile(r"(?:ました|でした|だった|った|んだ)[。！、]?\s*\Z")
_SINCE = ("から", "付で", "以降")


def _japanese_times(sentence: str, reference_ms: int) -> list[tuple[int, str, int]]:
    """Where a time stands, its role (since or at) and its first millisecond. The tense tells whether a date
    without a year was or will be."""
    today = day_of(reference_ms)
    past = _JAPANESE_PAST.search(sentence) is not None
    found: list[tuple[int, str, int]] = []
    for match in _JAPANESE.finditer(sentence) if today is not None else ():
        day = _japanese_day(match, today or 1, past)
        if day is not None:
            role = "since" if sentence.startswith(_SINCE, match.end()) else "at"
            found.append((match.start(), role, ms_of(day)))
    return found


def _japanese_day(match: re.Match[str], today: int, told: bool) -> int | None:
    if match["relative"]:
        unit, _, count = _RELATIVE[match["relative"]].partition("/")
        first = shift(floor_to(today, unit), unit, int(count))
        if unit != "week":
            return first
        weekday = match["weekday"]
        return checked(first + "月火水木金土日".index(weekday)) if first and weekday else None
    month, date_ = int(match["month"]), int(match["date"] or 1)
    if match["year"]:
        return make_day(int(match["year"]), month, date_)
    if not (1 <= month <= 12 and 1 <= date_ <= 31):
        return None
    past, ahead = nearest(month, date_, today, "day")
    span = past if told else ahead
    return None if span is None else span.first
