// From the words of a text to the buckets of its n-grams, as limbeck/text/ngrams.py has them.
#pragma once

#include <cstdint>
#include <vector>

#include "characters.hpp"

namespace limbeck {

struct NgramSettings {
    long buckets;   // 2 to 2^31 - 4
    long words;     // runs of up to this many words
    long shortest;  // part of a word, at least 1
    long longest;
};

// Remainders by a number that is often a power of two, where they take no division.
class Remainder {
  public:
    explicit Remainder(std::uint32_t divisor)
        : divisor_(divisor), mask_((divisor & (divisor - 1)) == 0 ? divisor - 1 : 0) {}

    std::uint32_t of(std::uint32_t number) const { return mask_ != 0 ? number & mask_ : number % divisor_; }

  private:
    std::uint32_t divisor_, mask_;
};

// The words of a text that were read so far, and the buckets of these and of their parts.
struct NgramRow {
    std::vector<std::uint32_t> words;
    std::vector<std::int32_t> ids;

    void clear() { words.clear(), ids.clear(); }
};

class NgramHasher {
  public:
    explicit NgramHasher(const NgramSettings& settings);

    // Adds the words among the characters, until the row has `most` of them.
    void add(const std::vector<Character>& characters, std::size_t most, NgramRow& row) const;

    // Adds the runs of words, when all words are there.
    void add_runs(NgramRow& row) const;

    // One more than the largest id.
    long ids() const { return FIRST_BUCKET + settings_.buckets; }

  private:
    static constexpr long FIRST_BUCKET = 3, LONGEST_WORD = 40;
    static constexpr std::uint32_t MULTIPLIER = 0x9E3779B1;

    void add_word(const Character* first, const Character* last, NgramRow& row) const;
    void add_parts(const Character* first, long count, NgramRow& row) const;
    void add_han(const Character* first, const Character* last, NgramRow& row) const;
    void add_number(std::uint32_t number, NgramRow& row) const;
    std::int32_t part(std::uint32_t hash) const { return static_cast<std::int32_t>(first_part_ + of_part_.of(hash)); }

    NgramSettings settings_;
    std::uint32_t first_part_;
    Remainder of_word_, of_part_;
};

// Keeps each id once, in the order of their first places.
class DistinctIds {
  public:
    // Ids are below `count`. With many of them, those of a text are looked up in a table of its own.
    explicit DistinctIds(long count) : bits_(count <= MOST_BITS ? static_cast<std::size_t>(count) / 64 + 1 : 0) {}

    void keep(std::vector<std::int32_t>& ids);

  private:
    static constexpr long MOST_BITS = 1L << 22;  // half a megabyte

    std::size_t kept_by_bits(std::vector<std::int32_t>& ids);
    std::size_t kept_by_slots(std::vector<std::int32_t>& ids);

    std::vector<std::uint64_t> bits_;  // of ids that were there, only while `keep` works
};

}  // namespace limbeck
