// The steps of LSTM and GRU through a layer, for any level.
#pragma once

#include <type_traits>

#include "cells.hpp"
#include "products.hpp"

namespace limbeck {

template <class Lanes, bool BYTES>
LIMBECK_INLINE void keep_state(typename Lanes::Floats state, const Walker& walker, const Steps& steps, long unit) {
    if constexpr (BYTES)
        Lanes::store_rounded(static_cast<std::uint8_t*>(walker.next) + unit, state, steps.recurrent->input_offset);
    else
        Lanes::store(static_cast<float*>(walker.next) + unit, state);
    float* pooled = walker.pooled + unit;
    if (steps.pooling == Pooling::largest) Lanes::store(pooled, Lanes::larger(Lanes::load(pooled), state));
    if (steps.pooling == Pooling::sum) Lanes::store(pooled, Lanes::add(Lanes::load(pooled), state));
    if (steps.pooling == Pooling::last) Lanes::store(pooled, state);
    if (walker.states != nullptr) Lanes::store(walker.states + unit, state);
    if (walker.rounded != nullptr) Lanes::store_rounded(walker.rounded + unit, state, steps.rounded_offset);
}

// One step of a group in one direction.
template <class Lanes, class Cell, bool BYTES, bool WIDE, int TEXTS>
struct Step {
    const Steps& steps;
    const void *const *gates, *const *gates_ahead;  // of this step and of the next, which are fetched meanwhile

    using Sums = Sum<Lanes, BYTES>[Cell::gates];
    using State = const std::conditional_t<BYTES, std::uint8_t, float>*;
    static constexpr int SIZE = BYTES ? 2 : 4;  // bytes of a number in the tables

    // Every other step goes through the blocks from the last to the first, and finds the weights that the step before
    // read last still in the nearest cache.
    LIMBECK_INLINE void all_blocks(bool downwards) const {
        if (downwards && steps.half_block) block<2>(steps.blocks);
        for (long number = 0; number < steps.blocks; ++number)
            block<Cell::gates>(downwards ? steps.blocks - 1 - number : number);
        if (!downwards && steps.half_block) block<2>(steps.blocks);
    }

    template <int VECTORS>
    LIMBECK_INLINE void block(long number) const {
        Sum<Lanes, BYTES> sums[TEXTS][VECTORS];
        add(number, sums);
        LIMBECK_UNROLLED
        for (int text = 0; text < TEXTS; ++text) {
            if constexpr (VECTORS == Cell::gates) {
                finish(text, number, sums[text]);
            } else {
                // Two gates in each vector: the second is moved to the lanes of the units. The rest of the other half
                // of the lanes has no effect, because scales and inputs are zero there.
                Sums by_gate;
                LIMBECK_UNROLLED
                for (int gate = 0; gate < Cell::gates; ++gate)
                    by_gate[gate] = gate % 2 == 0 ? sums[text][gate / 2] : Lanes::halves_swapped(sums[text][gate / 2]);
                finish(text, number, by_gate);
            }
        }
    }

    template <int VECTORS>
    LIMBECK_INLINE void add(long number, Sum<Lanes, BYTES> (&sums)[TEXTS][VECTORS]) const {
        const Matrix& matrix = *steps.recurrent;
        const long first = number * Cell::gates * Lanes::lanes, place = first * matrix.inputs;
        const std::int32_t* starts = matrix.starts.get() + first;
        State states[TEXTS];
        LIMBECK_UNROLLED
        for (int text = 0; text < TEXTS; ++text) {
            states[text] = static_cast<State>(steps.walkers[text].now);
            LIMBECK_UNROLLED
            for (int vector = 0; vector < VECTORS; ++vector)
                if constexpr (BYTES) sums[text][vector] = Lanes::load_integers(starts + vector * Lanes::lanes);
                else sums[text][vector] = Lanes::all(0.0f);
        }
        const char* weights = matrix.weights.get();
        if constexpr (BYTES) add_bytes<Lanes, WIDE>(weights + place, matrix.inputs, states, sums);
        else add_floats<Lanes>(reinterpret_cast<const float*>(weights) + place, matrix.inputs, states, sums);
    }

    // Sums of a block → states of one text.
    LIMBECK_INLINE void finish(int text, long number, const Sums& sums) const {
        const Walker& walker = steps.walkers[text];
        const long unit = number * Lanes::lanes, place = unit * Cell::gates;
        const GateInputs<Lanes, BYTES, Cell::gates> inputs{sums, steps.scales + place, steps.bias + unit,
                                                           static_cast<const char*>(gates[text]) + place * SIZE};
        typename Lanes::Floats memory = Lanes::load(walker.memory + unit);
        typename Lanes::Floats state = Cell::template step<Lanes, BYTES>(inputs, memory);
        Lanes::store(walker.memory + unit, memory);
        keep_state<Lanes, BYTES>(state, walker, steps, unit);
        const char* ahead = static_cast<const char*>(gates_ahead[text]) + place * SIZE;
        for (int byte = 0; byte < Cell::gates * Lanes::lanes * SIZE; byte += static_cast<int>(LINE))
            __builtin_prefetch(ahead + byte, 0, 2);  // to be read, and kept in the second cache
    }
};

template <class Lanes, class Cell, bool BYTES, bool WIDE, int TEXTS>
void walk(const Steps& steps) {
    bool downwards = steps.downwards;
    for (long number = 0; number < steps.steps; ++number, downwards = !downwards) {
        const void* const* gates = steps.gates + number * TEXTS;
        const Step<Lanes, Cell, BYTES, WIDE, TEXTS> step{steps, gates,
                                                         number + 1 < steps.steps ? gates + TEXTS : gates};
        step.all_blocks(downwards);
        for (int text = 0; text < TEXTS; ++text) {
            Walker& walker = steps.walkers[text];
            void* now = walker.now;
            walker.now = walker.next, walker.next = now;
            if (walker.states != nullptr) walker.states += walker.states_ahead;
            if (walker.rounded != nullptr) walker.rounded += walker.rounded_ahead;
        }
    }
}

template <class Lanes, class Cell, int TEXTS>
void walk_texts(const Steps& steps) {
    const Matrix& matrix = *steps.recurrent;
    if (!matrix.bytes) return walk<Lanes, Cell, false, false, TEXTS>(steps);
    if constexpr (!Lanes::fits_wide)
        if (!matrix.narrow) return walk<Lanes, Cell, true, true, TEXTS>(steps);
    walk<Lanes, Cell, true, false, TEXTS>(steps);
}

template <class Lanes, class Cell, int TEXTS = 1>
void walk_group(const Steps& steps) {
    if constexpr (TEXTS < Lanes::most_texts)
        if (steps.texts > TEXTS) return walk_group<Lanes, Cell, TEXTS + 1>(steps);
    walk_texts<Lanes, Cell, TEXTS>(steps);
}

template <class Lanes>
constexpr Kernels kernels_for() {
    Kernels kernels{};
    kernels.lanes = Lanes::lanes;
    kernels.most_texts = Lanes::most_texts;
    kernels.fits_wide = Lanes::fits_wide;
    kernels.signed_inputs = Lanes::signed_inputs;
    kernels.multiply = multiply<Lanes>;
    kernels.lstm = walk_group<Lanes, Lstm>;
    kernels.gru = walk_group<Lanes, Gru>;
    kernels.windows = windows<Lanes>;
    kernels.softmax = softmax<Lanes>;
    kernels.weighted_sum = weighted_sum<Lanes>;
    kernels.dot = dot<Lanes>;
    kernels.relevance = relevance<Lanes>;
    return kernels;
}

}  // namespace limbeck
