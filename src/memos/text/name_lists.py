"""Word lists for names: common given names, countries, cities, and capitalised words that are no names. Data only.

Of modest size on purpose: a list raises confidence, it is never the only way to find a name.
"""

from __future__ import annotations


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _phrases(text: str) -> frozenset[str]:
    return frozenset(item.strip() for item in text.split(",") if item.strip())


GIVEN = _set(
    """
    Aaron Abby Abdul Abigail Adam Adrian Adriana Agnes Ahmed Aisha Alan Albert Alejandro Alex Alexander Alexandra
    Alexis Alfred Ali Alice Alicia Alison Allison Amanda Amber Amelia Amir Amy Ana Anders Andre Andrea Andrew Andy
    Angela Anita Ann Anna Anne Annie Anthony Antonio Anya Arjun Arthur Ashley Astrid Audrey Aurora Ava Barbara
    Beatrice Becky Ben Benjamin Bernard Beth Betty Bill Billy Bjorn Bob Brad Brandon Brenda Brian Bridget Bruce
    Bruno Bryan Caitlin Calvin Camila Carl Carla Carlos Carmen Carol Caroline Carolyn Catherine Cathy Cecilia
    Charles Charlie Charlotte Chen Chloe Chris Christian Christina Christine Christopher Cindy Claire Clara Claudia
    Colin Connor Craig Cynthia Daisy Dana Daniel Daniela Danny Darren Dave David Deborah Debra Denise Dennis Derek
    Diana Diane Diego Dimitri Dmitri Dominic Don Donald Donna Doris Dorothy Doug Douglas Dylan Ed Eddie Edgar Edith
    Edward Elaine Elena Eli Elias Elijah Elisa Elizabeth Ella Ellen Elsa Emil Emily Emma Eric Erica Erik Erin Ernest
    Esther Ethan Eugene Eva Evan Evelyn Fatima Felix Fernando Fiona Florence Frances Francesca Francis Francisco
    Frank Fred Frederick Frida Gabriel Gareth Gary Gavin Gene George Gerald Gina Giovanni Gloria Gordon Graham Greg
    Gregory Greta Gustav Gwen Hannah Hans Harold Harriet Harry Hassan Hazel Heather Hector Heidi Helen Helena Helga
    Henrik Henry Hiroshi Howard Hugh Hugo Ian Ibrahim Ida Igor Ines Ingrid Irene Iris Isaac Isabel Isabella Ivan
    Jack Jackie Jacob Jake James Jamie Jan Jane Janet Janice Jared Jasmine Jason Javier Jay Jean Jeff Jeffrey
    Jennifer Jenny Jeremy Jerome Jerry Jess Jesse Jessica Jessie Jill Jim Jimmy Joan Joanna Joe Joel Johan Johanna
    John Johnny Jolene Jon Jonas Jonathan Jordan Jorge Jose Joseph Josephine Josh Joshua Juan Juanita Judith Judy
    Julia Julian Juliana Julie Julio Justin Kai Karen Karim Karl Kate Katherine Kathleen Kathryn Kathy Katie Keith
    Kelly Ken Kenji Kenneth Kevin Kim Kimberly Klaus Kristen Kristin Kurt Kyle Lara Larry Lars Laura Lauren Laurie
    Lawrence Lea Leah Leo Leon Leonard Leslie Liam Lily Linda Lisa Liz Lorenzo Louis Louise Luca Lucas Lucia Lucy
    Luis Luke Luna Lydia Lynn Madison Magnus Malcolm Marc Marco Marcus Margaret Maria Marie Marilyn Mario Marion
    Marta Martha Martin Mary Mateo Mathias Matt Matthew Maureen Maurice Max Maya Megan Mei Mel Melanie Melinda
    Melissa Mia Michael Michelle Miguel Mike Mila Miranda Mohamed Mohammed Molly Monica Morgan Muhammad Nadia Nancy
    Naomi Natalia Natalie Natasha Nate Nathan Neil Nicholas Nick Nicola Nicole Nigel Nikhil Nina Noah Noel Nora
    Norman Olaf Oleg Olga Oliver Olivia Oscar Otto Owen Pablo Paige Pam Pamela Patricia Patrick Paul Paula Pedro
    Penelope Penny Peter Phil Philip Phillip Pierre Priya Rachel Rahul Raj Ralph Ramon Randy Raquel Raymond Rebecca
    Regina Rene Ricardo Richard Rick Rita Rob Robert Roberto Robin Rodney Roger Roland Ron Ronald Rosa Rosie Ross
    Roy Ruben Russell Ruth Ryan Sabrina Sally Salma Sam Samantha Samuel Sandra Sanjay Sara Sarah Scott Sean
    Sebastian Sergei Seth Shannon Sharon Shaun Sheila Shirley Sigrid Simon Sofia Sonia Sophia Sophie Stacy Stan
    Stanley Stefan Stella Stephanie Stephen Steve Steven Stuart Sue Susan Suzanne Svetlana Sven Sylvia Tamara Tanya
    Tara Ted Teresa Terry Thea Theo Theodore Theresa Thomas Tim Timothy Tina Toby Todd Tom Tomas Tommy Tony Tracy
    Travis Tyler Ursula Valentina Valerie Vanessa Vera Veronica Vicky Victor Victoria Vikram Vincent Virginia Vivian
    Vladimir Walter Wanda Warren Wayne Wendy Wei Wilhelm William Xavier Yasmin Yolanda Yuki Yusuf Yvonne Zach
    Zachary Zara Zoe
    """
)

