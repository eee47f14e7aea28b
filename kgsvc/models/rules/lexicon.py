"""The English words that the rules know: word classes, and names of places and people. Closed classes are
complete, open ones hold what turned out to help."""

from __future__ import annotations

from kgsvc.models.rules.text import name_set, numbered, word_set

PLACES = name_set("""
afghanistan, albania, algeria, argentina, armenia, australia, austria, azerbaijan, bangladesh, belarus,
belgium, bolivia, bosnia, botswana, brazil, bulgaria, cambodia, cameroon, canada, chile, china, colombia,
costa rica, croatia, cuba, cyprus, czechia, czech republic, denmark, dominican republic, ecuador, egypt, el
salvador, estonia, ethiopia, finland, france, georgia, germany, ghana, greece, guatemala, haiti, honduras,
hungary, iceland, india, indonesia, iran, iraq, ireland, israel, italy, jamaica, japan, jordan, kazakhstan,
kenya, kuwait, laos, latvia, lebanon, libya, lithuania, luxembourg, madagascar, malaysia, malta, mexico,
moldova, monaco, mongolia, montenegro, morocco, mozambique, myanmar, namibia, nepal, netherlands, new zealand,
nicaragua, nigeria, north korea, norway, oman, pakistan, panama, paraguay, peru, philippines, poland,
portugal, qatar, romania, russia, rwanda, saudi arabia, scotland, senegal, serbia, singapore, slovakia,
slovenia, somalia, south africa, south korea, spain, sri lanka, sudan, sweden, switzerland, syria, taiwan,
tanzania, thailand, tunisia, turkey, uganda, ukraine, united arab emirates, united kingdom, united states,
uruguay, uzbekistan, venezuela, vietnam, wales, yemen, zambia, zimbabwe, england, britain, great britain,
europe, asia, africa, america, north america, south america, antarctica, oceania, usa, uk, us, u.s., u.k.,
u.s.a., uae, eu, soviet union, yugoslavia, west germany, east germany, prussia, alabama, alaska, arizona,
arkansas, california, colorado, connecticut, delaware, florida, hawaii, idaho, illinois, indiana, iowa,
kansas, kentucky, louisiana, maine, maryland, massachusetts, michigan, minnesota, mississippi, missouri,
montana, nebraska, nevada, new hampshire, new jersey, new mexico, new york, north carolina, north dakota,
ohio, oklahoma, oregon, pennsylvania, rhode island, south carolina, south dakota, tennessee, texas, utah,
vermont, virginia, washington, west virginia, wisconsin, wyoming, ontario, quebec, alberta, british columbia,
nova scotia, london, paris, berlin, madrid, rome, milan, vienna, prague, budapest, warsaw, amsterdam,
brussels, copenhagen, stockholm, oslo, helsinki, dublin, edinburgh, glasgow, manchester, liverpool,
birmingham, leeds, bristol, oxford, cambridge, lisbon, porto, barcelona, valencia, seville, munich, hamburg,
frankfurt, cologne, stuttgart, leipzig, dresden, zurich, geneva, basel, bern, athens, istanbul, ankara,
moscow, saint petersburg, st petersburg, leningrad, kyiv, kiev, lviv, minsk, riga, vilnius, tallinn, krakow,
bucharest, sofia, belgrade, zagreb, ljubljana, sarajevo, naples, venice, florence, turin, lyon, marseille,
nice, bordeaux, toulouse, antwerp, rotterdam, the hague, tokyo, osaka, kyoto, seoul, busan, beijing, shanghai,
shenzhen, guangzhou, hong kong, taipei, bangkok, hanoi, jakarta, bali, manila, kuala lumpur, mumbai, delhi,
new delhi, bangalore, bengaluru, chennai, kolkata, calcutta, hyderabad, pune, karachi, lahore, dhaka,
kathmandu, dubai, abu dhabi, doha, riyadh, tehran, baghdad, jerusalem, tel aviv, beirut, damascus, cairo,
casablanca, tunis, algiers, lagos, nairobi, johannesburg, cape town, accra, sydney, melbourne, brisbane,
perth, adelaide, canberra, auckland, wellington, toronto, montreal, vancouver, ottawa, calgary, winnipeg,
halifax, new york city, nyc, brooklyn, manhattan, queens, los angeles, la, hollywood, san francisco, san
diego, san jose, oakland, seattle, portland, denver, boulder, phoenix, las vegas, dallas, houston, austin, san
antonio, new orleans, atlanta, miami, orlando, tampa, nashville, memphis, charlotte, raleigh, washington d.c.,
washington dc, baltimore, philadelphia, pittsburgh, cleveland, detroit, chicago, milwaukee, minneapolis, st
louis, kansas city, boston, salt lake city, honolulu, mexico city, havana, bogota, lima, quito, santiago,
buenos aires, montevideo, sao paulo, rio de janeiro, rio, brasilia, caracas, silicon valley, bay area, banff,
jasper, yosemite, yellowstone, lancashire, yorkshire, kent, sussex, essex, cornwall, bavaria, saxony, silesia,
catalonia, tuscany, sicily, normandy, provence, rockies, himalayas, alps, andes
""")

