// What single characters become in compatibility form and lower case, and what they are part of. Python knows, and is
// asked for 256 characters at a time (limbeck/text/ngram_characters.py).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace limbeck {

enum class Kind : std::uint32_t {
    nothing,
    word,
    han,
    mark,
    space,
    several,  // it becomes several characters
    unclear,  // it depends on its neighbours
};

// A character and its kind in one number. Of `several`, the number is their place in the table.
class Character {
  public:
    Character() : Character(0, Kind::unclear) {}
    Character(std::uint32_t number, Kind kind) : packed_(static_cast<std::uint32_t>(kind) << BITS | number) {}

    std::uint32_t number() const { return packed_ & ((1u << BITS) - 1); }
    Kind kind() const { return static_cast<Kind>(packed_ >> BITS); }

  private:
    static constexpr int BITS = 24;
    std::uint32_t packed_;
};

class CharacterTable {
  public:
    static constexpr std::uint32_t PAGE = 256, CHARACTERS = 0x110000, PAGES = CHARACTERS / PAGE;
    using Page = std::array<Character, PAGE>;
    using Several = std::vector<Character>;

    CharacterTable() : pages_(PAGES) {}

    // Null if it was not added yet, or if there is none.
    const Page* page(std::uint32_t number) const { return number < PAGES ? pages_[number].get() : nullptr; }

    // What each of its characters becomes; nothing for one that is unclear. A second page of a number is ignored.
    void add(std::uint32_t number, const std::vector<Several>& characters);

    const Several& several(Character character) const { return several_.at(character.number()); }

  private:
    std::vector<std::unique_ptr<Page>> pages_;
    std::vector<Several> several_;
};

// The character that begins at `at`, which is moved behind it. Never reads beyond `end`, whatever the bytes are.
inline std::uint32_t next_character(const unsigned char*& at, const unsigned char* end) {
    const std::uint32_t first = *at++;
    if (first < 0x80) return first;
    std::uint32_t number = first & (first < 0xE0 ? 0x1F : first < 0xF0 ? 0x0F : 0x07);
    for (; at < end && (*at & 0xC0) == 0x80; ++at) number = number << 6 | (*at & 0x3F);
    return number;
}

// As many characters at the start of a text in UTF-8; all of them if there are fewer.
inline std::string_view first_characters(std::string_view text, std::size_t most) {
    if (text.size() <= most) return text;  // each has at least a byte
    std::size_t characters = 0, at = 0;
    for (; at < text.size(); ++at) {
        const bool begins = (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80;
        if (begins && characters++ == most) break;
    }
    return text.substr(0, at);
}

// The bytes of a character in UTF-8; returns how many of the four there are.
inline int utf8_bytes(std::uint32_t number, unsigned char* bytes) {
    if (number < 0x80) return bytes[0] = static_cast<unsigned char>(number), 1;
    const int more = number < 0x800 ? 1 : number < 0x10000 ? 2 : 3;
    constexpr unsigned char STARTS[] = {0, 0xC0, 0xE0, 0xF0};
    bytes[0] = static_cast<unsigned char>(STARTS[more] | number >> (6 * more));
    for (int place = 1; place <= more; ++place)
        bytes[place] = static_cast<unsigned char>(0x80 | (number >> (6 * (more - place)) & 0x3F));
    return more + 1;
}

}  // namespace limbeck
