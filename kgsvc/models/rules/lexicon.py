"""Word classes of English that the rules need: closed ones in full, open ones as far as they help."""

from __future__ import annotations

from kgsvc.models.rules.text import word_set
from kgsvc.models.rules.verbs import verb

FIRST_PERSON = word_set("i me my mine myself we us our ours ourselves")
SECOND_PERSON = word_set("you your yours yourself ya u ur y'all")
THIRD_PERSON = word_set(
    """
    he him his himself she her hers herself it its itself they them their theirs themselves
    """
)
PRONOUNS = FIRST_PERSON | SECOND_PERSON | THIRD_PERSON
POSSESSIVES = word_set("my our your ur his her its their")

DETERMINERS = word_set(
    """
    a an the this that these those some any every each another both either neither all no such many much
    few several most more less half own other
    """
)
NUMBERS = word_set(
    """
    one two three four five six seven eight nine ten eleven twelve dozen hundred thousand million
    billion
    """
)
BE = word_set("am is are was were be been being 'm 're ain't")
HAVE = word_set("have has had having 've")
DO = word_set("do does did doing done")
MODALS = word_set(
    """
    will would can could may might must shall should 'll 'd wo ca sha gonna gotta ought need
    """
)
UNSURE_MODALS = word_set("would could may might should must ought 'd shall")
NEGATIONS = word_set("not n't never")

PREPOSITIONS = word_set(
    """
    about above across after against along alongside amid among around as at before behind below beneath
    beside besides between beyond by concerning despite down during except for from in inside into like
    near of off on onto out outside over past per regarding since through throughout till to together
    toward towards under underneath until up upon versus via with within without
    """
)
PARTICLES = word_set("up out off down away back over in on around along forward together apart")
CONJUNCTIONS = word_set("and or but & plus nor yet")
RELATIVES = word_set("who which whom whose that")
SUBORDINATORS = word_set(
    """
    because if when while although though unless whether whereas where why how what whatever whenever
    wherever so then than cause 'cause cuz once
    """
)
CONDITIONALS = word_set("if unless whether suppose supposing imagine wish")
HEDGES = word_set(
    """
    maybe perhaps probably possibly guess suppose assume wonder wondering apparently might hopefully
    """
)

ADVERBS = word_set(
    """
    actually afterwards again ago ahead almost alone already also altogether always anymore anyway apart
    apparently awhile away badly barely basically certainly clearly completely constantly currently
    daily deeply even definitely directly easily else elsewhere entirely especially eventually ever
    everywhere exactly extremely fairly finally first firmly forever formerly forward frequently fully
    generally gradually greatly hardly here highly hopefully however immediately indeed initially
    instead just kinda largely lately later least lightly likely literally little long longer mainly
    maybe meanwhile merely moreover mostly much nearly never newly next nonetheless normally nowadays
    now obviously occasionally often once only originally otherwise partly perfectly perhaps personally
    possibly practically presently pretty previously primarily probably properly quickly quite rarely
    rather really recently regularly seldom seriously shortly similarly simply since slightly slowly so
    somehow sometimes somewhat somewhere soon sorta specifically still subsequently suddenly super
    surely surprisingly then there therefore thereby though thus today together tomorrow tonight too
    totally truly twice typically ultimately unfortunately usually very well where whenever why
    yesterday yet nearby abroad everyday outdoors indoors overseas upstairs downstairs online offline
    luckily sadly happily honestly
    """
)

INTERJECTIONS = word_set(
    """
    ah aha aw aww awww awesome boy bravo bye cheers congrats congratulations cool damn dang dear duh eh
    er gee goodbye gosh great ha haha hahaha hah heck hello hey heya hi hmm hooray howdy huh hurray jeez
    lmao lol man nah nice no nope oh ok okay okey omg ooh oops ouch ow phew please right shh sorry sup
    sure sweet thank thanks thx totally ugh uh um umm welcome well whoa whoo woah woo woohoo woot wow
    xoxo ya yay yea yeah yep yes yo yup absolutely definitely exactly indeed agreed fantastic perfect
    amazing wonderful lovely brilliant same true gotcha alright anyways anyway hiya dude bro bud sis
    buddy guys folks
    """
)