MEN = name_set("""
aaron, adam, adrian, alan, albert, alejandro, alex, alexander, ali, andre, andreas, andrew, andy, anthony,
antonio, arthur, ben, benjamin, bill, bob, bobby, brad, brandon, brian, bruce, bryan, calvin, carl, carlos,
charles, charlie, chris, christian, christopher, chuck, colin, craig, dan, daniel, danny, dave, david, dean,
dennis, derek, diego, dmitri, don, donald, doug, douglas, dylan, ed, eddie, edward, edwin, eric, erik, ethan,
evan, felix, fernando, frank, fred, gabriel, gary, george, gerald, giovanni, glenn, greg, gregory, hans,
harold, harry, hassan, hector, henry, howard, hugo, ian, ibrahim, isaac, ivan, jack, jackson, jacob, jake,
james, jared, jason, jeff, jeffrey, jeremy, jerry, jesse, jim, jimmy, joe, joel, john, johnny, jon, jonathan,
jorge, jose, joseph, josh, joshua, juan, julian, justin, karl, keith, ken, kenneth, kevin, kyle, larry, lars,
lee, leo, leon, leonard, liam, logan, lou, louis, lucas, luis, luke, marc, marco, marcus, mario, mark, martin,
matt, matthew, max, michael, miguel, mike, mohamed, mohammed, muhammad, nathan, neil, nicholas, nick, noah,
norman, oliver, omar, oscar, owen, pablo, patrick, paul, pedro, pete, peter, phil, philip, rafael, raj, ralph,
randy, ray, raymond, rob, robert, roberto, rodrigo, roger, ron, ronald, roy, russell, ryan, sam, samuel,
scott, sean, sebastian, sergei, seth, shawn, simon, stanley, stefan, stephen, steve, steven, stuart, ted,
terry, theo, thomas, tim, timothy, todd, tom, tommy, tony, travis, trevor, tyler, victor, vincent, vladimir,
walter, wayne, will, william, xavier, zach, zachary
""")

