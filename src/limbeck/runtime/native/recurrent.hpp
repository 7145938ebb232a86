// LSTM and GRU students: both directions, layer upon layer.
#pragma once

#include <string>
#include <vector>

#include "comparison.hpp"
#include "student.hpp"
#include "units.hpp"

namespace limbeck {

// One direction of a layer as a file holds it: gates in the order iofg or zrn.
struct DirectionWeights {
    Weights input, recurrent;   // (gates · hidden, inputs), (gates · hidden, hidden)
    const float* bias;          // of the inputs, then of the states: (2 · gates · hidden)
};

struct AttentionWeights {
    Weights weight;  // (2 · hidden, 2 · hidden)
    const float *bias, *question;
};

class Recurrent : public Student {
  public:
    enum class Cell { lstm, gru };
    enum class Pool { largest, last, mean, attention, compared };
    static constexpr int DIRECTIONS = 2;
    using LayerWeights = std::vector<DirectionWeights>;  // forwards, backwards

    Recurrent(Cell cell, Pool pool, const Embeddings& embeddings, const std::vector<LayerWeights>& layers,
              const AttentionWeights& attention, const ComparisonWeights& comparison, Head head, bool pair, long budget,
              const Kernels& kernels);

    long folded_bytes() const override { return words_.kept_bytes(); }

  protected:
    void read(const Text* texts, long count, float* const* features, Scratch& scratch) const override;
    long rows_worth_a_thread() const override { return 16; }

  private:
    struct Direction {
        Direction(const DirectionWeights& weights, const Units& units, const std::vector<long>& inputs, Form form,
                  const Kernels& kernels);

        Matrix input;  // empty in the first layer: its products are in the word table
        Matrix recurrent;
        Block<float> scales, bias;  // in the layout of `Steps`
    };
    struct Group;

    static std::vector<std::vector<Direction>> packed_layers(const std::vector<LayerWeights>& layers,
                                                             const Units& units, const Embeddings& embeddings,
                                                             const Kernels& kernels);
    static std::vector<Matrix> taken_inputs(std::vector<Direction>& layer);

    void layer(std::size_t number, Group& group, Scratch& scratch) const;
    void direction(std::size_t number, int direction, Group& group, Scratch& scratch) const;
    Walker walker(const Direction& weights, int direction, Group& group, long text, Scratch& scratch) const;
    void gates(std::size_t number, int direction, const Group& group, long text, long first, long count,
               const void** rows, Scratch& scratch) const;
    const void* state(const Matrix& matrix, const Group& group, long text, long token) const;
    void multiply_states(const Matrix& matrix, const Group& group, long text, long first, long count,
                         void* const* outputs, bool halves, Scratch& scratch) const;
    void pool(Group& group) const;
    void ask(const Group& group, long text, float* relevance, Scratch& scratch) const;
    void answer(Group& group, Scratch& scratch) const;
    void project(Group& group, Scratch& scratch) const;

    Cell cell_;
    Pool pool_;
    Units units_;
    long hidden_, padded_;  // units of a direction, and the same in full vectors
    std::vector<std::vector<Direction>> layers_;
    Matrix attention_;  // what reads the uppermost states: of attention, or of a comparison
    Block<float> question_;
    Comparison comparison_;
    WordTable words_;
};

}  // namespace limbeck
