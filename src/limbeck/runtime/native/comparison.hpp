// Two texts compared word by word: soft alignment in both directions, and which words both have.
#pragma once

#include <vector>

#include "matrix.hpp"
#include "memory.hpp"
#include "text.hpp"

namespace limbeck {

struct ComparisonWeights {
    Weights project, join;  // (size, width of a word's state), (size, 4 · size + 1)
    const float *project_bias = nullptr, *join_bias = nullptr;
    const float* word_weights = nullptr;  // of each word, as logarithms
    float same_word = 0.0f;

    bool given() const { return project.outputs > 0; }
    long features() const { return 2 * project.outputs + 2; }
};

class Comparison {
  public:
    Comparison(const ComparisonWeights& weights, long words, const Kernels& kernels);

    long width() const { return padded_; }  // of a projected word

    // The features of the two texts of a row. `projected` has (tokens, width) of each, not negative, with zeros behind
    // `size` numbers.
    void read(const Text* texts, const float* const* projected, float* const* features, Scratch& scratch) const;

  private:
    struct Side;

    void relate(const Text* texts, const float* const* projected, Side* sides) const;
    void say(const Side& side, float* const* said, Scratch& scratch) const;
    void fill(const Side& side, long token, float* both) const;
    void multiply(const float* const* both, long count, float* const* said, Scratch& scratch) const;
    void pool(const Side& side, const float* const* said, float* features, Scratch& scratch) const;

    const Kernels& kernels_;
    long size_ = 0, padded_ = 0;
    float scale_ = 0.0f, same_word_ = 0.0f;
    Matrix join_;
    std::vector<float> logarithms_;
};

}  // namespace limbeck