WOMEN = name_set("""
abby, abigail, adele, agnes, alexandra, alice, alicia, alison, amanda, amber, amelia, amy, ana, andrea,
angela, anita, ann, anna, anne, annie, ashley, audrey, barbara, becky, beth, betty, bonnie, brenda, bridget,
brittany, camila, carla, carmen, carol, caroline, carolyn, catherine, cathy, cecilia, charlotte, chelsea,
cheryl, chloe, christina, christine, cindy, claire, clara, claudia, courtney, crystal, cynthia, dana,
danielle, daphne, dawn, deborah, debra, denise, diana, diane, donna, doris, dorothy, edith, elaine, elena,
eleanor, elizabeth, ella, ellen, emily, emma, erica, erin, esther, eva, eve, evelyn, fatima, fiona, frances,
gina, gloria, grace, hannah, heather, heidi, helen, holly, ida, ingrid, irene, iris, isabel, isabella,
jacqueline, jane, janet, jasmine, jean, jenna, jennifer, jenny, jessica, jill, joan, joanna, josephine, joy,
joyce, judith, judy, julia, julie, karen, kate, katherine, kathleen, kathy, katie, kayla, kelly, kim,
kimberly, kristen, kristin, laura, lauren, leah, lena, leslie, lily, linda, lisa, liz, lois, lori, louise,
lucia, lucy, luna, lydia, madison, maggie, margaret, maria, marie, marilyn, martha, mary, maya, megan, mel,
melanie, melissa, mia, michelle, miranda, molly, monica, nancy, naomi, natalie, nicole, nina, nora, olga,
olivia, pamela, patricia, paula, penny, priya, rachel, rebecca, rosa, rosie, ruth, sally, samantha, sandra,
sara, sarah, sharon, shirley, silvia, sofia, sophia, sophie, stella, stephanie, sue, susan, svetlana, sylvia,
tanya, tara, teresa, theresa, tiffany, tina, tracy, valerie, vanessa, vera, veronica, victoria, virginia,
wendy, yolanda, yvonne, zoe
""")

ORGANISATION_WORDS = word_set("""
inc corp corporation ltd llc gmbh ag plc co company companies group holdings university college school academy
institute bank foundation association society council ministry agency hospital clinic church team club
committee department bureau party union federation league orchestra band records studios studio pictures labs
lab laboratories systems technologies technology software solutions partners ventures capital consulting
services airlines airways motors press times journal museum library court army navy police shelter center
centre cafe restaurant bakery shop store gym fc united airforce commission organization organisation network
networks entertainment productions games media architects engineering engineers joinery events paving builders
building scaffolding rentals hire assurance insurance solicitors surveyors plumbing roofing catering logistics
consultants associates structural brewing foods farms dairy clothing interiors furniture printing
""")
ORGANISATION_HEADS = word_set("university ministry bank institute department")
ORGANISATION_MARKS = ("corp", "tech", "soft", "labs", "works", "bank", "systems", ".com", ".io", ".ai")
PLACE_WORDS = word_set("""
city town village county province state street st avenue road lane square park lake river sea ocean bay beach
island islands mountain mountains mount valley canyon falls forest desert hills hill bridge airport station
district region republic kingdom coast cape peninsula parkway boulevard trail garden gardens castle palace
stadium arena plaza harbor harbour
""")
PLACE_HEADS = word_set("mount lake river port fort")
PROJECT_WORDS = word_set("project initiative programme operation campaign")
EVENT_WORDS = word_set("""
conference festival summit war battle olympics cup championship tournament concert marathon parade day week
christmas easter halloween thanksgiving hanukkah ramadan diwali championships awards award prize expo fair
convention hackathon gala
""")
WORK_WORDS = word_set("""
film movie novel book series album song show play opera game symphony anthology magazine
""")
_MAKERS = word_set("""
director actor actress writer author singer songwriter musician composer producer screenwriter filmmaker
player footballer politician bishop priest king queen prince princess duke earl count countess nobleman
officer soldier general lawyer doctor nurse teacher professor engineer artist painter poet novelist journalist
scientist historian philosopher businessman businesswoman entrepreneur manager student developer designer chef
athlete swimmer runner dancer model coach pilot architect photographer editor comedian rapper drummer
guitarist pianist conductor saint emperor empress governor senator president minister judge man woman boy girl
person mother father son daughter brother sister wife husband cousin friend member leader activist critic
theologian physicist chemist economist mathematician psychologist therapist counselor analyst consultant
programmer accountant barista cashier clerk intern researcher specialist technician assistant representative
agent coordinator executive supervisor waiter waitress recruiter mechanic electrician plumber carpenter
translator librarian pharmacist dentist veterinarian vet paramedic firefighter reporter administrator advisor
lecturer tutor instructor trainer volunteer
""")


