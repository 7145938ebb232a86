// The inner loops, as a table of functions that each level of instructions fills in its own way.
//
// A matrix is multiplied in vectors with one output per lane of a register. The vectors of a strip are next to each
// other, input after input, so that a product reads memory in one direction:
//
//     floats   [strip][input][vector][lane]
//     bytes    [strip][four inputs][vector][lane][input of the four]
#pragma once

#include <cstdint>

#include "memory.hpp"

// What the compiler has kernels for, beside those for any CPU.
#if (defined(__x86_64__) || defined(__amd64__)) && (defined(__GNUC__) || defined(__clang__))
#define LIMBECK_X86 1
#else
#define LIMBECK_X86 0
#endif
// Compilers that know the 256-bit form of VNNI that needs no AVX-512.
#if LIMBECK_X86 && (defined(__clang__) ? __clang_major__ >= 12 : __GNUC__ >= 11)
#define LIMBECK_AVX_VNNI 1
#else
#define LIMBECK_AVX_VNNI 0
#endif
#if defined(__aarch64__) && defined(__AARCH64EL__) && (defined(__GNUC__) || defined(__clang__))
#define LIMBECK_ARM 1
#else
#define LIMBECK_ARM 0
#endif

namespace limbeck {

struct Matrix {
    bool bytes = false;    // weights are integers, with a scale for each output
    bool narrow = false;   // integers within ±63: two products with a byte fit into 16 bits
    int strip = 4;         // vectors side by side; fewer in the last strip
    int input_offset = 0;  // what is added to inputs that are bytes
    long inputs = 0;       // a multiple of 4 for bytes
    long vectors = 0;      // of outputs
    Block<char> weights;
    Block<float> scales, bias;   // of each output
    Block<std::int32_t> starts;  // of the sums of each output: they undo the offset of the inputs
};

// outputs = matrix · inputs + bias, row by row.
struct Product {
    const Matrix* matrix;
    long rows;
    const void* const* inputs;  // of each row: floats, or bytes with the matrix's offset
    const float* input_scales;  // of each row, for bytes
    void* const* outputs;       // of each row: floats, or half floats
    bool halves, positive;      // positive: negative outputs become 0
};

enum class Pooling { none, largest, sum, last };

// The current state of one text of a group. States are padded with zeros to full vectors.
struct Walker {
    void *now, *next;       // the state as it is read by the recurrent weights: floats, or bytes with their offset
    float* memory;          // the cell of an LSTM, the state of a GRU
    float* pooled;          // largest, sum or last of the states
    float* states;          // of this step, or null
    std::uint8_t* rounded;  // states of this step as bytes on the scale 1/127, or null
    long states_ahead, rounded_ahead;  // how far these move on with each step
};

// Steps of several texts in one direction: all of them read the same weights at the same time.
//
// Hidden units are in blocks, one unit per lane of a register. The values of a block's gates are one vector per gate,
// and so is a strip of the recurrent matrix. If at most half a block of units is left, its strip has only two vectors,
// of two gates each.
//
// Sums and tables are multiplied by -log2(e), those of the tanh by -2·log2(e): activations are computed from 2 to their
// power.
struct Steps {
    const Matrix* recurrent;  // its `bias` is not read
    const float* scales;      // of the recurrent matrix, for bytes, in the order of the gates
    const float* bias;        // of the recurrent half of a GRU's new state
    long blocks;              // full ones
    bool half_block;
    const void* const* gates;  // the input's part, for each step and text: floats, or half floats with bytes
    long steps;
    int texts;
    Walker* walkers;
    Pooling pooling;
    int rounded_offset;  // of `rounded` states
    bool downwards;      // begin with the last block; changes with each step
};

// The outputs of a window's positions for a text's words, summed; the maximum over all windows that contain a word.
struct Windows {
    const void* const* words;  // [vector][place][lane] of each word, floats or half floats
    bool halves;
    long count, vectors, places;
    float* largest;
};

struct Kernels {
    int lanes;
    int most_texts;  // of a group
    bool fits_wide;      // bytes beyond ±63 are multiplied as quickly as others
    bool signed_inputs;  // bytes are multiplied with their sign: inputs have no offset
    void (*multiply)(const Product&);
    void (*lstm)(const Steps&);
    void (*gru)(const Steps&);
    void (*windows)(const Windows&);
    // numbers → shares of 1
    void (*softmax)(float* numbers, long count);
    // Σ weights[i] · rows[i]; the width is a multiple of the lanes, as are those below
    void (*weighted_sum)(const float* const* rows, const float* weights, long count, long width, float* sum);
    float (*dot)(const float* one, const float* other, long width);
    // Σ question · tanh(-asked / 2·log2(e))
    float (*relevance)(const float* asked, const float* question, long width);
};

const Kernels& kernels_scalar();
#if LIMBECK_X86
const Kernels& kernels_avx2();
const Kernels& kernels_avx512();
#endif
#if LIMBECK_AVX_VNNI
const Kernels& kernels_avx_vnni();
#endif
#if LIMBECK_ARM
const Kernels& kernels_neon();
const Kernels& kernels_neon_dot();
#endif

}  // namespace limbeck
