"""How a Chinese clause is read: as a constraint, as the end of one, or as neither.

A marker (不要, 必须 ...) is looked for where it can be one (别 in 特别 and 别人 is none), then what stands before it says whom it
binds: nobody or 你 is the reader, a scope ("写报告时") changes nothing, 我 is the user, anyone else is left out.
"""

import re
from typing import Final

from app.infra.summarisers.kinds import (
    ALLOW,
    CANCEL,
    CANCEL_ALL,
    CANCEL_LAST,
    DO,
    DONT,
    RELEASE,
    WEAK_DO,
    WEAK_DONT,
    Reading,
)

TRIGGER: Final = re.compile(
    r"不要|别|禁止|不准|不许|不得|不能|不可|勿|严禁|避免|杜绝|必须|务必|一定|只|仅限|都|始终|永远|每次|一律|总是|确保|记得|记住|不该|不应|"
    r"用|叫我|称呼我|喊我|可以|不必|不需要|无需|没必要|取消|解除|撤销|忘掉|忽略|作废|规定|要求|规则|限制|以后|今后|从现在|简短|简洁|详细|尽量|"
    r"停止|不想|拒绝|我不|我只|我从|我又|我讨厌|我忌|不吃|不喝|恢复|也行|没关系|无所谓|never|must|always|only|don't|please"
)

_LEAD: Final = re.compile(
    r"(?:请你们?|请您|请|麻烦(?:你|您)?|拜托(?:你|您)?|劳驾|我?希望(?:你|您)?(?!们都)|我要求(?:你|您)?|我要(?:你|您)|我想让(?:你|您)|我需要(?:你|您)|"
    r"另外|此外|还有|再有|以后|今后|往后|日后|从现在(?:开始|起)?|从今(?:天|以后|往后)?(?:开始|起)?|从此以?后?|接下来|后续|记住了?|请记住|"
    r"记得|记着|注意|切记|那么?|所以|但是?|不过|而且|并且|同时|然后|好的?|嗯+|哦+|啊|哎|对了|其实|总之|首先|其次|最后|第[一二三四五六]点?|"
    r"再次强调|强调一下|再说一遍|说一下|提醒一下|重申|说好了|千万|绝对|一定|就|也|都|最好|尽量|真的|咱们?|大家|对我|给我|跟我|和我|(?:你|您)(?:们)?|"
    r"please|pls|ok|and|but|also|一直|始终|永远|每次|统统|全都?|一概|再|又|还是?|可|[^\w]+)+"
)
_OTHERS: Final = re.compile(
    r"[他她它]|人家|别人|有人|有些人|大人|老板|领导|经理|主管|同事|老师|医生|大夫|朋友|同学|学生|客户|客人|乘客|游客|员工|司机|邻居|房东|"
    r"爸|妈|爷|奶奶|外公|外婆|哥|姐|弟|妹|老公|老婆|丈夫|妻子|儿子|女儿|孩子|小孩|男朋友|女朋友|对象|政府|警察|公司|学校|医院|国家|法律|"
    r"说|告诉|觉得|认为|以为|问|听|据|讲过|写着|标着|贴着|规定|曾|已经|被|因为|由于|难道|怎么|何必|干嘛|为什么|为啥|如果|要是|是否|是不是|要不|"
    r"不是|并非|并不|没有"
)
# Whom something goes to, and whose it is: nobody who is bound by it.
_ADDRESSEE: Final = re.compile(
    r"(?:发给|写给|给|对|跟|向|替|和)(?:我的?)?(?:老板|领导|经理|主管|同事|老师|朋友|客户|客人|家人|爸妈|爸爸|妈妈|别人|他们?|她们?)的?|(?:客户|老板|同事|朋友)的"
)
_SCOPE: Final = re.compile(
    r"(?:时|时候|的话|里|里面|中|内|上|下|之前|之后|以前|前|后|方面|部分|场合|情况)(?:也|都|就|则|请|你|您)*$|^(?:在|对|对于|关于|除了?|凡是|每)"
)
_PRODUCT: Final = re.compile(
    r"回答|回复|答复|答案|回应|输出|内容|报告|邮件|文章|文档|代码|注释|标题|正文|摘要|总结|翻译|译文|表格|图表|图片|列表|句子|段落|结果|对话|聊天|"
    r"消息|称呼|名字|日期|时间|数字|数据|单位|金额|价格|预算|计划|行程|方案|会议|函数|变量|文件|日志|接口|数据库|文字|措辞|语气|格式|任何|所有|全部|一切|每"
)
_ME: Final = re.compile(r"我们?|本人|咱")

