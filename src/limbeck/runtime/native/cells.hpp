// One step of a block of LSTM or GRU units, for any level.
//
// The input is x = -log2(e) times the pre-activation of a gate, or -2·log2(e) times for the tanh. With E = 2^x, the
// sigmoid is 1 / (1 + E), and tanh is (1 - E) / (1 + E) = 2 / (1 + E) - 1. If 1 / (1 + E) need not be exact and a table
// is available, it is looked up. Otherwise fractions are added before they are divided, which leaves two divisions per
// step; exponents are then limited so that products of E do not overflow.
#pragma once

#include "kernels.hpp"
#include "lanes.hpp"

namespace limbeck {

constexpr float MINUS_2_LOG2_E = -2.0f * 1.44269504f;

template <class Lanes, bool BYTES>
struct SumOf {
    using Type = typename Lanes::Integers;
};
template <class Lanes>
struct SumOf<Lanes, false> {
    using Type = typename Lanes::Floats;
};
template <class Lanes, bool BYTES>
using Sum = typename SumOf<Lanes, BYTES>::Type;

template <class Lanes, bool HALVES>
LIMBECK_INLINE typename Lanes::Floats load_any(const void* from, long place) {
    if constexpr (HALVES) return Lanes::load_halves(static_cast<const std::uint16_t*>(from) + place);
    else return Lanes::load(static_cast<const float*>(from) + place);
}

// The pre-activations of a block of units: from the state, in sums of the recurrent weights, and from the input. Bytes
// are states and weights; the input's part is then in half floats.
template <class Lanes, bool BYTES, int GATES>
struct GateInputs {
    const Sum<Lanes, BYTES> (&sums)[GATES];
    const float *scales, *bias;
    const void* inputs;

    LIMBECK_INLINE typename Lanes::Floats input(int gate) const {
        return load_any<Lanes, BYTES>(inputs, gate * Lanes::lanes);
    }
    LIMBECK_INLINE typename Lanes::Floats state_and(int gate, typename Lanes::Floats more) const {
        if constexpr (BYTES)
            return Lanes::multiply_add(Lanes::floats_of(sums[gate]), Lanes::load(scales + gate * Lanes::lanes), more);
        else
            return Lanes::add(sums[gate], more);
    }
    LIMBECK_INLINE typename Lanes::Floats both(int gate) const { return state_and(gate, input(gate)); }
    LIMBECK_INLINE typename Lanes::Floats power(int gate, float most) const {
        return Lanes::template power_of_2<!BYTES>(Lanes::smaller(both(gate), Lanes::all(most)));
    }
};

template <class Lanes>
LIMBECK_INLINE typename Lanes::Floats tanh_of(typename Lanes::Floats x, const typename Lanes::Sigmoid& sigmoid) {
    return Lanes::multiply_add(sigmoid(x), Lanes::all(2.0f), Lanes::all(-1.0f));
}

struct Lstm {
    static constexpr int gates = 4;
    enum { INPUT, OUTPUT, FORGET, CANDIDATE };

    // The new state; changes the cell.
    template <class Lanes, bool BYTES>
    static LIMBECK_INLINE typename Lanes::Floats step(const GateInputs<Lanes, BYTES, gates>& inputs,
                                                      typename Lanes::Floats& cell) {
        if constexpr (BYTES && Lanes::looks_up) return step_by_lookup<Lanes>(inputs, cell);
        else return step_by_powers<Lanes, BYTES>(inputs, cell);
    }

    template <class Lanes>
    static LIMBECK_INLINE typename Lanes::Floats step_by_lookup(const GateInputs<Lanes, true, gates>& inputs,
                                                                typename Lanes::Floats& cell) {
        const typename Lanes::Sigmoid sigmoid;
        typename Lanes::Floats added =
            Lanes::multiply(sigmoid(inputs.both(INPUT)), tanh_of<Lanes>(inputs.both(CANDIDATE), sigmoid));
        cell = Lanes::multiply_add(sigmoid(inputs.both(FORGET)), cell, added);
        typename Lanes::Floats shown = tanh_of<Lanes>(Lanes::multiply(cell, Lanes::all(MINUS_2_LOG2_E)), sigmoid);
        return Lanes::multiply(sigmoid(inputs.both(OUTPUT)), shown);
    }

