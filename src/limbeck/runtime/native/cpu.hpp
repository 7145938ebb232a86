// What this CPU can do.
#pragma once

#include <string>
#include <vector>

namespace limbeck {

struct Kernels;

// Of "avx512-vnni", "avx-vnni" and "avx2", or of "neon-dot" and "neon", those that this CPU has, the best one first, and
// "scalar" at the end.
std::vector<std::string> levels_here();

// The kernels of a level; "" means the best one. Throws std::invalid_argument for an unknown level and
// std::runtime_error if the CPU does not support it.
const Kernels& kernels_of(const std::string& level);

}  // namespace limbeck
