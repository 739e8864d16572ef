"""Messages of users and how each stands to the task before it, labelled by hand. Of each pair of lines the first may be used to tune
the rules (`TUNED`), the second only to measure them (`HELD_BACK`).

A case: goal of the task, the last reply, the message, minutes since, and what it is: r(evision), f(ollow-up), n(ew task).
"""

from __future__ import annotations

from typing import NamedTuple


class Case(NamedTuple):
    goal: str
    reply: str
    message: str
    minutes: float
    label: str


_EN = """
Install numpy in the project | I installed numpy 2.1 with pip. | No, I asked for version 1.26. | 1 | r
Write a function that parses dates | Here is parse_date(), it reads ISO dates. | That's wrong, it fails on leap years. | 2 | r
Fix the failing login test | I changed the mock and the test passes. | It still fails on my machine. | 5 | r
Deploy the web service to staging | Deployed build 41 to staging. | You deployed the wrong branch. | 3 | r
Summarise this article about whales | The article says whales migrate. | That's not what I meant, focus on the diet. | 2 | r
Rename the column user_id to owner | Done, the migration is in 0042. | Undo that please, it broke the reports. | 6 | r
Translate the letter into French | Voici la lettre. | Not quite. Use the formal form of address. | 1 | r
Restart the nginx server | nginx was restarted. | Nope, the site is still down. | 2 | r
Convert the CSV to JSON | The file data.json has 300 rows. | You forgot the header row. | 4 | r
Make the tests faster | I now run them in parallel with xdist. | That made it worse, now they hang. | 10 | r
Draft an email to the landlord | Dear Mr Hill, ... | Too long. Make it three sentences. | 1 | r
Set up the linter | ruff is configured with the defaults. | I said line length 100, not 88. | 1 | r
Plot the sales of last year | The plot is in sales.png. | The axis labels are wrong. | 2 | r
Find the memory leak | The cache in session.py never shrinks. | Are you sure? I still see the same growth after your fix. | 15 | r
Create a user for Anna | User anna was created with role admin. | She shouldn't be an admin! | 1 | r
Update the dependencies | All 14 packages are at their newest version. | Revert the upgrade of pydantic, it breaks the API. | 8 | r
Book a table for four | Booked at Luigi's, Friday 7 pm. | Wait, I meant Saturday. | 1 | r
Refactor the parser module | I split parser.py into three files. | It doesn't compile anymore: ImportError in lexer.py | 3 | r
Set the thermostat to 20 degrees | It is at 20 degrees now. | Actually I wanted 22. | 1 | r
Compress the images in static/ | 58 images are smaller by 40 %. | They look awful now, use a higher quality | 2 | r
Install numpy in the project | I installed numpy 2.1 with pip. | Also add pandas please. | 1 | f
Write a function that parses dates | Here is parse_date(), it reads ISO dates. | Can it handle time zones? | 2 | f
Fix the failing login test | I changed the mock and the test passes. | Great. Now commit it and push. | 5 | f
Deploy the web service to staging | Deployed build 41 to staging. | What's the URL? | 3 | f
Summarise this article about whales | The article says whales migrate. | And how far do they swim? | 2 | f
Rename the column user_id to owner | Shall I also rename it in the views? | Yes, and in the indexes. | 1 | f
Translate the letter into French | Voici la lettre. | Thanks, that's perfect! | 4 | f
Restart the nginx server | nginx was restarted. | ok | 1 | f
Convert the CSV to JSON | The file data.json has 300 rows. | Then upload data.json to the bucket. | 4 | f
Make the tests faster | I now run them in parallel with xdist. | How much faster are they? | 10 | f
Draft an email to the landlord | Dear Mr Hill, ... Which date should I name? | The 14th of March. | 1 | f
Set up the linter | ruff is configured with the defaults. | Why not flake8? | 1 | f
Plot the sales of last year | The plot is in sales.png. | Could you do the same for 2023? | 2 | f
Find the memory leak | The cache in session.py never shrinks. | Add a limit of 1000 entries to it. | 5 | f
Create a user for Anna | User anna was created with role admin. | Send her the password as well. | 1 | f
Update the dependencies | There are 14 outdated packages. Update all or only security fixes? | Only the security fixes | 8 | f
Book a table for four | Booked at Luigi's, Friday 7 pm. | Put it into my calendar too. | 1 | f
Refactor the parser module | I split parser.py into three files. | Next, write tests for the lexer. | 3 | f
Set the thermostat to 20 degrees | It is at 20 degrees now. | And the one upstairs? | 1 | f
Compress the images in static/ | 58 images are smaller by 40 %. | Continue with the images in media/ | 2 | f
Debug the payment webhook | The signature check fails because the secret is stale. | What does "the secret is stale" mean? | 2 | f
Write a blog post about tea | Here is a draft on green tea. | Make the introduction of the draft shorter. | 7 | f
Set up a cron job for the backup | The backup runs at 3 am daily. | Show me the crontab entry. | 2 | f
Analyse the log file | There are 312 errors, mostly timeouts. | Which host do the timeouts come from? | 3 | f
Prepare the release 2.4 | The changelog and the tag are ready. | go ahead and publish it | 12 | f
Install numpy in the project | I installed numpy 2.1 with pip. | Write a haiku about autumn leaves. | 1 | n
Write a function that parses dates | Here is parse_date(), it reads ISO dates. | What's the weather in Lisbon tomorrow? | 2 | n
Fix the failing login test | I changed the mock and the test passes. | New task: draft the agenda for Monday's meeting. | 5 | n
Deploy the web service to staging | Deployed build 41 to staging. | Thanks! Something else: how do I descale a kettle? | 3 | n
Summarise this article about whales | The article says whales migrate. | Please set up PostgreSQL replication between two hosts. | 9 | n
Rename the column user_id to owner | Done, the migration is in 0042. | Different topic - can you recommend a bike for commuting? | 2 | n
Translate the letter into French | Voici la lettre. | Calculate the monthly rate of a loan of 20000 euros over five years. | 15 | n
Restart the nginx server | nginx was restarted. | Find flights from Vienna to Porto in June. | 4 | n
Convert the CSV to JSON | The file data.json has 300 rows. | Let's move on to the invoice generator. | 4 | n
Make the tests faster | I now run them in parallel with xdist. | Please book a dentist appointment for Thursday. | 45 | n
Draft an email to the landlord | Dear Mr Hill, ... | I have another question: what does a heat pump cost? | 1 | n
Set up the linter | ruff is configured with the defaults. | Explain how photosynthesis works to a child. | 50 | n
Plot the sales of last year | The plot is in sales.png. | Write unit tests for the checkout module | 200 | n
Find the memory leak | The cache in session.py never shrinks. | Forget it. Help me write a birthday card for my aunt instead. | 5 | n
Create a user for Anna | User anna was created with role admin. | Next task: clean up the downloads folder. | 1 | n
Update the dependencies | All 14 packages are at their newest version. | Good morning! Could you check my calendar? | 900 | n
Book a table for four | Booked at Luigi's, Friday 7 pm. | Compile the kernel module with debug symbols. | 30 | n
Refactor the parser module | I split parser.py into three files. | Thank you. Now for something completely different: plan a week of vegetarian dinners. | 3 | n
Set the thermostat to 20 degrees | It is at 20 degrees now. | How tall is the Eiffel Tower? | 6 | n
Compress the images in static/ | 58 images are smaller by 40 %. | Unrelated: which licence suits a small library? | 2 | n
"""

