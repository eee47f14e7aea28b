"""The tables of what a clause must say to claim a relation: phrases, whole clauses, values and attributes.

A row of PHRASES is `NAME kind [source types>target types]: phrases [| begins: phrases] [| ends: phrases]`.
Before types, "!" means none of them and "=" these alone, nothing of unknown type. A phrase is a verb in base
form and what stands before the name: "work at"; "be" with a participle is the passive. Phrases of `begins`
assert the relation in the past tense too ("moved to"), those of `ends` end it. "<" in front: the relation
goes from the name behind the verb to its subject ("TechCorp hired Dana" is WORKS_AT from Dana).
"""

from __future__ import annotations

from collections.abc import Iterable

from kgsvc.models.rules.english import DEMONYMS, KIN, ROLES, SORTS
from kgsvc.models.rules.text import word_set

PHRASES = """
WORKS_AT functional Person>Organization: work at; work for; be employed at; be employed by
    | begins: start at; be hired by; get hired by; get hired at; < hire
    | ends: resign from; quit; finish at; retire from; be fired from; get fired from; be laid off from;
    get laid off from; be let go by; be let go from
WORKS_ON state Person>!Person/Location: work on
ASSIGNED_TO functional Person>!Person/Location: be assigned to | begins: be reassigned to
MEMBER_OF state Person/Organization: be a member of; belong to
    | begins: join; rejoin | ends: leave; pull out of
REPORTS_TO functional Person>Person: report to
LIVES_IN functional Person>Location: live in; reside in; be based in
    | begins: move to; move into; move back to; relocate to; settle in; move into a flat in
    | ends: move out of; move away from
LIVES_IN functional Person>=Location: live at; live on
COMES_FROM functional >Location: be from; be originally from; come from | begins: grow up in
LOCATED_IN functional !Person>Location: be based in; be located in; be headquartered in
LIVES_WITH state Person>=Person: live with | begins: move in with
STAYS_IN state Person>Location: stay in
BORN_IN functional Person>Location: be born in
STUDIES_AT functional Person>Organization: study at | begins: enroll at | ends: drop out of
GRADUATED_FROM event Person>!Person/Location: graduate from
LED_BY functional Project/Organization/Event>Person: < lead; < head; < be in charge of; be led by
    | begins: < take over | ends: < hand over; < step down from
LED_BY functional =Project/Organization/Event>Person: < run; < manage; be run by; be managed by
OWNS state Person/Organization: own; < be owned by | begins: buy | ends: sell
DRIVES functional Person>!Person/Location/Organization: drive
MARRIED_TO functional Person>Person: be married to | begins: marry; get married to
    | ends: divorce; be divorced from; get divorced from
ENGAGED_TO functional Person>Person: be engaged to | begins: get engaged to
DATES functional Person>Person: date | begins: start dating | ends: break up with; split up with
USES state >!Person/Location/Event: use | begins: switch to | ends: stop using
DEPENDS_ON state !Person>!Person/Location: depend on
ACQUIRED event Organization>Organization: acquire; < be acquired by
FOUNDED event Person>!Person/Location: found; < be founded by
MET event Person>Person: meet; meet with
VISITED event Person>!Person: visit
VISITED event Person>=Location/Event: go to; travel to; fly to
DIRECTED event Person>=Work: direct; < be directed by
WROTE event Person>=Work: write; < be written by
"""
_ADVERBS = (
    "part-time full-time now also still currently already just finally actually really only both always"
    " recently officially"
)
# Adverbs that leave an assertion what it is; "nearly" and "allegedly" do not.
_UNPLAIN = (
    "usual near hard bare alleged supposed reported apparent probab possib presumab purported potential"
)
_LY = rf"(?!{_UNPLAIN.replace(' ', '|')})[a-z]{{2,12}}ly"
# Verbs before another that tell when it begins or ends: "started working at", "gave up playing".
STARTS = "started|began|begun|starts?|begins?"
STOPS = "stopped|quit|gave up|given up|stops?"
ADV = rf"(?:(?:{_ADVERBS.replace(' ', '|')}|{_LY}) )*"
AUX = (
    r"(?P<aux>(?:(?:am|'m|is|'s|are|'re|was|were|be|been|have|'ve|has|had|do|does|did|will|'ll|wo|not|n't|never"
    rf"|no longer|used to|going to|(?:{STARTS})(?: to)?|{STOPS}|{_ADVERBS.replace(' ', '|')}|{_LY}) ){{0,6}})"
)
BE = r"(?P<verb>am|'m|is|'s|are|'re|was|were|been|be)"
NOT = rf"(?P<after>(?:(?:not|n't|no longer|{_ADVERBS.replace(' ', '|')}) ){{0,3}})"