MONTHS = {
    name: number
    for number, names in enumerate(
        [
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sept sep",
            "october oct",
            "november nov",
            "december dec",
        ],
        start=1,
    )
    for name in names.split()
}
WEEKDAYS = {
    name: number
    for number, names in enumerate(
        [
            "monday mon",
            "tuesday tue tues",
            "wednesday wed",
            "thursday thu thur thurs",
            "friday fri",
            "saturday sat",
            "sunday sun",
        ]
    )
    for name in names.split()
}

# Capitalised, yet no names: adjectives of peoples, which may still be things ("speaks Hungarian").
DEMONYMS = word_set(
    """
    african albanian algerian american arab arabic argentine argentinian armenian asian australian
    austrian bangladeshi belgian bengali bolivian bosnian brazilian british bulgarian cambodian canadian
    cantonese caribbean catalan chilean chinese christian colombian croatian cuban czech danish dutch
    ecuadorian egyptian english estonian ethiopian european filipino finnish french georgian german
    ghanaian greek hawaiian hebrew hindi hindu hungarian icelandic indian indonesian iranian iraqi irish
    islamic israeli italian jamaican japanese jewish kazakh kenyan korean kurdish latin latvian lebanese
    lithuanian malay malayalam malaysian mandarin marathi mexican mongolian moroccan muslim nepali
    nigerian norwegian pakistani palestinian persian peruvian polish portuguese punjabi roman romanian
    russian scandinavian scottish serbian sicilian slovak slovenian soviet spanish swedish swiss syrian
    taiwanese tamil telugu thai tibetan tunisian turkish ukrainian urdu uruguayan venezuelan vietnamese
    welsh western yugoslav catholic protestant orthodox buddhist
    """
)

# Words that start sentences, titles of sections, notes and letters, and are no names there.
COMMON = word_set(
    """
    able account accident action activity actor address adventure advice afternoon age air album amount
    animal animals anime answer anybody anyone anything apartment app apple area art article artist
    fantasy sci-fi romance thriller aside attachment author baby bag ball band bank bar baseball
    basketball bath bathroom beach bear beautiful bed bedroom beer best better bicycle big bike bird
    birthday black blog blood blue board boat body book books boss bottle box boxing boyfriend bread
    breakfast brother brothers brown budget bug building bus business busy butter cake camera camp
    campaign camping candle candy car card care career cat cats cause cell center century certain chair
    chance chapter charity cheap cheese chess chicken child children chocolate choice church city class
    clay clothes club coach coffee cold colleague colleagues college color colors comfort comment common
    community company computer concert conference contact content context contract cooking cost costume
    couple course court cousin cover crazy cream creative crew culture customer customers cute dad dance
    dancing dark data date daughter day days dead deadline deal death decision deep degree department
    design desk detail details development diet different difficult dinner director discount dish
    distance doctor document dog dogs door dream dreams dress drink driver drug due dust early earth
    east easy economy education effort egg email end energy engine engineer enough entry environment
    error evening event everybody everyone everything example exam excited exercise experience eye eyes
    face fact factory fair faith fall family famous fan far farm fast father favorite favourite fear
    fellow female festival field fight figure film final fine fire fish fitness flat floor flower
    flowers food foot football force forest form forward free fresh friend friends friendship front
    fruit full fun funny future game games gaming garden general gift gifts girl girlfriend glad glass
    global goal goals gold golf good government grandfather grandma grandmother grandpa grass green grey
    ground group growing guest guide guitar gym hair half hall hand hands happy hard hat head health
    healthy heart heat heavy height high hiking hill historian history hobbies hobby holiday home horse
    hospital hot hotel hour hours house human hundred hungry husband ice idea ideas image important
    impressive info inspiration interesting internet island issue item job jogging joy juice keen key
    kid kids kind kitchen knowledge lady lake land language large late laundry law lawyer leader
    learning left legal lesson letter level library life light line link list literature local location
    lots love lovely low luck lucky lunch machine magazine mail main male management manager map market
    marriage math matter maybe meal media medicine meeting member members memories memory men mental
    message metal middle milk mind minute minutes mirror mission model mom moment money month months
    moon morning mother motivation mountain mountains mouth movie movies mum music name narrator natural
    nature near necessary neck nephew network new news niece night nobody none north note notes nothing
    novel number nurse nutrition object ocean office officer oil old online option orange order original
    others outside overall owner page pain paint painting paintings pair paper parent parents park part
    participants party past path patience pen people person pet pets phone photo photography photos
    piano pic pics picture pictures piece pizza place plan plane plans plant plants player players
    plenty poem poetry point police policy politics pool poor popular position positive possible power
    president pretty previous price pride prize problem problems process product professional professor
    program progress project projects proud public puppy purpose quality question questions quick quiet
    race radio rain reading ready real reason recent recipe record red relationship religion research
    response rest restaurant result rice rich ring river road rock role room rose roses round routine
    rules running sad safe sale salt sample sand scene school science scientist sea season seat second
    secret section self series serious service session sessions shame share ship shirt shock shoes shop
    shopping short show sick side sight similar simple singer single sir sister sisters size skills skin
    sky sleep slow small smart snow soap soccer society software soldier solid somebody someone
    something son song songs soul sound sounds soup source south space special speech sport sports
    spring staff stage star state station status stay steps stock stories storm story strange stranger
    street stress strong student students studio study stuff style subject success such sugar summary
    summer sun sunset sunsets support surgery surprise sweet swimming system table talent talk tall
    taste tax tea teacher teaching team teamwork tech technology teeth tennis test text thank therapy
    things thought thoughts ticket time times title toast tomorrow ton tons tool tools top topic total
    tough tour town toy trade traffic train training travel traveling treatment tree trees trick trip
    trips trouble truck true trust truth tv type uncle understanding university unlike update upset use
    user usual vacation value vegetables version video view violence visit voice volunteering wait walk
    wall war warm warning water way weather wedding week weekend weekends weeks weight weird west wheel
    white whole whoever wide wife wild win wind window wine winner winning winter wise woman women
    wonder wonderful wood word words work workout workshop world worse worst worth writer writing wrong
    yard year years yellow yoga young youth dms faq fyi ps pm am ai ac diy bbq tv pc dvd cd usb ceo cto
    cfo vp hr it id url http https ui ux api asap rsvp pro con idk btw imo nvm tbh aka etc todo fixme
    """
) | word_set("mr mrs ms dr prof sir madam lord lady")

