// The kernels for AVX2 with FMA and F16C.
//
// The pragma comes after all foreign headers: their code must not be compiled for a CPU that may not be present.
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels.hpp"

#if LIMBECK_X86
#include <immintrin.h>
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), \
                             apply_to = function)
#else
#pragma GCC target("avx2,fma,f16c")
#endif

#include "lanes_avx2.hpp"
#include "recurrence.hpp"

namespace limbeck {

const Kernels& kernels_avx2() {
    static constexpr Kernels kernels = kernels_for<Avx2>();
    return kernels;
}

}  // namespace limbeck

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
