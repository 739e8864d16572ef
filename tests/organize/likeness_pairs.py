"""Pairs of statements, labelled by hand: do they say the same? Half of those that do not are dangerous near misses.

A line is `attribute | text | value`, twice; a statement is about the subject `user` unless its attribute names another.
"""

from __future__ import annotations

SAME = """
job | The user works as a nurse. | nurse :: occupation | The user is a nurse. | nurse
job | The user is employed as a baker. | baker :: profession | The user works as a baker. | baker
job | The user is currently a teacher. | a teacher :: role | The user is a teacher now. | teacher
job | The user is a truck driver. | truck driver :: job | The user is a truck driver. | truck drivers
allergy | The user is allergic to peanuts. | peanuts :: allergy | The user is allergic to peanut. | peanut
home_city | The user lives in New York City. | New York City :: home_city | The user lives in NYC. | NYC
home_city | The user lives in Oslo. | Oslo :: residence | The user resides in Oslo. | Oslo
home_city | The user lives in Bergen. | Bergen :: location | The user is based in Bergen. | Bergen
home_country | The user lives in the United Kingdom. | the United Kingdom :: home_country | The user lives in the UK. | UK
home_country | The user lives in the United States. | the United States :: home_country | The user lives in the USA. | USA
likes | The user likes to hike. | hike :: hobby | The user likes hiking. | hiking
likes | The user likes going hiking. | going hiking :: hobby | The user likes hiking. | hiking
likes | The user enjoys swimming. | swimming :: hobby | The user likes to swim. | swim
likes | The user loves jazz. | jazz :: music | The user likes jazz very much. | jazz
likes | The user really likes cats. | cats :: pet_preference | The user likes cats. | cats
likes | The user is fond of old films. | old films :: taste | The user likes old films. | old films
likes | The user is a fan of chess. | chess :: interest | The user likes chess. | chess
dislikes | The user doesn't like mushrooms. | mushrooms :: food | The user dislikes mushrooms. | mushrooms
child | The user has two kids. | two kids :: family | The user has 2 kids. | 2 kids
pet | The user has a dog. | dog :: pets | The user has a dog. | a dog
drinks | The user drinks oat milk. | oat milk :: milk | The user drinks oat milk. | Oat milk
device | The user has a bicycle. | bicycle :: vehicle | The user has a bike. | bike
home_city | 用户住在北京。 | 北京 :: home_city | 用户住在北京市。 | 北京市
home_city | 用户住在巴黎。 | 巴黎 :: residence | 用户居住在巴黎。 | 巴黎
home_city | The user lives in Ｐａｒｉｓ. | Ｐａｒｉｓ :: residence | The user lives in Paris. | Paris
job | 用户是护士。 | 护士 :: occupation | 用户是一名护士。 | 护士
job | 用户的工作是老师。 | 老师 :: occupation | 用户是老师。 | 老师
job | 用户的职业是医生。 | 医生 :: profession | 用户是一位医生。 | 医生
likes | 用户喜欢喝茶。 | 喝茶 :: drink | 用户非常喜欢喝茶。 | 喝茶
likes | 用户热爱摄影。 | 摄影 :: hobby | 用户喜欢摄影。 | 摄影
likes | 用户很喜欢猫。 | 猫 :: pet_taste | 用户喜欢猫。 | 猫
home_city | 用户现在住在上海。 | 上海 :: home_city | 用户住在上海市。 | 上海市
is_at | The meeting costs 1,000 dollars. | 1,000 dollars :: is_at | The meeting costs 1000 dollars. | 1000 dollars
diet | The user can't eat gluten. | gluten :: restriction | The user cannot eat gluten. | gluten
"""

