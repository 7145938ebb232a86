// What this CPU can do.
#pragma once

#include <string>

namespace limbeck {

struct Kernels;

std::string best_level();  // "avx512-vnni", "avx2" or ""

// The kernels of a level; "" means the best one. Throws std::invalid_argument for an unknown level and
// std::runtime_error if the CPU does not support it.
const Kernels& kernels_of(const std::string& level);

}  // namespace limbeck
