"""English words of the writer: what a clause is about, and when it isn't its author's, of now and for good."""

import re
from typing import Final

from app.infra.extractors.values import LANGUAGE, ZONE

_I = re.IGNORECASE

# Said of another time, another world, another person's behalf, or for once: nothing of these stays.
ROLE_PLAY: Final = re.compile(
    r"\b(?:pretend|role-?play(?:ing)?|play the (?:role|part) of|act as (?:if|an?|my|the)|you are now|"
    r"imagine (?:you|i|that|a|being)|"
    r"let's (?:play|imagine|pretend|role)|in this (?:story|scenario|game)|stay in character|"
    r"you're (?:now )?an? \w+ (?:named|called))\b",
)
HYPOTHETICAL: Final = re.compile(
    r"\b(?:(?<!as )if (?:i|we|my|one|someone|a user)\b(?! (?:ask|write|send|say|mention|want (?:it|them|"
    r"something) ))|suppose|supposing|"
    r"assuming i|say i (?:was|were|am|lived|had)|imagine|what if|hypothetically|let's say|would i\b|"
    r"were i\b|if it were|"
    r"in case i (?:was|were|become|ever))",
)
HEARSAY: Final = re.compile(
    r"\b(?:he|she|they|someone|somebody|everyone|everybody|people|who|(?:my|our|the|his|her|their|a|an|"
    r"one) (?:\w+[ -]){0,3}?"
    r"(?:boss|manager|director|colleague|co-?worker|friend|wife|husband|partner|son|daughter|kids?|"
    r"children|mother|mum|mom|father|dad|"
    r"parents?|brother|sister|neighbou?r|teacher|student|pupils?|client|customers?|auditors?|doctor|nurse|"
    r"patient|landlord|tenant|"
    r"supplier|team|company|board|ministry|agency|user|users|boy|girl|man|woman|guy|lady|uncle|aunt|"
    r"cousin|grandm\w+|grandf\w+|"
    r"roommate|flatmate|girlfriend|boyfriend|fianc\w+|ceo|cfo|cto|lawyer|consultant|trainer|coach|"
    r"members?|readers?|staff|cat|dog))"
    r"(?:'s)? (?:\w+ ){0,2}?(?:is|are|was|were|has|have|had|'s|says?|said|wants?|wanted|likes?|loves?|"
    r"hates?|prefers?|preferred|asks?|"
    r"asked|told|tells|needs?|thinks?|lives?|works?|keeps?|insists?|wrote|writes|calls?|can't|doesn't|"
    r"don't|dislikes?|speaks?|uses?|"
    r"gave|gets?|only|always|never)\b",
)
ONCE: Final = re.compile(
    r"\b(?:just (?:this )?once|this (?:once|time)|for (?:now|this|that|these|the moment|today|tonight|tomorrow|once)\b|"
    r"(?:this|that|the next|next) (?:one|e-?mail|letter|message|reply|answer|response|report|post|text|"
    r"document|summary|version|slide)\b|"
    r"only for (?:the|this|that)|today only|(?:^|[,.;] *)(?:today|tonight|tomorrow)\b|\btoday,|"
    r"covering .{0,30}today|on this occasion|"
    r"for the (?:delivery|meeting|call|trip|presentation|next \w+)|until (?:tomorrow|monday|tonight|next))",
)
PAST: Final = re.compile(
    r"\b(?:used to|back (?:in|when|then)|when i was (?:a|young|little|at|in)|as a (?:kid|child|teenager|"
    r"student)|once upon|"
    r"i was (?:an?|the) [\w -]{2,40}?(?:once|before|back|for \w+ years|until|then)|until (?:19|20)\d\d|"
    r"in (?:19|20)\d\d|years ago|"
    r"a long time ago|in (?:college|school|my (?:twenties|thirties|youth)|university)|previously|formerly|ex-)\b",
)
PRESENT: Final = re.compile(r"\b(?:now|these days|nowadays|currently)\b")
NOT_SAID: Final = re.compile(
    r"\b(?:i (?:never|didn't|did not|haven't) (?:said|say|told|tell|ask(?:ed)?|mention\w*|claim\w*|"
    r"want(?:ed)?)\b|it'?s not that i|not that i|"
    r"i'm not saying|i am not saying|i don't mean)",
)
SARCASM: Final = re.compile(
    r"\b(?:oh,? (?:sure|great|yes|yeah|how|wonderful|lovely)|yeah,? right|yeah,? sure|"
    r"(?:i )?just love (?:\w+ing|it when|how)|"
    r"because i'm (?:obviously|clearly)|obviously i|how i love|my favou?rite (?:thing|hobby|"
    r"pastime)|exactly what i (?:needed|wanted))\b",
)
STANDING: Final = re.compile(
    r"\b(?:always|never|from now on|from here on|going forward|in (?:the )?future|every time|each time|"
    r"whenever|by default|as a default|in general|"
    r"generally|permanently|as a rule|at all times|every(?:thing)?|each|any ?more|again|until i say|"
    r"unless i|all (?:the |your |my |of )?"
    r"\w+|your (?:answers?|replies|responses?|messages|output)|(?:you|to) (?:write|reply|answer|talk|"
    r"speak|respond) (?:to )?(?:me|here)|"
    r"with me|to me|remember (?:that|to|this|:)|keep (?:that|this|it) in mind|goes for|now and later|"
    r"for good|any (?:time|day))\b",
)
# What is made for somebody else, or is being worked on.
ARTEFACT: Final = re.compile(
    r"\b(?:letters?|e-?mails?|brochures?|newsletters?|manuals?|contracts?|adverts?|ads?|slides?|decks?|memos?|essays?|"
    r"sections?|documents?|labels?|annex|clauses?|agenda|templates?|presentations?|proposals?|readers?|customers?|"
    r"clients?|invoices?|posters?|leaflets?|website|web ?pages?|blog|posts?|cover letter|resume|cv|poem|"
    r"story|song|speech|"
    r"(?:the|this|that|my|our|a|an|annual|monthly|final) (?:\w+ ){0,2}(?:report|notice|form|text|summary|"
    r"file|page|guide|"
    r"handbook|policy|spreadsheet|sheet|chapter|book|paper|draft|version|script|function|query|press release|job))\b",
)
TASK: Final = re.compile(
    r"^\W*(?:(?:please|pls|can you|could you|would you|will you|now|then|and|so|ok|okay|hey|hi|also|"
    r"kindly|i (?:need|want|would like|'d like) you to)"
    r"[ ,]+)*(?:summari[sz]e|make|draft|write(?! (?:to )?me)(?! in)|rewrite|translate|convert|list|create|"
    r"generate|turn|put .{0,30}(?:into|in) a|"
    r"calculate|compare|describe|find|show|give me (?:a|an|the|some|\d)|tell me|fix|correct|check|chek|"
    r"review|proofread|compute|"
    r"design|build|implement|plan|suggest|recommend|help|complete|continue|extract|identify|analy[sz]e|"
    r"outline|prepare|shorten|"
    r"expand|develop|elaborate|rephrase|paraphrase|format (?:this|the|these)|sort|count|add|remove (?:the|"
    r"this)|change the|update the|replace the|name)\b",
)
REQUEST: Final = re.compile(
    r"^\W*(?:\w+,? ){0,3}?(?:could|can|would|will|may|might) (?:you|i ask you to|we)(?: please| just|"
    r" maybe| possibly| always)* \w+|"
    r"\b(?:is it (?:ok|okay|possible) (?:if|to)|would you mind|do you mind)\b",
)
SELF: Final = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|my|mine|me|we|we're|we've|our|us)\b")

