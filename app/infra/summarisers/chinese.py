"""How a Chinese clause is read: as a constraint, as the end of one, or as neither.

A marker (不要, 必须 ...) is looked for where it can be one (别 in 特别 and 别人 is none). What stands before it says
whom it binds: nobody or 你 is the reader, a scope ("写报告时") changes nothing, 我 is the user, others are left out.
"""

import re
from typing import Final

from app.infra.summarisers.chinese_lifting import lifted
from app.infra.summarisers.kinds import DO, DONT, WEAK_DO, WEAK_DONT, Reading

_TRIGGER: Final = re.compile(
    r"随便|语气|又|不要|别|禁止|不准|不许|不得|不能|不可|勿|严禁|避免|杜绝|必须|务必|一定|只|仅限|都|始终|永远|每次|"
    r"一律|总是|"
    r"确保|记得|记住|不该|不应|"
    r"用|叫我|称呼我|喊我|可以|不必|不需要|无需|没必要|取消|解除|撤销|忘掉|忽略|作废|规定|要求|规则|限制|以后|今后|"
    r"从现在|简短|简洁|简单|精简|"
    r"详细|正式|口语|礼貌|直接|说中|说英|尽量|停止|不想|拒绝|我不|我只|我从|我又|我讨厌|我忌|不吃|不喝|恢复|也行|"
    r"没关系|无所谓|统一|超过|低于|少于|控制在|至多|最多|至少|never|must|always|only|don't",
)
_LEAD: Final = re.compile(
    r"(?:请你们?|请您|请|麻烦(?:你|您)?|拜托(?:你|您)?|劳驾|我?希望(?:你|您)?|我(?:要求|要|想让|需要)(?:你|您)|另外|"
    r"此外|还有|再有|"
    r"以后|今后|往后|日后|从现在(?:开始|起)?|从今(?:天|以后|往后)?(?:开始|起)?|从此以?后?|接下来|后续|记住了?|"
    r"请记住|记得|记着|注意|"
    r"切记|那么?|所以|但是?|不过|而且|并且|同时|然后|好的?|嗯+|哦+|啊|哎|对了|其实|总之|首先|其次|最后|"
    r"第[一二三四五六]点?|再次强调|"
    r"强调一下|再说一遍|说一下|提醒一下|重申|说好了|千万|绝对|一定|就|也|都|最好|尽量|真的|咱们?|大家|对我|给我|"
    r"跟我|和我|(?:你|您)们?|"
    r"please|pls|ok|and|but|also|一直|始终|永远|每次|全程|统统|全都?|一概|再|又|还是?|可|[^\w]+)+",
)
_OTHERS: Final = re.compile(
    r"[他她它谁]|人家|别人|有人|有些人|大人|老板|领导|经理|主管|同事|老师|医生|大夫|朋友|同学|学生|客户|客人|乘客|"
    r"游客|员工|司机|邻居|房东|"
    r"爸|妈|爷|奶奶|外公|外婆|哥|姐|弟|妹|老公|老婆|丈夫|妻子|儿子|女儿|孩子|小孩|对象|政府|警察|公司|学校|医院|"
    r"国家|法律|说(?!话|明|法)|告诉|觉得|"
    r"认为|以为|问|听|据|讲过|写着|标着|贴着|规定|曾|已经|被|因为|由于|难道|怎么|何必|干嘛|为什么|为啥|如果|要是|"
    r"是否|是不是|要不|不是|并非|并不|没有",
)
# Whom something goes to, and whose it is: nobody who is bound by it.
_ADDRESSEE: Final = re.compile(
    r"(?:发给|写给|给|对|跟|向|替|和)(?:我的?)?(?:老板|领导|经理|主管|同事|老师|朋友|客户|客人|家人|爸妈|爸爸|妈妈|"
    r"别人|[他她]们?)的?|(?:客户|老板|同事|朋友)的",
)
_SCOPE: Final = re.compile(
    r"(?:时|时候|的话|里|里面|中|内|上|下|前|后|方面|部分|场合|情况)(?:也|都|就|则|请|你|您)*$|^(?:在|对|关于|除|"
    r"凡是|每)",
)
_PRODUCT: Final = re.compile(
    r"回答|回复|答复|答案|回应|输出|内容|报告|邮件|文章|文档|代码|注释|标题|正文|摘要|总结|翻译|译文|表格|图表|图片|"
    r"列表|句子|段落|结果|"
    r"对话|聊天|消息|称呼|名字|日期|时间|数字|数据|单位|金额|价格|预算|计划|行程|方案|会议|函数|变量|文件|日志|接口|"
    r"数据库|文字|措辞|语气|格式|任何|所有|全部|一切|每",
)
_LONGEST_SUBJECT_CHARS: Final = 12

