// The kernels for CPUs of which nothing is known.
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels.hpp"

#pragma GCC diagnostic ignored "-Wpsabi"  // vectors are passed to functions that are all inlined
#include "lanes_scalar.hpp"
#include "recurrence.hpp"

namespace limbeck {

const Kernels& kernels_scalar() {
    static constexpr Kernels kernels = kernels_for<Scalar>();
    return kernels;
}

}  // namespace limbeck
