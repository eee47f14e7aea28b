"""Names that tell what a thing is: places, given names, words that organisations and places are called by."""

from __future__ import annotations

from kgsvc.models.rules.text import name_set, word_set

PLACES = name_set(
    """
    afghanistan, albania, algeria, argentina, armenia, australia, austria, azerbaijan, bangladesh,
    belarus, belgium, bolivia, bosnia, botswana, brazil, bulgaria, cambodia, cameroon, canada, chile,
    china, colombia, costa rica, croatia, cuba, cyprus, czechia, czech republic, denmark, dominican
    republic, ecuador, egypt, el salvador, estonia, ethiopia, finland, france, georgia, germany, ghana,
    greece, guatemala, haiti, honduras, hungary, iceland, india, indonesia, iran, iraq, ireland, israel,
    italy, jamaica, japan, jordan, kazakhstan, kenya, kuwait, laos, latvia, lebanon, libya, lithuania,
    luxembourg, madagascar, malaysia, malta, mexico, moldova, monaco, mongolia, montenegro, morocco,
    mozambique, myanmar, namibia, nepal, netherlands, new zealand, nicaragua, nigeria, north korea,
    norway, oman, pakistan, panama, paraguay, peru, philippines, poland, portugal, qatar, romania,
    russia, rwanda, saudi arabia, scotland, senegal, serbia, singapore, slovakia, slovenia, somalia,
    south africa, south korea, spain, sri lanka, sudan, sweden, switzerland, syria, taiwan, tanzania,
    thailand, tunisia, turkey, uganda, ukraine, united arab emirates, united kingdom, united states,
    uruguay, uzbekistan, venezuela, vietnam, wales, yemen, zambia, zimbabwe, england, britain, great
    britain, europe, asia, africa, america, north america, south america, antarctica, oceania, usa, uk,
    us, u.s., u.k., u.s.a., uae, eu, soviet union, yugoslavia, west germany, east germany, prussia,
    alabama, alaska, arizona, arkansas, california, colorado, connecticut, delaware, florida, hawaii,
    idaho, illinois, indiana, iowa, kansas, kentucky, louisiana, maine, maryland, massachusetts,
    michigan, minnesota, mississippi, missouri, montana, nebraska, nevada, new hampshire, new jersey,
    new mexico, new york, north carolina, north dakota, ohio, oklahoma, oregon, pennsylvania, rhode
    island, south carolina, south dakota, tennessee, texas, utah, vermont, virginia, washington, west
    virginia, wisconsin, wyoming, ontario, quebec, alberta, british columbia, nova scotia, london,
    paris, berlin, madrid, rome, milan, vienna, prague, budapest, warsaw, amsterdam, brussels,
    copenhagen, stockholm, oslo, helsinki, dublin, edinburgh, glasgow, manchester, liverpool,
    birmingham, leeds, bristol, oxford, cambridge, lisbon, porto, barcelona, valencia, seville, munich,
    hamburg, frankfurt, cologne, stuttgart, leipzig, dresden, zurich, geneva, basel, bern, athens,
    istanbul, ankara, moscow, saint petersburg, st petersburg, leningrad, kyiv, kiev, lviv, minsk, riga,
    vilnius, tallinn, krakow, bucharest, sofia, belgrade, zagreb, ljubljana, sarajevo, naples, venice,
    florence, turin, lyon, marseille, nice, bordeaux, toulouse, antwerp, rotterdam, the hague, tokyo,
    osaka, kyoto, seoul, busan, beijing, shanghai, shenzhen, guangzhou, hong kong, taipei, bangkok,
    hanoi, jakarta, bali, manila, kuala lumpur, mumbai, delhi, new delhi, bangalore, bengaluru, chennai,
    kolkata, calcutta, hyderabad, pune, karachi, lahore, dhaka, kathmandu, dubai, abu dhabi, doha,
    riyadh, tehran, baghdad, jerusalem, tel aviv, beirut, damascus, cairo, casablanca, tunis, algiers,
    lagos, nairobi, johannesburg, cape town, accra, sydney, melbourne, brisbane, perth, adelaide,
    canberra, auckland, wellington, toronto, montreal, vancouver, ottawa, calgary, winnipeg, halifax,
    new york city, nyc, brooklyn, manhattan, queens, los angeles, la, hollywood, san francisco, san
    diego, san jose, oakland, seattle, portland, denver, boulder, phoenix, las vegas, dallas, houston,
    austin, san antonio, new orleans, atlanta, miami, orlando, tampa, nashville, memphis, charlotte,
    raleigh, washington d.c., washington dc, baltimore, philadelphia, pittsburgh, cleveland, detroit,
    chicago, milwaukee, minneapolis, st louis, kansas city, boston, salt lake city, honolulu, mexico
    city, havana, bogota, lima, quito, santiago, buenos aires, montevideo, sao paulo, rio de janeiro,
    rio, brasilia, caracas, silicon valley, bay area, banff, jasper, yosemite, yellowstone, lancashire,
    yorkshire, kent, sussex, essex, cornwall, bavaria, saxony, silesia, catalonia, tuscany, sicily,
    normandy, provence, rockies, himalayas, alps, andes
    """
)