# Markers, where they aren't part of another word, and not before what makes an idiom of them.
_COMFORT: Final = r"担心|客气|难过|着急|生气|紧张|误会|介意|灰心|放弃|伤心|害怕|在意|多想|想太多|怕|急|哭|慌"
# Each begins with the characters that it can begin with: that is what makes it quick.
_DONT: Final = re.compile(
    rf"(?=[不别禁严切请勿杜避停nd])(?:(?<!要)(?<!想)不要(?!紧|太(?:好|棒|爽|美|香|酷|厉害|可爱)|脸|钱|命|忘|不要|这[么样]说|{_COMFORT})"
    r"|(?<![特区分差性级类个告离识鉴辨派道久作送惜阔有另各])别"
    rf"(?![人的处墅名致扭针看样国家离]|提(?:了|多|有多)|忘|无|具|出心裁|闹|逗|瞎|开玩笑|说了?$|吵了?$|走了?$|动$|{_COMFORT}"
    r"|[这那]么(?:说|想|讲|客气|伤心|难过|急|紧张|担心))"
    r"|禁止|严禁|不准(?!确|时|备)|不许|不得(?!不|了|已|而知|劲|体|志)|切勿|请勿|勿(?!忘)|杜绝|避免|(?<!一)不应该"
    r"|(?<!应)不该(?!说|这样|那样)|(?<!能)不可以|不能(?!.{0,2}怪|更|再\w了|不|理解|相信|想象|否认|忍受|接受你|"
    r"再这样下去|同意|确定|怪|算)"
    r"|停止(?!了)|不想(?=看到|听到|收到|再看|再听|要|被)|(?:never|don't|do not)(?=\s*[\u4e00-\u9fff]))",
)
_DO: Final = re.compile(
    r"(?=[必务一只仅改统以今往之每都全始总永确别不勿切mao])(?:(?<!不)(?<!是否)必须(?!的$|啊$|得去了|承认)|务必"
    r"|(?<!不)一定(?:要|得|记得)(?![来去看试尝]|幸福|加油|好好|保重|照顾|注意身体|开心|快乐|坚强)"
    r"|只(?:能|准|许|可以)(?!说(?![中英汉普粤日])|这样|如此|算|等|认|靠|眼|放弃|作罢|怪|是|有)|仅限|(?:改|"
    r"统一)用(?!了)|改成(?!了)"
    r"|(?:以后|今后|往后|之后)(?:都|一律|每次|全部|统一)(?!会|是|没|有|不会|能|好|忘)|一律"
    r"|每次.{0,12}都(?=请|要|得|带|写|用|附|给|注|标|加|先|提|列)"
    r"|(?:都|全部|统一|一直|始终|每次|总是|永远)(?:要|得|用|请|须|应)(?!死|命|求|是)|确保"
    r"|(?:别|不要|勿|切勿)忘(?:了|记)?(?!我|带走)"
    r"|只(?:用|写|推荐|回答|看|发|给|买|订|吃|喝|考虑|选|使用|显示|列|谈|讨论|接受|保留|讲|说|聊|做"
    r"|想要|要(?!努力|是|不|有|能|我|你|他|她|一|肯|够|再|想))(?!了|过|完|好了|的是)"
    r"|(?:must|always|only)(?=\s*[\u4e00-\u9fff]))",
)
# How much of something there may be: 不超过三百字, 控制在三句以内.
_LIMIT: Final = re.compile(
    r"(?:不(?:要|能|得)?(?:超过|多于|低于|少于|晚于|早于)|控制在|限制在|至多|最多|"
    r"至少)(?=.{0,6}[\d一二三四五六七八九十百千万两半])",
)
_THERE: Final = re.compile(r"^(?:[那这](?:家|里|边|儿|座)|店|公园|景区|商场|博物馆|小区|地铁|飞机上|图书馆)")
_IDLE_DUTY: Final = re.compile(r"走|说|承认|去了|感谢|道歉|得|很遗憾|等|认|祝")
_MINE: Final = re.compile(r"我们?(?:的\w{1,6}|\w{0,4})")
_PAST: Final = re.compile(r"小时候|以前|当时|那时|曾经?|从前|昨天|上次|去年")
_HOW_OFTEN: Final = r"(?:从来?|都|真的|绝对|也|现在|目前|平时|一般|晚上|早上|周末|暂时)*"
_SELF_DONT: Final = re.compile(
    rf"{_HOW_OFTEN}(?:不(?:吃|喝|用|抽|喜欢|想要|要|接|坐|穿|收|爱吃|希望|能(?:吃|喝|用|碰|坐|接受|熬|超过|晚于|"
    rf"早于|有))|"
    r"不可以(?:吃|喝)|不想(?:看到|听到|收到|被|再看|再听)|讨厌|忌)\S",
)
_SELF_DO: Final = re.compile(
    rf"{_HOW_OFTEN}(?:只(?:吃|喝|用|坐|接受|要|看|能(?!说|这|等|靠|认)|会|住|穿|说|想)(?!了|过|是|好)|"
    r"必须(?!走|说|承认|得走|去了|感谢|道歉))",
)

