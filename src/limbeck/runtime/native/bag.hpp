// Bag-of-words students, and students of n-grams.
//
// A linear layer of a mean of vectors is the mean of the layer's outputs for each vector. So for single texts the first
// layer of the head is multiplied into the word vectors; for pairs that are compared word by word, the comparison's is.
#pragma once

#include "comparison.hpp"
#include "student.hpp"

namespace limbeck {

class Bag : public Student {
  public:
    // `word_weights`, as logarithms, may be null: then all words weigh the same. `dense` may have no outputs. The sum of
    // a text's weights is 1; with `unit_length`, the sum of their squares is.
    Bag(const Embeddings& embeddings, const float* word_weights, bool unit_length, const ComparisonWeights& comparison,
        const Weights& dense,
        const float* dense_bias, const Weights& classifier, const float* classifier_bias, bool pair, long budget,
        const Kernels& kernels);

    long folded_bytes() const override { return words_.kept_bytes(); }

  protected:
    void read(const Text* texts, long count, float* const* features, Scratch& scratch) const override;
    long rows_worth_a_thread() const override { return 512; }

  private:
    void read_text(const Text& text, float* features, Scratch& scratch) const;
    void compare(const Text* texts, float* const* features, Scratch& scratch) const;
    float weigh(const Text& text, float* shares) const;

    std::vector<float> weights_;     // of each word, the largest is 1; empty if all weigh the same
    std::vector<float> logarithms_;  // in place of weights that are too far apart for their squares to be floats
    bool unit_length_;
    std::vector<float> bias_;  // of the layer that is multiplied into the words
    Comparison comparison_;
    bool compares_;
    WordTable words_;
};

}  // namespace limbeck
