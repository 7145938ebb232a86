// The kernels for NEON, which every 64-bit ARM has.
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels.hpp"

#if LIMBECK_ARM
#include "lanes_neon.hpp"
#include "recurrence.hpp"

namespace limbeck {

const Kernels& kernels_neon() {
    static constexpr Kernels kernels = kernels_for<Neon>();
    return kernels;
}

}  // namespace limbeck
#endif
