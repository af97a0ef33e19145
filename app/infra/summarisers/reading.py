"""A message as its author's own sentences: what is code, quoted or pasted is blanked, in place, before rules see it."""

import re
from typing import Final, NamedTuple

from app.core.text.sentences import sentences

MAX_CHARS: Final = 200_000
BLANK: Final = "\ufffc"  # no word and no punctuation in any language

_MARKS: Final = re.compile(r"[`~>\"'“‘’«「『《]|http")
_CODE: Final = re.compile(
    r"```[\s\S]*?(?:```|\Z)|~~~[\s\S]*?(?:~~~|\Z)|`[^`\n]+`|https?://[^\s，。；）】」\"]+|(?m:^[ \t]*>.*$)",
)
# A single quote opens where no word ends and closes where none begins, so that "don't" and "users'" are words.
_QUOTED: Final = re.compile(
    r"\"[^\"\n]{1,300}\"|“[^”\n]{1,300}”|‘[^’\n]{1,300}’|«[^»\n]{1,300}»|「[^」\n]{1,300}」|『[^』\n]{1,300}』"
    r"|《[^》\n]{1,100}》|(?<![\w'])'[^'\n]{2,300}'(?![\w'])",
)
_COLON: Final = re.compile(r"[:：]")
_BEFORE_COLON_CHARS: Final = 80
# "Translate the following email:" and its like: what comes after the colon was written by, or for, someone else.
_PASTES: Final = re.compile(
    r"\b(?:(?:translate|summari[sz]e|proofread|paraphrase|rewrite|rephrase|correct|polish|explain|analy[sz]e|review|"
    r"classify|edit|check) (?:this|the|these|my|it|following|into|to)|translate|summari[sz]e|proofread|paraphrase|"
    r"rewrite|the following|(?:text|email|article|message|passage|paragraph|letter|post|contract|document|error|log|"
    r"notice|transcript) (?:below|says|reads|said)|here(?:'|’)?s (?:the|an?|my|his|her|their)|"
    r"here is (?:the|an?|my|his|her|their))\b[^\n.!?]{0,60}$"
    r"|(?:翻译|润色|改写|校对|(?:总结|概括|分析|解释|看看|检查)(?:一下|下面|以下|这)|原文|(?:以下|下面)是|这是|"
    r"这(?:段|封|篇|份|条)(?:话|邮件|文章|文字|合同|文本|通知|消息|日志))[^\n。！？]{0,60}$",
    re.IGNORECASE,
)
_OWN_LIST: Final = re.compile(
    r"rules?|requirements?|instructions|constraints?|guidelines|preferences?|conditions|points|\b(?:deal|thing)\b|"
    r"要求|规则|约束|注意|事项|条件|准则|规定|几点",
    re.IGNORECASE,
)
_LETTER: Final = re.compile(
    r"(?:dear|hi|hello|to whom)\b[^\n]{0,60}\n|(?:尊敬的|亲爱的|各位|您好)[^\n]{0,60}\n",
    re.IGNORECASE,
)
_BLANK_LINE: Final = re.compile(r"\n[ \t]*\n(?=\s*\S)")
_ASKING: Final = re.compile(r"[?？]")
_QUESTION: Final = re.compile(r"[?？][\s!！?？~～\U0001f300-\U0001faff]*$")
_BULLET: Final = re.compile(
    r"\s*(?:[-*•·–]|\(?\d{1,2}[.)、）]|[①-⑳]|[（(][一二三四五六七八九十\d]{1,2}[)）])\s*",
)
# Typographic apostrophes, and the traditional characters of the words that rules look for, as the rules have them.
_PAIRS: Final = (
    "’'後后請请別别務务須须準准許许嚴严應应該该會会說说寫写給给對对覆复復复語语體体漢汉縮缩絕绝從从現现開开總总這这個个們们嗎吗麼么為为來来時时"
    "裡里裏里間间檔档報报稱称簡简詳详細细話话電电過过還还讓让記记標标題题點点數数據据圖图當当無无與与隨随豬猪號号碼码問问樣样處处條条規规則则"
    "換换確确幫帮郵邮誰谁幾几約约錄录醫医師师學学誤误擔担難难緊紧張张氣气關关係系沒没註注釋释譯译結结論论斷断"
)
_SAME: Final = dict(zip(map(ord, _PAIRS[::2]), _PAIRS[1::2], strict=True))
_OTHERWISE: Final = re.compile(f"[{_PAIRS[::2]}]")


class Sentence(NamedTuple):
    """A sentence. `plain` is as long as `text`, lower-cased, with blanks for what its author didn't say."""

    text: str
    plain: str
    is_question: bool


def own_sentences(text: str) -> list[Sentence]:
    """Return the sentences, without the list marks before them; those that are nothing but blanks are left out."""
    text = text[-MAX_CHARS:]
    plain = _plain(text)
    found = []
    for start, end in sentences(plain):
        bullet = _BULLET.match(plain, start, end)
        first = bullet.end() if bullet else start
        while first < end and plain[first].isspace():
            first += 1
        body = plain[first:end].rstrip()
        if body.strip(BLANK):
            found.append(
                Sentence(text[first : first + len(body)], body, bool(_ASKING.search(body) and _QUESTION.search(body)))
            )
    return found


def _plain(text: str) -> str:
    plain = text
    if _MARKS.search(plain):
        plain = _QUOTED.sub(_blank, _CODE.sub(_blank, plain))
    for match in _COLON.finditer(plain):
        before = plain[max(0, match.start() - _BEFORE_COLON_CHARS) : match.start()]
        if _PASTES.search(before) and not _OWN_LIST.search(before):
            end = _end_of_paste(plain, match.end())
            plain = plain[: match.end()] + BLANK * (end - match.end()) + plain[end:]
    lower = plain.lower()
    plain = lower if len(lower) == len(plain) else plain
    return plain.translate(_SAME) if _OTHERWISE.search(plain) else plain


def _end_of_paste(plain: str, start: int) -> int:
    """On the line of the colon: that line. Below it: a letter, or all but the last paragraph, which is the author's."""
    line = plain.find("\n", start)
    line = line if line >= 0 else len(plain)
    if plain[start:line].strip():
        return line
    body = len(plain) - len(plain[start:].lstrip())
    if _LETTER.match(plain, body):
        return len(plain)
    breaks = [match.start() for match in _BLANK_LINE.finditer(plain, body)]
    return breaks[-1] if breaks else len(plain)


def _blank(match: re.Match[str]) -> str:
    return BLANK * len(match.group())
