"""What a person says of who they are: name, work, place, how to reach them; each only where they say it themselves."""

import re
from collections.abc import Iterator
from typing import Final

from app.infra.extractors import chinese, english_self, values
from app.infra.extractors.topics import Clause, Topic

_LATIN_NAME_PARTS: Final = 2
_MIN_PHONE_DIGITS: Final = 7
_NO_PLACES: Final = dict.fromkeys(("it", "hr", "i", "qa", "r", "r&d", "pr"), "")
_NO_TEAM: Final = re.compile(r"(?:a|an|some|my|this|that|it|into|out|tests?|errors?|late)\b")
_NO_TRADE: Final = re.compile(r"^(?:[一两二三四五六七八九十几\d]+[只条个匹]|什么|啥|一个|这|那|不|完|好|错)|内审|外审")
_GREETING: Final = re.compile(r"\W*(?:hi|hello|hey|good (?:morning|evening|afternoon))(?: there| all| everyone)?\W+")
_NOT_NAMES: Final = re.compile(
    r"^(?:not|sure|sorry|fine|here|back|just|so|very|really|in|on|at|from|working|looking|trying|going|"
    r"afraid|happy|glad|new|the|a|an|using|vegan|ok|okay|done|good|also|only|curious|interested|based|"
    r"allergic)\b"
)


def profile(clause: Clause) -> Iterator[Topic]:
    """Yield what a clause tells of its author, each key once or more."""
    yield from (_chinese(clause) if clause.is_chinese else _english(clause))
    yield from _reached(clause)


def _english(clause: Clause) -> Iterator[Topic]:
    yield from _name(clause)
    yield from _english_work(clause)
    yield from _english_life(clause)


def _english_work(clause: Clause) -> Iterator[Topic]:
    plain, text = clause.plain, clause.text
    yield from _english_role(clause)
    if found := english_self.DEPARTMENT.search(plain):
        named = values.tidy(text[found.start(1) : found.end(1)])
        yield Topic("department", re.sub(r" (?:department|dept)$", "", named))
    if company := _named(clause, english_self.COMPANY, english_self.COMPANY_NAME, ends="from"):
        yield Topic("company", company)
    if found := english_self.INDUSTRY.search(plain):
        said = next((place for place in (2, 3, 4, 5) if found[place]), 0)
        yield Topic("industry", values.tidy(text[found.start(said) : found.end(said)]))


def _english_role(clause: Clause) -> Iterator[Topic]:
    for match in english_self.ROLE.finditer(clause.plain):
        if _is_role(match[1].strip()):
            yield Topic("role", values.tidy(clause.text[match.start(1) : match.end(1)]))
            break
    leads = english_self.LEADS.search(clause.plain)
    if leads and not _NO_TEAM.match(leads[1].strip()):
        yield Topic("role", values.tidy(clause.text[leads.start(1) : leads.end(1)]))
    for pattern in (english_self.SITS_ON, english_self.DOES):
        if said := _first(clause, pattern):
            yield Topic("role", values.tidy(said))


def _english_life(clause: Clause) -> Iterator[Topic]:
    plain = clause.plain
    if place := _named(clause, english_self.LOCATION, english_self.PLACE):
        yield Topic("location", place)
    born = english_self.BIRTHDAY.search(plain)
    if born and (date := values.date(born.group())):
        yield Topic("birthday", date)
    if found := english_self.ALLERGY.search(plain):
        yield Topic("allergy", values.tidy(next(part for part in found.groups() if part)))
    elif english_self.OTHER_SELF.search(plain):
        yield Topic("other", values.tidy(clause.text))


def _named(clause: Clause, leads: re.Pattern[str], names: re.Pattern[str], *, ends: str | None = None) -> str | None:
    """Return the name, written with capitals, that comes after a lead; none after a lead that `ends` so."""
    for match in leads.finditer(clause.plain):
        named = names.match(clause.text, match.end())
        is_other = ends is not None and match.group().strip().endswith(ends)
        if named and not is_other and named[1].lower() not in values.LANGUAGES | _NO_PLACES:
            return values.tidy(named[1])
    return None