MEN = name_set(
    """
    aaron, adam, adrian, alan, albert, alejandro, alex, alexander, ali, andre, andreas, andrew, andy,
    anthony, antonio, arthur, ben, benjamin, bill, bob, bobby, brad, brandon, brian, bruce, bryan,
    calvin, carl, carlos, charles, charlie, chris, christian, christopher, chuck, colin, craig, dan,
    daniel, danny, dave, david, dean, dennis, derek, diego, dmitri, don, donald, doug, douglas, dylan,
    ed, eddie, edward, edwin, eric, erik, ethan, evan, felix, fernando, frank, fred, gabriel, gary,
    george, gerald, giovanni, glenn, greg, gregory, hans, harold, harry, hassan, hector, henry, howard,
    hugo, ian, ibrahim, isaac, ivan, jack, jackson, jacob, jake, james, jared, jason, jeff, jeffrey,
    jeremy, jerry, jesse, jim, jimmy, joe, joel, john, johnny, jon, jonathan, jorge, jose, joseph, josh,
    joshua, juan, julian, justin, karl, keith, ken, kenneth, kevin, kyle, larry, lars, lee, leo, leon,
    leonard, liam, logan, lou, louis, lucas, luis, luke, marc, marco, marcus, mario, mark, martin, matt,
    matthew, max, michael, miguel, mike, mohamed, mohammed, muhammad, nathan, neil, nicholas, nick,
    noah, norman, oliver, omar, oscar, owen, pablo, patrick, paul, pedro, pete, peter, phil, philip,
    rafael, raj, ralph, randy, ray, raymond, rob, robert, roberto, rodrigo, roger, ron, ronald, roy,
    russell, ryan, sam, samuel, scott, sean, sebastian, sergei, seth, shawn, simon, stanley, stefan,
    stephen, steve, steven, stuart, ted, terry, theo, thomas, tim, timothy, todd, tom, tommy, tony,
    travis, trevor, tyler, victor, vincent, vladimir, walter, wayne, will, william, xavier, zach,
    zachary
    """
)

WOMEN = name_set(
    """
    abby, abigail, adele, agnes, alexandra, alice, alicia, alison, amanda, amber, amelia, amy, ana,
    andrea, angela, anita, ann, anna, anne, annie, ashley, audrey, barbara, becky, beth, betty, bonnie,
    brenda, bridget, brittany, camila, carla, carmen, carol, caroline, carolyn, catherine, cathy,
    cecilia, charlotte, chelsea, cheryl, chloe, christina, christine, cindy, claire, clara, claudia,
    courtney, crystal, cynthia, dana, danielle, daphne, dawn, deborah, debra, denise, diana, diane,
    donna, doris, dorothy, edith, elaine, elena, eleanor, elizabeth, ella, ellen, emily, emma, erica,
    erin, esther, eva, eve, evelyn, fatima, fiona, frances, gina, gloria, grace, hannah, heather, heidi,
    helen, holly, ida, ingrid, irene, iris, isabel, isabella, jacqueline, jane, janet, jasmine, jean,
    jenna, jennifer, jenny, jessica, jill, joan, joanna, josephine, joy, joyce, judith, judy, julia,
    julie, karen, kate, katherine, kathleen, kathy, katie, kayla, kelly, kim, kimberly, kristen,
    kristin, laura, lauren, leah, lena, leslie, lily, linda, lisa, liz, lois, lori, louise, lucia, lucy,
    luna, lydia, madison, maggie, margaret, maria, marie, marilyn, martha, mary, maya, megan, mel,
    melanie, melissa, mia, michelle, miranda, molly, monica, nancy, naomi, natalie, nicole, nina, nora,
    olga, olivia, pamela, patricia, paula, penny, priya, rachel, rebecca, rosa, rosie, ruth, sally,
    samantha, sandra, sara, sarah, sharon, shirley, silvia, sofia, sophia, sophie, stella, stephanie,
    sue, susan, svetlana, sylvia, tanya, tara, teresa, theresa, tiffany, tina, tracy, valerie, vanessa,
    vera, veronica, victoria, virginia, wendy, yolanda, yvonne, zoe
    """
)

