// Which label a row gets, or none: the best one, if the model is sure enough of it.
#include "decisions.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "arguments.hpp"
#include "python_errors.hpp"

namespace limbeck {

namespace {

enum Score : long { PROBABILITY, MARGIN, ENERGY };
constexpr double SLACK = 1e-9;  // of rounding

// The largest logit, and the terms of a softmax relative to it.
struct Row {
    const float* logits;
    long classes, best;
    double second, temperature;  // the second largest term

    Row(const float* logits, long classes, double temperature)
        : logits(logits), classes(classes), best(0), second(0), temperature(temperature) {
        float next = -HUGE_VALF;
        for (long place = 1; place < classes; ++place) {
            if (logits[place] > logits[best])
                next = logits[best], best = place;
            else if (logits[place] > next)
                next = logits[place];
        }
        if (classes > 1) second = term(next);
    }

    double term(float logit) const { return std::exp((static_cast<double>(logit) - logits[best]) / temperature); }

    double total() const {
        double sum = 1;
        for (long place = 0; place < classes; ++place)
            if (place != best) sum += term(logits[place]);
        return sum;
    }

    // The score if the terms sum up to this.
    double score(long kind, double sum) const {
        if (kind == PROBABILITY) return 1 / sum;
        if (kind == MARGIN) return (1 - second) / sum;
        return logits[best] / temperature + std::log(sum);
    }
};

// Most rows are decided by the two largest logits: the sum of all terms lies between the second one, once and as often
// as there are other classes. Only where that leaves it open is the sum computed.
bool is_sure(const Row& row, long kind, double threshold) {
    const double least = row.score(kind, 1 + row.second), most = row.score(kind, 1 + row.second * (row.classes - 1));
    const double low = std::min(least, most) - SLACK, high = std::max(least, most) + SLACK;
    if (low >= threshold) return true;
    if (high < threshold) return false;
    return row.score(kind, row.total()) >= threshold;
}

PyObject* places_of(const Array& logits, long score, double temperature, double threshold) {
    const long rows = logits.length(0), classes = logits.length(1);
    if (classes < 1) throw std::invalid_argument("there are no classes");
    const float* values = logits.floats();
    PyObject* list = PyList_New(rows);
    if (list == nullptr) throw PythonError();
    for (long row = 0; row < rows; ++row) {
        const Row found(values + row * classes, classes, temperature);
        PyObject* place = PyLong_FromLong(is_sure(found, score, threshold) ? found.best : -1);
        if (place == nullptr) {
            Py_DECREF(list);
            throw PythonError();
        }
        PyList_SetItem(list, row, place);
    }
    return list;
}

}  // namespace

PyObject* decisions(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
    return as_python_errors<PyObject*>(nullptr, [&] {
        if (count != 4) throw TypeMistake("decisions takes logits, score, temperature and threshold");
        const long score = PyLong_AsLong(arguments[1]);
        const double temperature = PyFloat_AsDouble(arguments[2]), threshold = PyFloat_AsDouble(arguments[3]);
        if (PyErr_Occurred()) throw PythonError();
        if (score < PROBABILITY || score > ENERGY)
            throw std::invalid_argument("no such score: " + std::to_string(score));
        const Array logits(arguments[0], "logits", {Array::ANY, Array::ANY});
        return places_of(logits, score, temperature, threshold);
    });
}

}  // namespace limbeck
