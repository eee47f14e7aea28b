"""English verbs and their forms: which words may be verbs, and how to inflect one."""

from __future__ import annotations

import re
from typing import NamedTuple

from kgsvc.models.rules.text import word_list, word_set

_REGULAR = word_list("""
accept accuse ache achieve acquire act adapt add address adjust admire admit adopt advance advise afford agree
aim allow amaze analyze announce annoy answer appear apply appoint appreciate approach approve argue arrange
arrest arrive ask assemble assign assist assume attach attack attempt attend attract avoid award back bake
balance ban base bath behave believe belong benefit blame bless block blog boil book borrow bother bounce brag
breathe brush bump burn bury call calm camp cancel care carry cause celebrate challenge change charge chase
chat check cheer chill chop claim clap clean clear climb close coach collaborate collect combine comfort
command comment commit communicate commute compare compete complain complete compose concern conclude conduct
confirm connect consider consist construct consult consume contact contain continue contribute control convert
convince cook cope copy correct cough count cover craft crash create cross cry cure cycle damage dance date
debut decide declare decline decorate dedicate defeat defend define delay deliver demand deny depart depend
deploy describe deserve design destroy determine develop devote die dine direct disagree disappear discover
discuss dislike display distribute divide divorce donate double doubt download dress drop dry earn edit
educate elect embrace emerge employ encounter encourage end endorse enjoy enroll ensure enter entertain escape
establish evaluate evolve examine excel exchange excite exercise exist expand expect experience experiment
explain explore export express extend face fade fail fascinate fear feature file fill film finish fire fish
fit fix flow focus fold follow force form found freelance fulfill function fund gain gather generate glance
graduate grab greet guard guess guide handle hand happen hate head heal heat help hike hire honor hope host
hug hunt hurry identify ignore imagine implement impress improve include increase indicate influence inform
inherit injure insist inspire install intend interest interview introduce invade invent invest investigate
invite involve iron join joke jog journal judge jump kick kill kiss knock lack land last laugh launch lecture
like limit link list listen live load locate lock look love maintain manage mark marry master match matter
maximize measure melt mention mentor merge message migrate miss mix monitor motivate mount move name narrate
need negotiate network nominate note notice obtain occupy occur offer open operate oppose order organise
organize orient outline own pack paint park participate partner pass pause perform persuade phone photograph
pick place plan plant play please point polish portray possess post postpone pour practice practise praise
pray prefer premiere prepare present preserve press pretend prevent print process produce program promise
promote propose protect protest prove provide publish pull purchase push qualify question race raise rank
reach react realise realize rebuild receive recharge recognise recognize recommend record recover recycle
reduce refer reflect refuse regard regret reject relate relax release rely relieve relocate remain remember
remind remove rename renovate rent repair repeat replace reply report represent request rescue research
resemble reserve reside resign resist resolve respect respond rest restore result retire return reveal review
reward rock roll row rule rush sail save scare schedule score scream search seem select separate serve settle
share shift shop shout shock show sign ski skate sketch skip slip smell smile smoke snap snowboard soar solve
sort sound spark specialize spell stack star stare start state stay stem step stop store stream strengthen
stress stretch struggle study stumble succeed suffer suggest suit supply support suppose surf surprise
surround survive suspect switch tackle talk target taste tease test text thank tire toast touch tour trace
track trade train transfer transform translate travel treat trip trust try turn tutor type unite update
upgrade upload urge use value vanish visit volunteer vote wait walk wander want warm warn wash waste watch
water wave weigh welcome whisper wish witness wonder work worry worship wrap yell figure team brighten fuel
spend sponsor accompany accomplish activate adore advertise anticipate assure bloom bond bore brainstorm
broadcast chair chronicle clarify code compile concentrate confess contest cosplay counsel crack crochet crush
customize debate debug declutter dive document downsize dream drain email empower enable engage enhance enlist
exhaust exhibit explode feast fight finance flip foster frame garden govern graze groom harvest headquarter
highlight hit illustrate immigrate import incorporate intrigue jam juggle kayak kickbox knit lift lobby log
lounge meditate mow narrow nurture overcome paddle pair patent persist pet pitch plead plot preach prioritize
pursue quilt rap readjust rehearse reconnect refresh reinforce rejoin remodel reorganize reunite revise
revisit sack sample scout sculpt secure sew shape shelter showcase spot stabilize structure submit sue
supervise surpass teach tend terminate thrive tidy toss transition tune unwind venture vacation video wed
weave whip win yearn restart reboot configure encrypt archive uninstall rinse
""")

