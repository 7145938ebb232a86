// The kernels for AVX-512 with VNNI.
//
// The pragma comes after all foreign headers: their code must not be compiled for a CPU that may not be present.
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels.hpp"

#if LIMBECK_X86
#include <immintrin.h>
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,fma,f16c"))), \
                             apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,fma,f16c")
#endif

#include "lanes_avx512.hpp"
#include "recurrence.hpp"

namespace limbeck {

const Kernels& kernels_avx512() {
    static constexpr Kernels kernels = kernels_for<Avx512>();
    return kernels;
}

}  // namespace limbeck

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
