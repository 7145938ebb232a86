// Memory on cache line boundaries: blocks that are owned, and scratch space that is used again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

namespace limbeck {

constexpr std::size_t LINE = 64;  // bytes of a cache line, and of the widest vector

inline long rounded_up(long number, long step) { return (number + step - 1) / step * step; }

inline void* aligned_bytes_or_null(std::size_t bytes) {
    void* block = nullptr;
    return posix_memalign(&block, LINE, rounded_up(static_cast<long>(bytes) + 1, LINE)) == 0 ? block : nullptr;
}

inline void* aligned_bytes(std::size_t bytes) {
    void* block = aligned_bytes_or_null(bytes);
    if (block == nullptr) throw std::bad_alloc();
    return block;
}

struct Freeing {
    void operator()(void* block) const { std::free(block); }
};

// An array of zeros at first, on a cache line boundary.
template <class Item>
class Block {
  public:
    Block() = default;
    explicit Block(long count) : items_(static_cast<Item*>(aligned_bytes(count * sizeof(Item)))), count_(count) {
        std::memset(static_cast<void*>(items_.get()), 0, count * sizeof(Item));
    }
    Item* get() const { return items_.get(); }
    Item& operator[](long place) const { return items_.get()[place]; }
    long count() const { return count_; }

  private:
    std::unique_ptr<Item, Freeing> items_;
    long count_ = 0;
};

// Scratch space of one thread, which is used again and again.
class Scratch {
  public:
    struct Mark {
        std::size_t block, used;
    };

    template <class Item>
    Item* take(long count) {
        return reinterpret_cast<Item*>(bytes(count * static_cast<long>(sizeof(Item))));
    }

    template <class Item>
    Item* zeros(long count) {
        Item* items = take<Item>(count);
        std::memset(static_cast<void*>(items), 0, static_cast<std::size_t>(count) * sizeof(Item));
        return items;
    }

    // What is taken after `mark` is given back by `release`.
    Mark mark() const { return now_; }
    void release(Mark mark) { now_ = mark; }

    // Give everything back; the next use finds all memory of this one in one piece, unless that was a great deal.
    void clear() {
        now_ = {0, 0};
        if (blocks_.size() < 2) return;
        long all = 0;
        for (const Block<char>& block : blocks_) all += block.count();
        blocks_.clear();
        if (all <= MOST_KEPT) blocks_.emplace_back(all);
    }

  private:
    static constexpr long LEAST = 1 << 18, MOST_KEPT = 1 << 24;

    char* bytes(long count) {
        count = rounded_up(count + 1, LINE);
        while (now_.block < blocks_.size() && static_cast<long>(now_.used) + count > blocks_[now_.block].count())
            now_ = {now_.block + 1, 0};
        if (now_.block == blocks_.size()) blocks_.emplace_back(count > LEAST ? count : LEAST);
        now_.used += count;
        return blocks_[now_.block].get() + now_.used - count;
    }

    std::vector<Block<char>> blocks_;
    Mark now_{0, 0};
};

}  // namespace limbeck
