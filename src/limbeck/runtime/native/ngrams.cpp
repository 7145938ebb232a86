#include "ngrams.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace limbeck {

namespace {

constexpr long MOST_BUCKETS = (1L << 31) - 4;  // ids are numbers of 32 bits with a sign
constexpr std::uint32_t POLYNOMIAL = 0xEDB88320;  // of CRC-32, as in zlib

constexpr std::array<std::uint32_t, 256> crc_table() {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t rest = byte;
        for (int bit = 0; bit < 8; ++bit) rest = rest >> 1 ^ (rest & 1 ? POLYNOMIAL : 0);
        table[byte] = rest;
    }
    return table;
}

constexpr std::array<std::uint32_t, 256> CRC = crc_table();

// A CRC-32 that bytes can be added to.
class Hash {
  public:
    void add(unsigned char byte) { rest_ = rest_ >> 8 ^ CRC[(rest_ ^ byte) & 0xFF]; }
    void add(Character character) {
        unsigned char bytes[4];
        const int count = utf8_bytes(character.number(), bytes);
        for (int place = 0; place < count; ++place) add(bytes[place]);
    }
    std::uint32_t value() const { return ~rest_; }

  private:
    std::uint32_t rest_ = 0xFFFFFFFF;
};

const NgramSettings& checked(const NgramSettings& settings) {
    if (settings.buckets < 2 || settings.buckets > MOST_BUCKETS)
        throw std::invalid_argument("buckets must be 2 to " + std::to_string(MOST_BUCKETS));
    if (settings.shortest < 1) throw std::invalid_argument("shortest must be at least 1");
    return settings;
}

}  // namespace

NgramHasher::NgramHasher(const NgramSettings& settings)
    : settings_(checked(settings)),
      first_part_(static_cast<std::uint32_t>(FIRST_BUCKET + settings.buckets / 2)),
      of_word_(static_cast<std::uint32_t>(settings.buckets / 2)),
      of_part_(static_cast<std::uint32_t>(settings.buckets - settings.buckets / 2)) {}

void NgramHasher::add(const std::vector<Character>& characters, std::size_t most, NgramRow& row) const {
    const Character *first = characters.data(), *end = first + characters.size();
    while (first < end && row.words.size() < most) {
        const Kind kind = first->kind();
        const Character* last = std::find_if(first, end, [&](Character each) { return each.kind() != kind; });
        if (kind == Kind::word) add_word(first, last, row);
        for (const Character* at = first; kind == Kind::han && at < last && row.words.size() < most; ++at)
            add_han(at, last, row);
        for (const Character* at = first; kind == Kind::mark && at < last && row.words.size() < most; ++at) {
            Hash hash;
            hash.add(*at);
            add_number(hash.value(), row);
        }
        first = last;
    }
}

void NgramHasher::add_number(std::uint32_t number, NgramRow& row) const {
    row.words.push_back(number);
    row.ids.push_back(static_cast<std::int32_t>(FIRST_BUCKET + of_word_.of(number)));
}

void NgramHasher::add_word(const Character* first, const Character* last, NgramRow& row) const {
    Hash hash;
    std::for_each(first, last, [&](Character each) { hash.add(each); });
    add_number(hash.value(), row);
    add_parts(first, std::min<long>(last - first, LONGEST_WORD), row);
}

