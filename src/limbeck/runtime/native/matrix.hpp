// Matrices as files hold them, and as the kernels want them.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels.hpp"

namespace limbeck {

// (outputs, inputs), floats or integers with a scale for each output.
struct Weights {
    const float* floats = nullptr;
    const std::int8_t* integers = nullptr;
    const float* scales = nullptr;
    long outputs = 0, inputs = 0;
    long output_step = 0, input_step = 0;  // strides

    float value(long output, long input) const {
        long place = output * output_step + input * input_step;
        return floats != nullptr ? floats[place] : static_cast<float>(integers[place]) * scales[output];
    }
};

constexpr long NOTHING = -1;

// One packed output: which one of the file, multiplied with what; padding is NOTHING.
struct Output {
    long source = NOTHING;
    float factor = 1.0f;
};

std::vector<Output> in_order(long outputs, long lanes);  // padded to full vectors
std::vector<long> in_order(long inputs);

// Bytes are only for weights that are integers in the file: others become floats. Wide ones are packed as if there were
// integers beyond ±63, whether there are or not.
enum class Form { floats, bytes, wide_bytes };

bool is_narrow(const Weights& weights);  // no integers beyond ±63; throws if there are some beyond ±127

// The matrix with these outputs and inputs. `bias`, of the file's outputs, may be null.
Matrix packed(const Weights& weights, const std::vector<Output>& outputs, const std::vector<long>& inputs,
              const float* bias, int strip, Form form, const Kernels& kernels);

}  // namespace limbeck
