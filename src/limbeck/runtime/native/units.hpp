// The order in which the hidden units of a recurrent layer are packed.
#pragma once

#include <vector>

#include "matrix.hpp"

namespace limbeck {

constexpr float LOG2_E = 1.44269504f;

// Blocks of as many units as a register has lanes. At most half a block may be left over: see `Steps`.
struct Units {
    Units(long hidden, int gates, int lanes)
        : hidden(hidden), gates(gates), lanes(lanes), blocks(hidden / lanes), half_block(false) {
        const long left = hidden % lanes;
        half_block = left > 0 && left <= lanes / 2;
        if (left > lanes / 2) ++blocks;
    }

    long hidden;
    int gates, lanes;
    long blocks;  // full ones, the last perhaps with padding
    bool half_block;

    long padded() const { return (blocks + half_block) * lanes; }

    // The last gate goes through tanh, the others through the sigmoid.
    float factor(long gate) const { return gate == gates - 1 ? -2.0f * LOG2_E : -LOG2_E; }

    // A vector for each gate of each block.
    std::vector<Output> by_gate() const {
        std::vector<Output> order;
        for (long block = 0; block < blocks + half_block; ++block)
            for (long gate = 0; gate < gates; ++gate)
                for (long lane = 0; lane < lanes; ++lane) order.push_back(output(gate, block * lanes + lane));
        return order;
    }

    // The same, but two gates in each vector of the half block.
    std::vector<Output> by_strip() const {
        std::vector<Output> order = by_gate();
        order.resize(blocks * gates * lanes);
        const long half = lanes / 2;
        for (long place = 0; half_block && place < 4 * half; ++place)
            order.push_back(output(place / half, blocks * lanes + place % half));
        return order;
    }

    Output output(long gate, long unit) const {
        if (gate >= gates || unit >= hidden) return {};
        return {gate * hidden + unit, factor(gate)};
    }
};

// Two directions side by side, each padded: the place of each input of the layer above.
inline std::vector<long> padded_inputs(const Units& units) {
    std::vector<long> inputs(units.padded() + units.hidden, NOTHING);
    for (long unit = 0; unit < units.hidden; ++unit) {
        inputs[unit] = unit;
        inputs[units.padded() + unit] = units.hidden + unit;
    }
    return inputs;
}

}  // namespace limbeck
