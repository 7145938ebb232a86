#include "student.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <numeric>
#include <thread>

namespace limbeck {

namespace {

constexpr long UNIT = 16;  // rows that a thread takes at once

Scratch& own_scratch() {
    thread_local Scratch scratch;
    scratch.clear();
    return scratch;
}

// Calls work(scratch) on this thread and on others, and rethrows what one of them threw. Threads are started
// for each call: those of a pool would be missing in a process that was forked.
template <class Work>
void on_threads(long count, Work work) {
    if (count == 1) return work(own_scratch());
    std::vector<std::exception_ptr> failures(count);
    auto guarded = [&](long number) {
        try {
            work(own_scratch());
        } catch (...) {
            failures[number] = std::current_exception();
        }
    };
    std::vector<std::thread> others;
    others.reserve(count);
    try {
        for (long number = 1; number < count; ++number) others.emplace_back(guarded, number);
    } catch (const std::exception&) {
        // No more threads, or no memory for them: the threads that were started do the work.
    }
    guarded(0);
    for (std::thread& other : others) other.join();
    for (const std::exception_ptr& failure : failures)
        if (failure) std::rethrow_exception(failure);
}

}  // namespace

void Student::logits(const Text* texts, long rows, float* logits, long threads) const {
    std::vector<long> order(rows);
    std::iota(order.begin(), order.end(), 0);
    // By falling length: rows that are read together are about as long as each other.
    std::sort(order.begin(), order.end(), [&](long one, long other) {
        return length_of(texts + one * columns()) > length_of(texts + other * columns());
    });
    std::atomic<long> next{0};
    on_threads(std::max(1L, std::min(threads, rows / rows_worth_a_thread())), [&](Scratch& scratch) {
        for (long first = next.fetch_add(UNIT); first < rows; first = next.fetch_add(UNIT)) {
            const Scratch::Mark mark = scratch.mark();
            unit(texts, &order[first], std::min(UNIT, rows - first), logits, scratch);
            scratch.release(mark);
        }
    });
}

long Student::length_of(const Text* row) const { return pair_ ? row[0].length + row[1].length : row[0].length; }

void Student::unit(const Text* texts, const long* rows, long count, float* logits, Scratch& scratch) const {
    const long width = rounded_up(features_, kernels_.lanes);
    Text* chosen = scratch.take<Text>(count * columns());
    float** features = scratch.take<float*>(count * columns());
    float** row_logits = scratch.take<float*>(count);
    for (long row = 0; row < count; ++row) {
        row_logits[row] = logits + rows[row] * classes();
        std::copy_n(texts + rows[row] * columns(), columns(), chosen + row * columns());
    }
    for (long text = 0; text < count * columns(); ++text) features[text] = scratch.zeros<float>(width);
    read(chosen, count * columns(), features, scratch);
    for (long row = 0; pair_ && row < count; ++row) {
        float* both = scratch.zeros<float>(rounded_up(4 * features_, kernels_.lanes));
        join(features + 2 * row, both);
        features[row] = both;
    }
    head_.logits(features, count, row_logits, scratch);
}

// [h1; h2; h1⊙h2; |h1−h2|]
void Student::join(const float* const* features, float* joined) const {
    for (long place = 0; place < features_; ++place) {
        const float one = features[0][place], other = features[1][place];
        joined[place] = one;
        joined[features_ + place] = other;
        joined[2 * features_ + place] = one * other;
        joined[3 * features_ + place] = std::fabs(one - other);
    }
}

}  // namespace limbeck
