"""The words that topics are made of: values that exclude each other, things with a name in both languages, filler."""

from typing import Final

from app.infra.summarisers.kinds import word_set

# Of one kind only one holds: who asks for Chinese after English wants no English any more.
VALUES: Final[dict[tuple[str, str], str]] = {
    (
        "spelling",
        "british",
    ): "british english, uk english, british spelling, uk spelling, british, 英式英语, 英式拼写, 英式",
    ("spelling", "american"): "american english, us english, american spelling, american, 美式英语, 美式拼写, 美式",
    ("script", "simplified"): "simplified chinese, simplified, 简体中文, 简体字, 简体",
    ("script", "traditional"): "traditional chinese, traditional, 繁体中文, 繁体字, 繁体",
    ("language", "en"): "english, 英文, 英语",
    ("language", "zh"): "chinese, mandarin, 中文, 汉语, 普通话, 国语",
    ("language", "yue"): "cantonese, 粤语, 广东话",
    ("language", "ja"): "japanese, 日文, 日语",
    ("language", "ko"): "korean, 韩文, 韩语",
    ("language", "fr"): "french, 法文, 法语",
    ("language", "de"): "german, 德文, 德语",
    ("language", "es"): "spanish, 西班牙语, 西班牙文",
    ("language", "it"): "italian, 意大利语, 意大利文",
    ("language", "pt"): "portuguese, 葡萄牙语, 葡语",
    ("language", "ru"): "russian, 俄文, 俄语",
    ("language", "ar"): "arabic, 阿拉伯语, 阿拉伯文",
    ("format", "json"): "json",
    ("format", "yaml"): "yaml, yml",
    ("format", "xml"): "xml",
    ("format", "csv"): "csv",
    ("format", "markdown"): "markdown",
    ("format", "html"): "html",
    ("format", "latex"): "latex",
    ("format", "plain"): "plain text, 纯文本",
    ("units", "metric"): "metric, 公制",
    ("units", "imperial"): "imperial, 英制",
    ("degrees", "celsius"): "celsius, 摄氏度, 摄氏",
    ("degrees", "fahrenheit"): "fahrenheit, 华氏度, 华氏",
    ("length", "short"): "short, shorter, brief, briefly, concise, concisely, terse, 简短, 简洁, 简单, 精简, 简明",
    ("length", "long"): "long, longer, detailed, in detail, verbose, thorough, in depth, 详细, 详尽",
    ("tone", "informal"): "informal, informally, casual, casually, colloquial, 口语化, 口语, 随意, 大白话",
    ("tone", "formal"): "formal, formally, 正式, 书面语",
    ("diet", "vegetarian"): "vegetarian, vegan, meatless, plant based, 素食, 吃素, 素菜, 素的, 全素",
    ("diet", "meat"): "meat, non vegetarian, 肉食, 肉类, 肉, 荤菜, 荤食, 荤, 非素食",
    ("price", "low"): "cheap, cheaper, inexpensive, affordable, 便宜, 平价",
    ("price", "high"): "expensive, pricey, 昂贵, 贵的, 高价",
    ("indent", "tabs"): "tabs",
    ("indent", "spaces"): "spaces",
}

