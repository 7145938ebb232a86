#include "bag.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace limbeck {

namespace {

bool folds_dense(const Weights& dense, bool pair) { return dense.outputs > 0 && !pair; }

std::vector<Matrix> folded_matrix(const Weights& dense, const ComparisonWeights& comparison, bool pair,
                                  const Kernels& kernels) {
    std::vector<Matrix> matrices;
    if (comparison.given())
        matrices.push_back(packed(comparison.project, in_order(comparison.project.outputs, kernels.lanes),
                                  in_order(comparison.project.inputs), comparison.project_bias, 4, Form::floats,
                                  kernels));
    if (folds_dense(dense, pair))
        matrices.push_back(packed(dense, in_order(dense.outputs, kernels.lanes), in_order(dense.inputs), nullptr, 4,
                                  Form::floats, kernels));
    return matrices;
}

// Powers of the logarithms, as parts of the largest; none if they are too far apart.
std::vector<float> weights_of(const std::vector<float>& logarithms) {
    constexpr float WIDEST = 40.0f;
    if (logarithms.empty()) return {};
    const auto [least, most] = std::minmax_element(logarithms.begin(), logarithms.end());
    if (!(*most - *least <= WIDEST)) return {};  // also if one of them is no number
    std::vector<float> weights(logarithms.size());
    std::transform(logarithms.begin(), logarithms.end(), weights.begin(),
                   [largest = *most](float logarithm) { return std::exp(logarithm - largest); });
    return weights;
}

constexpr long SUMS = 8;  // side by side: one after the other, each would wait for the last

// Σ numbers, or Σ numbers²
float summed(const float* numbers, long count, bool squares) {
    float sums[SUMS] = {};
    for (long first = 0; first < count; first += SUMS)
        for (long place = first; place < std::min(first + SUMS, count); ++place)
            sums[place - first] += squares ? numbers[place] * numbers[place] : numbers[place];
    return std::accumulate(sums, sums + SUMS, 0.0f);
}

}  // namespace

Bag::Bag(const Embeddings& embeddings, const float* word_weights, bool unit_length,
         const ComparisonWeights& comparison, const Weights& dense, const float* dense_bias, const Weights& classifier, const float* classifier_bias, bool pair, long budget,
         const Kernels& kernels)
    : Student(Head(folds_dense(dense, pair) ? Weights{} : dense, dense_bias, classifier, classifier_bias, kernels),
              kernels, pair, embeddings.words,
              comparison.given()         ? comparison.features()
              : folds_dense(dense, pair) ? dense.outputs
                                         : embeddings.width),
      unit_length_(unit_length),
      comparison_(comparison, embeddings.words, kernels),
      compares_(comparison.given()),
      words_(embeddings, folded_matrix(dense, comparison, pair, kernels), false, budget, kernels) {
    if (word_weights != nullptr) logarithms_.assign(word_weights, word_weights + embeddings.words);
    weights_ = weights_of(logarithms_);
    if (!weights_.empty()) logarithms_ = {};
    if (folds_dense(dense, pair)) bias_.assign(dense_bias, dense_bias + dense.outputs);
}

void Bag::read(const Text* texts, long count, float* const* features, Scratch& scratch) const {
    for (long text = 0; text < count; text += compares_ ? 2 : 1) {
        const Scratch::Mark mark = scratch.mark();
        if (compares_) compare(texts + text, features + text, scratch);
        else read_text(texts[text], features[text], scratch);
        scratch.release(mark);
    }
}

// The words' products with the projection are in the table.
void Bag::compare(const Text* texts, float* const* features, Scratch& scratch) const {
    const long width = comparison_.width();
    float* projected[2];
    for (int which = 0; which < 2; ++which) {
        const long length = texts[which].length;
        const void** rows = scratch.take<const void*>(length);
        projected[which] = scratch.take<float>(length * width);
        words_.rows(texts[which].ids, length, 0, rows, scratch);
        for (long token = 0; token < length; ++token)
            for (long place = 0; place < width; ++place)
                projected[which][token * width + place] = std::max(static_cast<const float*>(rows[token])[place], 0.0f);
    }
    comparison_.read(texts, projected, features, scratch);
}

void Bag::read_text(const Text& text, float* features, Scratch& scratch) const {
    const void** rows = scratch.take<const void*>(text.length);
    float* shares = scratch.take<float>(text.length);
    words_.rows(text.ids, text.length, 0, rows, scratch);
    const float scale = weigh(text, shares);
    const long width = words_.part_numbers(0);
    kernels_.weighted_sum(reinterpret_cast<const float* const*>(rows), shares, text.length, width, features);
    for (long place = 0; place < width; ++place) features[place] *= scale;
    for (std::size_t place = 0; place < bias_.size(); ++place)
        features[place] = std::max(features[place] + bias_[place], 0.0f);
}

// Writes the weights of the words, and returns what all have to be multiplied by.
float Bag::weigh(const Text& text, float* shares) const {
    if (!weights_.empty()) {
        for (long word = 0; word < text.length; ++word) shares[word] = weights_[text.ids[word]];
    } else if (!logarithms_.empty()) {
        for (long word = 0; word < text.length; ++word) shares[word] = logarithms_[text.ids[word]];
        kernels_.softmax(shares, text.length);
    } else {
        std::fill_n(shares, text.length, 1.0f);
    }
    const float sum = summed(shares, text.length, unit_length_);  // not 0: one of the shares is not small
    return 1.0f / (unit_length_ ? std::sqrt(sum) : sum);
}

}  // namespace limbeck