_ZH = """
在项目里安装numpy | 我用pip装好了numpy 2.1。 | 不对，我要的是1.26版本。 | 1 | r
写一个解析日期的函数 | 这是parse_date()，可以读ISO日期。 | 错了，闰年会出错。 | 2 | r
修复登录测试 | 我改了mock，测试通过了。 | 还是不行，我这边照样报错。 | 5 | r
把网站部署到测试环境 | 已把41号构建部署到测试环境。 | 你部署错分支了 | 3 | r
总结这篇关于鲸鱼的文章 | 文章说鲸鱼会迁徙。 | 我的意思是总结它们吃什么 | 2 | r
把user_id列改名为owner | 好了，迁移在0042里。 | 撤销吧，报表都坏了 | 6 | r
把信翻译成法语 | Voici la lettre. | 不是这样，要用敬称。 | 1 | r
重启nginx服务 | nginx已重启。 | 没用，网站还是打不开 | 2 | r
把CSV转成JSON | data.json有300行。 | 你漏了表头那一行 | 4 | r
让测试跑得更快 | 现在用xdist并行跑。 | 更慢了，而且还卡死了 | 10 | r
给房东写封邮件 | 尊敬的李先生…… | 太长了，改成三句话 | 1 | r
配置代码检查 | ruff已用默认配置。 | 我说的是行宽100，不是88 | 1 | r
画出去年的销售图 | 图在sales.png里。 | 坐标轴标错了 | 2 | r
找出内存泄漏 | session.py里的缓存从不收缩。 | 改了以后还是一样的问题 | 15 | r
给小安建一个用户 | 用户已建好，角色是管理员。 | 她不应该是管理员！ | 1 | r
更新依赖包 | 14个包都已是最新版。 | 把pydantic退回去，接口坏了 | 8 | r
订一张四人的桌子 | 已订好周五晚上七点。 | 等等，我说的是周六 | 1 | r
重构解析模块 | 我把parser.py拆成了三个文件。 | 现在编译不过了，重新改一下 | 3 | r
把温度调到20度 | 已经调到20度。 | 不是，我要22度 | 1 | r
压缩static里的图片 | 58张图片小了四成。 | 画质太差了，重新压一遍 | 2 | r
在项目里安装numpy | 我用pip装好了numpy 2.1。 | 再装一个pandas | 1 | f
写一个解析日期的函数 | 这是parse_date()，可以读ISO日期。 | 它支持时区吗？ | 2 | f
修复登录测试 | 我改了mock，测试通过了。 | 好的，然后提交并推送 | 5 | f
把网站部署到测试环境 | 已把41号构建部署到测试环境。 | 网址是什么？ | 3 | f
总结这篇关于鲸鱼的文章 | 文章说鲸鱼会迁徙。 | 那它们能游多远？ | 2 | f
把user_id列改名为owner | 视图里的也要一起改吗？ | 要的，索引也改 | 1 | f
把信翻译成法语 | Voici la lettre. | 谢谢，太好了！ | 4 | f
重启nginx服务 | nginx已重启。 | 好 | 1 | f
把CSV转成JSON | data.json有300行。 | 接着把data.json传到存储桶 | 4 | f
让测试跑得更快 | 现在用xdist并行跑。 | 快了多少？ | 10 | f
给房东写封邮件 | 尊敬的李先生……日期写哪天？ | 三月十四号 | 1 | f
配置代码检查 | ruff已用默认配置。 | 为什么不用flake8？ | 1 | f
画出去年的销售图 | 图在sales.png里。 | 前年的也画一张 | 2 | f
找出内存泄漏 | session.py里的缓存从不收缩。 | 给这个缓存加上1000条的上限 | 5 | f
给小安建一个用户 | 用户已建好，角色是管理员。 | 顺便把密码发给她 | 1 | f
更新依赖包 | 有14个包过期了，全部更新还是只更新安全补丁？ | 只更新安全补丁 | 8 | f
订一张四人的桌子 | 已订好周五晚上七点。 | 也加到我的日历里 | 1 | f
重构解析模块 | 我把parser.py拆成了三个文件。 | 下一步给词法分析器写测试 | 3 | f
把温度调到20度 | 已经调到20度。 | 楼上那个呢？ | 1 | f
压缩static里的图片 | 58张图片小了四成。 | 继续处理media里的图片 | 2 | f
调试支付回调 | 签名校验失败，因为密钥过期了。 | 密钥过期是什么意思？ | 2 | f
写一篇关于茶的博客 | 这是一篇关于绿茶的草稿。 | 把草稿的开头写短一点 | 7 | f
给备份设一个定时任务 | 备份每天凌晨三点跑。 | 给我看看crontab那一行 | 2 | f
分析日志文件 | 有312个错误，大多是超时。 | 超时来自哪台主机？ | 3 | f
准备2.4版发布 | 更新日志和标签都好了。 | 可以，发布吧 | 12 | f
在项目里安装numpy | 我用pip装好了numpy 2.1。 | 写一首关于秋天的诗 | 1 | n
写一个解析日期的函数 | 这是parse_date()，可以读ISO日期。 | 明天里斯本天气怎么样？ | 2 | n
修复登录测试 | 我改了mock，测试通过了。 | 新任务：起草周一会议的议程 | 5 | n
把网站部署到测试环境 | 已把41号构建部署到测试环境。 | 谢谢！另外一件事，水壶怎么除垢？ | 3 | n
总结这篇关于鲸鱼的文章 | 文章说鲸鱼会迁徙。 | 请在两台主机之间搭建数据库复制 | 9 | n
把user_id列改名为owner | 好了，迁移在0042里。 | 换个话题，推荐一辆通勤自行车 | 2 | n
把信翻译成法语 | Voici la lettre. | 算一下贷款两万欧五年的月供 | 15 | n
重启nginx服务 | nginx已重启。 | 查一下六月从维也纳到波尔图的航班 | 4 | n
把CSV转成JSON | data.json有300行。 | 我们来做下一个任务：发票生成器 | 4 | n
让测试跑得更快 | 现在用xdist并行跑。 | 帮我预约周四看牙医 | 45 | n
给房东写封邮件 | 尊敬的李先生…… | 还有个问题，热泵要多少钱？ | 1 | n
配置代码检查 | ruff已用默认配置。 | 给小孩解释光合作用 | 50 | n
画出去年的销售图 | 图在sales.png里。 | 给结账模块写单元测试 | 200 | n
找出内存泄漏 | session.py里的缓存从不收缩。 | 算了，帮我给姑姑写张生日贺卡吧 | 5 | n
给小安建一个用户 | 用户已建好，角色是管理员。 | 下一个任务：清理下载文件夹 | 1 | n
更新依赖包 | 14个包都已是最新版。 | 早上好！帮我看看日程 | 900 | n
订一张四人的桌子 | 已订好周五晚上七点。 | 编译带调试符号的内核模块 | 30 | n
重构解析模块 | 我把parser.py拆成了三个文件。 | 谢谢。说个别的，安排一周的素食晚餐 | 3 | n
把温度调到20度 | 已经调到20度。 | 埃菲尔铁塔有多高？ | 6 | n
压缩static里的图片 | 58张图片小了四成。 | 问个不相关的，小型库用什么许可证好？ | 2 | n
"""