HONORIFICS = word_set(
    """
    mr mrs ms miss dr prof professor sir dame lord lady cpl capt sgt gen rev hon president king queen
    """
)

# Nouns too vague to name anything.
VAGUE = word_set(
    """
    thing things stuff lot lots bit way ways kind sort type time times day days one ones something
    anything everything nothing someone anyone everyone nobody somebody people person guy guys place
    part bunch ton tons couple number point case fact idea moment chance while year years week weeks
    month months hour hours minute minutes today tomorrow yesterday tonight morning afternoon evening
    night weekend thanks thank look looks here there much many more most good great nice cool awesome
    amazing wonderful bad big little new old same right left sure true glad happy sorry welcome yes no
    ok okay top end side rest whole half pretty super self own such kinda pic pics photo photos picture
    pictures sense sounds sound deal pleasure fun problem question wait pick set
    """
)

KIN = word_set(
    """
    mother mom mum mama father dad papa parent parents sister sisters brother brothers sibling siblings
    son sons daughter daughters child children kid kids wife husband spouse partner fiance fiancee
    girlfriend boyfriend friend friends aunt uncle cousin cousins nephew niece grandma grandmother
    grandpa grandfather grandson granddaughter stepmother stepfather family boss manager mentor
    colleague colleagues coworker coworkers roommate roommates neighbor neighbour teacher coach
    therapist doctor assistant dog dogs cat cats puppy puppies kitten kittens pet pets team company fam
    mentee student students client clients twin nanny landlord in-laws
    """
)

PETS = word_set("dog dogs cat cats puppy puppies kitten kittens pet pets")

STOP = (
    PRONOUNS
    | DETERMINERS
    | BE
    | HAVE
    | DO
    | MODALS
    | NEGATIONS
    | PREPOSITIONS
    | CONJUNCTIONS
    | RELATIVES
    | SUBORDINATORS
    | ADVERBS
    | INTERJECTIONS
)


def is_word(low: str) -> bool:
    """Whether a lower-case word is ordinary English here: a stop word, a listed noun or a listed verb."""
    return (
        low in STOP
        or low in COMMON
        or low in VAGUE
        or low.removesuffix("s") in COMMON
        or verb(low) is not None
    )