    template <class Lanes, bool BYTES>
    static LIMBECK_INLINE typename Lanes::Floats step_by_powers(const GateInputs<Lanes, BYTES, gates>& inputs,
                                                                typename Lanes::Floats& cell) {
        using Floats = typename Lanes::Floats;
        constexpr float MOST = 40.0f, MOST_OF_CELL = 60.0f;  // three and two of them are multiplied
        const Floats one = Lanes::all(1.0f);
        Floats input = inputs.power(INPUT, MOST), output = inputs.power(OUTPUT, MOST);
        Floats forget = Lanes::add(one, inputs.power(FORGET, MOST)), candidate = inputs.power(CANDIDATE, MOST);
        Floats below = Lanes::multiply(Lanes::add(one, input), Lanes::add(one, candidate));
        Floats above = Lanes::multiply_add(cell, below, Lanes::multiply(Lanes::subtract(one, candidate), forget));
        cell = Lanes::template quotient<!BYTES>(above, Lanes::multiply(below, forget));
        Floats shown = Lanes::smaller(Lanes::multiply(cell, Lanes::all(MINUS_2_LOG2_E)), Lanes::all(MOST_OF_CELL));
        shown = Lanes::template power_of_2<!BYTES>(shown);
        return Lanes::template quotient<!BYTES>(Lanes::subtract(one, shown),
                                                Lanes::multiply(Lanes::add(one, output), Lanes::add(one, shown)));
    }
};

struct Gru {
    static constexpr int gates = 3;
    enum { UPDATE, RESET, CANDIDATE };

    // The new state, which replaces the old one.
    template <class Lanes, bool BYTES>
    static LIMBECK_INLINE typename Lanes::Floats step(const GateInputs<Lanes, BYTES, gates>& inputs,
                                                      typename Lanes::Floats& state) {
        if constexpr (BYTES && Lanes::looks_up) return state = step_by_lookup<Lanes>(inputs, state);
        else return state = step_by_powers<Lanes, BYTES>(inputs, state);
    }

    template <class Lanes>
    static LIMBECK_INLINE typename Lanes::Floats step_by_lookup(const GateInputs<Lanes, true, gates>& inputs,
                                                                typename Lanes::Floats state) {
        const typename Lanes::Sigmoid sigmoid;
        typename Lanes::Floats recalled = inputs.state_and(CANDIDATE, Lanes::load(inputs.bias));
        typename Lanes::Floats candidate =
            Lanes::multiply_add(sigmoid(inputs.both(RESET)), recalled, inputs.input(CANDIDATE));
        candidate = tanh_of<Lanes>(candidate, sigmoid);
        return Lanes::multiply_add(sigmoid(inputs.both(UPDATE)), Lanes::subtract(state, candidate), candidate);
    }

    template <class Lanes, bool BYTES>
    static LIMBECK_INLINE typename Lanes::Floats step_by_powers(const GateInputs<Lanes, BYTES, gates>& inputs,
                                                                typename Lanes::Floats state) {
        using Floats = typename Lanes::Floats;
        constexpr float MOST = 60.0f;  // two of them are multiplied
        const Floats one = Lanes::all(1.0f);
        Floats update = inputs.power(UPDATE, MOST), reset = Lanes::add(one, inputs.power(RESET, MOST));
        Floats recalled = inputs.state_and(CANDIDATE, Lanes::load(inputs.bias));
        Floats candidate = Lanes::add(Lanes::template quotient<!BYTES>(recalled, reset), inputs.input(CANDIDATE));
        candidate = Lanes::template power_of_2<!BYTES>(Lanes::smaller(candidate, Lanes::all(MOST)));
        Floats below = Lanes::add(one, candidate);
        Floats above = Lanes::multiply_add(state, below, Lanes::multiply(update, Lanes::subtract(one, candidate)));
        return Lanes::template quotient<!BYTES>(above, Lanes::multiply(Lanes::add(one, update), below));
    }
};

}  // namespace limbeck
