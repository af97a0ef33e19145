"""The words that the English rules ask about."""

from typing import Final

from app.infra.summarisers.kinds import word_set

# A sentence without any of them neither binds nor takes back.
TRIGGERS: Final = word_set("""
    do don't dont never must mustn't always only avoid stop no not cannot can't may can could would will should
    shouldn't refrain ensure sure remember keep use answer reply respond speak talk write call address be stick now
    future forward henceforth forget ignore disregard drop lift cancel scrap revoke withdraw discard scratch allowed
    permitted fine ok okay free needn't need longer forbidden prohibited banned mandatory required compulsory again
    every each always mind changed whenever when unless default please try nothing max maximum minimum most least
    important essential crucial refuse rather under






""")

LANGUAGE: Final = (
    r"(?:english|chinese|mandarin|cantonese|japanese|korean|french|german|spanish|italian|portuguese|russian|arabic|"
    r"hindi|dutch|polish|turkish|thai|vietnamese)"
)

# What an assistant does: an imperative of these may be a standing wish.
ACTS: Final = word_set("""
    use answer reply respond write speak talk say call address mention include add send share recommend suggest ask
    translate show discuss contact email text phone quote cite give list format spell start end sign keep make put
    tell explain repeat summarise summarize book order buy schedule plan pick choose offer propose consider search
    refer return output print round convert count check verify confirm commit push deploy run test touch change edit
    modify delete remove follow stick respect read work do be go apologise apologize joke swear abbreviate assume
    guess invent lecture reveal disclose store save log remind wake notify message disturb interrupt praise flatter
    cook eat bring leave take begin open close wrap indent capitalise capitalize number label highlight bold cc copy
    attach charge pay spend invite bother communicate chat limit focus serve provide compare cover treat set switch
    draft stay skip lie






""")

# After "don't" and "do not": comfort, idioms, and what people say of themselves without "I".
IDLE_AFTER_DONT: Final = word_set("""
    worry mind panic sweat cry hesitate despair laugh judge stress know think remember understand care believe recall
    feel have hate you we i they even blame suppose see hear kid work look sound matter fret






""")
IDLE_DONT: Final = (
    *(
        "get me wrong",
        "get it",
        "get discouraged",
        "get upset",
        "get down",
        "give up",
        "lose hope",
        "lose heart",
        "quit",
    ),
    *("be silly", "be sorry", "be shy", "be afraid", "be scared", "be sad", "be mad", "be upset", "be ridiculous"),
    *("be modest", "be so hard", "be too hard", "be late", "be a stranger", "quote me", "ask me why", "ask me how"),
    *("let it", "let them", "let him", "let her", "let that", "let the", "let anything", "let anyone", "let anybody"),
    *("take it personally", "forget me", "forget about", "expect much", "really", "say i didn't", "go there"),
    *("tell me", "hold your breath", "look at me", "look back", "miss a beat", "stop", "lose faith"),
)

# After "never": what has not happened, and idioms.
IDLE_AFTER_NEVER: Final = word_set("""
    mind heard been had seen thought knew did was is has have again said went got came felt found met gave took made
    saw once fails fail know knows better happened happens works gets ends a an the in my too liked stops told left
    lost won ran ate wrote spoke became bought one really quite that this so enough give look shy let quit






""")
IDLE_AFTER_ALWAYS: Final = word_set("""
    a an the nice happy good glad been wanted thought loved liked had was is fun great here there like that so and in
    my up down ready busy open calm on off your worth more






""")
BASE_FORMS: Final = word_set("""
    need exceed embed feed proceed succeed speed shed seed heed bleed breed wed ping bring sing ring swing spring sting
    string cling fling sling
""")

IDLE_AFTER_NO: Final = word_set("""
    problem problems worries idea way doubt doubts thanks thank need rush one matter wonder offense offence kidding
    comment luck it i i'm you we he she they that this these there not but so actually longer big pressure hurry
    sorry hard clue chance joke biggie prob probs less sense use good point reason wait please news difference
    surprise harm shame fun time words really just what why how my it's can do don't let thats if never always yes
    sir no more is was are thing






""")
VERBS_OF_STATEMENTS: Final = word_set("is was are were am has have had can will isn't wasn't aren't did does")

# After "you must", "you have to", "you can't": wishes, guesses and praise.
IDLE_AFTER_YOU_MUST: Final = word_set("""
    see try watch visit taste hear meet know think feel realise realize understand admit agree love miss mean come
    imagine wonder enjoy like remember get got find believe hate excuse forgive join listen laugh expect guess






""")
IDLE_AFTER_YOU_CANT: Final = word_set("""
    imagine believe see help blame expect know miss beat go win have be get lose wait buy tell fool please stop deny






""")
# "You must be brief" binds, "you must be tired" doesn't.
MANNERS: Final = word_set("""
    brief concise polite formal informal honest careful precise specific clear consistent short direct neutral
    objective accurate strict quiet patient friendly critical professional respectful gentle blunt serious kind exact
    thorough detailed correct discreet fair sure explicit complete transparent humble simple






""")
PERSONS: Final = word_set("""
    he she they who people everyone everybody someone somebody nobody anyone others him her them mother mom mum
    father dad parent parents brother sister wife husband son daughter kid kids child children boss manager colleague
    colleagues coworker coworkers friend friends teacher teachers doctor doctors dentist student students neighbour
    neighbor neighbours neighbors landlord roommate man men woman women girl boy guy guys employee employees
    employers driver drivers passenger passengers visitor visitors guest guests player players government police
    professor lawyer president character hero author grandma grandpa aunt uncle cousin citizens tenants travellers
    travelers candidates members






""")
REPORTS: Final = word_set("""
    said says say told tells thinks thought believes believed asked asks wrote writes argues claims claimed wants
    wanted insists insisted warned warns heard remembers suggested mentioned keeps






""")
# First person: what somebody does or takes, as against what they feel.
HABITS: Final = word_set("""
    eat drink use smoke speak read work take accept fly drive travel wear buy watch sleep answer allow share want
    need prefer like consume touch write tolerate trust cook shop pay stay






""")
UNABLE: Final = word_set("""
    eat drink have use read see hear access open attend take work fly drive travel meet tolerate digest be come go
    afford receive accept sit lift walk stand do make swim climb type spend






""")
ONLY_A_FEELING: Final = word_set("imagine hope guess say wish assume think dream speak see agree recommend")
IDLE_AFTER_I_MUST: Final = word_set("""
    admit say confess go run thank ask agree apologise apologize tell have stop dash add






""")
REFUSALS: Final = word_set("eat drink accept pay use fly take")
TEAM_ACTS: Final = word_set("""
    use write deploy commit push ship store log send publish work support accept hire allow test review merge release
    share disclose name format keep run cite follow target invoice charge sell serve offer






""")

GUESSED_AFTER_HAVE: Final = word_set("""
    a lot lots so such some many made done gone come seen known given got left lost meant put been had felt taken
    unreal read heard






""")
FEELINGS: Final = word_set("""
    so such really very quite pretty a an the great hard nice tough fun tired difficult amazing exciting awesome
    incredible wonderful rewarding frustrating proud happy sad glad special fantastic cool good bad crazy mad joking
    kidding true right wrong nuts lonely scary beautiful lovely busy late dreaming heaven hell like something some my
    your his her their our






""")
BOUNDS: Final = word_set("""
    in under below at no less more within before after by exactly between written done sent checked never always only






""")
