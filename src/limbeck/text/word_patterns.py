"""The regular expressions that split texts into words: English words, and runs of Chinese characters."""

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
CHINESE_UNIT = rf"\p{{Han}}{{1,{LONGEST_UNIT}}}|{NUMBER}|{FIRST}{INSIDE}{{0,99}}|{MARK}"