ROLES = (
    _MAKERS
    - word_set(
        "man woman boy girl person mother father son daughter brother sister wife husband cousin friend"
        " model general"
    )
) | word_set("""
boss manager ceo director owner founder co-founder head lead chair chairman chairwoman client customer
partner supplier member contact coordinator boss supervisor mentor president mayor secretary treasurer
captain principal
""")


FIRST_PERSON = word_set("i me my mine myself we us our ours ourselves")
SECOND_PERSON = word_set("you your yours yourself ya u ur y'all")
THIRD_PERSON = word_set("""
he him his himself she her hers herself it its itself they them their theirs themselves
""")
PRONOUNS = FIRST_PERSON | SECOND_PERSON | THIRD_PERSON

DETERMINERS = word_set("""
a an the this that these those some any every each another both either neither all no such many much few
several most more less half own other
""")
BE = word_set("am is are was were be been being 'm 're ain't")
HAVE = word_set("have has had having 've")
DO = word_set("do does did doing done")
MODALS = word_set("will would can could may might must shall should 'll 'd wo ca sha gonna gotta ought need")
NEGATIONS = word_set("not n't never")

PREPOSITIONS = word_set("""
about above across after against along alongside amid among around as at before behind below beneath beside
besides between beyond by concerning despite down during except for from in inside into like near of off on
onto out outside over past per regarding since through throughout till to together toward towards under
underneath until up upon versus via with within without
""")
CONJUNCTIONS = word_set("and or but & plus nor yet")
RELATIVES = word_set("who which whom whose that")
SUBORDINATORS = word_set("""
because if when while although though unless whether whereas where why how what whatever whenever wherever so
then than cause 'cause cuz once
""")
ADVERBS = word_set("""
actually afterwards again ago ahead almost alone already also altogether always anymore anyway apart
apparently awhile away badly barely basically certainly clearly completely constantly currently daily deeply
even definitely directly easily else elsewhere entirely especially eventually ever everywhere exactly
extremely fairly finally first firmly forever formerly forward frequently fully generally gradually greatly
hardly here highly hopefully however immediately indeed initially instead just kinda largely lately later
least lightly likely literally little long longer mainly maybe meanwhile merely moreover mostly much nearly
never newly next nonetheless normally nowadays now obviously occasionally often once only originally otherwise
partly perfectly perhaps personally possibly practically presently pretty previously primarily probably
properly quickly quite rarely rather really recently regularly seldom seriously shortly similarly simply since
slightly slowly so somehow sometimes somewhat somewhere soon sorta specifically still subsequently suddenly
super surely surprisingly then there therefore thereby though thus today together tomorrow tonight too totally
truly twice typically ultimately unfortunately usually very well where whenever why yesterday yet nearby
abroad everyday outdoors indoors overseas upstairs downstairs online offline luckily sadly happily honestly
""")

INTERJECTIONS = word_set("""
ah aha aw aww awww awesome boy bravo bye cheers congrats congratulations cool damn dang dear duh eh er gee
goodbye gosh great ha haha hahaha hah heck hello hey heya hi hmm hooray howdy huh hurray jeez lmao lol man nah
nice no nope oh ok okay okey omg ooh oops ouch ow phew please right shh sorry sup sure sweet thank thanks thx
totally ugh uh um umm welcome well whoa whoo woah woo woohoo woot wow xoxo ya yay yea yeah yep yes yo yup
absolutely definitely exactly indeed agreed fantastic perfect amazing wonderful lovely brilliant same true
gotcha alright anyways anyway hiya dude bro bud sis buddy guys folks
""")

MONTHS = numbered(
    "january/jan february/feb march/mar april/apr may june/jun july/jul august/aug september/sept/sep "
    "october/oct november/nov december/dec",
    1,
)
WEEKDAYS = numbered(
    "monday/mon tuesday/tue/tues wednesday/wed thursday/thu/thur/thurs friday/fri saturday/sat sunday/sun", 0
)

