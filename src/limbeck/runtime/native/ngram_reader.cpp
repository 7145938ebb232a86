#include "ngram_reader.hpp"

#include <algorithm>
#include <stdexcept>

namespace limbeck {

namespace {

constexpr std::string_view MASK = "[MASK]";
// About 10 MB when full. It is then cleared, as the cache of Python's reader is.
constexpr std::size_t MOST_KNOWN = 1 << 14, LONGEST_KNOWN = 128;  // bytes
constexpr std::size_t MOST_KEPT = 1 << 20;                        // numbers, from one text to the next

template <class Item>
void free_if_large(std::vector<Item>& items) {
    if (items.capacity() > MOST_KEPT) items = {};
}

}  // namespace

NgramReader::Outcome NgramReader::read(std::string_view text, std::size_t most) {
    free_if_large(row_.ids), free_if_large(formed_);
    row_.clear(), pages_.clear(), pieces_.clear();
    is_too_long_ = false;
    const Byte *at = reinterpret_cast<const Byte*>(text.data()), *end = at + text.size();
    while (row_.words.size() + pieces_.size() < most && next_piece(at, end)) {
        if (is_unclear_) add_unclear_piece(most);
        else hasher_.add(formed_, most, row_);
    }
    if (is_too_long_) return Outcome::never;
    if (!pages_.empty() || !pieces_.empty()) return Outcome::wanting;
    hasher_.add_runs(row_);
    distinct_.keep(row_.ids);
    if (row_.ids.empty()) row_.ids.push_back(nothing_);
    return Outcome::read;
}

// Puts the next piece between white space into `piece_` and `formed_`; false at the end of the text.
bool NgramReader::next_piece(const Byte*& at, const Byte* end) {
    const Byte* first = nullptr;
    bool has_bracket = false;
    formed_.clear();
    is_unclear_ = false;
    const Byte* last = at;  // of what was read of the piece
    while (at < end) {
        const std::uint32_t character = next_character(at, end);
        const Character found = looked_up(character);
        if (found.kind() == Kind::space && first == nullptr) {
            last = at;
            continue;
        }
        if (found.kind() == Kind::space) break;
        if (first == nullptr) first = last;
        last = at;
        has_bracket |= character == '[';
        if (found.kind() == Kind::unclear) is_unclear_ = true;
        else if (found.kind() != Kind::several) formed_.push_back(found);
        else for (Character each : characters_.several(found)) formed_.push_back(each);
    }
    if (first == nullptr) return false;
    piece_ = {reinterpret_cast<const char*>(first), static_cast<std::size_t>(last - first)};
    is_unclear_ |= has_bracket && piece_.find(MASK) != std::string_view::npos;
    return true;
}

// Wants its page, and knows nothing of it.
Character NgramReader::unknown(std::uint32_t character) {
    const std::uint32_t number = character / CharacterTable::PAGE;
    if (std::find(pages_.begin(), pages_.end(), number) == pages_.end()) pages_.push_back(number);
    return {};
}

void NgramReader::add_unclear_piece(std::size_t most) {
    if (!pages_.empty()) return;  // nobody knows yet where it ends
    if (piece_.size() > LONGEST_KNOWN) {
        is_too_long_ = true;
        return;
    }
    const auto found = known_.find(std::string(piece_));
    if (found == known_.end()) pieces_.emplace_back(piece_);
    else add_known(found->second, most);
}

void NgramReader::add_known(const PieceWords& piece, std::size_t most) {
    const std::size_t count = std::min(piece.words.size(), most - row_.words.size());
    if (count == 0) return;
    row_.words.insert(row_.words.end(), piece.words.begin(), piece.words.begin() + count);
    row_.ids.insert(row_.ids.end(), piece.ids.begin(), piece.ids.begin() + piece.ends[count - 1]);
}

void NgramReader::add_page(std::uint32_t number, const std::vector<CharacterTable::Several>& characters) {
    characters_.add(number, characters);
}

void NgramReader::add_piece(const std::string& piece, PieceWords words) {
    for (std::int32_t id : words.ids)
        if (id < 0 || id >= hasher_.ids()) throw std::invalid_argument("no such bucket: " + std::to_string(id));
    if (known_.size() >= MOST_KNOWN) known_.clear();
    known_[piece] = std::move(words);
}

}  // namespace limbeck
