"""The words that the English rules ask about."""

from typing import Final

LANGUAGE: Final = (
    r"(?:english|chinese|mandarin|cantonese|japanese|korean|french|german|spanish|italian|portuguese|russian|arabic|hindi|"
    r"dutch|polish|turkish|thai|vietnamese)"
)

# What an assistant does: an imperative of these may be a standing wish.
ACTS: Final = frozenset(
    "use answer reply respond write speak talk say call address mention include add send share recommend suggest ask translate "
    "show discuss contact email text phone quote cite give list format spell start end sign keep make put tell explain repeat "
    "summarise summarize book order buy schedule plan pick choose offer propose consider search refer return output print round "
    "convert count check verify confirm commit push deploy run test touch change edit modify delete remove follow stick respect "
    "read work do be go apologise apologize joke swear abbreviate assume guess invent lecture reveal disclose store save log "
    "remind wake notify message disturb interrupt praise flatter cook eat bring leave take begin open close wrap indent "
    "capitalise capitalize number label highlight bold cc copy attach charge pay spend invite bother communicate chat limit "
    "focus serve provide compare cover treat set switch draft stay".split()
)

# After "don't" and "do not": comfort, idioms, and what people say of themselves without "I".
IDLE_AFTER_DONT: Final = frozenset(
    "worry mind panic sweat cry hesitate despair laugh judge stress know think remember understand care believe recall feel "
    "have hate you we i they even blame suppose see hear kid work look sound matter fret".split()
)
IDLE_DONT: Final = (
    "get me wrong", "get it", "give up", "be silly", "be sorry", "be shy", "be afraid", "be scared", "be sad", "be mad", "be upset",
    "be ridiculous", "be modest", "be so hard", "be too hard", "quote me", "ask me why", "ask me how", "let it", "let them",
    "let him", "let her", "let that", "take it personally", "bother", "forget me", "forget about", "expect much", "really",
    "say i didn't", "be a stranger", "be late", "go there", "tell me", "hold your breath", "look at me", "let the", "miss a beat",
    "get discouraged", "get upset", "get down", "ever forget that", "ask",
)  # fmt: skip

# After "never": what has not happened, and idioms.
IDLE_AFTER_NEVER: Final = frozenset(
    "mind heard been had seen thought knew did was is has have again said went got came felt found met gave took made saw once "
    "fails fail know knows better happened happens works gets ends a an the in my too liked stops told left lost won ran ate "
    "wrote spoke became bought one really quite that this so enough".split()
)
IDLE_AFTER_ALWAYS: Final = frozenset(
    "a an the nice happy good glad been wanted thought loved liked had was is fun great here there like that so and in my up down ready busy open calm on off your worth more".split()
)
# In spite of their -ed these are no past tenses.
ED_WORDS: Final = frozenset(
    "need exceed embed feed proceed succeed speed shed seed heed bleed breed bed red wed".split()
)

IDLE_AFTER_NO: Final = frozenset(
    "problem problems worries idea way doubt thanks thank need rush one matter wonder offense offence kidding comment luck it i "
    "i'm you we he she they that this these there not but so actually longer big pressure hurry sorry hard clue chance joke "
    "biggie prob probs doubts less sense use good point reason wait please news difference surprise harm shame fun time words really just what "
    "why how my it's can do don't let thats if never always yes sir no more is was are thing".split()
)

# After "you must", "you have to", "you can't": wishes, guesses and praise.
IDLE_AFTER_YOU_MUST: Final = frozenset(
    "see try watch visit taste hear meet know think feel realise realize understand admit agree love miss mean come imagine "
    "wonder enjoy like remember get got find believe hate excuse forgive join listen laugh expect guess".split()
)
IDLE_AFTER_YOU_CANT: Final = frozenset(
    "imagine believe see help blame expect know miss beat go win have be get lose wait buy tell fool please stop deny".split()
)
# "You must be brief" binds, "you must be tired" doesn't.
MANNERS: Final = frozenset(
    "brief concise polite formal informal honest careful precise specific clear consistent short direct neutral objective accurate "
    "strict quiet patient friendly critical professional respectful gentle blunt serious kind exact thorough detailed correct "
    "discreet fair sure explicit complete transparent humble simple".split()
)
PERSONS: Final = frozenset(
    "he she they who people everyone everybody someone somebody nobody anyone others him her them mother mom mum father dad parent "
    "parents brother sister wife husband son daughter kid kids child children boss manager colleague colleagues coworker coworkers "
    "friend friends teacher teachers doctor doctors dentist student students neighbour neighbor neighbours neighbors landlord "
    "roommate man men woman women girl boy guy guys employee employees driver drivers passenger passengers visitor visitors guest "
    "guests player players government police professor lawyer president character hero author grandma grandpa aunt uncle cousin "
    "citizens tenants travellers travelers candidates members".split()
)
REPORTS: Final = frozenset(
    "said says say told tells thinks thought believes believed asked asks wrote writes argues claims claimed wants wanted insists "
    "insisted warned warns heard remembers suggested mentioned keeps".split()
)
# First person: what somebody does or takes, as against what they feel.
HABITS: Final = frozenset(
    "eat drink use smoke speak read work take accept fly drive travel wear buy watch sleep answer allow share want need prefer like "
    "consume touch write tolerate trust cook shop pay stay".split()
)
UNABLE: Final = frozenset(
    "eat drink have use read see hear access open attend take work fly drive travel meet tolerate digest be come go afford receive "
    "accept sit lift walk stand do make swim climb type spend".split()
)
ONLY_FEELING: Final = frozenset("imagine hope guess say wish assume think dream speak see agree recommend".split())
GUESSED_AFTER_HAVE: Final = frozenset(
    "been had felt taken a lots so such some many made done gone come seen known given got left lost meant put".split()
)
FEELINGS: Final = frozenset(
    "so such really very quite pretty a an the great hard nice tough fun tired difficult amazing exciting awesome incredible "
    "wonderful rewarding frustrating proud happy sad glad special fantastic cool good bad crazy mad joking kidding true right wrong "
    "nuts lonely scary beautiful lovely busy late dreaming heaven hell like something some my your his her their our".split()
)
IDLE_AFTER_I_MUST: Final = frozenset(
    "admit say confess go run thank ask agree apologise apologize tell have stop dash add".split()
)
TEAM_ACTS: Final = frozenset(
    "use write deploy commit push ship store log send publish work support accept hire allow test review merge release share "
    "disclose name format keep run cite follow target invoice charge sell serve offer".split()
)