_LANGUAGE: Final = (
    r"(?:中文|英文|英语|汉语|普通话|粤语|日文|日语|韩文|韩语|法文|法语|德文|德语|西班牙语|俄语|意大利语|葡萄牙语|"
    r"阿拉伯语|简体字?|繁体字?|english|chinese)"
)
_STYLE: Final = r"(?:简短|简洁|简单|精简|简明|详细|正式|口语化?|礼貌|客气|直接|随意|轻松|活泼|严肃)"
_MANNER: Final = re.compile(
    rf"(?:只|都|全部|一律|统一)?用\s*{_LANGUAGE}|(?:说|讲|写){_LANGUAGE}(?:吧|就行|就好|就可以)?$"
    r"|(?:叫|称呼|喊)我(?:为|做|作)?\s*(?!去|来|起床|吃|做|干|怎么|什么|走|回|别|不|妈|爸|们|的|一声|帮|过|等|把|写|"
    r"买)\w{1,10}|(?:回答|回复|答案|输出|内容|说话|解释|总结|语气)?(?:请|要|得|尽量|保持|再|更|应该)*"
    rf"{_STYLE}(?:一?点儿?|一些|些|就行|就好|就可以)+(?:吧|哦|啊)?$"
    rf"|(?:回答|回复|答案|输出|语气)(?:请|要|得|尽量|保持|应该)+{_STYLE}|用{_STYLE}|(?:改|统一|全部|全都|都|一律|"
    rf"尽量)用\s*\S|"
    rf"要用(?!到|的|得)\S",
)
_FROM_NOW: Final = re.compile(r"(?:以后|今后|往后|从现在(?:开始|起)?|从今(?:天|以后|往后)?(?:开始|起)?)")
_OPENING_CHARS: Final = 12
_ACT: Final = re.compile(
    r"在|对|把|给|先|每次|每天|凡是|遇到|涉及|提到|写|用|说|回|叫|称|发|加|按|以|让|帮|推荐|安排|提醒|附|标|列|放|"
    r"保留|使用|翻译|总结|请|改|换|记|查|问",
)
_NOT_NOW: Final = re.compile(r"再说|再看|再聊|再议|[吗呢？?]\W*$")
_TAG: Final = re.compile(
    r"\W*(?:好吗|好不好|行吗|行不行|可以吗|可不可以|好么|行么|知道吗|知道了吗|明白吗|明白了吗|懂吗|懂了吗|记住了吗|"
    r"ok吗|ok|吧|嗯)?\W*",
)
_POLITE: Final = re.compile(r"^(?:好的?|嗯+|哦+|那么?|对了|另外|其实|ok|\W)+")
_REQUEST: Final = re.compile(
    r"(?:请问)?(?:你|您)?(?:以后|今后)?(?:你|您)?(?:能不能|可不可以|能否|可否|是否可以|可以|能)(?:请|麻烦)?(?:你|您)?"
    r"(?:以后|今后|从现在起)?请?",
)
_REMINDS: Final = re.compile(
    r"我(?:不是|难道没有?|没)?(?:已经|刚才|刚刚|之前|早就|都)?(?:说|讲|强调|要求|提醒|告诉)(?:过|了)?(?:你|"
    r"您)?(?:了|过)?要?",
)
_ASKS: Final = re.compile(
    r"(?=[吗么呢为怎是难谁哪几多])(?:(?:吗|(?<![什怎这那多])么|呢)\W*$|为什么|为啥|怎么(?!样)|是不是|是否|难道|谁(?!都)|"
    r"哪(?:里|个|些|位)(?!都)|几点(?!都)|多少(?!都))",
)
_PLEA: Final = re.compile(r"(?:好不好|好吗|好么|行不行|行吗|可以吗)\W*$")
_QUESTION_ENDING: Final = re.compile(r"(?:吗|么|呢|好不好|行不行|可不可以|吧)?\W*$")
_ASKED_BAN: Final = re.compile(r"再?(?:不要|别|不(?!能|可|会|知)|停止|避免)")
_ASKED_WISH: Final = re.compile(r"都|一直|始终|每次|只|总是|一律|必须")


