// The words that the kernels are written in, for AVX2 with FMA and F16C.
#pragma once

#include <immintrin.h>

#include "lanes.hpp"

namespace limbeck {

struct Avx2 {
    static constexpr int lanes = 8, most_texts = 2;  // more of them want more than the sixteen registers
    static constexpr bool fits_wide = false, signed_inputs = false, looks_up = false;
    using Floats = __m256;
    using Integers = __m256i;

    static LIMBECK_INLINE Floats all(float number) { return _mm256_set1_ps(number); }
    static LIMBECK_INLINE Floats load(const float* from) { return _mm256_loadu_ps(from); }
    static LIMBECK_INLINE void store(float* to, Floats a) { _mm256_storeu_ps(to, a); }
    static LIMBECK_INLINE Floats load_halves(const void* from) {
        return _mm256_cvtph_ps(_mm_loadu_si128(static_cast<const __m128i*>(from)));
    }
    static LIMBECK_INLINE void store_halves(void* to, Floats a) {
        _mm_storeu_si128(static_cast<__m128i*>(to), _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT));
    }
    static LIMBECK_INLINE Floats add(Floats a, Floats b) { return _mm256_add_ps(a, b); }
    static LIMBECK_INLINE Floats subtract(Floats a, Floats b) { return _mm256_sub_ps(a, b); }
    static LIMBECK_INLINE Floats multiply(Floats a, Floats b) { return _mm256_mul_ps(a, b); }
    static LIMBECK_INLINE Floats multiply_add(Floats a, Floats b, Floats c) { return _mm256_fmadd_ps(a, b, c); }
    static LIMBECK_INLINE Floats larger(Floats a, Floats b) { return _mm256_max_ps(a, b); }
    static LIMBECK_INLINE Floats smaller(Floats a, Floats b) { return _mm256_min_ps(a, b); }
    static LIMBECK_INLINE float sum(Floats a) {
        __m128 four = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
        __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
        return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
    }
    static LIMBECK_INLINE Floats halves_swapped(Floats a) { return _mm256_permute2f128_ps(a, a, 0x01); }
    static LIMBECK_INLINE Integers halves_swapped(Integers a) { return _mm256_permute2x128_si256(a, a, 0x01); }

    // Keeps the compiler from reading a value again from memory wherever it is used.
    static LIMBECK_INLINE void in_register(Floats& a) { __asm__("" : "+v"(a)); }
    static LIMBECK_INLINE void in_register(Integers& a) { __asm__("" : "+v"(a)); }

    template <bool PRECISE>
    static LIMBECK_INLINE Floats quotient(Floats a, Floats b) {
        if constexpr (PRECISE) return _mm256_div_ps(a, b);
        Floats guess = _mm256_rcp_ps(b);  // 12 bits of it are right; one step of Newton doubles them
        return multiply(a, multiply(guess, _mm256_fnmadd_ps(b, guess, all(2.0f))));
    }

    // 2 to the power of x: a polynomial of x - floor(x), times 2 to the power of floor(x).
    template <bool PRECISE>
    static LIMBECK_INLINE Floats power_of_2(Floats x) {
        constexpr int EXPONENT = 23, ZERO = 127;  // the position of a float's exponent, and its bias
        x = larger(x, all(-126.0f));
        Floats whole = _mm256_floor_ps(x), rest = subtract(x, whole);
        Integers exponent = _mm256_add_epi32(_mm256_cvttps_epi32(whole), _mm256_set1_epi32(ZERO));
        Floats moved = _mm256_castsi256_ps(_mm256_slli_epi32(exponent, EXPONENT));
        return multiply(power_within_1<Avx2, PRECISE>(rest), moved);
    }

    static LIMBECK_INLINE Integers load_integers(const void* from) {
        return _mm256_loadu_si256(static_cast<const __m256i*>(from));
    }
    static LIMBECK_INLINE Floats floats_of(Integers a) { return _mm256_cvtepi32_ps(a); }

    // The input of `dot`, four bytes in every lane: the bytes, and their absolute values if weights are wide.
    struct Fours {
        Integers bytes, absolute;
    };
    template <bool WIDE>
    static LIMBECK_INLINE Fours fours(const std::uint8_t* from) {
        int four;
        std::memcpy(&four, from, sizeof four);
        Integers bytes = _mm256_set1_epi32(four);
        return {bytes, WIDE ? _mm256_abs_epi8(bytes) : bytes};
    }

    // Two products are added in 16 bits. With narrow weights 2 · 255 · 63 fits. With wide ones it does not: inputs then
    // have no offset, and give their sign to the weights.
    template <bool WIDE>
    static LIMBECK_INLINE Integers dot(Integers sum, const Fours& inputs, Integers weights) {
        Integers pairs = WIDE ? _mm256_maddubs_epi16(inputs.absolute, _mm256_sign_epi8(weights, inputs.bytes))
                              : _mm256_maddubs_epi16(inputs.bytes, weights);
        return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
    }

    // States within ±1 as bytes on the scale 1/127.
    static LIMBECK_INLINE void store_rounded(std::uint8_t* to, Floats states, int offset) {
        Integers whole = _mm256_cvtps_epi32(multiply_add(states, all(127.0f), all(static_cast<float>(offset))));
        Integers low = _mm256_and_si256(whole, _mm256_set1_epi32(0xff));
        __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
        _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_packus_epi16(words, words));
    }
};

}  // namespace limbeck
