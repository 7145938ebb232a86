// What all levels share: how their functions are inlined, and the polynomials of 2 to the power of x.
#pragma once

#include <cstdint>
#include <cstring>

#define LIMBECK_INLINE inline __attribute__((always_inline))
#if defined(__clang__)
#define LIMBECK_UNROLLED _Pragma("clang loop unroll(full)")
#else
#define LIMBECK_UNROLLED _Pragma("GCC unroll 16")
#endif

namespace limbeck {

// The polynomials of least relative error on 0..1, by powers of x.
template <bool PRECISE>
struct Powers {  // 2e-9: rounding is all that is left to see
    static constexpr int degree = 6;
    static constexpr float of[] = {1.0f,         0.693146984f,   0.240229836f,  0.055483342f,
                                   0.009678841f, 0.00124396878f, 0.000217022555f};
};
template <>
struct Powers<false> {  // 7e-5: far below the 1/254 by which states are rounded
    static constexpr int degree = 3;
    static constexpr float of[] = {0.999925219f, 0.69583354f, 0.226067155f, 0.0780245226f};
};

template <class Lanes, bool PRECISE>
LIMBECK_INLINE typename Lanes::Floats power_within_1(typename Lanes::Floats x) {
    typename Lanes::Floats value = Lanes::all(Powers<PRECISE>::of[Powers<PRECISE>::degree]);
    LIMBECK_UNROLLED
    for (int power = Powers<PRECISE>::degree - 1; power >= 0; --power)
        value = Lanes::multiply_add(value, x, Lanes::all(Powers<PRECISE>::of[power]));
    return value;
}

}  // namespace limbeck