# A marker, where it isn't part of another word, and not before what makes an idiom of it.
_DONT: Final = re.compile(
    r"(?P<m>(?<!要)(?<!想)不要(?!紧|脸|钱|命|忘)(?!担心|客气|难过|着急|生气|紧张|误会|介意|灰心|放弃|伤心|害怕|这么说|这样说|在意|多想|想太多|不要|怕|急|哭|慌)"
    r"|(?<![特区分差性级类个告离识鉴辨派道久作送惜阔有另各])别(?![人的处墅名致扭针看提样国家离]|担心|客气|难过|着急|生气|紧张|误会|介意|灰心|放弃|伤心|害怕|"
    r"(?:这么|那么)(?:说|想|讲|客气|伤心|难过|急|紧张|担心)|在意|多想|想太多|怕|急|哭|慌|闹|逗|瞎|开玩笑|说了$|忘|无|具|出心裁|吵了?$|走了?$|动$)"
    r"|禁止|严禁|不准(?!确|时|备)|不许|不得(?!不|了|已|而知|劲|体|志)|切勿|请勿|勿(?!忘)|杜绝|避免|(?<!一)不应该|(?<!应)不该(?!说|这样|那样)"
    r"|(?<!能)不可以|不能(?!再\w了|不|理解|相信|想象|否认|忍受|接受你|再这样下去|同意|确定|怪|算)|停止(?!了)|(?<!想)不想(?=看到|听到|收到|再看|再听|要|被)"
    r"|(?:never|don't|do not)(?=\s*[\u4e00-\u9fff]))"
)
_DO: Final = re.compile(
    r"(?P<m>(?<!不)(?<!是否)必须(?!的$|啊$|得去了|承认)|务必|一定(?:要|得|记得)(?![来去看试尝]|幸福|加油|好好|保重|照顾|注意身体|开心|快乐|坚强|来玩|去看看|尝尝|试试)|"
    r"只(?:能|准|许|可以)(?!说(?!中|英|汉|普|粤|日)|这样|如此|算|等|认|靠|眼|放弃|作罢|怪|是|有)|仅限|(?:以后|今后|往后|之后)(?:都|一律|每次|全部|统一)(?!会|是|没|有|不会|能|好|忘)"
    r"|一律|每次.{0,12}都(?=请|要|得|带|写|用|附|给|注|标|加|先|提|列)|(?:都|全部|统一|一直|始终|每次|总是|永远)(?:要|得|用|请|须|应)(?!死|命|求|是)|确保|(?:别|不要|勿|切勿)忘(?:了|记)?(?!我|带走)|"
    r"只(?:用(?!了)|写|推荐|回答|看|发|给|买|订|吃|喝|考虑|选|使用|显示|列|谈|讨论|接受|保留|讲|说|聊|做|想要|要(?!努力|是|不|有|能|我|你|他|她|一|肯|够|再|想))(?!了|过|完|好了|的是)"
    r"|(?:must|always|only)(?=\s*[\u4e00-\u9fff]))"
)
_PAST: Final = re.compile(r"小时候|以前|当时|那时|曾经?|从前|昨天|上次|去年")
_SELF_DONT: Final = re.compile(
    r"(?:从来?|都|真的|绝对|也|现在|目前|平时|晚上|早上|周末|暂时)*(?:不(?:吃|喝|用|抽|喜欢|想要|要|接|坐|穿|收|爱吃|希望|能(?:吃|喝|用|碰|坐|接受|熬|超过|晚于|早于|有))|"
    r"不可以(?:吃|喝)|不想(?:看到|听到|收到|被|再看|再听)|讨厌|忌)"
)
_SELF_DO: Final = re.compile(
    r"(?:从来?|都|真的|也|现在|目前|平时|一般)*(?:只(?:吃|喝|用|坐|接受|要|看|能(?!说|这|等|靠|认)|会|住|穿|说|想)(?!了|过|是|好)|必须(?!走|说|承认|得走|去了|感谢|道歉))"
)