COUNTRIES = _phrases(
    """
    Afghanistan, Albania, Algeria, Andorra, Angola, Argentina, Armenia, Australia, Austria, Azerbaijan, Bahamas,
    Bahrain, Bangladesh, Barbados, Belarus, Belgium, Belize, Bhutan, Bolivia, Bosnia, Botswana, Brazil, Brunei,
    Bulgaria, Cambodia, Cameroon, Canada, Chile, China, Colombia, Congo, Costa Rica, Croatia, Cuba, Cyprus,
    Czech Republic, Czechia, Denmark, Dominican Republic, Ecuador, Egypt, El Salvador, England, Estonia, Ethiopia,
    Fiji, Finland, France, Germany, Ghana, Great Britain, Greece, Greenland, Guatemala, Haiti, Honduras, Hungary,
    Iceland, India, Indonesia, Iran, Iraq, Ireland, Israel, Italy, Ivory Coast, Jamaica, Japan, Kazakhstan, Kenya,
    Kosovo, Kuwait, Laos, Latvia, Lebanon, Libya, Liechtenstein, Lithuania, Luxembourg, Madagascar, Malaysia,
    Maldives, Mali, Malta, Mauritius, Mexico, Moldova, Monaco, Mongolia, Montenegro, Morocco, Mozambique, Myanmar,
    Namibia, Nepal, Netherlands, New Zealand, Nicaragua, Nigeria, North Korea, North Macedonia, Northern Ireland,
    Norway, Oman, Pakistan, Panama, Paraguay, Peru, Philippines, Poland, Portugal, Puerto Rico, Qatar, Romania,
    Russia, Rwanda, Saudi Arabia, Scotland, Senegal, Serbia, Singapore, Slovakia, Slovenia, Somalia, South Africa,
    South Korea, Spain, Sri Lanka, Sudan, Sweden, Switzerland, Syria, Taiwan, Tanzania, Thailand, Tunisia, Turkey,
    UAE, UK, US, USA, Uganda, Ukraine, United Arab Emirates, United Kingdom, United States, Uruguay, Uzbekistan,
    Vatican, Venezuela, Vietnam, Wales, Yemen, Zambia, Zimbabwe
    """
)

