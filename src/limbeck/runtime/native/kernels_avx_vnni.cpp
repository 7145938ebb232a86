// The kernels for AVX2 with AVX-VNNI.
//
// The pragma comes after all foreign headers: their code must not be compiled for a CPU that may not be present.
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels.hpp"

#if LIMBECK_AVX_VNNI
#include <immintrin.h>
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c,avxvnni"))), \
                             apply_to = function)
#else
#pragma GCC target("avx2,fma,f16c,avxvnni")
#endif

#include "lanes_avx2.hpp"
#include "recurrence.hpp"

namespace limbeck {

// Four products of a byte and a signed byte are added in 32 bits at once: wide weights fit, too.
struct AvxVnni : Avx2 {
    static constexpr bool fits_wide = true;

    using Fours = Integers;
    template <bool WIDE>
    static LIMBECK_INLINE Fours fours(const std::uint8_t* from) {
        return Avx2::fours<false>(from).bytes;
    }
    template <bool WIDE>
    static LIMBECK_INLINE Integers dot(Integers sum, const Fours& inputs, Integers weights) {
        return _mm256_dpbusd_avx_epi32(sum, inputs, weights);
    }
};

const Kernels& kernels_avx_vnni() {
    static constexpr Kernels kernels = kernels_for<AvxVnni>();
    return kernels;
}

}  // namespace limbeck

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
