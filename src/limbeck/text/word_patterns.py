"""The regular expressions that split texts into words, and into the runs of letters that are cut into words."""

# Lengths are bounded because the regex engine fails on words of millions of letters.
FIRST = r"[\p{L}\p{N}&&[^\p{Han}]]"
INSIDE = r"[\p{L}\p{M}\p{N}&&[^\p{Han}]]"
NUMBER = r"\p{Nd}{1,20}(?:[.,]\p{Nd}{1,20}){1,9}"
MARK = r"[^\s\p{Cc}\p{Cf}\uFE0F]"  # no control characters, and no variation selector of emoji
NOT = rf"(?i:n't)(?!{INSIDE})"
CLITIC = rf"(?i:'(?:s|m|d|ll|re|ve)(?!{INSIDE})|can(?=not(?!{INSIDE})))"

ENGLISH_TOKEN = rf"{NOT}|{CLITIC}|\p{{Han}}|{NUMBER}|{FIRST}(?:(?!{NOT}){INSIDE}){{0,99}}|{MARK}"
ELISION = rf"{FIRST}{{1,12}}'(?={FIRST})"  # l'homme is l' homme, dell'arte is dell' arte
ELIDED_TOKEN = f"{ELISION}|{ENGLISH_TOKEN}"
SINGLE_QUOTE, DOUBLE_QUOTE = "[‘’ʼ`´]", "''|[“”]"
LONGEST_UNIT = 999
# Runs of letters that are cut into parts. In Japanese a word hardly goes on in another of its scripts.
SPACED_UNIT = rf"{NUMBER}|[\p{{L}}\p{{N}}][\p{{L}}\p{{M}}\p{{N}}]{{0,{LONGEST_UNIT}}}|{MARK}"
HIRAGANA, KATAKANA = "[ぁ-ゟ]", "[ァ-ヿㇰ-ㇿ]"
JAPANESE_RUN = rf"{HIRAGANA}{{1,{LONGEST_UNIT}}}|{KATAKANA}{{1,{LONGEST_UNIT}}}"
JAPANESE_UNIT = rf"\p{{Han}}{{1,{LONGEST_UNIT}}}|{JAPANESE_RUN}|{NUMBER}|{FIRST}{INSIDE}{{0,99}}|{MARK}"
CHINESE_UNIT = rf"\p{{Han}}{{1,{LONGEST_UNIT}}}|{NUMBER}|{FIRST}{INSIDE}{{0,99}}|{MARK}"
WORD_EXPRESSIONS = (ENGLISH_TOKEN, ELIDED_TOKEN, CHINESE_UNIT, JAPANESE_UNIT, SPACED_UNIT)

GROUPS = r"(?<=\p{Nd})[\u00A0\u2009\u202F](?=\p{Nd}{3}(?!\p{Nd}))"  # 1 234 567, with spaces that do not break
VOWEL_SIGNS = r"[\u0640\u064B-\u0652\u0670]"  # of Arabic, mostly not written; and the line that stretches a word
STRESS = r"\u0301"  # of Russian, in dictionaries and schoolbooks
JOINERS = r"[\u200C\u200D]"  # how letters of Indic scripts are joined does not change a word
ALEFS = "[أإآٱ]"
SIGNS = (GROUPS, VOWEL_SIGNS, STRESS, JOINERS, ALEFS)
