// TextCNN students: the output of every filter position for a word is cached; a text is sums and maxima of these.
#pragma once

#include <vector>

#include "student.hpp"

namespace limbeck {

class Convolution : public Student {
  public:
    // `filters` has the outputs of window 0, place 0 first, then those of its place 1 and so on, then window 1.
    Convolution(const std::vector<long>& windows, const Embeddings& embeddings, const Weights& filters,
                const float* bias, Head head, bool pair, long budget, const Kernels& kernels);

    long folded_bytes() const override { return words_.kept_bytes(); }

  protected:
    void read(const Text* texts, long count, float* const* features, Scratch& scratch) const override;
    long rows_worth_a_thread() const override { return 128; }

  private:
    void read_text(const Text& text, float* features, Scratch& scratch) const;

    std::vector<long> windows_;
    long filters_, vectors_;  // of a window
    bool halves_;
    std::vector<float> bias_;
    WordTable words_;
};

}  // namespace limbeck
