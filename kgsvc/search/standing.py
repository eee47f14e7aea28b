"""Which messages are standing instructions ("Always show the units when I ask about a recipe."): by their
first sentence, in English, German and Japanese."""

from __future__ import annotations

import re

_CHARS = 400  # of a message that are looked at
_SPEAKER = re.compile(r"[^:\n]{0,80}\(user\): ")
# "Always happy to help" instructs nobody: beside the first word the occasion must be named.
_INSTRUCTION = re.compile(
    r"""(?ix)
    (?:please,?\ )? (?:always|never)\b [^.!?\n]*
        \b(?:when(?:ever)?|if|each\ time|every\ time)\ (?:i|we|you)\b
    | (?:please,?\ )? (?:from\ now\ on|going\ forward|in\ (?:the\ )?future)\b ,?\ (?!i\b|we\b|i['’]|we['’])
    | (?:when(?:ever)?|each\ time|every\ time)\ (?:i|we)\ (?:ask|say|mention|write|send|want|need)\b
        [^.!?\n]* ,\ (?:please|always|never)\b
    | (?:bitte\ )? (?:immer|nie|niemals)\b [^.!?\n]* \b(?:wenn|sobald|falls)\ (?:ich|wir)\b
    | (?:bitte\ )? (?:ab\ jetzt|ab\ sofort|von\ nun\ an|künftig|in\ zukunft)\b
        [^.!?\n]* \b(?:bitte|immer|nie)\b
    | (?:immer\ )? (?:wenn|sobald)\ (?:ich|wir)\b [^.!?\n]* ,\ (?:dann\ )? [^.!?\n]* \b(?:bitte|immer|nie)\b
    | [^。\n]{0,40} (?:いつも|必ず|常に|毎回|今後は|これからは|決して)
        [^。\n]* (?:ください|下さい|しないで|してほしい)
    """
)


def is_standing(body: str) -> bool:
    """Whether the body of a user's message says what is to be done from then on."""
    start = body[:_CHARS]
    speaker = _SPEAKER.match(start)
    return _INSTRUCTION.match(start, speaker.end() if speaker else 0) is not None
