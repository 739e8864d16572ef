"""Pairs of messages of one user, a week apart, labelled by hand: does the second replace what the first told, or do both hold?"""

BOTH_LIVE = """
I like tea. :: I like coffee.
I like tea. :: I love black tea.
I like coffee. :: I like black coffee.
I love hiking. :: I enjoy swimming.
I like jazz. :: I like classical music.
I like cats. :: I like dogs.
I don't like mushrooms. :: I don't like olives.
I like tea. :: I don't like coffee.
I don't like coffee. :: I like tea.
I'm allergic to peanuts. :: I'm allergic to shellfish.
I'm allergic to peanuts. :: I like peanut butter ice cream.
I have a dog named Rex. :: I have a cat named Miso.
I have a dog named Rex. :: I have a dog named Luna.
I have a brother named Tom. :: I have a sister named Ann.
My friend Anna lives in Oslo. :: My friend Jon lives in Bergen.
My sister lives in Bergen. :: My brother lives in Oslo.
I live in Oslo. :: My sister lives in Bergen.
I live in Oslo. :: I work at Google.
I live in Oslo. :: I was born in Bergen.
I work at Google. :: My wife works at Apple.
I speak Norwegian. :: I speak French.
I speak German. :: I'm learning Spanish.
I play the piano. :: I play the guitar.
I play tennis. :: I play chess.
I drink oat milk. :: I drink green tea.
I own a bike. :: I own a car.
I drive a Volvo. :: I have a boat.
I have asthma. :: I have diabetes.
My email is ann@example.org. :: My phone number is 555-0199.
Locker 14 code is 2207. :: Locker 15 code is 9913.
The gate is B12. :: The terminal is 3.
My name is Ann. :: My sister's name is Eve.
I'm vegetarian. :: I'm allergic to nuts.
I live in Oslo. :: I visited Bergen last week.
I live in Oslo. :: I want to live in Paris.
I work at Google. :: I met someone from Apple yesterday.
I'm a nurse. :: My wife is a teacher.
My favourite color is blue. :: My favourite food is pizza.
My birthday is May 3. :: My son's birthday is May 4.
我喜欢茶。 :: 我喜欢咖啡。
我喜欢猫。 :: 我喜欢狗。
我不喜欢香菜。 :: 我不喜欢芹菜。
我对花生过敏。 :: 我对海鲜过敏。
我住在北京。 :: 我妹妹住在上海。
我会说英语。 :: 我会说法语。
我住在北京。 :: 我是护士。
我叫王伟。 :: 我住在上海。
我喜欢喝茶。 :: 我不喜欢喝咖啡。
我住在北京。 :: 我上周去了上海。
"""

SUPERSEDES = """
I live in Oslo. :: I live in Bergen.
I live in Oslo. :: I moved to Bergen.
I live in Oslo. :: I've just moved to Bergen!
I live in Oslo. :: I no longer live in Oslo.
I live in Oslo. :: I don't live in Oslo anymore.
I live in Oslo. :: I now live in Bergen.
I live in Oslo. :: We relocated to Bergen.
I work at Google. :: I work at Apple now.
I work at Google. :: I quit my job at Google.
I work at Google. :: I no longer work at Google.
I work at Google. :: I don't work at Google anymore.
I work at Google. :: I joined Apple last week.
I'm a nurse. :: I'm a teacher now.
I work as a nurse. :: I work as a baker.
My job is nurse. :: I'm a teacher.
I like tea. :: I don't like tea.
I like tea. :: I don't like tea anymore.
I don't like tea. :: I like tea.
I like tea. :: I no longer like tea.
I love coffee. :: I hate coffee.
My email is ann@example.org. :: My email is ann@example.com.
My phone number is 555-0199. :: My phone number is 555-0123.
My name is Ann. :: My name is Anna.
My nickname is Bob. :: My nickname is Bobby.
My favourite color is blue. :: My favourite color is green.
I am 34 years old. :: I am 35 years old.
Locker 14 code is 2207. :: Locker 14 code is 9913.
The gate is B12. :: The gate is C30.
The wifi password is hunter2x. :: The wifi password is swordfish9.
I'm vegan. :: I'm vegetarian.
I'm vegetarian. :: I'm not vegetarian anymore.
I'm married to Anna. :: I'm divorced.
I'm single. :: I'm married.
My boss is Carla. :: My boss is Maria.
My doctor is Dr. Smith. :: My new doctor is Dr. Jones.
I drink coffee. :: I don't drink coffee anymore.
I eat meat. :: I don't eat meat.
I play tennis. :: I no longer play tennis.
My birthday is May 3. :: My birthday is May 4.
我住在北京。 :: 我住在上海。
我住在北京。 :: 我搬到上海了。
我住在北京。 :: 我不再住在北京了。
我喜欢茶。 :: 我不喜欢茶。
我喜欢茶。 :: 我不再喜欢茶了。
我叫王伟。 :: 我叫王小伟。
我是护士。 :: 我现在是老师。
我今年三十岁。 :: 我今年三十一岁。
我的邮箱是a@example.org。 :: 我的邮箱是b@example.org。
密码是abc123。 :: 密码是xyz789。
"""
