"""A chat as messengers export it: each message begins with when it was written and by whom."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from itertools import islice, pairwise

from kgsvc.models.rules.mails import MailPart
from kgsvc.models.rules.text import MOST, READ

_DAY = r"(?P<day>\d{1,2}(?P<mark>[./-])\d{1,2}(?P=mark)(?:\d{4}|\d{2})|\d{4}-\d{2}-\d{2})"
_HOUR = r"\d{1,2}[:.]\d{2}(?:[:.]\d{2})?(?:[ \u202f]?(?P<half>[AaPp]\.?[Mm]\.?))?"
_NAME = r"(?P<name>[^\W\d_][\w.'’ -]{0,60}|~ ?[^\W\d_][\w.'’ -]{0,60}|\+\d[\d\u00a0 ()-]{5,24})"
_MESSAGE = re.compile(
    rf"(?m)^[ \t\u200e\u200f]*+\[?{_DAY},?[ T\u202f]{{1,2}}{_HOUR}\]?(?: [-–])?:?[ \t]"
    rf"\u200e?(?:{_NAME}:(?=\s))?"
)
_LEVELS = frozenset({"debug", "info", "notice", "warn", "warning", "error", "fatal", "critical", "trace"})
_NOTHING = re.compile(  # in place of what was not exported
    r"(?i)[\u200e<\[]*(?:(?:media|image|video|audio|sticker|gif|document|contact card)(?: file)? omitted"
    r"|(?:you deleted this|this) message(?: was deleted)?|null|waiting for this message\b.*"
    r"|missed (?:voice|video) call\b.*|.{1,80} \(file attached\)|attached: .{1,80})[.>\]]*"
)
_EDITED = re.compile(r"(?i)\s*\u200e?<this message was edited>")
_LEAST = 2


def parts_of_chat(body: str) -> list[MailPart]:
    """The messages, a heading before those of each day. What an app itself says of the chat is written by
    nobody. Nothing for what is no chat, or where the order of day and month does not fit."""
    found = list(islice(_MESSAGE.finditer(body[:READ]), MOST))
    written = [each for each in found if each["name"]]
    if len(written) < _LEAST or len(written) * 2 < len(found) or _is_log(written):
        return []
    days = _days(found)
    if days is None:
        return []
    parts = [MailPart(None, body[: found[0].start()].strip())]
    ends = [*(each.start() for each in found[1:]), len(body)]
    for each, day, before, end in zip(found, days, [None, *days], ends, strict=False):
        text = _EDITED.sub("", body[each.end() : end].strip())
        if day != before:
            parts.append(MailPart(None, f"# {day.isoformat()}"))
        if not _NOTHING.fullmatch(text):
            parts.append(MailPart(each["name"] and each["name"].lstrip("~ "), text))
    return [each for each in parts if each.text]


def _is_log(written: Sequence[re.Match[str]]) -> bool:
    return all(each["name"].lower() in _LEVELS for each in written)


def _days(found: Sequence[re.Match[str]]) -> list[date] | None:
    """The day of each message. Where day and month may be either, the order in which no message is before the
    one above it; else, as in America, the month first where the clock has AM and PM."""
    orders = {order: days for order in ("dmy", "mdy") if (days := _in_order(found, order))}
    risen = {order: days for order, days in orders.items() if all(a <= b for a, b in pairwise(days))}
    left = risen or orders
    american = found[0]["mark"] == "/" and (found[0]["half"] or "").isupper()
    return left.get("mdy" if american else "dmy") or next(iter(left.values()), None)


def _in_order(found: Sequence[re.Match[str]], order: str) -> list[date] | None:
    try:
        return [_date(each["day"], order) for each in found]
    except ValueError:
        return None


def _date(text: str, order: str) -> date:
    first, second, last = map(int, re.split(r"[./-]", text))
    if first > 31:
        return date(first, second, last)
    year = last if last > 99 else 2000 + last
    return date(year, second, first) if order == "dmy" else date(year, first, second)