def alternatives(words: Iterable[str]) -> str:
    """A pattern of any of the words."""
    return "|".join(sorted(words, key=len, reverse=True))


_KIN = alternatives(KIN)
_SORT = alternatives(SORTS)
_THEIRS = rf"(?:[a-z]{{3,10}} )?(?:{_KIN})"
SUBJECT = rf"(?P<s>I|we|he|she|N\d+ 's {_THEIRS} N\d+|N\d+|(?:my|our) {_THEIRS}(?: N\d+)?)"
SUBJECT += rf"(?:(?<=\d) (?:{_SORT}))?"
ASIDE = r"(?: ,(?: [^ ,.;]+){1,8} ,)?"
ELIDED = r"(?:(?<=and )|(?<=, )|(?<=but )|(?<=then )|^)"
START = rf"(?:{SUBJECT} |{ELIDED})"
_GOES_ON = "and|but|now|since|in|on|at|with|as|for|from|to|is|was|because|so|over"
_BREAK = rf"(?= (?:[.,;:!?)…]|T\d+|{_GOES_ON})(?: |$)|$)"
_SORTED = rf"(?: (?:{_SORT}){_BREAK})?"
OBJECT = r"(?:the |our |my |a |an |that )?(?:project |team |\d{1,5}[a-z]? )?(?P<o>N\d+)" + _SORTED
OBJECT += r"(?P<more>(?: , N\d+){0,5}(?:(?: ,)? and N\d+)?)"
# "the former head of", "a vice president of": somebody else is head or president.
_LESS = "former late then future acting vice deputy assistant associate honorary onetime founding"
_LESS += " appointed named elected promoted made"
_LESS = f"and the {_LESS}".replace(" ", " |")
_ROLE = rf"(?P<role>(?:(?!{_LESS} )[a-z][a-z-]{{1,14}} ){{0,3}}(?:{alternatives(ROLES)}))"
_THING = (
    r"(?:drinking |eating |having )?(?:the )?(?P<np>(?:[a-z][a-z-]+|N\d+)(?: (?:[a-z][a-z-]+|N\d+)){0,2}?)"
)
_AND_THING = r"(?: and (?P<np2>[a-z][a-z-]+))?"
_STOPS = r"(?: again| too| as well| a lot| so much| very much)?"
_STOPS += r"(?= [.,;!)…]| but| and (?!N)| in\b| on\b| at\b| since| T\d| anymore| any more| now| most|$)"
# "I love the vibe" tells no taste: it is about something here.
_ANY = _THING.replace("(?:the )?", "(?:a |an )?")
# How a value is told, and told anew: "is $5", "was raised from $5 to $6", "slipped to 7 July".
_CHANGED = (
    "raised lowered moved changed extended increased reduced cut dropped pushed postponed delayed brought set"
    " put rose fell went slipped grew climbed goes moves rises slips changes drops"
)
_CHANGING = rf"(?P<changed>{_CHANGED.replace(' ', '|')})"
_CHANGES = rf"{_CHANGING}(?: up| down| back| forward)?(?: from(?: A\d+| \d[\d.,]*| T\d+(?= to))?)?(?: to)?"
_BECOMES = (
    r"(?:(?:(?P<past>was|were)|is|are|will be|has been|have been|:)"
    rf"(?: now)?(?: {_CHANGES}| to)?"
    rf"|{_CHANGES.replace('<changed>', '<moved>')})"
)
_VALUE = r"(?:on |in |for |at |about |around |by )?(?P<value>[TA]\d+|\d[\d.,]*)"
_OWNED = "budget|rent|price|salary|fee|cost|deadline|due date"  # "our budget is $5": the speaker's
MINE = r"(?<!of )(?P<s>my|our|N\d+(?= 's ))(?: 's)?"
_MEMBER = rf"(?:older |younger |elder |eldest |little |big |twin |only |new )?(?P<role>{_KIN})"
_NAMED = r"(?: ,| named| called|, named|, called) (?P<o>N\d+)(?P<more>(?: , N\d+){0,3}(?:(?: ,)? and N\d+)?)"
_OFFICE = rf"(?P<article>the |our |a |an )?(?:new |next )?{_ROLE} (?P<prep>of|at|for) {OBJECT}"
# What one is to somebody, not for a living.
_NO_JOBS = word_set(
    "member head leader lead chief client customer contact partner owner volunteer runner player student boss"
    " saint mentor supplier major count king queen prince princess assistant"
)
TRIGGERS = {"KIN": KIN, "JOBS": ROLES - _NO_JOBS}
_DIETS = "vegan|vegetarian|pescatarian|lactose intolerant|lactose-intolerant|gluten-free|gluten intolerant"
CHANGED = r"(?:I|we) (?:have |'ve )?(?:just |recently |now )?(?:changed|switched|updated)"
WHICH = r"(?:new |current |all-time |all time |main |personal )?"
FORMER = r"(?: from [^ ]+(?: [^ ]+)?)?"
IS = rf"(?:is|'s|are|:|(?:was |has )?changed{FORMER} to) (?:now |still |currently |actually )?"