_IRREGULAR = word_list("""
arise:arose:arisen awake:awoke:awoken bear:bore:born beat:beat:beaten become:became:become begin:began:begun
bend:bent:bent bet:bet:bet bind:bound:bound bite:bit:bitten bleed:bled:bled blow:blew:blown break:broke:broken
bring:brought:brought build:built:built buy:bought:bought catch:caught:caught choose:chose:chosen
come:came:come cost:cost:cost cut:cut:cut deal:dealt:dealt dig:dug:dug draw:drew:drawn drink:drank:drunk
drive:drove:driven eat:ate:eaten fall:fell:fallen feed:fed:fed feel:felt:felt fight:fought:fought
find:found:found flee:fled:fled fly:flew:flown forbid:forbade:forbidden forget:forgot:forgotten
forgive:forgave:forgiven freeze:froze:frozen get:got:gotten give:gave:given go:went:gone grow:grew:grown
hang:hung:hung hear:heard:heard hide:hid:hidden hit:hit:hit hold:held:held hurt:hurt:hurt keep:kept:kept
know:knew:known lay:laid:laid lead:led:led learn:learnt:learnt leave:left:left lend:lent:lent let:let:let
lie:lay:lain light:lit:lit lose:lost:lost make:made:made mean:meant:meant meet:met:met mow:mowed:mown
overcome:overcame:overcome pay:paid:paid prove:proved:proven put:put:put quit:quit:quit read:read:read
ride:rode:ridden ring:rang:rung rise:rose:risen run:ran:run say:said:said see:saw:seen seek:sought:sought
sell:sold:sold send:sent:sent set:set:set sew:sewed:sewn shake:shook:shaken shine:shone:shone shoot:shot:shot
show:showed:shown shrink:shrank:shrunk shut:shut:shut sing:sang:sung sink:sank:sunk sit:sat:sat
sleep:slept:slept slide:slid:slid speak:spoke:spoken spend:spent:spent spin:spun:spun split:split:split
spread:spread:spread stand:stood:stood steal:stole:stolen stick:stuck:stuck strike:struck:struck
swear:swore:sworn sweep:swept:swept swim:swam:swum swing:swung:swung take:took:taken teach:taught:taught
tear:tore:torn tell:told:told think:thought:thought throw:threw:thrown understand:understood:understood
wake:woke:woken wear:wore:worn weave:wove:woven win:won:won withdraw:withdrew:withdrawn write:wrote:written
upset:upset:upset broadcast:broadcast:broadcast rebuild:rebuilt:rebuilt undergo:underwent:undergone
unwind:unwound:unwound dream:dreamt:dreamt burn:burnt:burnt
""")

_DOUBLING = word_set("""
admit begin commit control enroll forbid forget kidnap occur prefer refer regret submit transfer upset
""")
_ONE_SYLLABLE_CVC = re.compile(r"(?:qu|[^aeiou])*[aeiou][bdfgklmnprtvz]")
_SIBILANT = re.compile(r"(?:s|x|z|ch|sh|o)\Z")
_CONSONANT_Y = re.compile(r"[^aeiou]y\Z")


class VerbForm(NamedTuple):
    """What a written verb form may be."""

    lemma: str
    base: bool = False
    third: bool = False  # works
    past: bool = False  # worked, went
    participle: bool = False  # worked, gone
    ing: bool = False


def third_person(lemma: str) -> str:
    """work → works, carry → carries, go → goes."""
    if lemma in _AUXILIARY_THIRD:
        return _AUXILIARY_THIRD[lemma]
    if _CONSONANT_Y.search(lemma):
        return f"{lemma[:-1]}ies"
    return f"{lemma}es" if _SIBILANT.search(lemma) else f"{lemma}s"


def _stem(lemma: str) -> str:
    if lemma in _DOUBLING or _ONE_SYLLABLE_CVC.fullmatch(lemma):
        return lemma if lemma.endswith("ll") else lemma + lemma[-1]
    return lemma


def _past(lemma: str) -> str:
    if lemma.endswith("e"):
        return f"{lemma}d"
    if _CONSONANT_Y.search(lemma):
        return f"{lemma[:-1]}ied"
    return f"{_stem(lemma)}ed"


def _ing(lemma: str) -> str:
    if lemma.endswith("ie"):
        return f"{lemma[:-2]}ying"
    if lemma.endswith("e") and not lemma.endswith(("ee", "ye", "oe")):
        return f"{lemma[:-1]}ing"
    return f"{_stem(lemma)}ing"


_AUXILIARY_THIRD = {"be": "is", "have": "has", "do": "does"}


def _table() -> dict[str, VerbForm]:
    table: dict[str, VerbForm] = {}

    def learn(word: str, *forms: str) -> None:
        known = table.setdefault(word, VerbForm(lemma))
        if known.lemma == lemma:
            flags = [known[i] or name in forms for i, name in enumerate(VerbForm._fields[1:], start=1)]
            table[word] = VerbForm(lemma, *map(bool, flags))

    for lemma, past, participle in (row.split(":") for row in _IRREGULAR):
        learn(lemma, "base")
        learn(past, "past")
        learn(participle, "participle")
        learn(third_person(lemma), "third")
        learn(_ing(lemma), "ing")
        learn(_ing(lemma)[:-1], "ing")  # thinkin'
    for lemma in ("learn", "dream", "burn", "get", *_REGULAR):
        learn(lemma, "base")
        learn(third_person(lemma), "third")
        learn(_past(lemma), "past", "participle")
        learn(_ing(lemma), "ing")
    lemma = "get"
    learn("got", "past", "participle")
    return table


FORMS = _table()  # what each lower-case word may be a form of