_LANGUAGE: Final = r"(?:中文|英文|英语|汉语|普通话|粤语|日文|日语|韩文|韩语|法文|法语|德文|德语|西班牙语|俄语|意大利语|葡萄牙语|阿拉伯语|简体字?|繁体字?|english|chinese)"
_MANNER: Final = re.compile(
    rf"(?:只|都|全部|一律|统一)?用\s*{_LANGUAGE}\s*(?:来|跟我|和我|给我)?(?:回答|回复|答复|交流|沟通|说|写|聊|对话|讲|解释|输出)?|(?:说|讲|写){_LANGUAGE}(?:吧|就行|就好|就可以)?$"
    r"|(?:叫|称呼|喊)我(?:为|做|作)?\s*(?!去|来|起床|吃|做|干|怎么|什么|走|回|别|不|妈|爸|们|的|一声|帮|过|等|把|写|买)\w{1,10}"
    r"|(?:回答|回复|答案|输出|内容|说话|解释|总结|语气)?(?:请|要|得|尽量|保持|再|更|应该)*(?:简短|简洁|简单|精简|简明|详细|正式|口语化?|礼貌|客气|直接)(?:一?点儿?|一些|些|就行|就好)(?:吧|哦|啊)?$"
    r"|(?:回答|回复|答案|输出|语气)(?:请|要|得|尽量|保持|应该)+(?:简短|简洁|简单|精简|简明|详细|正式|口语化?|礼貌|客气|直接)"
    r"|(?:改|统一|全部|全都|都|一律|尽量)用\s*\S"
)
_FROM_NOW: Final = re.compile(r"(?:以后|今后|往后|从现在(?:开始|起)|从今(?:天|以后|往后)?(?:开始|起)?)")
_ACT: Final = re.compile(
    r"(?:在|对|把|给|先|每次|每天|凡是|遇到|涉及|提到|写|用|说|回|叫|称|发|加|按|以|让|帮|推荐|安排|提醒|附|标|列|放|保留|使用|翻译|总结|请|改|换|记|查|问)"
)
_TAG: Final = re.compile(
    r"\W*(?:好吗|好不好|行吗|行不行|可以吗|可不可以|好么|行么|知道吗|知道了吗|明白吗|明白了吗|懂吗|懂了吗|记住了吗|ok吗|ok|okay|吧|嗯)?\W*"
)
_REQUEST: Final = re.compile(
    r"(?:请问)?(?:你|您)?(?:以后|今后)?(?:你|您)?(?:能不能|可不可以|能否|可否|是否可以|可以|能)(?:请|麻烦)?(?:你|您)?(?:以后|今后|从现在起)?(?:请)?"
)
_REMINDS: Final = re.compile(
    r"我(?:不是|难道没有?|没)?(?:已经|刚才|刚刚|之前|早就|都)?(?:说|讲|强调|要求|提醒|告诉)(?:过|了)?(?:你|您)?(?:了|过)?(?:要)?"
)
_ASKS: Final = re.compile(
    r"(?:吗|(?<![什怎这那多])么|呢)\W*$|为什么|为啥|怎么(?!样)|是不是|是否|难道|谁(?!都)|哪(?:里|个|些|位)|几点|多少"
)
_ENDS_ASKING: Final = re.compile(r"(?:吗|么|呢|好不好|行不行|可不可以|吧)?\W*$")


def is_standing(clause: str) -> bool:
    """Whether the clause is nothing but "从现在开始" or its like and belongs to the next."""
    return bool(_FROM_NOW.fullmatch(clause.strip()))


def asks(clause: str) -> bool:
    """Whether the clause is a question without its mark: "...吗"."""
    return bool(_ASKS.search(clause))


