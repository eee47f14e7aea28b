"""English nicknames: they widen where a name is looked for, they decide nothing."""

from __future__ import annotations

# The full form first.
_NICKNAMES = (
    "abigail abby", "albert al bert", "alexander alex sasha", "alexandra alex sandra sasha",
    "alfred alf fred",
    "andrew andy drew", "anthony tony", "barbara barb", "benjamin ben benny", "catherine cathy kate katie",
    "charles charlie chuck", "christina chris tina", "christopher chris", "daniel dan danny", "david dave",
    "deborah deb debbie", "donald don", "dorothy dot", "edward ed eddie ned ted", "eleanor ellie nell",
    "elizabeth beth betty eliza liz lizzie", "eugene gene", "frances fran", "francis frank", "frederick fred",
    "gabriel gabe", "gerald gerry jerry", "gregory greg", "harold hal harry", "henry hal hank harry",
    "isabella bella", "jacob jake", "james jim jimmy jamie", "janet jan", "jennifer jen jenny",
    "jessica jess", "john jack johnny", "jonathan jon", "joseph joe joey", "joshua josh", "judith judy",
    "katherine kate kathy katie kit", "kathleen kathy", "kenneth ken", "laurence larry", "lawrence larry",
    "leonard len leo", "margaret maggie meg peggy", "matthew matt", "maximilian max", "michael mick mike",
    "nathaniel nate nathan", "nicholas nick", "olivia liv", "pamela pam", "patricia pat patty tricia",
    "patrick pat", "peter pete", "philip phil", "rachel rach", "raymond ray", "rebecca becca becky",
    "richard dick rich rick", "robert bob bobby rob robbie", "ronald ron", "samantha sam", "samuel sam",
    "stephanie steph", "stephen steve", "steven steve", "stuart stu", "susan sue susie", "theodore ted theo",
    "thomas tom tommy", "timothy tim", "victoria tori vicky", "vincent vince", "walter walt",
    "william bill billy liam will", "zachary zach",
)  # fmt: skip


def _nicknames() -> dict[str, frozenset[str]]:
    related: dict[str, set[str]] = {}
    for line in _NICKNAMES:
        formal, *short = line.split()
        for nickname in short:
            related.setdefault(nickname, set()).add(formal)
            related.setdefault(formal, set()).add(nickname)
    return {name: frozenset(others) for name, others in related.items()}


RELATED = _nicknames()
