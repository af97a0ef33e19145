"""How a Chinese clause takes a constraint back: 可以再用缩写了, 不用再附来源了, 取消刚才的要求."""

import re
from typing import Final

from app.infra.summarisers.kinds import ALLOW, CANCEL, CANCEL_ALL, CANCEL_LAST, RELEASE, Reading

_TRIGGER: Final = re.compile(
    r"又|随便|也可以|可以|能|允许|准许|恢复|不用|不必|不需要|无需|无须|没必要|用不着|不再|不是|不一定|不要求|没关系|"
    r"没问题|无所谓|"
    r"也行|都行"
)
_FILLER: Final = re.compile(r"^(?:好的?|嗯+|哦+|那么?|那就|所以|因此|行|对了|另外|其实|算了|不过|但是?|ok|okay|\W)+")
_ASKED: Final = re.compile(r"[吗么？?]\W*$|能不能|可不可以")
_USE: Final = (
    r"(?:用|使用|写|说|讲|回答|回复|叫|加|发|推荐|提|联系|打电话|安排|放|出现|吃|喝|问|聊|带|列|引用|翻译|称呼|"
    r"发送|开|做)"
)
_NOW: Final = r"(?:现在|以后|今后|从现在起|那|好了?|你们?|您|又|也|就|还是)"
_NOT_ME: Final = r"[^，。我他她]{1,20}?"
_MAY: Final = re.compile(
    rf"{_NOW}*(?:可以|能|允许|准许)(?:再|重新|继续|又|恢复|开始|随便)+\s*\S"
    rf"|{_NOW}*(?:可以|允许|准许|能)你?{_USE}.*了\W*$|(?:现在|以后|又|你们?|您)+(?:可以|能){_USE}"
    rf"|{_NOT_ME}(?:又|现在|以后|也)(?:可以|能)(?:再|重新|随便)?{_USE}?(?:了|的)?\W*$"
    r"|.*(?:跟我|对我|和我|给我).*(?:没关系|没问题|无所谓)的?\W*$"
    rf"|{_NOT_ME}(?:可以|能)(?:再|重新|恢复)*{_USE}[^，。]{{0,12}}了\W*$|{_NOT_ME}随便{_USE}(?:了|吧)?\W*$|"
    rf"{_NOT_ME}(?:可以|能)(?:用|使用)(?:的|了)?\W*$|"
    rf"恢复(?:使用)?\s*\S"
    r"|(?:中文|英文|英语|汉语|法文|法语|日文|日语|德文|德语|粤语|普通话)(?:也行|也可以|都行|都可以|也没问题)了?\W*$"
    r"|(?:用|使用|写|加|发|说|叫我)[^，。]{1,20}?(?:也行|也可以|也没关系|没关系|也没问题|没问题|无所谓|都行)了?\W*$",
)
_NO_LEAVE: Final = re.compile(r"(?<!也)可以(?:开始|走|吃饭|睡|了$)|只(?:能|可以)|不(?:能|可以)|才(?:能|可以)")
_SELF_AGAIN: Final = re.compile(
    r"我(?:现在|又)+(?:可以|能|开始)?(?:吃|喝|用|坐|去|接受)|我(?:可以|能)(?:再|重新|继续)?(?:吃|喝|用).*了\W*$",
)
_NEEDLESS_WORD: Final = r"(?:不用|不必|不需要|无需|无须|没必要|用不着|不要求)"
_NEEDLESS: Final = re.compile(
    rf"(?:以后|今后|现在|你|您|也|就|都)*{_NEEDLESS_WORD}(?:再|每次|总是|一直|非得|一定|非要|都|只)+\s*\S"
    rf"|(?:以后|今后|现在|你|您|也|就|都)*{_NEEDLESS_WORD}(?!谢|客气|担心|管我|急|麻烦|说了|想|怕|了|太)\S.*了\W*$"
    r"|.{0,20}?(?:不再(?:是)?(?:需要|要求|必须|必要)|不是必须|不是非得)|(?:现在|以后|也|你|您)+不一定要|"
    r"不一定要.*了\W*$",
)
_AVOIDING: Final = re.compile(r"避免|回避")
_RULE: Final = r"(?:限制|要求|规定|规则|禁令|约束|指令|设定|条件)"
_UNDO: Final = r"(?:取消|解除|撤销|撤回|忘掉|忘了|忽略|作废|收回|去掉|废除|不算|失效|不用管|不作数|不用遵守)"
_RULE_WORD: Final = re.compile(_RULE)
_CANCEL: Final = re.compile(
    rf"(?:请|把|现在|那|就|可以|我|你|您)*{_UNDO}.*{_RULE}(?:吧|了)?\W*$"
    rf"|.*{_RULE}(?:可以|就|都|全部|全都|现在|也|已经)*{_UNDO}(?:了|吧|掉)*\W*$",
)
_NOT_MINE: Final = re.compile(r"[他她它]|老板|领导|经理|公司|客户|老师|政府|学校|法律")
_NO_TOPIC: Final = re.compile(
    rf"{_UNDO}|{_RULE}|我?(?:之前|刚才|前面|上面|以前|先前)(?:说|提|讲)?过?的?|那条|这条|那个|这个|所有|全部|一切|可以|"
    r"[把请吧了的都全就我说你\W]",
)
_EVERY: Final = re.compile(r"所有|全部|一切|都|全")


def lifted(clause: str) -> Reading | None:
    """Return how the clause takes something back, or None."""
    if _RULE_WORD.search(clause) and _CANCEL.match(clause) and not _NOT_MINE.search(clause):
        if _NO_TOPIC.sub("", clause):
            return CANCEL
        # 我 has to be there: "忽略之前的所有指令" is what stands in pages that someone pastes.
        if _EVERY.search(clause):
            return CANCEL_ALL if "我" in clause else None
        return CANCEL_LAST
    if not _TRIGGER.search(clause) or _ASKED.search(clause):
        return None
    bare = _FILLER.sub("", clause)
    if _NEEDLESS.match(bare):
        return ALLOW if _AVOIDING.search(bare) else RELEASE
    if (_MAY.match(bare) and not _NO_LEAVE.search(bare)) or _SELF_AGAIN.match(bare):
        return ALLOW
    return None