def is_tag(clause: str) -> bool:
    """Whether the clause only makes a question of the sentence before it: "好吗"."""
    return bool(_TAG.fullmatch(clause))


def read(clause: str) -> Reading | None:
    """Return how the clause is read, or None. It is a statement: what is asked goes to `requested`."""
    lifted = _lifted(clause)
    if lifted:
        return lifted
    marked = _marked(_REMINDS.sub("", clause, count=1) if _REMINDS.match(clause) else clause)
    if marked:
        return marked
    rest = _without_lead(clause)
    if re.match(r"我(?!们?的)", rest):
        return _self(rest)
    if _MANNER.match(rest):
        return DO
    standing = _FROM_NOW.search(clause[:12])
    if (
        standing
        and (_ACT.match(rest) or "请" in clause)
        and not re.search(r"再说|再看|再聊|再议|[吗呢？?]\W*$", clause)
    ):
        return DO
    return None


def _without_lead(clause: str) -> str:
    lead = _LEAD.match(clause)
    return clause[lead.end() :] if lead else clause


def requested(clause: str) -> Reading | None:
    """Return how a question is read that asks for something of the reader ("能不能别用缩写？"), None for other questions."""
    if _REMINDS.match(clause):
        return _marked(_REMINDS.sub("", clause))
    match = _REQUEST.match(_without_filler(clause))
    if match is None:
        return None
    rest = _ENDS_ASKING.sub("", _without_filler(clause)[match.end() :])
    if re.match(r"(?:再)?(?:不要|别|不(?!能|可|会|知)|停止|避免)", rest):
        return DONT
    if re.match(r"(?:都|一直|始终|每次|只|总是|一律|必须)", rest) or _MANNER.match(rest):
        return DO
    return None


def _marked(clause: str) -> Reading | None:
    for pattern, strong, weak in ((_DO, DO, WEAK_DO), (_DONT, DONT, WEAK_DONT)):
        for match in pattern.finditer(clause):
            whom = _bound(clause[: match.start("m")], clause[match.end("m") :])
            if whom is not None and clause[match.end("m") :].strip(" 了吧啊哦。!！.…~"):
                return strong if whom else weak
    return None


def _bound(before: str, after: str) -> bool | None:
    """Return True where the reader is bound, False where the user or their affairs are, None where it is someone else."""
    rest = _without_lead(before)
    if not rest or rest in {"你", "您", "你的回答", "您的回答"}:
        return True
    rest = _ADDRESSEE.sub("", rest)
    if _OTHERS.search(rest) or _OTHERS.match(after):
        return None
    if _ME.match(rest):
        return _self_bound(rest, after)
    if _SCOPE.search(rest) or _PRODUCT.search(rest):
        return True
    return False if len(rest) <= 12 else None


def _self_bound(rest: str, after: str) -> bool | None:
    """Whether what users must and mustn't do is of their affairs (False), or a turn of speech (None)."""
    if _PAST.search(rest):
        return None
    if re.match(r"走|说|承认|去了|感谢|道歉|得|很遗憾|等|认|祝", after):
        return None
    return False if re.fullmatch(r"我们?(?:的\w{1,6}|\w{0,4})", rest) else None


def _self(rest: str) -> Reading | None:
    """Read what follows 我: what users do, don't do and can't do; not what they feel and plan."""
    after = re.sub(r"^我们?", "", rest)
    if _PAST.match(after):
        return None
    if _SELF_DO.match(after):
        return WEAK_DO
    return WEAK_DONT if _SELF_DONT.match(after) and len(after) > 2 else None


