// Texts in UTF-8 to the buckets of their n-grams.
//
// It knows nothing of Unicode itself. Python tells it what characters become, page by page, when a text first has one of
// a page; and what the words of a piece are, between two spaces, whose characters depend on their neighbours. So it gives
// what Python's own reader gives, and calls no Python: it says what it lacks, and is asked again once it has that.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ngrams.hpp"

namespace limbeck {

// The words of a piece, each with its hash and its buckets.
struct PieceWords {
    std::vector<std::uint32_t> words;
    std::vector<std::size_t> ends;  // of each word's ids
    std::vector<std::int32_t> ids;
};

class NgramReader {
  public:
    enum class Outcome { read, wanting, never };

    // `nothing` is the id of a text without words.
    NgramReader(const NgramSettings& settings, std::int32_t nothing)
        : hasher_(settings), nothing_(nothing), distinct_(hasher_.ids()) {}

    // Reads at most `most` words. `read`: the ids are in `ids`. `wanting`: add what is in `pages` and `pieces`, and read
    // again. `never`: the text has an unclear piece that is too long to be kept.
    Outcome read(std::string_view text, std::size_t most);

    const std::vector<std::int32_t>& ids() const { return row_.ids; }
    const std::vector<std::uint32_t>& pages() const { return pages_; }
    const std::vector<std::string>& pieces() const { return pieces_; }

    void add_page(std::uint32_t number, const std::vector<CharacterTable::Several>& characters);
    // Throws for ids that the settings do not have.
    void add_piece(const std::string& piece, PieceWords words);

  private:
    using Byte = unsigned char;

    bool next_piece(const Byte*& at, const Byte* end);
    Character looked_up(std::uint32_t character) {
        const CharacterTable::Page* page = characters_.page(character / CharacterTable::PAGE);
        return page != nullptr ? (*page)[character % CharacterTable::PAGE] : unknown(character);
    }
    Character unknown(std::uint32_t character);
    void add_unclear_piece(std::size_t most);
    void add_known(const PieceWords& piece, std::size_t most);

    NgramHasher hasher_;
    std::int32_t nothing_;
    DistinctIds distinct_;
    CharacterTable characters_;
    std::unordered_map<std::string, PieceWords> known_;

    // Of the text that is being read, or was read last.
    NgramRow row_;
    std::string_view piece_;
    std::vector<Character> formed_;  // the characters of the piece
    bool is_unclear_ = false, is_too_long_ = false;
    std::vector<std::uint32_t> pages_;
    std::vector<std::string> pieces_;
};

}  // namespace limbeck
