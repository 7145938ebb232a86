#include "recurrent.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace limbeck {

namespace {

constexpr long CHUNK = 64;  // steps whose gates are looked up, or computed, at once
constexpr long MOST_TEXTS = 8;  // of a group, at any level
constexpr float BELOW_EVERY_STATE = -2.0f;
constexpr float STATE_SCALE = 1.0f / 127.0f;

}  // namespace

Recurrent::Direction::Direction(const DirectionWeights& weights, const Units& units, const std::vector<long>& inputs,
                                Form form, const Kernels& kernels)
    : recurrent(packed(weights.recurrent, units.by_strip(), in_order(units.hidden), nullptr, units.gates,
                       Form::bytes, kernels)),
      scales(static_cast<long>(units.by_gate().size())),
      bias(units.padded()) {
    const std::vector<Output> by_gate = units.by_gate();
    for (std::size_t place = 0; recurrent.bytes && place < by_gate.size(); ++place)
        if (by_gate[place].source != NOTHING)
            scales[place] = weights.recurrent.scales[by_gate[place].source] * by_gate[place].factor * STATE_SCALE;
    // In a GRU's new state the reset gate is applied to the state's part only, so that its bias stays separate.
    const long outputs = weights.recurrent.outputs, joined = units.gates == 3 ? 2 * units.hidden : outputs;
    const float* of_state = weights.bias + outputs;
    std::vector<float> of_input(weights.bias, weights.bias + outputs);
    for (long output = 0; output < joined; ++output) of_input[output] += of_state[output];
    for (long unit = 0; joined + unit < outputs; ++unit)
        bias[unit] = of_state[joined + unit] * units.factor(units.gates - 1);
    input = packed(weights.input, by_gate, inputs, of_input.data(), 4, form, kernels);
}

// Texts that are computed together, by decreasing length, and their intermediate results.
struct Recurrent::Group {
    const Text* texts;
    long count;
    float** features;
    float* states[MOST_TEXTS];          // of the uppermost layer so far, (tokens, directions · padded units)
    std::uint8_t* rounded[MOST_TEXTS];  // the same as bytes, if needed
    float* new_states[MOST_TEXTS];
    std::uint8_t* new_rounded[MOST_TEXTS];
    float* pooled[DIRECTIONS][MOST_TEXTS];
    float** projected;  // for a comparison

    long active(long step) const {
        long number = count;
        while (number > 0 && texts[number - 1].length <= step) --number;
        return number;
    }
};

std::vector<std::vector<Recurrent::Direction>> Recurrent::packed_layers(const std::vector<LayerWeights>& layers,
                                                                        const Units& units,
                                                                        const Embeddings& embeddings,
                                                                        const Kernels& kernels) {
    std::vector<std::vector<Direction>> all;
    for (const LayerWeights& layer : layers) {
        const std::vector<long> inputs = all.empty() ? in_order(embeddings.width) : padded_inputs(units);
        // Both directions read the same bytes, so both have to want them in the same form.
        const bool narrow = std::all_of(layer.begin(), layer.end(), [](const DirectionWeights& weights) {
            return is_narrow(weights.input);
        });
        const bool floats = all.empty() && embeddings.integers == nullptr;
        const Form form = floats ? Form::floats : narrow ? Form::bytes : Form::wide_bytes;
        std::vector<Direction> directions;
        for (const DirectionWeights& weights : layer) directions.emplace_back(weights, units, inputs, form, kernels);
        all.push_back(std::move(directions));
    }
    return all;
}

std::vector<Matrix> Recurrent::taken_inputs(std::vector<Direction>& layer) {
    std::vector<Matrix> matrices;
    for (Direction& direction : layer) matrices.push_back(std::move(direction.input));
    return matrices;
}