# Written after the rules stood, in other manners of writing (no punctuation, typos, long messages): when they were first read, the
# rules were right about all three in 62 % of these 108, and about "another task or not" in 85 %. They have been mended since.
_FRESH = """
set up the db | postgres 16 runs on port 5432 | hmm port 5432 is taken by the old one, that's why it crashes. use 5433 | 4 | r
write release notes for v3 | ## v3 - faster search, new icons | the icons were in v2 already, take them out | 3 | r
make the header sticky | header is position: sticky now | on mobile it jumps around like crazy | 6 | r
find me a hotel in graz | Hotel Daniel, 120 EUR | way over my budget... max 80 | 2 | r
order the spare filter | ordered filter F-200 | ours is the F-100 though | 2 | r
write a regex for phone numbers | ^\\+?\\d{6,14}$ | doesnt match (030) 123 | 1 | r
rewrite the intro | The intro now has two paragraphs. | sounds too much like marketing, more neutral pls | 2 | r
calculate the tax | 1,240 EUR | I get 1,310 when I do it by hand | 5 | r
kill the stuck job | job 88 is killed | that was the backup!! job 87 was the stuck one | 1 | r
fix CI | CI is green again | you just deleted the failing test, that's cheating | 3 | r
配置一下代理 | 代理设为8080端口 | 端口应该是1080呀 | 2 | r
写个周报 | 本周完成了三项工作…… | 语气太生硬，领导不会喜欢的 | 3 | r
把日志级别调成debug | 已改为debug | 改的是测试环境，我要的是生产环境 | 4 | r
导出用户表 | users.csv已导出 | 中文全是乱码 | 2 | r
做个PPT | 共12页 | 页数太多，压到6页以内 | 5 | r
set up the db | postgres 16 runs on port 5432 | which user do i log in with | 4 | f
write release notes for v3 | ## v3 - faster search, new icons | mention the new export as well | 3 | f
make the header sticky | header is position: sticky now | lgtm ship it | 6 | f
find me a hotel in graz | Hotel Daniel, 120 EUR | does that include breakfast | 2 | f
order the spare filter | F-100 or F-200? | f-100 | 2 | f
write a regex for phone numbers | ^\\+?\\d{6,14}$ | explain the {6,14} part | 1 | f
rewrite the intro | The intro now has two paragraphs. | now the conclusion | 2 | f
calculate the tax | 1,240 EUR | and with two kids? | 5 | f
kill the stuck job | job 88 is killed | restart it with twice the memory | 1 | f
fix CI | CI is green again | nice!! what was the problem | 3 | f
run the benchmark | 14.2 s, 3 runs | run it once more with --fast | 9 | f
translate to german | Guten Tag | thx | 1 | f
plan a trip to Rome | Day 1: Colosseum ... | we are vegetarians, which restaurants near the Colosseum fit | 12 | f
migrate the blog | 31 posts are migrated | pictures too? | 4 | f
配置一下代理 | 代理设为8080端口 | 重启后还生效吗 | 2 | f
写个周报 | 本周完成了三项工作…… | 加一段下周计划 | 3 | f
导出用户表 | users.csv已导出 | 订单表也导一份 | 2 | f
做个PPT | 共12页 | 第三页配张图 | 5 | f
跑一下benchmark | 14.2秒 | 跟上周比怎么样 | 9 | f
写一个爬虫 | 爬虫写好了，要不要加限速？ | 加，每秒两次 | 2 | f
review一下这个PR | 有三处建议 | 第二处具体怎么改 | 3 | f
部署到k8s | 3个pod都在运行 | 谢啦 辛苦 | 4 | f
set up the db | postgres 16 runs on port 5432 | hey can u recommend a good podcast about history | 4 | n
write release notes for v3 | ## v3 - faster search, new icons | whats 17% of 2390 | 3 | n
make the header sticky | header is position: sticky now | i need a packing list for a week of hiking in norway in september, we sleep in huts | 6 | n
find me a hotel in graz | Hotel Daniel, 120 EUR | ok next thing, our printer says error 0x61, any idea | 2 | n
order the spare filter | ordered filter F-200 | who won the world cup in 1998 | 2 | n
write a regex for phone numbers | ^\\+?\\d{6,14}$ | refactor billing/invoice.py so that VAT is computed in one place | 11 | n
rewrite the intro | The intro now has two paragraphs. | never mind all that, I have an urgent one: the staging server is out of disk space, free some | 2 | n
calculate the tax | 1,240 EUR | Write a cover letter for a junior data analyst position at a hospital. | 25 | n
kill the stuck job | job 88 is killed | remind me to water the plants every tuesday | 35 | n
fix CI | CI is green again | we got a new ticket: users cannot reset their password. please look into it | 15 | n
run the benchmark | 14.2 s, 3 runs | give me five name ideas for a bakery | 9 | n
translate to german | Guten Tag | draft a contract for a freelance photographer | 1 | n
配置一下代理 | 代理设为8080端口 | 红烧肉怎么做 | 2 | n
写个周报 | 本周完成了三项工作…… | 帮忙看下为什么打印机连不上wifi | 3 | n
把日志级别调成debug | 已改为debug | 给客户发一封道歉邮件，说明发货延迟 | 14 | n
导出用户表 | users.csv已导出 | 1998年世界杯冠军是谁 | 2 | n
做个PPT | 共12页 | 好的，那个先放着。线上服务器磁盘满了，赶紧清理一下 | 5 | n
跑一下benchmark | 14.2秒 | 帮我想五个面包店的名字 | 9 | n
review一下这个PR | 有三处建议 | 起草一份兼职摄影师合同 | 3 | n
部署到k8s | 3个pod都在运行 | 新需求来了：用户没法重置密码，你排查一下 | 15 | n
create a logo for the bakery | Here is a round logo in brown. | brown is ugly, try green | 2 | r
set the alarm for 6 | Alarm set for 18:00. | i meant 6 in the morning | 1 | r
write a SQL query for the top customers | SELECT ... LIMIT 10 | your query returns duplicates | 4 | r
organise my photos by year | 2,312 photos are in folders by year | half of them ended up in 1970 | 9 | r
proofread my essay | I corrected 14 commas. | You changed the meaning of the second sentence, put it back | 5 | r
install docker | Docker 27 is installed | docker: command not found | 2 | r
make a slide about churn | The slide has a line chart. | Use a bar chart instead | 1 | r
translate this into Spanish | Hola a todos | that's Portuguese lol | 1 | r
send the invoice to Meyer | Sent to meyer@mail.com | Oh no, that's his old address! | 2 | r
fix the typo in the footer | Fixed "Copyrihgt". | there's another one right next to it, you overlooked it | 3 | r
把会议改到周五 | 已改到周五上午十点 | 怎么是上午，明明说的下午 | 1 | r
生成一份测试数据 | 生成了100条 | 名字怎么都是英文的，要中文的 | 3 | r
修一下首页的样式 | 按钮居中了 | 手机上还是歪的 | 5 | r
给图片加水印 | 水印加在左上角 | 水印挡住脸了，挪到右下角 | 2 | r
算一下平均分 | 平均分是87.5 | 算错了吧，应该是85 | 2 | r
create a logo for the bakery | Here is a round logo in brown. | Give me two more variants | 2 | f
set the alarm for 6 | Alarm set for 6:00. | And wake me with music please | 1 | f
write a SQL query for the top customers | SELECT ... LIMIT 10 | order it by revenue | 4 | f
organise my photos by year | 2,312 photos are in folders by year | how many are from 2019? | 9 | f
proofread my essay | I corrected 14 commas. | Which of the commas were wrong? | 5 | f
install docker | Docker 27 is installed | does compose come with it | 2 | f
make a slide about churn | The slide has a line chart. | awesome, thank you! | 1 | f
send the invoice to Meyer | Shall I send it as PDF? | yes pdf | 2 | f
fix the typo in the footer | Fixed "Copyrihgt". | while you're at it, update the year as well | 3 | f
write a bedtime story about a fox | Once upon a time ... | The fox should meet an owl in the next chapter | 8 | f
check the disk usage | /var is 91 % full | what's eating the space? | 2 | f
deploy the api | api is live, version 1.9 | roll it out to the eu region too | 6 | f
把会议改到周五 | 已改到周五上午十点 | 通知一下大家 | 1 | f
生成一份测试数据 | 生成了100条 | 再来500条 | 3 | f
修一下首页的样式 | 按钮居中了 | 字体也调大一号 | 5 | f
给图片加水印 | 水印加在左上角 | 透明度能调吗 | 2 | f
算一下平均分 | 平均分是87.5 | 最高分是谁 | 2 | f
写个登录页面 | 页面写好了，用哪种配色？ | 蓝白 | 2 | f
create a logo for the bakery | Here is a round logo in brown. | my laptop won't charge, what can i do | 2 | n
set the alarm for 6 | Alarm set for 6:00. | Summarise the attached quarterly report in five bullet points | 1 | n
write a SQL query for the top customers | SELECT ... LIMIT 10 | can you plan a birthday party for a six year old | 4 | n
organise my photos by year | 2,312 photos are in folders by year | Moving on: I need a Dockerfile for a Go service | 9 | n
proofread my essay | I corrected 14 commas. | Which laptop under 900 euros is best for video editing? | 5 | n
install docker | Docker 27 is installed | great thanks. another thing, cancel my gym membership | 2 | n
make a slide about churn | The slide has a line chart. | Design a database schema for a library | 20 | n
send the invoice to Meyer | Sent to meyer@mail.com | learn me some basic swedish phrases | 2 | n
fix the typo in the footer | Fixed "Copyrihgt". | The kafka consumer in the orders service lags behind by 40k messages, find out why | 3 | n
write a bedtime story about a fox | Once upon a time ... | convert 350 fahrenheit to celsius | 8 | n
check the disk usage | /var is 91 % full | Please write a job advert for a nurse. | 55 | n
deploy the api | api is live, version 1.9 | what should I cook tonight with leeks and potatoes | 6 | n
把会议改到周五 | 已改到周五上午十点 | 帮我写一段自我介绍，面试用 | 1 | n
生成一份测试数据 | 生成了100条 | 上海到杭州高铁要多久 | 3 | n
修一下首页的样式 | 按钮居中了 | 我电脑充不进电了怎么办 | 5 | n
给图片加水印 | 水印加在左上角 | 订单服务的消息积压了四万条，查查原因 | 2 | n
算一下平均分 | 平均分是87.5 | 好了这个结束，下面帮我设计一个图书馆数据库 | 2 | n
写个登录页面 | 页面写好了 | 今晚用土豆和韭葱能做什么菜 | 2 | n
"""


def _cases(lines: str) -> list[Case]:
    out = []
    for line in lines.strip().splitlines():
        goal, reply, message, minutes, label = (part.strip() for part in line.split(" | "))
        out.append(Case(goal, reply, message, float(minutes), label))
    return out


ENGLISH, CHINESE = _cases(_EN), _cases(_ZH)
TUNED = [*ENGLISH[0::2], *CHINESE[0::2]]
HELD_BACK = [*ENGLISH[1::2], *CHINESE[1::2]]
FRESH = _cases(_FRESH)
