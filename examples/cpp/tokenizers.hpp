// Limbeck's tokenizers of words (English, and Chinese without jieba) and of hashed n-grams, after docs/format.md.

#pragma once

#include <unicode/locid.h>
#include <unicode/normalizer2.h>
#include <unicode/regex.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "json.hpp"
#include "spacing.hpp"

using Ids = std::vector<int64_t>;
using Texts = std::vector<UnicodeString>;

// ---- Characters ---------------------------------------------------------------------------------------------------

void check(UErrorCode status, const char* what) {
    if (U_FAILURE(status)) throw std::runtime_error(std::string(what) + ": " + u_errorName(status));
}

bool is_space(UChar32 c) {
    return (c >= 9 && c <= 13) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

UnicodeString stripped(const UnicodeString& text) {
    int start = 0, end = text.length();
    while (start < end && is_space(text.charAt(start))) ++start;
    while (end > start && is_space(text.charAt(end - 1))) --end;
    return text.tempSubString(start, end - start);
}

UnicodeString readable(const UnicodeString& text, int most) {
    UnicodeString found;
    int count = 0;
    for (int at = 0; at < text.length() && count < most; ++count) {
        const UChar32 c = text.char32At(at);
        found.append(U_IS_SURROGATE(c) ? UChar32(0xfffd) : c);
        at += U16_LENGTH(c);
    }
    return found;
}

UnicodeString lowered(UnicodeString text) {  // letter by letter: a sigma is the same at the end of a word
    return text.findAndReplace(UnicodeString(u"Σ"), UnicodeString(u"σ")).toLower(icu::Locale::getRoot());
}

UnicodeString normal(const UnicodeString& text, bool is_compatible) {
    UErrorCode status = U_ZERO_ERROR;
    const auto* form = is_compatible ? icu::Normalizer2::getNFKCInstance(status) : icu::Normalizer2::getNFCInstance(status);
    UnicodeString found = form->normalize(text, status);
    check(status, "normalising");
    return found;
}

std::vector<UnicodeString> letters_of(const UnicodeString& text) {
    std::vector<UnicodeString> letters;
    for (int at = 0; at < text.length(); at += letters.back().length()) letters.emplace_back(text.char32At(at));
    return letters;
}

std::unique_ptr<icu::RegexPattern> expression(const UnicodeString& source) {
    UErrorCode status = U_ZERO_ERROR;
    UParseError place;
    std::unique_ptr<icu::RegexPattern> found(icu::RegexPattern::compile(source, 0, place, status));
    check(status, "an expression of the tokenizer");
    return found;
}

// ICU takes braces and dollars in a class for its own; the one expression with such is known.
UnicodeString for_icu(const UnicodeString& source) {
    const bool is_spacing = source.startsWith(UnicodeString(u"(?<=[^ \\t\\n"));
    return is_spacing ? UnicodeString::fromUTF8(spaced_places()) : source;
}

UnicodeString replaced(const icu::RegexPattern& found, const UnicodeString& text, const UnicodeString& content) {
    UErrorCode status = U_ZERO_ERROR;
    std::unique_ptr<icu::RegexMatcher> matcher(found.matcher(text, status));
    const UnicodeString whole = matcher->replaceAll(content, status);
    check(status, "replacing");
    return whole;
}

// ---- Tokenizers ---------------------------------------------------------------------------------------------------

struct Tokenizer {
    virtual ~Tokenizer() = default;
    virtual Ids read(const UnicodeString& text) const = 0;  // without white space at its ends
};

struct Hash {
    size_t operator()(const UnicodeString& text) const { return size_t(text.hashCode()); }
};

class WordTokenizer : public Tokenizer {  // tokens that are whole words: WordLevel, or Unigram for Chinese
public:
    WordTokenizer(const Json& state, int max_length) : max_length_(max_length) {
        if (state.find("segmenter")) throw std::runtime_error("its texts are cut by jieba");
        add_steps(state.at("normalizer"));
        const Json& split = state.at("pre_tokenizer");
        if (!split.at("type").is("Split") || !split.at("behavior").is("Removed") || !split.at("invert").value)
            throw std::runtime_error("its tokenizer is not one of words");
        words_ = expression(split.at("pattern").at("Regex").text);
        const Json& model = state.at("model");
        is_unigram_ = model.at("type").is("Unigram");
        if (!is_unigram_ && !model.at("type").is("WordLevel")) throw std::runtime_error("its tokenizer is not one of words");
        double lowest = 0;
        if (is_unigram_) {
            for (const Json& pair : model.at("vocab").items) {
                ids_[pair.items[0].text] = int64_t(scores_.size());
                scores_.push_back(pair.items[1].value);
                lowest = std::min(lowest, scores_.back());
                longest_ = std::max(longest_, pair.items[0].text.countChar32());
            }
        } else {
            for (const auto& [word, id] : model.at("vocab").fields) ids_[UnicodeString::fromUTF8(word)] = int64_t(id.value);
        }
        unknown_score_ = lowest - 10;
    }

    Ids read(const UnicodeString& text) const override {
        const UnicodeString given = readable(text, std::max(10'000, 100 * max_length_)), mask(u"[MASK]");
        Ids ids;
        for (int at = 0; at <= given.length();) {
            int end = given.indexOf(mask, at);
            const bool is_masked = end >= 0;
            if (!is_masked) end = given.length();
            read_part(given.tempSubString(at, end - at), ids);
            if (is_masked) ids.push_back(2);
            at = end + (is_masked ? mask.length() : 1);
        }
        ids.resize(std::min(ids.size(), size_t(max_length_)));
        return ids;
    }

private:
    std::vector<std::function<UnicodeString(const UnicodeString&)>> steps_;
    std::unique_ptr<icu::RegexPattern> words_;
    std::unordered_map<UnicodeString, int64_t, Hash> ids_;
    std::vector<double> scores_;
    double unknown_score_;
    int max_length_, longest_ = 1;
    bool is_unigram_;

    void add_steps(const Json& step) {
        const std::string kind = step.at("type").utf8();
        if (kind == "Sequence") {
            for (const Json& inner : step.at("normalizers").items) add_steps(inner);
        } else if (kind == "NFC" || kind == "NFKC") {
            steps_.push_back([kind](const UnicodeString& text) { return normal(text, kind == "NFKC"); });
        } else if (kind == "Lowercase") {
            steps_.push_back(lowered);
        } else if (kind == "Replace" && step.at("pattern").find("String")) {
            const UnicodeString from = step.at("pattern").at("String").text, to = step.at("content").text;
            steps_.push_back([from, to](const UnicodeString& text) { return UnicodeString(text).findAndReplace(from, to); });
        } else if (kind == "Replace") {
            const std::shared_ptr<icu::RegexPattern> found = expression(for_icu(step.at("pattern").at("Regex").text));
            const UnicodeString content = step.at("content").text;  // has no $ or backslash in any tokenizer of words
            steps_.push_back([found, content](const UnicodeString& text) { return replaced(*found, text, content); });
        } else {
            throw std::runtime_error("its tokenizer changes texts by " + kind);
        }
    }

    void read_part(const UnicodeString& part, Ids& ids) const {
        UnicodeString text = part;
        for (const auto& step : steps_) text = step(text);
        UErrorCode status = U_ZERO_ERROR;
        std::unique_ptr<icu::RegexMatcher> matcher(words_->matcher(text, status));
        while (matcher->find(status)) {
            const int start = matcher->start(status);
            const UnicodeString word = text.tempSubString(start, matcher->end(status) - start);
            for (const UnicodeString& token : is_unigram_ ? best_cut(word) : std::vector<UnicodeString>{word}) {
                const auto found = ids_.find(token);
                ids.push_back(found == ids_.end() || found->second == 0 ? 1 : found->second);
            }
        }
        check(status, "finding words");
    }

    // The cut with the highest sum of scores; unknown letters in a row are one token.
    std::vector<UnicodeString> best_cut(const UnicodeString& word) const {
        struct Best { double score = 0; int start = -1; bool is_unknown = false; };
        const auto letters = letters_of(word);
        const int count = int(letters.size());
        std::vector<Best> best(count + 1);
        for (int start = 0; start < count; ++start) {
            UnicodeString token;
            bool is_token = false;
            auto offer = [&](int end, double score, bool is_unknown) {
                if (best[end].start < 0 || score > best[end].score) best[end] = {score, start, is_unknown};
            };
            for (int end = start + 1; end <= std::min(count, start + longest_); ++end) {
                token.append(letters[end - 1]);
                const auto found = ids_.find(token);
                if (found == ids_.end()) continue;
                offer(end, scores_[size_t(found->second)] + best[start].score, found->second == 1);
                is_token |= end == start + 1;
            }
            if (!is_token) offer(start + 1, unknown_score_ + best[start].score, true);
        }
        std::vector<UnicodeString> tokens;
        bool was_unknown = false;
        for (int end = count; end > 0; end = best[end].start) {
            UnicodeString token;
            for (int at = best[end].start; at < end; ++at) token.append(letters[at]);
            if (best[end].is_unknown && was_unknown) tokens.back().insert(0, token);
            else tokens.push_back(token);
            was_unknown = best[end].is_unknown;
        }
        return {tokens.rbegin(), tokens.rend()};
    }
};

uint32_t crc32(const UnicodeString& text) {
    std::string bytes;
    text.toUTF8String(bytes);
    uint32_t value = ~0u;
    for (const unsigned char byte : bytes) {
        value ^= byte;
        for (int bit = 0; bit < 8; ++bit) value = value & 1 ? (value >> 1) ^ 0xedb88320u : value >> 1;
    }
    return ~value;
}

class NgramTokenizer : public Tokenizer {
public:
    NgramTokenizer(const Json& settings, int max_length) : max_length_(max_length) {
        for (const Json& step : settings.at("form").items) form_.insert(step.utf8());
        buckets_ = uint32_t(settings.at("buckets").value);
        words_ = int(settings.at("words").value);
        shortest_ = int(settings.at("shortest").value);
        longest_ = int(settings.at("longest").value);
    }

    Ids read(const UnicodeString& text) const override {
        std::vector<Unit> units;
        const UnicodeString given = formed(readable(text, std::max(10'000, 100 * max_length_)));
        for (int at = 0; at < given.length() && units.size() < size_t(max_length_);) {
            if (is_space(given.charAt(at))) { ++at; continue; }
            int end = at;
            while (end < given.length() && !is_space(given.charAt(end))) ++end;
            add_units(given.tempSubString(at, end - at), units);
            at = end;
        }
        if (units.size() > size_t(max_length_)) units.resize(size_t(max_length_));
        Ids ids;
        std::vector<uint32_t> runs;
        for (const Unit& unit : units) {
            ids.insert(ids.end(), unit.ids.begin(), unit.ids.end());
            runs.push_back(unit.number);
        }
        for (int length = 2; length <= words_; ++length) {
            for (size_t at = 0; at + length <= units.size(); ++at) {
                runs[at] = runs[at] * 0x9E3779B1u + units[at + length - 1].number;
                ids.push_back(3 + runs[at] % (buckets_ / 2));
            }
        }
        std::unordered_set<int64_t> seen;
        Ids once;
        for (const int64_t id : ids)
            if (seen.insert(id).second) once.push_back(id);
        return once;
    }

private:
    struct Unit { uint32_t number; Ids ids; };
    std::unordered_set<std::string> form_;
    std::unique_ptr<icu::RegexPattern> places_ = expression(UnicodeString::fromUTF8(spaced_places()));
    uint32_t buckets_;
    int words_, shortest_, longest_, max_length_;

    UnicodeString formed(const UnicodeString& text) const {
        const UnicodeString wide(u"。，、！？；：（）～"), marks(u".,,!?;:()~");
        UnicodeString found;
        for (int at = 0; at < text.length(); ++at) {
            const char16_t c = text.charAt(at);
            const int place = wide.indexOf(c);
            if (place >= 0) found.append(form_.count("narrow_marks") ? marks.charAt(place) : c);
            else if (form_.count("narrow") && c == 0x3000) found.append(u' ');
            else found.append(form_.count("narrow") && c >= 0xff01 && c <= 0xff5e ? char16_t(c - 0xfee0) : c);
        }
        if (form_.count("lowercase")) found = lowered(found);
        return form_.count("spaced") ? replaced(*places_, found, UnicodeString(u" ")) : found;
    }

    enum Kind { nothing, word, han, mark };
    static Kind kind_of(UChar32 c) {
        if ((c >= 0x3400 && c <= 0x4dbf) || (c >= 0x4e00 && c <= 0x9fff) || (c >= 0xf900 && c <= 0xfaff) || (c >= 0x20000 && c <= 0x323af)) return han;
        if (c == 0xfe0f) return nothing;
        const uint32_t mask = U_MASK(u_charType(c));
        if (mask & (U_GC_L_MASK | U_GC_M_MASK | U_GC_N_MASK)) return word;
        return mask & (U_GC_Z_MASK | U_GC_C_MASK) ? nothing : mark;
    }

    void add_units(UnicodeString piece, std::vector<Unit>& units) const {
        piece.findAndReplace(UnicodeString(u"[MASK]"), UnicodeString(u" "));
        const auto letters = letters_of(normal(piece, true).toLower(icu::Locale::getRoot()));
        for (size_t at = 0; at < letters.size();) {
            const Kind kind = kind_of(letters[at].char32At(0));
            size_t end = at;
            while (end < letters.size() && kind_of(letters[end].char32At(0)) == kind) ++end;
            if (kind == word) add_word(Texts(letters.begin() + long(at), letters.begin() + long(end)), units);
            for (size_t one = at; (kind == han || kind == mark) && one < end; ++one)
                units.push_back(unit(letters[one], kind == han ? parts(letters, one, end, longest_) : Texts{}));
            at = end;
        }
    }

    void add_word(const Texts& letters, std::vector<Unit>& units) const {
        UnicodeString whole;
        Texts framed{UnicodeString(u"<")}, found;
        for (const auto& letter : letters) {
            whole.append(letter);
            if (framed.size() <= 40) framed.push_back(letter);
        }
        framed.push_back(UnicodeString(u">"));
        for (size_t start = 0; start < framed.size(); ++start)
            for (const auto& part : parts(framed, start, framed.size(), std::min(longest_, int(framed.size()) - 1))) found.push_back(part);
        // In the order of docs/format.md: by length, then by place.
        std::stable_sort(found.begin(), found.end(), [](const auto& one, const auto& other) { return one.countChar32() < other.countChar32(); });
        units.push_back(unit(whole, found));
    }

    Texts parts(const Texts& letters, size_t start, size_t end, int longest) const {
        Texts found;
        UnicodeString part;
        for (size_t at = start; at < end && int(at - start) < longest; ++at) {
            part.append(letters[at]);
            if (int(at - start) + 1 >= shortest_) found.push_back(part);
        }
        return found;
    }

    Unit unit(const UnicodeString& whole, const Texts& parts) const {
        const uint32_t half = buckets_ / 2, number = crc32(whole);
        Ids ids{3 + number % half};
        for (const auto& part : parts) ids.push_back(3 + half + crc32(part) % (buckets_ - half));
        return {number, ids};
    }
};