Recurrent::Recurrent(Cell cell, Pool pool, const Embeddings& embeddings, const std::vector<LayerWeights>& layers,
                     const AttentionWeights& attention, const ComparisonWeights& comparison, Head head, bool pair,
                     long budget, const Kernels& kernels)
    : Student(std::move(head), kernels, pair, embeddings.words,
              comparison.given() ? comparison.features() : 2 * layers[0][0].recurrent.inputs),
      cell_(cell),
      pool_(pool),
      units_(layers[0][0].recurrent.inputs, cell == Cell::lstm ? 4 : 3, kernels.lanes),
      hidden_(units_.hidden),
      padded_(units_.padded()),
      layers_(packed_layers(layers, units_, embeddings, kernels)),
      comparison_(comparison, embeddings.words, kernels),
      words_(embeddings, taken_inputs(layers_[0]), layers_[0][0].recurrent.bytes, budget, kernels) {
    if (pool == Pool::compared)
        attention_ = packed(comparison.project, in_order(comparison.project.outputs, kernels.lanes),
                            padded_inputs(units_), comparison.project_bias, 4, Form::bytes, kernels);
    if (pool != Pool::attention) return;
    std::vector<Output> outputs = in_order(2 * hidden_, kernels.lanes);
    for (Output& output : outputs) output.factor = -2.0f * LOG2_E;
    attention_ = packed(attention.weight, outputs, padded_inputs(units_), attention.bias, 4, Form::bytes, kernels);
    question_ = Block<float>(static_cast<long>(outputs.size()));
    std::copy_n(attention.question, 2 * hidden_, question_.get());
}

void Recurrent::read(const Text* texts, long count, float* const* features, Scratch& scratch) const {
    long* order = scratch.take<long>(count);
    std::iota(order, order + count, 0);
    std::sort(order, order + count, [&](long one, long other) { return texts[one].length > texts[other].length; });
    float** projected = scratch.take<float*>(count);
    for (long text = 0; pool_ == Pool::compared && text < count; ++text)
        projected[text] = scratch.take<float>(texts[text].length * comparison_.width());
    for (long first = 0; first < count; first += kernels_.most_texts) {
        const Scratch::Mark mark = scratch.mark();
        Group group{};
        group.count = std::min<long>(kernels_.most_texts, count - first);
        Text* chosen = scratch.take<Text>(group.count);
        group.features = scratch.take<float*>(group.count);
        group.projected = scratch.take<float*>(group.count);
        for (long text = 0; text < group.count; ++text) {
            chosen[text] = texts[order[first + text]];
            group.features[text] = features[order[first + text]];
            group.projected[text] = projected[order[first + text]];
        }
        group.texts = chosen;
        for (std::size_t number = 0; number < layers_.size(); ++number) layer(number, group, scratch);
        if (pool_ == Pool::attention) answer(group, scratch);
        else if (pool_ == Pool::compared) project(group, scratch);
        else pool(group);
        scratch.release(mark);
    }
    for (long text = 0; pool_ == Pool::compared && text < count; text += 2)
        comparison_.read(texts + text, projected + text, features + text, scratch);
}

// Pooled states of both directions → features.
void Recurrent::pool(Group& group) const {
    for (long text = 0; text < group.count; ++text)
        for (int direction = 0; direction < DIRECTIONS; ++direction) {
            const float divisor = pool_ == Pool::mean ? static_cast<float>(group.texts[text].length) : 1.0f;
            for (long unit = 0; unit < hidden_; ++unit)
                group.features[text][direction * hidden_ + unit] = group.pooled[direction][text][unit] / divisor;
        }
}

void Recurrent::layer(std::size_t number, Group& group, Scratch& scratch) const {
    const bool top = number + 1 == layers_.size();
    const bool asked = top && (pool_ == Pool::attention || pool_ == Pool::compared);
    const bool read_rounded = asked ? attention_.bytes : !top && layers_[number + 1][0].input.bytes;
    const bool read_floats = asked || (!top && !read_rounded);
    for (long text = 0; text < group.count; ++text) {
        const long tokens = group.texts[text].length;
        group.new_states[text] = read_floats ? scratch.take<float>(tokens * 2 * padded_) : nullptr;
        group.new_rounded[text] = read_rounded ? scratch.take<std::uint8_t>(tokens * 2 * padded_) : nullptr;
    }
    for (int each = 0; each < DIRECTIONS; ++each) direction(number, each, group, scratch);
    std::copy_n(group.new_states, group.count, group.states);
    std::copy_n(group.new_rounded, group.count, group.rounded);
}