# What does not fit a row of phrases: what is claimed, from and to which groups; the words one of which it
# needs (KIN and JOBS: of these lists), after "=" verbs, whose forms VERB stands for; the pattern with its
# parts by name, in capitals. The order counts: what one pattern understood is left alone by those behind it.
CLAUSES = r"""
LIVES_IN functional s>o end Person>Location & LIVES_IN functional s>p begin Person>Location
    (=move relocate): START VERB TWO
USES state s>o end >!Person/Location/Event & USES state s>p begin >!Person/Location/Event
    (=switch migrate): START VERB TWO
USES state s>o end >!Person/Location/Event
    (cancel cancelled canceled closed deleted): START AUX(?P<verb>cancel|cancelled|canceled|closed|deleted)
    (?:my|our) (?P<o>N\d+) (?:subscription|membership|account)BREAK
USES state s>o begin >!Person/Location/Event (subscribed signed):
    SUBJECT AUX (?P<verb>subscribed to|signed up for|signed up to) OBJECT
USES state s>o end >!Person/Location/Event & USES state s>p begin >!Person/Location/Event
    (=replace): (?P<s>I|we) VERB(?:our |my |the )?(?P<o>N\d+) with (?:the |an? )?(?P<p>N\d+)
OWNS state s>o end Person>!Person/Location & OWNS state s>p begin Person>!Person/Location
    (=trade swap): START VERB(?:in )?(?:my |our |the )(?P<o>N\d+)(?: in)? for
    (?:an? |the )(?:new |used )?(?P<p>N\d+)
LIVES_IN functional s>o state Person>Location & LIVES_WITH state s>p state Person>=Person
    (=live): START VERB with (?P<p>N\d+) in (?P<o>N\d+)
LIVES_IN functional s>o state Person>Location
    (=live): START VERB with (?:my|our|his|her|their) (?:[a-z]+ )?(?:KIN) (?:N\d+ )?in (?P<o>N\d+)
LOCATED_IN functional s>o end !Person>Location & LOCATED_IN functional s>p begin !Person>Location
    (=move relocate): SUBJECT VERB(?:its|their|our|the) (?:headquarters|head office|office|offices) TWO
LOCATED_IN functional s>o begin !Person>Location
    (=move relocate): SUBJECT VERB(?:its|their|our|the) (?:headquarters|head office|office|offices) to OBJECT
ASSIGNED_TO functional s>o end Person>!Person & ASSIGNED_TO functional s>p begin Person>!Person
    (moved transferred reassigned switched): SUBJECT AUX (?P<verb>moved|transferred|reassigned|switched)
    from (?:the )?(?P<o>N\d+) (?:SORT) to (?:the )?(?P<p>N\d+)(?: (?:SORT))?
ASSIGNED_TO functional s>o begin Person>!Person (moved transferred reassigned switched):
    SUBJECT AUX (?P<verb>moved|transferred|reassigned|switched) to (?:the |our )?(?P<o>N\d+) (?:SORT)BREAK
WORKS_AT functional s>o begin Person>Organization (join joins joined):
    START(?P<verb>join|joins|joined|joining) OBJECT as
WORKS_AT functional s>o state Person>Organization (at with): SUBJECT AUX BE (?:at|with) OBJECT(?= since| T\d)
WORKS_AT functional s>o end Person>Organization (last):
    (?P<s>my) last day at OBJECT (?P<verb>is|was|will be)
WORKS_AT functional s>o state Person>Organization (=work):
    START VERB(?:as|in) (?:an? |the )?(?:[a-z-]+ ){1,4}(?:at|for|with) OBJECT
WORKS_AT functional s>o begin Person>Organization (=get land accept take find start):
    START VERB(?:a |the |my )?(?:new |full-time |part-time )?(?:job|position|role) (?:at|with) OBJECT
WORKS_AT functional s>o end Person>Organization (=quit leave lose):
    START VERB(?:my|his|her|their) job at OBJECT
WORKS_AT functional s>o end Person>Organization (longer): SUBJECT AUX BE no longer (?:at|with) OBJECT
WORKS_AS functional s>np state Person> (=work): START VERB as (?:an? |the )?SOME
WORKS_AS state s>np begin Person> (promoted): SUBJECT AUX (?P<verb>got|am|'m|is|'s|was|were|been) promoted to
    (?:an? |the )?(?P<np>(?:[a-z-]+ ){0,2}(?:JOBS|lead|leader|head|partner|supervisor))BREAK
WORKS_AS state s>o begin Person>!Person/Location/Organization/Project/Event (promoted):
    SUBJECT AUX (?P<verb>got|am|'m|is|'s|was|were|been) promoted to (?P<o>N\d+)BREAK
WORKS_AS state s>np state Person> (JOBS): SUBJECT AUX BE NOT an? (?P<np>(?:[a-z-]+ ){0,2}(?:JOBS))BREAK
BORN_IN functional s>o state Person>Location (born):
    SUBJECT AUX BE NOT born (?:on )?T\d+ (?:, )?(?:in|at) OBJECT
STUDIES_AT functional s>o state Person>Organization (=study): START VERB(?:[a-z-]+ ){1,3}at OBJECT
ROLE functional s>o begin (become becomes became becoming):
    SUBJECT AUX (?P<verb>become|becomes|became|becoming) OFFICE
ROLE functional s>o begin (over): SUBJECT AUX (?P<verb>took|takes|taking|take) over (?:from N\d+ )?as OFFICE
ROLE functional s>o begin (appointed named elected promoted made):
    SUBJECT AUX BE NOT (?:appointed|named|elected|promoted to|made) (?:as )?OFFICE
ROLE functional s>o begin (=replace succeed): SUBJECT VERB N\d+ as OFFICE
ROLE functional s>o end (=step resign retire): SUBJECT VERB(?:down )?(?:as|from being) OFFICE
ROLE functional s>o end (fired ousted removed dismissed):
    SUBJECT AUX BE NOT (?:fired|ousted|removed|dismissed) as OFFICE
HAS functional s>o begin !Person>Person (=appoint name elect promote):
    (?P<s>N\d+) VERB(?P<o>N\d+) (?:as |to |to be )?(?:the |its |their |our )?(?:new |next )?(?:ROLE)BREAK
ROLE functional s>o (of at for on with in):
    SUBJECT AUX BE NOT (?P<article>the |our |a |an )?ROLE (?P<prep>of|at|for|on|with|in) OBJECT
ROLE functional s>o (of at for on):
    (?P<article>the |our )ROLE (?P<prep>of|at|for|on) (?:the )?(?P<o>N\d+) AUX BE NOT (?P<s>N\d+)
HAS state s>o (are): (?P<s>my|our) (?:[a-z]+ ){0,2}?(?P<role>KIN) (?P<verb>are) OBJECT(?:BREAK)
HAS functional s>o (my our): (?P<s>my|our) (?:[a-z]+ )?(?P<role>KIN|ROLES|name) AUX BE NOT (?P<o>N\d+)
HAS functional s>o (my our): (?P<o>N\d+) AUX BE NOT (?P<s>my|our) (?:[a-z]+ )?(?P<role>KIN|ROLES)
HAS functional s>o begin (replaced replaces succeeded succeeds over):
    (?P<o>N\d+) (?P<verb>replaced|replaces|succeeded|succeeds|took over from) N\d+ as
    (?P<s>my|our) (?:[a-z]+ )?(?P<role>ROLES)
HAS functional s>o begin (changed): (?P<s>my|our) (?P<role>ROLES) (?P<verb>changed) from N\d+ to (?P<o>N\d+)
HAS functional s>o end & HAS functional s>p begin (=switch change):
    START VERB(?:my |our )?(?P<role>bank|gym|school|employer|insurer|ROLES)s? TWO
HAS functional s>o end & HAS functional s>p begin (upgraded downgraded switched moved):
    SUBJECT AUX (?P<verb>upgraded|downgraded|switched|moved) from (?:the )?(?P<o>N\d+) (?:plan )?to
    (?:the )?(?P<p>N\d+) (?P<role>plan)BREAK
HAS functional s>o begin (upgraded downgraded switched moved):
    SUBJECT AUX (?P<verb>upgraded|downgraded|switched|moved) to (?:the )?(?P<o>N\d+) (?P<role>plan)BREAK
HAS functional s>o state (plan): SUBJECT AUX BE NOT on (?:the )?(?P<o>N\d+) (?P<role>plan)BREAK
HAS functional s>o (bank): (?P<s>I|we) (?P<role>bank) with OBJECT
HAS functional s>o (my our): (?P<s>my|our) (?:[a-z]+ )?(?P<role>KIN) 's name AUX BE NOT (?P<o>N\d+)
HAS functional s>o (called named):
    (?P<s>my|our) (?:[a-z]+ )?(?P<role>KIN) (?:AUX BE (?:now )?called|(?:is|are) named) OBJECT
HAS functional s>o state Person>Person (KIN): (?P<s>N\d+) 's MEMBER AUX BE NOT (?P<o>N\d+)
HAS functional s>o state Person>Person (KIN): (?P<o>N\d+) AUX BE NOT (?P<s>N\d+) 's (?:MEMBER)BREAK
HAS functional s>o state Person>Person (KIN): (?P<o>N\d+) AUX BE NOT (?:the |an? )MEMBER of (?P<s>N\d+)
HAS state s>o begin (=get adopt): SUBJECT VERB(?:SEVERAL)(?P<role>KIN)NAMED
HAS state s>o (KIN): SUBJECT AUX (?P<verb>have|has|'ve)(?: got)? (?:SEVERAL)(?P<role>KIN)NAMED
HAS_NAME functional s>o state Person>=Person (am 'm): (?P<s>I) (?P<verb>am|'m) (?P<o>N\d+)(?= [.,!]| from|$)
MARRIED_TO functional s>o state Person>Person (married): (?P<s>N\d+) and (?P<o>N\d+) AUX BE NOT married
MARRIED_TO functional s>o begin Person>Person (married):
    (?P<s>N\d+) and (?P<o>N\d+) AUX (?P<verb>married|got married)
MARRIED_TO functional s>o end Person>Person (divorced):
    (?P<s>N\d+) and (?P<o>N\d+) AUX (?P<verb>divorced|got divorced)
DATES functional s>o end Person>Person (broke split): (?P<o>N\d+) and (?P<s>I) AUX (?P<verb>broke|split) up
ENGAGED_TO functional s>o begin Person>Person (engaged): (?P<s>N\d+) and (?P<o>N\d+) AUX (?P<verb>got engaged)
MARRIED_TO functional s>o begin Person>Person (married): (?P<o>N\d+) and (?P<s>I) AUX (?P<verb>got married)
MARRIED_TO functional s>o end Person>Person (divorced):
    (?P<o>N\d+) and (?P<s>I) AUX (?P<verb>divorced|got divorced)
ENGAGED_TO functional s>o begin Person>Person (engaged): (?P<o>N\d+) and (?P<s>I) AUX (?P<verb>got engaged)
DRIVES functional s>o state Person>!Person/Location/Organization (=drive): START VERB(?:an? |my )[a-z]+ OBJECT
RENAMED_TO event s>o begin (called renamed known):
    (?!(?:my|our) [a-z' ]+called )SUBJECT AUX BE (?:now |officially )?(?:called|renamed|renamed to|known as)
    (?P<o>N\d+)
RENAMED_TO event s>o begin (renamed rename):
    (?:I|we|they|RENAMER) (?P<verb>renamed|rename) (?:the )?(?P<s>N\d+) (?:to|as) (?P<o>N\d+)
LIKES state s>np (=like love enjoy): START VERB ANY
LIKES state s>np (fan): SUBJECT AUX BE NOT a (?:big |huge |massive |great |real )?fan of ANY
PREFERS state s>np (=prefer): START VERB RATHER
DISLIKES state s>np (=hate dislike): START VERB ANY
DISLIKES state s>np (stand): SUBJECT (?:ca|can) n't (?P<verb>stand) ANY
WANTS state s>np (=want): START VERB ANY
NEEDS state s>np (=need): START VERB ANY
PLAYS state s>np (=play): START VERB SOME
LEARNS state s>np (learning): SUBJECT AUX (?P<verb>learning) SOME
SPEAKS state s>np (=speak):
    START VERB(?:fluent |some )?(?P<np>LANGUAGE|N\d+)(?:(?: ,)? and (?P<np2>LANGUAGE|N\d+))?BREAK
FOLLOWS_DIET state s>np (vegan vegetarian pescatarian intolerant lactose-intolerant gluten-free):
    SUBJECT AUX BE NOT (?:an? |strictly |mostly )?(?P<np>DIETS)BREAK
FOLLOWS_DIET state s>np begin (became become went turned):
    SUBJECT AUX (?P<verb>became|become|went|turned) (?:an? )?(?P<np>DIETS)BREAK
DIAGNOSED_WITH state s>np begin (diagnosed): SUBJECT AUX BE NOT diagnosed with SOME
ALLERGIC_TO state s>np (allergic): SUBJECT AUX BE NOT allergic to SOME
PLAYS state s>np end (up): SUBJECT AUX (?P<verb>gave up|gives up) (?!playing )SOME
"""
_HELD = "visit|meeting|launch|opening|party|wedding|exam|workshop|conference|release|concert|interview|demo"
_HELD += "|appointment|anniversary|graduation|surgery"
_DATED = f"{_HELD}|flight"
VALUES = rf"""
(of for on): (?:the |our |my )?ATTRIBUTE (?:of|for|on) OWNER BECOMES VALUE
({_DATED.replace("|", " ")}): MINE (?:[a-z]+ )?(?P<attribute>{_DATED}) BECOMES (?:on |at )?(?P<value>T\d+)
HAS_AGE (old): SUBJECT (?:am|'m|is|'s) (?:now |only |already )?(?P<value>\d{{1,3}}) years? old
HAS_AGE (KIN):
    (?P<s>(?:my|our) (?:KIN)(?: N\d+)?) (?:is|'s) (?:now |only |already |almost )?(?P<value>\d{{1,2}})BREAK
HAS_AGE (turned): SUBJECT (?:just |recently )?turned (?P<value>\d{{1,3}})BREAK
HAS_BIRTHDAY (born): SUBJECT AUX BE born (?:on )?(?P<value>T\d+)
('s): (?:the |our )?(?P<s>N\d+) 's ATTRIBUTE BECOMES VALUE
({_OWNED.replace("|", " ")} date):
    (?:the |our )?(?:(?P<s>N\d+|the project|the|our|my) )(?P<attribute>{_OWNED}) BECOMES VALUE
({_OWNED.replace("|", " ")} date): ^(?P<s>)(?P<attribute>{_OWNED}) : (?P<value>[AT]\d+)
(of for): (?P<verb>CHANGING) (?:the |our )?ATTRIBUTE (?:of|for) OWNER (?:to|until|by) VALUE
({_OWNED.replace("|", " ")} date):
    (?P<verb>CHANGING) (?:the |our |my )?(?:(?P<s>N\d+) (?:'s )?)?(?P<attribute>{_OWNED})
    (?:back |up |down )?(?:to|until|by) VALUE
({_HELD.replace("|", " ")}):
    (?:the |our )?(?:[a-z]+ )?(?P<attribute>{_HELD}) (?:of|for|at|to|with|in) OWNER(?: [^ ]+){{0,8}}?
    (?:is|will be|takes place) (?:on |at )?(?P<value>T\d+)
(put puts raised raises cut cuts lowered lowers dropped increased):
    (?P<s>N\d+) (?:put|puts|raised|raises|cut|cuts|lowered|lowers|dropped|increased)
    (?:the |its |their )?THING (?:price )?(?:up |down |back )?to (?P<value>A\d+)
(quote price):
    (?P<s>N\d+) (?:sent|gave|quoted) (?:us )?(?:the |its |their |a )?THING (?:quote|price) :? ?(?P<value>A\d+)
(back up down): (?P<s>N\d+)(?: [^ ]+){{1,4}} the THING (?:is|goes|went) (?:back |up |down )to (?P<value>A\d+)
(due): (?P<s>N\d+) (?:is|are|'s) (?P<attribute>due) (?:at N\d+ )?(?:on |by )?(?P<value>T\d+)
CHARGES (=charge): SUBJECT VERB PRICE
COSTS (=cost): SUBJECT VERB PRICE
PAYS (=pay): SUBJECT VERB PRICE
"""
# What somebody has one of, with whatever words tell it: "my favourite colour is teal". A row: the words of
# which it needs one, the attribute, what its value looks like.
PLAIN = r"(?!(?:not|n't|a|an|the|so|too|very|when|that|how|what|to|because)\b)[^ ]+"
ATTRIBUTES = r"""
(favorite favourite):
    favou?rite (?!(?:thing|one|part|time|way|place|memory)s?\b)[a-z-]+(?: (?!has |was )[a-z-]+)?
    = (?:the )?PLAIN
(email e-mail mail): e-?mail(?: address)? = [^ ]+@[^ ]+
(number): (?:tele)?phone number|mobile number|cell number|number = \+ ?\d[^ ]*|\d[^ ]*
(weight height size): weight|height|[a-z]+ size|size = A?\d[^ ]*
(birthday birth birthdate): birthday|date of birth|birth date|birthdate = (?:on )?T\d+
(address): (?:[a-z]+ )?address = (?:at )?(?:\d+[a-z]? )?N\d+
(car bike phone laptop computer tablet gym bank employer school university startup dentist vet church):
    car|bike|phone|laptop|computer|tablet|gym|bank|employer|school|university|startup|dentist|vet|church
    = (?:called |named )?(?:an? )?N\d+
(timezone zone type sign): time ?zone|blood type|(?:star|zodiac) sign = PLAIN
(pronouns major nationality language tongue):
    pronouns|major|nationality|(?:native|first) language|mother tongue = PLAIN
(username handle surname nickname): user ?name|handle|surname|nickname = PLAIN
"""
PARTS = {
    **{"START": START, "SUBJECT": SUBJECT, "AUX": AUX, "BE": BE, "NOT": NOT, "OBJECT": OBJECT},
    **{"ROLE": _ROLE, "KIN": _KIN, "ROLES": "|".join(ROLES), "RENAMER": SUBJECT.replace("<s>", "<x>")},
    **{"ATTRIBUTE": "(?P<attribute>[a-z-]{3,20}(?: [a-z]{3,12})?)", "BECOMES": _BECOMES, "VALUE": _VALUE},
    **{"CHANGING": _CHANGED.replace(" ", "|"), "OWNER": r"(?:the |project )*(?P<s>N\d+)" + _SORTED},
    **{"THING": "(?P<thing>[a-z]{3,15})", "PRICE": r"(?:us |me |now |only )?(?P<value>A\d+)"},
    **{"MINE": MINE, "MEMBER": _MEMBER, "NAMED": _NAMED, "OFFICE": _OFFICE, "DIETS": _DIETS, "BREAK": _BREAK},
    **{"SEVERAL": r"(?:an?|one|two|three|four|five|\d) (?:[a-z]+ ){0,2}?"},
    **{"LANGUAGE": alternatives(DEMONYMS), "SORT": _SORT, "JOBS": alternatives(TRIGGERS["JOBS"])},
    **{"RATHER": _ANY + _AND_THING + _STOPS.replace("(?=", "(?= to\\b| over\\b| than\\b| rather\\b|")},
    **{"TWO": r"from (?:the )?(?P<o>N\d+) to (?:the )?(?P<p>N\d+)"},
    **{"ANY": _ANY + _AND_THING + _STOPS, "SOME": _THING + _AND_THING + _STOPS},
}
