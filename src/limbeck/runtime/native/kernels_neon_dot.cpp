// The kernels for NEON with the dot product of bytes (Armv8.2's SDOT).
//
// The pragma comes after all foreign headers: their code must not be compiled for a CPU that may not be present.
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels.hpp"

#if LIMBECK_ARM
#include <arm_neon.h>
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("dotprod"))), apply_to = function)
#else
#pragma GCC target("arch=armv8.2-a+dotprod")
#endif

#include "lanes_neon.hpp"
#include "recurrence.hpp"

namespace limbeck {

struct NeonDot : Neon {
    template <bool WIDE>
    static LIMBECK_INLINE Integers dot(Integers sum, const Fours& inputs, Integers weights) {
        return {vdotq_s32(sum.low, vreinterpretq_s8_s32(weights.low), inputs),
                vdotq_s32(sum.high, vreinterpretq_s8_s32(weights.high), inputs)};
    }
};

const Kernels& kernels_neon_dot() {
    static constexpr Kernels kernels = kernels_for<NeonDot>();
    return kernels;
}

}  // namespace limbeck

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
