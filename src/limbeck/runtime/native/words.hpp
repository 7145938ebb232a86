// Word vectors, and what a model makes of each of them before it looks at any other word.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels.hpp"
#include "memory.hpp"

namespace limbeck {

// (words, width), floats or integers with a scale for each word; borrowed memory.
struct Embeddings {
    const char* floats = nullptr;  // possibly unaligned
    const std::int8_t* integers = nullptr;
    const float* scales = nullptr;
    long words = 0, width = 0;
};

// The products of word vectors with matrices, cached when a word first appears. Thread-safe.
class WordTable {
  public:
    // The row of a word has its product with each of the matrices, one after the other; with no matrix, its vector,
    // padded with zeros to full vectors. Rows are cached until they take up more than `budget` bytes.
    WordTable(const Embeddings& embeddings, std::vector<Matrix> matrices, bool halves, long budget,
              const Kernels& kernels);
    ~WordTable();
    WordTable(const WordTable&) = delete;
    WordTable& operator=(const WordTable&) = delete;

    // Pointers to the products of words with one of the matrices. Those that are not cached are in the scratch space.
    void rows(const std::int32_t* ids, long count, long part, const void** rows, Scratch& scratch) const;

    long part_numbers(long part) const { return matrices_.empty() ? width_ : matrices_[part].vectors * kernels_.lanes; }
    long kept_bytes() const { return kept_.load(std::memory_order_relaxed); }

  private:
    struct GivingBack {  // releases a row that was not cached, and its bytes of the budget
        const WordTable* table = nullptr;
        void operator()(void* row) const;
    };
    using Row = std::unique_ptr<void, GivingBack>;

    void fold(const std::int32_t* const* ids, long count, long part, const void** const* rows, Scratch& scratch) const;
    void compute(const std::int32_t* ids, long count, long part, void* const* to, Scratch& scratch) const;
    const void* published(std::int32_t id, Row row) const;
    Row new_row() const;

    Embeddings embeddings_;
    std::vector<Matrix> matrices_;
    const Kernels& kernels_;
    long width_, row_bytes_, budget_;
    std::vector<long> starts_;  // of each part of a row, in bytes
    bool halves_;
    mutable std::atomic<long> kept_{0};
    std::unique_ptr<std::atomic<void*>[]> table_;
};

}  // namespace limbeck