_USE: Final = r"(?:用|使用|写|说|讲|回答|回复|叫|加|发|推荐|提|联系|打电话|安排|放|出现|吃|喝|问|聊|带|列|引用|翻译|称呼|发送|开|做)"
_NOT_ASKED: Final = re.compile(r"[吗么？?]\W*$|能不能|可不可以")
_MAY: Final = re.compile(
    rf"(?:现在|以后|今后|从现在起|那|好了?|你|您|又|也|就|还是)*(?:可以|能|允许|准许)(?:再|重新|继续|又|恢复|开始|随便)+\s*\S"
    rf"|(?:现在|以后|今后|你|您|又|也|就)*(?:可以|允许|准许|能)(?:你)?{_USE}.*了\W*$"
    rf"|(?:现在|以后|又|你|您)+(?:可以|能){_USE}"
    rf"|(?!我|他|她)[^，。]{{1,20}}?(?:又|现在|以后|也)(?:可以|能)(?:再|重新|随便)?{_USE}?(?:了|的)?\W*$"
    r"|.*(?:跟我|对我|和我|给我).*(?:没关系|没问题|无所谓)的?\W*$"
    rf"|(?!我|他|她)[^，。]{{1,20}}?(?:可以|能)(?:再|重新|恢复)*{_USE}了\W*$|[^，。我他她]{{1,20}}?(?:可以|能)(?:用|使用)(?:的|了)?\W*$|恢复(?:使用)?\s*\S"
    rf"|(?:用|使用|写|加|发|说)[^，。]{{1,20}}?(?:也行|也可以|也没关系|没关系|也没问题|没问题|无所谓|都行)了?\W*$"
)
_SELF_AGAIN: Final = re.compile(
    r"我(?:现在|又)+(?:可以|能|开始)?(?:吃|喝|用|坐|去|接受)|我(?:可以|能)(?:再|重新|继续)?(?:吃|喝|用).*了\W*$"
)
_NEEDLESS: Final = re.compile(
    r"(?:以后|今后|现在|你|您|也|就|都)*(?:不用|不必|不需要|无需|无须|没必要|用不着|不要求)(?:再|每次|总是|一直|非得|一定|非要|都)+\s*\S"
    r"|(?:以后|今后|现在|你|您|也|就|都)*(?:不用|不必|不需要|无需|没必要|用不着)(?!谢|客气|担心|管我|急|麻烦|说了|想|怕|了|太)\S.*了\W*$"
    r"|.{0,20}?(?:不再(?:是)?(?:需要|要求|必须|必要)|不是必须|不一定要|不是非得)"
)
_RULE: Final = r"(?:限制|要求|规定|规则|禁令|约束|指令|设定|条件)"
_UNDO: Final = r"(?:取消|解除|撤销|撤回|忘掉|忘了|忽略|作废|收回|去掉|废除|不算|失效|不用管|不作数|不用遵守)"
_CANCEL: Final = re.compile(
    rf"(?:请|把|现在|那|就|可以|我|你|您)*{_UNDO}.*{_RULE}(?:吧|了)?\W*$|.*{_RULE}(?:可以|就|都|全部|全都|现在|也|已经)*{_UNDO}(?:了|吧|掉)*\W*$"
)
_ALL_MINE: Final = re.compile(r"(?:所有|全部|一切|都|全)")


def _lifted(clause: str) -> Reading | None:
    if _NOT_ASKED.search(clause):
        return None
    if _CANCEL.match(clause) and not _OTHERS.search(re.sub(r"规定|已经|说", "", clause)):
        bare = re.sub(
            rf"{_UNDO}|{_RULE}|我?(?:之前|刚才|前面|上面|以前|先前)(?:说|提|讲)?过?的?|那条|这条|那个|这个|把|请|吧|了|的|所有|全部|一切|都|全|可以|就|我|说|你|\W",
            "",
            clause,
        )
        if bare:
            return CANCEL
        return CANCEL_ALL if _ALL_MINE.search(clause) and "我" in clause else CANCEL_LAST
    bare = _without_filler(clause)
    if _NEEDLESS.match(bare):
        return ALLOW if re.search(r"避免|回避", bare) else RELEASE
    if (
        _MAY.match(bare)
        and not re.search(r"可以(?:开始|走|吃饭|睡|了$)|只(?:能|可以)|不(?:能|可以)|才(?:能|可以)", bare)
    ) or _SELF_AGAIN.match(bare):
        return ALLOW
    return None


def _without_filler(clause: str) -> str:
    return re.sub(r"^(?:好的?|嗯+|哦+|那么?|行|对了|另外|其实|算了|不过|但是?|ok|okay|\W)+", "", clause)
