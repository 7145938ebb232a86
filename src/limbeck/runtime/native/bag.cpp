#include "bag.hpp"

#include <algorithm>
#include <cmath>

namespace limbeck {

namespace {

bool folds_dense(const Weights& dense, bool pair) { return dense.outputs > 0 && !pair; }

std::vector<Matrix> dense_matrix(const Weights& dense, bool pair, const Kernels& kernels) {
    std::vector<Matrix> matrices;
    if (folds_dense(dense, pair))
        matrices.push_back(packed(dense, in_order(dense.outputs, kernels.lanes), in_order(dense.inputs), nullptr, 4,
                                  Form::floats, kernels));
    return matrices;
}

}  // namespace

Bag::Bag(const Embeddings& embeddings, const float* word_weights, bool unit_length, const Weights& dense,
         const float* dense_bias, const Weights& classifier, const float* classifier_bias, bool pair, long budget,
         const Kernels& kernels)
    : Student(Head(folds_dense(dense, pair) ? Weights{} : dense, dense_bias, classifier, classifier_bias, kernels),
              kernels, pair, embeddings.words, folds_dense(dense, pair) ? dense.outputs : embeddings.width),
      unit_length_(unit_length),
      words_(embeddings, dense_matrix(dense, pair, kernels), false, budget, kernels) {
    if (word_weights != nullptr) logarithms_.assign(word_weights, word_weights + embeddings.words);
    if (folds_dense(dense, pair)) bias_.assign(dense_bias, dense_bias + dense.outputs);
}

void Bag::read(const Text* texts, long count, float* const* features, Scratch& scratch) const {
    for (long text = 0; text < count; ++text) {
        const Scratch::Mark mark = scratch.mark();
        read_text(texts[text], features[text], scratch);
        scratch.release(mark);
    }
}

void Bag::read_text(const Text& text, float* features, Scratch& scratch) const {
    const void** rows = scratch.take<const void*>(text.length);
    float* shares = scratch.take<float>(text.length);
    words_.rows(text.ids, text.length, 0, rows, scratch);
    if (logarithms_.empty()) {
        std::fill_n(shares, text.length, 1.0f / static_cast<float>(text.length));
    } else {
        for (long word = 0; word < text.length; ++word) shares[word] = logarithms_[text.ids[word]];
        kernels_.softmax(shares, text.length);
    }
    if (unit_length_) {
        float squares = 0.0f;
        for (long word = 0; word < text.length; ++word) squares += shares[word] * shares[word];
        const float scale = 1.0f / std::sqrt(squares);  // at least one of the shares is not small
        for (long word = 0; word < text.length; ++word) shares[word] *= scale;
    }
    kernels_.weighted_sum(reinterpret_cast<const float* const*>(rows), shares, text.length, words_.part_numbers(0),
                          features);
    for (std::size_t place = 0; place < bias_.size(); ++place)
        features[place] = std::max(features[place] + bias_[place], 0.0f);
}

}  // namespace limbeck
