// Where punctuation and contractions are separated by spaces: "don't!" becomes "do n't !".

const SPACE = " \\t\\n\\x0b\\x0c\\r\\x1c-\\x1f\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const LETTER = "A-Za-z\\u00c0-\\u00d6\\u00d8-\\u00f6\\u00f8-\\u024f";
const QUOTE = "['\\u2019]";
const BRACKET = '()\\[\\]{}"“”«»;$%#–—…';
const NOT = `[nN]${QUOTE}[tT]`;
const WORD_ENDS = `(?:(?![${LETTER}])|(?=${NOT}))`;
const CUT_OFF = "(?:[sSmMdD]|[lL][lL]|[rRvV][eE])";
const LEANING = `(?:${CUT_OFF}|[tTnN]|[eE][mM]|[tT][iI][lLsS]|[cC][aA][uU][sS][eE])`;
const WITH_STOP = [
  ...["[mM][rR]", "[mM][rR][sS]", "[mM][sS]", "[dD][rR]", "[pP][rR][oO][fF]", "[jJ][rR]", "[sS][rR]", "[sS][tT]"],
  ...["[vV][sS]", "[eE][tT][cC]", "[iI][nN][cC]", "[cC][oO]", "[aA][lL]", "[bB][rR][oO][sS]", "[A-HJ-Za-hj-z]"],
];
const KEEPS_ITS_STOP =
  WITH_STOP.map((word) => `(?<!^${word})(?<![^${LETTER}]${word})`).join("") +
  `(?<!^\\.[${LETTER}])(?<![^.]\\.[${LETTER}])`;

const BEFORE = [
  `(?=[${BRACKET}])`,
  "(?=[,:](?![0-9]))|(?<![0-9])(?=[,:])",
  "(?<![!?])(?=[!?])",
  "(?<!\\.)(?=\\.\\.)",
  "(?<!-)(?=--)",
  "(?<!`)(?=`)",
  "(?<!')(?='')",
  `(?<!\\.)${KEEPS_ITS_STOP}(?=\\.(?:[${SPACE}${BRACKET},:!?\`'\\u2019]|--|$))`,
  `(?<=[${LETTER}])(?=${NOT})`,
  `(?<!['\\u2019])(?=${QUOTE}${CUT_OFF}${WORD_ENDS})`,
  `(?<!['\\u2019])(?<!^${QUOTE}[nN])(?<![^'\\u2019]${QUOTE}[nN])(?=${QUOTE}(?:[${SPACE}${BRACKET},:!?.\`]|--|''|$))`,
  `(?<![${LETTER}0-9'\\u2019])(?=${QUOTE}(?!${LEANING}${WORD_ENDS})[${LETTER}])`,
  `(?:(?<=^[cC][aA][nN])|(?<=[^${LETTER}][cC][aA][nN]))(?=[nN][oO][tT]${WORD_ENDS})`,
];
const AFTER = [
  `(?<=[${BRACKET}])`,
  "(?<=[,:])(?![0-9])|(?<![0-9][,:])(?<=[,:])",
  "(?<=[!?])(?![!?])",
  "(?<=\\.\\.)(?!\\.)",
  "(?<=--)(?!-)",
  "(?<=`)(?!`)",
  "(?<='')(?!')",
  `(?:(?<![${LETTER}0-9'\\u2019]${QUOTE})|(?<=''${QUOTE}))(?<=${QUOTE})(?!${LEANING}${WORD_ENDS})(?=[${LETTER}])`,
];

/** Places between two characters that are not white space. Without the flag u: no rule looks beyond UTF-16's units. */
export const SPACED = new RegExp(
  `(?<=[^${SPACE}])(?=[^${SPACE}])` +
    `(?:(?=[^A-Za-z0-9]|[nN]['\\u2019oO])(?:${BEFORE.join("|")})|(?<=[^A-Za-z0-9])(?:${AFTER.join("|")}))`,
  "g",
);
