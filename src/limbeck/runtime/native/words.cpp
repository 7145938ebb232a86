#include "words.hpp"

#include <algorithm>
#include <cstring>

namespace limbeck {

namespace {

constexpr long AT_ONCE = 8;  // words that are multiplied together

}  // namespace

WordTable::WordTable(const Embeddings& embeddings, std::vector<Matrix> matrices, bool halves, long budget,
                     const Kernels& kernels)
    : embeddings_(embeddings),
      matrices_(std::move(matrices)),
      kernels_(kernels),
      width_(rounded_up(embeddings.width, kernels.lanes)),
      row_bytes_(0),
      budget_(budget),
      halves_(halves),
      table_(new std::atomic<void*>[embeddings.words]) {
    for (long word = 0; word < embeddings.words; ++word) table_[word].store(nullptr, std::memory_order_relaxed);
    for (std::size_t part = 0; part < std::max<std::size_t>(1, matrices_.size()); ++part) {
        starts_.push_back(row_bytes_);
        row_bytes_ += part_numbers(static_cast<long>(part)) * (halves_ ? 2 : 4);
    }
}

WordTable::~WordTable() {
    for (long word = 0; word < embeddings_.words; ++word) std::free(table_[word].load(std::memory_order_relaxed));
}

void WordTable::rows(const std::int32_t* ids, long count, long part, const void** rows, Scratch& scratch) const {
    const std::int32_t* missing[AT_ONCE];
    const void** places[AT_ONCE];
    long waiting = 0;
    for (long place = 0; place < count; ++place) {
        const char* row = static_cast<const char*>(table_[ids[place]].load(std::memory_order_acquire));
        if (row != nullptr) {
            rows[place] = row + starts_[part];
            continue;
        }
        missing[waiting] = ids + place;
        places[waiting++] = rows + place;
        if (waiting == AT_ONCE) fold(missing, waiting, part, places, scratch), waiting = 0;
    }
    if (waiting > 0) fold(missing, waiting, part, places, scratch);
}

// Compute words that the table does not have, and cache them within the budget.
void WordTable::fold(const std::int32_t* const* ids, long count, long part, const void** const* rows,
                     Scratch& scratch) const {
    std::int32_t words[AT_ONCE];
    Row whole[AT_ONCE];
    void* to[AT_ONCE];
    for (long place = 0; place < count; ++place) {
        words[place] = *ids[place];
        whole[place] = new_row();
    }
    const long bytes = part_numbers(part) * (halves_ ? 2 : 4);
    for (long other = 0; other < static_cast<long>(starts_.size()); ++other) {
        long here = 0;
        std::int32_t chosen[AT_ONCE];
        for (long place = 0; place < count; ++place) {
            if (whole[place] == nullptr && other != part) continue;
            chosen[here] = words[place];
            if (whole[place] != nullptr) to[here] = static_cast<char*>(whole[place].get()) + starts_[other];
            else *rows[place] = to[here] = scratch.take<char>(bytes);
            ++here;
        }
        if (here > 0) compute(chosen, here, other, to, scratch);
    }
    for (long place = 0; place < count; ++place)
        if (whole[place] != nullptr)
            *rows[place] = static_cast<const char*>(published(words[place], std::move(whole[place]))) + starts_[part];
}

// The row that all threads will see: this one, or that of a thread that was quicker.
const void* WordTable::published(std::int32_t id, Row row) const {
    void* seen = nullptr;
    const bool first = table_[id].compare_exchange_strong(seen, row.get(), std::memory_order_release,
                                                          std::memory_order_acquire);
    return first ? row.release() : seen;
}

// Null if the budget, or the memory, is used up.
WordTable::Row WordTable::new_row() const {
    if (kept_.fetch_add(row_bytes_, std::memory_order_relaxed) + row_bytes_ <= budget_)
        if (void* row = aligned_bytes_or_null(row_bytes_)) return Row(row, GivingBack{this});
    kept_.fetch_sub(row_bytes_, std::memory_order_relaxed);
    return nullptr;
}

void WordTable::GivingBack::operator()(void* row) const {
    std::free(row);
    table->kept_.fetch_sub(table->row_bytes_, std::memory_order_relaxed);
}

void WordTable::compute(const std::int32_t* ids, long count, long part, void* const* to, Scratch& scratch) const {
    const bool bytes = !matrices_.empty() && matrices_[part].bytes;
    const Scratch::Mark mark = scratch.mark();
    const void* inputs[AT_ONCE];
    float scales[AT_ONCE];
    for (long place = 0; place < count; ++place) {
        const long start = ids[place] * embeddings_.width;
        scales[place] = embeddings_.integers != nullptr ? embeddings_.scales[ids[place]] : 1.0f;
        if (bytes) {
            std::uint8_t* vector = scratch.zeros<std::uint8_t>(matrices_[part].inputs);
            for (long number = 0; number < embeddings_.width; ++number)
                vector[number] = static_cast<std::uint8_t>(embeddings_.integers[start + number] +
                                                           matrices_[part].input_offset);
            inputs[place] = vector;
            continue;
        }
        float* vector = matrices_.empty() ? static_cast<float*>(to[place]) : scratch.take<float>(width_);
        if (embeddings_.floats != nullptr)
            std::memcpy(vector, embeddings_.floats + start * sizeof(float), embeddings_.width * sizeof(float));
        for (long number = 0; embeddings_.integers != nullptr && number < embeddings_.width; ++number)
            vector[number] = static_cast<float>(embeddings_.integers[start + number]) * scales[place];
        std::fill(vector + embeddings_.width, vector + width_, 0.0f);
        inputs[place] = vector;
    }
    if (!matrices_.empty()) kernels_.multiply({&matrices_[part], count, inputs, scales, to, halves_, false});
    scratch.release(mark);
}

}  // namespace limbeck
