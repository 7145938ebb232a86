#include "cpu.hpp"

#include <stdexcept>

#include "kernels.hpp"

#if LIMBECK_X86
#include <cpuid.h>
#elif LIMBECK_ARM && defined(__APPLE__)
#include <sys/sysctl.h>
#elif LIMBECK_ARM && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace limbeck {

namespace {

// A level of instructions, whether this CPU has them, and the kernels for them.
struct Level {
    const char* name;
    bool is_here;
    const Kernels& (*kernels)();
};

#if LIMBECK_X86

struct Features {
    bool avx2 = false, avx_vnni = false, avx512 = false;
};

bool all_of(unsigned word, std::initializer_list<int> bits) {
    for (int bit : bits)
        if (!(word >> bit & 1)) return false;
    return true;
}

// The registers that the operating system saves when it switches threads.
unsigned saved_registers() {
    unsigned low = 0, high = 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

Features detected() {
    unsigned a = 0, b = 0, c = 0, d = 0;
    Features found;
    constexpr int FMA = 12, OSXSAVE = 27, AVX = 28, F16C = 29;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !all_of(c, {FMA, OSXSAVE, AVX, F16C})) return found;
    unsigned saved = saved_registers();
    constexpr int AVX2 = 5, AVX512F = 16, AVX512DQ = 17, AVX512BW = 30, AVX512VL = 31, AVX512VNNI = 11, AVX_VNNI = 4;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return found;
    const unsigned leaves = a;
    found.avx2 = all_of(saved, {1, 2}) && all_of(b, {AVX2});
    found.avx512 = found.avx2 && all_of(saved, {5, 6, 7}) && all_of(b, {AVX512F, AVX512DQ, AVX512BW, AVX512VL}) &&
                   all_of(c, {AVX512VNNI});
    if (leaves >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d)) found.avx_vnni = found.avx2 && all_of(a, {AVX_VNNI});
    return found;
}

#elif LIMBECK_ARM

bool multiplies_bytes() {
#if defined(__APPLE__)
    int has = 0;
    std::size_t size = sizeof has;
    return sysctlbyname("hw.optional.arm.FEAT_DotProd", &has, &size, nullptr, 0) == 0 && has != 0;
#elif defined(__linux__)
    constexpr unsigned long DOT_PRODUCT = 1UL << 20;
    return (getauxval(AT_HWCAP) & DOT_PRODUCT) != 0;
#else
    return false;
#endif
}

#endif

// All that were built, the best one first.
const std::vector<Level>& levels() {
#if LIMBECK_X86
    static const Features found = detected();
    static const std::vector<Level> all = {
        {"avx512-vnni", found.avx512, kernels_avx512},
#if LIMBECK_AVX_VNNI
        {"avx-vnni", found.avx_vnni, kernels_avx_vnni},
#endif
        {"avx2", found.avx2, kernels_avx2},
        {"scalar", true, kernels_scalar},
    };
#elif LIMBECK_ARM
    static const std::vector<Level> all = {{"neon-dot", multiplies_bytes(), kernels_neon_dot},
                                           {"neon", true, kernels_neon},
                                           {"scalar", true, kernels_scalar}};
#else
    static const std::vector<Level> all = {{"scalar", true, kernels_scalar}};
#endif
    return all;
}

}  // namespace

std::vector<std::string> levels_here() {
    std::vector<std::string> names;
    for (const Level& level : levels())
        if (level.is_here) names.push_back(level.name);
    return names;
}

const Kernels& kernels_of(const std::string& name) {
    std::string known;
    for (const Level& level : levels()) {
        known += (known.empty() ? "'" : ", '") + std::string(level.name) + "'";
        if (name.empty() && level.is_here) return level.kernels();
        if (name != level.name) continue;
        if (level.is_here) return level.kernels();
        throw std::runtime_error("this CPU has not the instructions of " + name);
    }
    throw std::invalid_argument("no such level: '" + name + "'; there are " + known);
}

}  // namespace limbeck
