// The words that the kernels are written in, for NEON: two registers of four numbers, side by side.
#pragma once

#include <arm_neon.h>

#include "lanes.hpp"

namespace limbeck {

struct NeonFloats {
    float32x4_t low, high;
};
struct NeonIntegers {
    int32x4_t low, high;
};

// What is the same whether or not the CPU has the dot product of bytes.
struct Neon {
    static constexpr int lanes = 8, most_texts = 2;
    static constexpr bool fits_wide = true, signed_inputs = true, looks_up = false;
    using Floats = NeonFloats;
    using Integers = NeonIntegers;

    static LIMBECK_INLINE Floats all(float number) { return {vdupq_n_f32(number), vdupq_n_f32(number)}; }
    static LIMBECK_INLINE Floats load(const float* from) { return {vld1q_f32(from), vld1q_f32(from + 4)}; }
    static LIMBECK_INLINE void store(float* to, Floats a) { vst1q_f32(to, a.low), vst1q_f32(to + 4, a.high); }
    static LIMBECK_INLINE Floats load_halves(const void* from) {
        const float16x8_t halves = vreinterpretq_f16_u16(vld1q_u16(static_cast<const std::uint16_t*>(from)));
        return {vcvt_f32_f16(vget_low_f16(halves)), vcvt_high_f32_f16(halves)};
    }
    static LIMBECK_INLINE void store_halves(void* to, Floats a) {
        const float16x8_t halves = vcvt_high_f16_f32(vcvt_f16_f32(a.low), a.high);
        vst1q_u16(static_cast<std::uint16_t*>(to), vreinterpretq_u16_f16(halves));
    }
    static LIMBECK_INLINE Floats add(Floats a, Floats b) { return {vaddq_f32(a.low, b.low), vaddq_f32(a.high, b.high)}; }
    static LIMBECK_INLINE Floats subtract(Floats a, Floats b) {
        return {vsubq_f32(a.low, b.low), vsubq_f32(a.high, b.high)};
    }
    static LIMBECK_INLINE Floats multiply(Floats a, Floats b) {
        return {vmulq_f32(a.low, b.low), vmulq_f32(a.high, b.high)};
    }
    static LIMBECK_INLINE Floats multiply_add(Floats a, Floats b, Floats c) {
        return {vfmaq_f32(c.low, a.low, b.low), vfmaq_f32(c.high, a.high, b.high)};
    }
    static LIMBECK_INLINE Floats larger(Floats a, Floats b) {
        return {vmaxq_f32(a.low, b.low), vmaxq_f32(a.high, b.high)};
    }
    static LIMBECK_INLINE Floats smaller(Floats a, Floats b) {
        return {vminq_f32(a.low, b.low), vminq_f32(a.high, b.high)};
    }
    static LIMBECK_INLINE float sum(Floats a) { return vaddvq_f32(vaddq_f32(a.low, a.high)); }
    static LIMBECK_INLINE Floats halves_swapped(Floats a) { return {a.high, a.low}; }
    static LIMBECK_INLINE Integers halves_swapped(Integers a) { return {a.high, a.low}; }

    // Keeps the compiler from reading a value again from memory wherever it is used.
    static LIMBECK_INLINE void in_register(Floats& a) { __asm__("" : "+w"(a.low), "+w"(a.high)); }
    static LIMBECK_INLINE void in_register(Integers& a) { __asm__("" : "+w"(a.low), "+w"(a.high)); }

    template <bool PRECISE>
    static LIMBECK_INLINE Floats quotient(Floats a, Floats b) {
        if constexpr (PRECISE) return {vdivq_f32(a.low, b.low), vdivq_f32(a.high, b.high)};
        return {vmulq_f32(a.low, inverse(b.low)), vmulq_f32(a.high, inverse(b.high))};
    }
    static LIMBECK_INLINE float32x4_t inverse(float32x4_t b) {
        float32x4_t guess = vrecpeq_f32(b);  // 8 bits of it are right; each step of Newton doubles them
        guess = vmulq_f32(guess, vrecpsq_f32(b, guess));
        return vmulq_f32(guess, vrecpsq_f32(b, guess));
    }

    // 2 to the power of x: a polynomial of x - floor(x), times 2 to the power of floor(x).
    template <bool PRECISE>
    static LIMBECK_INLINE Floats power_of_2(Floats x) {
        x = larger(x, all(-126.0f));
        const Floats whole = {vrndmq_f32(x.low), vrndmq_f32(x.high)};
        const Floats value = power_within_1<Neon, PRECISE>(subtract(x, whole));
        return multiply(value, {whole_power(whole.low), whole_power(whole.high)});
    }
    static LIMBECK_INLINE float32x4_t whole_power(float32x4_t whole) {
        constexpr int EXPONENT = 23, ZERO = 127;  // the position of a float's exponent, and its bias
        const int32x4_t exponent = vaddq_s32(vcvtq_s32_f32(whole), vdupq_n_s32(ZERO));
        return vreinterpretq_f32_s32(vshlq_n_s32(exponent, EXPONENT));
    }

    static LIMBECK_INLINE Integers load_integers(const void* from) {
        const std::int8_t* bytes = static_cast<const std::int8_t*>(from);
        return {vreinterpretq_s32_s8(vld1q_s8(bytes)), vreinterpretq_s32_s8(vld1q_s8(bytes + 16))};
    }
    static LIMBECK_INLINE Floats floats_of(Integers a) { return {vcvtq_f32_s32(a.low), vcvtq_f32_s32(a.high)}; }

    // What `dot` wants of four bytes, in every lane.
    using Fours = int8x16_t;
    template <bool WIDE>
    static LIMBECK_INLINE Fours fours(const std::uint8_t* from) {
        std::int32_t four;
        std::memcpy(&four, from, sizeof four);
        return vreinterpretq_s8_s32(vdupq_n_s32(four));
    }

    // Two products are added in 16 bits: 2 · 128 · 127 fits.
    template <bool WIDE>
    static LIMBECK_INLINE Integers dot(Integers sum, const Fours& inputs, Integers weights) {
        return {dot(sum.low, inputs, weights.low), dot(sum.high, inputs, weights.high)};
    }
    static LIMBECK_INLINE int32x4_t dot(int32x4_t sum, int8x16_t inputs, int32x4_t four_weights) {
        const int8x16_t weights = vreinterpretq_s8_s32(four_weights);
        const int16x8_t first = vmull_s8(vget_low_s8(inputs), vget_low_s8(weights));
        return vpadalq_s16(sum, vpaddq_s16(first, vmull_high_s8(inputs, weights)));
    }

    // States within ±1 as bytes on the scale 1/127.
    static LIMBECK_INLINE void store_rounded(std::uint8_t* to, Floats states, int offset) {
        const Floats moved = multiply_add(states, all(127.0f), all(static_cast<float>(offset)));
        const int16x4_t low = vmovn_s32(vcvtnq_s32_f32(moved.low));
        vst1_u8(to, vreinterpret_u8_s8(vmovn_s16(vmovn_high_s32(low, vcvtnq_s32_f32(moved.high)))));
    }
};

}  // namespace limbeck