CITIES = _phrases(
    """
    Aarhus, Abu Dhabi, Accra, Addis Ababa, Adelaide, Amsterdam, Ankara, Antwerp, Athens, Atlanta, Auckland, Austin,
    Baltimore, Bangalore, Bangkok, Barcelona, Basel, Beijing, Beirut, Belfast, Belgrade, Bergen, Berlin, Bern,
    Birmingham, Bogota, Bologna, Bordeaux, Boston, Bratislava, Brisbane, Bristol, Brooklyn, Brussels, Bucharest,
    Budapest, Buenos Aires, Cairo, Calgary, Cambridge, Cape Town, Cardiff, Casablanca, Chennai, Chicago, Cologne,
    Copenhagen, Cork, Dakar, Dallas, Damascus, Delhi, Denver, Detroit, Dhaka, Doha, Dresden, Dubai, Dublin,
    Düsseldorf, Edinburgh, Florence, Frankfurt, Geneva, Genoa, Ghent, Glasgow, Gothenburg, Granada, Guangzhou,
    Hamburg, Hanoi, Havana, Helsinki, Ho Chi Minh City, Hong Kong, Honolulu, Houston, Hyderabad, Istanbul, Jakarta,
    Jerusalem, Johannesburg, Karachi, Kathmandu, Kiev, Kolkata, Krakow, Kuala Lumpur, Kyiv, Kyoto, LA, Lagos, Lahore,
    Las Vegas, Leeds, Leipzig, Lima, Lisbon, Liverpool, Ljubljana, London, Los Angeles, Lyon, Madrid, Malaga, Malmö,
    Manchester, Manhattan, Manila, Marrakech, Marseille, Melbourne, Memphis, Mexico City, Miami, Milan, Minneapolis,
    Montreal, Moscow, Mumbai, Munich, Nairobi, Nanjing, Naples, Nashville, New Delhi, New Orleans, New York,
    New York City, Nice, NYC, Oakland, Osaka, Oslo, Ottawa, Oxford, Palermo, Paris, Perth, Philadelphia, Phoenix,
    Pittsburgh, Portland, Porto, Prague, Quebec, Reykjavik, Riga, Rio, Rio de Janeiro, Riyadh, Rome, Rotterdam,
    Salt Lake City, Salzburg, San Antonio, San Diego, San Francisco, San Jose, Santiago, São Paulo, Sarajevo, Seattle,
    Seoul, Seville, Shanghai, Shenzhen, Sofia, St. Petersburg, Stavanger, Stockholm, Stuttgart, Sydney, Taipei,
    Tallinn, Tampa, Tbilisi, Tehran, Tel Aviv, The Hague, Tokyo, Toronto, Tromsø, Trondheim, Turin, Utrecht, Valencia,
    Vancouver, Venice, Vienna, Vilnius, Warsaw, Washington, Wellington, Winnipeg, Zagreb, Zurich, Zürich
    """
)

REGIONS = _phrases(
    """
    Africa, Alabama, Alaska, Alps, Andalusia, Antarctica, Arizona, Arkansas, Asia, Bali, Bavaria, California,
    Caribbean, Catalonia, Colorado, Connecticut, Corsica, Crete, Delaware, Europe, Florida, Hawaii, Idaho, Illinois,
    Indiana, Iowa, Kansas, Kentucky, Lapland, Louisiana, Maine, Maryland, Massachusetts, Michigan, Minnesota,
    Mississippi, Missouri, Montana, Nebraska, Nevada, New England, New Hampshire, New Jersey, New Mexico,
    North Carolina, North Dakota, Ohio, Oklahoma, Oregon, Pennsylvania, Provence, Rhode Island, Sardinia, Scandinavia,
    Sicily, Siberia, South America, South Carolina, South Dakota, Tennessee, Texas, Tibet, Tuscany, Utah, Vermont,
    West Virginia, Wisconsin, Wyoming
    """
)

PLACES = COUNTRIES | CITIES | REGIONS

