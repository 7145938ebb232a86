"""The regular expressions that split texts into words, and into the runs of letters that are cut into words."""

# Lengths are bounded because the regex engine fails on words of millions of letters.
FIRST = r"[\p{L}\p{N}&&[^\p{Han}]]"
INSIDE = r"[\p{L}\p{M}\p{N}&&[^\p{Han}]]"
NUMBER = r"\p{Nd}{1,20}(?:[.,]\p{Nd}{1,20}){1,9}"
MARK = r"[^\s\p{Cc}\p{Cf}\uFE0F]"  # no control characters, and no variation selector of emoji
NOT = rf"(?i:n't)(?!{INSIDE})"
CLITIC = rf"(?i:'(?:s|m|d|ll|re|ve)(?!{INSIDE})|can(?=not(?!{INSIDE})))"

ENGLISH_TOKEN = rf"{NOT}|{CLITIC}|\p{{Han}}|{NUMBER}|{FIRST}(?:(?!{NOT}){INSIDE}){{0,99}}|{MARK}"
SINGLE_QUOTE, DOUBLE_QUOTE = "[‘’ʼ`´]", "''|[“”]"
LONGEST_UNIT = 999
# Runs of letters that are cut into parts. In Japanese a word hardly goes on in another of its scripts.
SPACED_UNIT = rf"{NUMBER}|[\p{{L}}\p{{N}}][\p{{L}}\p{{M}}\p{{N}}]{{0,{LONGEST_UNIT}}}|{MARK}"
HIRAGANA, KATAKANA = "[ぁ-ゟ]", "[ァ-ヿㇰ-ㇿ]"
JAPANESE_UNIT = rf"\p{{Han}}{{1,{LONGEST_UNIT}}}|{HIRAGANA}{{1,{LONGEST_UNIT}}}|{KATAKANA}{{1,{LONGEST_UNIT}}}|{NUMBER}|{FIRST}{INSIDE}{{0,99}}|{MARK}"
CHINESE_UNIT = rf"\p{{Han}}{{1,{LONGEST_UNIT}}}|{NUMBER}|{FIRST}{INSIDE}{{0,99}}|{MARK}"
