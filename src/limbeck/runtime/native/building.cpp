#include "building.hpp"

#include <algorithm>

#include "bag.hpp"
#include "convolution.hpp"
#include "cpu.hpp"
#include "recurrent.hpp"

namespace limbeck {

namespace {

constexpr long FOLDING_BYTES = 64L << 20;

// Arrays that live as long as a student is being built.
struct Arrays {
    std::vector<std::unique_ptr<Array>> all;

    template <class... Parts>
    const Array& add(PyObject* object, const char* name, Parts... parts) {
        all.push_back(std::make_unique<Array>(object, name, parts...));
        return *all.back();
    }

    const float* floats(PyObject* object, const char* name, long count) { return add(object, name, count).floats(); }

    // Scales that go with an array of integers; null with floats.
    const float* scales(PyObject* object, const char* name, const Array& array, long count) {
        if (array.integers() == is_none(object))
            throw std::invalid_argument(std::string(name) + " must be given with int8, and with nothing else");
        return array.integers() ? floats(object, name, count) : nullptr;
    }
};

// (outputs, inputs) as the array has them; anything else is for the caller to set.
Weights weights_of(const Array& array, const float* scales, long outputs, long inputs) {
    return {array.floats(), array.bytes(), scales, outputs, inputs, inputs, 1};
}

Embeddings embeddings_of(const Arguments& arguments, Built& built) {
    built.held.emplace_back(arguments.required("embeddings"), "embeddings",
                            std::initializer_list<long>{Array::ANY, Array::ANY}, true);
    const Array& table = built.held.front();
    Embeddings embeddings{};
    embeddings.words = table.length(0) - 1;
    embeddings.width = table.length(1);
    if (table.integers()) embeddings.integers = table.bytes();
    else embeddings.floats = static_cast<const char*>(table.memory());
    if (embeddings.words < 1 || embeddings.width < 1)
        throw std::invalid_argument("embeddings must hold a word, and the row behind the last word");
    PyObject* scales = arguments.optional("embedding_scales");
    if (table.integers() == is_none(scales))
        throw std::invalid_argument("embedding_scales must be given with int8, and with nothing else");
    if (scales != nullptr) {
        built.held.emplace_back(scales, "embedding_scales", embeddings.words + 1);
        embeddings.scales = built.held.back().floats();
    }
    return embeddings;
}

// The layers after the features, and their biases.
struct HeadWeights {
    Weights dense, classifier;
    const float *dense_bias = nullptr, *classifier_bias = nullptr;
};

// (outputs, inputs), of which there is at least one each.
const Array& weight_of(PyObject* object, const char* name, long inputs, Arrays& arrays) {
    const Array& weight =
        arrays.add(object, (std::string("the weight of ") + name).c_str(), std::initializer_list<long>{-1, inputs});
    if (weight.length(0) < 1) throw std::invalid_argument(std::string(name) + " must have an output");
    return weight;
}

HeadWeights head_of(const Arguments& arguments, long features, Arrays& arrays) {
    HeadWeights head;
    long inputs = arguments.truth("pair") ? 4 * features : features;
    if (PyObject* dense = arguments.optional("dense")) {
        const std::vector<PyObject*> items = items_of(dense, "dense", 2);
        const Array& weight = weight_of(items[0], "dense", inputs, arrays);
        head.dense = weights_of(weight, nullptr, weight.length(0), inputs);
        head.dense_bias = arrays.floats(items[1], "the bias of dense", weight.length(0));
        inputs = weight.length(0);
    }
    const std::vector<PyObject*> items = items_of(arguments.required("classifier"), "classifier", 2);
    const Array& weight = weight_of(items[0], "classifier", inputs, arrays);
    head.classifier = weights_of(weight, nullptr, weight.length(0), inputs);
    head.classifier_bias = arrays.floats(items[1], "the bias of classifier", weight.length(0));
    return head;
}

Recurrent::Cell cell_of(const std::string& name) {
    if (name == "lstm") return Recurrent::Cell::lstm;
    if (name == "gru") return Recurrent::Cell::gru;
    throw std::invalid_argument("no such cell: '" + name + "'");
}

Recurrent::Pool pool_of(const std::string& name) {
    if (name == "max") return Recurrent::Pool::largest;
    if (name == "last") return Recurrent::Pool::last;
    if (name == "mean") return Recurrent::Pool::mean;
    if (name == "attention") return Recurrent::Pool::attention;
    throw std::invalid_argument("no such pooling: '" + name + "'");
}

// W or R of both directions. int8 weights of an LSTM are turned round: (2, inputs, outputs).
std::vector<Weights> both_directions(PyObject* object, PyObject* scale_object, const char* name, bool lstm,
                                     long outputs, long inputs, Arrays& arrays) {
    const bool turned = lstm && !is_none(scale_object);
    const Array& array = turned ? arrays.add(object, name, std::initializer_list<long>{2, inputs, outputs}, true)
                                : arrays.add(object, name, std::initializer_list<long>{2, outputs, inputs}, true);
    const float* scales = arrays.scales(scale_object, "scales of a layer", array, 2 * outputs);
    std::vector<Weights> both;
    for (long direction = 0; direction < 2; ++direction) {
        Weights weights = weights_of(array, scales, outputs, inputs);
        if (turned) weights.output_step = 1, weights.input_step = outputs;
        if (weights.floats != nullptr) weights.floats += direction * outputs * inputs;
        else weights.integers += direction * outputs * inputs, weights.scales += direction * outputs;
        both.push_back(weights);
    }
    return both;
}

Recurrent::LayerWeights layer_of(PyObject* object, Recurrent::Cell cell, long hidden, long inputs, Arrays& arrays) {
    const std::vector<PyObject*> items = items_of(object, "a layer", 5);
    const bool lstm = cell == Recurrent::Cell::lstm;
    const long outputs = (lstm ? 4 : 3) * hidden;
    const std::vector<Weights> input = both_directions(items[0], items[1], "W", lstm, outputs, inputs, arrays);
    const std::vector<Weights> recurrent = both_directions(items[2], items[3], "R", lstm, outputs, hidden, arrays);
    const float* bias = arrays.add(items[4], "B", std::initializer_list<long>{2, 2 * outputs}).floats();
    return {{input[0], recurrent[0], bias}, {input[1], recurrent[1], bias + 2 * outputs}};
}

// The number of hidden units of a direction, from the size of the biases.
long hidden_of(const std::vector<PyObject*>& layers, Recurrent::Cell cell) {
    if (layers.empty()) throw std::invalid_argument("layers must hold a layer");
    const Array bias(items_of(layers[0], "a layer", 5)[4], "B", {2, Array::ANY});
    const long numbers = cell == Recurrent::Cell::lstm ? 8 : 6;
    if (bias.length(1) < numbers || bias.length(1) % numbers != 0)
        throw std::invalid_argument("B must have the shape (2, 2 · gates · hidden)");
    return bias.length(1) / numbers;
}

AttentionWeights attention_of(const Arguments& arguments, Recurrent::Pool pool, long states, Arrays& arrays) {
    PyObject* given = arguments.optional("attention");
    if ((given != nullptr) != (pool == Recurrent::Pool::attention))
        throw std::invalid_argument("attention must be given with the pooling 'attention', and with no other");
    if (given == nullptr) return {};
    const std::vector<PyObject*> items = items_of(given, "attention", 4);
    const Array& weight =
        arrays.add(items[0], "the weight of attention", std::initializer_list<long>{states, states}, true);
    const float* scales = arrays.scales(items[1], "scales of attention", weight, states);
    Weights weights = weights_of(weight, scales, states, states);
    weights.output_step = 1, weights.input_step = states;
    return {weights, arrays.floats(items[2], "the bias of attention", states),
            arrays.floats(items[3], "the question of attention", states)};
}

// (inputs, outputs) as the file has them.
Weights turned(PyObject* object, PyObject* scale_object, const char* name, long inputs, long outputs, Arrays& arrays) {
    const Array& array = arrays.add(object, name, std::initializer_list<long>{inputs, outputs}, true);
    Weights weights = weights_of(array, arrays.scales(scale_object, name, array, outputs), outputs, inputs);
    weights.output_step = 1, weights.input_step = outputs;
    return weights;
}

// What compares the two texts of a pair, whose words have states of this width; nothing if it is not given.
ComparisonWeights comparison_of(const Arguments& arguments, long width, long words, Arrays& arrays) {
    PyObject* given = arguments.optional("comparison");
    if (given == nullptr) return {};
    if (!arguments.truth("pair")) throw std::invalid_argument("a comparison is for pairs");
    const std::vector<PyObject*> items = items_of(given, "comparison", 8);
    ComparisonWeights weights;
    const long size = Array(items[0], "the projection of a comparison", {width, Array::ANY}, true).length(1);
    if (size < 1) throw std::invalid_argument("a comparison must have an output");
    weights.project = turned(items[0], items[1], "the projection of a comparison", width, size, arrays);
    weights.project_bias = arrays.floats(items[2], "the bias of the projection", size);
    weights.join = turned(items[3], items[4], "the joined numbers of a comparison", 4 * size + 1, size, arrays);
    weights.join_bias = arrays.floats(items[5], "the bias of the joined numbers", size);
    weights.same_word = *arrays.floats(items[6], "what equal words count", 1);
    weights.word_weights = arrays.floats(items[7], "the word weights of a comparison", words + 1);
    return weights;
}

// How many words all windows see together. Sums stay within the outputs: larger ones could have gone round to a small one.
long places_of(const std::vector<long>& windows, long outputs) {
    long places = 0;
    for (long window : windows) {
        if (window < 1) throw std::invalid_argument("windows must be at least 1");
        places = window > outputs - places ? outputs + 1 : places + window;
        if (places > outputs) break;
    }
    if (places == 0 || places > outputs || outputs % places != 0)
        throw std::invalid_argument("filters must have a multiple of the windows' places as outputs");
    return places;
}

}  // namespace

Built built_recurrent(PyObject* positional, PyObject* keywords) {
    const Arguments arguments(positional, keywords,
                              {"cell", "pooling", "embeddings", "layers", "classifier", "embedding_scales", "attention",
                               "comparison", "dense", "pair", "level", "folding_bytes"});
    const Kernels& kernels = kernels_of(arguments.text_or_nothing("level"));
    Built built;
    Arrays arrays;
    const Recurrent::Cell cell = cell_of(arguments.text("cell"));
    Recurrent::Pool pool = pool_of(arguments.text("pooling"));
    const Embeddings embeddings = embeddings_of(arguments, built);
    const std::vector<PyObject*> given = items_of(arguments.required("layers"), "layers");
    const long hidden = hidden_of(given, cell);
    std::vector<Recurrent::LayerWeights> layers;
    for (PyObject* layer : given)
        layers.push_back(layer_of(layer, cell, hidden, layers.empty() ? embeddings.width : 2 * hidden, arrays));
    const AttentionWeights attention = attention_of(arguments, pool, 2 * hidden, arrays);
    const ComparisonWeights comparison = comparison_of(arguments, 2 * hidden, embeddings.words, arrays);
    if (comparison.given() && (layers.size() > 1 || pool != Recurrent::Pool::largest))
        throw std::invalid_argument("a comparison reads the states of one layer, and pools by itself");
    if (comparison.given()) pool = Recurrent::Pool::compared;
    const HeadWeights head = head_of(arguments, comparison.given() ? comparison.features() : 2 * hidden, arrays);
    built.student = std::make_unique<Recurrent>(
        cell, pool, embeddings, layers, attention, comparison,
        Head(head.dense, head.dense_bias, head.classifier, head.classifier_bias, kernels), arguments.truth("pair"),
        arguments.number("folding_bytes", FOLDING_BYTES), kernels);
    return built;
}

Built built_convolution(PyObject* positional, PyObject* keywords) {
    const Arguments arguments(positional, keywords,
                              {"windows", "embeddings", "filters", "bias", "classifier", "embedding_scales",
                               "filter_scales", "dense", "pair", "level", "folding_bytes"});
    const Kernels& kernels = kernels_of(arguments.text_or_nothing("level"));
    Built built;
    Arrays arrays;
    const Embeddings embeddings = embeddings_of(arguments, built);
    const std::vector<long> windows = arguments.numbers("windows");
    const Array& array = arrays.add(arguments.required("filters"), "filters",
                                    std::initializer_list<long>{embeddings.width, Array::ANY}, true);
    const long outputs = array.length(1), places = places_of(windows, outputs);
    Weights filters = weights_of(array, arrays.scales(arguments.optional("filter_scales"), "filter_scales", array,
                                                      outputs), outputs, embeddings.width);
    filters.output_step = 1, filters.input_step = outputs;
    const long features = outputs / places * static_cast<long>(windows.size());
    const float* bias = arrays.floats(arguments.required("bias"), "bias", features);
    const HeadWeights head = head_of(arguments, features, arrays);
    built.student = std::make_unique<Convolution>(
        windows, embeddings, filters, bias,
        Head(head.dense, head.dense_bias, head.classifier, head.classifier_bias, kernels), arguments.truth("pair"),
        arguments.number("folding_bytes", FOLDING_BYTES), kernels);
    return built;
}

Built built_bag(PyObject* positional, PyObject* keywords) {
    const Arguments arguments(positional, keywords,
                              {"embeddings", "classifier", "embedding_scales", "word_weights", "unit_length",
                               "comparison", "dense", "pair", "level", "folding_bytes"});
    const Kernels& kernels = kernels_of(arguments.text_or_nothing("level"));
    Built built;
    Arrays arrays;
    const Embeddings embeddings = embeddings_of(arguments, built);
    PyObject* weights = arguments.optional("word_weights");
    const float* word_weights =
        weights == nullptr ? nullptr : arrays.floats(weights, "word_weights", embeddings.words + 1);
    const ComparisonWeights comparison = comparison_of(arguments, embeddings.width, embeddings.words, arrays);
    const HeadWeights head =
        head_of(arguments, comparison.given() ? comparison.features() : embeddings.width, arrays);
    built.student = std::make_unique<Bag>(embeddings, word_weights, arguments.truth("unit_length"), comparison, head.dense,
                                          head.dense_bias, head.classifier, head.classifier_bias,
                                          arguments.truth("pair"), arguments.number("folding_bytes", FOLDING_BYTES),
                                          kernels);
    return built;
}

}  // namespace limbeck