# Words that carry a capital without being a name: starters, weekdays, months, peoples, faiths, interjections.
NOT_NAMES = _set(
    """
    I I'm I've I'll I'd A About Absolutely Actually After Again Ah Aha All Almost Already Alright Also Although
    Always Am Amazing An And Another Any Anyone Anything Anyway Are Aren't As Ask At Aw Awesome Aww Back Be Because
    Before Being Best Better Big Both But By Bye Can Can't Cannot Certainly Cheers Come Congrats Congratulations
    Cool Could Couldn't Dear Definitely Did Didn't Do Does Doesn't Doing Don't Done During Each Either Else Enjoy
    Especially Even Ever Every Everyone Everything Exactly Excited Fantastic Feel Feeling Few Finally Fine First For
    From Fun Funny Get Getting Give Given Glad Go Going Gonna Good Got Gotta Great Guess Had Haha Hahaha Happy Hard
    Has Have Haven't Having He He's Hello Help Her Here Here's Hey Hi Him His Hmm Hope Hopefully How How's However
    Huge If In Indeed Instead Into Is Isn't It It'd It'll It's Its Just Keep Kinda Know Last Lately Later Let Let's
    Like Little Look Looking Looks Lot Lots Love Lovely Lucky Make Makes Making Many Maybe Me Meanwhile Meet Mine
    More Most Much Must My Nah Need Never New Next Nice No Nobody None Nope Nor Not Note Nothing Now Of Off Oh Ok
    Okay On Once One Only Or Other Otherwise Ouch Our Out Over Overall Own Peace People Perfect Perhaps Personally
    Please Plus Pretty Probably Put Quite Rather Really Reading Remember Remind Right Said Same Say See Seeing Seems
    Seriously Several Shall She She'll She's Should Show Since So Some Somebody Someone Something Sometimes Soon
    Sorry Sounds Speaking Stay Still Such Super Sure Surely Take Talk Tell Thank Thanks That That's The Their Them
    Then There There's Therefore These They They'll They're They've Thing Things Think This Those Though Thought
    Through Throughout Thus Till To Today Together Tomorrow Tonight Too Totally Trust Try Trying Two Three Four Five
    Six Seven Eight Nine Ten Uh Um Under Unfortunately Unless Until Up Us Use Used Usually Very Wait Want Was Wasn't
    Watching Way We We'd We'll We're We've Welcome Well Were What What's Whatever When Whenever Where Where's
    Whether Which While Who Who's Whoever Why Will Wish With Without Woah Wonderful Won't Words Work Working Would
    Wouldn't Woo Woohoo Wow Yay Yea Yeah Yep Yes Yesterday Yet You You'd You'll You're You've Your Yours Yup Omg OMG
    LOL Lol OK TBH BTW IMO FYI ASAP DIY TV CEO CTO HR PC AM PM Monday Tuesday Wednesday Thursday Friday Saturday
    Sunday Mon Tue Tues Wed Thu Thur Thurs Fri Sat Sun January February March April May June July August September
    October November December Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec Christmas Easter Halloween
    Thanksgiving Spring Summer Autumn Fall Winter English French German Spanish Italian Chinese Japanese Korean
    Russian Swedish Norwegian Danish Finnish Dutch Polish Portuguese Greek Turkish Arabic Hebrew Hindi Latin Irish
    Scottish Welsh British American Canadian Mexican Brazilian Indian Australian African Asian European Western
    Eastern Northern Southern Christian Christians Muslim Jewish Buddhist Hindu Catholic Mom Dad Mum Mommy Daddy
    Grandma Grandpa Granny Sir Madam Mr Mrs Ms Miss Dr Prof LGBTQ LGBTQ+ LGBT PhD MBA BSc MSc AI ML API URL USB GPS
    Internet Earth God Jesus Bible North South East West Locker Room Floor Chapter Page Step Part Section Figure
    Table Question Answer Note Option Version Day Week Month Year
    """
)

DEMONYMS = _set(
    """
    english french german spanish italian chinese japanese korean russian swedish norwegian danish finnish dutch
    polish portuguese greek turkish arabic hebrew hindi latin irish scottish welsh british american canadian mexican
    brazilian indian australian african asian european mandarin cantonese ukrainian czech hungarian romanian
    vietnamese thai urdu bengali tamil swahili persian farsi indonesian malay esperanto catalan icelandic
    """
)