def mentions(plain: str) -> bool:
    """Whether a sentence or clause may bind at all; where not, nothing else need be asked."""
    return bool(_TRIGGER.search(plain))


def read(clause: str) -> Reading | None:
    """Return how the clause is read, or None. It is a statement: what is asked goes to `requested`."""
    found = lifted(clause) or _marked(_REMINDS.sub("", clause, count=1) if _REMINDS.match(clause) else clause)
    if found:
        return found
    rest = _without_lead(clause)
    if rest.startswith("我") and not rest.startswith(("我的", "我们的")):
        return _self(rest)
    if _MANNER.match(rest):
        return DO
    is_standing = _FROM_NOW.search(clause, 0, _OPENING_CHARS) and not _NOT_NOW.search(clause)
    return DO if is_standing and (_ACT.match(rest) or "请" in clause) else None


def requested(clause: str) -> Reading | None:
    """Return how a question is read that asks for something of the reader ("能不能别用缩写？"), None for others."""
    if _REMINDS.match(clause):
        return _marked(_REMINDS.sub("", clause, count=1))
    plea = _PLEA.search(clause)
    if plea and (marked := _marked(clause[: plea.start()])):
        return marked
    polite = _POLITE.sub("", clause)
    match = _REQUEST.match(polite)
    if match is None:
        return None
    rest = _QUESTION_ENDING.sub("", polite[match.end() :])
    if _ASKED_BAN.match(rest):
        return DONT
    return DO if _ASKED_WISH.match(rest) or _MANNER.match(rest) else None


def is_standing(clause: str) -> bool:
    """Whether the clause is nothing but "从现在开始" or its like and belongs to the next."""
    return bool(_FROM_NOW.fullmatch(clause.strip()))


def asks(clause: str) -> bool:
    """Whether the clause is a question, with or without its mark."""
    return bool(_ASKS.search(clause))


def is_tag(clause: str) -> bool:
    """Whether the clause only makes a question of the sentence before it: "好吗"."""
    return bool(_TAG.fullmatch(clause))


def _without_lead(clause: str) -> str:
    lead = _LEAD.match(clause)
    return clause[lead.end() :] if lead else clause


def _marked(clause: str) -> Reading | None:
    for pattern, strong, weak in ((_DO, DO, WEAK_DO), (_DONT, DONT, WEAK_DONT)):
        for match in pattern.finditer(clause):
            after = clause[match.end() :]
            whom = _bound(clause[: match.start()], after)
            if whom is not None and after.strip(" 了吧啊哦。!！.…~"):
                return strong if whom else weak
    limit = _LIMIT.search(clause)
    return DO if limit and _bound(clause[: limit.start()], clause[limit.end() :]) else None


def _bound(before: str, after: str) -> bool | None:
    """Return True where the reader is bound, False where the user or their affairs are, None where someone else is."""
    rest = _without_lead(before)
    if not rest:
        return True
    rest = _ADDRESSEE.sub("", rest)
    if _OTHERS.search(rest) or _OTHERS.match(after) or _PAST.search(rest) or _THERE.match(before):
        return None
    if rest.startswith(("我", "本人", "咱")):
        return None if _IDLE_DUTY.match(after) or not _MINE.fullmatch(rest) else False
    if _SCOPE.search(rest) or _PRODUCT.search(rest):
        return True
    return False if len(rest) <= _LONGEST_SUBJECT_CHARS else None


def _self(rest: str) -> Reading | None:
    """Read what follows 我: what users do, don't do and can't do; not what they feel and plan."""
    after = rest.removeprefix("我").removeprefix("们")
    if _PAST.match(after):
        return None
    if _SELF_DO.match(after):
        return WEAK_DO
    return WEAK_DONT if _SELF_DONT.match(after) else None
