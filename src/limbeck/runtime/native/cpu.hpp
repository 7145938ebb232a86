// What this CPU can do.
#pragma once

#include <string>

namespace limbeck {

struct Kernels;

std::string best_level();  // "avx512-vnni", "avx2" or ""

// The kernels of a level, of the best one for "". Throws std::invalid_argument for a name that is no level and
// std::runtime_error where the CPU has it not.
const Kernels& kernels_of(const std::string& level);

}  // namespace limbeck
