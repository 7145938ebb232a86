// From the features of a row to its logits.
#pragma once

#include "matrix.hpp"

namespace limbeck {

class Head {
  public:
    // `dense` may have no outputs: then the classifier reads the features.
    Head(const Weights& dense, const float* dense_bias, const Weights& classifier, const float* classifier_bias,
         const Kernels& kernels);

    long classes() const { return static_cast<long>(bias_.size()); }

    // Features and logits of each row. Features end with zeros up to full vectors.
    void logits(const float* const* features, long rows, float* const* logits, Scratch& scratch) const;

  private:
    const Kernels& kernels_;
    Matrix dense_;
    long width_;                // of what the classifier reads, in full vectors
    Block<float> classifier_;   // (classes, width)
    std::vector<float> bias_;
};

}  // namespace limbeck
