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

// The terms of a softmax, relative to the largest logit; the sum ends early where it is known to be too large.
struct Terms {
    long best;
    double total, second;
};

Terms terms_of(const float* row, long classes, double temperature, double most) {
    const long best = std::max_element(row, row + classes) - row;
    Terms found{best, 1.0, 0.0};
    for (long place = 0; place < classes && found.total <= most; ++place) {
        if (place == best) continue;
        const double term = std::exp((static_cast<double>(row[place]) - row[best]) / temperature);
        found.total += term, found.second = std::max(found.second, term);
    }
    return found;
}

bool is_sure(const float* row, const Terms& found, long score, double temperature, double threshold) {
    if (score == PROBABILITY) return 1 / found.total >= threshold;
    if (score == MARGIN) return (1 - found.second) / found.total >= threshold;
    return row[found.best] / temperature + std::log(found.total) >= threshold;
}

PyObject* places_of(const Array& logits, long score, double temperature, double threshold) {
    const long rows = logits.length(0), classes = logits.length(1);
    if (classes < 1) throw std::invalid_argument("there are no classes");
    const float* values = logits.floats();
    // A little more than what is too much: the comparison itself decides.
    const bool ends_early = score != ENERGY && threshold > 0;
    const double most = ends_early ? 1.001 / threshold : HUGE_VAL;
    PyObject* list = PyList_New(rows);
    if (list == nullptr) throw PythonError();
    for (long row = 0; row < rows; ++row) {
        const float* of_row = values + row * classes;
        const Terms found = terms_of(of_row, classes, temperature, most);
        const bool sure = is_sure(of_row, found, score, temperature, threshold);
        PyObject* place = PyLong_FromLong(sure ? found.best : -1);
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
