#include "characters.hpp"

#include <stdexcept>

namespace limbeck {

void CharacterTable::add(std::uint32_t number, const std::vector<Several>& characters) {
    if (number >= PAGES) throw std::invalid_argument("there is no such page of characters");
    if (characters.size() != PAGE) throw std::invalid_argument("a page must have 256 characters");
    if (pages_[number] != nullptr) return;
    auto page = std::make_unique<Page>();
    for (std::size_t place = 0; place < PAGE; ++place) {
        const Several& becomes = characters[place];
        if (becomes.size() == 1) (*page)[place] = becomes[0];
        if (becomes.size() < 2) continue;
        (*page)[place] = Character(static_cast<std::uint32_t>(several_.size()), Kind::several);
        several_.push_back(becomes);
    }
    pages_[number] = std::move(page);
}

}  // namespace limbeck
