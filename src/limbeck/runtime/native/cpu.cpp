#include "cpu.hpp"

#include <stdexcept>

#include "kernels.hpp"

#if LIMBECK_X86
#include <cpuid.h>
#endif

namespace limbeck {

namespace {

#if LIMBECK_X86

struct Features {
    bool avx2 = false, avx512 = false;
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
    constexpr int AVX2 = 5, AVX512F = 16, AVX512DQ = 17, AVX512BW = 30, AVX512VL = 31, AVX512VNNI = 11;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return found;
    found.avx2 = all_of(saved, {1, 2}) && all_of(b, {AVX2});
    found.avx512 = found.avx2 && all_of(saved, {5, 6, 7}) && all_of(b, {AVX512F, AVX512DQ, AVX512BW, AVX512VL}) &&
                   all_of(c, {AVX512VNNI});
    return found;
}

#endif

}  // namespace

std::string best_level() {
#if LIMBECK_X86
    static const Features found = detected();
    return found.avx512 ? "avx512-vnni" : found.avx2 ? "avx2" : "";
#else
    return "";
#endif
}

const Kernels& kernels_of(const std::string& level) {
    std::string best = best_level(), wanted = level.empty() ? best : level;
    if (!level.empty() && level != "avx2" && level != "avx512-vnni")
        throw std::invalid_argument("no such level: '" + level + "'; there are 'avx512-vnni' and 'avx2'");
    if (best.empty() || (wanted == "avx512-vnni" && best == "avx2"))
        throw std::runtime_error("this CPU has not the instructions of " + (level.empty() ? "AVX2" : level));
#if LIMBECK_X86
    return wanted == "avx2" ? kernels_avx2() : kernels_avx512();
#else
    throw std::logic_error("no kernels were built");
#endif
}

}  // namespace limbeck
