// The words that the kernels are written in, for AVX-512 with VNNI.
#pragma once

#include <immintrin.h>

#include "lanes.hpp"
#include "sigmoid.hpp"

namespace limbeck {

struct Avx512 {
    static constexpr int lanes = 16, most_texts = 4;
    static constexpr bool fits_wide = true, signed_inputs = false, looks_up = true;
    using Floats = __m512;
    using Integers = __m512i;

    static LIMBECK_INLINE Floats all(float number) { return _mm512_set1_ps(number); }
    static LIMBECK_INLINE Floats load(const float* from) { return _mm512_loadu_ps(from); }
    static LIMBECK_INLINE void store(float* to, Floats a) { _mm512_storeu_ps(to, a); }
    static LIMBECK_INLINE Floats load_halves(const void* from) {
        return _mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i*>(from)));
    }
    static LIMBECK_INLINE void store_halves(void* to, Floats a) {
        _mm256_storeu_si256(static_cast<__m256i*>(to), _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT));
    }
    static LIMBECK_INLINE Floats add(Floats a, Floats b) { return _mm512_add_ps(a, b); }
    static LIMBECK_INLINE Floats subtract(Floats a, Floats b) { return _mm512_sub_ps(a, b); }
    static LIMBECK_INLINE Floats multiply(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
    static LIMBECK_INLINE Floats multiply_add(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }
    static LIMBECK_INLINE Floats larger(Floats a, Floats b) { return _mm512_max_ps(a, b); }
    static LIMBECK_INLINE Floats smaller(Floats a, Floats b) { return _mm512_min_ps(a, b); }
    static LIMBECK_INLINE float sum(Floats a) { return _mm512_reduce_add_ps(a); }
    static LIMBECK_INLINE Floats halves_swapped(Floats a) { return _mm512_shuffle_f32x4(a, a, 0x4e); }
    static LIMBECK_INLINE Integers halves_swapped(Integers a) { return _mm512_shuffle_i32x4(a, a, 0x4e); }

    // Keeps the compiler from reading a value again from memory wherever it is used.
    static LIMBECK_INLINE void in_register(Floats& a) { __asm__("" : "+v"(a)); }
    static LIMBECK_INLINE void in_register(Integers& a) { __asm__("" : "+v"(a)); }

    template <bool PRECISE>  // what need not be precise is looked up
    static LIMBECK_INLINE Floats quotient(Floats a, Floats b) {
        return _mm512_div_ps(a, b);
    }

    // 2 to the power of x: a polynomial of x - floor(x), scaled by 2 to the power of floor(x).
    template <bool PRECISE>
    static LIMBECK_INLINE Floats power_of_2(Floats x) {
        constexpr int DOWNWARDS = 0x01;
        Floats rest = _mm512_reduce_ps(x, DOWNWARDS);
        return _mm512_scalef_ps(power_within_1<Avx512, PRECISE>(rest), x);
    }

    // 1 / (1 + 2^x), within 1e-4. The tables stay in registers while this exists.
    struct Sigmoid {
        Floats squares[2], slopes[2], starts[2];

        LIMBECK_INLINE Sigmoid() {
            const Parabolas* from = &PARABOLAS;
            __asm__("" : "+r"(from));  // otherwise compilers keep them in registers that the sums need
            for (int half = 0; half < 2; ++half) {
                squares[half] = load(from->squares + half * lanes);
                slopes[half] = load(from->slopes + half * lanes);
                starts[half] = load(from->starts + half * lanes);
            }
        }
        LIMBECK_INLINE Floats operator()(Floats x) const {
            constexpr int NEARER_TO_ZERO = 0x02;  // and with the sign of x
            x = _mm512_range_ps(x, all(Parabolas::MOST), NEARER_TO_ZERO);
            // The sum is so large that its last bits are those of an integer.
            Floats number = multiply_add(x, all(1.0f / Parabolas::WIDTH), all(0x1.8p23f + Parabolas::MIDDLE));
            Floats value = multiply_add(looked_up(squares, number), x, looked_up(slopes, number));
            return multiply_add(value, x, looked_up(starts, number));
        }
        static LIMBECK_INLINE Floats looked_up(const Floats (&numbers)[2], Floats place) {
            return _mm512_permutex2var_ps(numbers[0], _mm512_castps_si512(place), numbers[1]);
        }
    };

    static LIMBECK_INLINE Integers load_integers(const void* from) { return _mm512_loadu_si512(from); }
    static LIMBECK_INLINE Floats floats_of(Integers a) { return _mm512_cvtepi32_ps(a); }

    // What `dot` wants of four bytes, in every lane.
    using Fours = Integers;
    template <bool WIDE>
    static LIMBECK_INLINE Fours fours(const std::uint8_t* from) {
        int four;
        std::memcpy(&four, from, sizeof four);
        return _mm512_set1_epi32(four);
    }
    template <bool WIDE>
    static LIMBECK_INLINE Integers dot(Integers sum, const Fours& inputs, Integers weights) {
        return _mm512_dpbusd_epi32(sum, inputs, weights);
    }

    // States within ±1 as bytes on the scale 1/127. The added constant moves the number to the last bits.
    static LIMBECK_INLINE void store_rounded(std::uint8_t* to, Floats states, int offset) {
        constexpr float UNIT_BITS = 0x1.8p23f;
        Floats moved = multiply_add(states, all(127.0f), all(UNIT_BITS + static_cast<float>(offset)));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtepi32_epi8(_mm512_castps_si512(moved)));
    }
};

}  // namespace limbeck