void Recurrent::direction(std::size_t number, int direction, Group& group, Scratch& scratch) const {
    const Direction& weights = layers_[number][direction];
    const bool top = number + 1 == layers_.size();
    Walker walkers[MOST_TEXTS];
    for (long text = 0; text < group.count; ++text)
        walkers[text] = walker(weights, direction, group, text, scratch);
    Steps steps{};
    steps.recurrent = &weights.recurrent;
    steps.scales = weights.scales.get();
    steps.bias = weights.bias.get();
    steps.blocks = units_.blocks;
    steps.half_block = units_.half_block;
    steps.walkers = walkers;
    steps.rounded_offset = top ? attention_.input_offset : layers_[number + 1][0].input.input_offset;
    if (top && pool_ == Pool::largest) steps.pooling = Pooling::largest;
    if (top && pool_ == Pool::mean) steps.pooling = Pooling::sum;
    if (top && pool_ == Pool::last) steps.pooling = Pooling::last;
    const void** rows = scratch.take<const void*>(CHUNK);
    const void** gates_by_step = scratch.take<const void*>(CHUNK * kernels_.most_texts);
    for (long step = 0; step < group.texts[0].length; step += steps.steps) {
        const Scratch::Mark mark = scratch.mark();
        const long active = group.active(step);
        steps.texts = static_cast<int>(active);
        steps.steps = std::min(CHUNK, group.texts[active - 1].length - step);
        steps.gates = gates_by_step;
        for (long text = 0; text < active; ++text) {
            const long first = direction == 0 ? step : group.texts[text].length - step - steps.steps;
            gates(number, direction, group, text, first, steps.steps, rows, scratch);
            for (long place = 0; place < steps.steps; ++place)
                gates_by_step[place * active + text] = rows[direction == 0 ? place : steps.steps - 1 - place];
        }
        cell_ == Cell::lstm ? kernels_.lstm(steps) : kernels_.gru(steps);
        steps.downwards ^= steps.steps % 2 == 1;
        scratch.release(mark);
    }
}

// A text before its first step in this direction.
Walker Recurrent::walker(const Direction& weights, int direction, Group& group, long text, Scratch& scratch) const {
    const long bytes = rounded_up(padded_ * (weights.recurrent.bytes ? 1 : 4), LINE);
    const long last = direction == 0 ? 0 : group.texts[text].length - 1, sign = direction == 0 ? 1 : -1;
    Walker walker{};
    walker.now = scratch.take<char>(bytes);
    walker.next = scratch.take<char>(bytes);
    std::memset(walker.now, weights.recurrent.input_offset, bytes);
    walker.memory = scratch.zeros<float>(padded_);
    walker.pooled = group.pooled[direction][text] = scratch.zeros<float>(padded_);
    if (pool_ == Pool::largest) std::fill_n(walker.pooled, padded_, BELOW_EVERY_STATE);
    if (group.new_states[text] != nullptr)
        walker.states = group.new_states[text] + last * 2 * padded_ + direction * padded_;
    if (group.new_rounded[text] != nullptr)
        walker.rounded = group.new_rounded[text] + last * 2 * padded_ + direction * padded_;
    walker.states_ahead = sign * 2 * padded_;
    walker.rounded_ahead = sign * 2 * padded_;
    return walker;
}

// The state of a token in the form that a matrix reads.
const void* Recurrent::state(const Matrix& matrix, const Group& group, long text, long token) const {
    if (matrix.bytes) return group.rounded[text] + token * 2 * padded_;
    return group.states[text] + token * 2 * padded_;
}

