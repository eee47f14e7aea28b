"""How times are written in English: the patterns, and the numbers behind their words."""

from __future__ import annotations

import re

from kgsvc.llm.offline.lists import word_list

MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?"
    r"|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
WEEKDAY = (
    r"(?:mon(?:day)?|tues?(?:day)?|wed(?:nesday)?|thu(?:rs?(?:day)?)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?)"
)
UNITS = frozenset(word_list("second minute hour day night week weekend fortnight month quarter year decade"))
UNIT = r"(?:second|minute|hour|day|night|week|weekend|fortnight|month|quarter|year|decade)"
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}  # the month that each begins in
COUNTS = {
    word: number
    for number, word in enumerate(
        word_list("zero one two three four five six seven eight nine ten eleven twelve")
    )
} | {"a": 1, "an": 1, "fifteen": 15, "twenty": 20, "thirty": 30}
ROUND_COUNTS = {"couple": 2, "few": 3, "several": 3, "dozen": 12}
MAGNITUDES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
COUNT = (
    r"(?:(?:a\ )?(?:couple|few)(?:\ of)?|(?:a\ )?dozen|several|\d{1,9}|"
    + "|".join(COUNTS)
    + r")(?:\ (?:hundred|thousand|million|billion))?"
)
_ABOUT = r"(?:(?:about|almost|nearly|over|around)\ )?"
_WHICH = r"(?:early\ |late\ |earlier\ |later\ )?(?:last|past|this|next|coming|this\ past|this\ coming)"
_NAMED_DAY = (
    r"(?:the\ day\ before\ yesterday|the\ day\ after\ tomorrow|yesterday|today|tonight|tomorrow"
    r"|this\ (?:morning|afternoon|evening))"
)

# A sentence without any of these states no time: most do not.
HINT = re.compile(
    rf"(?i)\d|\b(?:yesterday|today|tonight|tomorrow|last|past|next|coming|this"
    rf"|{UNIT}s?|{WEEKDAY}s?|{MONTH})\b"
)
# Every repetition is bounded or begins with what the one before cannot end with: linear in the text.
TIMES = re.compile(
    rf"""(?ix)
    (?P<iso>\b\d{{4}}-\d\d-\d\d(?:[T\ ]\d\d:\d\d(?::\d\d(?:\.\d{{1,9}})?)?\ ?(?:Z|[+-]\d\d:?\d\d)?)?(?![\w-]))
    |(?P<slash>\b\d{{1,2}}[/.]\d{{1,2}}[/.]\d{{4}}\b)
    |(?P<years>\b\d{{4}}\ ?[-–—]\ ?(?:\d{{4}}|present|now)\b)
    |(?P<dmy>\b\d{{1,2}}(?:st|nd|rd|th)?\ (?:of\ )?{MONTH}(?![a-z])(?:,?\ (?:of\ )?\d{{3,5}}\b)?)
    |(?P<mdy>\b{MONTH}\ (?:the\ )?\d{{1,2}}(?:st|nd|rd|th)?(?![\w:])(?:,?\ \d{{4}}\b)?)
    |(?P<my>\b{MONTH},?\ (?:of\ )?\d{{4}}\b)
    |(?P<ago>\b{COUNT}\ {UNIT}s?\ (?:ago|back|earlier)\b)
    |(?P<hence>\b(?:in\ {COUNT}\ {UNIT}s?(?:['’]s?\ time)?|{COUNT}\ {UNIT}s?\ from\ now)\b)
    |(?P<for>\b(?:for|over|during|in)\ (?:the\ )?(?:(?:last|past)\ )?{_ABOUT}{COUNT}\ {UNIT}s?\b)
    |(?P<night>\blast\ night\b)
    |(?P<relative>\b{_WHICH}\ (?:{UNIT}|{WEEKDAY}|{MONTH}|spring|summer|autumn|fall|winter)(?![a-z]))
    |(?P<day>\b{_NAMED_DAY}\b)
    |(?P<month>\b(?:in|since|until|till|by|from|to|of|early|late|mid)\ {MONTH}(?![\w’'-])(?!,?\ (?:of\ )?\d))
    |(?P<weekday>\b(?:on|since|until|till|by|from|to)\ {WEEKDAY}(?:s\b|\b))
    |(?P<decade>\b(?:the\ )?(?:early\ |late\ |mid-?\ ?)?\d{{3}}0['’]?s\b)
    |(?P<year>\b(?:year\ )?\d{{1,6}}\b)
    """
)