# Capitalised, yet no names: adjectives of peoples, which may still be things ("speaks Hungarian").
DEMONYMS = word_set("""
african albanian algerian american arab arabic argentine argentinian armenian asian australian austrian
bangladeshi belgian bengali bolivian bosnian brazilian british bulgarian cambodian canadian cantonese
caribbean catalan chilean chinese christian colombian croatian cuban czech danish dutch ecuadorian egyptian
english estonian ethiopian european filipino finnish french georgian german ghanaian greek hawaiian hebrew
hindi hindu hungarian icelandic indian indonesian iranian iraqi irish islamic israeli italian jamaican
japanese jewish kazakh kenyan korean kurdish latin latvian lebanese lithuanian malay malayalam malaysian
mandarin marathi mexican mongolian moroccan muslim nepali nigerian norwegian pakistani palestinian persian
peruvian polish portuguese punjabi roman romanian russian scandinavian scottish serbian sicilian slovak
slovenian soviet spanish swedish swiss syrian taiwanese tamil telugu thai tibetan tunisian turkish ukrainian
urdu uruguayan venezuelan vietnamese welsh western yugoslav catholic protestant orthodox buddhist
""")

HONORIFICS = word_set("""
mr mrs ms miss dr prof professor sir dame lord lady cpl capt sgt gen rev hon president king queen
""")

# Nouns too vague to name anything.
VAGUE = word_set("""
thing things stuff lot lots bit way ways kind sort type time times day days one ones something anything
everything nothing someone anyone everyone nobody somebody people person guy guys place part bunch ton tons
couple number point case fact idea moment chance while year years week weeks month months hour hours minute
minutes today tomorrow yesterday tonight morning afternoon evening night weekend thanks thank look looks here
there much many more most good great nice cool awesome amazing wonderful bad big little new old same right
left sure true glad happy sorry welcome yes no ok okay top end side rest whole half pretty super self own such
kinda pic pics photo photos picture pictures sense sounds sound deal pleasure fun problem question wait pick
set
""")

KIN = word_set("""
mother mom mum mama father dad papa parent parents sister sisters brother brothers sibling siblings son sons
daughter daughters child children kid kids wife husband spouse partner fiance fiancee girlfriend boyfriend
friend friends aunt uncle cousin cousins nephew niece grandma grandmother grandpa grandfather grandson
granddaughter stepmother stepfather family boss manager mentor colleague colleagues coworker coworkers
roommate roommates neighbor neighbour teacher coach therapist doctor assistant dog dogs cat cats puppy puppies
kitten kittens pet pets team company fam mentee student students client clients twin nanny landlord in-laws
""")