DIFFERENT = """
likes | The user likes tea. | tea :: likes | The user likes coffee. | coffee
likes | The user likes black coffee. | black coffee :: likes | The user likes coffee. | coffee
likes | The user likes tea. | tea :: drink | The user drinks tea. | tea
likes | The user likes tea. | tea :: dislikes | The user dislikes tea. | tea
diet | The user can eat nuts. | nuts :: diet | The user can't eat nuts. | nuts
locker | Locker 14 code is 2207. | 2207 :: locker | Locker 15 code is 2207. | 2207
meeting | The meeting is on 3 May. | 3 May :: meeting | The meeting is on 4 May. | 4 May
age | The user is 34 years old. | 34 :: age | The user is 43 years old. | 43
child | The user has 2 kids. | 2 kids :: child | The user has 3 kids. | 3 kids
child | The user has two kids. | two kids :: child | The user has three kids. | three kids
height | The tower is 30 m high. | 30 m :: height | The tower is 30 km high. | 30 km
price | The bike costs $200. | $200 :: price | The bike costs €200. | €200
price | The bike costs 200 dollars. | 200 dollars :: price | The bike costs 200 euros. | 200 euros
weight | The box weighs 5 kg. | 5 kg :: weight | The box weighs 5 lb. | 5 lb
share | The share is 5. | 5 :: share | The share is 5%. | 5%
version | The server runs version 1.5. | 1.5 :: version | The server runs version 15. | 15
version | The server runs version 3.1. | 3.1 :: version | The server runs version 3.11. | 3.11
home_city | The user lives in Oslo. | Oslo :: home_city | The user lives in Bergen. | Bergen
home_city | The user lives in New York. | New York :: home_city | The user lives in New York City. | New York City
home_city | The user lives in Oslo. | Oslo :: birthplace | The user was born in Oslo. | Oslo
home_city | The user lives in Oslo. | Oslo :: wish | The user wants to live in Oslo. | Oslo
home_city | The user lives in Oslo. | Oslo :: past | The user used to live in Oslo. | Oslo
friend | The user has a friend named Anna. | Anna :: friend | The user has a friend named Anne. | Anne
friend | The user has a friend named Jon. | Jon :: friend | The user has a friend named John. | John
doctor | The user's doctor is Mr Adam. | Mr Adam :: doctor | The user's doctor is Mr Adams. | Mr Adams
job | The user is a nurse. | nurse :: job | The user is a registered nurse. | registered nurse
job | The user is a nurse. | nurse :: job | The user is not a nurse. | nurse
job | The user is a nurse. | nurse :: job | The user was a nurse. | nurse in Oslo
job | The user is a tailor. | tailor :: job | The user is a sailor. | sailor
likes | The user likes fish. | fish :: likes | The user likes fishing. | fishing
likes | The user likes cars. | cars :: likes | The user likes caring. | caring
likes | The user likes paint. | paint :: likes | The user likes painting. | painting
trip | The user flew from Oslo to Bergen. | from Oslo to Bergen :: trip | The user flew from Bergen to Oslo. | from Bergen to Oslo
trip | The user moved to Bergen. | to Bergen :: trip | The user moved from Bergen. | from Bergen
prefers | The user prefers tea over coffee. | tea over coffee :: prefers | The user prefers coffee over tea. | coffee over tea
keys | The keys are in the red box. | keys in the box :: keys | The keys are on the red box. | keys on the box
pet | The user likes his dog. | his dog :: pet | The user likes her dog. | her dog
wears | The user has a glass. | a glass :: wears | The user has glasses. | glasses
works_on | The user works on Friday. | on Friday :: works_on | The user works on Fridays. | on Fridays
allergy | The user is allergic to nuts. | nuts :: likes | The user likes nuts. | nuts
time | The train leaves at 5:30. | 5:30 :: time | The train leaves at 5:20. | 5:20
time | The train leaves before 5. | before 5 :: time | The train leaves after 5. | after 5
limit | The limit is at least 5. | at least 5 :: limit | The limit is at most 5. | at most 5
diet | The user eats everything except meat. | everything except meat :: diet | The user eats everything. | everything
milk | The user takes coffee with milk. | coffee with milk :: milk | The user takes coffee without milk. | coffee without milk
home_city | 用户住在北京。 | 北京 :: home_city | 用户住在南京。 | 南京
likes | 用户喜欢茶。 | 茶 :: dislikes | 用户不喜欢茶。 | 茶
likes | 用户喜欢喝茶。 | 喝茶 :: likes | 用户喜欢喝咖啡。 | 喝咖啡
child | 用户有两个孩子。 | 两个孩子 :: child | 用户有三个孩子。 | 三个孩子
birthday | 用户的生日是5月3日。 | 5月3日 :: birthday | 用户的生日是5月4日。 | 5月4日
home_city | 用户住在上海。 | 上海 :: wish | 用户想住在上海。 | 上海
home_city | 用户住在上海。 | 上海 :: past | 用户曾住在上海。 | 上海
friend | 用户的朋友是王伟。 | 王伟 :: friend | 用户的朋友是王维。 | 王维
job | 用户是护士。 | 护士 :: job | 用户是护士长。 | 护士长
job | 用户是老师。 | 老师 :: job | 用户不是老师。 | 老师
work_city | 用户在北京大学工作。 | 北京大学 :: work_city | 用户在北京工作。 | 北京
price | 票价是一百元。 | 一百元 :: price | 票价是一千元。 | 一千元
market | 用户常去超市。 | 超市 :: market | 用户常去超。 | 超
diet | 用户吃肉。 | 吃肉 :: diet | 用户没吃肉。 | 没吃肉
user's sister|home_city | The user's sister lives in Oslo. | Oslo :: user's brother|home_city | The user's brother lives in Oslo. | Oslo
"""
