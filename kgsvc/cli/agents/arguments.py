"""What the tools take: the descriptions, which a model chooses by, and the bounds."""

from __future__ import annotations

from datetime import UTC, datetime
from inspect import getdoc
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

_MOST_CHARS = 65_536  # of a text to remember; longer ones are documents
_MOST_RESULTS = 50
_SAYING = r"\S"  # something that is no blank


def _zoned(time: datetime) -> datetime:
    """A time in its zone; models leave it out, and then mean UTC."""
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time


_Words: TypeAlias = Annotated[str, Field(pattern=_SAYING, max_length=4_096)]
_Id: TypeAlias = Annotated[str, Field(pattern=_SAYING, max_length=1_024)]
_Time: TypeAlias = Annotated[datetime, AfterValidator(_zoned)]
_TRUE_AT = "Only what was true at this time, such as 2024-06-01T00:00:00Z. Leave it out to ask about now."
_KNOWN_AT = "Only what the memory had been told by this time, such as 2024-06-01T00:00:00Z."
_FACT = 'The id of the fact, as it stands after "fact" in what recall found.'


class Arguments(BaseModel):
    """Of one tool. Its docstring is what a model reads of the tool."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def shown(cls) -> str:
        """The paragraphs of the docstring, each on one line."""
        return "\n".join(" ".join(part.split()) for part in (getdoc(cls) or "").split("\n\n"))

    @classmethod
    def input_schema(cls) -> dict[str, Any]:
        """As JSON Schema, without what tells a model nothing."""
        made = cls.model_json_schema()
        del made["title"], made["description"]
        for name, each in made["properties"].items():
            plain = {**each, **each.get("anyOf", [{}])[0]}  # None is what is left out
            left_out = {"title", "anyOf", *(["default"] if plain.get("default", "") is None else [])}
            made["properties"][name] = {key: value for key, value in plain.items() if key not in left_out}
        return made


class Remember(Arguments):
    """Store something for later conversations: a fact, a preference, a decision, an event, what somebody
    said.

    Write whole sentences that name who and what ("Alice Chen moved to Zurich.", not "She moved there."): they
    are read without this conversation. Also use it when something has changed: what held before is ended and
    kept with its dates, so there is nothing to correct or to forget. Answers with the id of the stored
    episode (a remembered text) and the facts that were read from it.
    """

    text: str = Field(
        pattern=_SAYING, max_length=_MOST_CHARS, description="What to remember, in whole sentences."
    )
    said_by: str | None = Field(
        default=None,
        pattern=_SAYING,
        max_length=256,
        description='The name of the person whose own words the text is; "I" in it then means that person.',
    )
    happened_at: _Time | None = Field(
        default=None,
        description="When it was said or was the case, such as 2025-01-31T09:00:00Z; default: now. Words such"
        ' as "yesterday" in the text count from it.',
    )


class Recall(Arguments):
    """Look up what is known, best first. Use it before you answer anything that may depend on earlier
    conversations, on people, preferences, decisions or documents, even if the user mentions no memory.

    Every fact comes as a sentence with the time in which it was true, the names at both ends (for entity),
    the episodes that told it, and its id (for history, correct and forget). Facts that have ended are found
    where the query asks about the past, or with true_at. If nothing is found, the memory does not hold it:
    say so.
    """

    query: _Words = Field(
        description='A question or key words that name who and what: "Where does Alice Chen work?"'
    )
    look_in: Literal["facts", "episodes", "documents"] = Field(
        default="facts",
        description="facts: sentences that were understood, enough for most questions; episodes: remembered"
        " texts, word for word; documents: passages of files, with page and heading.",
    )
    true_at: _Time | None = Field(default=None, description=_TRUE_AT)
    known_at: _Time | None = Field(default=None, description=_KNOWN_AT)
    limit: int = Field(default=10, ge=1, le=_MOST_RESULTS, description="Most results.")


class Ask(Arguments):
    """Have the memory answer a question in words, with numbered citations, from nothing but what it holds.

    Slower than recall and costs more, since another language model reads for it. Use it where an answer must
    be cited, or put together from many facts or documents; for anything else use recall. It says when the
    answer is not known.
    """

    question: _Words = Field(description="A whole question that can be understood without this conversation.")
    true_at: _Time | None = Field(default=None, description=_TRUE_AT)
    known_at: _Time | None = Field(default=None, description=_KNOWN_AT)


class Correct(Arguments):
    """Replace the wording of one fact that was never right: misheard, misspelt, attributed to the wrong
    person. Without a wording, retract the fact: it was never true, and nothing is known instead.

    Not for what was right and has changed since: use remember, which ends it and keeps it. The former wording
    stays in the history, marked as replaced or retracted. Look up the fact with recall first to get its id.
    """

    fact: _Id = Field(description=_FACT)
    text: str | None = Field(
        default=None,
        pattern=_SAYING,
        max_length=2_048,
        description="The right wording, as one whole sentence. Leave it out only to retract the fact.",
    )
    reason: str | None = Field(
        default=None,
        pattern=_SAYING,
        max_length=1_024,
        description="Why, and who says so; it is kept. Needed to retract.",
    )

    @model_validator(mode="after")
    def _has_text_or_reason(self) -> Self:
        if self.text is None and self.reason is None:
            raise ValueError("give text, the right wording, or reason, to retract the fact")
        return self


class Forget(Arguments):
    """Delete one thing for good; it cannot be undone. Only if the user asks to delete or forget it.

    For what has changed use remember, for what was never right use correct: both keep the history. Look up
    the id with recall first. Deleting what is not there is no error.
    """

    kind: Literal["fact", "episode", "document"] = Field(
        description="fact: this fact alone; the episodes that told it stay. episode: a remembered text with"
        ' all that only it told; its id stands after "source" or "episode". document: a file with all that'
        " only it told."
    )
    id: _Id = Field(description="Its id, as recall, remember or entity gave it.")


class History(Arguments):
    """Show how one fact came to be: what was believed before and after it, from when to when, and why it was
    ended or replaced. Use it for "since when do you know", "what was it before" and "why do you think so",
    with the id of a fact from recall."""

    fact: _Id = Field(description=_FACT)


class Entity(Arguments):
    """Show all that is known about one person, organisation, project, place or thing by its name: other
    names, a summary, the facts that hold now, those that held before, and the latest episodes that name it.
    Use it for "what do you know about X"; for a single question about X use recall."""

    name: _Id = Field(description="Its name or another name of it, or its id.")


def wrong(error: ValidationError) -> list[tuple[str, str]]:
    """Every argument that is not acceptable, with what is wrong with it; without its value."""
    found = error.errors(include_url=False, include_input=False, include_context=False)
    return [(".".join(map(str, each["loc"])) or "arguments", each["msg"]) for each in found]
