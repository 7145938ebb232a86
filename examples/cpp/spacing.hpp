// Where punctuation and contractions are separated by spaces, as an expression for ICU: "don't!" becomes "do n't !".

#pragma once

#include <string>

inline std::string spaced_places() {
    const std::string space = R"( \t\n\x0b\x0c\r\x1c-\x1f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000)";
    const std::string letter = R"(A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f)";
    const std::string quote = R"(['\u2019])", bracket = R"(()\[\]\{\}"\u201c\u201d\u00ab\u00bb;\$%#\u2013\u2014\u2026)";
    const std::string is_not = "[nN]" + quote + "[tT]";
    const std::string ends = "(?:(?![" + letter + "])|(?=" + is_not + "))";
    const std::string cut_off = "(?:[sSmMdD]|[lL][lL]|[rRvV][eE])";
    const std::string leaning = "(?:" + cut_off + "|[tTnN]|[eE][mM]|[tT][iI][lLsS]|[cC][aA][uU][sS][eE])";
    std::string keeps_its_stop;
    for (const char* word : {"[mM][rR]", "[mM][rR][sS]", "[mM][sS]", "[dD][rR]", "[pP][rR][oO][fF]", "[jJ][rR]", "[sS][rR]",
                             "[sS][tT]", "[vV][sS]", "[eE][tT][cC]", "[iI][nN][cC]", "[cC][oO]", "[aA][lL]",
                             "[bB][rR][oO][sS]", "[A-HJ-Za-hj-z]"})
        keeps_its_stop += std::string("(?<!^") + word + ")(?<![^" + letter + "]" + word + ")";
    keeps_its_stop += R"((?<!^\.[)" + letter + R"(])(?<![^.]\.[)" + letter + "])";
    const std::string before =
        "(?=[" + bracket + "])|(?=[,:](?![0-9]))|(?<![0-9])(?=[,:])|(?<![!?])(?=[!?])|" + R"((?<!\.)(?=\.\.)|(?<!-)(?=--)|(?<!`)(?=`)|(?<!')(?=''))" +
        R"(|(?<!\.))" + keeps_its_stop + R"((?=\.(?:[)" + space + bracket + R"(,:!?`'\u2019]|--|$)))" +
        "|(?<=[" + letter + "])(?=" + is_not + ")" +
        R"(|(?<!['\u2019])(?=)" + quote + cut_off + ends + ")" +
        R"(|(?<!['\u2019])(?<!^)" + quote + R"([nN])(?<![^'\u2019])" + quote + "[nN])(?=" + quote + "(?:[" + space + bracket + ",:!?.`]|--|''|$))" +
        "|(?<![" + letter + R"(0-9'\u2019])(?=)" + quote + "(?!" + leaning + ends + ")[" + letter + "])" +
        "|(?:(?<=^[cC][aA][nN])|(?<=[^" + letter + "][cC][aA][nN]))(?=[nN][oO][tT]" + ends + ")";
    const std::string after =
        "(?<=[" + bracket + "])|(?<=[,:])(?![0-9])|(?<![0-9][,:])(?<=[,:])|(?<=[!?])(?![!?])" + R"(|(?<=\.\.)(?!\.)|(?<=--)(?!-)|(?<=`)(?!`)|(?<='')(?!'))" +
        "|(?:(?<![" + letter + R"(0-9'\u2019])" + quote + ")|(?<=''" + quote + "))(?<=" + quote + ")(?!" + leaning + ends + ")(?=[" + letter + "])";
    return "(?<=[^" + space + "])(?=[^" + space + "])(?:(?=[^A-Za-z0-9]|" + R"([nN]['\u2019oO])(?:)" + before + ")|(?<=[^A-Za-z0-9])(?:" + after + "))";
}