# Words that start sentences, titles of sections, notes and letters, and are no names there.
COMMON = word_set("""
able account accident action activity address adventure advice age air amount animal animals anime answer
anybody apartment app apple area art article fantasy sci-fi romance thriller aside attachment baby bag ball
bar baseball basketball bath bathroom bear beautiful bed bedroom beer best better bicycle bike bird birthday
black blog blood blue board boat body books bottle box boxing bread breakfast brown budget bug bus business
busy butter cake camera camp campaign camping candle candy car card care career cause cell century certain
chair chapter charity cheap cheese chess chicken chocolate choice class clay clothes coffee cold color colors
comfort comment common community computer contact content context contract cooking cost costume course cover
crazy cream creative crew culture customer customers cute dance dancing dark data date dead deadline death
decision deep degree design desk detail details development diet different difficult dinner discount dish
distance document door dream dreams dress drink driver drug due dust early earth east easy economy education
effort egg email energy engine enough entry environment error event everybody example exam excited exercise
experience eye eyes face factory faith fall famous fan far farm fast favorite favourite fear fellow female
field fight figure final fine fire fish fitness flat floor flower flowers food foot football force form
forward free fresh friendship front fruit full funny future gaming gift gifts glass global goal goals gold
golf government grass green grey ground growing guest guide guitar hair hall hand hands hard hat head health
healthy heart heat heavy height high hiking history hobbies hobby holiday home horse hot hotel house human
hundred hungry ice ideas image important impressive info inspiration interesting internet issue item job
jogging joy juice keen key kitchen knowledge land language large late laundry law learning legal lesson letter
level life light line link list literature local location love lovely low luck lucky lunch machine mail main
male management map market marriage math matter maybe meal medicine meeting members memories memory men mental
message metal middle milk mind mirror mission money moon motivation mouth movies music name narrator natural
nature near necessary neck news none north note notes nutrition object office oil online option orange order
original others outside overall owner page pain paint painting paintings pair paper participants past path
patience pen phone photography piano piece pizza plan plane plans plant plants players plenty poem poetry
policy politics pool poor popular position positive possible power previous price pride problems process
product professional program progress project projects proud public purpose quality questions quick quiet race
radio rain reading ready real reason recent recipe record red relationship religion research response result
rice rich ring rock role room rose roses round routine rules running sad safe sale salt sample sand scene
science season seat second secret section serious service session sessions shame share ship shirt shock shoes
shopping short sick sight similar simple single size skills skin sky sleep slow small smart snow soap soccer
solid songs soul soup source south space special speech sport sports spring staff stage star status stay steps
stock stories storm story strange stranger stress strong study style subject success sugar summary summer sun
sunset sunsets support surgery surprise sweet swimming system table talent talk tall taste tax tea teaching
teamwork tech teeth tennis test text therapy thought thoughts ticket title toast tool tools topic total tough
tour toy trade traffic train training travel traveling treatment tree trees trick trip trips trouble truck
trust truth tv understanding unlike update upset use user usual vacation value vegetables version video view
violence visit voice volunteering walk wall warm warning water weather wedding weekends weight weird west
wheel white whoever wide wild win wind window wine winner winning winter wise women wonder wood word words
work workout workshop world worse worst worth writing wrong yard yellow yoga young youth dms faq fyi ps pm am
ai ac diy bbq pc dvd cd usb ceo cto cfo vp hr it id url http https ui ux api asap rsvp pro con quote idk btw
imo nvm tbh aka etc todo fixme two three four five six seven eight nine ten
""").union(VAGUE, KIN, HONORIFICS, _MAKERS, WORK_WORDS, EVENT_WORDS, PLACE_WORDS, ORGANISATION_WORDS)

STOP = PRONOUNS.union(
    *(DETERMINERS, BE, HAVE, DO, MODALS, NEGATIONS, PREPOSITIONS, CONJUNCTIONS, RELATIVES),
    *(SUBORDINATORS, ADVERBS, INTERJECTIONS),
)
GIVEN_NAMES = MEN | WOMEN
CALENDAR = frozenset([*MONTHS, *WEEKDAYS, *(f"{day}s" for day in WEEKDAYS)])
# Never names, even if capitalised.
NEVER_NAMES = PRONOUNS.union(INTERJECTIONS, MODALS, BE, HAVE, DO, CONJUNCTIONS, DETERMINERS) - {"may", "will"}


def type_of(name: str, quoted: bool = False, before: str = "") -> str:
    """What kind of thing `name` is, by its words and the lower-case word before; "Entity" if unclear."""
    low = name.lower()
    parts = low.replace(".", "").split() or [low]
    first, last, several = parts[0], parts[-1], len(parts) > 1
    signs = (
        ("Project", {first, last, before} & PROJECT_WORDS),
        ("Work", quoted or before in WORK_WORDS),
        ("Location", low in PLACES and (len(low) > 2 or name.isupper())),
        ("Organization", last in ORGANISATION_WORDS or first in ORGANISATION_HEADS),
        ("Location", last in PLACE_WORDS or (several and first in PLACE_HEADS)),
        ("Event", last in EVENT_WORDS),
        ("Person", first in GIVEN_NAMES or (several and first in HONORIFICS)),
        ("Organization", not several and len(low) > 5 and low.endswith(ORGANISATION_MARKS)),
    )
    return next((kind for kind, sign in signs if sign), "Entity")