WISH: Final = re.compile(
    r"\bi(?:'d| would)?(?: (?:do|really|strongly|much|very much|always|generally|mostly|usually|"
    r"personally|actually|also|just|only|"
    r"definitely|quite|rather|tend to|still|truly|absolutely|simply|much))* "
    r"(?:prefer|like|love|want|need|hate|dislike|detest|loathe|despise|appreciate|enjoy|favou?r|expect|"
    r"can't (?:stand|bear)|"
    r"cannot (?:stand|bear)|(?:don't|do not|didn't) (?:\w+ )?(?:like|want|need|enjoy|care for|get on with))\b"
    r"|\b(?:works?|suits?|is|are) (?:\w+ )?(?:best|better|easier|easiest|good|fine|great|okay|ok) (?:for|"
    r"by|with) me\b|\bsuits? me\b"
    r"|\bmy preference\b|\bi go by\b|\bi get on (?:better|best) with\b|\bi think best in\b|"
    r"\bi read (?:\w+ )?(?:better|best|faster)\b"
    r"|\bi don't get on with\b|\bi'?m (?:a fan|more comfortable|most comfortable|happier|happiest|fine|ok|okay)\b",
)
ALLOWING: Final = re.compile(
    r"\b(?:(?:is|are|'s|'re) (?:perfectly |totally |absolutely )?(?:fine|ok|okay|welcome|good|allowed|"
    r"no problem)|feel free|go wild|go ahead|"
    r"don't mind|no need to (?:avoid|spell)|by all means|you (?:can|may))\b",
)
AGAIN: Final = re.compile(
    r"\b(?:again|after all|any ?more|no longer|forget (?:what i|about|my|the|that)|scrap|cancel|"
    r"drop (?:the|my)|undo|revoke|lift|delete|remove|"
    r"erase|turn off|switch off|stop the|never mind|not needed|disregard|ignore what i|i take (?:that|"
    r"it) back|changed my mind)\b",
)
NEGATIVE: Final = re.compile(
    r"\b(?:no|not|don't|do not|dont|never|without|stop|avoid|skip|quit|drop|hate|dislike|detest|loathe|"
    r"despise|can't stand|cannot stand|can't bear|"
    r"leave out|lose the|spare me|enough with|less|fewer|cut (?:out )?the|instead of|rather than)\b",
)
LANGUAGE_OF: Final = re.compile(
    rf"\b(?:in|to|into|use|using|speak|prefer|want|like|with|just|only|write|talk|is|"
    rf":)\s+(?:me )?(?:plain |simple |british |american |only )?({LANGUAGE})\b"
    rf"|\b({LANGUAGE})(?: only| please| is (?:fine|ok|okay|enough)|,? always|"
    r" is what| from now|(?: answers| replies| responses)?$)",
)
FORMAT: Final = re.compile(
    r"\b(?:tables?(?! for (?:two|three|four|five|six|\d))|"
    r"tabular|spreadsheet format|bullet ?points?|bullets|bulleted(?: lists?)?|"
    r"bullet(?:ed)? lists?|numbered (?:lists?|steps)|lists\b|"
    r"markdown|plain ?text|without (?:any )?(?:markup|formatting)|no (?:markup|formatting|markdown)|prose|"
    r"full sentences|paragraphs|json|"
    r"yaml|xml|csv|html|latex|code only|(?:just|only) (?:the )?code|code without|headings?|mind ?maps?|"
    r"diagrams?|ascii)\b",
)
FORMATS: Final = (
    ("code_only", r"code only|(?:just|only) (?:the )?code|code without"),
    ("json", "json"),
    ("yaml", "yaml"),
    ("xml", "xml"),
    ("csv", "csv"),
    ("html", "html"),
    ("latex", "latex"),
    (
        "plain",
        (
            r"plain ?text|prose|without (?:any )?(?:markup|formatting)|no (?:markup|formatting|markdown)|"
            r"full sentences|paragraphs"
        ),
    ),
    ("markdown", "markdown|heading"),
    ("bullets", r"bullet|lists?\b|numbered"),
    ("table", r"table|tabular|spreadsheet"),
)
LENGTH: Final = re.compile(
    r"\b(?:short(?:er)?|brief(?:ly|er)?|concise(?:ly)?|succinct(?:ly)?|terse|to the point|crisp|compact|one[- ]liners?|"
    r"long(?:er|-form)?|detailed|in[- ]depth|thorough(?:ly)?|in (?:full |more |great )?detail|more detail|"
    r"elaborate|comprehensive|verbose|lengthy|"
    r"(?:at most|max(?:imum)?(?: of)?|under|no more than|up to|within|fewer than|less than|one|two|three|"
    r"four|five|\d+)[ -]"
    r"(?:\w+ )?(?:sentences?|words?|lines?|paragraphs?|bullets?))\b",
)
LONG: Final = re.compile(r"long|detail|depth|thorough|elaborate|comprehensive|lengthy|verbose")
ANSWERS: Final = re.compile(
    r"\b(?:answers?|repl(?:y|ies)|responses?|responding|respond|explanations?|messages?|output|it|them|"
    r"things|everything|you|your|write|talk|me|be|"
    r"summaries|keep|versions?)\b",
)
TONE: Final = re.compile(
    r"\b(?:formal(?:ly)?|informal(?:ly)?|casual(?:ly)?|friendly|friendlier|blunt(?:ly)?|direct(?:ly)?|"
    r"polite(?:ly)?|professional(?:ly)?|"
    r"warm(?:er|ly)?|neutral(?:ly)?|playful|humou?r(?:ous)?|jokes?|joking|serious(?:ly)?|relaxed|"
    r"straightforward|matter[- ]of[- ]fact|businesslike|"
    r"cheerful|sober|frank(?:ly)?|honest(?:ly)?|chatty|laid-back|gentle|enthusias\w+|exclamation marks?|"
    r"small talk|flattery|sugar-?coat|"
    r"tone|buddy|mate|dude)\b",
)
EMOJI: Final = re.compile(r"\b(?:emojis?|emoticons?|smiley(?: face)?s?|smilies)\b")
ABBREVIATIONS: Final = re.compile(
    r"\b(?:abbreviations?|abbreviate|acronyms?|initialisms?|jargon|short forms?|shorthand)\b"
)
CITATION: Final = re.compile(
    r"\b(?:sources?|cite|cites|citing|citations?|references?|footnotes?|links? to the|(?:quote|"
    r"quoting) (?:the|me the)|(?:section|page) numbers?|"
    r"where (?:it|that|this) (?:comes|came) from|evidence for)\b",
)
UNITS: Final = re.compile(
    r"\b(?:metric|imperial|celsius|centigrade|fahrenheit|kilomet(?:re|er)s?|miles|kilos?|kilograms?|kg|"
    r"pounds|lbs?|stones?|ounces|grams|lit(?:re|er)s|"
    r"gallons|feet|inches|(?:centi)?met(?:re|er)s|hectares|acres|euros?|eur|dollars?|usd|pounds sterling|"
    r"gbp|yen|yuan|rmb|francs|"
    r"24[- ]hour|12[- ]hour|units?|thousands|millions)\b",
)
UNIT_VALUES: Final = {
    "euro": "EUR",
    "euros": "EUR",
    "eur": "EUR",
    "dollar": "USD",
    "dollars": "USD",
    "usd": "USD",
    "gbp": "GBP",
    "yen": "JPY",
    "yuan": "CNY",
    "rmb": "CNY",
    "kg": "metric",
    "kilos": "metric",
    "kilo": "metric",
    "centigrade": "celsius",
}
TIME_ZONE: Final = re.compile(
    rf"\b(?:({ZONE})(?:'s)? (?:local )?time\b|(?:in|to|use|using|prefer|times? in|as) (utc|gmt|cet|cest|"
    rf"est|pst|edt|pdt|cst)\b|time ?zone|local time)",
)
ADDRESS: Final = re.compile(
    r"\b(?:call me|address me (?:as|by|with)|refer to me as|you (?:can|may|should) call me|go by|"
    r"i'?d rather be called|i prefer(?: to be called)?)"
    r" (?!(?:back|later|when|if|at|on|in|tomorrow|today|tonight|an?|the|crazy|old|stupid|by|to|that|not|"
    r"out|up|over|for|it|this)\b)(.{1,40})",
)
FORBIDDEN: Final = re.compile(
    r"\b(?:never|don't|do not|dont|stop|avoid|quit|please no|ban|without|drop|no more)\b.{0,25}?\b(?:say|"
    r"saying|use|using|write|writing|words?|phrases?|"
    r"expressions?|terms?|utter|start|starting|begin|beginning|end|ending|open|opening|tell me)\b",
)
NOTIFY: Final = re.compile(
    r"\b(?:remind(?:ers?|ing|ed)?|ping(?:s|ing)?|notif(?:y|ications?|ied)|alerts?|push(?:es| messages|"
    r" notifications)?|disturb|nudge|message me|"
    r"text me|quiet (?:rule|hours?|time)|bother me|contact me)\b",
)
# To be reminded of one thing is a task, unless it comes again.
ERRAND: Final = re.compile(r"\bremind me (?:to|that|of|about)\b|\b(?:ping|text|notify) me when\b")
EVERY: Final = re.compile(
    r"\b(?:every|each|daily|weekly|monthly|always|whenever|(?:mon|tues|wednes|thurs|fri|satur|sun)days)\b"
)
RECURRING: Final = re.compile(
    r"\b(?:weekends?|evenings?|nights?|mornings?|every|each|daily|weekly|monthly|after|before|between|"
    r"only|never|always|don't|dont|do not|no|stop|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|any day|again|instead of|rule)\b",
)
FOCUS: Final = re.compile(
    r"\b(?:focus(?:ed)? on|concentrate on|stick to|priorit(?:ise|ize)|(?:only|mostly|mainly|"
    r"primarily) (?:care about|interested in|deal with|work (?:on|with))|"
    r"when i ask (?:about|for)|assume (?:i|that i|you|we|\w+,? not)|(?:take|look at) (?:everything|things|"
    r"it) from the|unless i say (?:otherwise|so))"
    r"(?: the)?(.{0,60})",
)
METHOD: Final = re.compile(
    r"\b(?:ask (?:me )?(?:first|before)|conclusions? first|answer first|bottom line|explain (?:things|it|"
    r"everything|this)? ?(?:to me )?(?:as if|like i|step by step)|"
    r"step by step|one (?:step|question|thing) at a time|give (?:me )?(?:an? )?examples?|"
    r"with (?:an )?examples?|analog(?:y|ies)|comments? in|"
    r"double-?check|show your (?:work|reasoning)|think (?:it )?through|alternatives|pros and cons|"
    r"question first|summary at the|start with|"
    r"british (?:spelling|english)|american spelling|spelling)\b",
)
COMPLAINT: Final = (
    (
        "length",
        "short",
        re.compile(
            r"\btl;?dr\b|\banother (?:\w+-)?(?:page|screen|paragraph|thousand-word|essay)[- ]|"
            r"\b(?:way |far |much )?too (?:long|wordy|much text|verbose)|wall of text|(?:keep|"
            r"kept) scrolling|gave up (?:after|half|reading)|"
            r"scroll(?:ing|ed)? (?:and|for|past|down|through)|didn't (?:read|finish) (?:it|all|past)|"
            r"took (?:me )?(?:ages|forever|\w+ minutes) to read|"
            r"\bessay (?:again|for a)|novel (?:again|for)|pages? and pages|lost me (?:after|halfway)|never (?:got|"
            r"get) to the end|only needed (?:the|one)|"
            r"(?:answers?|replies|responses|messages) (?:always )?(?:so|too|always) long|"
            r"buried (?:in|under|somewhere)|(?:three|four|five|ten|six) (?:paragraphs|screens|pages) (?:for|to|just)"
        ),
    ),
    (
        "length",
        "detailed",
        re.compile(
            r"\b(?:too (?:short|brief|thin|terse)|one[- ]liner (?:again|doesn't)|"
            r"left (?:me )?with (?:more )?questions|how did you get (?:there|to that))\b"
        ),
    ),
    (
        "emoji",
        "avoid",
        re.compile(
            r"\b(?:you|your|all (?:the|those|these)|so many|another)\b.{0,60}\b(?:emojis?|smiley|smileys|"
            r"smiley faces|emoticons?)\b|"
            r"\b(?:emojis?|smileys?|smiley faces)\b.{0,60}\b(?:delet|remov|strip|embarrass|unprofessional|awkward|"
            r"childish|everywhere)"
        ),
    ),
    (
        "abbreviations",
        "avoid",
        re.compile(
            r"\b(?:lost|google|googled|look(?:ed|ing)? up|no idea what|what (?:on earth|the hell|is|are)|decod|"
            r"cryptic|alphabet soup|confus)\w*.{0,60}"
            r"\b(?:acronyms?|abbreviations?|letters|initials)\b|\b(?:acronyms?|abbreviations?)\b.{0,60}\b(?:lost|"
            r"look(?:ed)? up|google|no idea|confus|decod)|alphabet soup"
        ),
    ),
    (
        "language",
        None,
        re.compile(
            rf"\b(?:translator|translation (?:app|tool)|google translate|deepl|(?:with|in|reach for) (?:a|the|"
            rf"my) dictionary)\b(?:.{{0,120}}?({LANGUAGE}))?|\bmy ({LANGUAGE}) is(?:n't| not| too)"
        ),
    ),
    (
        "units",
        "metric",
        re.compile(
            r"\b(?:ft|feet|lbs?|pounds|inches|miles|fahrenheit|gallons|ounces|yards|"
            r"acres)\b.{0,80}\b(?:no (?:picture|idea|feel|clue)|convert(?:ing|ed)?|means nothing|mean nothing|"
            r"calculator|look(?:ed)? up|in my head)|\b\d+ ?(?:ft|lb|lbs|°f|f|oz|mi)\b.{0,80}\b(?:no (?:picture|"
            r"idea|feel|clue)|convert|calculator|means nothing)"
        ),
    ),
    (
        "citation",
        "sources",
        re.compile(
            r"\b(?:where (?:did|do) you (?:get|have|find)|couldn't (?:find|verify|trace)|no source|"
            r"without (?:a )?(?:source|reference)|asked (?:me )?(?:for|where) (?:the |my |a )?(?:source|reference|"
            r"it came))"
        ),
    ),
    (
        "tone",
        "formal",
        re.compile(
            r"\byour .{0,40}\b(?:buddy|pal|mate|dude|hey there|joke|jokes|slang|chummy|casual|exclamation)\b|"
            r"\b(?:buddy|pal|dude|hey there)\b.{0,60}\b(?:boss|director|client|board|awkward|cringe)|"
            r"\b(?:director|boss|board|client)\b.{0,60}\b(?:joke|buddy|dude|pal)\b|\bawkward\b"
        ),
    ),
    (
        "tone",
        "friendly",
        re.compile(
            r"\byou sound (?:like|so) .{0,30}(?:robot|lawyer|cold|stiff|form letter|machine)|\b(?:so|too|"
            r"very) (?:stiff|cold|robotic|formal)\b"
        ),
    ),
)
PRAISE: Final = re.compile(
    r"\b(?:much )?(?:so much )?(?:easier|better|clearer|nicer|quicker)\b.{0,40}\b(?:than|to (?:follow|"
    r"read|scan))|\b(?:finally|at last|exactly|perfect|loved|saved me|great)\b",
)
YOU_MADE: Final = re.compile(
    r"\b(?:you (?:made|gave|sent|wrote|used|did|drew|put|built)|your|the|that) (?:\w+ ){0,3}?(tables?|"
    r"bullets?|bullet points|list|prose|paragraphs?|json|plain text|steps)\b",
)

NO_LONGER: Final = re.compile(
    r"\b(?:no longer|not .{0,40}any ?more|don't .{0,40}any ?more|left|quit|stopped|turns out i'm not|"
    r"i'm not .{0,40}after all)\b"
)
NOT_BUT: Final = re.compile(
    r"\b(?:not|instead of|rather than)\s+(?:in |at |the |an? |from |called |"
    r"by )?([\w@.+' -]{2,50}?)\s*(?:[.,;!]|$|any ?more)"
)
CORRECTION: Final = re.compile(
    r"\b(?:correction|sorry|i mistyped|i misspoke|i meant|my mistake|typo|oops|actually|i was wrong|"
    r"i mixed up|to correct)\b"
)
SAID_BEFORE: Final = re.compile(r"\bi (?:said|told you|asked (?:you )?for|asked you|wanted|requested)\b")