# One name for what is called differently, in either language.
THINGS: Final[dict[str, str]] = {
    "abbreviation": "abbreviation, abbreviations, abbreviate, abbreviating, abbreviated, 缩写, 简称, 缩略语",
    "emoji": "emoji, emojis, emoticon, emoticons, smiley, smileys, 表情符号, 表情包, 表情, 颜文字",
    "table": "table, tables, 表格",
    "list": "bullet points, bullet point, bullets, bulleted lists, bullet lists, lists, list, 列表, 要点, 项目符号",
    "heading": "headings, heading, headers, titles, title, 标题, 小标题",
    "footnote": "footnotes, footnote, 脚注",
    "word": "words, word, 字数, 字",
    "sentence": "sentences, sentence, 句话, 句子, 句",
    "code": "code, 代码",
    "font": "font, fonts, 字体",
    "writing": "文字",
    "hotel": "hotel, hotels, 酒店, 旅馆, 宾馆",
    "bar": "bar, bars, 酒吧",
    "comment": "comments, comment, 注释",
    "source": "sources, source, citations, citation, cite, citing, references, 来源, 出处, 引用",
    "joke": "jokes, joke, joking, humour, humor, 笑话, 玩笑, 幽默",
    "slang": "slang, 俚语, 网络用语",
    "jargon": "jargon, technical terms, 术语, 行话",
    "question": "questions, question, 问题, 反问, 追问",
    "apology": "apologise, apologize, apologies, apologising, apologizing, apology, 道歉",
    "date": "dates, date, 日期",
    "name": "names, name, 名字, 姓名",
    "email": "emails, email, mails, mail, 邮件, 邮箱",
    "phone": "phone, telephone, phones, 电话, 手机",
    "report": "reports, report, 报告",
    "summary": "summaries, summary, 总结, 摘要",
    "number": "numbers, figures, 数字",
    "example": "examples, example, 例子, 示例, 举例",
    "link": "links, link, urls, url, 链接, 网址",
    "image": "images, image, pictures, picture, 图片",
    "meeting": "meetings, meeting, 会议, 开会",
    "budget": "budget, 预算",
    "eat": "eat, eats, eating, 吃",
    "drink": "drink, drinks, drinking, 喝",
    "nut": "nuts, nut, 坚果",
    "restaurant": "restaurants, restaurant, 餐厅, 餐馆, 饭店, 饭馆",
    "recommend": "recommend, recommending, recommendations, recommendation, suggest, suggesting, suggestions, 推荐",
    "peanut": "peanuts, peanut, 花生",
    "seafood": "seafood, 海鲜",
    "spicy": "spicy, 辣",
    "pork": "pork, 猪肉",
    "alcohol": "alcohol, 酒精, 酒",
    "dash": "em dashes, em dash, dashes, 破折号",
    "exclamation": "exclamation marks, exclamation mark, exclamation points, 感叹号",
    "honorific": "honorifics, honorific, 敬语, 尊称",
}

# Said about nearly every answer: what is left when these are gone decides, unless nothing is left.
GENERIC: Final = word_set("""
    answer reply respond response write speak talk chat say tell output message text conversation thing everything
    anything something stuff give show keep make limit rule restriction ban 回答 回复 答复 说话 回应 交流 沟通 聊天
    内容 输出 对话





""")

ENGLISH_FILLER: Final = word_set("""
    a an the this that these those it its and or nor but so also then to of in on at for with from by as into about
    than i me my mine we us our you your yours he she they him his her them their who which what when whenever while
    if unless is are be been being am was were do does did don't dont doesn't not no never ever only always must
    mustn't may might can can't cannot could couldn't will won't would should shouldn't shall have has had need
    needn't want wanted allow allowed permit permitted forbidden prohibited banned required mandatory ok okay fine
    free feel go ahead again now anymore any more longer all each every everyone everybody some please pls plz kindly
    just really very too even still yet future forward henceforth today onward onwards time times sure ensure
    remember note avoid stop quit refrain use using used uses make keep let it's i'm i'd you're there there's like
    start starting such after before during sometimes actually instead rather well oh yes yeah much many bit way same
    up out back once welcome forget ignore drop lift cancel disregard remove supposed strictly absolutely under
    circumstances whatsoever ask anything mind here new said told asked earlier thanks thank i've i'll changed
    applies apply





""")

# Taken out of Chinese before it is cut into pairs of characters; longer ones first.
CHINESE_FILLER: Final = sorted(
    word_set("""
    不 所以 因此 请 麻烦 拜托 谢谢 谢了 以后 今后 往后 从现在开始 从现在起 从今以后 从今天起 现在 接下来 记住 记得
    注意 切记 千万 一定要 一定 绝对 务必 必须 只能 只准 只许 只可以 只要 只用 只 不要 不准 不许 不得 不能 不可以 不可
    不该 不应该 不再 不用 不必 不需要 无需 没必要 别 禁止 严禁 切勿 请勿 勿 避免 停止 可以 允许 能 可 再 重新 继续
    恢复 又 也 都 就 还 很 最好 尽量 尽可能 一律 始终 永远 一直 每次 总是 任何 所有 全部 一切 每个 每 使用 采用 改用
    用 出现 包含 写明 注明 标明 写 说 加上 给 对 跟 和 与 或者 或 及 以及 把 被 让 叫 用到 提到 我们 我 你们 你 您
    咱们 的 地 得 了 着 过 吧 啊 哦 呢 嘛 吗 呀 在 里面 里 时候 时 之前 之后 后面 是 有 会 要 想 希望 这个 那个 这条
    那条 这 那 一点 一些 一下 一个 些 个 太 更 比较 方式 形式 随便 语气 没关系 没问题 无所谓 之前说的 刚才 限制 要求
    规定 规则 禁令 约束 取消 解除 作废 忘掉 忽略 撤销 开始 而 但 如果 的话 需要



    """),
    key=lambda word: (-len(word), word),
)
