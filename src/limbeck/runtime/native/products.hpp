// Rows times a matrix, and the smaller loops of the kernels, for any level.
#pragma once

#include "cells.hpp"
#include "kernels.hpp"
#include "lanes.hpp"

namespace limbeck {

// Sums of a strip: every vector of weights is read once for all rows.
template <class Lanes, int ROWS, int VECTORS>
LIMBECK_INLINE void add_floats(const float* weights, long inputs, const float* const* rows,
                               typename Lanes::Floats (&sums)[ROWS][VECTORS]) {
    for (long input = 0; input < inputs; ++input, weights += VECTORS * Lanes::lanes) {
        typename Lanes::Floats number[ROWS];
        LIMBECK_UNROLLED
        for (int row = 0; row < ROWS; ++row) number[row] = Lanes::all(rows[row][input]);
        LIMBECK_UNROLLED
        for (int vector = 0; vector < VECTORS; ++vector) {
            typename Lanes::Floats weight = Lanes::load(weights + vector * Lanes::lanes);
            if constexpr (ROWS > 1) Lanes::in_register(weight);
            LIMBECK_UNROLLED
            for (int row = 0; row < ROWS; ++row)
                sums[row][vector] = Lanes::multiply_add(weight, number[row], sums[row][vector]);
        }
    }
}

// The same of integers: four inputs of every row.
template <class Lanes, bool WIDE, int ROWS, int VECTORS>
LIMBECK_INLINE void add_four_bytes(const char* weights, long input, const std::uint8_t* const* rows,
                                   typename Lanes::Integers (&sums)[ROWS][VECTORS]) {
    typename Lanes::Fours numbers[ROWS];
    LIMBECK_UNROLLED
    for (int row = 0; row < ROWS; ++row) numbers[row] = Lanes::template fours<WIDE>(rows[row] + input);
    LIMBECK_UNROLLED
    for (int vector = 0; vector < VECTORS; ++vector) {
        typename Lanes::Integers weight = Lanes::load_integers(weights + vector * 4 * Lanes::lanes);
        if constexpr (ROWS > 1) Lanes::in_register(weight);
        LIMBECK_UNROLLED
        for (int row = 0; row < ROWS; ++row)
            sums[row][vector] = Lanes::template dot<WIDE>(sums[row][vector], numbers[row], weight);
    }
}

template <class Lanes, bool WIDE, int ROWS, int VECTORS>
LIMBECK_INLINE void add_bytes(const char* weights, long inputs, const std::uint8_t* const* rows,
                              typename Lanes::Integers (&sums)[ROWS][VECTORS]) {
    constexpr int BYTES = VECTORS * 4 * Lanes::lanes;
    long input = 0;
    if constexpr (ROWS == 1)  // with few products between them, the loop's own instructions count
        for (; input + 8 <= inputs; input += 8, weights += 2 * BYTES) {
            add_four_bytes<Lanes, WIDE>(weights, input, rows, sums);
            add_four_bytes<Lanes, WIDE>(weights + BYTES, input + 4, rows, sums);
        }
    for (; input < inputs; input += 4, weights += BYTES) add_four_bytes<Lanes, WIDE>(weights, input, rows, sums);
}

template <class Lanes>
LIMBECK_INLINE void store_output(const Product& product, long row, long vector, typename Lanes::Floats value) {
    if (product.positive) value = Lanes::larger(value, Lanes::all(0.0f));
    if (product.halves)
        Lanes::store_halves(static_cast<std::uint16_t*>(product.outputs[row]) + vector * Lanes::lanes, value);
    else
        Lanes::store(static_cast<float*>(product.outputs[row]) + vector * Lanes::lanes, value);
}

template <class Lanes, int ROWS, int VECTORS>
void float_strip(const Product& product, long first_row, long first_vector) {
    const Matrix& matrix = *product.matrix;
    const float* rows[ROWS];
    typename Lanes::Floats sums[ROWS][VECTORS];
    for (int row = 0; row < ROWS; ++row) {
        rows[row] = static_cast<const float*>(product.inputs[first_row + row]);
        LIMBECK_UNROLLED
        for (int vector = 0; vector < VECTORS; ++vector)
            sums[row][vector] = Lanes::load(matrix.bias.get() + (first_vector + vector) * Lanes::lanes);
    }
    const float* weights = reinterpret_cast<const float*>(matrix.weights.get());
    add_floats<Lanes>(weights + first_vector * matrix.inputs * Lanes::lanes, matrix.inputs, rows, sums);
    LIMBECK_UNROLLED
    for (int row = 0; row < ROWS; ++row)
        LIMBECK_UNROLLED
        for (int vector = 0; vector < VECTORS; ++vector)
            store_output<Lanes>(product, first_row + row, first_vector + vector, sums[row][vector]);
}

template <class Lanes, bool WIDE, int ROWS, int VECTORS>
void byte_strip(const Product& product, long first_row, long first_vector) {
    const Matrix& matrix = *product.matrix;
    const std::uint8_t* rows[ROWS];
    typename Lanes::Integers sums[ROWS][VECTORS];
    for (int row = 0; row < ROWS; ++row) {
        rows[row] = static_cast<const std::uint8_t*>(product.inputs[first_row + row]);
        LIMBECK_UNROLLED
        for (int vector = 0; vector < VECTORS; ++vector)
            sums[row][vector] = Lanes::load_integers(matrix.starts.get() + (first_vector + vector) * Lanes::lanes);
    }
    const char* weights = matrix.weights.get() + first_vector * matrix.inputs * Lanes::lanes;
    add_bytes<Lanes, WIDE>(weights, matrix.inputs, rows, sums);
    LIMBECK_UNROLLED
    for (int row = 0; row < ROWS; ++row) {
        typename Lanes::Floats scale = Lanes::all(product.input_scales[first_row + row]);
        LIMBECK_UNROLLED
        for (int vector = 0; vector < VECTORS; ++vector) {
            long place = (first_vector + vector) * Lanes::lanes;
            typename Lanes::Floats both = Lanes::multiply(scale, Lanes::load(matrix.scales.get() + place));
            typename Lanes::Floats bias = Lanes::load(matrix.bias.get() + place);
            store_output<Lanes>(product, first_row + row, first_vector + vector,
                                Lanes::multiply_add(Lanes::floats_of(sums[row][vector]), both, bias));
        }
    }
}

template <class Lanes, int ROWS, int VECTORS>
void strip_of(const Product& product, long first_row, long first_vector) {
    if (!product.matrix->bytes) return float_strip<Lanes, ROWS, VECTORS>(product, first_row, first_vector);
    if constexpr (!Lanes::fits_wide)
        if (!product.matrix->narrow) return byte_strip<Lanes, true, ROWS, VECTORS>(product, first_row, first_vector);
    byte_strip<Lanes, false, ROWS, VECTORS>(product, first_row, first_vector);
}

template <class Lanes, int VECTORS>
void strip_of_all_rows(const Product& product, long first_vector) {
    long row = 0;
    for (; row + Lanes::most_texts <= product.rows; row += Lanes::most_texts)
        strip_of<Lanes, Lanes::most_texts, VECTORS>(product, row, first_vector);
    for (; row + 2 <= product.rows; row += 2) strip_of<Lanes, 2, VECTORS>(product, row, first_vector);
    for (; row < product.rows; ++row) strip_of<Lanes, 1, VECTORS>(product, row, first_vector);
}

template <class Lanes>
void multiply(const Product& product) {
    const Matrix& matrix = *product.matrix;
    for (long vector = 0; vector < matrix.vectors; vector += 4) switch (matrix.vectors - vector) {
            case 1: strip_of_all_rows<Lanes, 1>(product, vector); break;
            case 2: strip_of_all_rows<Lanes, 2>(product, vector); break;
            case 3: strip_of_all_rows<Lanes, 3>(product, vector); break;
            default: strip_of_all_rows<Lanes, 4>(product, vector);
        }
}

// A window begins at every word, and at places - 1 places before the first: those hold the first words only.
template <class Lanes, bool HALVES>
void largest_sums(const Windows& windows) {
    for (long vector = 0; vector < windows.vectors; ++vector) {
        typename Lanes::Floats largest = Lanes::all(-__FLT_MAX__);
        for (long start = 1 - windows.places; start < windows.count; ++start) {
            typename Lanes::Floats sum = Lanes::all(0.0f);
            long first = start < 0 ? -start : 0;
            long end = windows.count - start < windows.places ? windows.count - start : windows.places;
            for (long place = first; place < end; ++place)
                sum = Lanes::add(sum, load_any<Lanes, HALVES>(windows.words[start + place],
                                                              (vector * windows.places + place) * Lanes::lanes));
            largest = Lanes::larger(largest, sum);
        }
        Lanes::store(windows.largest + vector * Lanes::lanes, largest);
    }
}

template <class Lanes>
void windows(const Windows& windows) {
    if (windows.halves) largest_sums<Lanes, true>(windows);
    else largest_sums<Lanes, false>(windows);
}

template <class Lanes>
void softmax(float* numbers, long count) {
    constexpr float LOG2_E = 1.44269504f;
    float largest = numbers[0], sum = 0.0f, powers[Lanes::lanes];
    for (long place = 1; place < count; ++place) largest = numbers[place] > largest ? numbers[place] : largest;
    for (long first = 0; first < count; first += Lanes::lanes) {
        long here = count - first < Lanes::lanes ? count - first : Lanes::lanes;
        for (long place = 0; place < Lanes::lanes; ++place)
            powers[place] = place < here ? (numbers[first + place] - largest) * LOG2_E : -126.0f;
        Lanes::store(powers, Lanes::template power_of_2<true>(Lanes::larger(Lanes::load(powers), Lanes::all(-126.0f))));
        for (long place = 0; place < here; ++place) sum += numbers[first + place] = powers[place];
    }
    for (long place = 0; place < count; ++place) numbers[place] /= sum;
}

template <class Lanes>
void weighted_sum(const float* const* rows, const float* weights, long count, long width, float* sum) {
    constexpr long SUMS = 4;  // side by side: one after the other, each row would wait for the last
    for (long place = 0; place < width; place += Lanes::lanes) {
        typename Lanes::Floats totals[SUMS];
        for (long which = 0; which < SUMS; ++which) totals[which] = Lanes::all(0.0f);
        long row = 0;
        for (; row + SUMS <= count; row += SUMS)
            for (long which = 0; which < SUMS; ++which)
                totals[which] = Lanes::multiply_add(Lanes::all(weights[row + which]),
                                                    Lanes::load(rows[row + which] + place), totals[which]);
        for (; row < count; ++row)
            totals[0] = Lanes::multiply_add(Lanes::all(weights[row]), Lanes::load(rows[row] + place), totals[0]);
        Lanes::store(sum + place, Lanes::add(Lanes::add(totals[0], totals[1]), Lanes::add(totals[2], totals[3])));
    }
}

template <class Lanes>
float dot(const float* one, const float* other, long width) {
    typename Lanes::Floats total = Lanes::all(0.0f);
    for (long place = 0; place < width; place += Lanes::lanes)
        total = Lanes::multiply_add(Lanes::load(one + place), Lanes::load(other + place), total);
    return Lanes::sum(total);
}

template <class Lanes>
float relevance(const float* asked, const float* question, long width) {
    typename Lanes::Floats total = Lanes::all(0.0f), one = Lanes::all(1.0f);
    for (long place = 0; place < width; place += Lanes::lanes) {
        typename Lanes::Floats power = Lanes::smaller(Lanes::load(asked + place), Lanes::all(60.0f));
        power = Lanes::template power_of_2<true>(power);
        typename Lanes::Floats tanh =
            Lanes::template quotient<true>(Lanes::subtract(one, power), Lanes::add(one, power));
        total = Lanes::multiply_add(tanh, Lanes::load(question + place), total);
    }
    return Lanes::sum(total);
}

}  // namespace limbeck
