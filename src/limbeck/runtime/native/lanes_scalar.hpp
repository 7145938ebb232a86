// The words that the kernels are written in, for any CPU: four numbers as a vector of the compiler's, for which even
// old processors have registers.
#pragma once

#include "lanes.hpp"

namespace limbeck {

struct Scalar {
    static constexpr int lanes = 4, most_texts = 2;
    static constexpr bool fits_wide = true, signed_inputs = true, looks_up = false;
    typedef float Floats __attribute__((vector_size(16)));
    typedef std::int32_t Integers __attribute__((vector_size(16)));
    typedef std::int16_t Shorts __attribute__((vector_size(16)));
    typedef std::uint16_t Halves __attribute__((vector_size(8)));

    static LIMBECK_INLINE Floats all(float number) { return Floats{} + number; }
    static LIMBECK_INLINE Floats load(const float* from) { return loaded<Floats>(from); }
    static LIMBECK_INLINE void store(float* to, Floats a) { std::memcpy(to, &a, sizeof a); }
    static LIMBECK_INLINE Floats add(Floats a, Floats b) { return a + b; }
    static LIMBECK_INLINE Floats subtract(Floats a, Floats b) { return a - b; }
    static LIMBECK_INLINE Floats multiply(Floats a, Floats b) { return a * b; }
    static LIMBECK_INLINE Floats multiply_add(Floats a, Floats b, Floats c) { return a * b + c; }
    static LIMBECK_INLINE Floats larger(Floats a, Floats b) { return a > b ? a : b; }
    static LIMBECK_INLINE Floats smaller(Floats a, Floats b) { return a < b ? a : b; }
    static LIMBECK_INLINE float sum(Floats a) {
        float total = 0.0f;
        for (int lane = 0; lane < lanes; ++lane) total += a[lane];
        return total;
    }
    template <class Vector>
    static LIMBECK_INLINE Vector halves_swapped(Vector a) {
        return Vector{a[2], a[3], a[0], a[1]};
    }
    template <class Vector>
    static LIMBECK_INLINE void in_register(Vector&) {}
    template <class Vector>
    static LIMBECK_INLINE Vector loaded(const void* from) {
        Vector vector;
        std::memcpy(&vector, from, sizeof vector);
        return vector;
    }

    // The bits of a half float are those of a float whose exponent is 112 less, and which has 13 bits more.
    static constexpr int LESS_BITS = 13;
    static constexpr float LESS = 0x1p-112f, MORE = 0x1p112f;
    static LIMBECK_INLINE Floats load_halves(const void* from) {
        const Integers bits = __builtin_convertvector(loaded<Halves>(from), Integers);
        const Integers sign = (bits & 0x8000) << 16, rest = (bits & 0x7fff) << LESS_BITS;
        const Integers number = bits_of(floats_with(rest) * MORE);
        const Integers endless = (bits & 0x7c00) == 0x7c00 ? (number | 0x7f800000) : number;
        return floats_with(endless | sign);
    }
    // Rounds to the nearest, and half of the way to the even one.
    static LIMBECK_INLINE void store_halves(void* to, Floats a) {
        const Integers bits = bits_of(a), sign = (bits >> 16) & 0x8000;
        const Floats size = floats_with(bits & 0x7fffffff);
        const Floats fitting = smaller(size, all(65536.0f));  // what is larger is infinite
        const Integers number = bits_of(fitting * LESS), usual = number + 0xfff + ((number >> LESS_BITS) & 1);
        const Integers least = bits_of(fitting + 0x1p-1f) - 0x3f000000;  // below 2⁻¹⁴ the last bit counts 2⁻²⁴
        const Integers half = fitting < 0x1p-14f ? least : usual >> LESS_BITS;
        const Halves halves = __builtin_convertvector(half | sign, Halves);
        std::memcpy(to, &halves, sizeof halves);
    }
    static LIMBECK_INLINE Integers bits_of(Floats a) { return loaded<Integers>(&a); }
    static LIMBECK_INLINE Floats floats_with(Integers bits) { return loaded<Floats>(&bits); }

    template <bool PRECISE>
    static LIMBECK_INLINE Floats quotient(Floats a, Floats b) {
        return a / b;
    }

    // 2 to the power of x: a polynomial of x - floor(x), times 2 to the power of floor(x).
    template <bool PRECISE>
    static LIMBECK_INLINE Floats power_of_2(Floats x) {
        constexpr int EXPONENT = 23, ZERO = 127;  // the position of a float's exponent, and its bias
        x = larger(x, all(-126.0f));
        Integers whole = __builtin_convertvector(x, Integers);  // towards 0
        whole += floats_of(whole) > x;                          // a comparison that holds is -1
        const Floats value = power_within_1<Scalar, PRECISE>(x - floats_of(whole));
        return value * floats_with((whole + ZERO) << EXPONENT);
    }

    static LIMBECK_INLINE Integers load_integers(const void* from) { return loaded<Integers>(from); }
    static LIMBECK_INLINE Floats floats_of(Integers a) { return __builtin_convertvector(a, Floats); }

    // What `dot` wants of four bytes, in every lane: the first of each two as 16 bits, and the second.
    struct Fours {
        Shorts first, second;
    };
    static LIMBECK_INLINE Fours in_twos(Integers bytes) {
        const Shorts both = loaded<Shorts>(&bytes);
        return {(both << 8) >> 8, both >> 8};
    }
    template <bool WIDE>
    static LIMBECK_INLINE Fours fours(const std::uint8_t* from) {
        return in_twos(Integers{} + loaded<std::int32_t>(from));
    }

    // Two products are added in 16 bits: 2 · 128 · 127 fits. The order of the bytes does not matter.
    template <bool WIDE>
    static LIMBECK_INLINE Integers dot(Integers sum, const Fours& inputs, Integers weights) {
        const Fours other = in_twos(weights);
        const Shorts products = inputs.first * other.first + inputs.second * other.second;
        const Integers pairs = loaded<Integers>(&products);
        return sum + ((pairs << 16) >> 16) + (pairs >> 16);
    }

    // States within ±1 as bytes on the scale 1/127. The added constant moves the number to the last bits.
    static LIMBECK_INLINE void store_rounded(std::uint8_t* to, Floats states, int offset) {
        constexpr float UNIT_BITS = 0x1.8p23f;
        const Integers moved = bits_of(states * 127.0f + (UNIT_BITS + static_cast<float>(offset)));
        for (int lane = 0; lane < lanes; ++lane) to[lane] = static_cast<std::uint8_t>(moved[lane] & 0xff);
    }
};

}  // namespace limbeck
