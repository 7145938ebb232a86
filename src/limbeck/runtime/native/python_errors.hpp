// From C++ exceptions to errors of Python.
#pragma once

#include <exception>
#include <new>

#include "arguments.hpp"

namespace limbeck {

// Runs a function, and turns exceptions into Python errors; `failed` is then the return value.
template <class Result, class Function>
Result as_python_errors(Result failed, Function function) {
    try {
        return function();
    } catch (const PythonError&) {
    } catch (const TypeMistake& mistake) {
        PyErr_SetString(PyExc_TypeError, mistake.what());
    } catch (const std::invalid_argument& mistake) {
        PyErr_SetString(PyExc_ValueError, mistake.what());
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
    } catch (const std::exception& failure) {
        PyErr_SetString(PyExc_RuntimeError, failure.what());
    }
    return failed;
}

}  // namespace limbeck
