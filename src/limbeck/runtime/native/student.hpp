// What the three kinds of students share: rows shared out over threads, the two texts of a pair, the head.
#pragma once

#include <cstdint>
#include <utility>

#include "head.hpp"
#include "memory.hpp"
#include "text.hpp"
#include "words.hpp"

namespace limbeck {

class Student {
  public:
    virtual ~Student() = default;

    // The logits of each row, written to `logits` (rows, classes). `texts` is (rows, columns).
    void logits(const Text* texts, long rows, float* logits, long threads) const;

    long classes() const { return head_.classes(); }
    long columns() const { return pair_ ? 2 : 1; }
    long words() const { return words_; }
    virtual long folded_bytes() const = 0;

  protected:
    Student(Head head, const Kernels& kernels, bool pair, long words, long features)
        : kernels_(kernels), features_(features), head_(std::move(head)), pair_(pair), words_(words) {}

    // The features of texts, each written to its own place.
    virtual void read(const Text* texts, long count, float* const* features, Scratch& scratch) const = 0;
    virtual long rows_worth_a_thread() const = 0;

    const Kernels& kernels_;
    const long features_;  // of a text

  private:
    long length_of(const Text* row) const;
    void unit(const Text* texts, const long* rows, long count, float* logits, Scratch& scratch) const;
    void join(const float* const* features, float* joined) const;

    Head head_;
    bool pair_;
    long words_;
};

}  // namespace limbeck
