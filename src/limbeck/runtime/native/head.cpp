#include "head.hpp"

namespace limbeck {

Head::Head(const Weights& dense, const float* dense_bias, const Weights& classifier, const float* classifier_bias,
           const Kernels& kernels)
    : kernels_(kernels),
      width_(rounded_up(classifier.inputs, kernels.lanes)),
      classifier_(classifier.outputs * rounded_up(classifier.inputs, kernels.lanes)),
      bias_(classifier_bias, classifier_bias + classifier.outputs) {
    if (dense.outputs > 0)
        dense_ = packed(dense, in_order(dense.outputs, kernels.lanes), in_order(dense.inputs), dense_bias, 4,
                        Form::floats, kernels);
    for (long output = 0; output < classifier.outputs; ++output)
        for (long input = 0; input < classifier.inputs; ++input)
            classifier_[output * width_ + input] = classifier.value(output, input);
}

void Head::logits(const float* const* features, long rows, float* const* logits, Scratch& scratch) const {
    const float* const* read = features;
    if (dense_.vectors > 0) {
        float** active = scratch.take<float*>(rows);
        for (long row = 0; row < rows; ++row) active[row] = scratch.take<float>(width_);
        kernels_.multiply({&dense_, rows, reinterpret_cast<const void* const*>(features), nullptr,
                           reinterpret_cast<void* const*>(active), false, true});
        read = active;
    }
    for (long row = 0; row < rows; ++row)
        for (long output = 0; output < classes(); ++output)
            logits[row][output] = kernels_.dot(read[row], &classifier_[output * width_], width_) + bias_[output];
}

}  // namespace limbeck