// A matrix times the states of `count` tokens.
void Recurrent::multiply_states(const Matrix& matrix, const Group& group, long text, long first, long count,
                                void* const* outputs, bool halves, Scratch& scratch) const {
    const void** inputs = scratch.take<const void*>(count);
    float* scales = scratch.take<float>(count);
    for (long token = 0; token < count; ++token) {
        scales[token] = STATE_SCALE;
        inputs[token] = state(matrix, group, text, first + token);
    }
    kernels_.multiply({&matrix, count, inputs, scales, outputs, halves, false});
}

// The input's part of the gates of `count` tokens.
void Recurrent::gates(std::size_t number, int direction, const Group& group, long text, long first, long count,
                      const void** rows, Scratch& scratch) const {
    if (number == 0) return words_.rows(group.texts[text].ids + first, count, direction, rows, scratch);
    const Matrix& matrix = layers_[number][direction].input;
    const bool halves = layers_[number][direction].recurrent.bytes;
    void** outputs = scratch.take<void*>(count);
    for (long token = 0; token < count; ++token)
        rows[token] = outputs[token] = scratch.take<char>(matrix.vectors * kernels_.lanes * (halves ? 2 : 4));
    multiply_states(matrix, group, text, first, count, outputs, halves, scratch);
}

// q·tanh(W·hₜ + b) of each token of a text.
void Recurrent::ask(const Group& group, long text, float* relevance, Scratch& scratch) const {
    const long tokens = group.texts[text].length, width = attention_.vectors * kernels_.lanes;
    for (long first = 0; first < tokens; first += CHUNK) {
        const Scratch::Mark mark = scratch.mark();
        const long count = std::min(CHUNK, tokens - first);
        void* asked[CHUNK];
        for (long token = 0; token < count; ++token) asked[token] = scratch.take<float>(width);
        multiply_states(attention_, group, text, first, count, asked, false, scratch);
        for (long token = 0; token < count; ++token)
            relevance[first + token] =
                kernels_.relevance(static_cast<const float*>(asked[token]), question_.get(), width);
        scratch.release(mark);
    }
}

// Σ αₜ·hₜ, with the softmax of relevance for α.
void Recurrent::answer(Group& group, Scratch& scratch) const {
    for (long text = 0; text < group.count; ++text) {
        const long tokens = group.texts[text].length;
        float* shares = scratch.take<float>(tokens);
        const float** states = scratch.take<const float*>(tokens);
        float* sum = scratch.take<float>(2 * padded_);
        ask(group, text, shares, scratch);
        kernels_.softmax(shares, tokens);
        for (long token = 0; token < tokens; ++token) states[token] = group.states[text] + token * 2 * padded_;
        kernels_.weighted_sum(states, shares, tokens, 2 * padded_, sum);
        for (int direction = 0; direction < DIRECTIONS; ++direction)
            std::copy_n(sum + direction * padded_, hidden_, group.features[text] + direction * hidden_);
    }
}

// relu(P·hₜ + c) of each token.
void Recurrent::project(Group& group, Scratch& scratch) const {
    const long width = comparison_.width();
    for (long text = 0; text < group.count; ++text) {
        const long tokens = group.texts[text].length;
        for (long first = 0; first < tokens; first += CHUNK) {
            const Scratch::Mark mark = scratch.mark();
            const long count = std::min(CHUNK, tokens - first);
            void* outputs[CHUNK];
            for (long token = 0; token < count; ++token) outputs[token] = group.projected[text] + (first + token) * width;
            multiply_states(attention_, group, text, first, count, outputs, false, scratch);
            scratch.release(mark);
        }
        float* numbers = group.projected[text];
        for (long place = 0; place < tokens * width; ++place) numbers[place] = std::max(numbers[place], 0.0f);
    }
}

}  // namespace limbeck
