// Students built from the arguments of their Python constructors; everything here wants the GIL.
#pragma once

#include <memory>
#include <vector>

#include "arguments.hpp"
#include "student.hpp"

namespace limbeck {

// A student, and the arrays of others that it reads.
struct Built {
    std::vector<Array> held;
    std::unique_ptr<Student> student;
};

Built built_recurrent(PyObject* positional, PyObject* keywords);
Built built_convolution(PyObject* positional, PyObject* keywords);
Built built_bag(PyObject* positional, PyObject* keywords);

}  // namespace limbeck