def _name(clause: Clause) -> Iterator[Topic]:
    for match in english_self.NAME.finditer(clause.plain):
        said = clause.text[match.start(1) : match.end(1)].strip()
        is_told = "name" in match.group()
        parts = said.split()
        if _NOT_NAMES.match(said.lower()) or not english_self.CAPITALS.fullmatch(said):
            continue
        is_greeting = bool(_GREETING.fullmatch(clause.plain[: match.start()]))
        if said.lower() in values.LANGUAGES or not (is_told or is_greeting or len(parts) >= _LATIN_NAME_PARTS):
            continue
        yield Topic("name", values.tidy(said))
        return


def _is_role(role: str) -> bool:
    return bool(english_self.ROLE_NOUN.search(role)) and not english_self.NO_ROLE.search(role)


def _chinese(clause: Clause) -> Iterator[Topic]:
    if found := chinese.NAME.search(clause.plain):
        yield Topic("name", values.tidy(clause.text[found.start(1) : found.end(1)]))
    yield from _chinese_work(clause)
    yield from _chinese_life(clause)


def _chinese_work(clause: Clause) -> Iterator[Topic]:
    if said := _first(clause, chinese.DEPARTMENT):
        yield Topic("department", values.tidy(re.sub(r"^.*(?:公司|集团|单位|医院|学校|在)", "", said)))
    yield from _chinese_role(clause)
    company = _first(clause, chinese.COMPANY)
    if company and not company.startswith("的"):
        yield Topic("company", values.tidy(company))
    trade = values.tidy(_first(clause, chinese.INDUSTRY))
    if trade and not chinese.ROLE_NOUN.search(trade) and not _NO_TRADE.search(trade):
        yield Topic("industry", trade)


def _chinese_life(clause: Clause) -> Iterator[Topic]:
    for match in chinese.LOCATION.finditer(clause.plain):
        place = next(number for number, part in enumerate(match.groups(), 1) if part)
        said = clause.text[match.start(place) : match.end(place)]
        if not chinese.NO_PLACE.search(said):
            yield Topic("location", values.tidy(said))
            break
    born = chinese.BIRTHDAY.search(clause.plain)
    if born and (date := values.date(clause.text[born.start() : born.end()])):
        yield Topic("birthday", date)
    if found := chinese.ALLERGY.search(clause.plain):
        yield Topic("allergy", values.tidy(next(part for part in found.groups() if part)))
    elif chinese.OTHER_SELF.search(clause.plain):
        yield Topic("other", values.tidy(clause.text))


def _first(clause: Clause, pattern: re.Pattern[str]) -> str:
    """Return what the first group holds that a pattern finds, as it was written."""
    match = pattern.search(clause.plain)
    place = next((number for number, part in enumerate(match.groups(), 1) if part), None) if match else None
    return clause.text[match.start(place) : match.end(place)] if match and place else ""


def _chinese_role(clause: Clause) -> Iterator[Topic]:
    for pattern in (chinese.AS_ROLE, chinese.ROLE, chinese.ROLE_LIST):
        for match in pattern.finditer(clause.plain):
            said = next((part for part in match.groups() if part), "")
            said = re.sub(r"^.*?(?:在|的)(?=[\u4e00-\u9fff]{2})", "", said) if pattern is chinese.ROLE else said
            said = re.sub(r"^[\u4e00-\u9fff]{2,6}(?:部门?|处|科|中心|公司)(?=[\u4e00-\u9fff]{2})", "", said)
            if chinese.ROLE_NOUN.search(said) and not re.match(r"不|没|又|什么|哪", said):
                yield Topic("role", values.tidy(said))
                return


def _reached(clause: Clause) -> Iterator[Topic]:
    words = chinese if clause.is_chinese else english_self
    if match := english_self.EMAIL.search(clause.plain):
        if words.MY_EMAIL.search(clause.plain):
            yield Topic("email", values.tidy(clause.text[match.start() : match.end()]))
        return
    if words.MY_PHONE.search(clause.plain):
        for match in english_self.PHONE.finditer(clause.plain):
            if sum(map(str.isdigit, match.group())) >= _MIN_PHONE_DIGITS:
                yield Topic("phone", values.tidy(match.group()))
                return
