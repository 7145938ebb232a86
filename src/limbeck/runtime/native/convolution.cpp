#include "convolution.hpp"

#include <algorithm>
#include <numeric>

namespace limbeck {

namespace {

// [window][vector][place][lane]: what is summed is close together in memory.
std::vector<Output> by_vector(const std::vector<long>& windows, long filters, long lanes) {
    std::vector<Output> order;
    long first = 0;
    for (long places : windows) {
        for (long vector = 0; vector < rounded_up(filters, lanes); vector += lanes)
            for (long place = 0; place < places; ++place)
                for (long filter = vector; filter < vector + lanes; ++filter)
                    order.push_back({filter < filters ? first + place * filters + filter : NOTHING, 1.0f});
        first += places * filters;
    }
    return order;
}

std::vector<Matrix> filter_matrix(const std::vector<long>& windows, const Embeddings& embeddings,
                                  const Weights& filters, const Kernels& kernels) {
    const long places = std::accumulate(windows.begin(), windows.end(), 0L);
    std::vector<Matrix> matrices;
    matrices.push_back(packed(filters, by_vector(windows, filters.outputs / places, kernels.lanes),
                              in_order(filters.inputs), nullptr, 4,
                              embeddings.integers != nullptr ? Form::bytes : Form::floats, kernels));
    return matrices;
}

}  // namespace

Convolution::Convolution(const std::vector<long>& windows, const Embeddings& embeddings, const Weights& filters,
                         const float* bias, Head head, bool pair, long budget, const Kernels& kernels)
    : Student(std::move(head), kernels, pair, embeddings.words,
              filters.outputs / std::accumulate(windows.begin(), windows.end(), 0L) *
                  static_cast<long>(windows.size())),
      windows_(windows),
      filters_(features_ / static_cast<long>(windows.size())),
      vectors_(rounded_up(filters_, kernels.lanes) / kernels.lanes),
      halves_(filters.integers != nullptr),
      bias_(bias, bias + features_),
      words_(embeddings, filter_matrix(windows, embeddings, filters, kernels), halves_, budget, kernels) {}

void Convolution::read(const Text* texts, long count, float* const* features, Scratch& scratch) const {
    for (long text = 0; text < count; ++text) {
        const Scratch::Mark mark = scratch.mark();
        read_text(texts[text], features[text], scratch);
        scratch.release(mark);
    }
}

void Convolution::read_text(const Text& text, float* features, Scratch& scratch) const {
    const void** words = scratch.take<const void*>(text.length);
    words_.rows(text.ids, text.length, 0, words, scratch);
    float* largest = scratch.take<float>(vectors_ * kernels_.lanes);
    const float* bias = bias_.data();
    for (long places : windows_) {
        kernels_.windows({words, halves_, text.length, vectors_, places, largest});
        for (long filter = 0; filter < filters_; ++filter)
            features[filter] = std::max(largest[filter] + bias[filter], 0.0f);
        const long numbers = vectors_ * places * kernels_.lanes;
        for (long word = 0; word < text.length; ++word)
            words[word] = static_cast<const char*>(words[word]) + numbers * (halves_ ? 2 : 4);
        features += filters_, bias += filters_;
    }
}

}  // namespace limbeck
