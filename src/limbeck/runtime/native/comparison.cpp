#include "comparison.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace limbeck {

namespace {

constexpr long CHUNK = 16;          // words that are multiplied together
constexpr std::int32_t LAST_SPECIAL = 2;  // padding, unknown words and masks are equal to nothing
constexpr long BLOCKS = 4;          // own, aligned, distance, product
constexpr float LARGEST_BYTE = 127.0f;

// Each block of the joined numbers is padded to full vectors; what both texts have is behind them.
std::vector<long> padded_blocks(long size, long padded) {
    std::vector<long> inputs(BLOCKS * padded + 1, NOTHING);
    for (long block = 0; block < BLOCKS; ++block)
        for (long place = 0; place < size; ++place) inputs[block * padded + place] = block * size + place;
    inputs[BLOCKS * padded] = BLOCKS * size;
    return inputs;
}

}  // namespace

// A text, what is like its words in the other one, and whether they are there.
struct Comparison::Side {
    Text text;
    const float* own;
    const float** others;
    long other_count;
    float *relevance, *matches;  // (tokens, other_count), (tokens)
};

Comparison::Comparison(const ComparisonWeights& weights, long words, const Kernels& kernels)
    : kernels_(kernels), size_(weights.project.outputs), padded_(rounded_up(size_, kernels.lanes)) {
    if (!weights.given()) return;
    scale_ = 1.0f / std::sqrt(static_cast<float>(size_));
    same_word_ = weights.same_word;
    join_ = packed(weights.join, in_order(size_, kernels.lanes), padded_blocks(size_, padded_), weights.join_bias, 4,
                   Form::bytes, kernels);
    logarithms_.assign(weights.word_weights, weights.word_weights + words);
}

void Comparison::read(const Text* texts, const float* const* projected, float* const* features,
                      Scratch& scratch) const {
    const Scratch::Mark mark = scratch.mark();
    Side sides[2];
    for (int which = 0; which < 2; ++which) {
        const long length = texts[which].length, others = texts[1 - which].length;
        const float** rows = scratch.take<const float*>(others);
        for (long place = 0; place < others; ++place) rows[place] = projected[1 - which] + place * padded_;
        sides[which] = {texts[which], projected[which], rows, others, scratch.take<float>(length * others),
                        scratch.zeros<float>(length)};
    }
    relate(texts, projected, sides);
    for (int which = 0; which < 2; ++which) {
        float** said = scratch.take<float*>(texts[which].length);
        for (long token = 0; token < texts[which].length; ++token)
            said[token] = scratch.take<float>(join_.vectors * kernels_.lanes);
        say(sides[which], said, scratch);
        pool(sides[which], said, features[which], scratch);
    }
    scratch.release(mark);
}

void Comparison::relate(const Text* texts, const float* const* projected, Side* sides) const {
    for (long one = 0; one < texts[0].length; ++one)
        for (long other = 0; other < texts[1].length; ++other) {
            const bool same = texts[0].ids[one] == texts[1].ids[other] && texts[0].ids[one] > LAST_SPECIAL;
            float relevance = scale_ * kernels_.dot(projected[0] + one * padded_, projected[1] + other * padded_, padded_);
            if (same) relevance += same_word_, sides[0].matches[one] = sides[1].matches[other] = 1.0f;
            sides[0].relevance[one * texts[1].length + other] = relevance;
            sides[1].relevance[other * texts[0].length + one] = relevance;
        }
}

void Comparison::say(const Side& side, float* const* said, Scratch& scratch) const {
    for (long first = 0; first < side.text.length; first += CHUNK) {
        const Scratch::Mark mark = scratch.mark();
        const long count = std::min(CHUNK, side.text.length - first);
        float* both[CHUNK];
        for (long token = 0; token < count; ++token) {
            both[token] = scratch.zeros<float>(rounded_up(join_.inputs, kernels_.lanes));
            fill(side, first + token, both[token]);
        }
        multiply(both, count, said + first, scratch);
        scratch.release(mark);
    }
}

// [own; aligned; |own − aligned|; own ⊙ aligned; match] of a word.
void Comparison::fill(const Side& side, long token, float* both) const {
    float *aligned = both + padded_, *distance = aligned + padded_, *product = distance + padded_;
    float* shares = side.relevance + token * side.other_count;
    kernels_.softmax(shares, side.other_count);
    kernels_.weighted_sum(side.others, shares, side.other_count, padded_, aligned);
    std::copy_n(side.own + token * padded_, padded_, both);
    for (long place = 0; place < padded_; ++place) {
        distance[place] = std::fabs(both[place] - aligned[place]);
        product[place] = both[place] * aligned[place];
    }
    both[BLOCKS * padded_] = side.matches[token];
}

// relu(Q · both + d); where Q is integers, so are these numbers, none of which is negative.
void Comparison::multiply(const float* const* both, long count, float* const* said, Scratch& scratch) const {
    const void* inputs[CHUNK];
    float scales[CHUNK];
    for (long token = 0; token < count; ++token) {
        inputs[token] = both[token];
        if (!join_.bytes) continue;
        const float largest = *std::max_element(both[token], both[token] + join_.inputs);
        scales[token] = largest > 0.0f ? largest / LARGEST_BYTE : 1.0f;
        std::uint8_t* bytes = scratch.take<std::uint8_t>(join_.inputs);
        for (long place = 0; place < join_.inputs; ++place)
            bytes[place] = static_cast<std::uint8_t>(
                static_cast<int>(both[token][place] / scales[token] + 0.5f) + join_.input_offset);
        inputs[token] = bytes;
    }
    kernels_.multiply({&join_, count, inputs, scales, reinterpret_cast<void* const*>(said), false, true});
}

// [weighted mean; largest; weighted overlap; overlap]
void Comparison::pool(const Side& side, const float* const* said, float* features, Scratch& scratch) const {
    const long length = side.text.length;
    float *shares = scratch.take<float>(length), *mean = scratch.take<float>(padded_);
    for (long token = 0; token < length; ++token) shares[token] = logarithms_[side.text.ids[token]];
    kernels_.softmax(shares, length);
    kernels_.weighted_sum(said, shares, length, padded_, mean);
    std::copy_n(mean, size_, features);
    for (long place = 0; place < size_; ++place) {
        float largest = said[0][place];
        for (long token = 1; token < length; ++token) largest = std::max(largest, said[token][place]);
        features[size_ + place] = largest;
    }
    float weighed = 0.0f, matches = 0.0f;
    for (long token = 0; token < length; ++token)
        weighed += shares[token] * side.matches[token], matches += side.matches[token];
    features[2 * size_] = weighed;
    features[2 * size_ + 1] = matches / static_cast<float>(length);
}

}  // namespace limbeck
