#include "matrix.hpp"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

namespace limbeck {

namespace {

// The place of each input of one vector of outputs: calls put(lane, input, place) with places counted in weights.
template <class Put>
void each_place(const Matrix& matrix, long vector, int lanes, Put put) {
    const long first = vector / matrix.strip * matrix.strip;
    const long width = std::min<long>(matrix.strip, matrix.vectors - first);
    const long four = matrix.bytes ? 4 : 1;
    for (long input = 0; input < matrix.inputs; ++input)
        for (int lane = 0; lane < lanes; ++lane) {
            long groups = input / four * width + (vector - first);
            put(lane, input, first * matrix.inputs * lanes + (groups * lanes + lane) * four + input % four);
        }
}

void pack_floats(Matrix& matrix, const Weights& weights, const std::vector<Output>& outputs,
                 const std::vector<long>& inputs, int lanes) {
    matrix.weights = Block<char>(matrix.vectors * lanes * matrix.inputs * static_cast<long>(sizeof(float)));
    float* to = reinterpret_cast<float*>(matrix.weights.get());
    for (long vector = 0; vector < matrix.vectors; ++vector)
        each_place(matrix, vector, lanes, [&](int lane, long input, long place) {
            const Output& output = outputs[vector * lanes + lane];
            if (output.source != NOTHING && inputs[input] != NOTHING)
                to[place] = weights.value(output.source, inputs[input]) * output.factor;
        });
}

void pack_bytes(Matrix& matrix, const Weights& weights, const std::vector<Output>& outputs,
                const std::vector<long>& inputs, const Kernels& kernels) {
    matrix.input_offset = !kernels.signed_inputs && (kernels.fits_wide || matrix.narrow) ? 128 : 0;
    matrix.weights = Block<char>(matrix.vectors * kernels.lanes * matrix.inputs);
    for (long vector = 0; vector < matrix.vectors; ++vector)
        each_place(matrix, vector, kernels.lanes, [&](int lane, long input, long place) {
            const Output& output = outputs[vector * kernels.lanes + lane];
            const bool there = output.source != NOTHING && input < static_cast<long>(inputs.size());
            const long source = there ? inputs[input] : NOTHING;
            const int integer = source == NOTHING ? 0
                                                  : weights.integers[output.source * weights.output_step +
                                                                     source * weights.input_step];
            matrix.weights[place] = static_cast<char>(integer);
            matrix.starts[vector * kernels.lanes + lane] -= matrix.input_offset * integer;
        });
}

}  // namespace

bool is_narrow(const Weights& weights) {
    int largest = 0;
    for (long place = 0; weights.integers != nullptr && place < weights.outputs * weights.inputs; ++place)
        largest = std::max(largest, std::abs(static_cast<int>(weights.integers[place])));
    if (largest > 127) throw std::invalid_argument("integers of weights must lie within -127..127");
    return largest <= 63;
}

std::vector<Output> in_order(long outputs, long lanes) {
    std::vector<Output> order(rounded_up(outputs, lanes));
    for (long output = 0; output < outputs; ++output) order[output].source = output;
    return order;
}

std::vector<long> in_order(long inputs) {
    std::vector<long> order(inputs);
    for (long input = 0; input < inputs; ++input) order[input] = input;
    return order;
}

Matrix packed(const Weights& weights, const std::vector<Output>& outputs, const std::vector<long>& inputs,
              const float* bias, int strip, Form form, const Kernels& kernels) {
    Matrix matrix;
    matrix.bytes = form != Form::floats && weights.integers != nullptr;
    matrix.narrow = is_narrow(weights) && form != Form::wide_bytes;
    matrix.strip = strip;
    matrix.inputs = rounded_up(static_cast<long>(inputs.size()), matrix.bytes ? 4 : 1);
    matrix.vectors = static_cast<long>(outputs.size()) / kernels.lanes;
    matrix.scales = Block<float>(static_cast<long>(outputs.size()));
    matrix.bias = Block<float>(static_cast<long>(outputs.size()));
    matrix.starts = Block<std::int32_t>(static_cast<long>(outputs.size()));
    for (std::size_t place = 0; place < outputs.size(); ++place) {
        const Output& output = outputs[place];
        if (output.source == NOTHING) continue;
        if (matrix.bytes) matrix.scales[place] = weights.scales[output.source] * output.factor;
        if (bias != nullptr) matrix.bias[place] = bias[output.source] * output.factor;
    }
    if (matrix.bytes) pack_bytes(matrix, weights, outputs, inputs, kernels);
    else pack_floats(matrix, weights, outputs, inputs, kernels.lanes);
    return matrix;
}

}  // namespace limbeck
