// JSON into a tree; texts keep halves of surrogate pairs, which JSON can spell.

#pragma once

#include <unicode/unistr.h>

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using icu::UnicodeString;

struct Json {
    enum Kind { null, boolean, number, string, array, object } kind = null;
    double value = 0;
    UnicodeString text;  // with halves of surrogate pairs, which JSON can spell
    std::vector<Json> items;
    std::vector<std::pair<std::string, Json>> fields;

    const Json* find(const std::string& name) const {
        for (const auto& [key, field] : fields)
            if (key == name) return &field;
        return nullptr;
    }
    const Json& at(const std::string& name) const {
        if (const Json* found = find(name)) return *found;
        throw std::runtime_error("the key " + name + " is missing");
    }
    bool is(const char* name) const { return kind == string && text == UnicodeString::fromUTF8(name); }
    std::string utf8() const { std::string out; return text.toUTF8String(out); }
};

class JsonParser {
public:
    explicit JsonParser(const std::string& bytes) : text_(UnicodeString::fromUTF8(bytes)) {}
    Json parse() { return value(); }

private:
    UnicodeString text_;
    int at_ = 0;

    char16_t next() { skip(); return text_.charAt(at_); }
    void skip() {
        while (text_.charAt(at_) == u' ' || text_.charAt(at_) == u'\n' || text_.charAt(at_) == u'\r' || text_.charAt(at_) == u'\t') ++at_;
    }
    void expect(char16_t letter) {
        if (next() != letter) throw std::runtime_error("the JSON is damaged at " + std::to_string(at_));
        ++at_;
    }
    Json value() {
        Json found;
        switch (next()) {
            case u'{': return object();
            case u'[': return array();
            case u'"': found.kind = Json::string; found.text = string(); return found;
            case u't': at_ += 4; found.kind = Json::boolean; found.value = 1; return found;
            case u'f': at_ += 5; found.kind = Json::boolean; return found;
            case u'n': at_ += 4; return found;
            default: return number();
        }
    }
    Json number() {
        std::string digits;
        const std::u16string known = u"+-.eE0123456789";
        while (known.find(text_.charAt(at_)) != std::u16string::npos) digits += char(text_.charAt(at_++));
        Json found;
        found.kind = Json::number;
        found.value = std::stod(digits);
        return found;
    }
    Json array() {
        Json found;
        found.kind = Json::array;
        expect(u'[');
        while (next() != u']') {
            found.items.push_back(value());
            if (next() == u',') ++at_;
        }
        ++at_;
        return found;
    }
    Json object() {
        Json found;
        found.kind = Json::object;
        expect(u'{');
        while (next() != u'}') {
            std::string key;
            string().toUTF8String(key);
            expect(u':');
            found.fields.emplace_back(key, value());
            if (next() == u',') ++at_;
        }
        ++at_;
        return found;
    }
    UnicodeString string() {
        expect(u'"');
        UnicodeString found;
        while (text_.charAt(at_) != u'"') {
            if (at_ >= text_.length()) throw std::runtime_error("the JSON ends inside a text");
            char16_t letter = text_.charAt(at_++);
            if (letter == u'\\') {
                letter = text_.charAt(at_++);
                const std::u16string escapes = u"bfnrt", meanings = u"\b\f\n\r\t";
                if (letter == u'u') {
                    std::string digits;
                    text_.tempSubString(at_, 4).toUTF8String(digits);
                    letter = char16_t(std::stoul(digits, nullptr, 16));
                    at_ += 4;
                } else if (const auto place = escapes.find(letter); place != std::u16string::npos) {
                    letter = meanings[place];
                }
            }
            found.append(letter);
        }
        ++at_;
        return found;
    }
};

std::string bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("there is no " + path);
    return {std::istreambuf_iterator<char>(file), {}};
}

Json json_of(const std::string& path) { return JsonParser(bytes_of(path)).parse(); }
