#include "arguments.hpp"

#include <algorithm>
#include <cstring>

namespace limbeck {

namespace {

std::string shape_text(std::initializer_list<long> shape) {
    std::string text;
    for (long length : shape) text += (text.empty() ? "" : ", ") + (length < 0 ? "any" : std::to_string(length));
    return "(" + text + ")";
}

bool has_shape(const Py_buffer& view, std::initializer_list<long> shape) {
    if (view.ndim != static_cast<int>(shape.size())) return false;
    const Py_ssize_t* length = view.shape;
    return std::all_of(shape.begin(), shape.end(), [&](long wanted) {
        const long found = static_cast<long>(*length++);
        return wanted < 0 || wanted == found;
    });
}

// float32 or int8 in the byte order of this machine.
bool has_type(const Py_buffer& view, bool integers_too) {
    const char* format = view.format == nullptr ? "B" : view.format;
    if (std::strchr("<=@", *format) != nullptr && *format != '\0') ++format;
    return std::strcmp(format, "f") == 0 || (integers_too && std::strcmp(format, "b") == 0);
}

std::string utf8(PyObject* object, const char* name) {
    Py_ssize_t length = 0;
    const char* text = PyUnicode_Check(object) ? PyUnicode_AsUTF8AndSize(object, &length) : nullptr;
    if (text == nullptr) PyErr_Clear();
    if (text == nullptr) throw TypeMistake(std::string(name) + " must be a str");
    return std::string(text, length);
}

long as_long(PyObject* object, const char* name) {
    const long number = PyLong_Check(object) ? PyLong_AsLong(object) : -1;
    if (!PyLong_Check(object)) throw TypeMistake(std::string(name) + " must be an int");
    if (number == -1 && PyErr_Occurred()) throw PythonError();
    return number;
}

}  // namespace

bool is_none(PyObject* object) { return object == nullptr || object == Py_None; }

void Array::hold(PyObject* object, const char* name, bool integers_too) {
    auto view = std::make_unique<Py_buffer>();
    if (is_none(object) || PyObject_GetBuffer(object, view.get(), PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) != 0) {
        PyErr_Clear();
        throw TypeMistake(std::string(name) + " must be a C-contiguous array");
    }
    view_.reset(view.release());
    if (!has_type(*view_, integers_too))
        throw std::invalid_argument(std::string(name) + " must be float32" + (integers_too ? " or int8" : ""));
}

Array::Array(PyObject* object, const char* name, std::initializer_list<long> shape, bool integers_too) {
    hold(object, name, integers_too);
    if (!has_shape(*view_, shape))
        throw std::invalid_argument(std::string(name) + " must have the shape " + shape_text(shape));
}

Array::Array(PyObject* object, const char* name, long count) {
    hold(object, name, false);
    if (this->count() != count)
        throw std::invalid_argument(std::string(name) + " must hold " + std::to_string(count) + " numbers");
}

const float* Array::floats() const {
    if (integers()) return nullptr;
    if (reinterpret_cast<std::uintptr_t>(view_->buf) % alignof(float) == 0) return static_cast<const float*>(view_->buf);
    if (aligned_.empty()) {
        aligned_.resize(count());
        std::memcpy(aligned_.data(), view_->buf, view_->len);
    }
    return aligned_.data();
}

Arguments::Arguments(PyObject* positional, PyObject* keywords, std::initializer_list<const char*> names)
    : keywords_(keywords) {
    if (positional != nullptr && PyTuple_Size(positional) > 0) throw TypeMistake("all arguments are keyword arguments");
    PyObject *key = nullptr, *value = nullptr;
    for (Py_ssize_t place = 0; keywords != nullptr && PyDict_Next(keywords, &place, &key, &value);) {
        const std::string name = utf8(key, "a keyword");
        const bool known = std::any_of(names.begin(), names.end(), [&](const char* each) { return name == each; });
        if (!known) throw TypeMistake("no such argument: '" + name + "'");
    }
}

PyObject* Arguments::optional(const char* name) const {
    PyObject* found = keywords_ == nullptr ? nullptr : PyDict_GetItemString(keywords_, name);
    return is_none(found) ? nullptr : found;
}

PyObject* Arguments::required(const char* name) const {
    PyObject* found = optional(name);
    if (found == nullptr) throw TypeMistake(std::string("missing argument: '") + name + "'");
    return found;
}

std::string Arguments::text(const char* name) const { return utf8(required(name), name); }

std::string Arguments::text_or_nothing(const char* name) const {
    return optional(name) == nullptr ? std::string() : text(name);
}

long Arguments::number(const char* name, long otherwise) const {
    PyObject* found = optional(name);
    return found == nullptr ? otherwise : as_long(found, name);
}

bool Arguments::truth(const char* name) const {
    PyObject* found = optional(name);
    const int answer = found == nullptr ? 0 : PyObject_IsTrue(found);
    if (answer < 0) throw PythonError();
    return answer == 1;
}

std::vector<long> Arguments::numbers(const char* name) const {
    std::vector<long> numbers;
    for (PyObject* item : items_of(required(name), name)) numbers.push_back(as_long(item, name));
    return numbers;
}

std::vector<PyObject*> items_of(PyObject* sequence, const char* name) {
    const bool list = PyList_Check(sequence);
    if (!list && !PyTuple_Check(sequence)) throw TypeMistake(std::string(name) + " must be a list or a tuple");
    std::vector<PyObject*> items(list ? PyList_Size(sequence) : PyTuple_Size(sequence));
    for (std::size_t place = 0; place < items.size(); ++place)
        items[place] = list ? PyList_GetItem(sequence, place) : PyTuple_GetItem(sequence, place);
    return items;
}

std::vector<PyObject*> items_of(PyObject* object, const char* name, long count) {
    std::vector<PyObject*> items = items_of(object, name);
    if (static_cast<long>(items.size()) != count)
        throw std::invalid_argument(std::string(name) + " must have " + std::to_string(count) + " items");
    return items;
}

}  // namespace limbeck
