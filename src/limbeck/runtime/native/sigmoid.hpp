// 1 / (1 + 2^x) as parabolas, which a register of 32 numbers looks up.
#pragma once

namespace limbeck {

constexpr double power_of_2_exactly(double x) {
    double value = 1.0, term = 1.0, factor = x < 0 ? 0.5 : 2.0;
    for (; x >= 1.0 || x <= -1.0; x += x < 0 ? 1.0 : -1.0) value *= factor;
    double sum = 1.0;
    for (int power = 1; power < 24; ++power) sum += term *= x * 0.69314718055994530942 / power;
    return value * sum;
}

constexpr double sigmoid_exactly(double x) { return 1.0 / (1.0 + power_of_2_exactly(x)); }

// Parabola k belongs to the numbers that are nearest to (k - MIDDLE) · WIDTH. It meets the curve in the three points
// that keep the error least: 1e-4. The last one to either side ends in 0 or in 1, 2e-4 from the curve: gates that are
// shut or open are so altogether, or what a cell keeps would fade from step to step.
struct Parabolas {
    static constexpr int MIDDLE = 16, LAST = 15;
    static constexpr float WIDTH = 0.78125f;
    static constexpr float END = 0.49f, MOST = (LAST + END) * WIDTH;  // of a number, to either side
    float squares[32]{}, slopes[32]{}, starts[32]{};

    constexpr Parabolas() {
        for (int k = 0; k < 32; ++k) {
            const bool first = k == MIDDLE - LAST, last = k == MIDDLE + LAST;
            const double middle = (k - MIDDLE) * double(WIDTH);
            const double aside = (first || last ? double(END) : 0.4330127018922193) * WIDTH;
            const double left = first ? 1.0 : sigmoid_exactly(middle - aside), there = sigmoid_exactly(middle),
                         right = last ? 0.0 : sigmoid_exactly(middle + aside);
            const double square = (left - 2 * there + right) / (2 * aside * aside);
            const double slope = (right - left) / (2 * aside);
            squares[k] = float(square);
            slopes[k] = float(slope - 2 * square * middle);
            starts[k] = float(there - slope * middle + square * middle * middle);
        }
    }
};

inline constexpr Parabolas PARABOLAS{};

}  // namespace limbeck
