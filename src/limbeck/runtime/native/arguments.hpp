// Python's arguments as C++ values; everything here wants the GIL.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "matrix.hpp"

namespace limbeck {

struct TypeMistake : std::invalid_argument {  // becomes a TypeError
    using std::invalid_argument::invalid_argument;
};

struct PythonError {};  // Python knows already

struct Releasing {
    void operator()(Py_buffer* view) const {
        PyBuffer_Release(view);
        delete view;
    }
};

// A borrowed buffer, held for the lifetime of this object: C-contiguous float32 or int8.
class Array {
  public:
    // Throws if the object is not one of these, or has another shape; ANY means any length.
    static constexpr long ANY = -1;
    Array(PyObject* object, const char* name, std::initializer_list<long> shape, bool integers_too = false);
    // `count` floats, in any shape.
    Array(PyObject* object, const char* name, long count);

    bool integers() const { return view_->itemsize == 1; }
    const void* memory() const { return view_->buf; }
    // Null for integers. A copy if the floats are not aligned: files may have them at any offset.
    const float* floats() const;
    const std::int8_t* bytes() const { return integers() ? static_cast<const std::int8_t*>(view_->buf) : nullptr; }
    long length(int axis) const { return static_cast<long>(view_->shape[axis]); }
    long count() const { return static_cast<long>(view_->len / view_->itemsize); }

  private:
    void hold(PyObject* object, const char* name, bool integers_too);

    std::unique_ptr<Py_buffer, Releasing> view_;
    mutable std::vector<float> aligned_;
};

// The keyword arguments of a constructor.
class Arguments {
  public:
    // Throws for positional arguments, and for keywords that are not among the names.
    Arguments(PyObject* positional, PyObject* keywords, std::initializer_list<const char*> names);

    PyObject* required(const char* name) const;
    PyObject* optional(const char* name) const;  // null if it is missing or None
    std::string text(const char* name) const;
    std::string text_or_nothing(const char* name) const;
    long number(const char* name, long otherwise) const;
    bool truth(const char* name) const;
    std::vector<long> numbers(const char* name) const;

  private:
    PyObject* keywords_;
};

// A tuple of `count` items, borrowed.
std::vector<PyObject*> items_of(PyObject* object, const char* name, long count);
std::vector<PyObject*> items_of(PyObject* sequence, const char* name);
bool is_none(PyObject* object);

}  // namespace limbeck