// By their lengths. Each goes on where the shorter one ended that begins at the same place. Places are taken by eights,
// also beyond the last: so the processor can foresee how often a loop runs. What comes of that is written over.
void NgramHasher::add_parts(const Character* first, long count, NgramRow& row) const {
    constexpr long AT_ONCE = 8, PLACES = LONGEST_WORD + 2 + AT_ONCE;
    const long framed = count + 2, longest = std::min(settings_.longest, framed - 1);
    if (longest < settings_.shortest) return;
    unsigned char bytes[PLACES * 4] = {'<'};
    int starts[PLACES] = {0, 1};  // of each character, and the end of the last
    for (long place = 0; place < count; ++place)
        starts[place + 2] = starts[place + 1] + utf8_bytes(first[place].number(), bytes + starts[place + 1]);
    bytes[starts[framed - 1]] = '>';
    starts[framed] = starts[framed - 1] + 1;
    const bool is_ascii = starts[framed] == framed;
    Hash hashes[PLACES];
    const std::size_t before = row.ids.size();
    row.ids.resize(before + static_cast<std::size_t>((longest - settings_.shortest + 1) * framed + AT_ONCE));
    std::int32_t* ids = row.ids.data() + before;
    for (long length = 1; length <= longest; ++length) {
        const long parts = framed - length + 1;
        for (long start = 0; start < parts; start += AT_ONCE)
            for (long place = start; is_ascii && place < start + AT_ONCE; ++place)
                hashes[place].add(bytes[place + length - 1]);
        for (long place = 0; !is_ascii && place < parts; ++place)
            for (int at = starts[place + length - 1]; at < starts[place + length]; ++at) hashes[place].add(bytes[at]);
        if (length < settings_.shortest) continue;
        for (long start = 0; start < parts; start += AT_ONCE)
            for (long place = start; place < start + AT_ONCE; ++place) ids[place] = part(hashes[place].value());
        ids += parts;
    }
    row.ids.resize(static_cast<std::size_t>(ids - row.ids.data()));
}

void NgramHasher::add_han(const Character* first, const Character* last, NgramRow& row) const {
    Hash hash;
    hash.add(*first);
    add_number(hash.value(), row);
    const long longest = std::min<long>(settings_.longest, last - first);
    for (long length = 1; length <= longest; ++length) {
        if (length > 1) hash.add(first[length - 1]);
        if (length >= settings_.shortest) row.ids.push_back(part(hash.value()));
    }
}

void NgramHasher::add_runs(NgramRow& row) const {
    std::vector<std::uint32_t> runs;
    if (settings_.words >= 2) runs = row.words;
    for (std::size_t length = 2; static_cast<long>(length) <= settings_.words && length <= row.words.size(); ++length) {
        runs.resize(row.words.size() - length + 1);
        for (std::size_t place = 0; place < runs.size(); ++place) {
            runs[place] = runs[place] * MULTIPLIER + row.words[place + length - 1];
            row.ids.push_back(static_cast<std::int32_t>(FIRST_BUCKET + of_word_.of(runs[place])));
        }
    }
}

void DistinctIds::keep(std::vector<std::int32_t>& ids) {
    std::size_t kept = bits_.empty() ? kept_by_slots(ids) : kept_by_bits(ids);
    ids.resize(kept);
}

// Without a branch: whether an n-gram was there before is hard to foresee.
std::size_t DistinctIds::kept_by_bits(std::vector<std::int32_t>& ids) {
    std::size_t kept = 0;
    for (const std::int32_t id : ids) {
        std::uint64_t& word = bits_[static_cast<std::size_t>(id) / 64];
        const std::uint64_t bit = std::uint64_t{1} << (id % 64);
        ids[kept] = id;
        kept += (word & bit) == 0;
        word |= bit;
    }
    for (std::size_t place = 0; place < kept; ++place) bits_[static_cast<std::size_t>(ids[place]) / 64] = 0;
    return kept;
}

std::size_t DistinctIds::kept_by_slots(std::vector<std::int32_t>& ids) {
    constexpr std::int32_t FREE = -1;
    std::size_t slots = 64, kept = 0;
    while (slots < 2 * ids.size()) slots *= 2;
    std::vector<std::int32_t> seen(slots, FREE);
    for (const std::int32_t id : ids) {
        std::size_t slot = static_cast<std::size_t>(id) & (slots - 1);  // ids are remainders of hashes: well mixed
        while (seen[slot] != FREE && seen[slot] != id) slot = (slot + 1) & (slots - 1);
        if (seen[slot] == id) continue;
        seen[slot] = ids[kept++] = id;
    }
    return kept;
}

}  // namespace limbeck