# Chinese surnames, the common ones; the two-character ones first.
SURNAMES_2 = ("欧阳", "司马", "上官", "诸葛", "东方", "皇甫", "尉迟", "公孙", "慕容", "令狐")
SURNAMES = (
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何林高罗郑梁谢宋唐许韩冯邓曹彭曾萧田董袁潘蔡蒋余于杜叶程苏魏吕丁任沈姚卢姜崔钟谭陆汪"
    "范金石廖贾夏韦付方白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武戴莫孔向汤"
)
CHINESE_PLACES = _set(
    """
    北京 上海 广州 深圳 杭州 南京 苏州 成都 重庆 武汉 西安 天津 长沙 青岛 大连 厦门 宁波 郑州 沈阳 哈尔滨 昆明 济南
    福州 合肥 无锡 香港 澳门 台北 台湾 高雄 拉萨 新疆 西藏 内蒙古 四川 云南 广东 广西 浙江 江苏 山东 河南 河北 湖南
    湖北 福建 江西 安徽 海南 贵州 陕西 甘肃 青海 宁夏 山西 辽宁 吉林 黑龙江 三亚 丽江 桂林 珠海 东莞 佛山 温州 中国
    美国 英国 法国 德国 日本 韩国 意大利 西班牙 葡萄牙 荷兰 瑞典 挪威 丹麦 芬兰 冰岛 瑞士 俄罗斯 加拿大 澳大利亚
    新西兰 印度 泰国 越南 新加坡 马来西亚 印度尼西亚 巴西 墨西哥 阿根廷 埃及 南非 土耳其 希腊 东京 大阪 京都 首尔
    伦敦 巴黎 柏林 罗马 米兰 马德里 巴塞罗那 纽约 洛杉矶 旧金山 西雅图 波士顿 芝加哥 多伦多 温哥华 悉尼 墨尔本
    奥斯陆 斯德哥尔摩 哥本哈根 赫尔辛基 莫斯科 阿姆斯特丹 维也纳 布拉格 曼谷 卑尔根
    """
)
CHINESE_COUNTRIES = _set(
    """
    中国 美国 英国 法国 德国 日本 韩国 意大利 西班牙 葡萄牙 荷兰 瑞典 挪威 丹麦 芬兰 冰岛 瑞士 俄罗斯 加拿大
    澳大利亚 新西兰 印度 泰国 越南 新加坡 马来西亚 印度尼西亚 巴西 墨西哥 阿根廷 埃及 南非 土耳其 希腊
    """
)

# What organisations, places and products are recognised by.
ORGANISATION_TAILS = _set(
    """
    Inc Inc. Corp Corp. Ltd Ltd. LLC GmbH AG SA plc Company Corporation University College School Institute Hospital
    Bank Academy Church Museum Foundation Association Labs Studios Group Airlines Clinic Agency Ministry Department
    Council Club Library Orchestra
    """
)

PLACE_TAILS = _set(
    """
    Street Avenue Road Park Lake River Mountain Mountains Beach Island Islands Valley Bay Square Bridge Canyon Falls
    Forest Hills County Airport Station Desert Creek Harbor Coast Ocean Sea
    """
)

PRODUCTS = _set(
    """
    iPhone iPad MacBook Kindle Android Windows Linux Python Java JavaScript TypeScript Rust Excel Photoshop Netflix
    Spotify YouTube Instagram Facebook TikTok Twitter WhatsApp ChatGPT Slack Zoom PlayStation Xbox Nintendo Switch
    Tesla Toyota Honda Volvo BMW Audi Prius Ford Subaru ThinkPad Pixel Galaxy Postgres PostgreSQL Redis Docker
    Kubernetes GitHub Gmail Uber Patreon Fitbit Roomba AirPods Minecraft
    """
)

COMPANIES = _set(
    """
    Google Apple Microsoft Amazon Meta Netflix IBM Intel Nvidia Oracle Siemens Samsung Sony Nokia Ericsson Equinor
    Spotify OpenAI Anthropic DeepMind Huawei Alibaba Tencent NASA NATO UNESCO MIT Stanford Harvard Yale Oxfam IKEA
    Nike Adidas
    """
)

GREETINGS = _set(
    """
    hey hi hello thanks dear happy good great sounds
    """
)

CHINESE_NO_ORGANISATIONS = _set(
    """
    公司 大学 医院 银行 集团 学院 中学 小学 上大学 一公司 新公司 老公司 我公司 分公司 总公司 大医院 家公司
    """
)

CHINESE_NO_PERSONS = _set(
    """
    什么 怎么 我们 你们 他们 出租车 外卖 醒我 做饭 车来 名字
    """
)
