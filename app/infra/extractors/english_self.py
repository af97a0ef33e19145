"""What people say of themselves in English: name, work, place, how to reach them, what they like."""

import re
from typing import Final

from app.infra.extractors.values import MONTH

# Profile. Each is matched on the lower-cased sentence; values are cut from the sentence as it was written.
END: Final = (
    r"(?=\s*(?:[,.;:!?()\n–—]|$|\b(?:and|but|so|who|which|that|where|because|since|for|with|at|in|from|on|"
    r"now|these|if|while|when|as|by|"
    r"here|then|or|also|anyway|too|actually|currently|looking|trying|working|dealing|based|responsible|i|i'm|we|my)\b))"
)
NAME: Final = re.compile(
    r"\b(?:my (?:full |first |given )?name(?:'s| is)|the name's|name's|this is|i'm|i am|"
    r"im) ([\w'’.-]+(?: [\w'’.-]+){0,2}?)" + END,
)
NAMED: Final = re.compile(r"\b(?:name(?:'s| is))\b")
CAPITALS: Final = re.compile(
    r"[A-ZÀ-ÖØ-Þ][\w'’.-]*(?: (?:[A-ZÀ-ÖØ-Þ][\w'’.-]*|de|van|von|der|den|la|el|bin|al|da|di))*$"
)
_ADVERBS: Final = (
    r"(?:(?:actually|now|just|currently|still|only|also|technically|basically|officially|mainly|really|"
    r"self-employed as) )*"
)
ROLE: Final = re.compile(
    rf"\b(?:(?:i'm|i am|im) {_ADVERBS}(?:an?|the|one of the) |i (?:work|freelance|volunteer|serve|trained|"
    rf"practi[sc]e) as (?:an?|the) |"
    rf"(?:speaking )?as an? |my (?:job|role|position|job title|profession|title) is (?:an? |the )?)([\w' /&-]{{2,50}}?)"
    + END,
)
LEADS: Final = re.compile(
    r"\bi (?:head(?: up)?|lead|run|manage|direct|oversee|chair|supervise|look after) (?:the |our |a )?([\w' &-]{2,50}?)"
    + END,
)
SITS_ON: Final = re.compile(
    r"\b(?:i'm|i am|i sit) on (?:the|our) ([\w' -]{2,40}?(?:council|board|committee|panel|jury|team))\b"
)
DOES: Final = re.compile(
    r"\bi (teach)\b(?: (?:\w+ ){0,4})?(?:for a living|at|in|since|full[- ]time)|"
    r"\bi (nurse|drive|translate|weld|code|program|paint|sing|cook|design|repair|audit|farm|fish|guard|deliver)\b"
    r"(?: (?:\w+ ){0,4})?(?:for a living|professionally|full[- ]time)",
)
# Nouns that name what somebody works as: by their ending, or known.
ROLE_NOUN: Final = re.compile(
    r"(?:officer|manager|director|engineer|developer|teacher|lecturer|professor|nurse|doctor|physician|"
    r"surgeon|dentist|vet|veterinarian|pharmacist|"
    r"lawyer|solicitor|barrister|attorney|paralegal|judge|accountant|auditor|analyst|controller|treasurer|"
    r"bookkeeper|cashier|clerk|assistant|"
    r"secretary|receptionist|coordinator|administrator|admin|specialist|consultant|advisor|adviser|"
    r"planner|buyer|architect|designer|artist|"
    r"writer|editor|journalist|translator|interpreter|librarian|researcher|scientist|chemist|biologist|"
    r"physicist|technician|mechanic|"
    r"electrician|plumber|carpenter|welder|builder|driver|pilot|captain|sailor|farmer|grower|gardener|"
    r"baker|chef|cook|waiter|waitress|"
    r"bartender|barista|brewer|butcher|tailor|hairdresser|cleaner|guard|soldier|policeman|policewoman|"
    r"detective|firefighter|paramedic|midwife|"
    r"therapist|psychologist|psychiatrist|counsell?or|social worker|student|intern|trainee|apprentice|"
    r"founder|owner|entrepreneur|freelancer|"
    r"contractor|salesman|saleswoman|salesperson|rep|representative|agent|broker|trader|banker|actuary|"
    r"underwriter|adjuster|recruiter|"
    r"trainer|coach|instructor|photographer|musician|actor|actress|producer|programmer|tester|"
    r"scrum master|product owner|ceo|cfo|cto|coo|"
    r"head of [\w ]+|chief [\w ]+|lead|supervisor|foreman|inspector|surveyor|operator|dispatcher|courier|"
    r"postman|flight attendant|steward|"
    r"curator|archivist|economist|statistician|mathematician|data scientist|sysadmin|devops|radiologist|"
    r"cardiologist|neurologist|"
    r"p[ae]diatrician|an[ae]+sthetist|optician|optometrist|physio(?:therapist)?|dietitian|nutritionist|"
    r"beekeeper|shepherd|fisherman|forester|"
    r"miner|priest|pastor|imam|rabbi|councillor|mayor|politician|diplomat|notary|estate agent|landlord|"
    r"caretaker|janitor|member|trustee|"
    r"[a-z]{4,}(?:ologist|ographer|iatrician|smith|keeper|maker|monger|wright))s?$",
)
NO_ROLE: Final = re.compile(
    r"^(?:bit|little|lot|fan|big|huge|morning|night|cat|dog|beginner|newbie|customer|user|native|slow|"
    r"fast|visual|people|team|perfectionist|"
    r"vegetarian|vegan|member$|result|rule|follow|side|whole|reminder|test|last|first|matter|kid|child|"
    r"teenager|reference|consequence|"
    r"thank|quick|joke|table|list|summary|json|bullet|favou?r|start|check|default|general|next|human|person$)",
)
DEPARTMENT: Final = re.compile(
    r"\b(?:i'm|i am|im|i work|i've been|i sit|we're|we are|i'm now|working|moved|transferred|"
    r"switched)(?: now| currently| just| over)? (?:in|with|for|to|into) (?:the )?"
    r"((?:[\w&'-]+ ){0,3}?(?:department|dept|division|unit|office|team)|"
    r"(?:human resources|hr|finance|legal|procurement|purchasing|marketing|sales|accounting|accounts|"
    r"treasury|it|compliance|"
    r"regulatory affairs|quality(?: assurance| control| management)?|qa|r&d|research|engineering|"
    r"operations|logistics|payroll|"
    r"customer (?:service|support|success)|internal audit|audit|risk(?: management)?|controlling|"
    r"communications|public relations|pr|tax|"
    r"administration|production|manufacturing|maintenance|facilities|security|product|design|support|"
    r"underwriting|claims|"
    r"investor relations|business development|supply chain|warehouse|admissions|pharmacovigilance|"
    r"clinical affairs|medical affairs|export))" + END,
)
COMPANY: Final = re.compile(
    r"\b(?:i(?:'m| am)?(?: (?:no longer|don't|do not|have|'ve|am))*(?: work| worked)?(?: (?:employed|"
    r"working|now|currently|still|here))* (?:at|for|with|by)|i (?:work|am|'m).{1,40}? at|"
    r"my (?:employer|company|firm)(?: is|'s|,| is called)|our (?:company|firm|business) is(?: called)?|"
    r"i joined|i own|i founded|i run|we(?:'re| are)(?: from| called)?|i'm from) ",
)
COMPANY_NAME: Final = re.compile(
    r"(?:the )?([A-Z0-9À-Þ][\w&.'’-]*(?: (?:[A-Z0-9À-Þ][\w&.'’-]*|&|of|and(?= [A-Z])))*)",
)
INDUSTRY: Final = re.compile(
    r"\b(?:(?:i|we)(?: mostly| mainly| also)? (grow|farm|breed|raise|brew|bake|distil|make|manufacture|"
    r"produce|sell|import|export|distribute|build|"
    r"rent out|repair|publish|operate|process|mill|roast|catch|keep|install|ship|assemble|"
    r"develop) (?!(?:it|them|this|that|sure|the|my|your|a|an|one|some|up|use|sense|these|those|"
    r"mistakes)\b)"
    r"([\w' -]{3,50}?)"
    + END
    + r"|(?:i'm|i am|i work|we're|we are|we work) in (?:the )?([\w' -]{3,40}?) (?:industry|business|sector|trade)\b|"
    r"(?:i'm|i am|i work|we're|we are) in (agriculture|farming|forestry|fishing|mining|construction|"
    r"healthcare|pharma\w*|insurance|banking|retail|hospitality|tourism|"
    r"education|telecoms?|automotive|aviation|energy|oil and gas|real estate|textiles|food|"
    r"medical devices|biotech|software|media|"
    r"entertainment|defen[cs]e|shipping|publishing|consulting|the public sector|private equity|"
    r"asset management|wealth management)\b|"
    r"our industry is ([\w' -]{3,40}?)"
    + END
    + r"|(?:my|our) (?:farm|herd|vineyard|orchard|bakery|brewery|restaurant|hotel|clinic|pharmacy|garage|"
    r"workshop|shop|dairy)\b)",
)
INDUSTRY_CUES: Final = re.compile(
    r"\bour (heifers|cows|calves|ewes|sheep|goats|pigs|hens|hives|bees|vines|wheat|barley|crops|fields|"
    r"greenhouse\w*|fleet|trucks|patients|guests|menu|kiln)\b"
)
INDUSTRY_OF: Final = {
    "heifers": "cattle farming",
    "cows": "cattle farming",
    "calves": "cattle farming",
    "ewes": "sheep farming",
    "sheep": "sheep farming",
    "goats": "goat farming",
    "pigs": "pig farming",
    "hens": "poultry farming",
    "hives": "beekeeping",
    "bees": "beekeeping",
    "vines": "viticulture",
    "wheat": "arable farming",
    "barley": "arable farming",
    "crops": "arable farming",
    "fields": "arable farming",
    "fleet": "transport",
    "trucks": "transport",
    "patients": "healthcare",
    "guests": "hospitality",
    "menu": "gastronomy",
    "kiln": "ceramics",
}
LOCATION: Final = re.compile(
    r"\b(?:(?:i|we)(?:'m|'re| am| are)?(?: just| now| currently| only| have| recently|'ve| no longer| don't)*"
    r" (?:live|lives|living|based|located|reside|residing|settled|staying)"
    r"(?: now| currently| just| right| up| down| over| out| here)*(?: in| near| outside(?: of)?| at|"
    r" close to| around| on)|"
    r"(?:i|we)(?:'ve| have)?(?: just| recently| finally)* (?:moved|relocated)(?: back| over)? to|"
    r"(?:i'm|i am|we're|we are) (?:(?:now|currently|just) )?(?:in|near|outside)|(?:i'm|i am) from|"
    r"my (?:home|flat|house|apartment|hometown|home town|city) is(?: in| near)?|here in|greetings from) ",
)
PLACE: Final = re.compile(r"(?:the )?([A-ZÀ-Þ][\w'’.-]*(?:,? (?:[A-ZÀ-Þ][\w'’.-]*|(?:de|la|upon|am|an der|le)\b))*)")
EMAIL: Final = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
PHONE: Final = re.compile(r"(?<![\w@.-])\+?\(?\d[\d\s().-]{5,18}\d(?![\w-])")
MY_EMAIL: Final = re.compile(
    r"\bmy (?:\w+ )?(?:e-?mail|mail|address|e-?mail address|inbox)\b|\b(?:reach|e-?mail|write(?: to)?|"
    r"contact|mail) me\b|\bsend (?:it|them|the \w+) to (?:me at )?|\bi'm at\b|\bi use\b"
)
MY_PHONE: Final = re.compile(
    r"\bmy (?:\w+ )?(?:phone|mobile|cell|number|telephone|landline|extension|whatsapp)\b|\b(?:reach|call|"
    r"ring|text|phone|contact) me\b|\bi'm on\b"
)
BIRTHDAY: Final = re.compile(
    rf"\b(?:i was born|my birthday(?:'s| is)?|my date of birth|my dob|"
    rf"born on)\b.{{0,20}}?((?:\d{{1,2}}\S{{0,2}} (?:of )?{MONTH}|{MONTH} \d|\d{{4}}-).{{0,12}})"
)
ALLERGY: Final = re.compile(
    r"\b(?:i'm|i am|im|being) (?:\w+ )?allergic to (?:the )?([\w' -]{2,40}?)"
    + END
    + r"|\bi have an? ([\w' -]{2,30}?) allergy\b|\bmy ([\w' -]{2,30}?) allergy\b|\bi(?:'m|"
    r" am) (?:\w+ )?([\w-]+)[- ]intolerant\b|\bi can't (?:have|eat|"
    r"tolerate) ([\w' -]{2,30}?)[ ,]*(?:because|since|due|or i|it makes)"
)
OTHER_SELF: Final = re.compile(
    r"\b(?:i have|i've got|i've|we have|we've got) (?:an? |one |two |three |four |five |\d+ |"
    r"no )?(?:\w+ ){0,2}?(?:kids?|children|sons?|daughters?|dogs?|cats?|horses?|twins|baby|toddlers?|"
    r"grandchildren|siblings?|brothers?|sisters?|wife|husband|pets?)\b|"
    r"\bmy (?:two|three|four|\d) (?:kids|children|boys|girls|sons|daughters)\b|"
    r"\b(?:i'm|i am|im)(?: (?:a|an|strictly|completely|mostly|happily|recently|a strict|currently|"
    r"now))* (?:vegan|vegetarian|pescatarian|married|single|divorced|widowed|retired|pregnant|"
    r"left-handed|colou?r-?blind|deaf|blind|dyslexic|teetotal|celiac|coeliac|diabetic|halal|kosher|muslim|"
    r"jewish|hindu|buddhist|catholic|"
    r"lactose|gluten|\d+ years old|in my (?:twenties|thirties|forties|fifties|sixties|seventies))\b|"
    r"\bi (?:don't|do not|never|no longer) (?:eat|drink|smoke|drive|fly|speak|own)\b|\bi(?: only|'ve been|"
    r" have been) (?:eat|eating|drink|speak|vegetarian|vegan)\b|"
    r"\bi (?:speak|play|collect|study|commute|drive an?|own an?|graduated|wear|weigh)\b",
)
TASTE: Final = re.compile(
    r"\bonly for me\b|\bas an? (?:\w+ )?\w+,? i (?:skip|avoid|never|don't|only)\b"
    r"|\bi(?:'m|'d|'ve|'ll)?(?: (?:am|do|would|have|will|really|strongly|strictly|deeply|much|always|"
    r"generally|mostly|usually|personally|also|just|only|exclusively|typically|"
    r"definitely|actively|tend to|try to|still|truly|absolutely|completely|simply|try|intentionally|often|"
    r"very|quite|firmly|can|could|make a point to|make sure to|highly|particularly|especially|consciously|"
    r"rarely|hardly ever))* "
    r"(?:prefer|love|hate|dislike|detest|loathe|despise|abhor|enjoy|favou?r|avoid|refuse|can't (?:stand|"
    r"bear|tolerate|handle|eat|drink|consume|do)|cannot (?:stand|bear|tolerate|handle|eat|drink|consume)|"
    r"(?:don't|do not|never|won't|will not) (?:\w+ )?(?:like|enjoy|care for|eat|drink|use|watch|read|"
    r"trust|buy|listen|drive|fly|travel|stay|wear|want|believe|feel|consume|go|play|shop|support|visit|"
    r"attend|do|take|own|have any)|"
    r"only|exclusively|strictly|stick to|adhere to|follow an?|am (?:not )?(?:a |an |not )?(?:big |"
    r"huge )?fan|(?:not )?(?:a |an )?(?:big |huge |avid )?(?:fan|lover) of|"
    r"(?:not )?(?:a |an )?\w+ (?:person|guy|gal)\b|averse|opposed|against|uncomfortable|not comfortable|"
    r"afraid|terrified|scared|sensitive|intolerant|picky|"
    r"(?:not )?interested|(?:on|following) an? [\w, -]{2,50}?diet|passionate|committed|dedicated|prone|"
    r"strict about|particular about|not (?:into|keen|fond|interested|comfortable|drawn)|keen on|fond of|"
    r"into\b|bothered|"
    r"have (?:an?|no|zero|some|little|severe|serious|mild|strict)? ?(?:[\w-]+,? ){0,4}?(?:aversion|diet|"
    r"stance|anxiety|disease|disorder|belief|principle|experiences?|preference|dislike|fear|phobia|"
    r"allergy|allergies|intolerance|sensitivity|interest|problem|issue|"
    r"objection|passion|distaste|hatred|tolerance|weakness|disdain|bias|desire|need|policy|rule|condition|"
    r"disability|love)|"
    r"find .{3,80}? (?:\w+ )?(?:boring|uncomfortable|unpleasant|overwhelming|annoying|tedious|dull|"
    r"stressful|distracting|unappealing|too \w+|off-putting|\w+ing)|"
    r"like (?!this|that|it\b|to know|to ask|you to|a (?:table|list|summary))|(?:need|require|insist on|"
    r"value|prioriti[sz]e|look for|choose|opt for) (?!to know|help|you|a (?:table|list|summary|formula|"
    r"quick)|some help|this|the)|"
    r"get (?:\w+ )?(?:motion|car|sea|air)?-?(?:sick|uncomfortable|overwhelmed|nauseous|anxious|nervous|"
    r"bored)|feel (?:\w+ )?(?:uncomfortable|uneasy|anxious|claustrophobic|overwhelmed))\b",
)