ORGANISATION_WORDS = word_set(
    """
    inc corp corporation ltd llc gmbh ag plc co company companies group holdings university college
    school academy institute bank foundation association society council ministry agency hospital clinic
    church team club committee department bureau party union federation league orchestra band records
    studios studio pictures labs lab laboratories systems technologies technology software solutions
    partners ventures capital consulting services airlines airways motors press times journal museum
    library court army navy police shelter center centre cafe restaurant bakery shop store gym fc united
    airforce commission organization organisation network networks entertainment productions games media
    """
)
ORGANISATION_HEADS = word_set("university ministry bank institute department")
ORGANISATION_MARKS = ("corp", "tech", "soft", "labs", "works", "bank", "systems", ".com", ".io", ".ai")
PLACE_WORDS = word_set(
    """
    city town village county province state street st avenue road lane square park lake river sea ocean
    bay beach island islands mountain mountains mount valley canyon falls forest desert hills hill
    bridge airport station district region republic kingdom coast cape peninsula parkway boulevard trail
    garden gardens castle palace stadium arena plaza harbor harbour
    """
)
PLACE_HEADS = word_set("mount lake river port fort")
PROJECT_WORDS = word_set("project initiative programme operation campaign")
EVENT_WORDS = word_set(
    """
    conference festival summit war battle olympics cup championship tournament concert marathon parade
    day week christmas easter halloween thanksgiving hanukkah ramadan diwali championships awards award
    prize expo fair convention hackathon gala
    """
)
WORK_WORDS = word_set(
    """
    film movie novel book series album song show play opera game symphony anthology magazine
    """
)
_MAKERS = word_set(
    """
    director actor actress writer author singer songwriter musician composer producer screenwriter
    filmmaker player footballer politician bishop priest king queen prince princess duke earl count
    countess nobleman officer soldier general lawyer doctor nurse teacher professor engineer artist
    painter poet novelist journalist scientist historian philosopher businessman businesswoman
    entrepreneur manager student developer designer chef athlete swimmer runner dancer model coach pilot
    architect photographer editor comedian rapper drummer guitarist pianist conductor saint emperor
    empress governor senator president minister judge man woman boy girl person mother father son
    daughter brother sister wife husband cousin friend member leader activist critic theologian
    physicist chemist economist mathematician psychologist therapist counselor
    analyst consultant programmer accountant barista cashier clerk intern researcher specialist
    technician assistant representative agent coordinator executive supervisor waiter waitress recruiter
    mechanic electrician plumber carpenter translator librarian pharmacist dentist veterinarian vet
    paramedic firefighter reporter administrator advisor lecturer tutor instructor trainer volunteer
    """
)


def kind_of_class(noun: str) -> str:
    """What type a thing has that "is a <noun>"; "" if the noun does not tell."""
    if noun in _MAKERS:
        return "Person"
    if noun in WORK_WORDS:
        return "Work"
    if noun in ORGANISATION_WORDS:
        return "Organization"
    if noun in PLACE_WORDS or noun in (
        "country",
        "municipality",
        "capital",
        "neighborhood",
        "suburb",
        "commune",
    ):
        return "Location"
    if noun in PROJECT_WORDS:
        return "Project"
    return "Event" if noun in EVENT_WORDS else ""
